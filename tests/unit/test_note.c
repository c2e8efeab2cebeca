/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "ledger/note.h"
#include "shared_vectors.h"

static struct ed25519 key_of(uint8_t fill)
{
	uint8_t seed[ED25519_LEN];
	struct ed25519 k;

	memset(seed, fill, sizeof(seed));
	ed25519_from_seed(seed, &k);
	return k;
}

static char *signed_note(const char *text, const struct ed25519 *k)
{
	struct str s = { 0 };

	str_addf(&s, "%s\n", text);
	note_sign(sv_of(text), "log.example", k, &s);
	return str_steal(&s);
}

static void what_is_signed_verifies_with_its_key_only(void)
{
	struct ed25519 k = key_of(1), other = key_of(2);
	AUTO_FREE char *text =
		signed_note("log.example\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", &k);
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key a CLEANUP(note_key_release) = { 0 }, b CLEANUP(note_key_release) = { 0 };
	struct err err = ERR_INIT;

	note_key_of("log.example", NOTE_ED25519, k.public, &a);
	note_key_of("log.example", NOTE_ED25519, other.public, &b);
	CHECK_OK(note_parse(sv_of(text), &n, &err), err);
	CHECK_INT(n.lines.n, 1);
	CHECK_INT(note_line_check(&n, &n.lines.v[0], &a, NULL), NOTE_GOOD);
	CHECK_INT(note_line_check(&n, &n.lines.v[0], &b, NULL), NOTE_OTHER_KEY);
	n.lines.v[0].sig[9] ^= 1;
	CHECK_INT(note_line_check(&n, &n.lines.v[0], &a, NULL), NOTE_BAD);
}

static void cosignatures_bind_their_time(void)
{
	struct ed25519 k = key_of(3);
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key w CLEANUP(note_key_release) = { 0 };
	const char *text = "log.example\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	int64_t time = 0;

	str_addf(&s, "%s\n", text);
	note_cosign(sv_of(text), "w.example", &k, 1796000000, &s);
	note_key_of("w.example", NOTE_COSIGNATURE, k.public, &w);
	CHECK_OK(note_parse(sv_str(&s), &n, &err), err);
	CHECK_INT(note_line_check(&n, &n.lines.v[0], &w, &time), NOTE_GOOD);
	CHECK_INT(time, 1796000000);
	n.lines.v[0].sig[7] ^= 1; /* another time */
	CHECK_INT(note_line_check(&n, &n.lines.v[0], &w, &time), NOTE_BAD);
}

static void keys_go_through_text_and_back(void)
{
	struct ed25519 k = key_of(4), again = { 0 };
	struct note_key a CLEANUP(note_key_release) = { 0 }, b CLEANUP(note_key_release) = { 0 };
	AUTO_FREE char *vkey = NULL, *secret = note_secret("log.example/a", &k), *name = NULL;
	struct err err = ERR_INIT;

	note_key_of("log.example/a", NOTE_ED25519, k.public, &a);
	vkey = note_vkey(&a);
	CHECK_OK(note_key_parse(sv_of(vkey), &b, &err), err);
	CHECK_STR(b.name, "log.example/a");
	CHECK(memcmp(b.public, k.public, ED25519_LEN) == 0);
	CHECK_OK(note_secret_parse(sv_of(secret), &name, &again, &err), err);
	CHECK_STR(name, "log.example/a");
	CHECK(memcmp(again.seed, k.seed, ED25519_LEN) == 0);
	vkey[strlen(vkey) - 4] ^= 1; /* another key under the same id */
	CHECK(note_key_parse(sv_of(vkey), &b, &err) < 0);
}

static void what_is_no_note_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"text\n",
		"text\n\n",
		"text\n\nno dash\n",
		"text\n\n\xe2\x80\x94 name !!!!\n",
		"text\n\n\xe2\x80\x94 name AAAA\n",
		"te\x01xt\n\n\xe2\x80\x94 n AAAAAAAA\n",
		"\xff\n\n\xe2\x80\x94 n AAAAAAAA\n",
		"text\n\n\xe2\x80\x94 n AAAAAAAA",
		/* as long as a cosignature, and no base64 */
		"text\n\n\xe2\x80\x94 n "
		"AAAA@"
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		"AAAAAAAAAAAAAAAAAAAAAAA=\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct note n = { 0 };
		struct err err = ERR_INIT;

		if (note_parse(sv_of(bad[i]), &n, &err) == 0)
			test_fails(__FILE__, __LINE__, "case %zu was read", i);
	}
}

