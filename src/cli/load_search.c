/* SPDX-License-Identifier: Apache-2.0 */
/* `twice load --search`: the highest rate within the objectives, and the curve up to it. */
#include "cli/load_parts.h"

#include "base/err.h"

#include <math.h>

#define EACH_NS (30 * NS_PER_S)

/* 0 found; 1 no rate kept them; 2 not to be relied on. */
static int exit_of(const struct load_curve *c)
{
	if (c->end == LOAD_SEARCH_INTERRUPTED || c->end == LOAD_SEARCH_LIMITED)
		return 2;
	return isnan(c->highest) ? 1 : 0;
}

static int read_share(const char *text, double *ret, struct err *err)
{
	enum unit u;

	if (!quantity_parse(sv_of(text), ret, &u) || (u != UNIT_RATIO && u != UNIT_NONE))
		return bail(err, ERR_USAGE, "--share: '%s' is no share such as '95 %%'", text);
	return 0;
}

int load_search_run(const struct load_opts *o, struct load_conf *c, json_t *value, struct err *err)
{
	struct load_curve curve CLEANUP(load_curve_release) = { 0 };
	struct load_search_conf s;

	load_search_init(&s);
	s.from = c->rate;
	if (c->rate_to > 0)
		s.to = c->rate_to;
	TRY(read_share(o->share, &s.share, err));
	if (!o->for_ns && !o->requests)
		c->duration_ns = EACH_NS;
	if (o->raw || o->save_golden || o->vllm_json)
		return bail(err, ERR_USAGE, "--search is many runs: their files can't be written");
	TRY(load_search(c, &s, &curve, err));
	json_put_str(value, "schema", "twice.load/1");
	json_put_str(value, "url", c->url);
	json_put(value, "search", load_curve_to_json(&curve));
	return exit_of(&curve);
}
