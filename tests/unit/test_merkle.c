/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "ledger/ledger.h"
#include "ledger/merkle.h"
#include "shared_vectors.h"

/* Leaves in memory as a source of nodes. */
struct leaves {
	uint8_t (*v)[SHA256_LEN];
	uint64_t n;
	struct sha256 h;
};

static int node(void *arg, unsigned level, uint64_t index, uint8_t ret[SHA256_LEN], struct err *err)
{
	struct leaves *l = arg;
	struct frontier f = { 0 };
	uint64_t from = index << level, n = UINT64_C(1) << level;

	if (from + n > l->n)
		return bail(err, ERR_RANGE, "past the end");
	for (uint64_t i = 0; i < n; i++)
		frontier_add(&f, &l->h, l->v[from + i]);
	frontier_root(&f, &l->h, ret);
	return 0;
}

static struct leaves leaves_of(uint64_t n)
{
	struct leaves l = { .v = xcalloc(n + 1, sizeof(*l.v)), .n = n };

	for (uint64_t i = 0; i < n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "entry %llu", (unsigned long long)i);
		merkle_leaf(&l.h, sv_of(text), l.v[i]);
	}
	return l;
}

static void leaves_release(struct leaves *l)
{
	free(l->v);
	sha256_release(&l->h);
}

static void roots_of_the_frontier_are_those_of_the_tree(void)
{
	struct leaves l CLEANUP(leaves_release) = leaves_of(70);
	struct merkle_source s = { node, &l, &l.h };
	struct frontier f = { 0 };
	uint8_t a[SHA256_LEN], b[SHA256_LEN];
	struct err err = ERR_INIT;

	for (uint64_t n = 0; n <= 70; n++) {
		CHECK_INT(f.size, n);
		frontier_root(&f, &l.h, a);
		CHECK_OK(merkle_root(&s, n, b, &err), err);
		CHECK(memcmp(a, b, SHA256_LEN) == 0);
		if (n < 70)
			frontier_add(&f, &l.h, l.v[n]);
	}
}

static void every_proof_holds_and_no_altered_one(void)
{
	struct leaves l CLEANUP(leaves_release) = leaves_of(33);
	struct merkle_source s = { node, &l, &l.h };
	struct err err = ERR_INIT;
	uint8_t root[SHA256_LEN], old[SHA256_LEN];

	for (uint64_t n = 1; n <= 33; n++) {
		CHECK_OK(merkle_root(&s, n, root, &err), err);
		for (uint64_t i = 0; i < n; i++) {
			struct ledger_proof p CLEANUP(ledger_proof_release) = { 0 };
			const uint8_t(*h)[SHA256_LEN];

			CHECK_OK(merkle_inclusion(&s, i, n, &p, &err), err);
			h = (const uint8_t(*)[SHA256_LEN])p.hash;
			CHECK(p.n <= 6);
			CHECK(merkle_inclusion_holds(&l.h, i, n, l.v[i], h, p.n, root));
			CHECK(n == 1 ||
			      !merkle_inclusion_holds(&l.h, (i + 1) % n, n, l.v[i], h, p.n, root));
			CHECK(!p.n ||
			      !merkle_inclusion_holds(&l.h, i, n, l.v[i], h, p.n - 1, root));
			for (size_t k = 0; k < p.n; k++) {
				p.hash[k][7] ^= 1;
				CHECK(!merkle_inclusion_holds(&l.h, i, n, l.v[i], h, p.n, root));
				p.hash[k][7] ^= 1;
			}
		}
		for (uint64_t m = 0; m <= n; m++) {
			struct ledger_proof p CLEANUP(ledger_proof_release) = { 0 };
			const uint8_t(*h)[SHA256_LEN];

			CHECK_OK(merkle_root(&s, m, old, &err), err);
			CHECK_OK(merkle_consistency(&s, m, n, &p, &err), err);
			h = (const uint8_t(*)[SHA256_LEN])p.hash;
			CHECK(merkle_consistency_holds(&l.h, m, n, old, root, h, p.n));
			for (size_t k = 0; k < p.n; k++) {
				p.hash[k][0] ^= 0x80;
				CHECK(!merkle_consistency_holds(&l.h, m, n, old, root, h, p.n));
				p.hash[k][0] ^= 0x80;
			}
			old[3] ^= 1;
			CHECK(!merkle_consistency_holds(&l.h, m, n, old, root, h, p.n));
		}
	}
}

