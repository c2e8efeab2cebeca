/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watching.h"

#include "verdict/verdict.h"
#include <math.h>

/* E as people read it: from 0.001 to millions. */
static void add_e(const json_t *o, const char *key, struct str *out)
{
	double log_e = (double)json_int_or(o, key, 0) / 1e9;

	if (log_e > log(1e6))
		str_add(out, "E is over 1000000");
	else
		str_addf(out, "E is %.3g", exp(log_e));
	str_addf(out, " (alarm at %.0f)", VERDICT_ALARM);
}

static void metric(const json_t *m, bool all, struct str *out)
{
	bool alarm = json_bool_or(m, "alarm", false),
	     abs_scale = streq(json_str_or(m, "scale", ""), "abs");
	int64_t moved = json_int_or(m, "moved", 0), accepted = json_int_or(m, "accepted", 0);
	const json_t *shift = json_object_get(m, "shift_e9");

	if (all || alarm) {
		AUTO_FREE char *by =
			json_is_integer(shift)
				? verdict_percent((double)json_integer_value(shift) / 1e9,
						  abs_scale)
				: NULL;

		str_addf(out, "  %s: %s%s over %lld; ", json_str_or(m, "name", ""),
			 by ? "worse by " : "nothing to say yet", by ? by : "",
			 (long long)json_int_or(m, "since", 0));
		add_e(m, "log_e_e9", out);
		str_add(out, "\n");
	}
	if (moved > accepted)
		str_addf(out,
			 "  %s looks as if it had moved after repetition %lld since the "
			 "acceptance (advice only)\n",
			 json_str_or(m, "name", ""), (long long)(moved - accepted));
	else if (moved == accepted && moved)
		str_addf(out,
			 "  %s looks as if it had moved with the first repetition since the "
			 "acceptance (advice only)\n",
			 json_str_or(m, "name", ""));
	else if (moved)
		str_addf(out,
			 "  %s looks as if it had moved after accepted repetition %lld (advice "
			 "only)\n",
			 json_str_or(m, "name", ""), (long long)moved);
}

void watching_text(const json_t *watch, bool all, struct str *out)
{
	const json_t *a = json_object_get(watch, "metrics");
	bool bad = (double)json_int_or(watch, "bad_log_e_e9", 0) / 1e9 >= log(VERDICT_ALARM);

	for (size_t i = 0; i < json_array_size(a); i++)
		metric(json_array_get(a, i), all, out);
	if (!all && !bad)
		return;
	str_addf(out, "  starts that failed or missed a limit: %lld of %lld; ",
		 (long long)json_int_or(watch, "bad", 0),
		 (long long)json_int_or(watch, "repetitions", 0));
	add_e(watch, "bad_log_e_e9", out);
	str_add(out, "\n");
}
