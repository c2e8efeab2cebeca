/* SPDX-License-Identifier: Apache-2.0 */
/* twice.yaml from bytes to a struct, its canonical form and its digest. */
#include "contract/contract.h"

#include "base/canon.h"
#include "base/err.h"
#include "base/vec.h"
#include "contract/internal.h"

enum { SCHEMAS_MAX = 200 };

static const enum check_layer listed[] = { LAYER_HARDWARE, LAYER_COMM, LAYER_FRAMEWORK,
					   LAYER_RECOVERY };

/* ---- checks ---------------------------------------------------------------------------------- */

static const struct check_schema *find_schema(const struct check_schema *const *schemas,
					      const char *name)
{
	if (streq(name, command_schema.name))
		return &command_schema;
	for (; schemas && *schemas; schemas++)
		if (streq((*schemas)->name, name))
			return *schemas;
	return NULL;
}

static void unknown_check(struct reading *r, const struct check_schema *const *schemas,
			  enum check_layer layer, unsigned line, unsigned col, const char *name)
{
	const char *names[SCHEMAS_MAX] = { NULL };
	AUTO_FREE char *near = NULL, *all = NULL;
	size_t n = 0;

	for (; schemas && *schemas && n + 2 < SCHEMAS_MAX; schemas++)
		if ((*schemas)->layers & 1u << layer)
			names[n++] = (*schemas)->name;
	names[n++] = command_schema.name;
	near = nearest_text(name, names);
	all = names_text(names, "and");
	if (*near)
		complain(r, line, col, "unknown check '%.60s' in '%s'%s", name,
			 check_layer_name(layer), near);
	else
		complain(r, line, col, "unknown check '%.60s' in '%s' (known: %s)", name,
			 check_layer_name(layer), all);
}

static void wrong_layer(struct reading *r, const struct check_schema *s, enum check_layer layer,
			unsigned line, unsigned col)
{
	struct str right CLEANUP(str_release) = { 0 };

	for (int i = 0; i < LAYER_N; i++)
		if (s->layers & 1u << i)
			str_addf(&right, "%s'%s'", right.n ? " or " : "",
				 check_layer_name((enum check_layer)i));
	complain(r, line, col, "check '%s' belongs in %s, not in '%s'", s->name, str_text(&right),
		 check_layer_name(layer));
}

static void release_check(struct contract_check *k)
{
	if (k->schema && k->conf)
		fields_release(k->schema->fields, k->conf);
	free(k->conf);
	free(k->name);
	free(k->owner);
	free(k->about);
}

static bool is_common(const char *key)
{
	for (const struct field *f = check_common_fields; f->name; f++)
		if (streq(f->name, key))
			return true;
	return false;
}

/* The settings of one check, parted into those that every check has and its own. */
static void read_settings(struct reading *r, const struct yaml *y, struct contract_check *k)
{
	struct check_common common = { 0 };
	AUTO_FREE struct yaml *parts = xcalloc(2 * y->n + 1, sizeof(*parts));
	struct yaml shared = *y, own = *y;

	fields_default(check_common_fields, &common);
	shared.kind = own.kind = YAML_MAP;
	shared.v = parts;
	own.v = parts + y->n;
	shared.n = own.n = 0;
	for (size_t i = 0; i < y->n; i++) {
		struct yaml *to = is_common(y->v[i].key) ? &shared : &own;

		to->v[to->n++] = y->v[i]; /* a view: y keeps the memory */
	}
	fields_read(r, check_common_fields, &shared, &common);
	fields_read(r, k->schema->fields, &own, k->conf);
	if (common.name && common.name[strspn(common.name, "abcdefghijklmnopqrstuvwxyz"
							   "0123456789_-")])
		complain(r, y->line, y->col, "'name': expected a-z, 0-9, '_' and '-', got '%.60s'",
			 common.name);
	if (common.name) {
		free(k->name);
		k->name = STEAL(common.name);
	}
	k->required = common.required;
	k->owner = STEAL(common.owner);
	k->about = STEAL(common.about);
	fields_release(check_common_fields, &common);
}

static void check_name_twice(struct reading *r, const struct contract *c,
			     const struct contract_check *k)
{
	for (size_t i = 0; i < c->checks.n; i++) {
		const struct contract_check *other = &c->checks.v[i];

		if (other == k || other->layer != k->layer || !streq(other->name, k->name))
			continue;
		complain(r, k->line, k->col,
			 "'%s' has a check '%s' already (line %u): give one of them a 'name'",
			 check_layer_name(k->layer), k->name, other->line);
		return;
	}
}

