/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/merkle.h"

#include "base/err.h"
#include "ledger/ledger.h"

void merkle_leaf(struct sha256 *h, struct sv bytes, uint8_t ret[SHA256_LEN])
{
	sha256_init(h);
	sha256_add(h, "\0", 1);
	sha256_add(h, bytes.p, bytes.n);
	sha256_end(h, ret);
}

void merkle_node(struct sha256 *h, const uint8_t left[SHA256_LEN], const uint8_t right[SHA256_LEN],
		 uint8_t ret[SHA256_LEN])
{
	uint8_t both[1 + 2 * SHA256_LEN] = { 1 };

	memcpy(both + 1, left, SHA256_LEN);
	memcpy(both + 1 + SHA256_LEN, right, SHA256_LEN);
	sha256_init(h);
	sha256_add(h, both, sizeof(both));
	sha256_end(h, ret);
}

size_t frontier_count(const struct frontier *f)
{
	return (size_t)__builtin_popcountll(f->size);
}

void frontier_grow(struct frontier *f, struct sha256 *h, const uint8_t leaf[SHA256_LEN],
		   struct merkle_grown *ret)
{
	size_t n = frontier_count(f);
	uint8_t own[SHA256_LEN];

	memcpy(own, leaf, SHA256_LEN);
	ret->n = 0;
	/* Each low one-bit of the size is a full subtree of just that size, to be joined. */
	for (uint64_t bits = f->size; bits & 1; bits >>= 1) {
		merkle_node(h, f->hash[--n], own, own);
		memcpy(ret->hash[ret->n++], own, SHA256_LEN);
	}
	memcpy(f->hash[n], own, SHA256_LEN);
	f->size++;
}

void frontier_add(struct frontier *f, struct sha256 *h, const uint8_t leaf[SHA256_LEN])
{
	struct merkle_grown grown;

	frontier_grow(f, h, leaf, &grown);
}

void frontier_root(const struct frontier *f, struct sha256 *h, uint8_t ret[SHA256_LEN])
{
	size_t n = frontier_count(f);

	if (!n) {
		sha256("", 0, ret);
		return;
	}
	memcpy(ret, f->hash[n - 1], SHA256_LEN);
	for (size_t i = n - 1; i-- > 0;)
		merkle_node(h, f->hash[i], ret, ret);
}

/* ---- trees out of a source of nodes ---- */

