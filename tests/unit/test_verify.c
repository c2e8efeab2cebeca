/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_scene.h"

#include "ledger/entry.h"
#include "ledger/merkle.h"
#include "ledger/note.h"
#include "shared_vectors.h"

/* ---- runs ---- */

#define REP_INTENT(l, run)                                                                         \
	scene_add(l, "run.intent", "{\"of\":{\"digest\":\"%s\"},\"scope\":\"rep\"}", run)
#define ENDS(l, kind, scope, of)                                                                   \
	scene_add(l, kind, "{\"intent\":{\"digest\":\"%s\"},\"scope\":\"%s\"}", of, scope)

static void a_run_without_an_end_is_unfinished(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_ref run = scene_add(l, "run.intent", "{\"scope\":\"run\"}");
	struct ledger_ref rep = REP_INTENT(l, run.hex);

	CHECK_STR(scene_verify(scene_path("l")), "UNFINISHED@1 UNFINISHED@2");
	/* Checks refer to the run and end nothing. */
	scene_add(l, "run.result", "{\"of\":{\"digest\":\"%s\"},\"scope\":\"checks\"}", run.hex);
	ENDS(l, "run.result", "rep", rep.hex);
	CHECK_STR(scene_verify(scene_path("l")), "UNFINISHED@1");
	ENDS(l, "run.result", "run", run.hex);
	CHECK_STR(scene_verify(scene_path("l")), "");
	ledger_close(l);
}

static void an_abandoned_run_takes_its_repetitions_along(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_ref run = scene_add(l, "run.intent", "{\"scope\":\"run\"}");

	REP_INTENT(l, run.hex);
	REP_INTENT(l, run.hex);
	ENDS(l, "run.abandon", "run", run.hex);
	CHECK_STR(scene_verify(scene_path("l")), "");
	ledger_close(l);
}

static void a_verdict_that_leaves_a_repetition_out_is_found(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_ref run = scene_add(l, "run.intent", "{\"scope\":\"run\"}");
	struct ledger_ref a = REP_INTENT(l, run.hex), b, c, ra, rb, rc;

	ra = ENDS(l, "run.result", "rep", a.hex);
	b = REP_INTENT(l, run.hex);
	rb = ENDS(l, "run.abandon", "rep", b.hex);
	c = REP_INTENT(l, run.hex);
	/* 7: all that ended, and the one still going by its intent */
	scene_add(l, "verdict",
		  "{\"reps\":[{\"digest\":\"%s\"},{\"digest\":\"%s\"},{\"digest\":\"%s\"}],"
		  "\"series\":[{\"digest\":\"%s\"}]}",
		  ra.hex, rb.hex, c.hex, run.hex);
	CHECK_STR(scene_verify(scene_path("l")), "UNFINISHED@1 UNFINISHED@6");
	/* 8: without the failed one; 9: without the one that goes on */
	scene_add(l, "verdict",
		  "{\"reps\":[{\"digest\":\"%s\"},{\"digest\":\"%s\"}],\"series\":[{\"digest\":\"%"
		  "s\"}]}",
		  ra.hex, c.hex, run.hex);
	scene_add(l, "verdict",
		  "{\"intent\":{\"digest\":\"%s\"},\"reps\":[{\"digest\":\"%s\"},{\"digest\":\"%"
		  "s\"}]}",
		  run.hex, ra.hex, rb.hex);
	CHECK_STR(scene_verify(scene_path("l")), "UNFINISHED@1 UNFINISHED@6 REPS_LEFT_OUT@8");
	rc = ENDS(l, "run.result", "rep", c.hex);
	ENDS(l, "run.result", "run", run.hex);
	CHECK_STR(scene_verify(scene_path("l")), "REPS_LEFT_OUT@8 REPS_LEFT_OUT@9");
	/* Another run's repetitions are none of its business. */
	a = scene_add(l, "run.intent", "{\"scope\":\"run\"}");
	b = REP_INTENT(l, a.hex);
	ENDS(l, "run.result", "rep", b.hex);
	ENDS(l, "run.result", "run", a.hex);
	scene_add(l, "verdict",
		  "{\"reps\":[{\"digest\":\"%s\"},{\"digest\":\"%s\"},{\"digest\":\"%s\"}],"
		  "\"series\":[{\"digest\":\"%s\"}]}",
		  ra.hex, rb.hex, rc.hex, run.hex);
	CHECK_STR(scene_verify(scene_path("l")), "REPS_LEFT_OUT@8 REPS_LEFT_OUT@9");
	ledger_close(l);
}

