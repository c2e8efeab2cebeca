/* SPDX-License-Identifier: Apache-2.0 */
/* `twice load --import`: another load generator's result in the form of ours. */
#include "cli/load_parts.h"

#include "base/err.h"
#include "base/file.h"
#include "readers/readers.h"

#include <math.h>

#define IMPORT_LIMIT (512 * MIB)

static json_t *value_json(const struct loadgen_value *v)
{
	json_t *o = json_object();
	int64_t n = 0;

	if (!quantity_to_int(v->value, v->unit, &n)) {
		json_decref(o);
		return NULL;
	}
	json_put_str(o, "name", v->name);
	json_put_str(o, "theirs", v->theirs);
	json_put_str(o, "unit", unit_name(v->unit));
	if (v->name)
		json_put_str(o, "direction",
			     direction_name(v->unit == UNIT_NS || streq(v->name, "errors")
						    ? LOWER_IS_BETTER
						    : HIGHER_IS_BETTER));
	json_put_int(o, "value", n);
	json_put_str(o, "note", v->note);
	return o;
}

static json_t *run_json(const struct loadgen_run *r)
{
	json_t *o = json_object(), *ours = json_array(), *others = json_array(),
	       *audit = json_object();

	for (size_t i = 0; i < r->values.n; i++) {
		json_t *v = value_json(&r->values.v[i]);

		if (v)
			json_array_append_new(r->values.v[i].name ? ours : others, v);
	}
	json_put_str(o, "label", r->label);
	json_put(o, "metrics", ours);
	json_put(o, "refused", others);
	/* None of these tools says how late its client was. */
	json_put_bool(audit, "client_limited", true);
	json_put_str(audit, "reasons",
		     r->limited ? r->limited : "how fit its client was to measure is not known");
	json_put(o, "audit", audit);
	return o;
}

int load_import(const char *path, json_t *value, struct err *err)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	AUTO_FREE char *text = NULL;
	json_t *from = json_object(), *runs = json_array(), *notes = json_array();
	size_t n;

	json_put(value, "imported", from);
	json_put(value, "runs", runs);
	json_put(value, "notes", notes);
	TRY(file_read(path, IMPORT_LIMIT, &text, &n, err));
	if (loadgen_read((struct sv){ text, n }, &g, err) < 0)
		return err_wrap(err, "'%s'", path);
	json_put_str(value, "schema", "twice.load/1");
	json_put_str(from, "tool", g.tool);
	json_put_str(from, "form", g.form);
	json_put_str(from, "version", g.version);
	json_put_str(from, "model", g.model);
	for (size_t i = 0; i < g.runs.n; i++)
		json_array_append_new(runs, run_json(&g.runs.v[i]));
	for (size_t i = 0; i < g.notes.n; i++)
		json_put_line(notes, "%s", g.notes.v[i]);
	return 0;
}

static void add_values(struct str *s, const json_t *list, bool ours)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		const char *name = json_str_or(v, ours ? "name" : "theirs", "?");
		const char *note = json_str_or(v, "note", "");
		enum unit u = UNIT_NONE;
		AUTO_FREE char *text = NULL;

		(void)unit_parse_name(sv_of(json_str_or(v, "unit", "")), &u);
		text = quantity_text((double)json_int_or(v, "value", 0) / unit_scale(u), u);
		str_addf(s, "  %-28s %12s%s%s\n", name, text, *note ? "  " : "", note);
	}
}

void load_import_text(const json_t *v, struct str *out)
{
	const json_t *from = json_object_get(v, "imported"), *r, *note;
	const json_t *runs = json_object_get(v, "runs"), *notes = json_object_get(v, "notes");
	const char *version = json_str_or(from, "version", ""),
		   *model = json_str_or(from, "model", "");
	size_t i;

	str_addf(out, "%s%s%s, %s%s%s\n", json_str_or(from, "tool", "?"), *version ? " " : "",
		 version, json_str_or(from, "form", "?"), *model ? ", model " : "", model);
	json_array_foreach(runs, i, r)
	{
		const json_t *refused = json_object_get(r, "refused");
		const char *label = json_str_or(r, "label", "");

		if (*label)
			str_addf(out, "%s:\n", label);
		add_values(out, json_object_get(r, "metrics"), /* ours= */ true);
		if (json_array_size(refused))
			str_add(out, "  not ours, under their names:\n");
		add_values(out, refused, /* ours= */ false);
		str_addf(out, "  no verdict can rest on this: %s\n",
			 json_str_or(json_object_get(r, "audit"), "reasons", "?"));
	}
	json_array_foreach(notes, i, note) str_addf(out, "note: %s\n", json_string_value(note));
}