static unsigned log2_of(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

/* The largest power of two smaller than n (n > 1). */
static uint64_t split_of(uint64_t n)
{
	return (uint64_t)1 << log2_of(n - 1);
}

/* Root of the n leaves from `from`, which is a multiple of every power of two below n. */
static int range_root(const struct merkle_source *s, uint64_t from, uint64_t n,
		      uint8_t ret[SHA256_LEN], struct err *err)
{
	uint8_t left[SHA256_LEN], right[SHA256_LEN];
	uint64_t k;

	if (!(n & (n - 1)))
		return s->node(s->arg, log2_of(n), from >> log2_of(n), ret, err);
	k = split_of(n);
	TRY(range_root(s, from, k, left, err));
	TRY(range_root(s, from + k, n - k, right, err));
	merkle_node(s->h, left, right, ret);
	return 0;
}

int merkle_root(const struct merkle_source *s, uint64_t size, uint8_t ret[SHA256_LEN],
		struct err *err)
{
	if (size)
		return range_root(s, 0, size, ret, err);
	sha256("", 0, ret);
	return 0;
}

static int proof_add(const struct merkle_source *s, uint64_t from, uint64_t n,
		     struct ledger_proof *p, struct err *err)
{
	if (!p->hash)
		p->hash = xcalloc(2 * 64 + 2, sizeof(*p->hash)); /* no proof is longer */
	TRY(range_root(s, from, n, p->hash[p->n], err));
	p->n++;
	return 0;
}

static void proof_turn(struct ledger_proof *p)
{
	uint8_t t[SHA256_LEN];

	for (size_t i = 0; i < p->n / 2; i++) {
		memcpy(t, p->hash[i], SHA256_LEN);
		memcpy(p->hash[i], p->hash[p->n - 1 - i], SHA256_LEN);
		memcpy(p->hash[p->n - 1 - i], t, SHA256_LEN);
	}
}

int merkle_inclusion(const struct merkle_source *s, uint64_t index, uint64_t size,
		     struct ledger_proof *ret, struct err *err)
{
	struct ledger_proof own CLEANUP(ledger_proof_release) = { 0 };
	uint64_t from = 0, n = size;

	if (index >= size)
		return bail(err, ERR_RANGE, "no entry %llu in a log of %llu",
			    (unsigned long long)index, (unsigned long long)size);
	/* From the top down; RFC 6962 lists from the leaf up. */
	while (n > 1) {
		uint64_t k = split_of(n);

		if (index - from < k) {
			TRY(proof_add(s, from + k, n - k, &own, err));
			n = k;
		} else {
			TRY(proof_add(s, from, k, &own, err));
			from += k;
			n -= k;
		}
	}
	proof_turn(&own);
	*ret = own;
	own = (struct ledger_proof){ 0 };
	return 0;
}

int merkle_consistency(const struct merkle_source *s, uint64_t old, uint64_t size,
		       struct ledger_proof *ret, struct err *err)
{
	struct ledger_proof own CLEANUP(ledger_proof_release) = { 0 };
	uint64_t from = 0, n = size, m = old;
	bool whole = true; /* the old tree is a full subtree that the verifier has as its root */

	if (old > size)
		return bail(err, ERR_RANGE, "%llu entries are more than %llu",
			    (unsigned long long)old, (unsigned long long)size);
	if (old && old < size) {
		while (m != n) {
			uint64_t k = split_of(n);

			if (m <= k) {
				TRY(proof_add(s, from + k, n - k, &own, err));
				n = k;
			} else {
				TRY(proof_add(s, from, k, &own, err));
				from += k;
				n -= k;
				m -= k;
				whole = false;
			}
		}
		if (!whole)
			TRY(proof_add(s, from, n, &own, err));
		proof_turn(&own);
	}
	*ret = own;
	own = (struct ledger_proof){ 0 };
	return 0;
}

bool merkle_inclusion_holds(struct sha256 *h, uint64_t index, uint64_t size,
			    const uint8_t leaf[SHA256_LEN], const uint8_t (*proof)[SHA256_LEN],
			    size_t n, const uint8_t root[SHA256_LEN])
{
	uint64_t fn = index, sn = size - 1;
	uint8_t r[SHA256_LEN];

	if (index >= size)
		return false;
	memcpy(r, leaf, SHA256_LEN);
	for (size_t i = 0; i < n; i++) {
		if (!sn)
			return false;
		if (fn & 1 || fn == sn) {
			merkle_node(h, proof[i], r, r);
			while (!(fn & 1) && fn) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			merkle_node(h, r, proof[i], r);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return !sn && memcmp(r, root, SHA256_LEN) == 0;
}

bool merkle_consistency_holds(struct sha256 *h, uint64_t old, uint64_t size,
			      const uint8_t old_root[SHA256_LEN], const uint8_t root[SHA256_LEN],
			      const uint8_t (*proof)[SHA256_LEN], size_t n)
{
	uint64_t fn = old - 1, sn = size - 1;
	uint8_t fr[SHA256_LEN], sr[SHA256_LEN];
	size_t i = 0;

	if (old > size)
		return false;
	if (old == size)
		return !n && memcmp(old_root, root, SHA256_LEN) == 0;
	if (!old) { /* every log begins with the empty one; its root is no choice */
		sha256("", 0, fr);
		return !n && memcmp(old_root, fr, SHA256_LEN) == 0;
	}
	if (old & (old - 1) && !n)
		return false;
	while (fn & 1) {
		fn >>= 1;
		sn >>= 1;
	}
	memcpy(fr, old & (old - 1) ? proof[i++] : old_root, SHA256_LEN);
	memcpy(sr, fr, SHA256_LEN);
	for (; i < n; i++) {
		if (!sn)
			return false;
		if (fn & 1 || fn == sn) {
			merkle_node(h, proof[i], fr, fr);
			merkle_node(h, proof[i], sr, sr);
			while (!(fn & 1) && fn) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			merkle_node(h, sr, proof[i], sr);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return !sn && memcmp(fr, old_root, SHA256_LEN) == 0 && memcmp(sr, root, SHA256_LEN) == 0;
}

void ledger_proof_release(struct ledger_proof *p)
{
	free(p->hash);
	*p = (struct ledger_proof){ 0 };
}

char *tile_path(unsigned level, uint64_t index, unsigned width)
{
	struct str s = { 0 };
	char groups[7][4];
	int n = 0;

	do {
		(void)snprintf(groups[n++], sizeof(groups[0]), "%03u", (unsigned)(index % 1000));
		index /= 1000;
	} while (index);
	str_addf(&s, "tile/%u", level);
	while (n-- > 0)
		str_addf(&s, "/%s%s", n ? "x" : "", groups[n]);
	if (width < 256)
		str_addf(&s, ".p/%u", width);
	return str_steal(&s);
}
