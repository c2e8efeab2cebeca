/* SPDX-License-Identifier: Apache-2.0 */
#include "load/session.h"

static void wire_release(struct wire *w)
{
	if (w->head)
		explicit_bzero(w->head, w->head_n);
	free(w->head);
	free(w->body);
	*w = (struct wire){ 0 };
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	json_decref(f->messages);
	wire_release(&f->wire);
	free(f);
}

unsigned session_turns(const struct load_prompts *p)
{
	size_t most = 0;

	for (size_t i = 0; p && i < p->n; i++)
		most = MAX(most, p->v[i].then.n);
	return (unsigned)most + 1;
}

static char *answer_of(const struct loop *l, const struct load_req *rec, size_t *ret_n)
{
	struct str s = { 0 };
	uint32_t block = rec->answer_at;

	while (block) {
		const struct text_block *b = blocks_at(&l->text, block);

		str_addn(&s, b->p, b->n);
		block = b->next;
	}
	*ret_n = s.n;
	return str_steal(&s);
}

static json_t *message(const char *role, const char *text, size_t n)
{
	json_t *o = json_object(), *content = json_stringn(text, n);

	json_put_str(o, "role", role);
	json_put(o, "content", content ? content : json_string(""));
	return o;
}

/* The first turn's request with other messages in it. */
static bool render(const struct wire *first, struct follow *f)
{
	AUTO_JSON json_t *body = json_loadb(first->body, first->body_n, 0, NULL);
	struct str head CLEANUP(str_release) = { 0 };
	ptrdiff_t at = sv_find((struct sv){ first->head, first->head_n }, SV("Content-Length: "));

	if (!body || at < 0)
		return false;
	json_put(body, "messages", json_incref(f->messages));
	wire_release(&f->wire);
	f->wire.asked = first->asked;
	f->wire.body = json_text(body, /* pretty= */ false);
	f->wire.body_n = strlen(f->wire.body);
	str_addn(&head, first->head, (size_t)at);
	str_addf(&head, "Content-Length: %zu\r\n", f->wire.body_n);
	f->wire.head = xstrndup(str_text(&head), head.n);
	f->wire.head_n = head.n;
	explicit_bzero(head.p, head.n);
	return true;
}

static json_t *first_messages(const struct load_prompt *p)
{
	json_t *list;

	if (p->messages)
		return json_deep_copy(p->messages);
	list = json_array();
	json_array_append_new(list, message("user", p->prompt, strlen(p->prompt)));
	return list;
}

struct follow *follow_next(const struct loop *l, const struct load_req *rec, uint32_t req,
			   struct follow *f)
{
	const struct phase *p = l->phase;
	const struct load_prompt *prompt =
		p->conf->prompts ? &p->conf->prompts->v[rec->prompt] : NULL;
	unsigned turn = f ? f->turn + 1U : 1;
	AUTO_FREE char *answer = NULL;
	size_t n;

	if (!p->turns || !prompt || rec->outcome != LOAD_OK || rec->answer_cut ||
	    turn > prompt->then.n) {
		follow_free(f);
		return NULL;
	}
	if (!f) {
		f = xcalloc(1, sizeof(*f));
		f->first = req;
		f->messages = first_messages(prompt);
	}
	answer = answer_of(l, rec, &n);
	json_array_append_new(f->messages, message("assistant", answer, n));
	json_array_append_new(f->messages, message("user", prompt->then.v[turn - 1],
						   strlen(prompt->then.v[turn - 1])));
	f->turn = (uint8_t)turn;
	f->scheduled = rec->end;
	f->next = NULL;
	if (!render(&p->wires->v[rec->prompt], f)) {
		follow_free(f);
		return NULL;
	}
	return f;
}
