/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/witness.h"

#include "ledger_scene.h"

#define NOW INT64_C(1796000000)

static struct ledger_witness *witness(const char *dir)
{
	struct ledger_witness *w = NULL;
	struct err err = ERR_INIT;

	CHECK_OK(ledger_witness_open(scene_path(dir), "witness.example/w1", &w, &err), err);
	return w;
}

static void grow(struct ledger *l, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		scene_add(l, "cost", "{\"n\":%u}", i);
	scene_checkpoint(l);
}

static int ask(struct ledger *l, struct ledger_witness *w, uint64_t since, const char *vkey,
	       struct ledger_witnessed *ret, struct err *err)
{
	struct str s CLEANUP(str_release) = { 0 };

	CHECK_OK(ledger_witness_request(l, since, &s, err), *err);
	return ledger_witness_add(w, sv_str(&s), vkey, NOW, ret, err);
}

static void asked(struct ledger *l, struct ledger_witness *w, uint64_t since,
		  struct ledger_witnessed *ret)
{
	struct err err = ERR_INIT;

	ledger_witnessed_release(ret);
	CHECK_OK(ask(l, w, since, ledger_vkey(l), ret, &err), err);
}

static void a_log_that_grows_is_cosigned_each_time(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	uint64_t seen = 0;

	for (unsigned i = 1; i < 12; i++) {
		grow(l, i);
		asked(l, w, seen, &d);
		CHECK(d.cosigned && d.seen == seen && d.size > seen);
		CHECK_HAS(d.lines, "\xe2\x80\x94 witness.example/w1 ");
		CHECK(d.first == (i == 1));
		seen = d.size;
	}
	asked(l, w, seen, &d); /* the same again */
	CHECK(d.cosigned && d.size == seen);
	ledger_witness_close(w);
	ledger_close(l);
}

static void the_cosignature_is_good_and_kept(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	AUTO_FREE char *path = NULL, *text = NULL;
	struct err err = ERR_INIT;
	char hex[SHA256_HEX];
	int64_t time = 0;

	grow(l, 3);
	asked(l, w, 0, &d);
	sha256_hex(SCENE_ORIGIN, strlen(SCENE_ORIGIN), hex);
	path = xasprintf("%s/w/%s/checkpoint", test_dir(), hex);
	CHECK_OK(file_read(path, MIB, &text, NULL, &err), err);
	CHECK_OK(note_parse(sv_of(text), &n, &err), err);
	CHECK_OK(note_key_parse(sv_of(ledger_witness_vkey(w)), &key, &err), err);
	CHECK_INT(n.lines.n, 2);
	CHECK_INT(note_line_check(&n, &n.lines.v[1], &key, &time), NOTE_GOOD);
	CHECK_INT(time, NOW);
	ledger_witness_close(w);
	ledger_close(l);
}

static void a_request_from_elsewhere_is_told_where_we_are(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };

	grow(l, 3);
	asked(l, w, 0, &d);
	grow(l, 3);
	asked(l, w, 0, &d);
	CHECK(!d.cosigned && d.seen == 4 && !d.lines);
	asked(l, w, 3, &d);
	CHECK(!d.cosigned && d.seen == 4);
	asked(l, w, 4, &d);
	CHECK(d.cosigned);
	ledger_witness_close(w);
	ledger_close(l);
}

/* An older copy of a ledger, with its own key. */
static void copy_ledger(const char *from, const char *to)
{
	static const char *const files[] = { "ledger.db", "ledger.key", "checkpoint" };
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(to, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_FREE char *a = path_join(from, files[i]), *b = path_join(to, files[i]);

		scene_copy(a, b);
		CHECK_INT(chmod(b, 0600), 0);
	}
}