static int disagree(void *arg, const struct ledger_entry *e, struct str *text, struct err *err)
{
	int *calls = arg;

	(*calls)++;
	CHECK_STR(e->kind, "verdict");
	if (e->ref.seq == 1)
		return 0;
	if (e->ref.seq == 3)
		return bail(err, ERR_NOT_FOUND, "blob is gone");
	str_add(text, "rejected, not accepted");
	return 1;
}

static void verdicts_are_recomputed(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	int calls = 0;
	struct ledger_verify_conf c = {
		.path = scene_path("l"), .all = true, .recompute = disagree, .arg = &calls
	};
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;

	for (int i = 0; i < 3; i++)
		scene_add(l, "verdict", "{\"n\":%d}", i);
	ledger_close(l);
	CHECK_OK(ledger_verify(&c, &r, &err), err);
	CHECK_INT(calls, 3);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.v[0].seq, 2);
	CHECK_STR(r.v[0].text, "rejected, not accepted");
	CHECK_INT(r.v[0].severity, LEDGER_BROKEN);
	CHECK_INT(r.v[1].severity, LEDGER_MISSING);
}

/* ---- stores that somebody changed ---- */

static void ten_entries(const char *dir)
{
	struct ledger *l = scene_open(dir);
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_blob_put(l, "some evidence", 13, "text/plain", &b, &err), err);
	for (int i = 1; i < 9; i++)
		scene_add(l, "run.result", "{\"n\":%d,\"stack_digest\":\"%064d\"}", i, i);
	scene_add(l, "run.result",
		  "{\"log\":{\"bytes\":13,\"digest\":\"%s\",\"media_type\":\"text/plain\"}}",
		  b.digest);
	scene_checkpoint(l);
	ledger_close(l);
	CHECK_STR(scene_verify(dir), "");
}

#define FREE                                                                                       \
	"DROP TRIGGER entry_no_update; DROP TRIGGER entry_no_delete; DROP TRIGGER "                \
	"entry_in_order; "

