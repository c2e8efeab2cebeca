/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two byte searches that every event goes through, sixteen bytes at a step where the machine
 * can (SSE2 is part of every x86-64), byte by byte elsewhere. Nothing at or behind `end` is read.
 */
#pragma once

#include "base/defs.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* First LF or CR in [p, end); `end` when there is none. */
static inline const char *scan_line_end(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		int hit = _mm_movemask_epi8(
			_mm_or_si128(_mm_cmpeq_epi8(v, lf), _mm_cmpeq_epi8(v, cr)));

		if (hit)
			return p + __builtin_ctz((unsigned)hit);
	}
#endif
	while (p < end && *p != '\n' && *p != '\r')
		p++;
	return p;
}

/* First byte in [p, end) that can't just be passed over inside a JSON string: a quote, a
 * backslash, a control byte or one of a multi-byte character; `end` when there is none. */
static inline const unsigned char *scan_plain(const unsigned char *p, const unsigned char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i space = _mm_set1_epi8(' ');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* Signed: what is below a blank is a control byte or has its top bit set. */
		__m128i odd = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
			_mm_cmplt_epi8(v, space));
		int hit = _mm_movemask_epi8(odd);

		if (hit)
			return p + __builtin_ctz((unsigned)hit);
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && *p >= 0x20 && *p < 0x80)
		p++;
	return p;
}
