/* SPDX-License-Identifier: Apache-2.0 */
/* Text helpers: cleaned text is valid and clean, numbers read back, parts add up to the whole. */
#include "base/str.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void numbers(struct sv v)
{
	uint64_t u;
	int64_t i;
	double d;

	if (sv_to_i64(v, INT64_MIN, INT64_MAX, &i)) {
		AUTO_FREE char *text = xasprintf("%lld", (long long)i);
		int64_t again;

		assert(sv_to_i64(sv_of(text), i, i, &again) && again == i);
		assert(v.n > F64_MAX_CHARS || sv_to_f64(v, &d));
		assert(v.n > F64_MAX_CHARS || fabs(d - (double)i) <= fabs(d) * 1e-15);
	}
	if (sv_to_u64(v, &u)) {
		AUTO_FREE char *text = xasprintf("%llu", (unsigned long long)u);
		uint64_t again;

		assert(sv_to_u64(sv_of(text), &again) && again == u);
	}
	if (sv_to_f64(v, &d)) {
		AUTO_FREE char *text = xasprintf("%.17g", d);
		double again;

		assert(isfinite(d));
		assert(sv_to_f64(sv_of(text), &again) && memcmp(&again, &d, sizeof(d)) == 0);
	}
	(void)sv_to_hex(v, &u);
}

static void parts(struct sv v)
{
	struct sv rest = v, part, at = sv_trim(v);
	size_t sum = 0, count = 0;

	while (sv_split(&rest, ',', &part)) {
		assert(!memchr(part.n ? part.p : "", ',', part.n));
		sum += part.n;
		count++;
	}
	assert(v.n == 0 || sum + count - 1 == v.n || sum + count == v.n);
	for (rest = v; sv_line(&rest, &part);)
		assert(sv_find(part, SV("\n")) < 0);
	for (rest = v; sv_word(&rest, &part);)
		assert(part.n > 0 && sv_find(part, SV(" ")) < 0);
	assert(at.n <= v.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sv v = { (const char *)data, n };
	AUTO_FREE char *clean = text_clean(v);
	struct str limited CLEANUP(str_release) = { 0 };

	assert(utf8_valid(sv_of(clean)));
	for (const char *p = clean; *p; p++)
		assert((unsigned char)*p >= ' ' && *p != 0x7f);
	numbers(v);
	parts(v);
	str_init(&limited, 16);
	str_addsv(&limited, v);
	assert(limited.n <= 16 && limited.over == (n > 16));
	return 0;
}
