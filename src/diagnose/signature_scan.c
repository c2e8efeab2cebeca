/* SPDX-License-Identifier: Apache-2.0 */
/* Any amount of log past the catalogue, in bounded memory. */
#include "diagnose/signature_inner.h"

#include "base/vec.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	BLOCK = 256 * 1024,
	NEAR_HITS = 96, /* parts that are looked at together; a line that has more repeats them */
	MATCH_STEPS = 100000,
	MATCH_HEAP_KIB = 4096,
	/* Lines from one frame of a stack to the next: code, carets; frames of nobody we know. */
	FRAME_GAP = 4,
	FRAME_GAP_NATIVE = 12,
	ESC = 0x1b,
	BEL = 0x07,
};

/* A part that stands in the line being gathered. */
struct found {
	uint32_t part;
	size_t at;
};
struct tally {
	uint64_t seen, won, line, offset, last_line;
	uint64_t counted; /* the line that `seen` counted last: once a line */
	uint64_t counted_won;
	char *excerpt;
	bool placed_by_win;
};
struct signature_scan {
	const struct signatures *all;
	struct tally *tally; /* by signature */
	char *buf;
	size_t n;
	size_t behind;   /* first bytes of buf that were scanned already: context of a long line */
	uint64_t offset; /* of buf[0] in the stream */
	uint64_t lines;  /* line ends before buf[0] */
	uint64_t line_offset; /* where the line that buf[0] is in began */
	uint64_t unjudged;
	struct {
		uint64_t line;   /* 0: none yet */
		uint32_t winner; /* the frame that counts so far */
	} stack[FRAME_LAST + 1];
	bool open; /* bytes came after the last line end */
	struct found near[NEAR_HITS];
	size_t n_near;
	struct str clean;
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

/* What is being scanned: `p` may be a cleaned copy, line and offset are the stream's. */
struct text {
	const char *p;
	size_t n;
	size_t behind, ahead; /* parts that end in these first or last bytes are not looked for */
	uint64_t lines, offset, line_offset;
};

struct signature_scan *signature_scan_new(const struct signatures *l)
{
	struct signature_scan *s = xcalloc(1, sizeof(*s));

	s->all = l;
	s->tally = xcalloc(l->n ? l->n : 1, sizeof(*s->tally));
	s->buf = xmalloc(BLOCK);
	s->match = pcre2_match_data_create(1, NULL);
	s->limits = pcre2_match_context_create(NULL);
	assert(s->match && s->limits);
	(void)pcre2_set_match_limit(s->limits, MATCH_STEPS);
	(void)pcre2_set_heap_limit(s->limits, MATCH_HEAP_KIB);
	return s;
}

void signature_scan_free(struct signature_scan **at)
{
	struct signature_scan *s = *at;

	if (!s)
		return;
	for (size_t i = 0; i < s->all->n; i++)
		free(s->tally[i].excerpt);
	free(s->tally);
	free(s->buf);
	str_release(&s->clean);
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->limits);
	free(s);
	*at = NULL;
}

static inline char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* `low` is in lower case. */
static bool same(const char *p, const char *low, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lower(p[i]) != low[i])
			return false;
	return true;
}

static bool contains(struct sv in, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= in.n; i++) {
		size_t k = 0;

		while (k < n && lower(in.p[i + k]) == lower(part[k]))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static uint64_t count_lines(const char *p, size_t n)
{
	uint64_t lines = 0;
	size_t i = 0;

#ifdef __SSE2__
	const __m128i lf = _mm_set1_epi8('\n');

	for (; i + 64 <= n; i += 64) {
		uint64_t bits = 0;

		for (size_t k = 0; k < 4; k++) {
			__m128i v =
				_mm_loadu_si128((const __m128i *)(const void *)(p + i + 16 * k));

			bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, lf))
				<< (16 * k);
		}
		lines += (uint64_t)__builtin_popcountll(bits);
	}