static void each_column_that_is_edited_is_found(void)
{
	static const struct {
		const char *sql, *want;
	} edits[] = {
		{ "UPDATE entry SET bytes = CAST(replace(bytes, '\"n\":4', '\"n\":5') AS BLOB) "
		  "WHERE seq = 4",
		  "INDEX_MISMATCH@4" },
		{ "UPDATE entry SET kind = 'cost' WHERE seq = 4", "INDEX_MISMATCH@4" },
		{ "UPDATE entry SET at_ms = at_ms + 1 WHERE seq = 4", "INDEX_MISMATCH@4" },
		{ "UPDATE entry SET leaf = randomblob(32) WHERE seq = 4", "INDEX_MISMATCH@4" },
		{ "PRAGMA foreign_keys=OFF; DELETE FROM entry WHERE seq = 4", "SEQ_GAP@4" },
		{ "PRAGMA foreign_keys=OFF; DELETE FROM entry WHERE seq = 9; DELETE FROM entry_ref "
		  "WHERE seq = 9",
		  "TRUNCATED@9" },
		{ "UPDATE entry_ref SET rel = 'x' WHERE seq = 4", "INDEX_MISMATCH@4" },
		{ "UPDATE entry_ref SET digest = randomblob(32) WHERE seq = 4",
		  "INDEX_MISMATCH@4" },
		{ "DELETE FROM entry_ref WHERE seq = 4", "INDEX_MISMATCH@4" },
		{ "INSERT INTO entry_ref VALUES (4, 'zz', zeroblob(32))", "INDEX_MISMATCH@4" },
		{ "PRAGMA foreign_keys=OFF; INSERT INTO entry_ref VALUES (44, 'zz', zeroblob(32))",
		  "INDEX_MISMATCH@44" },
		{ "UPDATE log SET head = randomblob(32)", "INDEX_MISMATCH@10" },
		{ "UPDATE log SET frontier = randomblob(64)", "INDEX_MISMATCH@10" },
		{ "UPDATE log SET origin = 'other'", "INDEX_MISMATCH" },
		{ "UPDATE log SET size = 11, frontier = randomblob(96)", "INDEX_MISMATCH@10" },
		{ "UPDATE checkpoint SET note = replace(note, 'twice', 'Twice') WHERE size = 10",
		  "ANCHOR_UNTRUSTED@10" },
		{ "UPDATE checkpoint SET size = 7 WHERE size = 10", "INDEX_MISMATCH" },
		{ "UPDATE blob SET state = 'withheld'", "INDEX_MISMATCH@9" },
		{ "UPDATE blob SET bytes = 14", "INDEX_MISMATCH@9" },
		{ "UPDATE blob SET media_type = 'x/y'", "INDEX_MISMATCH@9" },
		{ "DELETE FROM blob", "INDEX_MISMATCH@9" },
		{ "INSERT INTO blob VALUES (zeroblob(32), 1, 'x/y', 'present')", "INDEX_MISMATCH" },
		{ "INSERT INTO signature VALUES (zeroblob(32), 'sshsig', 'x', x'79')",
		  "BAD_SIGNATURE" },
		{ "INSERT INTO signature SELECT leaf, 'sshsig', 'x', x'79' FROM entry WHERE seq = "
		  "4",
		  "BAD_SIGNATURE@4" },
		{ "CREATE TABLE more (x)", "" },
	};

	ten_entries(scene_path("l"));
	scene_copy(scene_path("l/ledger.db"), scene_path("good.db"));
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		char *sql = xasprintf(FREE "%s", edits[i].sql), *got;

		scene_sql(scene_path("l"), sql);
		got = scene_verify(scene_path("l"));
		/* The triggers that are gone are found as well. */
		CHECK_HAS(got, "UNREADABLE");
		if (!strstr(got, edits[i].want))
			test_fails(__FILE__, __LINE__, "%s: '%s', want '%s'", edits[i].sql, got,
				   edits[i].want);
		free(sql);
		(void)unlink(scene_path("l/ledger.db-wal"));
		(void)unlink(scene_path("l/ledger.db-shm"));
		scene_copy(scene_path("good.db"), scene_path("l/ledger.db"));
	}
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void evidence_that_changed_or_is_gone_is_found(void)
{
	struct strs names CLEANUP(strs_release) = { 0 }, in CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	char *path;

	ten_entries(scene_path("l"));
	CHECK_OK(dir_list(scene_path("l/blobs"), &names, &err), err);
	path = path_join(scene_path("l/blobs"), names.v[0]);
	CHECK_OK(dir_list(path, &in, &err), err);
	free(path);
	path = xasprintf("%s/%s/%s", scene_path("l/blobs"), names.v[0], in.v[0]);
	CHECK_OK(file_write(path, "some evidencE", 13, 0644, &err), err);
	CHECK_STR(scene_verify(scene_path("l")), "BLOB_DIFFERS@9");
	CHECK_OK(file_write(path, "some evidence", 13, 0644, &err), err);
	CHECK_STR(scene_verify(scene_path("l")), "");
	CHECK_INT(unlink(path), 0);
	CHECK_STR(scene_verify(scene_path("l")), "BLOB_MISSING@9");
	free(path);
}