static void read_conf(struct reading *r, const struct yaml *settings, struct contract_check *k)
{
	static const struct yaml none = { .kind = YAML_MAP };
	struct yaml empty = none;
	struct err err = ERR_INIT;
	size_t before = r->bad->n;

	empty.line = k->line;
	empty.col = k->col;
	k->conf = xcalloc(1, k->schema->conf_size);
	fields_default(k->schema->fields, k->conf);
	str_clear(&r->path);
	str_addf(&r->path, "%s.%s", check_layer_name(k->layer), k->schema->name);
	if (!settings || yaml_is_null(settings)) {
		read_settings(r, &empty, k);
	} else if (settings->kind == YAML_MAP) {
		read_settings(r, settings, k);
	} else {
		AUTO_FREE char *got = yaml_got(settings);

		complain(r, settings->line, settings->col,
			 "'%s': expected a map of settings, got %s", k->schema->name, got);
	}
	str_clear(&r->path);
	if (k->schema->valid && r->bad->n == before && k->schema->valid(k->conf, &err) < 0)
		complain(r, k->line, k->col, "'%s': %s", k->schema->name, err.msg);
}

/* "- gpus", "- gpus: {count: 8}" */
static void read_check(struct reading *r, const struct check_schema *const *schemas,
		       enum check_layer layer, const struct yaml *y, struct contract *c)
{
	const struct yaml *settings = y->kind == YAML_MAP && y->n == 1 ? &y->v[0] : NULL;
	const char *name = settings ? settings->key : y->kind == YAML_SCALAR ? y->text : NULL;
	unsigned line = settings ? settings->key_line : y->line;
	unsigned col = settings ? settings->key_col : y->col;
	const struct check_schema *schema;
	struct contract_check *k;

	if (!name || !*name) {
		complain(r, y->line, y->col,
			 "'%s': expected one CHECK: settings for each '-', got %s",
			 check_layer_name(layer),
			 y->kind == YAML_MAP    ? "a map of several (indent the settings further)"
			 : y->kind == YAML_LIST ? "a list"
						: "nothing");
		return;
	}
	schema = find_schema(schemas, name);
	if (!schema) {
		unknown_check(r, schemas, layer, line, col, name);
		return;
	}
	if (!(schema->layers & 1u << layer)) {
		wrong_layer(r, schema, layer, line, col);
		return;
	}
	k = VEC_ADD(&c->checks);
	*k = (struct contract_check){ .schema = schema, .layer = layer, .line = line, .col = col };
	k->name = xstrdup(schema->name);
	read_conf(r, settings, k);
	check_name_twice(r, c, k);
}

static void read_checks(struct reading *r, const struct check_schema *const *schemas,
			const struct yaml *root, struct contract *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		const char *name = check_layer_name(listed[i]);
		const struct yaml *y = yaml_get(root, name);

		if (!y)
			continue;
		if (y->kind != YAML_LIST) {
			AUTO_FREE char *got = yaml_got(y);

			complain(r, y->line, y->col, "'%s': expected a list of checks, got %s",
				 name, got);
			continue;
		}
		for (size_t n = 0; n < y->n && !is_full(r); n++)
			read_check(r, schemas, listed[i], &y->v[n], c);
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

void contract_release(struct contract *c)
{
	for (size_t i = 0; i < c->checks.n; i++)
		release_check(&c->checks.v[i]);
	free(c->checks.v);
	fields_release(contract_fields, c);
	objectives_release(&c->workload_check.objectives);
	margins_release(&c->compare);
	free(c->file);
	*c = (struct contract){ 0 };
}

static int by_place(const void *a, const void *b)
{
	const struct problem *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->col != y->col)
		return x->col < y->col ? -1 : 1;
	return strcmp(x->text, y->text);
}

/* "line:col: text" of the YAML reader as a problem of ours. */
static void yaml_problem(struct reading *r, const struct err *err)
{
	struct sv rest = sv_of(err->msg), line, col;
	int64_t l = 1, c = 1;

	if (sv_split(&rest, ':', &line) && sv_split(&rest, ':', &col) &&
	    sv_to_i64(line, 1, UINT32_MAX, &l) && sv_to_i64(col, 1, UINT32_MAX, &c))
		rest = sv_trim(rest);
	else
		rest = sv_of(err->msg);
	complain(r, (unsigned)l, (unsigned)c, SV_FMT, SV_ARG(rest));
}

