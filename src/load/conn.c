/* SPDX-License-Identifier: Apache-2.0 */
#include "load/loop.h"

#include "base/clock.h"
#include "base/err.h"
#include "load/session.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#define PROXY_HEAD    ((size_t)8 * KIB)
#define KEPT_FRESH_NS (100 * NS_PER_US)

/* ---- lists ----------------------------------------------------------------------------------- */

void conn_list_add(struct conn_list *list, struct conn *c)
{
	c->prev = list->last;
	c->next = NULL;
	if (list->last)
		list->last->next = c;
	else
		list->first = c;
	list->last = c;
}

void conn_list_remove(struct conn_list *list, struct conn *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		list->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		list->last = c->prev;
	c->prev = c->next = NULL;
}

struct conn *conn_at(const struct loop *l, uint32_t index)
{
	return &l->slabs[index / CONNS_A_SLAB][index % CONNS_A_SLAB];
}

void conn_slab(struct loop *l)
{
	/* By itself, so that it goes back whole. */
	struct conn *slab = xmap(CONNS_A_SLAB * sizeof(*slab));

	l->slabs = xrealloc(l->slabs, (l->n_slabs + 1) * sizeof(*l->slabs));
	l->slabs[l->n_slabs] = slab;
	for (size_t i = 0; i < CONNS_A_SLAB; i++) {
		slab[i].fd = -1;
		slab[i].index = (uint32_t)(l->n_slabs * CONNS_A_SLAB + i);
		conn_list_add(&l->free, &slab[i]);
	}
	l->n_slabs++;
}

/* ---- closing and ending ---------------------------------------------------------------------- */

static void shut(struct conn *c)
{
	tls_free(c->tls);
	c->tls = NULL;
	if (c->fd >= 0)
		close(c->fd); /* leaves the epoll set with it */
	c->fd = -1;
	c->gen++;
	c->hup = false;
}

void conn_close(struct loop *l, struct conn *c)
{
	if (c->state == CONN_KEPT)
		conn_list_remove(&l->kept, c);
	shut(c);
	c->state = CONN_FREE;
	conn_list_add(&l->free, c);
}

/* The record is complete: the connection goes back to where it belongs. */
static void finish(struct loop *l, struct conn *c)
{
	bool keep = !l->phase->conf->no_keep_alive && c->state == CONN_READING && !c->hup &&
		    l->phase->conf->engine == LOAD_ENGINE_HTTP && answer_keeps(&c->answer);
	struct load_req *rec = c->answer.req;
	struct follow *follow = STEAL(c->follow);
	uint32_t req = c->req;

	rec->answer_at = c->answer.text_first;
	answer_release(&c->answer);
	conn_list_remove(&l->busy, c);
	c->answer.req = NULL;
	if (keep) {
		c->state = CONN_KEPT;
		c->drained_at = l->now;
		conn_list_add(&l->kept, c);
	} else {
		conn_close(l, c);
	}
	loop_ended(l, rec);
	loop_follow(l, req, rec, follow);
}

void conn_abort(struct loop *l, struct conn *c, enum load_outcome outcome, const char *detail)
{
	c->answer.req->outcome = (uint8_t)outcome;
	c->answer.req->detail = detail;
	c->answer.req->end = clock_ns();
	c->hup = true; /* what is half read or half sent can't be kept */
	finish(l, c);
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *connect_detail(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return "refused";
	case ETIMEDOUT:
		return "connect timed out";
	case EHOSTUNREACH:
	case ENETUNREACH:
		return "unreachable";
	case ENOENT:
		return "no such socket";
	case EMFILE:
	case ENFILE:
		return "out of descriptors";
	case EADDRNOTAVAIL:
		return "out of local ports";
	case ENOBUFS:
	case ENOMEM:
		return "out of socket memory";
	default:
		return "cannot connect";
	}
}

static void connect_failed(struct loop *l, struct conn *c, int error)
{
	l->out_of_sockets |= error == EMFILE || error == ENFILE || error == EADDRNOTAVAIL;
	conn_abort(l, c, LOAD_CONNECT, connect_detail(error));
}

static bool open_socket(struct loop *l, struct conn *c)
{
	const struct target *t = l->phase->target;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int one = 1;

	c->reused = false;
	c->sent = 0;
	c->state = CONN_CONNECTING;
	c->drained_at = clock_ns();
	c->fd = socket(t->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return false;
	if (!t->unix_socket) {
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		(void)setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	}
	ev.data.u64 = (uint64_t)c->index << 32 | c->gen;
	if (connect(c->fd, (const struct sockaddr *)&t->addr, t->addr_len) < 0 &&
	    errno != EINPROGRESS)
		return false;
	/* An already connected one reports EPOLLOUT at once. */
	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) == 0;
}

