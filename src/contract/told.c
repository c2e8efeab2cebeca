/* SPDX-License-Identifier: Apache-2.0 */
/* Scored items, generated texts and settings in effect: where the workload tells them. */
#include "base/err.h"
#include "contract/internal.h"

static const struct {
	const char *name;
	enum told_from from;
	bool serve, others; /* a server tells it, a program that ends does */
} sources[] = {
	{ "answers", TOLD_ANSWERS, true, false }, { "stdout", TOLD_STDOUT, false, true },
	{ "stderr", TOLD_STDERR, false, true },   { "log", TOLD_LOG, true, false },
	{ "metrics", TOLD_METRICS, true, false },
};

static int source(const char *from, enum told_from *ret, const char **ret_path, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (streq(from, sources[i].name)) {
			*ret = sources[i].from;
			return 0;
		}
	}
	if (!str_starts(from, "file:") || !from[5])
		return bail(err, ERR_PARSE,
			    "from: expected answers, stdout, stderr, log, metrics or file:PATH, "
			    "got '%.60s'",
			    from);
	*ret = TOLD_FILE;
	*ret_path = from + 5;
	return 0;
}

int items_valid(void *conf, struct err *err)
{
	struct items_spec *s = conf;

	TRY(source(s->from, &s->source, &s->path, err));
	if (s->source == TOLD_ANSWERS || s->source == TOLD_LOG || s->source == TOLD_METRICS)
		return bail(err, ERR_PARSE,
			    "scored items come from stdout, stderr or file:PATH, not from '%s'",
			    s->from);
	return 0;
}

int texts_valid(void *conf, struct err *err)
{
	struct texts_spec *s = conf;

	TRY(source(s->from, &s->source, &s->path, err));
	if (s->source == TOLD_LOG || s->source == TOLD_METRICS)
		return bail(err, ERR_PARSE,
			    "texts come from answers, stdout, stderr or file:PATH, not from '%s'",
			    s->from);
	return 0;
}

int setting_valid(void *conf, struct err *err)
{
	struct setting_spec *s = conf;
	struct extract_spec x = { .how = EXTRACT_PATTERN, .pattern = s->pattern };

	TRY(source(s->from, &s->source, &s->path, err));
	if (s->source == TOLD_ANSWERS)
		return bail(err, ERR_PARSE,
			    "no answer tells a setting: log, metrics, stdout, "
			    "stderr or file:PATH do");
	return extract_check(&x, err);
}

/* Does this kind of workload have such a source at all? */
static void fits(struct reading *r, const struct yaml *y, const char *list, const char *name,
		 enum told_from from, const struct workload_check *k)
{
	bool serve = k->how == HOW_SERVE;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].from != from || from == TOLD_FILE)
			continue;
		if (serve ? !sources[i].serve : !sources[i].others)
			complain(r, y->line, y->col,
				 "'%s.%s': a workload that is checked by '%s' has no "
				 "'%s'",
				 list, name, workload_how_name(k->how), sources[i].name);
		else if (from == TOLD_ANSWERS && !k->has_load)
			complain(r, y->line, y->col,
				 "'%s.%s': answers come from 'load', which is missing", list, name);
		else if (from == TOLD_METRICS && !k->serve.metrics)
			complain(r, y->line, y->col,
				 "'%s.%s': 'serve.metrics' names no page to read", list, name);
		else if (from == TOLD_LOG && k->serve.attach)
			complain(r, y->line, y->col,
				 "'%s.%s': the log of a server that is attached is not here", list,
				 name);
	}
}

void told_check(struct reading *r, const struct yaml *root, const struct contract *c)
{
	const struct workload_check *k = &c->workload_check;
	const struct yaml *y = yaml_get(root, "workload_check");

	if (!y)
		return;
	for (size_t i = 0; i < k->items.n; i++)
		fits(r, yaml_get(y, "items"), "items", k->items.v[i].name, k->items.v[i].source, k);
	for (size_t i = 0; i < k->texts.n; i++)
		fits(r, yaml_get(y, "texts"), "texts", k->texts.v[i].name, k->texts.v[i].source, k);
	for (size_t i = 0; i < k->settings.n; i++)
		fits(r, yaml_get(y, "settings"), "settings", k->settings.v[i].name,
		     k->settings.v[i].source, k);
}