static void a_checkpoint_has_three_lines_and_no_more(void)
{
	static const char *const bad[] = {
		"log\n1\n",
		"log\n1\nAAAA\n",
		"log\n01\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
		"log\n-1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
		"log\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nmore\n",
		"l og\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
	};
	struct checkpoint c;
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(checkpoint_parse(sv_of(bad[i]), &c, &err) < 0);
	CHECK_OK(checkpoint_parse(SV("log\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"), &c,
				  &err),
		 err);
	CHECK_INT(c.size, 1);
}

static void names_hold_nothing_that_ends_a_field(void)
{
	CHECK(note_name_fits(SV("twice.example/lab/mi300x-a")));
	CHECK(!note_name_fits(SV("")) && !note_name_fits(SV("a b")) && !note_name_fits(SV("a+b")));
	CHECK(!note_name_fits(SV("a\nb")) && !note_name_fits(SV("a\"b")) &&
	      !note_name_fits(SV("\xff")));
}

static void vectors_of_checkpoints(void)
{
	json_t *doc = shared_vectors("ledger_checkpoint.json"), *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "cases"), i, c)
	{
		const char *origin = vector_str(c, "origin");
		const json_t *w = json_object_get(c, "witness");
		struct str s CLEANUP(str_release) = { 0 }, line CLEANUP(str_release) = { 0 };
		struct str whole CLEANUP(str_release) = { 0 };
		struct ed25519 key, witness;
		struct note_key vkey CLEANUP(note_key_release) = { 0 };
		struct note_key wkey CLEANUP(note_key_release) = { 0 };
		AUTO_FREE char *text = NULL;
		struct note n CLEANUP(note_release) = { 0 };
		struct err err = ERR_INIT;
		int64_t time = 0;
		char id[9];

		ed25519_from_seed(vector_hex(c, "seed_hex", NULL), &key);
		ed25519_from_seed(vector_hex(w, "seed_hex", NULL), &witness);
		note_key_of(origin, NOTE_ED25519, key.public, &vkey);
		text = note_vkey(&vkey);
		CHECK_STR(text, vector_str(c, "vkey"));
		hex_of(vkey.id, 4, id);
		CHECK_STR(id, vector_str(c, "key_id_hex"));
		checkpoint_text(origin, (uint64_t)json_integer_value(json_object_get(c, "size")),
				vector_hex(c, "root_hex", NULL), &s);
		note_cosign(sv_str(&s), vector_str(w, "name"), &witness,
			    json_integer_value(json_object_get(w, "time")), &line);
		CHECK_STR(str_text(&line), vector_str(w, "line"));
		str_addf(&whole, "%s\n", str_text(&s));
		note_sign(sv_str(&s), origin, &key, &whole);
		CHECK_STR(str_text(&whole), vector_str(c, "note"));
		str_addsv(&whole, sv_str(&line));
		CHECK_OK(note_parse(sv_str(&whole), &n, &err), err);
		note_key_of(vector_str(w, "name"), NOTE_COSIGNATURE, witness.public, &wkey);
		CHECK_INT(note_line_check(&n, &n.lines.v[0], &vkey, NULL), NOTE_GOOD);
		CHECK_INT(note_line_check(&n, &n.lines.v[1], &wkey, &time), NOTE_GOOD);
	}
	CHECK(i > 0);
}

TEST_MAIN(TEST(what_is_signed_verifies_with_its_key_only), TEST(cosignatures_bind_their_time),
	  TEST(keys_go_through_text_and_back), TEST(what_is_no_note_is_refused),
	  TEST(a_checkpoint_has_three_lines_and_no_more),
	  TEST(names_hold_nothing_that_ends_a_field), TEST(vectors_of_checkpoints))
