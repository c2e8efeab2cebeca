/* SPDX-License-Identifier: Apache-2.0 */
/* Options are data: one table parses, explains, completes and documents them. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include <ctype.h>

const struct opt global_opts[] = {
	OPT(global_conf, contract, .name = "contract", .arg = "FILE", .type = OPT_TEXT,
	    .def = "twice.yaml", .help = "the contract"),
	OPT(global_conf, ledger, .name = "ledger", .arg = "DIR", .type = OPT_TEXT,
	    .help = "the ledger's folder (default: .twice beside the contract)"),
	OPT(global_conf, as, .name = "as", .arg = "NAME", .type = OPT_TEXT,
	    .help = "who you are, in what is recorded (default: user@host)"),
	OPT(global_conf, json, .name = "json", .type = OPT_FLAG,
	    .help = "print the result as JSON on stdout"),
	OPT(global_conf, quiet, .name = "quiet", .type = OPT_FLAG,
	    .help = "no progress and no notes"),
	OPT(global_conf, verbose, .name = "verbose", .type = OPT_FLAG, .help = "more detail"),
	OPT(global_conf, render, .name = "render", .arg = "FILE", .type = OPT_TEXT,
	    .help = "print the text of a result saved with --json, and do nothing else"),
	OPT(global_conf, explain, .name = "explain-config", .type = OPT_FLAG,
	    .help = "show each option's value and where it came from, and do nothing else"),
	OPT(global_conf, help, .name = "help", .type = OPT_FLAG, .help = "this text"),
	{ 0 },
};

void opt_sources_release(struct opt_sources *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].value);
	free(l->v);
	*l = (struct opt_sources){ 0 };
}

static const struct opt *find(const struct opt *opts, struct sv name)
{
	for (; opts && opts->name; opts++)
		if (sv_is(name, opts->name))
			return opts;
	return NULL;
}

static int unknown(const struct opt *global, const struct opt *opts, struct sv name,
		   struct err *err)
{
	AUTO_FREE char *got = sv_dup(name);
	AUTO_FREE char *shown = text_clean(name);
	const char *names[64] = { NULL };
	size_t n = 0;

	for (const struct opt *o = opts; o && o->name && n < 60; o++)
		names[n++] = o->name;
	for (const struct opt *o = global; o && o->name && n < 60; o++)
		names[n++] = o->name;
	bail(err, ERR_USAGE, "unknown option '--%s'", shown);
	if (nearest_name(got, names))
		err_hint(err, "Did you mean '--%s'?", nearest_name(got, names));
	return -ERR_USAGE;
}

static int set_choice(const struct opt *o, const char *text, int *ret, struct err *err)
{
	struct str all CLEANUP(str_release) = { 0 };

	for (int i = 0; o->choices[i]; i++) {
		if (streq(o->choices[i], text)) {
			*ret = i;
			return 0;
		}
		str_addf(&all, "%s%s", i ? ", " : "", o->choices[i]);
	}
	bail(err, ERR_USAGE, "--%s: '%s' is none of %s", o->name, text, str_text(&all));
	err_hint_nearest(err, text, o->choices);
	return -ERR_USAGE;
}

static int set(const struct opt *o, void *conf, const char *text, struct err *err)
{
	void *at = (char *)conf + o->at;
	int64_t i;
	double d;
	enum unit u;

	switch (o->type) {
	case OPT_FLAG:
		if (!streq(text, "true") && !streq(text, "false"))
			return bail(err, ERR_USAGE, "--%s: '%s' is neither true nor false", o->name,
				    text);
		*(bool *)at = streq(text, "true");
		return 0;
	case OPT_TEXT:
		free(*(char **)at);
		*(char **)at = xstrdup(text);
		return 0;
	case OPT_LIST:
		strs_add(at, text);
		return 0;
	case OPT_CHOICE:
		return set_choice(o, text, at, err);
	case OPT_NUMBER:
		if (!sv_to_i64(sv_of(text), INT64_MIN, INT64_MAX, &i))
			return bail(err, ERR_USAGE, "--%s: '%s' is no whole number", o->name, text);
		break;
	case OPT_TIME:
	default:
		if (!quantity_parse(sv_of(text), &d, &u) || u != UNIT_NS || d < 0 || d > 9e18)
			return bail(err, ERR_USAGE, "--%s: '%s' is no time such as '30 s'", o->name,
				    text);
		i = (int64_t)d;
	}
	if (o->max > o->min && (i < o->min || i > o->max)) {
		if (o->type == OPT_TIME) {
			AUTO_FREE char *a = duration_text(o->min);
			AUTO_FREE char *b = duration_text(o->max);

			return bail(err, ERR_USAGE, "--%s: '%s' is not between %s and %s", o->name,
				    text, a, b);
		}
		return bail(err, ERR_USAGE, "--%s: %s is not between %lld and %lld", o->name, text,
			    (long long)o->min, (long long)o->max);
	}
	*(int64_t *)at = i;
	return 0;
}

static void source(struct opt_sources *l, const char *name, const char *where, const char *value)
{
	struct opt_source *s = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			s = &l->v[i];
	if (!s)
		s = VEC_ADD(l);
	free(s->value);
	*s = (struct opt_source){ name, where, xstrdup(value) };
}

/* A list given on the command line stands instead of one from a weaker place, not behind it. */
static void start_over(const struct opt *o, void *conf, const struct opt_sources *l)
{
	for (size_t i = 0; o->type == OPT_LIST && i < l->n; i++)
		if (streq(l->v[i].name, o->name) && !streq(l->v[i].where, "option"))
			strs_release((struct strs *)((char *)conf + o->at));
}

