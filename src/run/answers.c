/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scored items, generated texts, losses by seed and settings in effect: from the evidence of
 * repetitions to what the verdict compares. An item counts by how often it was right over the
 * repetitions of each side; results that never waver inside a side are plain counts of flips.
 */
#include "run/internal.h"

#include "base/err.h"
#include "base/vec.h"
#include "readers/readers.h"
#include "stat/stat.h"
#include <math.h>

/* What one repetition told, in the order of the contract's lists; n 0: nothing. */
struct rep_told {
	struct item_results *items;
	struct item_texts *texts;
	size_t n_items, n_texts;
};

static void rep_told_release(struct rep_told *t)
{
	for (size_t i = 0; i < t->n_items; i++)
		item_results_release(&t->items[i]);
	for (size_t i = 0; i < t->n_texts; i++)
		item_texts_release(&t->texts[i]);
	free(t->items);
	free(t->texts);
	*t = (struct rep_told){ 0 };
}

void judge_told_release(struct judge_told *l)
{
	for (size_t i = 0; i < l->n; i++)
		rep_told_release(&l->v[i]);
	free(l->v);
	*l = (struct judge_told){ 0 };
}

/* Where it is read from, and how many pieces may be gone: counted, or NULL: none. */
struct told_source {
	struct ledger *ledger;
	size_t *lost;
};

static int read_one(const struct told_source *from, const struct rep *r, const char *list,
		    const char *name, struct item_results *items, struct item_texts *texts,
		    struct err *err)
{
	AUTO_FREE char *label = xasprintf("%s.%s.jsonl", list, name);
	AUTO_FREE char *text = NULL;
	size_t n;

	if (run_evidence_text(from->ledger, &r->evidence, label, &text, &n, err) < 0) {
		/* It was not told; that has an outcome of its own. Evidence that is named and gone
		 * is another thing. */
		for (size_t i = 0; i < r->evidence.n; i++) {
			if (!streq(r->evidence.v[i].label, label))
				continue;
			if (!from->lost || err->code != ERR_NOT_FOUND)
				return err_wrap(err, "'%s'", label);
			++*from->lost;
		}
		err_clear(err);
		return 0;
	}
	return items ? items_read((struct sv){ text, n }, &item_keys_kept, items, err)
		     : texts_read((struct sv){ text, n }, &item_keys_kept, texts, err);
}

static int read_rep(const struct told_source *l, const struct workload_check *k,
		    const struct rep *r, struct rep_told *t, struct err *err)
{
	t->n_items = k->items.n;
	t->n_texts = k->texts.n;
	t->items = xcalloc(k->items.n, sizeof(*t->items));
	t->texts = xcalloc(k->texts.n, sizeof(*t->texts));
	if (r->state != REP_OK)
		return 0;
	for (size_t i = 0; i < k->items.n; i++)
		TRY(read_one(l, r, "items", k->items.v[i].name, &t->items[i], NULL, err));
	for (size_t i = 0; i < k->texts.n; i++)
		TRY(read_one(l, r, "texts", k->texts.v[i].name, NULL, &t->texts[i], err));
	return 0;
}

static int read_arm(const struct told_source *l, const struct workload_check *k,
		    const struct reps *reps, struct judge_told *told, struct err *err)
{
	for (size_t i = told->n; i < reps->n; i++)
		TRY(read_rep(l, k, &reps->v[i], VEC_ADD(told), err));
	return 0;
}

int judge_read_told(struct ledger *l, struct judge *j, size_t *lost, struct err *err)
{
	const struct workload_check *k = &j->contract->workload_check;
	struct told_source from = { l, lost };

	if (!k->items.n && !k->texts.n)
		return 0;
	TRY(read_arm(&from, k, &j->bank, &j->bank_told, err));
	return read_arm(&from, k, &j->cand, &j->cand_told, err);
}

/* ---- scored items ---------------------------------------------------------------------------- */

/* How often each item of a list was right in the repetitions of one side. */
struct tally {
	const char *id, *cluster;
	unsigned right, seen;
};
struct tallies {
	struct tally *v; /* sorted by id */
	size_t n, room;
	unsigned reps;
};

static void tallies_release(struct tallies *l)
{
	free(l->v);
	*l = (struct tallies){ 0 };
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct tally *)a)->id, ((const struct tally *)b)->id);
}

