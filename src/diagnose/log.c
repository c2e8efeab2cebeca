/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/log.h"

#include "base/vec.h"
#include "diagnose/inner.h"
#include <ctype.h>

void diagnose_logs_release(struct diagnose_logs *l)
{
	for (size_t a = 0; a < 2; a++) {
		for (size_t i = 0; i < l->arms[a].n; i++) {
			free(l->arms[a].v[i].words);
			free(l->arms[a].v[i].text);
		}
		free(l->arms[a].v);
		signature_hits_release(&l->arms[a].hits);
	}
	free(l->signs.v);
	free(l->flips.v);
	strs_release(&l->words);
	*l = (struct diagnose_logs){ 0 };
}

/* A word that says how something is, not when, where or how much. */
static bool tells(struct sv w)
{
	size_t letters = 0;

	for (size_t i = 0; i < w.n; i++)
		letters += isalpha((unsigned char)w.p[i]) != 0;
	return letters >= 2 && 2 * letters >= w.n && sv_find(w, SV("/")) < 0;
}

/* The words of a line that tell, digits as '#'; NULL: too few. */
static char *words_of(struct sv line)
{
	struct str s = { 0 };
	struct sv rest = line, w;
	size_t n = 0;

	while (sv_word(&rest, &w)) {
		if (!tells(w))
			continue;
		str_add(&s, n++ ? " " : "");
		for (size_t i = 0; i < w.n; i++)
			str_addc(&s, isdigit((unsigned char)w.p[i]) ? '#' : w.p[i]);
	}
	if (n >= 3)
		return str_steal(&s);
	str_release(&s);
	return NULL;
}

static int by_words(const void *pa, const void *pb)
{
	const struct diagnose_line *a = pa, *b = pb;
	int c = strcmp(a->words, b->words);

	return c ? c : a->order < b->order ? -1 : a->order > b->order;
}

static struct diagnose_line *find(const struct diagnose_log_arm *a, const char *words)
{
	size_t lo = 0, hi = a->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(a->v[mid].words, words);

