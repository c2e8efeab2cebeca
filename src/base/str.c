/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/vec.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

static NORETURN void out_of_memory(size_t n)
{
	(void)fprintf(stderr, "twice: out of memory (%zu bytes)\n", n);
	exit(70);
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (!p)
		out_of_memory(n);
	return p;
}

void *xmap(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		       -1, 0);

	if (p == MAP_FAILED)
		out_of_memory(n);
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory(n);
	return p;
}

void *xrealloc(void *old, size_t n)
{
	void *p = realloc(old, n ? n : 1);

	if (!p)
		out_of_memory(n);
	return p;
}

char *xstrndup(const char *s, size_t n)
{
	char *p = xmalloc(n + 1);

	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *xstrdup(const char *s)
{
	return s ? xstrndup(s, strlen(s)) : NULL;
}

char *xasprintf(const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	return str_steal(&s);
}

void closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

bool str_ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcmp(s + n - m, with) == 0;
}

void *vec_grow(void *v, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return v;
	*room = *room ? *room * 2 : 8;
	if (*room > SIZE_MAX / size / 2)
		out_of_memory(SIZE_MAX);
	return xrealloc(v, *room * size);
}

void str_init(struct str *s, size_t limit)
{
	*s = (struct str){ .limit = limit };
}

void str_release(struct str *s)
{
	free(s->p);
	*s = (struct str){ 0 };
}

void str_clear(struct str *s)
{
	s->n = 0;
	s->over = false;
	if (s->p)
		s->p[0] = '\0';
}

void str_cut(struct str *s, size_t n)
{
	if (n >= s->n)
		return;
	s->n = n;
	s->p[n] = '\0';
}

void str_addn(struct str *s, const void *p, size_t n)
{
	if (s->limit && n > s->limit - MIN(s->n, s->limit)) {
		n = s->limit - MIN(s->n, s->limit);
		s->over = true;
	}
	if (s->n + n + 1 > s->room) {
		size_t room = MAX(s->room * 2, s->n + n + 1);

		s->room = MAX(room, (size_t)32);
		s->p = xrealloc(s->p, s->room);
	}
	if (n)
		memcpy(s->p + s->n, p, n);
	s->n += n;
	s->p[s->n] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
	str_addn(s, &c, 1);
}

void str_addsv(struct str *s, struct sv v)
{
	str_addn(s, v.p, v.n);
}

void str_vaddf(struct str *s, const char *fmt, va_list ap)
{
	char small[256];
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	assert(n >= 0);
	if ((size_t)n < sizeof(small)) {
		str_addn(s, small, (size_t)n);
	} else {
		AUTO_FREE char *big = xmalloc((size_t)n + 1);

		(void)vsnprintf(big, (size_t)n + 1, fmt, again);
		str_addn(s, big, (size_t)n);
	}
	va_end(again);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(s, fmt, ap);
	va_end(ap);
}

void str_pad(struct str *s, char c, size_t n)
{
	while (n--)
		str_addc(s, c);
}

char *str_steal(struct str *s)
{
	char *p = s->p ? s->p : xstrdup("");

	*s = (struct str){ .limit = s->limit };
	return p;
}

bool sv_ends(struct sv a, const char *with)
{
	size_t n = strlen(with);

	return a.n >= n && memcmp(a.p + a.n - n, with, n) == 0;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

struct sv sv_trim(struct sv v)
{
	while (v.n && blank(v.p[0])) {
		v.p++;
		v.n--;
	}
	while (v.n && blank(v.p[v.n - 1]))
		v.n--;
	return v;
}

char *sv_dup(struct sv v)
{
	return xstrndup(v.n ? v.p : "", v.n);
}

bool sv_split(struct sv *rest, char sep, struct sv *ret_part)
{
	const char *at;

	if (!rest->p)
		return false;
	at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
	if (!at) {
		*ret_part = *rest;
		*rest = (struct sv){ NULL, 0 };
		return true;
	}
	*ret_part = (struct sv){ rest->p, (size_t)(at - rest->p) };
	rest->n -= ret_part->n + 1;
	rest->p = at + 1;
	return true;
}

bool sv_line(struct sv *rest, struct sv *ret_line)
{
	if (!rest->p || rest->n == 0)
		return false;
	if (!sv_split(rest, '\n', ret_line))
		return false;
	if (ret_line->n && ret_line->p[ret_line->n - 1] == '\r')
		ret_line->n--;
	return true;
}

bool sv_word(struct sv *rest, struct sv *ret_word)
{
	while (rest->n && blank(rest->p[0])) {
		rest->p++;
		rest->n--;
	}
	if (!rest->n)
		return false;
	*ret_word = (struct sv){ rest->p, 0 };
	while (rest->n && !blank(rest->p[0])) {
		ret_word->n++;
		rest->p++;
		rest->n--;
	}
	return true;
}

ptrdiff_t sv_find(struct sv in, struct sv what)
{
	const char *at;

	if (!what.n)
		return 0;
	if (!in.n)
		return -1;
	at = memmem(in.p, in.n, what.p, what.n);
	return at ? at - in.p : -1;
}

static bool digits_to_u64(struct sv v, uint64_t *ret)
{
	uint64_t x = 0;

	if (!v.n)
		return false;
	for (size_t i = 0; i < v.n; i++) {
		unsigned d = (unsigned)(v.p[i] - '0');

		if (v.p[i] < '0' || v.p[i] > '9' || x > (UINT64_MAX - d) / 10)
			return false;
		x = x * 10 + d;
	}
	*ret = x;
	return true;
}

bool sv_to_u64(struct sv v, uint64_t *ret)
{
	return digits_to_u64(v, ret);
}

bool sv_to_i64(struct sv v, int64_t min, int64_t max, int64_t *ret)
{
	bool neg = v.n && v.p[0] == '-';
	uint64_t u;
	int64_t x;

	if (neg) {
		v.p++;
		v.n--;
	}
	if (!digits_to_u64(v, &u) || u > (uint64_t)INT64_MAX + neg)
		return false;
	x = neg ? (int64_t)(0 - u) : (int64_t)u;
	if (x < min || x > max)
		return false;
	*ret = x;
	return true;
}

bool sv_to_hex(struct sv v, uint64_t *ret)
{
	uint64_t x = 0;

	if (sv_starts(v, "0x") || sv_starts(v, "0X")) {
		v.p += 2;
		v.n -= 2;
	}
	if (!v.n || v.n > 16)
		return false;
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];
		unsigned d;

		if (c >= '0' && c <= '9')
			d = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			d = (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			d = (unsigned)(c - 'A') + 10;
		else
			return false;
		x = x << 4 | d;
	}
	*ret = x;
	return true;
}

