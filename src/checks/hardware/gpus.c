/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accelerators as the kernel shows them: AMD through /sys/class/kfd (gfx target, memory of its
 * banks:
 * amdgpu's kfd_topology), NVIDIA through /proc/driver/nvidia. None found is a number too: 0.
 */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include <math.h>

struct gpus_conf {
	struct limit count, memory;
	char *arch;
};

static const struct field gpus_fields[] = {
	FIELD(gpus_conf, count, .type = FIELD_LIMIT, .unit = UNIT_COUNT, .need = true,
	      .help = "how many the driver shows"),
	FIELD(gpus_conf, arch, .type = FIELD_STR,
	      .help = "of each: gfx942 (AMD), or the model: NVIDIA H200"),
	FIELD(gpus_conf, memory, .type = FIELD_LIMIT, .unit = UNIT_BYTES,
	      .help = "of each; only AMD's driver says it without its tools"),
	{ 0 },
};

struct gpu {
	char arch[48]; /* or model; "" unknown */
	double bytes;  /* NAN unknown */
};
struct gpus {
	struct gpu v[64];
	size_t n;
};

static uint64_t property(struct sv text, const char *name)
{
	struct sv line, word;
	uint64_t v = 0;

	while (sv_line(&text, &line))
		if (sv_word(&line, &word) && sv_is(word, name) && sv_word(&line, &word) &&
		    sv_to_u64(word, &v))
			return v;
	return 0;
}

static double bank_bytes(const char *node)
{
	AUTO_FREE char *banks = path_join(node, "mem_banks");
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	double sum = 0;

	if (dir_list(banks, &names, &err) < 0)
		return NAN;
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/properties", banks, names.v[i]);
		AUTO_FREE char *text = NULL;
		size_t n;

		if (file_read(path, MIB, &text, &n, &err) < 0)
			return NAN;
		sum += (double)property((struct sv){ text, n }, "size_in_bytes");
	}
	return sum > 0 ? sum : NAN;
}

static void find_amd(const struct check_ctx *ctx, struct gpus *g)
{
	AUTO_FREE char *nodes = ctx_system(ctx, "/sys/class/kfd/kfd/topology/nodes");
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	if (dir_list(nodes, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n && g->n < ARRAY_SIZE(g->v); i++) {
		AUTO_FREE char *node = xasprintf("%s/%s", nodes, names.v[i]);
		AUTO_FREE char *path = path_join(node, "properties");
		AUTO_FREE char *text = NULL;
		uint64_t target;
		size_t n;

		if (file_read(path, MIB, &text, &n, &err) < 0 ||
		    property((struct sv){ text, n }, "simd_count") == 0)
			continue; /* a processor's node */
		target = property((struct sv){ text, n }, "gfx_target_version");
		/* 90402 is gfx942: major, two digits minor, two digits stepping (hexadecimal in
		 * the name) */
		if (target)
			(void)snprintf(g->v[g->n].arch, sizeof(g->v[g->n].arch), "gfx%llu%llu%llx",
				       (unsigned long long)(target / 10000),
				       (unsigned long long)(target / 100 % 100),
				       (unsigned long long)(target % 100));
		g->v[g->n++].bytes = bank_bytes(node);
	}
}

/* "Model: \t\t NVIDIA H200" in a folder a device: the driver's README, /proc/driver/nvidia. */
static void find_nvidia(const struct check_ctx *ctx, struct gpus *g)
{
	AUTO_FREE char *dir = ctx_system(ctx, "/proc/driver/nvidia/gpus");
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	if (dir_list(dir, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n && g->n < ARRAY_SIZE(g->v); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/information", dir, names.v[i]);
		struct gpu *x = &g->v[g->n++];
		AUTO_FREE char *text = NULL;
		struct sv rest, line;
		size_t n;

		x->bytes = NAN;
		if (file_read(path, MIB, &text, &n, &err) < 0)
			continue;
		rest = (struct sv){ text, n };
		while (sv_line(&rest, &line))
			if (sv_starts(line, "Model:"))
				(void)snprintf(
					x->arch, sizeof(x->arch), SV_FMT,
					SV_ARG(sv_trim((struct sv){ line.p + 6, line.n - 6 })));
	}
}

static int each(const struct gpus_conf *c, const struct gpus *g, struct outcome *o)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct gpu *x = &g->v[i];

		if (c->arch && !x->arch[0])
			return ends(o, RESULT_ERROR, "GPU %zu does not say its architecture", i);
		if (c->arch && !streq(c->arch, x->arch))
			return ends(o, RESULT_FAIL, "GPU %zu is %s, wanted %s", i, x->arch,
				    c->arch);
		if (c->memory.op != LIMIT_NONE && isnan(x->bytes))
			return ends(o, RESULT_ERROR, "GPU %zu does not say its memory", i);
		if (c->memory.op != LIMIT_NONE && !limit_holds(&c->memory, x->bytes)) {
			AUTO_FREE char *got = quantity_text(x->bytes, UNIT_BYTES);
			AUTO_FREE char *limit = limit_text(&c->memory);

			return ends(o, RESULT_FAIL, "GPU %zu has %s, limit %s", i, got, limit);
		}
	}
	o->result = RESULT_PASS;
	return 0;
}

static int gpus_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		    struct err *err)
{
	const struct gpus_conf *c = conf;
	AUTO_FREE char *limit = limit_text(&c->count);
	struct gpus g = { 0 };

	(void)err;
	find_amd(ctx, &g);
	find_nvidia(ctx, &g);
	measurements_add(&o->measured, "gpus", UNIT_COUNT, HIGHER_IS_BETTER, (double)g.n);
	if (!limit_holds(&c->count, (double)g.n))
		return ends(o, RESULT_FAIL, "%zu GPUs found, limit %s", g.n, limit);
	return each(c, &g, o);
}

const struct check check_gpus = {
	.schema = { .name = "gpus",
		    .layers = 1u << LAYER_HARDWARE,
		    .fields = gpus_fields,
		    .conf_size = sizeof(struct gpus_conf),
		    .help = "accelerators that the driver shows" },
	.run = gpus_run,
};
