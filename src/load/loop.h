/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread's event loop: begins its share of the requests when they are due and follows their
 * answers. Loops share nothing but the plan, the rendered requests and, in closed loop, one
 * counter; each writes only its own records. A loop lives through both phases (warm-up, measured
 * part), so that connections and pools stay warm.
 */
#pragma once

#include "load/answer.h"
#include "load/plan.h"
#include "load/stamps.h"
#include "load/target.h"

#include <openssl/ssl.h>
#include <sys/epoll.h>

enum conn_state {
	CONN_FREE,
	CONN_CONNECTING,
	CONN_PROXY,
	CONN_TLS,
	CONN_SENDING,
	CONN_READING,
	CONN_KEPT
};

struct loop;
struct follow;

/* One for each stream, four cache lines of it: what an event needs stands first. */
struct conn {
	int fd;
	uint32_t index, gen; /* gen: events of an earlier life are told apart */
	uint32_t req;        /* index of the record; the record itself is answer.req */
	uint8_t state;
	bool hup, reused, on_ready;
	uint32_t next_ready; /* index; UINT32_MAX: the last */
	int64_t drained_at;  /* until the first read: when connecting began */
	struct tls *tls;
	struct answer answer;
	struct follow *follow; /* it is a later turn of a conversation; NULL: a first one */
	size_t sent;
	struct conn *prev, *next; /* by begin while a request is on it; else kept or free */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct conn) == 256, "a stream costs what it needs");

struct conn_list {
	struct conn *first, *last;
};

/* What the display reads while the loop writes: relaxed atomics. */
struct live {
	uint64_t scheduled, started, in_flight, by_outcome[LOAD_OUTCOMES];
	struct load_hist ttft, itl, e2e;
};
static inline void live_add(uint64_t *at, uint64_t n)
{
	__atomic_store_n(at, *at + n, __ATOMIC_RELAXED);
}

/* A phase: the same for all loops, set before their threads start. */
struct phase {
	const struct load_conf *conf;
	const struct target *target;
	const struct wires *wires;
	const struct plan *plan;
	SSL_CTX *tls;
	struct load_req *records;
	size_t limit;      /* records there is room for */
	uint64_t next;     /* closed loop: the next record (atomic) */
	uint64_t talks;    /* the same with later turns: the next conversation (atomic) */
	int64_t t0, until; /* until: closed loop begins none from here on; 0: the count ends it */
	unsigned concurrency; /* closed loop, over all loops */
	unsigned turns;       /* most of any prompt; 0: later turns are not sent (warm-up) */
	bool closed, warming, reverse; /* reverse: prompts from the last one on */
	const char *const *wants;      /* golden answers by prompt; NULL: none */
	int stop;                      /* atomic: end now */
	int done_fd;                   /* gets a count of 1 from each loop that is through */
};

struct loop {
	struct phase *phase;
	unsigned index, count;                     /* this one of so many loops */
	int epoll_fd, wake_fd, clock_fd, timer_fd; /* timer_fd: -1 where epoll_pwait2 works */
	struct conn **slabs;
	size_t n_slabs;
	struct conn_list busy, kept, free;
	uint32_t ready, ready_last; /* connections with more to read, by index */
	char *rx, *tx;
	struct epoll_event *events_now;
	struct answer_ctx ctx;
	struct lbuf_pool bufs;
	struct blocks events, text;
	struct stamps stamps;
	struct live live;
	size_t due, head; /* of this loop's own requests: due so far, begun so far */
	struct follow *follow, *follow_last; /* turns that wait for their begin, oldest first */
	unsigned in_flight, share;
	int64_t now, next_expiry;
	/* audit */
	struct load_hist stamp_lag, lag;
	uint64_t reads, wakes, attempts;
	int64_t integral_at, cpu_ns, runq_ns, wall_ns;
	double integral; /* in flight x ns */
	bool out_of_sockets, priority;
	pthread_t thread;
};

#define NO_CONN       UINT32_MAX
#define TX_SIZE       ((size_t)4 * KIB)
#define RX_SIZE       (64 * KIB)
#define READS_A_WAKE  16
#define CONNS_A_SLAB  256
#define EVENTS_A_WAKE 128

int loop_init(struct loop *l, unsigned index, unsigned count, const struct load_conf *c,
	      struct err *err) MUST_USE;
void loop_release(struct loop *l);
void loop_prepare(struct loop *l, struct phase *p); /* pools and counters ready for a phase */
void loop_disconnect(struct loop *l);               /* after a phase: no connection is left */
void *loop_thread(void *arg);                       /* one phase, to its end */
void loop_wake(struct loop *l);

/* loop.c, for conn.c */
void loop_begun(struct loop *l, struct load_req *rec);
void loop_ended(struct loop *l, struct load_req *rec);
/* The turn after this one, if there is one, will be begun. Takes over `f`. */
void loop_follow(struct loop *l, uint32_t req, const struct load_req *rec, struct follow *f);

/* conn.c: puts a request on a connection; follows it; gives the connection back. */
/* `follow`, whose request it then is, is kept until that has ended. NULL: the prompt's own. */
void conn_begin(struct loop *l, uint32_t req, struct load_req *rec, struct follow *follow);
void conn_event(struct loop *l, struct conn *c, uint32_t events);
void conn_read(struct loop *l, struct conn *c);
void conn_abort(struct loop *l, struct conn *c, enum load_outcome outcome, const char *detail);
void conn_close(struct loop *l, struct conn *c);
struct conn *conn_at(const struct loop *l, uint32_t index);
void conn_slab(struct loop *l); /* room for CONNS_A_SLAB more */
void conn_list_add(struct conn_list *list, struct conn *c);
void conn_list_remove(struct conn_list *list, struct conn *c);

/* tls.c: -1 with errno EAGAIN like the calls they stand for; *ret_want_write: EPOLLOUT is awaited.
 */
SSL_CTX *tls_context(const struct load_conf *c, struct err *err);
struct tls *tls_new(SSL_CTX *ctx, int fd, const char *host);
void tls_free(struct tls *t);
int tls_handshake(struct tls *t); /* 1 done, 0 wait, -1 failed */
ssize_t tls_send(struct tls *t, const void *p, size_t n);
/* Control data of the newest read from the socket goes to m; m->msg_iov[0] gets the plain text. */
ssize_t tls_recv(struct tls *t, struct msghdr *m);
bool tls_pending(const struct tls *t);