static void tally(const struct judge_told *told, size_t list, struct tallies *ret)
{
	size_t to = 0;

	for (size_t i = 0; i < told->n; i++) {
		const struct item_results *l = &told->v[i].items[list];

		ret->reps += l->n > 0;
		for (size_t k = 0; k < l->n; k++)
			*VEC_ADD(ret) =
				(struct tally){ l->v[k].id, l->v[k].cluster, l->v[k].right, 1 };
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_id);
	for (size_t i = 0; i < ret->n; i++) {
		struct tally *t = to ? &ret->v[to - 1] : NULL;

		if (t && streq(t->id, ret->v[i].id)) {
			t->right += ret->v[i].right;
			t->seen++;
		} else {
			ret->v[to++] = ret->v[i];
		}
	}
	ret->n = to;
}

/* One that a repetition did not tell of was not right in it. */
static double share(const struct tally *t, unsigned reps)
{
	return t ? (double)t->right / reps : 0;
}

struct by_cluster {
	const char *name; /* NULL: the item is its own */
	double sum;
};

static int by_name(const void *a, const void *b)
{
	const struct by_cluster *x = a, *y = b;

	if (!x->name || !y->name)
		return (x->name != NULL) - (y->name != NULL);
	return strcmp(x->name, y->name);
}

static void make_clusters(struct by_cluster *v, size_t n, struct judge_items *ret)
{
	qsort(v, n, sizeof(*v), by_name);
	ret->clusters = xcalloc(n, sizeof(*ret->clusters));
	for (size_t i = 0; i < n; i++) {
		struct items_cluster *c;

		if (!i || !v[i].name || !streq(v[i].name, v[i - 1].name))
			ret->n_clusters++;
		c = &ret->clusters[ret->n_clusters - 1];
		c->sum += v[i].sum;
		c->items++;
	}
}

/* Items of the accepted run against the same ones now. */
static void compare_items(const struct judge *j, size_t list, struct judge_items *ret)
{
	struct tallies bank CLEANUP(tallies_release) = { 0 }, cand CLEANUP(tallies_release) = { 0 };
	AUTO_FREE struct by_cluster *v = NULL;
	bool wavers = false, clustered = false;
	double before = 0, now = 0;

	tally(&j->bank_told, list, &bank);
	tally(&j->cand_told, list, &cand);
	if (!bank.reps || !cand.reps)
		return;
	v = xcalloc(bank.n, sizeof(*v));
	for (size_t i = 0; i < bank.n; i++) {
		const struct tally *b = &bank.v[i];
		const struct tally *c =
			cand.n ? bsearch(b, cand.v, cand.n, sizeof(*b), by_id) : NULL;
		double was = share(b, bank.reps), is = share(c, cand.reps);

		wavers |= (was > 0 && was < 1) || (is > 0 && is < 1);
		clustered |= b->cluster != NULL;
		ret->lost += is < was;
		ret->won += is > was;
		ret->missing += !c;
		before += was;
		now += is;
		v[i] = (struct by_cluster){ b->cluster, is - was };
	}
	for (size_t i = 0; i < cand.n; i++)
		ret->foreign += !bsearch(&cand.v[i], bank.v, bank.n, sizeof(*bank.v), by_id);
	ret->items = (unsigned)bank.n;
	ret->before = before / (double)bank.n;
	ret->now = now / (double)bank.n;
	if (wavers || clustered)
		make_clusters(v, bank.n, ret);
}

/* ---- generated texts ------------------------------------------------------------------------- */

static int text_by_id(const void *a, const void *b)
{
	return strcmp(((const struct item_text *)a)->id, ((const struct item_text *)b)->id);
}

static size_t find_texts(const struct judge_told *told, size_t list, const struct item_text *of,
			 struct item_text **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < told->n; i++) {
		const struct item_texts *l = &told->v[i].texts[list];
		struct item_text *x =
			l->n ? bsearch(of, l->v, l->n, sizeof(*of), text_by_id) : NULL;

		if (x)
			ret[n++] = x;
	}
	return n;
}

/* Ids where all have them, else code points where all have a text. */
static void same_measure(struct item_text **v, size_t n)
{
	bool ids = true;

	for (size_t i = 0; i < n; i++)
		ids &= v[i]->ids;
	for (size_t i = 0; !ids && i < n; i++)
		if (v[i]->ids)
			item_text_points(v[i]);
}

