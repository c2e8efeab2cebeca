/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"

#include "ledger_scene.h"

#define NOW INT64_C(1796000000)

static const struct ledger_new who = { .by_id = SCENE_BY,
				       .role = "machine",
				       .at_ms = SCENE_START + 3600000 };

static struct ledger_witness *witness(const char *name)
{
	struct ledger_witness *w = NULL;
	AUTO_FREE char *full = xasprintf("witness.example/%s", name);
	struct err err = ERR_INIT;

	CHECK_OK(ledger_witness_open(scene_path(name), full, &w, &err), err);
	return w;
}

static char *cosigned(struct ledger *l, struct ledger_witness *w, uint64_t since)
{
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_witness_request(l, since, &s, &err), err);
	CHECK_OK(ledger_witness_add(w, sv_str(&s), ledger_vkey(l), NOW, &d, &err), err);
	CHECK(d.cosigned);
	return xstrdup(d.lines);
}

static struct ledger *with_entries(const char *dir, unsigned n)
{
	struct ledger *l = scene_open(dir);

	for (unsigned i = 0; i < n; i++)
		scene_add(l, "cost", "{\"n\":%u}", i);
	scene_checkpoint(l);
	return l;
}

static void what_a_witness_says_comes_back_and_counts(void)
{
	struct ledger *l = with_entries(scene_path("l"), 3);
	struct ledger_witness *w = witness("w1");
	AUTO_FREE char *lines = cosigned(l, w, 0);
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	const char *keys[] = { ledger_witness_vkey(w), NULL };
	struct ledger_verify_conf conf = { .path = scene_path("l") };
	struct err err = ERR_INIT;
	uint64_t size = 0;

	CHECK_INT(ledger_anchor_import(l, sv_of(lines), NULL, &who, &a, &err), -ERR_NOT_FOUND);
	CHECK_OK(ledger_anchor_import(l, sv_of(lines), keys[0], &who, &a, &err), err);
	CHECK(a.added && a.size == 4 && a.time_s == NOW && a.seq == 4);
	CHECK_STR(a.witness, "witness.example/w1");
	CHECK_OK(ledger_cosigned(l, "witness.example/w1", &size, &err), err);
	CHECK_INT(size, 4);
	CHECK_OK(ledger_cosigned(l, "witness.example/w2", &size, &err), err);
	CHECK_INT(size, 0);

	/* Known again without its key, and no second entry. */
	ledger_anchored_release(&a);
	CHECK_OK(ledger_anchor_import(l, sv_of(lines), NULL, &who, &a, &err), err);
	CHECK(!a.added);
	CHECK_STR(scene_verify(scene_path("l")), "");

	/* Its key given by whoever verifies: then the entries below are out of our hands. */
	CHECK_OK(ledger_verify(&conf, &r, &err), err);
	CHECK_INT(r.entries_after_anchor, 5);
	ledger_report_release(&r);
	conf.vkeys = keys;
	CHECK_OK(ledger_verify(&conf, &r, &err), err);
	CHECK_INT(r.entries_after_anchor, 1);
	for (size_t i = 0; i < r.n_anchors; i++)
		if (r.anchors[i].size == 4)
			CHECK(r.anchors[i].cosigned == 1 && r.anchors[i].vouched &&
			      r.anchors[i].beside && r.anchors[i].holds);
	ledger_witness_close(w);
	ledger_close(l);
}