/* A kept connection that is still quiet and open. One that was read empty just now needs no look:
 * it would tell nothing that the read didn't. */
static struct conn *take_kept(struct loop *l)
{
	while (l->kept.last) {
		struct conn *c = l->kept.last;
		char byte;

		if (l->now - c->drained_at < KEPT_FRESH_NS ||
		    (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
		     (errno == EAGAIN || errno == EWOULDBLOCK))) {
			conn_list_remove(&l->kept, c);
			return c;
		}
		conn_close(l, c);
	}
	return NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* "Twice-Request-Id: twice-12", and the head's end; gives its length. */
static size_t tail_text(const struct loop *l, const struct conn *c, char to[64])
{
	static const char name[] = "Twice-Request-Id: twice-";
	char digits[10];
	size_t n = sizeof(name) - 1, k = sizeof(digits);
	uint32_t id = c->req;

	memcpy(to, name, n);
	if (l->phase->warming)
		to[n++] = 'w';
	do {
		digits[--k] = (char)('0' + id % 10);
		id /= 10;
	} while (id);
	memcpy(to + n, digits + k, sizeof(digits) - k);
	n += sizeof(digits) - k;
	memcpy(to + n, "\r\n\r\n", 4);
	return n + 4;
}

/* The three parts of a request, less what was sent already; gives how many are left. */
static int unsent(const struct loop *l, const struct conn *c, char tail[64], struct iovec v[3])
{
	const struct wire *w =
		c->follow ? &c->follow->wire : &l->phase->wires->v[c->answer.req->prompt];
	struct iovec all[3] = { { w->head, w->head_n },
				{ tail, tail_text(l, c, tail) },
				{ w->body, w->body_n } };
	size_t skip = c->sent;
	int n = 0;

	for (int i = 0; i < 3; i++) {
		size_t part = MIN(skip, all[i].iov_len);

		skip -= part;
		if (all[i].iov_len > part)
			v[n++] = (struct iovec){ (char *)all[i].iov_base + part,
						 all[i].iov_len - part };
	}
	return n;
}

/* What is small goes out in one piece: a plain send() costs less, and TLS makes one record. */
static ssize_t send_some(struct loop *l, struct conn *c, struct iovec *v, int n)
{
	struct msghdr m = { .msg_iov = v, .msg_iovlen = (size_t)n };
	struct iovec one = { l->tx, 0 };

	for (int i = 0; i < n && one.iov_len + v[i].iov_len <= TX_SIZE; i++) {
		memcpy(l->tx + one.iov_len, v[i].iov_base, v[i].iov_len);
		one.iov_len += v[i].iov_len;
		if (i == n - 1)
			v = &one;
	}
	if (c->tls)
		return tls_send(c->tls, v[0].iov_base, v[0].iov_len);
	if (v == &one)
		return send(c->fd, one.iov_base, one.iov_len, MSG_NOSIGNAL);
	return sendmsg(c->fd, &m, MSG_NOSIGNAL);
}

static void send_request(struct loop *l, struct conn *c)
{
	for (;;) {
		char tail[64];
		struct iovec v[3];
		int n = unsent(l, c, tail, v);
		int64_t before;
		ssize_t got;

		if (n == 0) {
			c->state = CONN_READING;
			return;
		}
		before = c->sent ? 0 : clock_ns();
		got = send_some(l, c, v, n);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			/* On an error the answer that explains it may be there already: read first.
			 */
			if (errno != EAGAIN && errno != EWOULDBLOCK) {
				c->hup = true;
				conn_read(l, c);
			}
			return;
		}
		if (c->sent == 0) {
			c->answer.req->started = before;
			l->attempts++;
		}
		c->sent += (size_t)got;
	}
}

static void connected(struct loop *l, struct conn *c)
{
	struct load_req *r = c->answer.req;

	/* Through a proxy it is connected when the tunnel stands. */
	r->connected = clock_ns();
	if (r->connect_ns == LOAD_NONE)
		r->connect_ns = 0;
	r->connect_ns += r->connected - c->drained_at;
	if (!l->phase->target->tls) {
		c->state = CONN_SENDING;
		send_request(l, c);
		return;
	}
	c->tls = tls_new(l->phase->tls, c->fd, l->phase->target->host);
	c->state = CONN_TLS;
	if (!c->tls)
		conn_abort(l, c, LOAD_CONNECT, "no TLS session");
}

