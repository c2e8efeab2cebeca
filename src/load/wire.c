/* SPDX-License-Identifier: Apache-2.0 */
#include "load/target.h"

#include "base/crypto.h"
#include "base/err.h"

/* String and number members of `extra` must not take the place of what we set and record ourselves.
 */
static const char *const ours[] = { "model",
				    "messages",
				    "prompt",
				    "input",
				    "stream",
				    "max_tokens",
				    "max_completion_tokens",
				    "max_output_tokens",
				    "stream_options",
				    "ignore_eos",
				    NULL };

static json_t *as_messages(const struct load_prompt *p)
{
	if (p->messages)
		return json_incref(p->messages);
	return json_pack("[{s:s, s:s}]", "role", "user", "content", p->prompt);
}

static int put_prompt(const struct load_conf *c, const struct load_prompt *p, json_t *o,
		      struct err *err)
{
	const char *name = c->endpoint == LOAD_COMPLETIONS ? "prompt" : "input";

	if (c->endpoint == LOAD_CHAT) {
		json_put(o, "messages", as_messages(p));
		return 0;
	}
	if (c->endpoint == LOAD_RESPONSES && p->messages) {
		json_put(o, name, json_incref(p->messages));
		return 0;
	}
	if (!p->prompt)
		return bail(err, ERR_PARSE,
			    "prompt '%s' has 'messages', but the %s endpoint wants 'prompt'", p->id,
			    load_endpoint_name(c->endpoint));
	json_put_str(o, name, p->prompt);
	return 0;
}

static void put_stream(const struct load_conf *c, json_t *o)
{
	json_t *options;

	if (c->no_stream || c->endpoint == LOAD_EMBEDDINGS)
		return;
	json_put_bool(o, "stream", true);
	if (c->endpoint == LOAD_RESPONSES)
		return;
	options = json_object();
	json_put_bool(options, "include_usage", true);
	if (c->usage_every)
		json_put_bool(options, "continuous_usage_stats", true);
	json_put(o, "stream_options", options);
}

static int put_extra(const struct load_prompt *p, json_t *o, struct err *err)
{
	const char *key;
	json_t *v;

	json_object_foreach(p->extra, key, v)
	{
		for (size_t i = 0; ours[i]; i++)
			if (streq(key, ours[i]))
				return bail(err, ERR_PARSE, "prompt '%s': 'extra' may not set '%s'",
					    p->id, key);
		json_put(o, key, json_incref(v));
	}
	return 0;
}

static int body_text(const struct load_conf *c, const struct load_prompt *p, struct wire *w,
		     struct err *err)
{
	AUTO_JSON json_t *o = json_object();
	int64_t max = p->max_tokens ? p->max_tokens : c->max_tokens;

	if (c->endpoint == LOAD_PLAIN) {
		w->body = p->prompt ? xstrdup(p->prompt)
				    : json_text(p->messages, /* pretty= */ false);
		w->body_n = strlen(w->body);
		return 0;
	}
	json_put_str(o, "model", c->model);
	TRY(put_prompt(c, p, o, err));
	if (c->endpoint != LOAD_EMBEDDINGS) {
		json_put_int(o, c->endpoint == LOAD_RESPONSES ? "max_output_tokens" : "max_tokens",
			     max);
		if (c->temperature >= 0)
			json_put(o, "temperature", json_real(c->temperature));
		if (c->ignore_eos)
			json_put_bool(o, "ignore_eos", true);
		w->asked = (uint32_t)max;
	}
	put_stream(c, o);
	TRY(put_extra(p, o, err));
	w->body = json_text(o, /* pretty= */ false);
	w->body_n = strlen(w->body);
	return 0;
}

static void head_text(const struct load_conf *c, const struct target *t, const char *key,
		      struct wire *w)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_addf(&s, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: twice\r\n",
		 w->body ? "POST" : "GET", t->path, t->authority);
	if (c->endpoint != LOAD_PLAIN)
		str_addf(&s, "Accept: %s\r\n",
			 c->no_stream || c->endpoint == LOAD_EMBEDDINGS ? "application/json"
									: "text/event-stream");
	if (key)
		str_addf(&s, "Authorization: Bearer %s\r\n", key);
	if (c->no_keep_alive || c->engine == LOAD_ENGINE_RECV)
		str_add(&s, "Connection: close\r\n");
	if (w->body)
		str_addf(&s, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			 w->body_n);
	w->head = xstrndup(str_text(&s), s.n);
	w->head_n = s.n;
	if (s.n)
		explicit_bzero(s.p, s.n);
}

int wires_render(const struct load_conf *c, const struct target *t, const char *key,
		 struct wires *ret, struct err *err)
{
	struct wires w CLEANUP(wires_release) = { 0 };
	size_t n = c->prompts ? c->prompts->n : 1;

	w.v = xcalloc(n, sizeof(*w.v));
	w.n = n;
	for (size_t i = 0; i < n; i++) {
		if (c->prompts)
			TRY(body_text(c, &c->prompts->v[i], &w.v[i], err));
		head_text(c, t, key, &w.v[i]);
		sha256(w.v[i].body ? w.v[i].body : "", w.v[i].body_n, w.v[i].digest);
	}
	*ret = w;
	w = (struct wires){ 0 };
	return 0;
}

void wires_release(struct wires *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->v[i].head)
			explicit_bzero(w->v[i].head, w->v[i].head_n);
		free(w->v[i].head);
		free(w->v[i].body);
	}
	free(w->v);
	*w = (struct wires){ 0 };
}
