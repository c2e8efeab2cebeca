/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "diagnose/diagnose.h"
#include "test.h"

#define ONE(more)                                                                                  \
	"- id: a-1\n  role: cause\n  layer: driver\n  component: c\n  rank: 3\n"                   \
	"  meaning: m\n  action: a\n  test: t\n" more

static void refused(const char *text, const char *msg)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(signatures_parse(sv_of(text), &l, &err), -ERR_PARSE);
	CHECK_STR(err.msg, msg);
	CHECK_INT(l.n, 0);
}

static void reads_what_stands_in_a_catalogue(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(signatures_parse(SV(ONE("  parts: [some text, other text]\n")), &l, &err), 0);
	CHECK_INT(l.n, 1);
	CHECK_STR(l.v[0].owner, component_layer_owner(CL_DRIVER));
	CHECK_STR(l.v[0].caution, "");
	CHECK_INT(l.v[0].parts.n, 2);
	CHECK(signatures_find(&l, "a-1") == &l.v[0]);
	CHECK(!signatures_find(&l, "a-2"));
}

static void names_the_place_of_a_mistake(void)
{
	refused("a: 1\n", "1:1: a catalogue is a list of at most 5000 signatures");
	refused("- x\n", "1:3: a signature is a map, not text");
	refused(ONE(""), "1:3: this signature has no 'parts'");
	refused(ONE("  parts: short\n"), "9:10: a text of 'parts' has 7 to 200 bytes, not 5");
	refused(ONE("  parts: long enough\n  pattern: '('\n"),
		"10:12: 'pattern': missing closing parenthesis at character 2");
	refused(ONE("  parts: long enough\n  colour: red\n"), "10:3: unknown key 'colour'");
	refused(ONE("  parts: \"line\\nbreak\"\n"), "9:10: a text of 'parts' has a control byte");
	refused(ONE("  parts: long enough\n") ONE("  parts: long enough\n"),
		"10:3: signature 'a-1' is there twice");
	refused("- {id: A, role: cause, layer: driver, component: c, rank: 3, parts: 1234567,"
		" meaning: m, action: a, test: t}\n",
		"1:3: 'id' is made of a-z, 0-9 and '-', not 'A'");
	refused("- {role: root}\n", "1:10: 'root' is no role");
	refused("- {layer: kernel}\n", "1:11: 'kernel' is no layer");
	refused("- {rank: 10}\n", "1:10: 'rank' is a number from 1 to 9, not '10'");
}

static void builtin(struct signatures *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(signatures_builtin(ret, &err), err);
}

/* Each signature is the most specific one for its own line. */
static void every_signature_wins_its_test_line(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };

	builtin(&l);
	CHECK(l.n >= 600);
	for (size_t i = 0; i < l.n; i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		const struct signature_hit *x;

		signatures_scan_text(&l, sv_of(l.v[i].test), &h);
		x = signature_hits_find(&h, l.v[i].id);
		if (l.v[i].frame == FRAME_BETWEEN)
			CHECK(x && x->seen && !x->won);
		else
			CHECK_STR(x && x->won ? l.v[i].id : "not won", l.v[i].id);
		CHECK_INT(h.unjudged, 0);
	}
}

/* ... however it is dressed: prefixes of time and rank, colours, CRLF, bytes of no encoding. */
static void a_line_may_be_dressed(void)
{
	static const char *const dresses[][2] = {
		{ "[12345.678901] ", "" },
		{ "2026-01-02T03:04:05.678Z stderr F ", "\r" },
		{ "(EngineCore pid=12) \033[31mERROR\033[0m 01-02 03:04:05 [a.py:1] ", "\033[0m" },
		{ "[1,3]<stderr>:\377\376\300 ", " \377" },
	};
	struct signatures l CLEANUP(signatures_release) = { 0 };

	builtin(&l);
	for (size_t i = 0; i < l.n; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(dresses); k++) {
			struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
			AUTO_FREE char *t = xasprintf("first line\n%s%s%s\nlast", dresses[k][0],
						      l.v[i].test, dresses[k][1]);
			const struct signature_hit *x;

			signatures_scan_text(&l, sv_of(t), &h);
			x = signature_hits_find(&h, l.v[i].id);
			CHECK_STR(x && x->seen ? l.v[i].id : "not seen", l.v[i].id);
			if (x)
				CHECK_INT(x->line, 2);
		}
	}
}

