/* SPDX-License-Identifier: Apache-2.0 */
/* Objectives ("ttft.p99 <= 500 ms") and margins (compare:) as the contract writes them. */
#include "base/err.h"
#include "base/vec.h"
#include "contract/internal.h"
#include <math.h>

void objectives_release(struct objectives *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].metric);
	free(l->v);
	*l = (struct objectives){ 0 };
}

void margins_release(struct margins *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].metric);
	free(l->v);
	*l = (struct margins){ 0 };
}

static bool find_metric(struct reading *r, const struct contract *c, unsigned line, unsigned col,
			const char *name, struct metric_info *ret)
{
	const char *names[METRIC_NAMES_MAX];
	AUTO_FREE char *near = NULL;
	struct contract loaded = *c;

	if (contract_metric(c, name, ret))
		return true;
	loaded.workload_check.has_load = true;
	if (contract_metric(&loaded, name, ret)) {
		complain(r, line, col,
			 "'%s' is measured under load: 'workload_check.load' is missing", name);
		return false;
	}
	metric_names(c, names);
	near = nearest_text(name, names);
	complain(r, line, col, "unknown metric '%.60s' of a workload that is checked by '%s'%s",
		 name, workload_how_name(c->workload_check.how), near);
	return false;
}

/* ---- objectives ------------------------------------------------------------------------------ */

static bool is_upper(enum limit_op op)
{
	return op == LIMIT_LE || op == LIMIT_LT;
}

/* '=' says the same as '<=' or '>=' at the best value there is; elsewhere a measurement never
 * equals. */
static bool settle_equal(struct reading *r, const struct yaml *y, const struct objective *o,
			 struct limit *l)
{
	double best = o->info.dir == LOWER_IS_BETTER ? 0 : 1;

	if (l->op != LIMIT_EQ)
		return true;
	if (!unit_in_range(o->info.unit, -1) && l->value == best &&
	    (best == 0 || o->info.unit == UNIT_RATIO)) {
		l->op = best == 0 ? LIMIT_LE : LIMIT_GE;
		return true;
	}
	complain(r, y->line, y->col,
		 "'%s': a measured value is hardly ever equal to a limit; write '%s'", o->metric,
		 o->info.dir == LOWER_IS_BETTER ? "<=" : ">=");
	return false;
}

static bool check_direction(struct reading *r, const struct yaml *y, const struct objective *o)
{
	bool lower = o->info.dir == LOWER_IS_BETTER;

	if (is_upper(o->limit.op) == lower)
		return true;
	complain(r, y->line, y->col, "'%s': %s is better, so its limit is %s one ('%s')", o->metric,
		 lower ? "less" : "more", lower ? "an upper" : "a lower", lower ? "<=" : ">=");
	return false;
}

static bool check_reachable(struct reading *r, const struct yaml *y, const struct objective *o)
{
	if (o->limit.value != 0 || (o->info.unit != UNIT_NS && o->info.unit != UNIT_BYTES))
		return true;
	complain(r, y->line, y->col, "'%s': '%s' can never hold: it is never zero", o->metric,
		 y->text);
	return false;
}

static void read_objective(struct reading *r, const struct yaml *y, struct contract *c)
{
	struct objective o = { .line = y->line, .col = y->col };
	struct sv text = sv_of(y->kind == YAML_SCALAR ? y->text : "");
	size_t at = strcspn(text.n ? text.p : "", "<>=\xe2");
	AUTO_FREE char *name = NULL;

	if (!at || at == text.n) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col,
			 "'objectives': expected METRIC <= LIMIT such as 'ttft.p99 <= 500 ms', got "
			 "%s",
			 got);
		return;
	}
	name = sv_dup(sv_trim((struct sv){ text.p, at }));
	if (!find_metric(r, c, y->line, y->col, name, &o.info))
		return;
	o.metric = name;
	if (!limit_read(r, name, y, (struct sv){ text.p + at, text.n - at }, o.info.unit,
			&o.limit) ||
	    !settle_equal(r, y, &o, &o.limit) || !check_direction(r, y, &o) ||
	    !check_reachable(r, y, &o))
		return;
	for (size_t i = 0; i < c->workload_check.objectives.n; i++) {
		const struct objective *p = &c->workload_check.objectives.v[i];

		if (streq(p->metric, name)) {
			complain(r, y->line, y->col, "'%s' has a limit already (line %u)", name,
				 p->line);
			return;
		}
	}
	o.info.name = name;
	*VEC_ADD(&c->workload_check.objectives) = o;
	name = NULL; /* belongs to the list now */
}

