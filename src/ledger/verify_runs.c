/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: what was announced, how it ended, and whether verdicts saw all of it. */
#include "ledger/verifying.h"

#include "base/json.h"
#include "base/vec.h"

#define LL (unsigned long long)

void runs_release(struct runs *r)
{
	free(r->v);
	free(r->slot);
	*r = (struct runs){ 0 };
}

/* A leaf is a hash already: its first bytes spread well. */
static size_t place_of(const struct runs *r, const uint8_t leaf[SHA256_LEN])
{
	uint64_t x;

	memcpy(&x, leaf, sizeof(x));
	for (size_t i = x & (r->slots - 1);; i = (i + 1) & (r->slots - 1))
		if (!r->slot[i] || memcmp(r->v[r->slot[i] - 1].leaf, leaf, SHA256_LEN) == 0)
			return i;
}

static size_t start_of(const struct runs *r, const json_t *ref)
{
	uint8_t leaf[SHA256_LEN];

	if (!r->slots || !hex_to(sv_of(json_str_or(ref, "digest", "")), leaf, SHA256_LEN))
		return 0;
	return r->slot[place_of(r, leaf)];
}

static void grow(struct runs *r)
{
	if (2 * (r->n + 1) <= r->slots)
		return;
	free(r->slot);
	r->slots = r->slots ? 2 * r->slots : 64;
	r->slot = xcalloc(r->slots, sizeof(*r->slot));
	for (size_t i = 0; i < r->n; i++)
		r->slot[place_of(r, r->v[i].leaf)] = (uint32_t)i + 1;
}

static void take_intent(struct runs *r, const struct ledger_entry *e)
{
	size_t run = start_of(r, json_object_get(e->body, "of"));
	struct start *s;

	grow(r);
	s = VEC_ADD(r);
	memcpy(s->leaf, e->ref.leaf, SHA256_LEN);
	s->seq = e->ref.seq;
	s->whole = streq(json_str_or(e->body, "scope", ""), "run");
	r->slot[place_of(r, s->leaf)] = (uint32_t)r->n;
	if (s->whole || !run)
		return;
	s->run = run;
	s->next_rep = r->v[run - 1].first_rep;
	r->v[run - 1].first_rep = r->n;
}

static void left_out(struct verifying *v, const struct start *s, uint64_t verdict)
{
	find(v, LEDGER_REPS_LEFT_OUT, verdict,
	     "the repetition announced at entry %llu is not in this verdict", LL s->seq);
}

static void end(struct verifying *v, struct start *s, const struct ledger_entry *e)
{
	if (s->ended)
		return; /* said twice: the first counts */
	s->ended = e->ref.seq;
	memcpy(s->end, e->ref.leaf, SHA256_LEN);
	/* It was going on when a verdict was made without it, and came to an end after all. */
	if (s->before)
		left_out(v, s, s->before);
}

static void take_end(struct verifying *v, const struct ledger_entry *e)
{
	struct runs *r = &v->runs;
	size_t at = start_of(r, json_object_get(e->body, "intent"));

	if (!at || streq(json_str_or(e->body, "scope", ""), "checks"))
		return;
	end(v, &r->v[at - 1], e);
	if (streq(e->kind, "run.abandon"))
		for (size_t i = r->v[at - 1].first_rep; i; i = r->v[i - 1].next_rep)
			end(v, &r->v[i - 1], e);
}

/* Leaves that lists of {"digest"} name; leaves_of adds one, leaves_sort comes before listed. */
struct leaves {
	uint8_t (*v)[SHA256_LEN];
	size_t n;
};

static void leaves_release(struct leaves *l)
{
	free(l->v);
}

static int by_leaf(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_LEN);
}

static void leaves_of(const json_t *list, struct leaves *ret)
{
	ret->v = xrealloc(ret->v, (ret->n + json_array_size(list) + 1) * sizeof(*ret->v));
	for (size_t i = 0; i < json_array_size(list); i++)
		if (hex_to(sv_of(json_str_or(json_array_get(list, i), "digest", "")),
			   ret->v[ret->n], SHA256_LEN))
			ret->n++;
}

static void leaves_sort(struct leaves *ret)
{
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_leaf);
}

static bool listed(const struct leaves *l, const uint8_t leaf[SHA256_LEN])
{
	return l->n && bsearch(leaf, l->v, l->n, sizeof(*l->v), by_leaf);
}

static void take_series(struct verifying *v, size_t run, const struct leaves *reps,
			uint64_t verdict)
{
	struct runs *r = &v->runs;

	for (size_t i = run ? r->v[run - 1].first_rep : 0; i; i = r->v[i - 1].next_rep) {
		struct start *s = &r->v[i - 1];

		/* One that never came to an end is named by its intent. */
		if (listed(reps, s->leaf) || (s->ended && listed(reps, s->end)))
			continue;
		if (s->ended)
			left_out(v, s, verdict);
		else
			s->before = verdict;
	}
}

static void take_verdict(struct verifying *v, const struct ledger_entry *e)
{
	const json_t *series = json_object_get(e->body, "series");
	const json_t *own = json_object_get(e->body, "intent");
	struct leaves reps CLEANUP(leaves_release) = { 0 };
	size_t mine = start_of(&v->runs, own);
	bool done = false;

	leaves_of(json_object_get(e->body, "reps"), &reps);
	leaves_of(json_object_get(e->body, "bank"), &reps);
	leaves_sort(&reps);
	for (size_t i = 0; i < json_array_size(series); i++) {
		size_t run = start_of(&v->runs, json_array_get(series, i));

		done |= run == mine;
		take_series(v, run, &reps, e->ref.seq);
	}
	if (!done)
		take_series(v, mine, &reps, e->ref.seq);
}

void runs_take(struct verifying *v, const struct ledger_entry *e)
{
	if (streq(e->kind, "run.intent"))
		take_intent(&v->runs, e);
	else if (streq(e->kind, "run.result") || streq(e->kind, "run.abandon") ||
		 streq(e->kind, "bisect.trial"))
		take_end(v, e);
	else if (streq(e->kind, "verdict"))
		take_verdict(v, e);
}

void runs_finish(struct verifying *v)
{
	for (size_t i = 0; i < v->runs.n; i++) {
		const struct start *s = &v->runs.v[i];

		if (!s->ended)
			find(v, LEDGER_UNFINISHED, s->seq,
			     "the %s announced here has no end: it runs still, or was killed",
			     s->whole ? "run" : "repetition");
	}
}