static void two_witnesses_of_one_head_are_kept_together(void)
{
	struct ledger *l = with_entries(scene_path("l"), 3);
	struct ledger_witness *w1 = witness("w1"), *w2 = witness("w2");
	AUTO_FREE char *one = cosigned(l, w1, 0), *two = cosigned(l, w2, 0), *text = NULL;
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 },
				 b CLEANUP(ledger_anchored_release) = { 0 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_anchor_import(l, sv_of(one), ledger_witness_vkey(w1), &who, &a, &err), err);
	CHECK_OK(ledger_anchor_import(l, sv_of(two), ledger_witness_vkey(w2), &who, &b, &err), err);
	CHECK_STR(a.path, b.path);
	CHECK_OK(file_read(a.path, MIB, &text, NULL, &err), err);
	CHECK_OK(note_parse(sv_of(text), &n, &err), err);
	CHECK_INT(n.lines.n, 3);
	/* It says most about entry 2, so proofs of that carry it. */
	CHECK_OK(ledger_checkpoint_covering(l, 2, &cp, &err), err);
	CHECK_STR(cp.note, text);
	CHECK_STR(scene_verify(scene_path("l")), "");
	CHECK_OK(ledger_export(l, scene_path("x"), &err), err);
	CHECK_STR(scene_verify(scene_path("x")), "");
	CHECK(file_exists(scene_path("x/anchors/4")) && file_exists(scene_path("x/witnesses")));
	ledger_witness_close(w1);
	ledger_witness_close(w2);
	ledger_close(l);
}

static void a_rewritten_log_can_not_import_and_is_convicted(void)
{
	struct ledger *l = with_entries(scene_path("l"), 3), *m;
	struct ledger_witness *w = witness("w1");
	AUTO_FREE char *lines = cosigned(l, w, 0), *anchor = NULL;
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	const char *keys[] = { ledger_witness_vkey(w), NULL };
	struct ledger_verify_conf conf = { .vkeys = keys, .all = true };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_anchor_import(l, sv_of(lines), keys[0], &who, &a, &err), err);
	anchor = xstrdup(a.path);
	ledger_close(l);
	/* The owner makes other entries with the same key. */
	CHECK_OK(dir_make(scene_path("m"), &err), err);
	scene_copy(scene_path("l/ledger.key"), scene_path("m/ledger.key"));
	CHECK_INT(chmod(scene_path("m/ledger.key"), 0600), 0);
	m = with_entries(scene_path("m"), 0);
	scene_add(m, "cost", "{\"n\":7}");
	scene_add(m, "cost", "{\"n\":8}");
	scene_checkpoint(m);
	CHECK_INT(ledger_anchor_import(m, sv_of(lines), keys[0], &who, &a, &err), -ERR_BROKEN);
	{
		AUTO_FREE char *text = NULL;
		size_t n;

		CHECK_OK(file_read(anchor, MIB, &text, &n, &err), err);
		CHECK_INT(ledger_anchor_import(m, (struct sv){ text, n }, keys[0], &who, &a, &err),
			  -ERR_BROKEN);
		CHECK_HAS(err.msg, "rollback: what the witness signed covers 4 entries");
		scene_add(m, "cost", "{\"n\":9}");
		CHECK_INT(ledger_anchor_import(m, (struct sv){ text, n }, keys[0], &who, &a, &err),
			  -ERR_BROKEN);
		CHECK_HAS(err.msg, "fork: what the witness signed has another root");
	}
	scene_checkpoint(m);
	ledger_close(m);
	CHECK_OK(dir_make(scene_path("m/anchors"), &err), err);
	scene_copy(anchor, scene_path("m/anchors/4"));
	conf.path = scene_path("m");
	CHECK_HAS(scene_verify_conf(&conf, LEDGER_MISSING), "ROOT_MISMATCH@4");
	ledger_witness_close(w);
}