static void a_proof_past_the_end_is_refused(void)
{
	struct leaves l CLEANUP(leaves_release) = leaves_of(3);
	struct merkle_source s = { node, &l, &l.h };
	struct ledger_proof p = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(merkle_inclusion(&s, 3, 3, &p, &err), -ERR_RANGE);
	CHECK_INT(merkle_consistency(&s, 4, 3, &p, &err), -ERR_RANGE);
}

static void tiles_have_the_paths_of_tlog_tiles(void)
{
	static const struct {
		unsigned level, width;
		uint64_t index;
		const char *path;
	} cases[] = { { 0, 256, 0, "tile/0/000" },
		      { 0, 13, 0, "tile/0/000.p/13" },
		      { 1, 256, 1234067, "tile/1/x001/x234/067" },
		      { 0, 255, 999, "tile/0/999.p/255" },
		      { 2, 1, 1000, "tile/2/x001/000.p/1" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *p = tile_path(cases[i].level, cases[i].index, cases[i].width);

		CHECK_STR(p, cases[i].path);
	}
}

/* ---- vectors ---- */

static json_t *member(const json_t *c, const char *key)
{
	return json_object_get(c, key);
}

static void same_proof(const json_t *want, const struct ledger_proof *p)
{
	CHECK_INT(json_array_size(want), p->n);
	for (size_t i = 0; i < p->n; i++) {
		char hex[SHA256_HEX];

		hex_of(p->hash[i], SHA256_LEN, hex);
		CHECK_STR(hex, json_string_value(json_array_get(want, i)));
	}
}

static void one_vector(const json_t *c, struct leaves *l)
{
	const char *kind = vector_str(c, "kind");
	struct merkle_source s = { node, l, &l->h };
	struct ledger_proof p CLEANUP(ledger_proof_release) = { 0 };
	struct err err = ERR_INIT;
	uint8_t d[SHA256_LEN];
	char hex[SHA256_HEX];
	size_t n;

	if (streq(kind, "leaf")) {
		uint8_t *e = vector_hex(c, "entry_hex", &n);

		merkle_leaf(&l->h, (struct sv){ (char *)e, n }, l->v[l->n]);
		hex_of(l->v[l->n++], SHA256_LEN, hex);
		CHECK_STR(hex, vector_str(c, "leaf_hex"));
	} else if (streq(kind, "root")) {
		CHECK_OK(merkle_root(&s, (uint64_t)json_integer_value(member(c, "size")), d, &err),
			 err);
		hex_of(d, SHA256_LEN, hex);
		CHECK_STR(hex, vector_str(c, "root_hex"));
	} else if (streq(kind, "inclusion")) {
		CHECK_OK(merkle_inclusion(&s, (uint64_t)json_integer_value(member(c, "index")),
					  (uint64_t)json_integer_value(member(c, "size")), &p,
					  &err),
			 err);
		same_proof(member(c, "proof_hex"), &p);
	} else if (streq(kind, "consistency")) {
		CHECK_OK(merkle_consistency(&s, (uint64_t)json_integer_value(member(c, "old")),
					    (uint64_t)json_integer_value(member(c, "new")), &p,
					    &err),
			 err);
		same_proof(member(c, "proof_hex"), &p);
	} else if (streq(kind, "tile")) {
		AUTO_FREE char *path = tile_path(0, 0, (unsigned)l->n);
		uint8_t *content = vector_hex(c, "content_hex", &n);

		CHECK_STR(path, vector_str(c, "path"));
		CHECK_INT(n, l->n * SHA256_LEN);
		CHECK(memcmp(content, l->v, n) == 0);
	} else {
		test_fails(__FILE__, __LINE__, "a vector of kind '%s'", kind);
	}
}

static void vectors_of_the_tree(void)
{
	json_t *doc = shared_vectors("ledger_merkle.json"), *c;
	struct leaves l CLEANUP(leaves_release) = { .v = xcalloc(1000, sizeof(*l.v)) };
	size_t i;

	json_array_foreach(member(doc, "cases"), i, c) one_vector(c, &l);
	CHECK(i > 0);
}

TEST_MAIN(TEST(roots_of_the_frontier_are_those_of_the_tree),
	  TEST(every_proof_holds_and_no_altered_one), TEST(a_proof_past_the_end_is_refused),
	  TEST(tiles_have_the_paths_of_tlog_tiles), TEST(vectors_of_the_tree))
