/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue: words, reading, looking up. */
#include "diagnose/signature_inner.h"

#include "base/err.h"
#include "base/vec.h"
#include "base/yaml.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { MAX_PARTS = 160, MAX_PART = 200, MAX_TEXT = 2000, MAX_SIGNATURES = 5000 };

static const char *const roles[SIGNATURE_ROLE_N] = { "cause", "generic", "wrapper", "consequence",
						     "positive_marker" };

const char *signature_role_name(enum signature_role r)
{
	return roles[r];
}

bool signature_role_parse(struct sv s, enum signature_role *ret)
{
	for (size_t i = 0; i < SIGNATURE_ROLE_N; i++) {
		if (sv_is(s, roles[i])) {
			*ret = (enum signature_role)i;
			return true;
		}
	}
	return false;
}

const char *signature_layer_name(enum component_layer l)
{
	return l < CL_N ? component_layer_name(l) : "undetermined";
}

static void signature_release(struct signature *s)
{
	char **texts[] = { &s->id,       &s->component, &s->owner,  &s->pattern,
			   &s->meaning,  &s->causes,    &s->action, &s->caution,
			   &s->versions, &s->source,    &s->test };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		freep(texts[i]);
	strs_release(&s->parts);
	strs_release(&s->unless);
	strs_release(&s->words);
	pcre2_code_free(s->code);
	*s = (struct signature){ 0 };
}

void signatures_release(struct signatures *l)
{
	for (size_t i = 0; i < l->n; i++)
		signature_release(&l->v[i]);
	free(l->v);
	signature_index_free(&l->index);
	*l = (struct signatures){ 0 };
}

const struct signature *signatures_find(const struct signatures *l, const char *id)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].id, id))
			return &l->v[i];
	return NULL;
}

#define COMPLAIN(y, err, ...) complain((y)->line, (y)->col, err, __VA_ARGS__)

static int complain(unsigned line, unsigned col, struct err *err, const char *fmt, ...)
	PRINTF(4, 5);
static int complain(unsigned line, unsigned col, struct err *err, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_FREE char *shown = NULL;
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	shown = text_clean(sv_str(&s));
	return bail(err, ERR_PARSE, "%u:%u: %s", line, col, shown);
}

static int text_of(const struct yaml *y, size_t limit, char **ret, struct err *err)
{
	if (y->kind != YAML_SCALAR)
		return COMPLAIN(y, err, "'%s' is %s, it must be text", y->key,
				yaml_kind_name(y->kind));
	if (strlen(y->text) > limit)
		return COMPLAIN(y, err, "'%s' is longer than %zu bytes", y->key, limit);
	*ret = xstrdup(y->text);
	return 0;
}

/* One text or a list of texts. */
static int parts_of(const struct yaml *y, size_t least, struct strs *ret, struct err *err)
{
	const struct yaml *one = y->kind == YAML_LIST ? y->v : y;
	size_t n = y->kind == YAML_LIST ? y->n : 1;

	if (y->kind == YAML_MAP || n > MAX_PARTS)
		return COMPLAIN(y, err, "'%s' must be a text or a list of at most %d texts", y->key,
				MAX_PARTS);
	for (size_t i = 0; i < n; i++) {
		if (one[i].kind != YAML_SCALAR)
			return COMPLAIN(&one[i], err, "'%s' must hold texts", y->key);
		if (strlen(one[i].text) < least || strlen(one[i].text) > MAX_PART)
			return COMPLAIN(&one[i], err, "a text of '%s' has %zu to %d bytes, not %zu",
					y->key, least, MAX_PART, strlen(one[i].text));
		for (const char *c = one[i].text; *c; c++)
			if ((unsigned char)*c < ' ')
				return COMPLAIN(&one[i], err, "a text of '%s' has a control byte",
						y->key);
		strs_add(ret, one[i].text);
	}
	return 0;
}