/* Place of a name's part among "p50" < "p90" < ... < "max" of the same samples; -1: none. */
static int part_rank(const char *name, size_t *ret_prefix, const char **ret_rest)
{
	static const char *const parts[] = { ".p50", ".p90", ".p95", ".p99", ".max" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *p = strstr(name, parts[i]);

		if (!p)
			continue;
		*ret_prefix = (size_t)(p - name);
		*ret_rest = p + strlen(parts[i]);
		return (int)i;
	}
	return -1;
}

/* A median is never above the 99 % point of the same samples: a limit that is not tighter is idle.
 */
static void check_idle(struct reading *r, const struct objectives *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct objective *a = &l->v[i];
		const char *rest_a, *rest_b;
		size_t n_a, n_b;
		int rank = part_rank(a->metric, &n_a, &rest_a);

		for (size_t k = 0; rank >= 0 && k < l->n; k++) {
			const struct objective *b = &l->v[k];
			int other = part_rank(b->metric, &n_b, &rest_b);

			if (other <= rank || n_a != n_b ||
			    strncmp(a->metric, b->metric, n_a) != 0 || !streq(rest_a, rest_b) ||
			    a->limit.value < b->limit.value)
				continue;
			complain(
				r, a->line, a->col,
				"'%s' can never fail while '%s' (line %u) holds: give it a tighter "
				"limit",
				a->metric, b->metric, b->line);
			break;
		}
	}
}

void objectives_read(struct reading *r, const struct yaml *root, struct contract *c)
{
	const struct yaml *check = yaml_get(root, "workload_check");
	const struct yaml *list = check ? yaml_get(check, "objectives") : NULL;
	struct goodput_limits g;

	if (!list)
		return; /* missed by the table */
	if (list->kind != YAML_LIST || !list->n) {
		AUTO_FREE char *got =
			list->kind == YAML_LIST ? xstrdup("an empty one") : yaml_got(list);

		complain(r, list->line, list->col,
			 "'objectives': expected a list of limits, got %s", got);
		return;
	}
	for (size_t i = 0; i < list->n && !is_full(r); i++)
		read_objective(r, &list->v[i], c);
	check_idle(r, &c->workload_check.objectives);
	contract_goodput(c, &g);
	if (g.ttft_ns || g.tpot_ns || g.itl_ns || g.e2e_ns)
		return;
	for (size_t i = 0; i < c->workload_check.objectives.n; i++) {
		const struct objective *o = &c->workload_check.objectives.v[i];

		if (streq(o->metric, "goodput"))
			complain(r, o->line, o->col,
				 "'goodput' has nothing to go by: give a latency objective or "
				 "'load.goodput'");
	}
}

json_t *objectives_to_json(const struct contract *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->workload_check.objectives.n; i++) {
		const struct objective *o = &c->workload_check.objectives.v[i];
		json_t *j = limit_to_json(&o->limit);

		json_put_str(j, "metric", o->metric);
		(void)json_array_append_new(a, j);
	}
	return a;
}

/* ---- margins --------------------------------------------------------------------------------- */

/*
 * A loss in percent of the value for what has no upper end; a difference in points for shares,
 * because "2 %" of a share could mean both.
 */
static bool read_margin(struct reading *r, const struct yaml *y, const struct metric_info *m,
			double *ret)
{
	bool percent, scalar = y->kind == YAML_SCALAR && !yaml_is_null(y);
	struct sv text = sv_trim(sv_of(scalar ? y->text : ""));
	AUTO_FREE char *got = yaml_got(y);
	enum unit u;
	double v;

	percent = sv_ends(text, "%");
	if (m->scale == SCALE_ABS && percent) {
		complain(r, y->line, y->col,
			 "'%s' is a share: its margin is a difference such as '2 points', got %s",
			 m->name, got);
		return false;
	}
	if (!quantity_parse(text, &v, &u) || (m->scale == SCALE_LOG && !percent) ||
	    (m->scale == SCALE_ABS && u != UNIT_RATIO && u != UNIT_NONE)) {
		complain(r, y->line, y->col, "'%s': expected a margin such as '%s', got %s",
			 m->name, m->scale == SCALE_ABS ? "2 points" : "5 %", got);
		return false;
	}
	if (!(v > 1e-6) || v > 1 || (v == 1 && m->scale == SCALE_ABS)) {
		complain(r, y->line, y->col, "'%s': a margin is above 0 and %s, got %s", m->name,
			 m->scale == SCALE_ABS ? "below 100 points" : "at most 100 %", got);
		return false;
	}
	*ret = v;
	return true;
}

