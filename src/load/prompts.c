/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"

#define PROMPTS_LIMIT (1024 * MIB)

static const char *const members[] = { "id",     "messages", "prompt", "max_tokens",
				       "golden", "extra",    "then",   NULL };

static void prompt_release(struct load_prompt *p)
{
	free(p->id);
	json_decref(p->messages);
	free(p->prompt);
	json_decref(p->extra);
	free(p->golden);
	strs_release(&p->then);
}

void load_prompts_release(struct load_prompts *p)
{
	for (size_t i = 0; i < p->n; i++)
		prompt_release(&p->v[i]);
	free(p->v);
	*p = (struct load_prompts){ 0 };
}

static int known_members(const json_t *o, struct err *err)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v)
	{
		bool known = false;

		for (size_t i = 0; members[i]; i++)
			known |= streq(key, members[i]);
		if (known)
			continue;
		(void)bail(err, ERR_PARSE, "unknown member '%s'", key);
		err_hint_nearest(err, key, members);
		return -ERR_PARSE;
	}
	return 0;
}

static int read_messages(json_t *v, struct load_prompt *p, struct err *err)
{
	json_t *m;
	size_t i;

	if (!json_is_array(v) || json_array_size(v) == 0)
		return bail(err, ERR_PARSE, "'messages' is not a list with something in it");
	json_array_foreach(v, i, m)
	{
		if (!json_is_string(json_object_get(m, "role")))
			return bail(err, ERR_PARSE, "message %zu has no 'role'", i + 1);
	}
	p->messages = json_incref(v);
	return 0;
}

static int read_then(const json_t *list, struct load_prompt *p, struct err *err)
{
	const json_t *v;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > LOAD_TURNS)
		return bail(err, ERR_PARSE, "'then' is not a list of at most %d texts", LOAD_TURNS);
	json_array_foreach(list, i, v)
	{
		if (!json_is_string(v))
			return bail(err, ERR_PARSE, "'then' has something in it that is no text");
		strs_add(&p->then, json_string_value(v));
	}
	return 0;
}

static int read_prompt(const json_t *o, struct load_prompt *p, struct err *err)
{
	json_t *messages = json_object_get(o, "messages"), *prompt = json_object_get(o, "prompt");
	json_t *max = json_object_get(o, "max_tokens"), *extra = json_object_get(o, "extra");
	json_t *golden = json_object_get(o, "golden"), *id = json_object_get(o, "id");

	TRY(known_members(o, err));
	TRY(read_then(json_object_get(o, "then"), p, err));
	if (!messages == !prompt)
		return bail(err, ERR_PARSE, "needs either 'messages' or 'prompt'");
	if (messages)
		TRY(read_messages(messages, p, err));
	if (prompt && !json_is_string(prompt))
		return bail(err, ERR_PARSE, "'prompt' is not a text");
	if (golden && !json_is_string(golden))
		return bail(err, ERR_PARSE, "'golden' is not a text");
	if (extra && !json_is_object(extra))
		return bail(err, ERR_PARSE, "'extra' is not an object");
	if (max && (!json_is_integer(max) || json_integer_value(max) < 1 ||
		    json_integer_value(max) > 10000000))
		return bail(err, ERR_PARSE, "'max_tokens' is not a number from 1 to 10000000");
	if (id && !json_is_string(id) && !json_is_integer(id))
		return bail(err, ERR_PARSE, "'id' is neither a text nor a number");
	p->prompt = xstrdup(json_string_value(prompt));
	p->golden = xstrdup(json_string_value(golden));
	p->extra = json_incref(extra);
	p->max_tokens = json_integer_value(max);
	if (json_is_string(id))
		p->id = xstrdup(json_string_value(id));
	else if (id)
		p->id = xasprintf("%lld", (long long)json_integer_value(id));
	return 0;
}

/* Ids tell answers apart: golden answers are found by them. */
static int by_id(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int unique_ids(const struct load_prompts *p, const char *what, struct err *err)
{
	AUTO_FREE const char **ids = xcalloc(p->n, sizeof(*ids));

	for (size_t i = 0; i < p->n; i++)
		ids[i] = p->v[i].id;
	qsort(ids, p->n, sizeof(*ids), by_id);
	for (size_t i = 1; i < p->n; i++)
		if (streq(ids[i - 1], ids[i]))
			return bail(err, ERR_PARSE, "%s: two prompts have the id '%s'", what,
				    ids[i]);
	return 0;
}

int load_prompts_parse(struct sv text, const char *what, struct load_prompts *ret, struct err *err)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint8_t digest[SHA256_LEN];
	unsigned number = 0;

	sha256_init(&h);
	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		AUTO_JSON json_t *o = NULL;
		AUTO_FREE char *canon = NULL;
		AUTO_FREE char *where = xasprintf("%s: line %u", what, ++number);

		if (sv_trim(line).n == 0)
			continue;
		if (json_read(line, "JSON", &o, err) < 0)
			return err_wrap(err, "%s", where);
		if (!json_is_object(o))
			return bail(err, ERR_PARSE, "%s: not a JSON object", where);
		if (read_prompt(o, VEC_ADD(&p), err) < 0)
			return err_wrap(err, "%s", where);
		if (!p.v[p.n - 1].id)
			p.v[p.n - 1].id = xasprintf("%zu", p.n);
		canon = json_text(o, /* pretty= */ false);
		sha256_add(&h, canon, strlen(canon));
		sha256_add(&h, "\n", 1);
	}
	if (p.n == 0)
		return bail(err, ERR_PARSE, "%s: no prompt in it", what);
	TRY(unique_ids(&p, what, err));
	sha256_end(&h, digest);
	hex_of(digest, sizeof(digest), p.digest);
	*ret = p;
	p = (struct load_prompts){ 0 };
	return 0;
}

int load_prompts_file(const char *path, struct load_prompts *ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *what = xasprintf("'%s'", path);
	size_t n;

	if (file_read(path, PROMPTS_LIMIT, &text, &n, err) < 0)
		return err_wrap(err, "cannot read prompts");
	return load_prompts_parse((struct sv){ text, n }, what, ret, err);
}

void load_golden_release(struct load_golden *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->v[i].id);
		free(g->v[i].answer);
	}
	free(g->v);
	*g = (struct load_golden){ 0 };
}

int load_golden_parse(struct sv text, const char *what, struct load_golden *ret, struct err *err)
{
	struct load_golden g CLEANUP(load_golden_release) = { 0 };
	unsigned number = 0;

	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		AUTO_JSON json_t *o = NULL;
		const char *id, *answer;
		AUTO_FREE char *where = xasprintf("%s: line %u", what, ++number);

		if (sv_trim(line).n == 0)
			continue;
		if (json_read(line, "JSON", &o, err) < 0 || json_get_str(o, "id", &id, err) < 0 ||
		    json_get_str(o, "answer", &answer, err) < 0)
			return err_wrap(err, "%s", where);
		*VEC_ADD(&g) = (struct load_golden_answer){ xstrdup(id), xstrdup(answer) };
	}
	*ret = g;
	g = (struct load_golden){ 0 };
	return 0;
}