bool sv_to_f64(struct sv v, double *ret)
{
	char buf[F64_MAX_CHARS + 1], *end;
	double x;

	if (!v.n || v.n >= sizeof(buf))
		return false;
	for (size_t i = 0; i < v.n; i++)
		if (!memchr("0123456789+-.eE", v.p[i], 15))
			return false;
	memcpy(buf, v.p, v.n);
	buf[v.n] = '\0';
	x = strtod(buf, &end);
	if (end != buf + v.n || !isfinite(x))
		return false;
	*ret = x;
	return true;
}

/* Length of the well-formed UTF-8 sequence at p (RFC 3629), 0 when it is not one. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	unsigned char c = p[0];

	if (c < 0x80)
		return 1;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return n >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
	if (c < 0xf0) {
		if (n < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
			return 0;
		if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f))
			return 0;
		return 3;
	}
	if (c > 0xf4 || n < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 ||
	    (p[3] & 0xc0) != 0x80)
		return 0;
	if ((c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
		return 0;
	return 4;
}

bool utf8_valid(struct sv v)
{
	for (size_t i = 0, k; i < v.n; i += k) {
		uint64_t w;

		if (v.n - i >= sizeof(w)) { /* ASCII, eight at a time */
			memcpy(&w, v.p + i, k = sizeof(w));
			if (!(w & UINT64_C(0x8080808080808080)))
				continue;
		}
		k = utf8_len((const unsigned char *)v.p + i, v.n - i);
		if (!k)
			return false;
	}
	return true;
}

/* Marks that turn the direction of the text after them around (UAX #9): U+061C, U+200E, U+200F,
 * U+202A to U+202E, U+2066 to U+2069. With them a line shows another order than it has. */
static bool turns_text(const unsigned char *p, size_t k)
{
	if (k == 2)
		return p[0] == 0xd8 && p[1] == 0x9c;
	if (k != 3 || p[0] != 0xe2)
		return false;
	return (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae))) ||
	       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

char *text_clean(struct sv v)
{
	struct str s = { 0 };

	for (size_t i = 0, k; i < v.n; i += k) {
		const unsigned char *p = (const unsigned char *)v.p + i;

		k = utf8_len(p, v.n - i);
		/* C0, DEL and C1 controls could drive a terminal. */
		if (!k || (k == 1 && (p[0] < 0x20 || p[0] == 0x7f)) ||
		    (k == 2 && p[0] == 0xc2 && p[1] < 0xa0) || turns_text(p, k)) {
			str_addc(&s, p[0] == '\t' ? ' ' : '?');
			k = k ? k : 1;
		} else {
			str_addn(&s, p, k);
		}
	}
	return str_steal(&s);
}

void strs_release(struct strs *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct strs){ 0 };
}

void strs_take(struct strs *l, char *s)
{
	if (l->n + 2 > l->room) {
		l->room = l->room ? l->room * 2 : 8;
		l->v = xrealloc(l->v, l->room * sizeof(*l->v));
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
}

void strs_add(struct strs *l, const char *s)
{
	strs_take(l, xstrdup(s));
}

void strs_addf(struct strs *l, const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	strs_take(l, str_steal(&s));
}

bool strs_has(const struct strs *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], s))
			return true;
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strs_sort(struct strs *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), by_bytes);
}

void strs_copy(struct strs *to, const struct strs *from)
{
	for (size_t i = 0; i < from->n; i++)
		strs_add(to, from->v[i]);
}

void pairs_release(struct pairs *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].value);
	}
	free(l->v);
	*l = (struct pairs){ 0 };
}

void pairs_add(struct pairs *l, const char *name, const char *value)
{
	struct pair *p = VEC_ADD(l);

	p->name = xstrdup(name);
	p->value = xstrdup(value);
}

const char *pairs_get(const struct pairs *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			return l->v[i].value;
	return NULL;
}