static void read_margin_map(struct reading *r, const struct yaml *y, struct margin *m)
{
	static const char *const names[] = { "margin", "gate", NULL };
	const struct yaml *margin = yaml_get(y, "margin");

	for (size_t i = 0; i < y->n; i++) {
		const struct yaml *v = &y->v[i];

		if (streq(v->key, "margin")) {
			(void)read_margin(r, v, &m->info, &m->margin);
		} else if (streq(v->key, "gate")) {
			m->gate = !streq(v->text, "false");
			if (!streq(v->text, "false") && !streq(v->text, "true"))
				complain(r, v->line, v->col, "'gate': expected true or false");
		} else {
			AUTO_FREE char *near = nearest_text(v->key, names);

			complain(r, v->key_line, v->key_col,
				 "unknown key '%.60s' in 'compare.%s'%s", v->key, m->metric, near);
		}
	}
	if (!margin)
		m->margin = m->info.margin;
}

static void read_compare_entry(struct reading *r, const struct yaml *y, struct contract *c)
{
	struct margin m = { .gate = true };

	if (!find_metric(r, c, y->key_line, y->key_col, y->key, &m.info))
		return;
	if (m.info.across) {
		complain(r, y->key_line, y->key_col,
			 "'%s' is one number of a whole run: repetitions can't be compared by it",
			 y->key);
		return;
	}
	if (m.info.paired) {
		complain(r, y->key_line, y->key_col,
			 "'%s': items are compared one by one: write 'items.%.*s.margin'", y->key,
			 (int)strcspn(y->key, "."), y->key);
		return;
	}
	m.metric = y->key; /* borrowed until it is known to be good */
	if (y->kind == YAML_MAP)
		read_margin_map(r, y, &m);
	else if (!read_margin(r, y, &m.info, &m.margin))
		return;
	m.metric = xstrdup(y->key);
	*VEC_ADD(&c->compare) = m;
}

static int by_metric(const void *a, const void *b)
{
	return strcmp(((const struct margin *)a)->metric, ((const struct margin *)b)->metric);
}

static void default_margins(struct contract *c)
{
	for (size_t i = 0; i < c->workload_check.objectives.n; i++) {
		const struct objective *o = &c->workload_check.objectives.v[i];

		if (o->info.across || o->info.paired)
			continue;
		*VEC_ADD(&c->compare) = (struct margin){ .metric = xstrdup(o->metric),
							 .info = o->info,
							 .margin = o->info.margin,
							 .gate = true,
							 .by_default = true };
	}
}

void compare_read(struct reading *r, const struct yaml *root, struct contract *c)
{
	const struct yaml *y = yaml_get(root, "compare");
	size_t before = r->bad->n, gates = 0;

	if (!y) {
		default_margins(c);
	} else if (y->kind != YAML_MAP) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col,
			 "'compare': expected a map of metrics to margins, got %s", got);
		return;
	}
	for (size_t i = 0; y && i < y->n && !is_full(r); i++)
		read_compare_entry(r, &y->v[i], c);
	for (size_t i = 0; i < c->compare.n; i++)
		gates += c->compare.v[i].gate;
	if (y && !gates && r->bad->n == before)
		complain(r, y->line, y->col,
			 "'compare' could never reject anything: name a metric that gates");
	if (c->compare.n)
		qsort(c->compare.v, c->compare.n, sizeof(*c->compare.v), by_metric);
	/* The names belong to the entries; the text of the table may be gone by now. */
	for (size_t i = 0; i < c->compare.n; i++)
		c->compare.v[i].info.name = c->compare.v[i].metric;
}

json_t *compare_to_json(const struct contract *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->compare.n; i++) {
		const struct margin *m = &c->compare.v[i];
		json_t *j;

		if (m->by_default)
			continue;
		j = json_object();
		json_put_str(j, "name", m->metric);
		json_put_int(j, "margin_e9", llround(m->margin * 1e9));
		if (!m->gate)
			json_put_bool(j, "gate", false);
		(void)json_array_append_new(a, j);
	}
	return a;
}
