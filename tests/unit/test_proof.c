/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/proof.h"

#include "ledger_scene.h"

/* n entries, one checkpoint, and the proof of one of them as text. */
static char *proof_of(struct ledger *l, unsigned n, uint64_t seq)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct str s = { 0 };
	struct err err = ERR_INIT;

	for (unsigned i = 1; i < n; i++)
		scene_add(l, "cost", "{\"n\":%u}", i);
	scene_checkpoint(l);
	CHECK_OK(ledger_get(l, seq, &e, &err), err);
	CHECK_OK(ledger_proof_file(l, &e, &s, &err), err);
	return str_steal(&s);
}

static void every_entry_is_proven_in_trees_of_many_sizes(void)
{
	for (unsigned n = 1; n < 20; n++) {
		AUTO_FREE char *dir = xasprintf("%s/l%u", test_dir(), n);
		struct ledger *l = scene_open(dir);
		struct note_key key CLEANUP(note_key_release) = { 0 };
		struct err err = ERR_INIT;

		free(proof_of(l, n, 0));
		CHECK_OK(note_key_parse(sv_of(ledger_vkey(l)), &key, &err), err);
		for (uint64_t seq = 0; seq < n; seq++) {
			struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
			struct tlog_proof p CLEANUP(tlog_proof_release) = { 0 };
			struct str s CLEANUP(str_release) = { 0 };
			struct checkpoint cp;

			CHECK_OK(ledger_get(l, seq, &e, &err), err);
			CHECK_OK(ledger_proof_file(l, &e, &s, &err), err);
			CHECK_OK(tlog_proof_parse(sv_str(&s), &p, &err), err);
			CHECK(p.index == seq && p.extra_n == e.n &&
			      memcmp(p.extra, e.bytes, e.n) == 0);
			CHECK_OK(tlog_proof_check(&p, (struct sv){ p.extra, p.extra_n }, &key, &cp,
						  &err),
				 err);
			CHECK_INT(cp.size, n);
		}
		ledger_close(l);
	}
}

static void a_changed_byte_anywhere_is_found(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	AUTO_FREE char *text = proof_of(l, 6, 3);
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct err err = ERR_INIT;
	size_t n = strlen(text);

	CHECK_OK(note_key_parse(sv_of(ledger_vkey(l)), &key, &err), err);
	for (size_t i = 0; i < n; i++) {
		struct tlog_proof p CLEANUP(tlog_proof_release) = { 0 };
		struct checkpoint cp;
		struct err why = ERR_INIT;

		text[i] ^= 1;
		if (tlog_proof_parse((struct sv){ text, n }, &p, &why) == 0 &&
		    tlog_proof_check(&p, (struct sv){ p.extra, p.extra_n }, &key, &cp, &why) == 0)
			test_fails(__FILE__, __LINE__, "byte %zu changed unseen", i);
		text[i] ^= 1;
	}
	ledger_close(l);
}

static void another_logs_key_proves_nothing(void)
{
	struct ledger *l = scene_open(scene_path("l")), *m = scene_open(scene_path("m"));
	AUTO_FREE char *text = proof_of(l, 3, 1);
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct tlog_proof p CLEANUP(tlog_proof_release) = { 0 };
	struct checkpoint cp;
	struct err err = ERR_INIT;

	CHECK_OK(note_key_parse(sv_of(ledger_vkey(m)), &key, &err), err);
	CHECK_OK(tlog_proof_parse(sv_of(text), &p, &err), err);
	CHECK_INT(tlog_proof_check(&p, (struct sv){ p.extra, p.extra_n }, &key, &cp, &err),
		  -ERR_UNSUPPORTED);
	ledger_close(l);
	ledger_close(m);
}

#define HEAD "c2sp.org/tlog-proof@v1\n"

static void what_is_no_proof_is_refused(void)
{
	static const char *const bad[] = {
		"",
		HEAD,
		"c2sp.org/tlog-proof@v2\nindex 0\n\nx\n",
		HEAD "index\n\nx\n",
		HEAD "index 01\n\nx\n",
		HEAD "index -1\n\nx\n",
		HEAD "index 99999999999999999999\n\nx\n",
		HEAD "extra !\nindex 0\n\nx\n",
		HEAD "extra AAAA\n\nx\n",
		HEAD "index 0\nAAAA\n\nx\n",
		HEAD "index 0\n",
		HEAD "index 0\n\n",
	};
	struct str many CLEANUP(str_release) = { 0 };
	struct tlog_proof p = { 0 };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (tlog_proof_parse(sv_of(bad[i]), &p, &err) == 0)
			test_fails(__FILE__, __LINE__, "case %zu was read", i);
	}
	str_add(&many, HEAD "index 0\n");
	for (int i = 0; i < 64; i++)
		str_add(&many, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n");
	str_add(&many, "\nx\n");
	CHECK_INT(tlog_proof_parse(sv_str(&many), &p, &err), -ERR_LIMIT);
}

static void an_example_of_the_specification_is_read(void)
{
	struct tlog_proof p CLEANUP(tlog_proof_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(tlog_proof_parse(SV(HEAD "extra YWdl\nindex 73894\n"
					  "gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=\n"
					  "B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n"
					  "\nexample.com/fancylog\n109482\n"),
				  &p, &err),
		 err);
	CHECK_STR(p.extra, "age");
	CHECK_INT(p.index, 73894);
	CHECK_INT(p.n, 2);
	CHECK(sv_is(p.checkpoint, "example.com/fancylog\n109482\n"));
}

TEST_MAIN(TEST(every_entry_is_proven_in_trees_of_many_sizes),
	  TEST(a_changed_byte_anywhere_is_found), TEST(another_logs_key_proves_nothing),
	  TEST(what_is_no_proof_is_refused), TEST(an_example_of_the_specification_is_read))
