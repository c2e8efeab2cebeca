/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "diagnose/diagnose.h"
#include "test.h"

#define SIGNATURE(id, role, layer, rank, part)                                                     \
	"- {id: " id ", role: " role ", layer: " layer ", component: c, rank: " rank               \
	", parts: '" part "', meaning: m, action: a, test: t}\n"

/* clang-format off */
static const char catalogue[] =
	SIGNATURE("ecc", "cause", "hardware", "8", "memory broke")
	SIGNATURE("oops", "cause", "driver", "5", "driver broke")
	SIGNATURE("hang", "cause", "undetermined", "5", "gpu hangs")
	SIGNATURE("usual", "generic", "image", "3", "attribute missing")
	SIGNATURE("maybe", "cause", "engine", "3", "perhaps broke")
	SIGNATURE("noise", "cause", "firmware", "1", "always printed")
	SIGNATURE("wrap", "wrapper", "commlib", "9", "call failed")
	SIGNATURE("after", "consequence", "commlib", "9", "peer is gone")
	SIGNATURE("fast", "positive_marker", "commlib", "5", "fast path in use");
/* clang-format on */

static struct signatures all;

static void decided(const char *now, const char *good, struct signature_decision *ret)
{
	static struct signature_hits n, g;
	struct err err = ERR_INIT;

	if (!all.n)
		CHECK_OK(signatures_parse(SV(catalogue), &all, &err), err);
	signature_hits_release(&n);
	signature_hits_release(&g);
	signatures_scan_text(&all, sv_of(now), &n);
	signatures_scan_text(&all, sv_of(good), &g);
	signature_decision_release(ret);
	signature_decide(&n, good ? &g : NULL, ret);
	signature_hits_release(&n);
	signature_hits_release(&g);
}

static const char *layer(const struct signature_decision *d)
{
	return d->layers.n ? signature_layer_name(d->layers.v[0].layer) : "undetermined";
}

static void done(struct signature_decision *d)
{
	signature_decision_release(d);
	signatures_release(&all);
}

