/* SPDX-License-Identifier: Apache-2.0 */
#include "load/lbuf.h"

static struct lbuf *make(size_t room)
{
	struct lbuf *b = xmalloc(sizeof(*b) + room);

	b->next = NULL;
	b->n = 0;
	b->room = room;
	return b;
}

void lbuf_pool_fill(struct lbuf_pool *p, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct lbuf *b = make(LBUF_FIRST);

		b->next = p->free;
		p->free = b;
	}
}

void lbuf_pool_release(struct lbuf_pool *p)
{
	while (p->free) {
		struct lbuf *b = p->free;

		p->free = b->next;
		free(b);
	}
}

bool lbuf_add(struct lbuf_pool *p, struct lbuf **b, const char *from, size_t n, size_t limit)
{
	size_t have = lbuf_n(*b), room;

	if (n > limit || have > limit - n)
		return false;
	if (n == 0)
		return true;
	if (!*b) {
		if (!p->free) {
			p->grown++;
			lbuf_pool_fill(p, 16);
		}
		*b = p->free;
		p->free = (*b)->next;
		(*b)->next = NULL;
		(*b)->n = 0;
	}
	if (have + n > (*b)->room) {
		room = MAX((*b)->room * 2, have + n);
		*b = xrealloc(*b, sizeof(**b) + room);
		(*b)->room = room;
		p->grown++;
	}
	memcpy((*b)->p + have, from, n);
	(*b)->n = have + n;
	return true;
}

void lbuf_put(struct lbuf_pool *p, struct lbuf **b)
{
	struct lbuf *it = *b;

	*b = NULL;
	if (!it)
		return;
	/* One huge answer must not stay in the pool for good. */
	if (it->room > 64 * KIB) {
		free(it);
		return;
	}
	it->n = 0;
	it->next = p->free;
	p->free = it;
}
