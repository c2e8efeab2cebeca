/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/str.h"

int64_t clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_wall_ms(void)
{
	const char *fixed = getenv("TWICE_NOW_MS");
	struct timespec t;
	int64_t ms;

	if (fixed && sv_to_i64(sv_of(fixed), 0, INT64_MAX / 1000, &ms))
		return ms;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / NS_PER_MS;
}

void sleep_ns(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (ns > 0)
		(void)nanosleep(&t, NULL);
}

/* In so many digits: a tenth of what printf takes, and there is one in every entry. */
static void put(char *to, unsigned v, size_t n)
{
	for (; n--; v /= 10)
		to[n] = (char)('0' + v % 10);
}

char *time_utc(int64_t ms)
{
	char text[] = "0000-00-00T00:00:00.000Z";
	int64_t s = ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000);
	time_t when = (time_t)s;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || tm.tm_year + 1900 < 1 || tm.tm_year + 1900 > 9999)
		return xstrdup("0001-01-01T00:00:00.000Z");
	put(text, (unsigned)tm.tm_year + 1900, 4);
	put(text + 5, (unsigned)tm.tm_mon + 1, 2);
	put(text + 8, (unsigned)tm.tm_mday, 2);
	put(text + 11, (unsigned)tm.tm_hour, 2);
	put(text + 14, (unsigned)tm.tm_min, 2);
	put(text + 17, (unsigned)tm.tm_sec, 2);
	put(text + 20, (unsigned)(ms - s * 1000), 3);
	return xstrdup(text);
}

static bool digits(const char *s, size_t at, size_t n, int64_t *ret)
{
	return sv_to_i64((struct sv){ s + at, n }, 0, 9999, ret);
}

bool time_utc_parse(const char *s, int64_t *ret_ms)
{
	int64_t y, mo, d, h, mi, sec, ms;
	struct tm tm = { 0 };
	time_t t;

	if (strlen(s) != 24 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' ||
	    s[16] != ':' || s[19] != '.' || s[23] != 'Z')
		return false;
	if (!digits(s, 0, 4, &y) || !digits(s, 5, 2, &mo) || !digits(s, 8, 2, &d) ||
	    !digits(s, 11, 2, &h) || !digits(s, 14, 2, &mi) || !digits(s, 17, 2, &sec) ||
	    !digits(s, 20, 3, &ms))
		return false;
	if (y < 1 || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || sec > 59)
		return false;
	tm = (struct tm){ .tm_year = (int)y - 1900,
			  .tm_mon = (int)mo - 1,
			  .tm_mday = (int)d,
			  .tm_hour = (int)h,
			  .tm_min = (int)mi,
			  .tm_sec = (int)sec };
	t = timegm(&tm);
	if (tm.tm_mday != (int)d) /* 31 April became 1 May */
		return false;
	*ret_ms = (int64_t)t * 1000 + ms;
	return true;
}

char *duration_text(int64_t ns)
{
	double s = (double)ns / 1e9;
	int64_t whole = (ns + NS_PER_S / 2) / NS_PER_S;

	if (ns < 0)
		return xstrdup("unknown");
	if (ns < NS_PER_MS)
		return xasprintf("%.0f us", s * 1e6);
	if (ns < NS_PER_S)
		return xasprintf("%.3g ms", s * 1e3);
	if (ns < 60 * NS_PER_S)
		return xasprintf("%.3g s", s);
	if (whole < 3600)
		return xasprintf("%d min %d s", (int)(whole / 60), (int)(whole % 60));
	return xasprintf("%lld h %d min", (long long)(whole / 3600), (int)(whole / 60 % 60));
}