static void damaged_anchors_are_findings(void)
{
	struct ledger *l = with_entries(scene_path("l"), 3);
	struct ledger_witness *w = witness("w1");
	AUTO_FREE char *lines = cosigned(l, w, 0), *text = NULL;
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	struct err err = ERR_INIT;
	size_t n;

	CHECK_OK(ledger_anchor_import(l, sv_of(lines), ledger_witness_vkey(w), &who, &a, &err),
		 err);
	ledger_close(l);
	CHECK_OK(file_read(a.path, MIB, &text, &n, &err), err);
	for (size_t i = 0; i < n; i += 3) {
		text[i] ^= 1;
		CHECK_OK(file_write(a.path, text, n, 0644, &err), err);
		text[i] ^= 1;
		if (!*scene_verify(scene_path("l"))) {
			/* Allowed: the witness's name or key id became one that nobody knows. */
			const char *line = strstr(text, "\xe2\x80\x94 witness");

			if (!line || i < (size_t)(line - text) ||
			    i >= (size_t)(line - text) + strlen("xxx witness.example/w1 ") + 6)
				test_fails(__FILE__, __LINE__, "byte %zu changed unseen", i);
		}
	}
	CHECK_OK(file_write(a.path, text, n, 0644, &err), err);
	CHECK_STR(scene_verify(scene_path("l")), "");
	CHECK_OK(file_write(scene_path("l/witnesses"), "rubbish\n", 8, 0644, &err), err);
	CHECK_HAS(scene_verify(scene_path("l")), "ANCHOR_UNTRUSTED");
	ledger_witness_close(w);
}

static void hostile_answers_are_refused(void)
{
	static const char *const bad[] = {
		"",
		"\xe2\x80\x94 ",
		"\xe2\x80\x94 witness.example/w1 AAAA\n",
		"\xe2\x80\x94 witness.example/w1 !!!!!!!!!!\n",
		"\xe2\x80\x94 witness.example/w1 AAAAAAAAAAAA\n",
		"nothing\n\n\xe2\x80\x94 x AAAAAAAAAAAA\n",
	};
	struct ledger *l = with_entries(scene_path("l"), 2);
	struct ledger_witness *w = witness("w1");
	AUTO_FREE char *lines = cosigned(l, w, 0);
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (ledger_anchor_import(l, sv_of(bad[i]), ledger_witness_vkey(w), &who, &a,
					 &err) == 0)
			test_fails(__FILE__, __LINE__, "case %zu was taken", i);
	lines[strlen(lines) - 8] ^= 1;
	CHECK(ledger_anchor_import(l, sv_of(lines), ledger_witness_vkey(w), &who, &a, &err) < 0);
	CHECK(!file_exists(scene_path("l/anchors/3")));
	ledger_witness_close(w);
	ledger_close(l);
}

static void a_copy_elsewhere_never_goes_back(void)
{
	struct ledger *l = with_entries(scene_path("l"), 2), *m;
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	const char *anchors[] = { scene_path("p"), NULL };
	struct ledger_verify_conf conf = { .path = scene_path("l"), .anchors = anchors };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(scene_path("p"), &err), err);
	CHECK_INT(ledger_anchor_place(l, scene_path("l"), &who, &a, &err), -ERR_USAGE);
	CHECK_INT(ledger_anchor_place(l, scene_path("none/x"), &who, &a, &err), -ERR_NOT_FOUND);
	CHECK_OK(ledger_anchor_place(l, scene_path("p"), &who, &a, &err), err);
	CHECK(a.added && a.size == 3 && !a.witness);
	CHECK_OK(ledger_verify(&conf, &r, &err), err);
	CHECK_INT(r.entries_after_anchor, 1);
	m = with_entries(scene_path("m"), 2); /* another log of that name */
	CHECK_INT(ledger_anchor_place(m, scene_path("p"), &who, &a, &err), -ERR_BROKEN);
	ledger_close(m);
	m = with_entries(scene_path("n"), 0);
	CHECK_INT(ledger_anchor_place(m, scene_path("p"), &who, &a, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "rollback");
	ledger_close(m);
	CHECK_OK(file_write(scene_path("p/checkpoint"), "else\n", 5, 0644, &err), err);
	CHECK(ledger_anchor_place(l, scene_path("p"), &who, &a, &err) < 0);
	ledger_close(l);
}

TEST_MAIN(TEST(what_a_witness_says_comes_back_and_counts),
	  TEST(two_witnesses_of_one_head_are_kept_together),
	  TEST(a_rewritten_log_can_not_import_and_is_convicted), TEST(damaged_anchors_are_findings),
	  TEST(hostile_answers_are_refused), TEST(a_copy_elsewhere_never_goes_back))