static char *env_name(const char *command, const char *name)
{
	struct str s = { 0 };

	str_addf(&s, "TWICE_%s%s%s", command ? command : "", command ? "_" : "", name);
	for (size_t i = 0; i < s.n; i++)
		s.p[i] = s.p[i] == '-' ? '_' : (char)toupper((unsigned char)s.p[i]);
	return str_steal(&s);
}

/* Default, then file, then environment: the weaker first, so that the stronger overwrites. */
static int preset(const struct opt_input *in, const struct opt *o, bool global, void *conf,
		  struct opt_sources *src, struct err *err)
{
	AUTO_FREE char *env = env_name(global ? NULL : in->command, o->name);
	AUTO_FREE char *key = xasprintf("%s.%s", in->command ? in->command : "", o->name);
	const char *v = o->def, *where = "default";

	if (in->file && pairs_get(in->file, o->name) && global) {
		v = pairs_get(in->file, o->name);
		where = "config file";
	}
	if (in->file && pairs_get(in->file, key)) {
		v = pairs_get(in->file, key);
		where = "config file";
	}
	if (in->use_env && getenv(env)) {
		v = getenv(env);
		where = "environment";
		if (o->type == OPT_FLAG && (streq(v, "1") || streq(v, "0")))
			v = streq(v, "1") ? "true" : "false";
	}
	source(src, o->name, where, v ? v : "");
	if (!v)
		return 0;
	if (set(o, conf, v, err) < 0)
		return err_wrap(err, streq(where, "environment") ? "%s" : "%s of the config file",
				streq(where, "environment") ? env : key);
	return 0;
}

static int one(const struct opt_input *in, const struct opt *o, void *conf, struct sv inline_value,
	       size_t *i, struct opt_sources *src, struct err *err)
{
	const char *value;

	start_over(o, conf, src);
	if (o->type == OPT_FLAG) {
		if (inline_value.p) {
			AUTO_FREE char *v = sv_dup(inline_value);

			TRY(set(o, conf, v, err));
		} else {
			TRY(set(o, conf, "true", err));
		}
		source(src, o->name, "option", *(bool *)((char *)conf + o->at) ? "true" : "false");
		return 0;
	}
	if (inline_value.p) {
		AUTO_FREE char *v = sv_dup(inline_value);

		source(src, o->name, "option", v);
		return set(o, conf, v, err);
	}
	value = in->argv[*i + 1];
	if (!value)
		return bail(err, ERR_USAGE, "option '--%s' needs a value (%s)", o->name, o->arg);
	(*i)++;
	source(src, o->name, "option", value);
	return set(o, conf, value, err);
}