/* A later version may mean other things by the same words: nothing else is said about such a file.
 */
static bool version_ok(struct reading *r, const struct yaml *root)
{
	const struct yaml *v = yaml_get(root, "twice");

	if (root->kind != YAML_MAP) {
		complain(r, root->line, root->col,
			 "not a contract: expected a map that begins with 'twice: 1'");
		return false;
	}
	if (!v) {
		complain(r, root->line, root->col,
			 "'twice: 1' is missing: the version of this format");
		return false;
	}
	if (streq(v->text, "1"))
		return true;
	AUTO_FREE char *got = yaml_got(v);
	complain(r, v->line, v->col, "'twice': this program reads version 1 of contracts, got %s",
		 got);
	return false;
}

static void read_all(struct reading *r, const struct check_schema *const *schemas,
		     const struct yaml *root, struct contract *c)
{
	const struct yaml *stack = yaml_get(root, "stack");
	const struct yaml *files = stack ? yaml_get(stack, "files") : NULL;
	const struct yaml *pins = stack ? yaml_get(stack, "pins") : NULL;
	struct workload_check *k = &c->workload_check;

	r->files = files && files->kind == YAML_MAP ? files : NULL;
	r->model = (files && yaml_get(files, "model")) || (pins && yaml_get(pins, "model"));
	r->tables = contract_fields;
	fields_read(r, contract_fields, root, c);
	k->how = k->has_serve ? HOW_SERVE : k->has_train ? HOW_TRAIN : HOW_COMMAND;
	read_checks(r, schemas, root, c);
	if (k->has_serve || k->has_train || k->has_command) {
		objectives_read(r, root, c);
		compare_read(r, root, c);
	}
	rules_check(r, root, c);
}

static int read_text(struct sv text, const struct check_schema *const *schemas, struct reading *r,
		     struct contract *c, struct err *err)
{
	struct yaml root CLEANUP(yaml_release) = { 0 };

	if (yaml_parse(text, &root, err) < 0) {
		yaml_problem(r, err);
		return -(int)err->code;
	}
	if (version_ok(r, &root))
		read_all(r, schemas, &root, c);
	return r->bad->n ? -ERR_PARSE : 0;
}

int contract_parse(struct sv text, const char *file, const struct check_schema *const *schemas,
		   struct contract *ret, struct problems *bad, struct err *err)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct problems found CLEANUP(problems_release) = { 0 };
	struct reading r = { .bad = &found };
	AUTO_FREE char *first = NULL;
	AUTO_JSON json_t *j = NULL;
	int rc;

	fields_default(contract_fields, &c);
	c.file = xstrdup(file);
	rc = read_text(text, schemas, &r, &c, err);
	str_release(&r.path);
	if (rc < 0) {
		qsort(found.v, found.n, sizeof(*found.v), by_place);
		first = problem_line(file, &found.v[0]);
		(void)bail(err, (enum err_code) - rc, "%s", first);
		if (found.n > 1)
			err_hint(err, "%zu more mistake%s found.", found.n - 1,
				 found.n > 2 ? "s were" : " was");
		if (bad) {
			*bad = found;
			found = (struct problems){ 0 };
		}
		return rc;
	}
	j = contract_to_json(&c);
	TRY(canon_digest(j, c.digest, err));
	*ret = c;
	c = (struct contract){ 0 };
	return 0;
}

/* ---- canonical form -------------------------------------------------------------------------- */

static json_t *checks_to_json(const struct contract *c, enum check_layer layer)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->checks.n; i++) {
		const struct contract_check *k = &c->checks.v[i];
		json_t *o, *settings;

		if (k->layer != layer)
			continue;
		o = json_object();
		json_put_str(o, "check", k->schema->name);
		if (!streq(k->name, k->schema->name))
			json_put_str(o, "name", k->name);
		if (!k->required)
			json_put_bool(o, "required", false);
		json_put_str(o, "owner", k->owner);
		settings = fields_to_json(k->schema->fields, k->conf);
		if (json_object_size(settings))
			json_put(o, "settings", json_incref(settings));
		json_decref(settings);
		(void)json_array_append_new(a, o);
	}
	return a;
}