static void a_cause_decides(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("memory broke\ncall failed\npeer is gone\n", NULL, &d);
	CHECK_STR(layer(&d), "hardware");
	CHECK_INT(d.confidence, SIGNATURE_HIGH);
	CHECK_INT(d.layers.n, 1);
	CHECK_INT(d.layers.v[0].line, 1);
	CHECK_STR(d.reasons.v[0], "'ecc' in line 1 names the hardware layer");
	decided("driver broke", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_MEDIUM);
	decided("perhaps broke", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_LOW);
	decided("always printed", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
}

static void wrappers_and_consequences_never_do(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("call failed\npeer is gone\ncall failed\n", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
	CHECK_STR(layer(&d), "undetermined");
	CHECK(strstr(d.reasons.v[0], "stands elsewhere"));
	decided("gpu hangs\n", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
	CHECK(strstr(d.reasons.v[0], "more than one layer"));
	decided("nothing of note\n", NULL, &d);
	CHECK_STR(d.reasons.v[0], "no line says where the fault is");
	/* In one line with a cause the wrapper is more specific: the line doesn't decide. */
	decided("call failed: driver broke", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
}

static void what_is_generic_decides_alone_and_weakly(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("attribute missing\n", NULL, &d);
	CHECK_STR(layer(&d), "image");
	CHECK_INT(d.confidence, SIGNATURE_LOW);
	decided("attribute missing\ndriver broke\n", NULL, &d);
	CHECK_STR(layer(&d), "driver");
	CHECK_INT(d.confidence, SIGNATURE_MEDIUM);
}

static void two_causes_lower_the_confidence(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("driver broke\nmemory broke\n", NULL, &d);
	CHECK_STR(layer(&d), "hardware");
	CHECK_INT(d.layers.n, 2);
	CHECK(d.layers.v[0].share > 0.8);
	CHECK(strstr(d.reasons.v[1], "the driver layer has signs of its own"));
}

static void a_missing_marker_is_a_sign(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("slow\n", "fast path in use\n", &d);
	CHECK_STR(layer(&d), "commlib");
	CHECK_INT(d.confidence, SIGNATURE_LOW);
	CHECK_INT(d.missing.n, 1);
	CHECK_STR(d.reasons.v[0], "'fast' is in the good log and missing here");
	decided("fast path in use\n", "fast path in use\n", &d);
	CHECK_INT(d.missing.n, 0);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
	/* Without a good log there is nothing to miss. */
	decided("slow\n", NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
}

static void what_was_there_when_all_was_well_explains_little(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("driver broke\n", "driver broke\n", &d);
	CHECK_INT(d.confidence, SIGNATURE_LOW);
	CHECK_INT(d.known.n, 1);
	decided("memory broke\ndriver broke\n", "memory broke\n", &d);
	CHECK_STR(layer(&d), "driver");
}

/* What healthy machines say as well counts only where a good log does not say it. */
static void noise_counts_against_a_good_log_only(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };

	decided("always printed\n", NULL, &d);
	CHECK_STR(layer(&d), "undetermined");
	decided("always printed\n", "all is well\n", &d);
	CHECK_STR(layer(&d), "firmware");
	CHECK_INT(d.confidence, SIGNATURE_LOW);
	decided("always printed\n", "always printed\n", &d);
	CHECK_STR(layer(&d), "undetermined");
}

/* Lines of good starts, lists and tables that look like faults to somebody in a hurry. */
static void healthy_lines_decide_nothing(void)
{
	static const char *const lines[] = {
		"config: kv_cache_dtype=auto, calculate_kv_scales=False, tokenizer_pool_size=0",
		"docker run --env VLLM_USE_V1=0 --env HF_HUB_OFFLINE=1 image serve",
		"If out-of-memory error occurs during cudagraph capture, consider decreasing "
		"`gpu_memory_utilization` or switching to eager mode.",
		"WARNING server_args.py: Disabling overlap schedule since mamba no_buffer is not "
		"compatible with it",
		"WARNING Op 'rms_norm' not present in model, enabling with '+rms_norm' has no "
		"effect",
		"[W501 socket.cpp:752] [c10d] The client socket has failed to connect to [n]:29500",
		"n:1:2 [4] proxy.cc:1458 NCCL WARN [Service thread] Accept failed Resource "
		"temporarily unavailable",
		"[aiter] shape is M:32768, N:20480, K:3072, not found tuned config in /tmp/x.csv",
		"HW Thermal Slowdown                        : Not Active",
		"Retired Pages",
		"Uncorrectable Error                            : 0",
		"\"evicted_time\": {",
		"DEBUG: Failed to get partition profile | AMDSMI_STATUS_NOT_SUPPORTED - not "
		"supported",
		"ro pci=realloc=off iommu=pt numa_balancing=disable modprobe.blacklist=amdgpu",
		"LnkSta: Speed 2.5GT/s (downgraded), Width x16",
	};
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(signatures_builtin(&l, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		struct signature_decision d CLEANUP(signature_decision_release) = { 0 };

		signatures_scan_text(&l, sv_of(lines[i]), &h);
		signature_decide(&h, NULL, &d);
		if (d.layers.n)
			test_fails(__FILE__, __LINE__, "'%s' decides: %s", lines[i],
				   d.layers.v[0].best->id);
	}
}

static void says_it_as_json(void)
{
	struct signature_decision d CLEANUP(done) = { 0 };
	AUTO_JSON json_t *j = NULL;

	decided("memory broke\n", "fast path in use", &d);
	j = signature_decision_to_json(&d);
	CHECK_STR(json_str_or(j, "confidence", ""), "high");
	CHECK_STR(json_string_value(json_array_get(json_object_get(j, "missing"), 0)), "fast");
	CHECK_INT(json_array_size(json_object_get(j, "layers")), 2);
}

static void log_with(const char *text, struct signature_log *ret)
{
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };

	signatures_scan_text(&all, sv_of(text), &h);
	signature_log_of(&h, ret);
}

/* The root rank is the one whose line is earliest; consequences elsewhere don't count. */
static void the_first_of_several_logs_is_found(void)
{
	static const char *const texts[] = {
		"2026-01-02 10:11:09 peer is gone\n",
		"2026-01-02 10:11:03,5 x memory broke\n2026-01-02 10:11:04 call failed\n",
		"all is well\n",
		"2026-01-02 10:11:02.5 x memory broke\n",
	};
	struct signature_decision d CLEANUP(done) = { 0 };
	struct signature_log l[ARRAY_SIZE(texts)];
	enum signature_first by;
	size_t at = 9;

	decided("x", NULL, &d); /* reads the catalogue */
	for (size_t i = 0; i < ARRAY_SIZE(l); i++)
		log_with(texts[i], &l[i]);
	CHECK_STR(signature_says_name(l[0].says), "consequences");
	CHECK_STR(signature_says_name(l[1].says), "cause");
	CHECK_STR(signature_says_name(l[2].says), "nothing");
	CHECK_STR(l[1].best->id, "ecc");
	CHECK_STR(l[1].time, "2026-01-02 10:11:03,5");
	CHECK(signature_logs_first(l, ARRAY_SIZE(l), CL_HARDWARE, &at, &by));
	CHECK_INT(at, 3);
	CHECK_INT(by, FIRST_BY_TIME);
	CHECK(signature_logs_first(l, 3, CL_HARDWARE, &at, &by));
	CHECK_INT(at, 1);
	CHECK_INT(by, FIRST_ONLY);
	CHECK(!signature_logs_first(l, ARRAY_SIZE(l), CL_MODEL, &at, &by));
	signature_log_release(&l[3]);
	log_with("gpu 0000:05:00.0: memory broke at some time\n", &l[3]);
	CHECK(!l[3].time);
	CHECK(signature_logs_first(l, ARRAY_SIZE(l), CL_HARDWARE, &at, &by));
	CHECK_INT(at, 1);
	CHECK_INT(by, FIRST_BY_ORDER);
	for (size_t i = 0; i < ARRAY_SIZE(l); i++)
		signature_log_release(&l[i]);
}

/* Lines of one stack: which of its frames counts. */
static void of_a_stack_one_frame_counts(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	static const struct {
		const char *text, *layer;
	} cases[] = {
		{ "Traceback (most recent call last):\n"
		  "  File \"/v/site-packages/vllm/worker.py\", line 1, in run\n    x()\n"
		  "  File \"/v/site-packages/torch/nn/modules/module.py\", line 2, in _call\n"
		  "  File \"/v/site-packages/aiter/ops/mha.py\", line 3, in fwd\n    ^^^\n"
		  "RuntimeError\n",
		  "kernellib" },
		{ "  File \"/v/site-packages/aiter/ops/mha.py\", line 3, in fwd\n"
		  "  File \"/v/site-packages/torch/nn/modules/module.py\", line 2, in _call\n"
		  "  File \"/v/site-packages/vllm/worker.py\", line 1, in run\n",
		  "engine" },
		{ "  File \"/v/site-packages/vllm/worker.py\", line 1, in run\n"
		  "  File \"/srv/my_hooks.py\", line 1, in hook\n    x()\n",
		  "application" },
		{ "#0  0x7f in abort () from /lib/libc.so.6\n"
		  "#1  0x7f in a::b () from /opt/rocm/lib/librccl.so.1\n"
		  "#2  0x7f in c::d () from /v/torch/lib/libtorch_hip.so\n",
		  "commlib" },
	};

	CHECK_OK(signatures_builtin(&l, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		struct signature_decision d CLEANUP(signature_decision_release) = { 0 };

		signatures_scan_text(&l, sv_of(cases[i].text), &h);
		signature_decide(&h, NULL, &d);
		CHECK_STR(layer(&d), cases[i].layer);
	}
}

TEST_MAIN(TEST(a_cause_decides), TEST(wrappers_and_consequences_never_do),
	  TEST(what_is_generic_decides_alone_and_weakly), TEST(two_causes_lower_the_confidence),
	  TEST(a_missing_marker_is_a_sign), TEST(what_was_there_when_all_was_well_explains_little),
	  TEST(noise_counts_against_a_good_log_only), TEST(healthy_lines_decide_nothing),
	  TEST(says_it_as_json), TEST(the_first_of_several_logs_is_found),
	  TEST(of_a_stack_one_frame_counts))