		if (c == 0)
			return &a->v[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Colours and carriage returns are no part of a line. */
static char *plain(struct sv line)
{
	AUTO_FREE char *raw = sv_dup(line);

	return text_clean(sv_trim(sv_of(raw)));
}

static void lines_add(struct diagnose_log_arm *a, struct sv text)
{
	struct {
		struct diagnose_line *v;
		size_t n, room;
	} fresh = { 0 };
	struct sv rest = text, line;
	size_t kept;

	while (fresh.n < DIAGNOSE_LOG_LINES && sv_line(&rest, &line)) {
		AUTO_FREE char *clean = NULL;
		char *words;

		if (line.n > DIAGNOSE_LOG_LINE_BYTES)
			continue;
		clean = plain(line);
		words = words_of(sv_of(clean));
		if (words) {
			struct diagnose_line x = { words, STEAL(clean), 1, (unsigned)fresh.n };

			*VEC_ADD(&fresh) = x;
		}
	}
	if (fresh.n > 1)
		qsort(fresh.v, fresh.n, sizeof(*fresh.v), by_words);
	kept = a->n;
	for (size_t i = 0; i < fresh.n; i++) {
		struct diagnose_line *x = &fresh.v[i], *old = NULL;
		struct diagnose_log_arm sorted = { .v = a->v, .n = kept };

		if (i + 1 < fresh.n && streq(x->words, fresh.v[i + 1].words)) {
			/* the first place of a line counts */
			fresh.v[i + 1].order = x->order;
		} else if ((old = find(&sorted, x->words))) {
			old->logs++;
		} else {
			*VEC_ADD(a) = *x;
			continue;
		}
		free(x->words);
		free(x->text);
	}
	free(fresh.v);
	if (a->n > 1)
		qsort(a->v, a->n, sizeof(*a->v), by_words);
}

void diagnose_logs_signs(struct diagnose_logs *l, enum diagnose_arm arm, struct sv text)
{
	struct signature_hits h = { 0 };

	if (!l->all)
		return;
	signatures_scan_text(l->all, text, &h);
	signature_hits_add(&l->arms[arm].hits, &h, l->arms[arm].logs);
}

void diagnose_logs_add(struct diagnose_logs *l, enum diagnose_arm arm, bool ended_well,
		       struct sv text)
{
	struct diagnose_log_arm *a = &l->arms[arm];

	diagnose_logs_signs(l, arm, text);
	lines_add(a, text);
	a->logs++;
	a->well += ended_well;
}

/* ---- what turned over ---- */

struct picked {
	const struct diagnose_line *v[DIAGNOSE_LOG_DIFFERENT];
	size_t n;
};

/* In every log of this arm and in none of the other's. */
static void own_lines(const struct diagnose_log_arm *a, const struct diagnose_log_arm *other,
		      struct picked *ret)
{
	for (size_t i = 0; i < a->n && ret->n < ARRAY_SIZE(ret->v); i++)
		if (a->v[i].logs == a->logs && !find(other, a->v[i].words))
			ret->v[ret->n++] = &a->v[i];
}

/* The same for a line as it stands, where it may be a path. */
static bool says_how(struct sv w)
{
	size_t letters = 0;

	for (size_t i = 0; i < w.n; i++)
		letters += isalpha((unsigned char)w.p[i]) != 0;
	return letters >= 2 && 2 * letters >= w.n;
}

bool one_word_apart(const char *a, const char *b, struct sv *ret_a, struct sv *ret_b)
{
	struct sv ra = sv_of(a), rb = sv_of(b), x, y;
	size_t same = 0, differ = 0;

	for (;;) {
		bool more_a = sv_word(&ra, &x), more_b = sv_word(&rb, &y);

		if (more_a != more_b)
			return false;
		if (!more_a)
			return differ == 1 && same >= 2;
		if (sv_eq(x, y)) {
			same++;
			continue;
		}
		if (!says_how(x) || !says_how(y) || differ++)
			return false;
		*ret_a = x;
		*ret_b = y;
	}
}

/* Lines that say how something is done; others differ for a hundred reasons. */
static bool about_a_choice(const char *line)
{
	static const char *const words[] = {
		"using",   "backend",  "select", "enabl",   "disabl",    "available", "transport",
		"support", "fallback", "mode",   "default", "plugin",    "detect",    "graph",
		"kernel",  "layout",   "dtype",  "loaded",  "algorithm", "resum",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(line, words[i]))
			return true;
	return false;
}

static void flip_add(struct diagnose_logs *l, const char *before, const char *now, char *from,
		     char *to)
{
	strs_take(&l->words, from);
	strs_take(&l->words, to);
	*VEC_ADD(&l->flips) = (struct diagnose_flip){ before, now, from, to };
}

static void turned(struct diagnose_logs *l)
{
	struct picked a = { .n = 0 }, b = { .n = 0 };

	own_lines(&l->arms[ARM_ACCEPTED], &l->arms[ARM_CANDIDATE], &a);
	own_lines(&l->arms[ARM_CANDIDATE], &l->arms[ARM_ACCEPTED], &b);
	for (size_t i = 0; i < a.n && l->flips.n < DIAGNOSE_LOG_MAX_FLIPS; i++) {
		if (!about_a_choice(a.v[i]->text))
			continue;
		for (size_t k = 0; k < b.n; k++) {
			struct sv x, y;

			if (!one_word_apart(a.v[i]->words, b.v[k]->words, &x, &y))
				continue;
			flip_add(l, a.v[i]->text, b.v[k]->text, sv_dup(x), sv_dup(y));
			break;
		}
	}
}

/* Got as far as a line that came later in the accepted logs. */
static bool went_past(const struct diagnose_logs *l, const struct signature_hit *marker)
{
	const struct diagnose_log_arm *a = &l->arms[ARM_ACCEPTED], *b = &l->arms[ARM_CANDIDATE];
	unsigned at = UINT32_MAX;

	for (size_t i = 0; i < a->n; i++)
		if (strstr(a->v[i].text, marker->excerpt) && a->v[i].order < at)
			at = a->v[i].order;
	for (size_t i = 0; at != UINT32_MAX && i < a->n; i++)
		if (a->v[i].order > at && find(b, a->v[i].words))
			return true;
	return false;
}

static void missing(struct diagnose_logs *l)
{
	const struct diagnose_log_arm *a = &l->arms[ARM_ACCEPTED], *b = &l->arms[ARM_CANDIDATE];

	for (size_t i = 0; i < a->hits.n; i++) {
		const struct signature_hit *x = &a->hits.v[i];
		bool said = false;

		if (x->sig->role != SIGNATURE_MARKER || x->won < a->logs ||
		    signature_hits_find(&b->hits, x->sig->id) || (!b->well && !went_past(l, x)))
			continue;
		for (size_t k = 0; k < l->flips.n; k++)
			said |= strstr(l->flips.v[k].before, x->excerpt) != NULL;
		if (!said && l->flips.n < DIAGNOSE_LOG_MAX_FLIPS)
			flip_add(l, x->excerpt, "the line is gone", xstrdup("there"),
				 xstrdup("not there"));
	}
}

static void signs_of(struct diagnose_logs *l, enum diagnose_arm arm)
{
	static const enum diagnose_role roles[SIGNATURE_ROLE_N] = {
		[SIGNATURE_CAUSE] = ROLE_CAUSE,     [SIGNATURE_GENERIC] = ROLE_GENERIC,
		[SIGNATURE_WRAPPER] = ROLE_WRAPPER, [SIGNATURE_CONSEQUENCE] = ROLE_CONSEQUENCE,
		[SIGNATURE_MARKER] = ROLE_MARKER,
	};
	const struct signature_hits *h = &l->arms[arm].hits;

	for (size_t i = 0; i < h->n; i++) {
		const struct signature *s = h->v[i].sig;

		/* Beaten in every line by something more specific. */
		if (!h->v[i].won)
			continue;
		*VEC_ADD(&l->signs) = (struct diagnose_sign){ .id = s->id,
							      .component = s->component,
							      .meaning = s->meaning,
							      .action = s->action,
							      .owner = s->owner,
							      .line = h->v[i].excerpt,
							      .role = roles[s->role],
							      .layer = s->layer,
							      .rank = s->rank,
							      .arm = arm };
	}
}

void diagnose_logs_compare(struct diagnose_logs *l)
{
	if (l->arms[ARM_ACCEPTED].logs && l->arms[ARM_CANDIDATE].logs) {
		turned(l);
		missing(l);
	}
	signs_of(l, ARM_ACCEPTED);
	signs_of(l, ARM_CANDIDATE);
}