static void a_log_that_goes_back_or_forks_is_refused(void)
{
	struct ledger *l = scene_open(scene_path("l")), *old;
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	struct err err = ERR_INIT;

	grow(l, 3);
	ledger_close(l);
	copy_ledger(scene_path("l"), scene_path("old"));
	l = scene_open(scene_path("l"));
	grow(l, 3);
	asked(l, w, 0, &d);
	CHECK(d.cosigned && d.size == 7);

	old = scene_open(scene_path("old"));
	CHECK_INT(ask(old, w, 0, NULL, &d, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "rollback: 'twice.example/lab/small' shows 4 entries, it had 7");
	scene_add(old, "cost", "{\"n\":77}");
	scene_add(old, "cost", "{\"n\":78}");
	grow(old, 1); /* as long as the other, with other entries */
	CHECK_INT(ask(old, w, 0, NULL, &d, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "has two heads of 7 entries");
	grow(old, 2); /* longer */
	CHECK_INT(ask(old, w, 7, NULL, &d, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "did not grow out of the 7 seen before");
	ledger_close(old);

	asked(l, w, 7, &d); /* the honest one goes on */
	CHECK(d.cosigned);
	ledger_witness_close(w);
	ledger_close(l);
}

static int count_forks(void *arg, const struct ledger_witnessed *d, struct err *err)
{
	(void)err;
	CHECK_STR(d->origin, SCENE_ORIGIN);
	CHECK_INT(d->time_s, NOW);
	*(size_t *)arg += d->forks;
	return 0;
}

static void forks_are_kept_as_evidence(void)
{
	struct ledger_witness *w = witness("w");
	struct err err = ERR_INIT;
	size_t forks = 0;

	ledger_witness_close(w);
	a_log_that_goes_back_or_forks_is_refused();
	w = witness("w");
	CHECK_OK(ledger_witness_each(w, count_forks, &forks, &err), err);
	CHECK_INT(forks, 2);
	ledger_witness_close(w);
}

static void keys_are_trusted_once_and_by_name(void)
{
	struct ledger *l = scene_open(scene_path("l")), *m = scene_open(scene_path("m"));
	struct ledger_witness *w = witness("w"), *other = NULL;
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	struct err err = ERR_INIT;

	grow(l, 1);
	grow(m, 1);
	CHECK_INT(ask(l, w, 0, NULL, &d, &err), -ERR_NOT_FOUND);
	CHECK_INT(ask(l, w, 0, ledger_vkey(m), &d, &err), -ERR_BROKEN); /* same name, other key */
	CHECK_INT(ask(l, w, 0, ledger_witness_vkey(w), &d, &err), -ERR_PARSE);
	CHECK_INT(ask(l, w, 0, "rubbish", &d, &err), -ERR_PARSE);
	asked(l, w, 0, &d);
	CHECK_INT(ask(m, w, 2, ledger_vkey(m), &d, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "was trusted with another key");
	CHECK_INT(ask(m, w, 2, NULL, &d, &err), -ERR_BROKEN); /* signed by a key we don't know */
	CHECK_INT(ledger_witness_open(scene_path("w"), "another", &other, &err), -ERR_CONFLICT);
	CHECK_INT(ledger_witness_open(scene_path("none"), NULL, &other, &err), -ERR_NOT_FOUND);
	ledger_witness_close(w);
	ledger_close(l);
	ledger_close(m);
}

static void a_damaged_memory_signs_nothing(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	AUTO_FREE char *path = NULL;
	struct err err = ERR_INIT;
	char hex[SHA256_HEX];

	grow(l, 1);
	asked(l, w, 0, &d);
	sha256_hex(SCENE_ORIGIN, strlen(SCENE_ORIGIN), hex);
	path = xasprintf("%s/w/%s/checkpoint", test_dir(), hex);
	CHECK_OK(file_write(path, "nothing\n", 8, 0644, &err), err);
	CHECK(ask(l, w, 0, NULL, &d, &err) < 0);
	CHECK_OK(file_write(path, "", 0, 0644, &err), err);
	CHECK(ask(l, w, 0, NULL, &d, &err) < 0);
	ledger_witness_close(w);
	ledger_close(l);
}

static void folders_speak_for_themselves(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_witness *w = witness("w");
	const char *dirs[] = { scene_path("l"), scene_path("x"), scene_path("t") };
	struct err err = ERR_INIT;

	for (unsigned i = 0; i < 3; i++) {
		struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
		struct str s CLEANUP(str_release) = { 0 };

		grow(l, 5);
		if (i == 1)
			CHECK_OK(ledger_export(l, dirs[i], &err), err);
		if (i == 2)
			CHECK_OK(ledger_tiles(l, dirs[i], &err), err);
		CHECK_OK(ledger_witness_request_of(w, dirs[i], &s, &err), err);
		CHECK_OK(ledger_witness_add(w, sv_str(&s), ledger_vkey(l), NOW, &d, &err), err);
		CHECK(d.cosigned && d.size == 1 + 5 * (i + 1));
	}
	ledger_witness_close(w);
	ledger_close(l);
}

static int take_size(void *arg, const struct ledger_witnessed *d, struct err *err)
{
	(void)err;
	*(uint64_t *)arg = d->size;
	return 0;
}

/* Two answers at once may never leave the older of them as what was seen. */
static void requests_at_once_never_take_it_back(void)
{
	enum { STEPS = 12 };
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	AUTO_FREE char *vkey = xstrdup(ledger_vkey(l));
	struct str requests[STEPS][2] = { 0 };
	struct err err = ERR_INIT;
	uint64_t sizes[STEPS + 1] = { 0 };

	/* Of each step two: from the one before, and from the very beginning. */
	for (unsigned i = 0; i < STEPS; i++) {
		grow(l, 1);
		CHECK_OK(ledger_size(l, &sizes[i + 1], NULL, &err), err);
		CHECK_OK(ledger_witness_request(l, sizes[i], &requests[i][0], &err), err);
		CHECK_OK(ledger_witness_request(l, 0, &requests[i][1], &err), err);
	}
	ledger_close(l);
	ledger_witness_close(w);
	for (unsigned p = 0; p < 4; p++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid)
			continue;
		w = witness("w");
		for (unsigned round = 0; round < 3; round++)
			for (unsigned i = 0; i < STEPS; i++) {
				struct str *r = &requests[(i + p) % STEPS][round & 1];
				struct err why = ERR_INIT;
				int rc = ledger_witness_add(w, sv_str(r), vkey, NOW, &d, &why);

				if (rc < 0 && !strstr(why.msg, "rollback"))
					test_fails(__FILE__, __LINE__, "%s", why.msg);
				if (rc == 0 && d.cosigned && d.size < d.seen)
					test_fails(__FILE__, __LINE__, "it went back");
				ledger_witnessed_release(&d);
			}
		ledger_witness_close(w);
		_exit(0);
	}
	for (unsigned p = 0; p < 4; p++) {
		int status = 0;

		CHECK(wait(&status) > 0);
		CHECK_INT(status, 0);
	}
	/* From where it stands it goes on to the end: one of the steps begins there. */
	w = witness("w");
	for (unsigned i = 0; i < STEPS; i++) {
		struct err why = ERR_INIT;

		if (ledger_witness_add(w, sv_str(&requests[i][0]), NULL, NOW, &d, &why) == 0)
			ledger_witnessed_release(&d);
		str_release(&requests[i][0]);
		str_release(&requests[i][1]);
	}
	CHECK_OK(ledger_witness_each(w, take_size, &sizes[0], &err), err);
	CHECK_INT(sizes[0], sizes[STEPS]);
	ledger_witness_close(w);
}

#define NOTE "log.example\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"

static void what_is_no_request_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"old\n\n" NOTE,
		"old 01\n\n" NOTE,
		"old -1\n\n" NOTE,
		"old 1\nAAAA\n\n" NOTE,
		"old 1\n\n",
		"old 1\n",
		"new 1\n\n" NOTE,
		"old 1\n\n" NOTE,
	};
	struct ledger_witness *w = witness("w");
	struct ledger_witnessed d = { 0 };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (ledger_witness_add(w, sv_of(bad[i]), NULL, NOW, &d, &err) == 0)
			test_fails(__FILE__, __LINE__, "case %zu was taken", i);
	ledger_witness_close(w);
}

TEST_MAIN(TEST(a_log_that_grows_is_cosigned_each_time), TEST(the_cosignature_is_good_and_kept),
	  TEST(a_request_from_elsewhere_is_told_where_we_are),
	  TEST(a_log_that_goes_back_or_forks_is_refused), TEST(forks_are_kept_as_evidence),
	  TEST(keys_are_trusted_once_and_by_name), TEST(a_damaged_memory_signs_nothing),
	  TEST(folders_speak_for_themselves), TEST(requests_at_once_never_take_it_back),
	  TEST(what_is_no_request_is_refused))
