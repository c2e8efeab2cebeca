/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/when.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "model/model.h"

#define DAY_MS (86400 * (int64_t)1000)

/* Whatever is left out of "2026-12-24T18:00:00.000Z" from the right is zero. */
static bool stamp(struct sv text, int64_t *ret, bool *ret_day)
{
	static const char rest[] = "0000-00-00T00:00:00.000Z";
	struct str s CLEANUP(str_release) = { 0 };

	*ret_day = text.n == 10;
	if (sv_ends(text, "Z"))
		text.n--;
	if (text.n != 10 && text.n != 16 && text.n != 19 && text.n != 23)
		return false;
	str_addsv(&s, text);
	str_add(&s, rest + text.n);
	if (s.n > 10 && s.p[10] == ' ')
		s.p[10] = 'T';
	return time_utc_parse(str_text(&s), ret);
}

int when_parse(const char *name, const char *text, enum when way, bool end_of_day, int64_t now_ms,
	       int64_t *ret_ms, struct err *err)
{
	bool day;
	double ns;
	enum unit u;

	if (stamp(sv_trim(sv_of(text)), ret_ms, &day)) {
		if (day && end_of_day)
			*ret_ms += DAY_MS - 1;
		return 0;
	}
	if (quantity_parse(sv_of(text), &ns, &u) && u == UNIT_NS && ns >= 0 && ns < 9e18) {
		int64_t ms = (int64_t)(ns / 1e6);

		*ret_ms = way == WHEN_AGO ? now_ms - ms : now_ms + ms;
		return 0;
	}
	(void)bail(err, ERR_USAGE, "--%s: '%s' is no time", name, text);
	err_hint(err, "Write a day (2026-12-24), a time in UTC (2026-12-24T18:00), or a length "
		      "such as '14 days'.");
	return -ERR_USAGE;
}
