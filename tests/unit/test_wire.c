/* SPDX-License-Identifier: Apache-2.0 */
#include "load/target.h"

#include "base/err.h"
#include "test.h"

struct made {
	struct load_conf c;
	struct load_prompts p;
	struct target t;
	struct wires w;
};

static int make(struct made *m, enum load_endpoint e, const char *prompt, struct err *err)
{
	load_conf_init(&m->c);
	m->c.url = "http://h:8/v1";
	m->c.endpoint = e;
	m->c.model = "m";
	CHECK_OK(load_prompts_parse(sv_of(prompt), "p", &m->p, err), *err);
	m->c.prompts = &m->p;
	CHECK_OK(target_parse(m->c.url, e, &m->t, err), *err);
	return wires_render(&m->c, &m->t, "sk-1", &m->w, err);
}

static void release(struct made *m)
{
	wires_release(&m->w);
	target_release(&m->t);
	load_prompts_release(&m->p);
}

static json_t *body_of(const struct made *m)
{
	json_t *o = json_loadb(m->w.v[0].body, m->w.v[0].body_n, 0, NULL);

	CHECK(o);
	return o;
}

static void renders_a_chat_request(void)
{
	struct made m = { 0 };
	struct err err = ERR_INIT;
	json_t *o;

	CHECK_OK(make(&m, LOAD_CHAT, "{\"prompt\":\"hi\",\"extra\":{\"top_p\":0.5}}", &err), err);
	o = body_of(&m);
	CHECK_STR(json_string_value(json_object_get(o, "model")), "m");
	CHECK(json_is_true(json_object_get(o, "stream")));
	CHECK(json_is_true(json_object_get(json_object_get(o, "stream_options"), "include_usage")));
	CHECK_INT(json_integer_value(json_object_get(o, "max_tokens")), 128);
	CHECK_STR(json_string_value(json_object_get(
			  json_array_get(json_object_get(o, "messages"), 0), "content")),
		  "hi");
	CHECK(json_object_get(o, "top_p") && !json_object_get(o, "ignore_eos"));
	CHECK_INT(m.w.v[0].asked, 128);
	CHECK_HAS(m.w.v[0].head, "POST /v1/chat/completions HTTP/1.1\r\nHost: h:8\r\n");
	CHECK_HAS(m.w.v[0].head, "\r\nAuthorization: Bearer sk-1\r\n");
	json_decref(o);
	release(&m);
}

static void renders_the_other_endpoints(void)
{
	struct made m = { 0 };
	struct err err = ERR_INIT;
	json_t *o;

	CHECK_OK(make(&m, LOAD_RESPONSES, "{\"prompt\":\"hi\",\"max_tokens\":3}", &err), err);
	o = body_of(&m);
	CHECK_STR(json_string_value(json_object_get(o, "input")), "hi");
	CHECK_INT(json_integer_value(json_object_get(o, "max_output_tokens")), 3);
	json_decref(o);
	release(&m);
	m = (struct made){ 0 };
	CHECK_OK(make(&m, LOAD_EMBEDDINGS, "{\"prompt\":\"hi\"}", &err), err);
	o = body_of(&m);
	CHECK(!json_object_get(o, "stream") && !json_object_get(o, "max_tokens"));
	json_decref(o);
	release(&m);
	m = (struct made){ 0 };
	CHECK_OK(make(&m, LOAD_PLAIN, "{\"prompt\":\"raw text\"}", &err), err);
	CHECK_STR(m.w.v[0].body, "raw text");
	release(&m);
}

static void refuses_what_does_not_fit(void)
{
	struct made m = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(make(&m, LOAD_COMPLETIONS, "{\"messages\":[{\"role\":\"user\"}]}", &err),
		  -ERR_PARSE);
	CHECK_HAS(err.msg, "wants 'prompt'");
	release(&m);
	m = (struct made){ 0 };
	CHECK_INT(make(&m, LOAD_CHAT, "{\"prompt\":\"x\",\"extra\":{\"stream\":false}}", &err),
		  -ERR_PARSE);
	CHECK_HAS(err.msg, "'extra' may not set 'stream'");
	release(&m);
}

TEST_MAIN(TEST(renders_a_chat_request), TEST(renders_the_other_endpoints),
	  TEST(refuses_what_does_not_fit))