static int names_of(const struct yaml *y, struct strs *ret, struct err *err)
{
	TRY(parts_of(y, SIGNATURE_MIN_WORD, ret, err));
	for (size_t i = 0; i < ret->n; i++) {
		const char *w = ret->v[i];
		size_t n = word_length(w, strlen(w));

		if (n < SIGNATURE_MIN_WORD || (w[n] && !streq(w + n, "*")))
			return COMPLAIN(y, err,
					"a word of '%s' is letters, digits and '_', with '*' "
					"behind it or not, and not '%s'",
					y->key, w);
	}
	return 0;
}

static int pattern_of(const struct yaml *y, struct signature *s, struct err *err)
{
	const uint32_t flags = PCRE2_CASELESS | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP |
			       PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
	PCRE2_SIZE at;
	int code;

	TRY(text_of(y, MAX_TEXT, &s->pattern, err));
	s->code =
		pcre2_compile((PCRE2_SPTR)s->pattern, strlen(s->pattern), flags, &code, &at, NULL);
	if (!s->code) {
		PCRE2_UCHAR msg[160];

		(void)pcre2_get_error_message(code, msg, sizeof(msg));
		return COMPLAIN(y, err, "'pattern': %s at character %zu", (const char *)msg,
				at + 1);
	}
	/* Without it (a build of PCRE2, or a system that forbids it) the interpreter does. */
	(void)pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE);
	return 0;
}

static int frame_of(const struct yaml *y, struct signature *s, struct err *err)
{
	if (y->kind == YAML_SCALAR && streq(y->text, "first"))
		s->frame = FRAME_FIRST;
	else if (y->kind == YAML_SCALAR && streq(y->text, "last"))
		s->frame = FRAME_LAST;
	else if (y->kind == YAML_SCALAR && streq(y->text, "between"))
		s->frame = FRAME_BETWEEN;
	else
		return COMPLAIN(y, err, "'frame' is 'first', 'last' or 'between'");
	return 0;
}

static int fails_of(const struct yaml *y, struct signature *s, struct err *err)
{
	if (y->kind != YAML_SCALAR || !(streq(y->text, "true") || streq(y->text, "false")))
		return COMPLAIN(y, err, "'fails' is true or false");
	s->fails = streq(y->text, "true");
	return 0;
}

static int words_of(const struct yaml *y, struct signature *s, struct err *err)
{
	int64_t rank;

	if (y->kind != YAML_SCALAR)
		return COMPLAIN(y, err, "'%s' must be one word", y->key);
	if (streq(y->key, "role")) {
		if (!signature_role_parse(sv_of(y->text), &s->role)) {
			const char *names[SIGNATURE_ROLE_N + 1] = { NULL };

			memcpy(names, roles, sizeof(roles));
			(void)COMPLAIN(y, err, "'%s' is no role", y->text);
			err_hint_nearest(err, y->text, names);
			return -ERR_PARSE;
		}
		return 0;
	}
	if (streq(y->key, "layer")) {
		s->layer = CL_N;
		if (!streq(y->text, "undetermined") &&
		    !component_layer_parse(sv_of(y->text), &s->layer))
			return COMPLAIN(y, err, "'%s' is no layer", y->text);
		return 0;
	}
	if (!sv_to_i64(sv_of(y->text), 1, SIGNATURE_MAX_RANK, &rank))
		return COMPLAIN(y, err, "'rank' is a number from 1 to %d, not '%s'",
				SIGNATURE_MAX_RANK, y->text);
	s->rank = (unsigned)rank;
	return 0;
}

