/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"

#define STEPS_LIMIT ((size_t)1 << 28)

/* Code points; what is no UTF-8 counts byte by byte. Caller frees. */
static uint32_t *points_of(struct sv v, size_t *ret_n)
{
	uint32_t *p = xcalloc(v.n + 1, sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < v.n;) {
		uint32_t c = (unsigned char)v.p[i++];

		while (c >= 0xc0 && i < v.n && ((unsigned char)v.p[i] & 0xc0) == 0x80)
			c = c << 8 | (unsigned char)v.p[i++];
		p[n++] = c;
	}
	*ret_n = n;
	return p;
}

/* Edit distance up to d, by the band of width 2 d + 1 around the diagonal (Ukkonen 1985). */
static bool within(const uint32_t *a, size_t n, const uint32_t *b, size_t m, size_t d)
{
	size_t far = d + 1;
	AUTO_FREE size_t *row = xcalloc(m + 1, sizeof(*row));

	for (size_t j = 0; j <= m; j++)
		row[j] = MIN(j, far);
	for (size_t i = 1; i <= n; i++) {
		size_t from = i > d ? i - d : 0, to = MIN(i + d, m);
		size_t corner = from ? row[from - 1] : 0, left;

		if (from == 0) {
			row[0] = MIN(i, far);
			from = 1;
			corner = i - 1;
		} else {
			row[from - 1] = far;
		}
		left = row[from - 1];
		for (size_t j = from; j <= to; j++) {
			size_t above = j == i + d ? far : row[j];
			size_t best = MIN(MIN(above, left) + 1, corner + (a[i - 1] != b[j - 1]));

			corner = row[j];
			row[j] = left = MIN(best, far);
		}
	}
	return row[m] <= d;
}

bool golden_near(struct sv got, struct sv want, double share)
{
	AUTO_FREE uint32_t *a = NULL;
	AUTO_FREE uint32_t *b = NULL;
	size_t n, m, d;

	if (!(share > 0))
		return false;
	a = points_of(got, &n);
	b = points_of(want, &m);
	d = (size_t)(share * (double)MAX(n, m));
	if ((n > m ? n - m : m - n) > d || n * (2 * d + 1) > STEPS_LIMIT)
		return false;
	return within(a, n, b, m, d);
}