/* Looks that follow from at_most are no setting. */
static void drop_usual_looks(const struct contract *c, json_t *o)
{
	json_t *repeat = json_object_get(o, "repeat");
	struct ints usual = { 0 };

	looks_default(c->repeat.at_most, &usual);
	if (usual.n == c->repeat.looks.n && usual.n &&
	    memcmp(usual.v, c->repeat.looks.v, usual.n * sizeof(*usual.v)) == 0)
		(void)json_object_del(repeat, "looks");
	free(usual.v);
	if (repeat && !json_object_size(repeat))
		(void)json_object_del(o, "repeat");
}

static void put_list(json_t *o, const char *key, json_t *list)
{
	if (json_array_size(list))
		json_put(o, key, list);
	else
		json_decref(list);
}

json_t *contract_to_json(const struct contract *c)
{
	json_t *o = fields_to_json(contract_fields, c);

	drop_usual_looks(c, o);
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
		put_list(o, check_layer_name(listed[i]), checks_to_json(c, listed[i]));
	put_list(json_object_get(o, "workload_check"), "objectives", objectives_to_json(c));
	put_list(o, "compare", compare_to_json(c));
	return o;
}

/* ---- questions ------------------------------------------------------------------------------- */

const struct contract_check *contract_find_check(const struct contract *c, enum check_layer l,
						 const char *schema_name, size_t *from)
{
	for (size_t i = from ? *from : 0; i < c->checks.n; i++) {
		const struct contract_check *k = &c->checks.v[i];

		if (k->layer != l || (schema_name && !streq(k->schema->name, schema_name)))
			continue;
		if (from)
			*from = i + 1;
		return k;
	}
	return NULL;
}

const char *contract_owner(const struct contract *c, enum component_layer l, const char *component)
{
	const char *by_name = component ? pairs_get(&c->stack.owners, component) : NULL;

	return by_name ? by_name : pairs_get(&c->stack.owners, component_layer_name(l));
}

char *contract_check_label(const struct contract_check *k)
{
	return xasprintf("%s/%s", check_layer_name(k->layer), k->name);
}

/* ---- documentation --------------------------------------------------------------------------- */

static void help_check(const struct check_schema *s, enum check_layer layer, struct str *ret)
{
	str_addf(ret, "%s/%s: %s\n", check_layer_name(layer), s->name, s->help);
	fields_help(s->fields, 4, ret);
}

static bool help_checks(const struct check_schema *const *schemas, struct sv layer_name,
			struct sv name, struct str *ret)
{
	size_t before = ret->n;

	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		enum check_layer l = listed[i];

		if (layer_name.n && !sv_is(layer_name, check_layer_name(l)))
			continue;
		for (size_t k = 0; schemas && schemas[k]; k++)
			if (schemas[k]->layers & 1u << l &&
			    (!name.n || sv_is(name, schemas[k]->name)))
				help_check(schemas[k], l, ret);
	}
	return ret->n > before;
}

static const struct field *find_table(const struct field *fields, struct sv name)
{
	for (const struct field *f = fields; f->name; f++) {
		const struct field *deeper = f->sub ? find_table(f->sub, name) : NULL;

		if (f->sub && sv_is(name, f->name))
			return f->sub;
		if (deeper)
			return deeper;
	}
	return NULL;
}

bool contract_help(const struct check_schema *const *schemas, const char *topic, struct str *ret)
{
	struct sv name = sv_of(topic), layer;
	const struct field *table;

	if (!topic) {
		fields_help(contract_fields, 0, ret);
		str_add(ret, "\nEvery check may also say\n");
		fields_help(check_common_fields, 4, ret);
		str_addf(ret, "\nIn each layer: command: %s\n", command_schema.help);
		fields_help(command_schema.fields, 4, ret);
		(void)help_checks(schemas, SV(""), SV(""), ret);
		return true;
	}
	if (strchr(topic, '/'))
		return sv_split(&name, '/', &layer) && help_checks(schemas, layer, name, ret);
	if (streq(topic, "metrics")) {
		metrics_help(ret);
		return true;
	}
	if (streq(topic, "command")) {
		fields_help(command_fields, 0, ret);
		return true;
	}
	table = find_table(contract_fields, name);
	if (table)
		fields_help(table, 0, ret);
	return table || help_checks(schemas, name, SV(""), ret) ||
	       help_checks(schemas, SV(""), name, ret);
}