static void handshake(struct loop *l, struct conn *c)
{
	int rc = tls_handshake(c->tls);

	if (rc < 0) {
		conn_abort(l, c, LOAD_CONNECT, "TLS handshake failed");
	} else if (rc > 0) {
		c->answer.req->tls_ns = clock_ns() - c->answer.req->connected;
		c->state = CONN_SENDING;
		send_request(l, c);
	}
}

/* ---- a proxy's tunnel ------------------------------------------------------------------------ */

static void ask_proxy(struct loop *l, struct conn *c)
{
	const char *ask = l->phase->target->tunnel;
	size_t n = strlen(ask);
	ssize_t got;

	c->state = CONN_PROXY;
	while (c->sent < n) {
		got = send(c->fd, ask + c->sent, n - c->sent, MSG_NOSIGNAL);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (got < 0) {
			conn_abort(l, c, LOAD_CONNECT, "closed by the proxy");
			return;
		}
		c->sent += (size_t)got;
	}
}

/*
 * The proxy's head, and not a byte more, is taken off the socket: what follows is the target's.
 */
static void read_proxy(struct loop *l, struct conn *c)
{
	ssize_t got = recv(c->fd, l->rx, PROXY_HEAD, MSG_PEEK | MSG_DONTWAIT);
	ptrdiff_t end;
	struct sv head;

	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (got <= 0) {
		conn_abort(l, c, LOAD_CONNECT, "closed by the proxy");
		return;
	}
	head = (struct sv){ l->rx, (size_t)got };
	end = sv_find(head, SV("\r\n\r\n"));
	if (end < 0) {
		if ((size_t)got == PROXY_HEAD)
			conn_abort(l, c, LOAD_CONNECT, "no HTTP from the proxy");
		return;
	}
	if (head.n < 12 || !sv_starts(head, "HTTP/1.") || head.p[8] != ' ' || head.p[9] != '2') {
		conn_abort(l, c, LOAD_CONNECT, "refused by the proxy");
		return;
	}
	if (recv(c->fd, l->rx, (size_t)end + 4, MSG_DONTWAIT) != end + 4) {
		conn_abort(l, c, LOAD_CONNECT, "closed by the proxy");
		return;
	}
	c->sent = 0;
	connected(l, c);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The server closed a kept connection before it saw our request: the one case for sending again. */
static bool reconnect(struct loop *l, struct conn *c)
{
	if (!c->reused || c->answer.http.began)
		return false;
	shut(c);
	c->answer.req->reconnects++;
	c->answer.req->reused = false;
	c->answer.req->first_byte = LOAD_NONE;
	answer_release(&c->answer);
	answer_begin(&c->answer, &l->ctx, c->answer.req);
	if (!open_socket(l, c))
		connect_failed(l, c, errno);
	return true;
}

static void closed_by_peer(struct loop *l, struct conn *c, bool reset)
{
	c->hup = true;
	if (reconnect(l, c))
		return;
	l->now = clock_ns();
	if (l->phase->conf->engine == LOAD_ENGINE_RECV) {
		c->answer.req->outcome = reset ? LOAD_RESET : LOAD_OK;
		c->answer.req->end = l->now;
	} else {
		answer_eof(&c->answer, l->now, reset);
	}
	finish(l, c);
}

/* When these bytes came in. Stamps outside what is possible are not believed. */
static int64_t arrival(struct loop *l, struct conn *c, struct msghdr *m, uint32_t *flags)
{
	int64_t at;

	*flags = 0;
	if (!stamps_of(&l->stamps, m, &at)) {
		*flags = LOAD_EV_UNSTAMPED;
		return l->now;
	}
	if (at > l->now + 50 * NS_PER_US || at < c->drained_at - NS_PER_MS) {
		/* The clock was set since the last pair, or this stamp is none. */
		stamps_pair(&l->stamps);
		if (!stamps_of(&l->stamps, m, &at) || at > l->now + 50 * NS_PER_US ||
		    at < c->drained_at - NS_PER_MS) {
			*flags = LOAD_EV_UNSTAMPED;
			return l->now;
		}
	}
	at = MIN(at, l->now);
	hist_add(&l->stamp_lag, l->now - at);
	if (l->now - at > NS_PER_MS)
		*flags |= LOAD_EV_LATE;
	return at;
}

static ssize_t receive(struct loop *l, struct conn *c, struct msghdr *m)
{
	ssize_t got;

	do {
		got = c->tls ? tls_recv(c->tls, m) : recvmsg(c->fd, m, MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	l->reads++;
	return got;
}

static void put_on_ready(struct loop *l, struct conn *c)
{
	if (c->on_ready)
		return;
	c->on_ready = true;
	c->next_ready = NO_CONN;
	if (l->ready_last != NO_CONN)
		conn_at(l, l->ready_last)->next_ready = c->index;
	else
		l->ready = c->index;
	l->ready_last = c->index;
}

/* One read. False: nothing more to do with this connection now. */
static bool read_once(struct loop *l, struct conn *c)
{
	union {
		char p[128];
		struct cmsghdr align;
	} control;
	struct iovec v = { l->rx, RX_SIZE };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = control.p,
			    .msg_controllen = sizeof(control.p) };
	ssize_t got = receive(l, c, &m);
	uint32_t flags;
	int64_t at;

	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		c->drained_at = l->now;
		return false;
	}
	if (got <= 0) {
		closed_by_peer(l, c, /* reset= */ got < 0);
		return false;
	}
	l->now = clock_ns();
	at = arrival(l, c, &m, &flags);
	if (l->phase->conf->engine == LOAD_ENGINE_RECV) {
		c->answer.req->bytes += (uint64_t)got;
		if (c->answer.req->first_byte == LOAD_NONE)
			c->answer.req->first_byte = at;
	} else if (answer_feed(&c->answer, (struct sv){ l->rx, (size_t)got }, at, flags) ==
		   ANSWER_END) {
		finish(l, c);
		return false;
	}
	/* A short read has emptied the socket (epoll(7)), unless its end is still to be seen. */
	if ((size_t)got < RX_SIZE && !c->hup && !(c->tls && tls_pending(c->tls))) {
		c->drained_at = l->now;
		return false;
	}
	return true;
}

void conn_read(struct loop *l, struct conn *c)
{
	for (int i = 0; i < READS_A_WAKE; i++)
		if (!read_once(l, c))
			return;
	/* Others have their turn first; there will be no new edge to remind us. */
	put_on_ready(l, c);
}

void conn_event(struct loop *l, struct conn *c, uint32_t events)
{
	uint32_t gen = c->gen;
	int error = 0;
	socklen_t n = sizeof(error);

	if (c->state == CONN_KEPT) {
		/* Nothing was asked: an end, or bytes that belong to nobody. */
		if (events & ~(uint32_t)EPOLLOUT)
			conn_close(l, c);
		return;
	}
	if (c->state == CONN_CONNECTING) {
		if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
			error = errno;
		if (error) {
			connect_failed(l, c, error);
			return;
		}
		if (!(events & EPOLLOUT))
			return;
		if (!l->phase->target->tunnel)
			connected(l, c);
		else
			ask_proxy(l, c);
	} else if (c->state == CONN_PROXY && c->sent < strlen(l->phase->target->tunnel)) {
		ask_proxy(l, c);
	}
	if (c->gen == gen && c->state == CONN_PROXY)
		read_proxy(l, c);
	if (c->gen == gen && c->state == CONN_TLS)
		handshake(l, c);
	else if (c->gen == gen && c->state == CONN_SENDING && (events & EPOLLOUT))
		send_request(l, c);
	if (c->gen != gen || !c->answer.req ||
	    (c->state != CONN_SENDING && c->state != CONN_READING))
		return;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->hup = true;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn_read(l, c);
}

void conn_begin(struct loop *l, uint32_t req, struct load_req *rec, struct follow *follow)
{
	struct conn *c = take_kept(l);

	if (!c) {
		if (!l->free.first)
			conn_slab(l);
		c = l->free.first;
		conn_list_remove(&l->free, c);
		c->fd = -1;
	}
	c->req = req;
	c->follow = follow;
	c->hup = false;
	answer_begin(&c->answer, &l->ctx, rec);
	conn_list_add(&l->busy, c);
	if (c->fd < 0) {
		if (!open_socket(l, c))
			connect_failed(l, c, errno);
		return;
	}
	rec->reused = c->reused = true;
	c->sent = 0;
	c->state = CONN_SENDING;
	c->drained_at = clock_ns();
	send_request(l, c);
}
