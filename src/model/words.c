/* SPDX-License-Identifier: Apache-2.0 */
/* The closed vocabularies: layers, results, verdicts. */
#include "model/model.h"

static const struct {
	const char *name, *owner;
	unsigned touches;
} component_layers[CL_N] = {
#define ALL  ((1u << LAYER_N) - 1)
#define L(x) (1u << LAYER_##x)
	[CL_HARDWARE] = { "hardware", "hardware operations", ALL },
	[CL_FIRMWARE] = { "firmware", "hardware vendor", ALL },
	[CL_HOST] = { "host", "platform team", ALL },
	[CL_DRIVER] = { "driver", "GPU vendor", ALL },
	[CL_RUNTIME] = { "runtime", "GPU vendor", ALL },
	[CL_COMMLIB] = { "commlib", "communication library maintainers",
			 L(COMM) | L(WORKLOAD) | L(RECOVERY) },
	[CL_KERNELLIB] = { "kernellib", "kernel library maintainers",
			   L(FRAMEWORK) | L(WORKLOAD) | L(RECOVERY) },
	[CL_FRAMEWORK] = { "framework", "framework maintainers",
			   L(FRAMEWORK) | L(WORKLOAD) | L(RECOVERY) },
	[CL_ENGINE] = { "engine", "engine maintainers", L(WORKLOAD) | L(RECOVERY) },
	[CL_MODEL] = { "model", "model owner", L(WORKLOAD) | L(RECOVERY) },
	[CL_IMAGE] = { "image", "image team", L(COMM) | L(FRAMEWORK) | L(WORKLOAD) | L(RECOVERY) },
	[CL_PLATFORM] = { "platform", "platform team", ALL },
	[CL_APPLICATION] = { "application", "workload owner", L(WORKLOAD) | L(RECOVERY) },
#undef L
#undef ALL
};

static const struct {
	const char *name, *code;
	int exit_code;
} verdicts[VERDICT_N] = {
	[VERDICT_ACCEPTED] = { "accepted", "accepted", 0 },
	[VERDICT_ACCEPTED_NOTE] = { "accepted with note", "accepted_with_note", 0 },
	[VERDICT_REJECTED] = { "rejected", "rejected", 1 },
	[VERDICT_INCONCLUSIVE] = { "inconclusive", "inconclusive", 2 },
	[VERDICT_NO_RESULT] = { "no result", "no_result", 2 },
	[VERDICT_BASELINE_VOID] = { "baseline void", "baseline_void", 2 },
};

static const char *const check_layers[LAYER_N] = { "hardware", "communication", "framework",
						   "workload", "recovery" };
static const char *const results[RESULT_N] = { "PASS", "FAIL", "SKIP", "ERROR", "DOUBTFUL" };
static const char *const directions[] = { "lower", "higher" };

static int find(const char *const *names, size_t n, struct sv s)
{
	for (size_t i = 0; i < n; i++)
		if (sv_is(s, names[i]))
			return (int)i;
	return -1;
}

const char *component_layer_name(enum component_layer l)
{
	return l < CL_N ? component_layers[l].name : "unknown";
}

bool component_layer_parse(struct sv s, enum component_layer *ret)
{
	for (size_t i = 0; i < CL_N; i++) {
		if (sv_is(s, component_layers[i].name)) {
			*ret = (enum component_layer)i;
			return true;
		}
	}
	return false;
}

const char *component_layer_owner(enum component_layer l)
{
	return l < CL_N ? component_layers[l].owner : "unknown";
}

unsigned check_layers_touched(enum component_layer l)
{
	return l < CL_N ? component_layers[l].touches : (1u << LAYER_N) - 1;
}

const char *check_layer_name(enum check_layer l)
{
	return l < LAYER_N ? check_layers[l] : "unknown";
}

bool check_layer_parse(struct sv s, enum check_layer *ret)
{
	int i = find(check_layers, LAYER_N, s);

	if (i < 0)
		return false;
	*ret = (enum check_layer)i;
	return true;
}

const char *result_name(enum result r)
{
	return r < RESULT_N ? results[r] : "ERROR";
}

bool result_parse(struct sv s, enum result *ret)
{
	int i = find(results, RESULT_N, s);

	if (i < 0)
		return false;
	*ret = (enum result)i;
	return true;
}

const char *verdict_name(enum verdict_kind v)
{
	return v < VERDICT_N ? verdicts[v].name : "no result";
}

const char *verdict_code(enum verdict_kind v)
{
	return v < VERDICT_N ? verdicts[v].code : "no_result";
}

bool verdict_parse(struct sv code, enum verdict_kind *ret)
{
	for (size_t i = 0; i < VERDICT_N; i++) {
		if (sv_is(code, verdicts[i].code)) {
			*ret = (enum verdict_kind)i;
			return true;
		}
	}
	return false;
}

int verdict_exit_code(enum verdict_kind v)
{
	return v < VERDICT_N ? verdicts[v].exit_code : 2;
}

const char *direction_name(enum direction d)
{
	return directions[d == HIGHER_IS_BETTER];
}

bool direction_parse(struct sv s, enum direction *ret)
{
	int i = find(directions, 2, s);

	if (i < 0)
		return false;
	*ret = (enum direction)i;
	return true;
}