static int missing(const struct opt *opts, const struct opt_sources *src, struct err *err)
{
	for (; opts && opts->name; opts++) {
		for (size_t i = 0; opts->need && i < src->n; i++)
			if (streq(src->v[i].name, opts->name) && streq(src->v[i].where, "default"))
				return bail(err, ERR_USAGE, "option '--%s %s' is needed",
					    opts->name, opts->arg);
	}
	return 0;
}

static bool wants_help(const struct opt *global, const void *conf)
{
	const struct opt *o = find(global, SV("help"));

	return o && *(const bool *)((const char *)conf + o->at);
}

int opts_parse(const struct opt_input *in, const struct opt *global, void *global_conf,
	       const struct opt *opts, void *conf, struct strs *ret_args,
	       struct opt_sources *ret_sources, struct err *err)
{
	bool only_args = false;

	for (const struct opt *o = global; o && o->name; o++)
		TRY(preset(in, o, true, global_conf, ret_sources, err));
	for (const struct opt *o = opts; o && o->name; o++)
		TRY(preset(in, o, false, conf, ret_sources, err));
	for (size_t i = 0; in->argv[i]; i++) {
		const char *a = in->argv[i];
		struct sv rest, name, value = { NULL, 0 };
		const struct opt *o;
		void *to;

		if (only_args || a[0] != '-' || a[1] == '\0') {
			strs_add(ret_args, a);
			continue;
		}
		if (streq(a, "--")) {
			only_args = true;
			continue;
		}
		if (streq(a, "-h"))
			a = "--help";
		else if (streq(a, "-q"))
			a = "--quiet";
		if (a[1] != '-')
			return bail(err, ERR_USAGE, "unknown option '%s'", a);
		rest = sv_of(a + 2);
		(void)sv_split(&rest, '=', &name);
		if (rest.p)
			value = rest;
		o = find(opts, name);
		to = conf;
		if (!o) {
			o = find(global, name);
			to = global_conf;
		}
		if (!o)
			return unknown(global, opts, name, err);
		TRY(one(in, o, to, value, &i, ret_sources, err));
	}
	return wants_help(global, global_conf) ? 0 : missing(opts, ret_sources, err);
}

void opts_release(const struct opt *opts, void *conf)
{
	for (; opts && opts->name; opts++) {
		void *at = (char *)conf + opts->at;

		if (opts->type == OPT_TEXT) {
			free(*(char **)at);
			*(char **)at = NULL;
		} else if (opts->type == OPT_LIST) {
			strs_release(at);
		}
	}
}

void opts_help(const struct opt *opts, struct str *out)
{
	for (; opts && opts->name; opts++) {
		AUTO_FREE char *left = xasprintf("--%s%s%s", opts->name, opts->arg ? " " : "",
						 opts->arg ? opts->arg : "");

		str_addf(out, "  %-24s %s", left, opts->help);
		if (opts->choices) {
			str_add(out, " (");
			for (int i = 0; opts->choices[i]; i++)
				str_addf(out, "%s%s", i ? ", " : "", opts->choices[i]);
			str_add(out, ")");
		}
		if (opts->def)
			str_addf(out, " [%s]", opts->def);
		str_add(out, "\n");
	}
}

json_t *opts_to_json(const struct opt *opts)
{
	static const char *const types[] = { "flag", "text", "number", "time", "choice", "list" };
	json_t *a = json_array();

	for (; opts && opts->name; opts++) {
		json_t *o = json_object();

		json_put_str(o, "name", opts->name);
		json_put_str(o, "arg", opts->arg);
		json_put_str(o, "type", types[opts->type]);
		json_put_str(o, "default", opts->def);
		json_put_str(o, "help", opts->help);
		if (opts->choices) {
			json_t *c = json_array();

			for (int i = 0; opts->choices[i]; i++)
				(void)json_array_append_new(c, json_string(opts->choices[i]));
			json_put(o, "choices", c);
		}
		(void)json_array_append_new(a, o);
	}
	return a;
}