static void add_prompt(const struct judge *j, size_t list, const struct item_text *of,
		       struct judge_texts *ret)
{
	size_t most = j->bank_told.n + j->cand_told.n;
	AUTO_FREE struct item_text **v = xcalloc(most, sizeof(*v));
	size_t n_base = find_texts(&j->bank_told, list, of, v);
	size_t n_cand = find_texts(&j->cand_told, list, of, v + n_base);
	struct text *t = xcalloc(most, sizeof(*t));

	same_measure(v, n_base + n_cand);
	for (size_t i = 0; i < n_base + n_cand; i++)
		t[i] = (struct text){ v[i]->token, v[i]->n };
	*VEC_ADD(&ret->texts) = t;
	*VEC_ADD(&ret->prompts) = (struct text_prompt){ t, t + n_base, n_base, n_cand };
}

/* Every prompt that the accepted run has texts of, once. */
static void compare_texts(const struct judge *j, size_t list, struct judge_texts *ret)
{
	for (size_t i = 0; i < j->bank_told.n; i++) {
		const struct item_texts *l = &j->bank_told.v[i].texts[list];

		for (size_t k = 0; k < l->n; k++) {
			bool before = false;

			for (size_t e = 0; e < i && !before; e++) {
				const struct item_texts *x = &j->bank_told.v[e].texts[list];

				before = x->n &&
					 bsearch(&l->v[k], x->v, x->n, sizeof(*x->v), text_by_id);
			}
			if (!before)
				add_prompt(j, list, &l->v[k], ret);
		}
	}
}

/* ---- losses by seed -------------------------------------------------------------------------- */

static double value_at(const struct reps *l, int seed, const char *metric)
{
	for (size_t i = l->n; i-- > 0;) {
		const struct measurement *m = measurements_find(&l->v[i].measured, metric);

		if (l->v[i].state == REP_OK && l->v[i].seed == seed && m && !isnan(m->value))
			return m->value;
	}
	return NAN;
}