#endif
	for (; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

/* ---- one line ------------------------------------------------------------------------------- */

/* Asked once for what competes together. */
static bool speaks_of_failure(struct signature_scan *s, struct sv around, int *known)
{
	if (*known < 0)
		*known = words_fail(s->all->index->words, around);
	return *known;
}

/* 1: the signature is there; 0: it is not, or that took too much work. */
static bool holds(struct signature_scan *s, const struct signature *sig, struct sv around,
		  int *fails)
{
	int rc;

	if (sig->fails && !speaks_of_failure(s, around, fails))
		return false;

	for (size_t i = 0; i < sig->unless.n; i++)
		if (contains(around, sig->unless.v[i]))
			return false;
	if (!sig->code)
		return true;
	rc = pcre2_match(sig->code, (PCRE2_SPTR)around.p, around.n, 0, 0, s->match, s->limits);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(sig->code, (PCRE2_SPTR)around.p, around.n, 0, PCRE2_NO_JIT,
				 s->match, s->limits);
	s->unjudged += rc < 0 && rc != PCRE2_ERROR_NOMATCH;
	return rc >= 0;
}

static char *excerpt(struct sv line, size_t at, size_t part)
{
	size_t from = 0, n;

	while (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (at + part > SIGNATURE_EXCERPT)
		from = at > SIGNATURE_EXCERPT / 4 ? at - SIGNATURE_EXCERPT / 4 : 0;
	/* Not in the middle of a character. */
	while (from < at && ((unsigned char)line.p[from] & 0xc0) == 0x80)
		from++;
	n = MIN(line.n - from, (size_t)SIGNATURE_EXCERPT);
	while (from + n < line.n && n && ((unsigned char)line.p[from + n] & 0xc0) == 0x80)
		n--;
	return text_clean(sv_trim((struct sv){ line.p + from, n }));
}

struct candidate {
	uint32_t sig;
	size_t at, part; /* the longest of its parts that is there */
};

static void record(struct signature_scan *s, const struct text *t, struct sv line, uint64_t number,
		   const struct candidate *c, bool won)
{
	struct tally *y = &s->tally[c->sig];

	if (y->counted != number) {
		y->seen++;
		y->counted = number;
	}
	if (won && y->counted_won != number) {
		y->won++;
		y->counted_won = number;
	}
	if (!y->excerpt || (won && !y->placed_by_win)) {
		free(y->excerpt);
		y->excerpt = excerpt(line, c->at, c->part);
		y->line = number;
		y->offset = line.p == t->p ? t->line_offset : t->offset + (size_t)(line.p - t->p);
		y->placed_by_win = won;
	}
	y->last_line = number;
}

/* A frame: does it count as won? The one that counted before may lose that. */
static bool frame_counts(struct signature_scan *s, uint32_t sig, uint64_t number)
{
	enum signature_frame as = s->all->v[sig].frame,
			     kind = as == FRAME_BETWEEN ? FRAME_LAST : as;
	uint64_t gap = kind == FRAME_FIRST ? FRAME_GAP_NATIVE : FRAME_GAP;
	bool goes_on = s->stack[kind].line && number - s->stack[kind].line <= gap;
	struct tally *y = &s->tally[s->stack[kind].winner];

	if (as == FRAME_BETWEEN && !goes_on)
		return false;
	s->stack[kind].line = number;
	if (as == FRAME_BETWEEN || (goes_on && kind == FRAME_FIRST))
		return false;
	if (goes_on && y->won && !--y->won)
		y->placed_by_win = false;
	s->stack[kind].winner = sig;
	return true;
}

static bool beats(const struct signatures *all, const struct candidate *a,
		  const struct candidate *b)
{
	unsigned ra = all->v[a->sig].rank, rb = all->v[b->sig].rank;

	if (ra != rb)
		return ra > rb;
	return a->part > b->part;
}

enum { MAX_CANDIDATES = NEAR_HITS * 4 };

/* In its place by signature: the longest text of each counts. */
static void candidate_add(struct candidate *c, size_t *n_c, uint32_t sig, size_t at, size_t part)
{
	size_t k = 0;

	while (k < *n_c && c[k].sig != sig)
		k++;
	if (k == MAX_CANDIDATES || (k < *n_c && c[k].part >= part))
		return;
	c[k] = (struct candidate){ sig, at, part };
	*n_c = MAX(*n_c, k + 1);
}

/* Signatures that have a name at the begin of a word of `around`, at `from` of its line. */
static void names_in(const struct signature_index *x, struct sv around, size_t from,
		     struct candidate *c, size_t *n_c)
{
	size_t i = 0;

	while (i < around.n) {
		size_t n = word_length(around.p + i, around.n - i);
		unsigned b;

		if (n < SIGNATURE_MIN_WORD) {
			i += n + 1;
			continue;
		}
		b = name_bucket(around.p + i);
		for (uint32_t e = x->names_first[b]; e < x->names_first[b + 1]; e++) {
			const struct index_name *it = &x->names.v[e];

			if ((it->open ? n >= it->n : n == it->n) &&
			    same(around.p + i, it->text, it->n))
				candidate_add(c, n_c, it->sig, from + i, it->n);
		}
		i += n;
	}
}

/* Hits no further apart than SIGNATURE_NEAR compete. */
static void compete(struct signature_scan *s, const struct text *t, struct sv line, uint64_t number,
		    const struct found *f, size_t n)
{
	struct candidate c[MAX_CANDIDATES];
	size_t n_c = 0, best = 0, from, to;
	struct sv around;
	int fails = -1;
	bool won;

	for (size_t i = 0; i < n; i++) {
		const struct index_part *p = &s->all->index->parts.v[f[i].part];

		for (size_t u = 0; u < p->users.n; u++)
			candidate_add(c, &n_c, p->users.v[u], f[i].at, p->n);
	}
	from = f[0].at > SIGNATURE_AROUND ? f[0].at - SIGNATURE_AROUND : 0;
	to = MIN(line.n, f[n - 1].at + SIGNATURE_AROUND);
	around = (struct sv){ line.p + from, to - from };
	if (s->all->index->names.n && speaks_of_failure(s, around, &fails))
		names_in(s->all->index, around, from, c, &n_c);
	for (size_t i = 0; i < n_c;) {
		if (holds(s, &s->all->v[c[i].sig], around, &fails))
			i++;
		else
			c[i] = c[--n_c];
	}
	for (size_t i = 1; i < n_c; i++)
		if (beats(s->all, &c[i], &c[best]))
			best = i;
	won = n_c && (!s->all->v[c[best].sig].frame || frame_counts(s, c[best].sig, number));
	/* A family that lost says nothing that the winner does not say better. */
	for (size_t i = 0; i < n_c; i++)
		if (i == best || !s->all->v[c[i].sig].fails)
			record(s, t, line, number, &c[i], i == best && won);
}

static int by_place(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

/* `at` of the gathered hits counts from the text's begin; here it is made to count from the line's.
 */
static void end_line(struct signature_scan *s, const struct text *t, struct sv line,
		     uint64_t number)
{
	struct found *f = s->near;
	size_t n = s->n_near;

	s->n_near = 0;
	for (size_t i = 0; i < n; i++)
		f[i].at -= (size_t)(line.p - t->p);
	if (n > 1)
		qsort(f, n, sizeof(*f), by_place);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && f[k].at - f[i].at <= SIGNATURE_NEAR; k++)
			;
		compete(s, t, line, number, f + i, k - i);
	}
}

/* ---- many lines ----------------------------------------------------------------------------- */

static void keep(struct signature_scan *s, uint32_t part, size_t at)
{
	/* The same text again close by says nothing new. */
	for (size_t i = s->n_near; i > 0 && s->n_near - i < 16; i--)
		if (s->near[i - 1].part == part && at - s->near[i - 1].at <= SIGNATURE_NEAR)
			return;
	if (s->n_near < NEAR_HITS)
		s->near[s->n_near++] = (struct found){ part, at };
}

/* All parts that have the group at `i`. True: there was one. */
static bool look(struct signature_scan *s, const struct text *t, size_t i, uint32_t gram,
		 uint32_t hash)
{
	const struct signature_index *x = s->all->index;
	const uint32_t list = index_list(hash);
	uint32_t next = 0;
	bool any = false, has_next = i + 2 * INDEX_GRAM <= t->n;

	if (has_next) {
		memcpy(&next, t->p + i + INDEX_GRAM, sizeof(next));
		next = index_fold(next);
	}
	for (uint32_t e = x->first[list]; e < x->first[list + 1]; e++) {
		const struct index_entry *it = &x->entries.v[e];
		const struct index_part *p;

		if (it->gram != gram || (has_next && (next & it->mask) != it->next))
			continue;
		p = &x->parts.v[it->part];
		if (it->at > i || i - it->at + p->n > t->n || i - it->at + p->n <= t->behind ||
		    i - it->at + p->n > t->n - t->ahead || !same(t->p + i - it->at, p->text, p->n))
			continue;
		keep(s, it->part, i - it->at);
		any = true;
	}
	return any;
}

static inline bool worth_a_look(const uint64_t *filter, const char *p, uint32_t *gram,
				uint32_t *hash)
{
	memcpy(gram, p, sizeof(*gram));
	*gram = index_fold(*gram);
	*hash = index_hash(*gram);
	return filter[*hash / 64] >> (*hash % 64) & 1;
}

/* Lines without escapes and NUL bytes. */
static void scan_plain(struct signature_scan *s, const struct text *t)
{
	const uint64_t *filter = s->all->index->filter;
	size_t begin = 0, counted = 0, i = 0;
	uint64_t number = t->lines + 1;

	while (i + INDEX_GRAM <= t->n) {
		const char *lf, *before;
		size_t end;
		uint32_t gram, hash;

		if (!worth_a_look(filter, t->p + i, &gram, &hash) || !look(s, t, i, gram, hash)) {
			i += INDEX_STEP;
			continue;
		}
		/* The rest of this line belongs to it. */
		lf = memchr(t->p + i, '\n', t->n - i);
		end = lf ? (size_t)(lf - t->p) : t->n;
		for (i += INDEX_STEP; i < end && i + INDEX_GRAM <= t->n && s->n_near < NEAR_HITS;
		     i += INDEX_STEP)
			if (worth_a_look(filter, t->p + i, &gram, &hash))
				(void)look(s, t, i, gram, hash);
		before = memrchr(t->p, '\n', s->near[0].at);
		begin = before ? (size_t)(before - t->p) + 1 : 0;
		number += count_lines(t->p + counted, begin - counted);
		counted = begin;
		end_line(s, t, (struct sv){ t->p + begin, end - begin }, number);
	}
}

/* A log of JSON objects, one a line (structured loggers, docker's json-file). */
static bool is_json(struct sv line)
{
	line = sv_trim(line);
	return line.n > 1 && line.p[0] == '{' && memchr(line.p, '\\', line.n);
}

static bool hex4(const char *p, size_t n, unsigned *ret)
{
	*ret = 0;
	for (size_t i = 0; i < 4; i++) {
		char c = i < n ? lower(p[i]) : 'x';

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		*ret = *ret * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

/* The escape behind a backslash; what it takes of the text. */
static size_t escape(const char *p, size_t n, struct str *ret)
{
	static const char from[] = "ntrbf\"\\/", to[] = "     \"\\/";
	const char *at = n && *p ? strchr(from, *p) : NULL;
	unsigned u;

	if (at) {
		str_addc(ret, to[at - from]);
		return 1;
	}
	if (n && *p == 'u' && hex4(p + 1, n - 1, &u)) {
		str_addc(ret, u == ESC || (u >= ' ' && u < 0x7f) ? (char)u : '?');
		return 5;
	}
	str_addc(ret, '\\');
	return 0;
}

/* What a string in JSON stands for, with line ends as blanks: matches stay in one line. */
static void unescape(struct sv line, struct str *ret)
{
	size_t i = 0;

	str_clear(ret);
	while (i < line.n) {
		const char *at = memchr(line.p + i, '\\', line.n - i);
		size_t n = at ? (size_t)(at - line.p) - i : line.n - i;

		str_addn(ret, line.p + i, n);
		i += n;
		if (at)
			i += 1 + escape(at + 1, line.n - i - 1, ret);
	}
}

/* Without escape sequences, NUL bytes and carriage returns at the end. */
static void clean_plain(struct sv line, struct str *ret)
{
	size_t i = 0;

	str_clear(ret);
	while (i < line.n) {
		unsigned char c = (unsigned char)line.p[i++];

		if (c == ESC && i < line.n && line.p[i] == '[') {
			for (i++; i < line.n && ((unsigned char)line.p[i] < 0x40 ||
						 (unsigned char)line.p[i] > 0x7e);)
				i++;
			i++;
		} else if (c == ESC && i < line.n && line.p[i] == ']') {
			while (i < line.n && line.p[i] != BEL && line.p[i] != ESC)
				i++;
			if (i < line.n && line.p[i] == ESC)
				i++;
			i++;
		} else if (c == ESC) {
			i++;
		} else if (c) {
			str_addc(ret, (char)c);
		}
	}
}

static bool is_plain(const char *p, size_t n)
{
	return !memchr(p, ESC, n) && !memchr(p, 0, n);
}

static void clean(struct sv line, bool json, struct str *ret)
{
	struct str s CLEANUP(str_release) = { 0 };

	if (!json) {
		clean_plain(line, ret);
		return;
	}
	unescape(line, ret);
	if (is_plain(str_text(ret), ret->n))
		return;
	str_addn(&s, ret->p, ret->n);
	clean_plain(sv_str(&s), ret);
}

/* May a line of it be an object of JSON with escapes? */
static bool has_json(const char *p, size_t n)
{
	return n && memchr(p, '\\', n) &&
	       (p[0] == '{' || p[0] == ' ' || memmem(p, n, "\n{", 2) || memmem(p, n, "\n ", 2));
}

static void scan(struct signature_scan *s, const struct text *t)
{
	struct text one = *t;
	size_t from = 0;
	bool json;

	if (is_plain(t->p, t->n) && !has_json(t->p, t->n)) {
		scan_plain(s, t);
		return;
	}
	while (from < t->n) {
		const char *lf = memchr(t->p + from, '\n', t->n - from);
		size_t n = lf ? (size_t)(lf - t->p) - from : t->n - from;

		one.p = t->p + from;
		one.n = n;
		one.behind = from ? 0 : t->behind;
		one.ahead = lf ? 0 : t->ahead;
		one.offset = t->offset + from;
		one.line_offset = from ? one.offset : t->line_offset;
		json = is_json((struct sv){ one.p, n });
		if (json || !is_plain(one.p, n)) {
			const char *raw = one.p;

			if (one.behind) {
				clean((struct sv){ raw, one.behind }, json, &s->clean);
				one.behind = s->clean.n;
			}
			if (one.ahead) {
				clean((struct sv){ raw, n - one.ahead }, json, &s->clean);
				one.ahead = s->clean.n;
			} else {
				one.ahead = SIZE_MAX;
			}
			clean((struct sv){ raw, n }, json, &s->clean);
			one.ahead = one.ahead == SIZE_MAX ? 0 : s->clean.n - one.ahead;
			one.p = str_text(&s->clean);
			one.n = s->clean.n;
		}
		scan_plain(s, &one);
		one.lines++;
		from += n + 1;
	}
}

/* Scans buf[0..n) and drops it. `ahead`: it ends in the middle of a line that goes on: what stands
 * in its last bytes is left for the next time, and as much stays behind as context. */
static void take(struct signature_scan *s, size_t n, size_t ahead)
{
	struct text t = { .p = s->buf,
			  .n = n,
			  .behind = s->behind,
			  .ahead = ahead,
			  .lines = s->lines,
			  .offset = s->offset,
			  .line_offset = s->line_offset };
	const char *last = memrchr(s->buf, '\n', n);
	size_t gone = n - 2 * ahead;

	scan(s, &t);
	if (last)
		s->line_offset = s->offset + (uint64_t)(last - s->buf) + 1;
	s->lines += count_lines(s->buf, n);
	memmove(s->buf, s->buf + gone, s->n - gone);
	s->n -= gone;
	s->offset += gone;
	s->behind = ahead;
}

void signature_scan_feed(struct signature_scan *s, const void *p, size_t n)
{
	const char *from = p;

	while (n > 0) {
		size_t some = MIN(n, BLOCK - s->n);
		const char *last;

		memcpy(s->buf + s->n, from, some);
		s->n += some;
		from += some;
		n -= some;
		s->open = s->buf[s->n - 1] != '\n';
		if (s->n < BLOCK)
			return;
		last = memrchr(s->buf, '\n', s->n);
		if (last)
			take(s, (size_t)(last - s->buf) + 1, 0);
		else
			take(s, s->n, SIGNATURE_AROUND);
	}
}

static int by_line(const void *pa, const void *pb)
{
	const struct signature_hit *a = pa, *b = pb;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return strcmp(a->sig->id, b->sig->id);
}

void signature_scan_end(struct signature_scan *s, struct signature_hits *ret)
{
	struct signature_hits h = { .unjudged = 0 };

	h.bytes = s->offset + s->n;
	if (s->n)
		take(s, s->n, 0);
	h.lines = s->lines + s->open;
	h.unjudged = s->unjudged;
	for (size_t i = 0; i < s->all->n; i++) {
		struct tally *y = &s->tally[i];

		if (y->seen)
			*VEC_ADD(&h) = (struct signature_hit){ .sig = &s->all->v[i],
							       .seen = y->seen,
							       .won = y->won,
							       .line = y->line,
							       .offset = y->offset,
							       .last_line = y->last_line,
							       .excerpt = STEAL(y->excerpt) };
	}
	if (h.n > 1)
		qsort(h.v, h.n, sizeof(*h.v), by_line);
	signature_scan_free(&s);
	*ret = h;
}

void signatures_scan_text(const struct signatures *l, struct sv text, struct signature_hits *ret)
{
	struct signature_scan *s = signature_scan_new(l);

	signature_scan_feed(s, text.p, text.n);
	signature_scan_end(s, ret);
}

void signature_hits_release(struct signature_hits *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->v[i].excerpt);
	free(h->v);
	*h = (struct signature_hits){ 0 };
}

const struct signature_hit *signature_hits_find(const struct signature_hits *h, const char *id)
{
	for (size_t i = 0; i < h->n; i++)
		if (streq(h->v[i].sig->id, id))
			return &h->v[i];
	return NULL;
}

void signature_hits_add(struct signature_hits *to, struct signature_hits *from, unsigned file)
{
	for (size_t i = 0; i < from->n; i++) {
		struct signature_hit *x = NULL;

		for (size_t k = 0; k < to->n && !x; k++)
			if (to->v[k].sig == from->v[i].sig)
				x = &to->v[k];
		if (x && (x->won || !from->v[i].won)) {
			x->seen += from->v[i].seen;
			x->won += from->v[i].won;
			continue;
		}
		from->v[i].file = file;
		if (x) {
			from->v[i].seen += x->seen;
			free(x->excerpt);
		} else {
			x = VEC_ADD(to);
		}
		*x = from->v[i];
		from->v[i].excerpt = NULL;
	}
	to->bytes += from->bytes;
	to->lines += from->lines;
	to->unjudged += from->unjudged;
	signature_hits_release(from);
	if (to->n > 1)
		qsort(to->v, to->n, sizeof(*to->v), by_line);
}
