/* SPDX-License-Identifier: Apache-2.0 */
/* From fixed texts to a table that finds all of them at once. */
#include "diagnose/signature_inner.h"

#include "base/vec.h"

/*
 * How common a byte is in logs, roughly, in three classes: the window of a part is put where its
 * groups are rare, so that few places of a text have to be looked at closely.
 */
static unsigned commonness(char c)
{
	if (strchr("etaoinsrl _", c))
		return 3;
	if (strchr("dcumfpgh.:0123456789=-/[]\"',", c))
		return 2;
	return 1;
}

static uint32_t gram_at(const char *p)
{
	uint32_t g;

	memcpy(&g, p, sizeof(g));
	return index_fold(g);
}

/* How often a hash of a group is in all parts together; what many parts share says little. */
struct shared {
	uint16_t n[1u << FILTER_BITS];
};

static void count_groups(const struct signature_index *x, struct shared *ret)
{
	for (size_t i = 0; i < x->parts.n; i++) {
		const struct index_part *p = &x->parts.v[i];

		for (size_t at = 0; at + INDEX_GRAM <= p->n; at++) {
			uint16_t *n = &ret->n[index_hash(gram_at(p->text + at))];

			*n = (uint16_t)MIN(*n + 1, 1000);
		}
	}
}

static size_t window_of(const struct index_part *p, const struct shared *shared)
{
	size_t best = 0;
	unsigned least = UINT32_MAX;

	for (size_t at = 0; at + INDEX_WINDOW <= p->n; at++) {
		unsigned sum = 0;

		for (size_t g = 0; g < INDEX_STEP; g++) {
			unsigned product = 1;

			for (size_t i = 0; i < INDEX_GRAM; i++)
				product *= commonness(p->text[at + g + i]);
			sum += product * shared->n[index_hash(gram_at(p->text + at + g))];
		}
		if (sum < least) {
			least = sum;
			best = at;
		}
	}
	return best;
}

static struct index_entry entry(const struct index_part *p, uint32_t part, size_t at)
{
	struct index_entry e = { .gram = gram_at(p->text + at), .part = part, .at = (uint32_t)at };
	char next[INDEX_GRAM] = { 0 }, mask[INDEX_GRAM] = { 0 };

	for (size_t i = 0; i < INDEX_GRAM && at + INDEX_GRAM + i < p->n; i++) {
		next[i] = p->text[at + INDEX_GRAM + i];
		mask[i] = (char)0xff;
	}
	memcpy(&e.mask, mask, sizeof(e.mask));
	e.next = gram_at(next) & e.mask;
	return e;
}

static uint32_t part_of(struct signature_index *x, const char *text)
{
	struct str low CLEANUP(str_release) = { 0 };
	struct index_part *p;

	for (const char *c = text; *c; c++)
		str_addc(&low, *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c);
	for (size_t i = 0; i < x->parts.n; i++)
		if (streq(x->parts.v[i].text, str_text(&low)))
			return (uint32_t)i;
	strs_add(&x->texts, str_text(&low));
	p = VEC_ADD(&x->parts);
	p->text = x->texts.v[x->texts.n - 1];
	p->n = low.n;
	return (uint32_t)(x->parts.n - 1);
}

static int by_hash(const void *pa, const void *pb)
{
	const struct index_entry *a = pa, *b = pb;
	uint32_t ha = index_hash(a->gram), hb = index_hash(b->gram);

	if (ha != hb)
		return ha < hb ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void fill(struct signature_index *x)
{
	struct shared *shared CLEANUP(freep) = xcalloc(1, sizeof(*shared));

	count_groups(x, shared);
	for (size_t i = 0; i < x->parts.n; i++) {
		const struct index_part *p = &x->parts.v[i];
		size_t at = window_of(p, shared);

		for (size_t g = at; g < at + INDEX_STEP; g++)
			*VEC_ADD(&x->entries) = entry(p, (uint32_t)i, g);
	}
	if (x->entries.n)
		qsort(x->entries.v, x->entries.n, sizeof(*x->entries.v), by_hash);
	for (size_t i = 0; i < x->entries.n; i++) {
		uint32_t h = index_hash(x->entries.v[i].gram);

		x->filter[h / 64] |= UINT64_C(1) << (h % 64);
		x->first[index_list(h) + 1]++;
	}
	for (size_t h = 0; h < 1u << INDEX_BITS; h++)
		x->first[h + 1] += x->first[h];
}

size_t word_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && ((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
			 (p[i] >= '0' && p[i] <= '9') || p[i] == '_'))
		i++;
	return i;
}

unsigned name_bucket(const char *p)
{
	uint32_t h = (uint32_t)(p[0] | 0x20) << 16 | (uint32_t)(p[1] | 0x20) << 8 |
		     (uint32_t)(p[2] | 0x20);

	return (h * 0x9e3779b1u) >> 22;
}
_Static_assert(NAME_BUCKETS == 1 << (32 - 22), "the upper bits of the hash");

static int by_bucket(const void *pa, const void *pb)
{
	const struct index_name *a = pa, *b = pb;
	unsigned ba = name_bucket(a->text), bb = name_bucket(b->text);

	if (ba != bb)
		return ba < bb ? -1 : 1;
	if (a->sig != b->sig)
		return a->sig < b->sig ? -1 : 1;
	return strcmp(a->text, b->text);
}

static void add_names(struct signature_index *x, const struct signature *s, uint32_t sig)
{
	for (size_t i = 0; i < s->words.n; i++) {
		struct str low CLEANUP(str_release) = { 0 };
		const char *w = s->words.v[i];
		size_t n = word_length(w, strlen(w));

		for (size_t k = 0; k < n; k++)
			str_addc(&low, w[k] >= 'A' && w[k] <= 'Z' ? (char)(w[k] + 32) : w[k]);
		strs_add(&x->texts, str_text(&low));
		*VEC_ADD(&x->names) = (struct index_name){ x->texts.v[x->texts.n - 1], (uint32_t)n,
							   sig, w[n] == '*' };
	}
}

static void sort_names(struct signature_index *x)
{
	if (x->names.n > 1)
		qsort(x->names.v, x->names.n, sizeof(*x->names.v), by_bucket);
	for (size_t i = 0; i < x->names.n; i++)
		x->names_first[name_bucket(x->names.v[i].text) + 1]++;
	for (size_t b = 0; b < NAME_BUCKETS; b++)
		x->names_first[b + 1] += x->names_first[b];
}

struct signature_index *signature_index_new(const struct signatures *l)
{
	struct signature_index *x = xcalloc(1, sizeof(*x));

	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = 0; k < l->v[i].parts.n; k++) {
			uint32_t part = part_of(x, l->v[i].parts.v[k]);

			*VEC_ADD(&x->parts.v[part].users) = (uint32_t)i;
		}
		add_names(x, &l->v[i], (uint32_t)i);
	}
	sort_names(x);
	for (size_t i = 0; x->names.n && words_anchors[i]; i++)
		(void)part_of(x, words_anchors[i]);
	fill(x);
	x->words = words_new();
	return x;
}

void signature_index_free(struct signature_index **x)
{
	struct signature_index *it = *x;

	if (!it)
		return;
	for (size_t i = 0; i < it->parts.n; i++)
		free(it->parts.v[i].users.v);
	free(it->parts.v);
	free(it->entries.v);
	free(it->names.v);
	strs_release(&it->texts);
	words_free(&it->words);
	free(it);
	*x = NULL;
}