static void withheld_evidence_is_a_note(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_new who = { .by_id = "jane@example.org",
				  .role = "human",
				  .at_ms = SCENE_START + 99000 };
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct ledger_verify_conf c = { .path = scene_path("l") };
	struct err err = ERR_INIT;
	char *text;
	size_t n;

	CHECK_OK(ledger_blob_put(l, "secret", 6, "text/plain", &b, &err), err);
	scene_add(l, "run.result",
		  "{\"log\":{\"bytes\":6,\"digest\":\"%s\",\"media_type\":\"text/plain\"}}",
		  b.digest);
	CHECK_OK(ledger_blob_drop(l, b.digest, "withheld", "names a customer", &who, &err), err);
	CHECK_INT(ledger_blob_get(l, b.digest, 0, &text, &n, &err), -ERR_NOT_FOUND);
	ledger_close(l);
	CHECK_OK(ledger_verify(&c, &r, &err), err);
	CHECK_INT(r.n, 1);
	CHECK_INT(r.v[0].code, LEDGER_WITHHELD);
	CHECK_INT(r.v[0].severity, LEDGER_NOTE);
	CHECK_INT(r.blobs_withheld, 1);
}

/* Each byte of the file changed once: found, or what is in it is still the same. */
static char *content(const char *dir)
{
	struct str s = { 0 };
	char path[600];
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	static const char *const tables[] = { "log",        "entry", "entry_ref",    "signature",
					      "checkpoint", "blob",  "sqlite_schema" };

	snprintf(path, sizeof(path), "%s/ledger.db", dir);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		char *sql = xasprintf("SELECT * FROM %s", tables[i]);
		int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);

		while (rc == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
			for (int c = 0; c < sqlite3_column_count(q); c++)
				if (i < 6 || c != 3) /* root pages are no content */
					str_addn(&s,
						 sqlite3_column_blob(q, c)
							 ? sqlite3_column_blob(q, c)
							 : "",
						 (size_t)sqlite3_column_bytes(q, c));
		sqlite3_finalize(q);
		q = NULL;
		free(sql);
	}
	sqlite3_close(db);
	return str_steal(&s);
}

static void each_byte_of_the_store_that_flips_is_found(void)
{
	struct err err = ERR_INIT;
	char *good, *was;
	size_t n, quiet = 0, step;
	const char *more = getenv("TWICE_TEST_EXHAUSTIVE");

	ten_entries(scene_path("l"));
	CHECK_OK(file_read(scene_path("l/ledger.db"), 64 * MIB, &good, &n, &err), err);
	was = content(scene_path("l"));
	/* A prime step visits other places of each page; the long suite visits all. */
	step = more ? 1 : 197;
	for (size_t i = 0; i < n; i += step) {
		char *got, *is;

		good[i] = (char)(good[i] ^ 0x10);
		scene_put(scene_path("l/ledger.db"), good, n);
		good[i] = (char)(good[i] ^ 0x10);
		got = scene_verify(scene_path("l"));
		if (!*got) {
			is = content(scene_path("l"));
			if (strcmp(is, was) != 0)
				test_fails(__FILE__, __LINE__, "byte %zu changed unseen", i);
			free(is);
			quiet++;
		}
		(void)unlink(scene_path("l/ledger.db-wal"));
		(void)unlink(scene_path("l/ledger.db-shm"));
	}
	CHECK(quiet < n / step);
	free(good);
	free(was);
}

static void a_writer_at_work_does_not_disturb(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	int going[2];
	pid_t pid;
	char c;

	CHECK_INT(pipe(going), 0);
	pid = fork();
	if (pid == 0) {
		struct ledger *own = scene_open(scene_path("l"));

		for (int i = 0; i < 200; i++) {
			scene_add(own, "cost", "{\"n\":%d}", i);
			if (i == 5)
				CHECK_INT(write(going[1], "x", 1), 1);
		}
		scene_checkpoint(own);
		ledger_close(own);
		_exit(0);
	}
	CHECK_INT(read(going[0], &c, 1), 1);
	for (int i = 0; i < 5; i++)
		CHECK_STR(scene_verify(scene_path("l")), "");
	CHECK_INT(waitpid(pid, &(int){ 0 }, 0), pid);
	CHECK_STR(scene_verify(scene_path("l")), "");
	ledger_close(l);
}