static const char *winner(const struct signatures *l, const char *line)
{
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	const char *id = "none";

	signatures_scan_text(l, sv_of(line), &h);
	for (size_t i = 0; i < h.n; i++)
		if (h.v[i].won)
			id = h.v[i].sig->id;
	return id;
}

static void the_known_traps_are_anchored(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };

	builtin(&l);
	CHECK_STR(winner(&l, "amdgpu: 2 uncorrectable hardware errors detected in umc block"),
		  "amdgpu-ras-ue");
	CHECK_STR(
		winner(&l, "amdgpu: 12 correctable hardware errors detected in total in umc block"),
		"amdgpu-ras-ce");
	CHECK_STR(winner(&l,
			 "Queue 0x7f aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL "
			 "operation resulted in a hardware exception. code: 0x1016"),
		  "hsa-exception-1016");
	CHECK_STR(winner(&l, "Queue 0x7f aborting with error : "
			     "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: code: 0x29"),
		  "hsa-aperture-29");
	CHECK_STR(winner(&l, "failed (exitcode: -6) local_rank: 2"), "exit-sigabrt");
	CHECK_STR(winner(&l, "failed (exitcode: -9) local_rank: 2"), "exit-sigkill");
	CHECK_STR(winner(&l, "NVRM: Xid (PCI:0000:06:00): 119, pid=1, x"), "xid-119-120");
	CHECK_STR(winner(&l, "NVRM: Xid (PCI:0000:06:00): 11, pid=1, x"), "xid-other");
	CHECK_STR(
		winner(&l, "Memory access fault by GPU node-2 on address (nil). Reason: Unknown."),
		"mem-access-fault");
	CHECK_STR(winner(&l, "all is well, 0 errors, no uncorrectable hardware errors so far"),
		  "none");
}

/* Ordinary lines of healthy runs. */
static void good_news_decides_nothing(void)
{
	static const char log[] =
		"INFO 05-23 09:31:22 [loader.py:458] Loading weights took 38.52 seconds\n"
		"INFO 05-23 09:31:24 [gpu_model_runner.py:1347] Model loading took 18.1450 GiB\n"
		"INFO 05-23 09:31:43 [backends.py:430] Dynamo bytecode transform time: 19.00 s\n"
		"INFO:     127.0.0.1:36152 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n"
		"step 120 | lm loss: 1.2E+00 | grad norm: 0.9 | number of nan iterations: 0\n"
		"NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.0.0.1<0>\n"
		"# Out of bounds values : 0 OK\n"
		"# Avg bus bandwidth    : 312.5\n"
		"amdgpu 0000:c1:00.0: amdgpu: SMU is resumed successfully!\n"
		"[drm] Initialized amdgpu 3.64.0 for 0000:c1:00.0 on minor 0\n"
		"systemd[1]: Started Session 12 of User root.\n"
		"GPU KV cache size: 1,031,680 tokens\n";
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	struct signature_decision d CLEANUP(signature_decision_release) = { 0 };

	builtin(&l);
	signatures_scan_text(&l, SV(log), &h);
	signature_decide(&h, NULL, &d);
	CHECK_INT(d.confidence, SIGNATURE_UNDETERMINED);
	CHECK_INT(d.layers.n, 0);
	CHECK_STR(d.layers.n ? d.layers.v[0].best->id : "nothing", "nothing");
	CHECK_INT(h.lines, 12);
	CHECK(signature_hits_find(&h, "vllm-kv-size"));
}

TEST_MAIN(TEST(reads_what_stands_in_a_catalogue), TEST(names_the_place_of_a_mistake),
	  TEST(every_signature_wins_its_test_line), TEST(a_line_may_be_dressed),
	  TEST(the_known_traps_are_anchored), TEST(good_news_decides_nothing))