static int member(const struct yaml *y, struct signature *s, struct err *err)
{
	static const char *const names[] = { "id",     "role",    "layer",  "component", "rank",
					     "parts",  "pattern", "unless", "meaning",   "causes",
					     "action", "caution", "owner",  "versions",  "source",
					     "test",   "fails",   "frame",  "words",     NULL };
	const struct {
		const char *key;
		char **at;
	} texts[] = { { "id", &s->id },           { "component", &s->component },
		      { "owner", &s->owner },     { "meaning", &s->meaning },
		      { "causes", &s->causes },   { "action", &s->action },
		      { "caution", &s->caution }, { "versions", &s->versions },
		      { "source", &s->source },   { "test", &s->test } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (streq(y->key, texts[i].key))
			return text_of(y, MAX_TEXT, texts[i].at, err);
	if (streq(y->key, "parts"))
		return parts_of(y, SIGNATURE_MIN_PART, &s->parts, err);
	if (streq(y->key, "unless"))
		return parts_of(y, 1, &s->unless, err);
	if (streq(y->key, "words"))
		return names_of(y, &s->words, err);
	if (streq(y->key, "pattern"))
		return pattern_of(y, s, err);
	if (streq(y->key, "fails"))
		return fails_of(y, s, err);
	if (streq(y->key, "frame"))
		return frame_of(y, s, err);
	if (streq(y->key, "role") || streq(y->key, "layer") || streq(y->key, "rank"))
		return words_of(y, s, err);
	(void)complain(y->key_line, y->key_col, err, "unknown key '%s'", y->key);
	err_hint_nearest(err, y->key, names);
	return -ERR_PARSE;
}

static int complete(const struct yaml *y, struct signature *s, struct err *err)
{
	static const char *const need[] = { "id",      "role",   "layer", "component", "rank",
					    "meaning", "action", "test",  NULL };
	char **optional[] = { &s->causes, &s->caution, &s->versions, &s->source };

	for (size_t i = 0; need[i]; i++)
		if (!yaml_get(y, need[i]))
			return COMPLAIN(y, err, "this signature has no '%s'", need[i]);
	if (!s->id[0] || strspn(s->id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(s->id))
		return COMPLAIN(y, err, "'id' is made of a-z, 0-9 and '-', not '%s'", s->id);
	if (!s->parts.n && !s->words.n)
		return COMPLAIN(y, err, "this signature has no 'parts'");
	if (s->words.n && !s->fails)
		return COMPLAIN(y, err, "'words' of '%s' need 'fails: true'", s->id);
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (!*optional[i])
			*optional[i] = xstrdup("");
	if (!s->owner)
		s->owner = xstrdup(s->layer < CL_N ? component_layer_owner(s->layer) : "");
	return 0;
}

static int item(const struct yaml *y, struct signatures *l, struct err *err)
{
	struct signature s CLEANUP(signature_release) = { 0 };

	if (y->kind != YAML_MAP)
		return COMPLAIN(y, err, "a signature is a map, not %s", yaml_kind_name(y->kind));
	for (size_t i = 0; i < y->n; i++)
		TRY(member(&y->v[i], &s, err));
	TRY(complete(y, &s, err));
	if (signatures_find(l, s.id))
		return COMPLAIN(y, err, "signature '%s' is there twice", s.id);
	*VEC_ADD(l) = s;
	s = (struct signature){ 0 };
	return 0;
}

int signatures_parse(struct sv text, struct signatures *ret, struct err *err)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct yaml doc CLEANUP(yaml_release) = { 0 };

	TRY(yaml_parse(text, &doc, err));
	if (doc.kind != YAML_LIST || doc.n > MAX_SIGNATURES)
		return COMPLAIN(&doc, err, "a catalogue is a list of at most %d signatures",
				MAX_SIGNATURES);
	for (size_t i = 0; i < doc.n; i++)
		TRY(item(&doc.v[i], &l, err));
	l.index = signature_index_new(&l);
	*ret = l;
	l = (struct signatures){ 0 };
	return 0;
}

int signatures_builtin(struct signatures *ret, struct err *err)
{
	if (signatures_parse((struct sv){ signatures_text, signatures_text_n }, ret, err) < 0)
		return err_wrap(err, "the built-in signatures");
	return 0;
}