/* ---- anchors ---- */

static void anchors_outside_are_told_from_the_one_beside(void)
{
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	const char *anchors[] = { scene_path("outside"), NULL };
	struct ledger_verify_conf c = { .path = scene_path("l"),
					.anchors = anchors,
					.now_ms = SCENE_START + 3600000,
					.anchor_max_age_ms = 60000 };
	struct ledger *l = scene_open(scene_path("l"));
	struct err err = ERR_INIT;

	scene_add(l, "cost", "{}");
	scene_checkpoint(l);
	scene_copy(scene_path("l/checkpoint"), anchors[0]);
	scene_add(l, "cost", "{}");
	scene_checkpoint(l);
	ledger_close(l);
	CHECK_OK(ledger_verify(&c, &r, &err), err);
	CHECK_INT(r.n_anchors, 2);
	CHECK(r.anchors[0].holds && !r.anchors[0].beside && r.anchors[0].size == 2);
	CHECK(r.anchors[1].holds && r.anchors[1].beside && r.anchors[1].size == 3);
	CHECK_INT(r.anchors[0].at_ms, SCENE_START + 1000);
	CHECK_INT(r.entries_after_anchor, 1);
	CHECK_INT(r.n, 1);
	CHECK_INT(r.v[0].code, LEDGER_ANCHOR_OLD);
	CHECK_INT(ledger_report_worst(&r), LEDGER_MISSING);
}

/* Somebody who holds the ledger's key writes another history. */
static void a_rewritten_history_is_found_by_the_outside_anchor_only(void)
{
	const char *anchors[] = { scene_path("outside"), NULL };
	struct ledger_verify_conf c = { .path = scene_path("b"), .anchors = anchors, .all = true };
	struct ledger *l = scene_open(scene_path("a"));

	scene_add(l, "cost", "{\"n\":1}");
	scene_add(l, "cost", "{\"n\":2}");
	scene_checkpoint(l);
	ledger_close(l);
	scene_copy(scene_path("a/checkpoint"), anchors[0]);
	CHECK_INT(mkdir(scene_path("b"), 0700), 0);
	scene_copy(scene_path("a/ledger.key"), scene_path("b/ledger.key"));
	CHECK_INT(chmod(scene_path("b/ledger.key"), 0600), 0);
	l = scene_open(scene_path("b"));
	scene_add(l, "cost", "{\"n\":1}");
	scene_add(l, "cost", "{\"n\":22}");
	scene_add(l, "cost", "{\"n\":3}");
	scene_checkpoint(l);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("b")), "");
	CHECK_STR(scene_verify_conf(&c, LEDGER_MISSING), "ROOT_MISMATCH@3 FORK@3");
	c.all = false; /* one fault is said, the first */
	CHECK_STR(scene_verify_conf(&c, LEDGER_MISSING), "ROOT_MISMATCH@3");
}

static void a_clock_that_runs_back_is_a_note(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_verify_conf c = { .path = scene_path("l") };

	scene_add_at(l, "cost", SCENE_START - 5000, "{}");
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
	CHECK_STR(scene_verify_conf(&c, LEDGER_NOTE), "CLOCK_BACK@1");
}

/* ---- vectors ---- */

