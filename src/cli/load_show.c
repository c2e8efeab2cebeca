/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown while a run goes on. */
#include "base/clock.h"
#include "cli/load_parts.h"

#include <math.h>

static void add_time(struct str *s, const char *name, double p50, double p99)
{
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;

	if (isnan(p50))
		return;
	a = quantity_text(p50, UNIT_NS);
	b = quantity_text(p99, UNIT_NS);
	str_addf(s, "  %s %s/%s", name, a, b);
}

int load_show(void *arg, const struct load_progress *p)
{
	struct cli *cli = arg;
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_FREE char *left = p->left_ns < NS_PER_S
				       ? xstrdup("0 s")
				       : duration_text(p->left_ns / NS_PER_S * NS_PER_S);

	/* What has gone wrong stands in front of what a narrow terminal cuts. */
	str_addf(&s, "%s  %s left  %.4g/s", p->warming ? "warm-up" : "load", left,
		 p->rate_achieved);
	if (!isnan(p->rate_asked))
		str_addf(&s, " of %.4g", p->rate_asked);
	str_addf(&s, "  %llu in flight  %llu ok", (unsigned long long)p->in_flight,
		 (unsigned long long)p->ok);
	for (int i = 1; i < LOAD_OUTCOMES; i++)
		if (p->by_outcome[i])
			str_addf(&s, "  %llu %s", (unsigned long long)p->by_outcome[i],
				 load_outcome_name((enum load_outcome)i));
	str_add(&s, "\np50/p99");
	add_time(&s, "ttft", p->ttft_p50_ns, p->ttft_p99_ns);
	add_time(&s, "itl", p->itl_p50_ns, p->itl_p99_ns);
	add_time(&s, "e2e", p->e2e_p50_ns, p->e2e_p99_ns);
	cli_progress(cli, /* last= */ false, "%s", str_text(&s));
	return 0;
}

static void put_ns(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		json_put_int(o, key, llround(v));
}

int load_show_json(void *arg, const struct load_progress *p)
{
	struct cli *cli = arg;
	AUTO_JSON json_t *o = json_object();
	AUTO_FREE char *text = NULL;
	json_t *by = json_object();

	(void)cli;
	json_put_str(o, "schema", "twice.load-progress/1");
	json_put_bool(o, "warming", p->warming);
	json_put_int(o, "elapsed_ns", p->elapsed_ns);
	json_put_int(o, "left_ns", p->left_ns);
	json_put_int(o, "scheduled", (int64_t)p->scheduled);
	json_put_int(o, "started", (int64_t)p->started);
	json_put_int(o, "in_flight", (int64_t)p->in_flight);
	if (isfinite(p->rate_asked))
		json_put_int(o, "rate_asked_e6", llround(p->rate_asked * 1e6));
	json_put_int(o, "rate_achieved_e6", llround(p->rate_achieved * 1e6));
	put_ns(o, "ttft_p50_ns", p->ttft_p50_ns);
	put_ns(o, "ttft_p99_ns", p->ttft_p99_ns);
	put_ns(o, "itl_p50_ns", p->itl_p50_ns);
	put_ns(o, "itl_p99_ns", p->itl_p99_ns);
	put_ns(o, "e2e_p50_ns", p->e2e_p50_ns);
	put_ns(o, "e2e_p99_ns", p->e2e_p99_ns);
	for (int i = 0; i < LOAD_OUTCOMES; i++)
		if (p->by_outcome[i] || i == LOAD_OK)
			json_put_int(by, load_outcome_name((enum load_outcome)i),
				     (int64_t)p->by_outcome[i]);
	json_put(o, "outcomes", by);
	text = json_text(o, /* pretty= */ false);
	(void)fprintf(stderr, "%s\n", text);
	return 0;
}