static void compare_losses(const struct judge *j, int64_t step, struct judge_losses *ret)
{
	ret->name = xasprintf("loss_at.%lld", (long long)step);
	ret->bank = xcalloc(j->cand.n, sizeof(double));
	ret->cand = xcalloc(j->cand.n, sizeof(double));
	for (size_t i = 0; i < j->cand.n; i++) {
		const struct rep *r = &j->cand.v[i];
		const struct measurement *m = measurements_find(&r->measured, ret->name);

		if (r->state != REP_OK || !r->seed || !m || isnan(m->value))
			continue;
		ret->bank[ret->n] = value_at(&j->bank, r->seed, ret->name);
		ret->cand[ret->n++] = m->value;
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

void judge_answers_release(struct judge_answers *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		free(a->items[i].clusters);
	for (size_t i = 0; i < a->n_texts; i++) {
		for (size_t k = 0; k < a->texts[i].texts.n; k++)
			free(a->texts[i].texts.v[k]);
		free(a->texts[i].texts.v);
		free(a->texts[i].prompts.v);
	}
	for (size_t i = 0; i < a->n_losses; i++) {
		free(a->losses[i].name);
		free(a->losses[i].bank);
		free(a->losses[i].cand);
	}
	free(a->items);
	free(a->texts);
	free(a->losses);
	free(a->in_items);
	free(a->in_texts);
	free(a->in_pairs);
	*a = (struct judge_answers){ 0 };
}

static void add_items(const struct judge *j, struct judge_answers *a, struct strs *voids)
{
	const struct workload_check *k = &j->contract->workload_check;

	a->n_items = k->items.n;
	a->items = xcalloc(a->n_items, sizeof(*a->items));
	a->in_items = xcalloc(a->n_items, sizeof(*a->in_items));
	for (size_t i = 0; i < a->n_items; i++) {
		struct judge_items *x = &a->items[i];

		compare_items(j, i, x);
		if (x->foreign)
			strs_addf(voids,
				  "%u items of %s were not in the accepted run: not the same set",
				  x->foreign, k->items.v[i].name);
		a->in_items[i] = (struct verdict_items){ .name = k->items.v[i].name,
							 .items = x->items,
							 .lost = x->lost,
							 .won = x->won,
							 .margin = k->items.v[i].margin,
							 .before = x->before,
							 .now = x->now,
							 .clusters = x->clusters,
							 .n_clusters = x->n_clusters };
	}
}

void judge_answers_make(const struct judge *j, struct judge_answers *a, struct strs *voids,
			struct verdict_in *in)
{
	const struct workload_check *k = &j->contract->workload_check;
	const struct ints *steps = &k->train.loss_at.steps;

	*a = (struct judge_answers){ 0 };
	if (!j->has_bank)
		return;
	add_items(j, a, voids);
	a->n_texts = k->texts.n;
	a->texts = xcalloc(a->n_texts, sizeof(*a->texts));
	a->in_texts = xcalloc(a->n_texts, sizeof(*a->in_texts));
	for (size_t i = 0; i < a->n_texts; i++) {
		compare_texts(j, i, &a->texts[i]);
		a->in_texts[i] =
			(struct verdict_texts){ k->texts.v[i].name, a->texts[i].prompts.v,
						a->texts[i].prompts.n, k->texts.v[i].margin,
						k->texts.v[i].invariant };
	}
	a->n_losses = k->has_train ? steps->n : 0;
	a->losses = xcalloc(a->n_losses, sizeof(*a->losses));
	a->in_pairs = xcalloc(a->n_losses, sizeof(*a->in_pairs));
	for (size_t i = 0; i < a->n_losses; i++) {
		struct judge_losses *x = &a->losses[i];

		compare_losses(j, steps->v[i], x);
		a->in_pairs[i] =
			(struct verdict_pairs){ x->name, LOWER_IS_BETTER,        x->bank, x->cand,
						x->n,    k->train.loss_at.margin };
	}
	in->items = a->in_items;
	in->n_items = a->n_items;
	in->texts = a->in_texts;
	in->n_texts = a->n_texts;
	in->pairs = a->in_pairs;
	in->n_pairs = a->n_losses;
}

size_t judge_item_count(const struct judge *j, size_t list)
{
	const struct judge_told *arms[] = { &j->bank_told, &j->cand_told };

	for (size_t a = 0; a < 2; a++)
		for (size_t i = 0; i < arms[a]->n; i++)
			if (arms[a]->v[i].n_items > list && arms[a]->v[i].items[list].n)
				return arms[a]->v[i].items[list].n;
	return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* What the good repetitions of one side had in effect: the first value, and whether another one was
 * seen. */
static const char *effective(const struct reps *l, const char *name, const char **ret_other)
{
	const char *one = NULL;

	*ret_other = NULL;
	for (size_t i = 0; i < l->n; i++) {
		const char *v = l->v[i].state == REP_OK ? pairs_get(&l->v[i].settings, name) : NULL;

		if (!v)
			continue;
		if (!one)
			one = v;
		else if (!streq(one, v) && !*ret_other)
			*ret_other = v;
	}
	return one;
}

static bool any_good(const struct reps *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].state == REP_OK)
			return true;
	return false;
}

/* In some repetitions it was told and in others not: unknown, not the value of some. */
static bool told_by_all(const struct reps *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].state == REP_OK && !pairs_get(&l->v[i].settings, name))
			return false;
	return true;
}

struct verdict_setting *judge_settings(const struct judge *j, struct strs *mismatches,
				       struct strs *notes, size_t *ret_n)
{
	const struct workload_check *k = &j->contract->workload_check;
	struct verdict_setting *v = xcalloc(k->settings.n, sizeof(*v));
	bool any = any_good(&j->cand); /* before the first repetition nothing is missing yet */

	*ret_n = any ? k->settings.n : 0;
	for (size_t i = 0; any && i < k->settings.n; i++) {
		const struct setting_spec *s = &k->settings.v[i];
		const char *other, *bank_other;
		const char *is = effective(&j->cand, s->name, &other);
		const char *was = effective(&j->bank, s->name, &bank_other);

		if (other)
			strs_addf(mismatches,
				  "%s: in effect is %s in one repetition, %s in another", s->name,
				  is, other);
		if (is && was && !bank_other && !other && !streq(is, was))
			strs_addf(notes, "%s: in effect was %s in the accepted run, now it is %s",
				  s->name, was, is);
		v[i] = (struct verdict_setting){ s->name, s->requested,
						 told_by_all(&j->cand, s->name) ? is : NULL,
						 s->label, s->required };
	}
	return v;
}

/* ---- the work -------------------------------------------------------------------------------- */

/* The digest of what was asked; NULL: no repetition says. */
const char *judge_work(const struct reps *l, bool *ret_differs)
{
	const char *one = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const char *w = l->v[i].state == REP_OK ? l->v[i].work : NULL;

		if (w && one && !streq(one, w))
			*ret_differs = true;
		if (w)
			one = w; /* the latest */
	}
	return one;
}