static void notes_are_not_kept_by_the_million(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_verify_conf c = { .path = scene_path("l") };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	AUTO_FREE struct ledger_new *e = xcalloc(1300, sizeof(*e));
	AUTO_JSON json_t *body = json_object();
	struct err err = ERR_INIT;
	size_t n = 0;

	for (size_t i = 0; i < 1300; i++)
		e[i] = (struct ledger_new){ .kind = "cost",
					    .body = body,
					    .by_id = SCENE_BY,
					    .role = "machine",
					    .at_ms = SCENE_START + (i ? 1 : 1000) };
	CHECK_OK(ledger_append_many(l, e, 1300, NULL, &err), err);
	ledger_close(l);
	CHECK_OK(ledger_verify(&c, &r, &err), err);
	CHECK_INT(ledger_report_worst(&r), LEDGER_NOTE);
	for (size_t i = 0; i < r.n; i++)
		n += r.v[i].code == LEDGER_CLOCK_BACK;
	CHECK_INT(n, 1001);
	for (size_t i = 0; i < r.n; i++)
		if (r.v[i].seq == UINT64_MAX)
			CHECK_STR(r.v[i].text, "299 more of these");
}

static void vectors_of_tampering(void)
{
	json_t *doc = shared_vectors("ledger_tamper.json"), *cases = json_object_get(doc, "cases"),
	       *c;
	const char *origin = vector_str(doc, "origin");
	struct note_key key CLEANUP(note_key_release) = { 0 };
	AUTO_FREE char *vkey = NULL;
	size_t i;
	const char *vkeys[2] = { NULL };

	note_key_of(origin, NOTE_ED25519, vector_hex(doc, "public_hex", NULL), &key);
	vkey = note_vkey(&key);
	vkeys[0] = vkey;
	json_array_foreach(cases, i, c)
	{
		const json_t *lines = json_object_get(c, "lines"),
			     *anchors = json_object_get(c, "anchors");
		const json_t *want = json_object_get(c, "expect");
		size_t n = json_array_size(lines), m = json_array_size(anchors);
		struct sv *l = xcalloc(n + 1, sizeof(*l)), *a = xcalloc(m + 1, sizeof(*a));
		struct ledger_verify_conf conf = { .vkeys = vkeys, .only_vkeys = true };
		struct ledger_report r = { 0 };
		struct err err = ERR_INIT;

		for (size_t k = 0; k < n; k++)
			l[k] = sv_of(json_string_value(json_array_get(lines, k)));
		for (size_t k = 0; k < m; k++)
			a[k] = sv_of(json_string_value(json_array_get(anchors, k)));
		CHECK_OK(ledger_verify_lines(l, n, origin, a, m, &conf, &r, &err), err);
		if (json_is_true(json_object_get(want, "ok"))) {
			if (ledger_report_worst(&r) == LEDGER_BROKEN)
				test_fails(__FILE__, __LINE__, "%s: %s", vector_str(c, "name"),
					   ledger_code_name(r.v[0].code));
			CHECK_INT(r.size, json_integer_value(json_object_get(want, "size")));
		} else {
			CHECK(r.n > 0);
			CHECK_STR(ledger_code_name(r.v[0].code), vector_str(want, "code"));
			CHECK_INT(r.v[0].seq, json_integer_value(json_object_get(want, "seq")));
		}
		ledger_report_release(&r);
		free(l);
		free(a);
	}
	CHECK(i > 0);
}

TEST_MAIN(TEST(a_run_without_an_end_is_unfinished),
	  TEST(an_abandoned_run_takes_its_repetitions_along),
	  TEST(a_verdict_that_leaves_a_repetition_out_is_found), TEST(verdicts_are_recomputed),
	  TEST(each_column_that_is_edited_is_found),
	  TEST(evidence_that_changed_or_is_gone_is_found), TEST(withheld_evidence_is_a_note),
	  TEST(each_byte_of_the_store_that_flips_is_found), TEST(a_writer_at_work_does_not_disturb),
	  TEST(anchors_outside_are_told_from_the_one_beside),
	  TEST(a_rewritten_history_is_found_by_the_outside_anchor_only),
	  TEST(a_clock_that_runs_back_is_a_note), TEST(notes_are_not_kept_by_the_million),
	  TEST(vectors_of_tampering))
