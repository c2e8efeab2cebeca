/* SPDX-License-Identifier: Apache-2.0 */
/* Debian Policy, section 5.6.12: how versions are ordered. Works for other people's versions too.
 * */
#include "envelope/envelope.h"

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* '~' sorts before the end of the text, letters before everything else. */
static int order_of(struct sv v, size_t i)
{
	if (i >= v.n || digit(v.p[i]))
		return 0;
	if (v.p[i] == '~')
		return -1;
	return letter(v.p[i]) ? v.p[i] : (unsigned char)v.p[i] + 256;
}

/* The parts up to the next digits, character by character; moves both on. */
static int compare_text(struct sv a, size_t *i, struct sv b, size_t *k)
{
	while ((*i < a.n && !digit(a.p[*i])) || (*k < b.n && !digit(b.p[*k]))) {
		int x = order_of(a, *i), y = order_of(b, *k);

		if (x != y)
			return x < y ? -1 : 1;
		*i += *i < a.n && !digit(a.p[*i]);
		*k += *k < b.n && !digit(b.p[*k]);
	}
	return 0;
}

/* A run of digits without its leading zeros; moves on behind it. */
static struct sv number_at(struct sv v, size_t *i)
{
	struct sv n;

	while (*i < v.n && v.p[*i] == '0')
		++*i;
	n = (struct sv){ v.p + *i, 0 };
	while (*i < v.n && digit(v.p[*i])) {
		++*i;
		n.n++;
	}
	return n;
}

static int compare_number(struct sv a, struct sv b)
{
	int order;

	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	order = a.n ? memcmp(a.p, b.p, a.n) : 0;
	return order < 0 ? -1 : order > 0;
}

static int compare_part(struct sv a, struct sv b)
{
	size_t i = 0, k = 0;

	while (i < a.n || k < b.n) {
		int order = compare_text(a, &i, b, &k);

		if (!order)
			order = compare_number(number_at(a, &i), number_at(b, &k));
		if (order)
			return order;
	}
	return 0;
}

/* "1:2.0-3" -> epoch 1, rest "2.0-3". A colon behind anything but digits is no epoch. */
static struct sv epoch_of(struct sv *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (digit(v->p[i]))
			continue;
		if (v->p[i] == ':' && i > 0) {
			struct sv epoch = { v->p, i };

			*v = (struct sv){ v->p + i + 1, v->n - i - 1 };
			return epoch;
		}
		break;
	}
	return (struct sv){ "0", 1 };
}

/* What stands behind the last '-': a package's revision. */
static struct sv revision_of(struct sv *v)
{
	for (size_t i = v->n; i-- > 0;) {
		if (v->p[i] != '-')
			continue;
		struct sv revision = { v->p + i + 1, v->n - i - 1 };

		v->n = i;
		return revision;
	}
	return (struct sv){ "", 0 };
}

int version_compare(struct sv a, struct sv b)
{
	struct sv ea = epoch_of(&a), eb = epoch_of(&b);
	int order = compare_part(ea, eb);
	struct sv ra, rb;

	if (order)
		return order;
	ra = revision_of(&a);
	rb = revision_of(&b);
	order = compare_part(a, b);
	return order ? order : compare_part(ra, rb);
}
