/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming server for tests that plays scripts (script.h) and knows when it really sent what.
 *
 *	fake-server [--script TEXT] [--port N] [--host ADDR] [--unix PATH] [--slots N]
 *	            [--tls CERT KEY] [--departures on]
 *
 * Prints "port N" and serves until its standard input ends. Any POST is answered by the script,
 * whose turns go round; a path that begins with "/s/SCRIPT/" has its own. "...Request-Id" names the
 * request in:
 *
 *	GET  /truth    {"requests":..,"connections":..,"active_max":..,"aborted":..,"repeated":..}
 *	GET  /truth/events   a line a request: {"id":"..","received":ns,"sent":[ns,...]}, of
 *	               CLOCK_MONOTONIC; sent: for each token event, just before its write; with
 *	               --departures also left: when the kernel gave it to the device, 0: unknown
 *	POST /truth/stall?ms=N   does nothing at all for so long, from now on
 *	POST /truth/reset        forgets
 *	GET  /metrics            counters under vLLM's names; with --key KEY only for its bearer
 *	GET  anything else       "hello"
 */
#include "play.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNS   4096
#define REQ_MAX (1 << 20)
#define TURNS   256
#define LOG_MAX 8192

struct entry {
	char id[48];
	int64_t received, *sent, *left;
	size_t n, room;
};

struct conn {
	int fd, served;
	SSL *ssl;
	bool handshaken, dead, busy, queued, want_write;
	char *in;
	size_t in_n, in_room, skip; /* skip: bytes of a request that was answered already */
	struct play play;
	struct script script;
	size_t next;      /* step */
	size_t out_n;     /* bytes of it sent */
	uint32_t written; /* bytes in all: the kernel numbers its stamps so */
	int64_t t0, due;
	struct entry *entry;
	int heap_at; /* -1: not in it */
};

static struct conn conns[CONNS];
static struct conn *heap[CONNS];
static int heap_n;
static struct conn *queue[CONNS];
static int queue_from, queue_n;
static int epoll_fd, listen_fd, active, slots;
static bool departures;
static struct script turns[TURNS];
static int n_turns;
static SSL_CTX *tls;
static const char *page_key; /* who asks for /metrics has to bring it; NULL: anybody may */
static struct entry entries[LOG_MAX];
static struct {
	long tokens, ended, answered_turns, requests, connections, active_max, aborted, repeated,
		handshakes;
	size_t n_entries;
} truth;
static uint64_t seen[1 << 16];

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* ---- times: a heap of connections by what is due next ---------------------------------------- */

static void heap_swap(int a, int b)
{
	struct conn *c = heap[a];

	heap[a] = heap[b];
	heap[b] = c;
	heap[a]->heap_at = a;
	heap[b]->heap_at = b;
}

static void heap_fix(int i)
{
	while (i > 0 && heap[i]->due < heap[(i - 1) / 2]->due) {
		heap_swap(i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
	for (;;) {
		int least = i;

		for (int k = 2 * i + 1; k <= 2 * i + 2 && k < heap_n; k++)
			if (heap[k]->due < heap[least]->due)
				least = k;
		if (least == i)
			return;
		heap_swap(i, least);
		i = least;
	}
}

static void heap_remove(struct conn *c)
{
	int i = c->heap_at;

	if (i < 0)
		return;
	c->heap_at = -1;
	heap_n--;
	if (i == heap_n)
		return;
	heap[i] = heap[heap_n];
	heap[i]->heap_at = i;
	heap_fix(i);
}

static void heap_put(struct conn *c, int64_t due)
{
	c->due = due;
	if (c->heap_at < 0) {
		c->heap_at = heap_n;
		heap[heap_n++] = c;
	}
	heap_fix(c->heap_at);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void start_play(struct conn *c);

static void free_slot(void)
{
	active--;
	while (queue_n > 0) {
		struct conn *c = queue[queue_from];

		queue_from = (queue_from + 1) % CONNS;
		queue_n--;
		if (!c || c->fd < 0 || !c->queued)
			continue;
		c->queued = false;
		start_play(c);
		return;
	}
}

static void hang_up(struct conn *c, bool reset)
{
	struct linger l = { .l_onoff = 1, .l_linger = 0 };
	bool busy = c->busy && !c->queued;

	if (c->fd < 0)
		return;
	if (c->busy && c->next < c->play.n_steps)
		truth.aborted++;
	heap_remove(c);
	if (reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	if (c->ssl) {
		if (!reset)
			SSL_shutdown(c->ssl);
		SSL_free(c->ssl);
	}
	close(c->fd);
	free(c->in);
	play_release(&c->play);
	for (int i = 0; i < queue_n; i++)
		if (queue[(queue_from + i) % CONNS] == c)
			queue[(queue_from + i) % CONNS] = NULL;
	*c = (struct conn){ .fd = -1, .heap_at = -1 };
	if (busy)
		free_slot();
}

static ssize_t conn_send(struct conn *c, const char *p, size_t n)
{
	if (c->ssl) {
		int rc = SSL_write(c->ssl, p, (int)n);

		if (rc > 0)
			return rc;
		rc = SSL_get_error(c->ssl, rc);
		errno = rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE ? EAGAIN : EPIPE;
		return -1;
	}
	return send(c->fd, p, n, MSG_NOSIGNAL);
}

static ssize_t conn_recv(struct conn *c, char *p, size_t n)
{
	if (c->ssl) {
		int rc = SSL_read(c->ssl, p, (int)n);

		if (rc > 0)
			return rc;
		rc = SSL_get_error(c->ssl, rc);
		if (rc == SSL_ERROR_ZERO_RETURN)
			return 0;
		errno = rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE ? EAGAIN : EPIPE;
		return -1;
	}
	return recv(c->fd, p, n, 0);
}

/* Outside any script. */
static void answer_text(struct conn *c, const char *type, const char *body, size_t n)
{
	char head[256];
	int k = snprintf(head, sizeof(head),
			 "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", type,
			 n);
	char *all = malloc((size_t)k + n);
	size_t at = 0;

	if (!all)
		abort();
	memcpy(all, head, (size_t)k);
	memcpy(all + k, body, n);
	while (at < (size_t)k + n) {
		ssize_t got = conn_send(c, all + at, (size_t)k + n - at);

		if (got < 0 && errno == EAGAIN) {
			usleep(100);
			continue;
		}
		if (got <= 0)
			break;
		at += (size_t)got;
		c->written += (uint32_t)got;
	}
	free(all);
}

/* ---- playing --------------------------------------------------------------------------------- */

static void log_sent(struct entry *e, int64_t at, int events)
{
	for (int i = 0; e && i < events; i++) {
		if (e->n == e->room) {
			e->room = e->room ? e->room * 2 : 64;
			e->sent = realloc(e->sent, e->room * sizeof(*e->sent));
			e->left = realloc(e->left, e->room * sizeof(*e->left));
			if (!e->sent || !e->left)
				abort();
		}
		e->left[e->n] = 0;
		e->sent[e->n++] = at;
	}
}

/* CLOCK_REALTIME less ours, by the tightest of a few pairs. */
static int64_t clocks_apart(void)
{
	int64_t best = INT64_MAX, apart = 0;

	for (int i = 0; i < 4; i++) {
		struct timespec ts;
		int64_t before = now_ns(), after;

		clock_gettime(CLOCK_REALTIME, &ts);
		after = now_ns();
		if (after - before < best) {
			best = after - before;
			apart = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec - before - best / 2;
		}
	}
	return apart;
}

/* One stamp of the kernel: which byte it is for, and when that went to the device. */
static bool next_departure(int fd, uint32_t *ret_byte, int64_t *ret_at)
{
	char control[512] __attribute__((aligned(8)));
	struct msghdr m = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct sock_extended_err e = { 0 };
	struct timespec ts = { 0 };

	if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING)
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		else if (c->cmsg_type == IP_RECVERR || c->cmsg_type == IPV6_RECVERR)
			memcpy(&e, CMSG_DATA(c), sizeof(e));
	}
	*ret_byte = e.ee_data;
	*ret_at = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
	return true;
}

/* When the write that ended just now left this machine's hands, for its events; 0: not known. */
static void log_left(struct conn *c, int events)
{
	uint32_t byte;
	int64_t at;

	while (departures && next_departure(c->fd, &byte, &at)) {
		if (!c->entry || at == 0 || byte != c->written - 1)
			continue;
		at -= clocks_apart();
		for (int i = 1; i <= events; i++)
			c->entry->left[c->entry->n - (size_t)i] = at;
	}
}

static void end_play(struct conn *c)
{
	bool keep = c->play.keep;
	int end = c->play.end;

	if ((end == END_OK || end == END_SLAM) && c->script.status == 200) {
		truth.tokens += (long)(c->script.n * c->script.choices);
		truth.ended++;
	}
	if (end == END_HANG || end == END_LINGER)
		return; /* stays open, says nothing more */
	if (end == END_CUT || end == END_RESET || end == END_SLAM || !keep) {
		hang_up(c, end == END_RESET || end == END_SLAM);
		return;
	}
	play_release(&c->play);
	c->busy = false;
	c->entry = NULL;
	c->served++;
	free_slot();
}

static void play_on(struct conn *c)
{
	while (c->next < c->play.n_steps) {
		const struct step *s = &c->play.steps[c->next];
		int64_t now = now_ns();
		ssize_t got;

		if (c->out_n == 0 && c->t0 + s->at > now) {
			heap_put(c, c->t0 + s->at);
			return;
		}
		if (c->out_n == 0)
			log_sent(c->entry, now, s->events);
		got = conn_send(c, c->play.bytes + s->from + c->out_n, s->n - c->out_n);
		if (got < 0) {
			if (errno == EAGAIN) {
				c->want_write = true;
				heap_remove(c);
				return;
			}
			hang_up(c, false);
			return;
		}
		c->out_n += (size_t)got;
		c->written += (uint32_t)got;
		log_left(c, s->events);
		if (c->out_n == s->n) {
			c->next++;
			c->out_n = 0;
		}
	}
	heap_remove(c);
	end_play(c);
}

static void start_play(struct conn *c)
{
	active++;
	if (active > truth.active_max)
		truth.active_max = active;
	c->t0 = now_ns() + c->script.think;
	c->next = c->out_n = 0;
	play_on(c);
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *find_header(const char *head, const char *name)
{
	const char *p = strcasestr(head, name);

	return p ? p + strlen(name) : NULL;
}

static void note_prompt(const char *body, size_t n)
{
	uint64_t h = 1469598103934665603u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)body[i]) * 1099511628211u;
	for (uint64_t i = h;; i++) {
		uint64_t *at = &seen[i & 0xffff];

		if (*at == h) {
			truth.repeated++;
			return;
		}
		if (*at == 0) {
			*at = h;
			return;
		}
	}
}

static void forget(void)
{
	for (size_t i = 0; i < truth.n_entries; i++) {
		free(entries[i].sent);
		free(entries[i].left);
		entries[i] = (struct entry){ 0 };
	}
	memset(&truth, 0, sizeof(truth));
	memset(seen, 0, sizeof(seen));
	truth.active_max = active;
}

static void truth_events(struct conn *c)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	for (size_t i = 0; i < truth.n_entries; i++) {
		const struct entry *e = &entries[i];

		fprintf(f, "{\"id\":\"%s\",\"received\":%lld,\"sent\":[", e->id,
			(long long)e->received);
		for (size_t k = 0; k < e->n; k++)
			fprintf(f, "%s%lld", k ? "," : "", (long long)e->sent[k]);
		if (departures)
			fprintf(f, "],\"left\":[");
		for (size_t k = 0; departures && k < e->n; k++)
			fprintf(f, "%s%lld", k ? "," : "", (long long)e->left[k]);
		fprintf(f, "]}\n");
	}
	fclose(f);
	answer_text(c, "application/x-ndjson", text, n);
	free(text);
}

static void about_truth(struct conn *c, const char *path)
{
	char text[512];
	const char *ms = strstr(path, "ms=");

	if (strncmp(path, "/truth/events", 13) == 0) {
		truth_events(c);
		return;
	}
	if (strncmp(path, "/truth/reset", 12) == 0)
		forget();
	snprintf(text, sizeof(text),
		 "{\"requests\":%ld,\"connections\":%ld,\"active_max\":%ld,\"aborted\":%ld,"
		 "\"repeated\":%ld,\"handshakes\":%ld,\"answered_turns\":%ld}",
		 truth.requests, truth.connections, truth.active_max, truth.aborted, truth.repeated,
		 truth.handshakes, truth.answered_turns);
	answer_text(c, "application/json", text, strlen(text));
	if (strncmp(path, "/truth/stall", 12) == 0 && ms)
		usleep((useconds_t)(strtol(ms + 3, NULL, 10) * 1000));
}

static void answer_metrics(struct conn *c)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "# TYPE vllm:num_requests_running gauge\n"
		 "vllm:num_requests_running{model_name=\"fake\"} %d.0\n"
		 "vllm:num_requests_waiting{model_name=\"fake\"} %d.0\n"
		 "vllm:generation_tokens_total{model_name=\"fake\"} %ld.0\n"
		 "vllm:request_success_total{finished_reason=\"stop\"} %ld.0\n"
		 "vllm:request_success_total{finished_reason=\"length\"} 0.0\n",
		 active, queue_n, truth.tokens, truth.ended);
	answer_text(c, "text/plain; version=0.0.4", text, strlen(text));
}

static void choose_script(struct conn *c, const char *path)
{
	char own[1024];
	struct script list[TURNS];
	const char *end;
	int n;

	if (strncmp(path, "/s/", 3) == 0 && (end = strchr(path + 3, '/'))) {
		snprintf(own, sizeof(own), "%.*s", (int)(end - path - 3), path + 3);
		n = scripts_parse(own, list, TURNS);
		if (n > 0) {
			c->script = list[truth.requests % n];
			return;
		}
	}
	c->script = turns[truth.requests % n_turns];
}

static enum api api_of(const char *path)
{
	static const char *const ends[] = { "/chat/completions", "/completions", "/responses",
					    "/embeddings" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t n = strlen(ends[i]), all = strlen(path);

		if (all >= n && strcmp(path + all - n, ends[i]) == 0)
			return (enum api)i;
	}
	return API_CHAT;
}

static void one_request(struct conn *c, const char *path, const char *head, const char *body,
			size_t body_n)
{
	const char *id = find_header(head, "Request-Id: ");
	const char *ask = strstr(body, "\"max_tokens\":");

	choose_script(c, path);
	truth.requests++;
	note_prompt(body, body_n);
	truth.answered_turns += strstr(body, "\"role\":\"assistant\"") &&
				!strstr(body, "\"content\":\"\",\"role\":\"assistant\"");
	if (c->script.race && c->served > 0) {
		truth.requests--; /* it was never seen */
		hang_up(c, false);
		return;
	}
	if (truth.n_entries < LOG_MAX) {
		c->entry = &entries[truth.n_entries++];
		*c->entry = (struct entry){ .received = now_ns() };
		if (id)
			snprintf(c->entry->id, sizeof(c->entry->id), "%.*s",
				 (int)strcspn(id, "\r\""), id);
	}
	play_make(&c->script, api_of(path), ask ? strtol(ask + 13, NULL, 10) : 16, &c->play);
	c->busy = true;
	if (slots && active >= slots) {
		c->queued = true;
		queue[(queue_from + queue_n++) % CONNS] = c;
		return;
	}
	start_play(c);
}

/* --key KEY: only for who brings it. */
static void about_metrics(struct conn *c)
{
	const char *got = find_header(c->in, "\r\nAuthorization: Bearer ");
	size_t n = page_key ? strlen(page_key) : 0;

	if (page_key && !(got && strncmp(got, page_key, n) == 0 && got[n] == '\r'))
		answer_text(c, "text/plain", "# no key, no metrics\n", 21);
	else
		answer_metrics(c);
}

/* One request out of what came in. False: not whole yet, or the connection is gone. */
static bool take_request(struct conn *c)
{
	char *end, method[8] = "", path[1200] = "";
	const char *length;
	size_t head_n, body_n = 0;

	if (c->fd < 0 || c->busy || c->in_n == 0)
		return false;
	c->in[c->in_n] = '\0';
	end = strstr(c->in, "\r\n\r\n");
	if (!end)
		return false;
	head_n = (size_t)(end + 4 - c->in);
	end[2] = '\0';
	length = find_header(c->in, "\r\nContent-Length: ");
	if (length)
		body_n = (size_t)strtol(length, NULL, 10);
	sscanf(c->in, "%7s %1199s", method, path);
	if (c->in_n < head_n + body_n) {
		end[2] = '\r';
		choose_script(c, path);
		if (!c->script.eager)
			return false;
		/* Answered as it stands; the rest is read and thrown away. */
		c->skip = head_n + body_n - c->in_n;
		end[2] = '\0';
		one_request(c, path, c->in, "", 0);
		c->in_n = 0;
		return false;
	}
	if (strncmp(path, "/truth", 6) == 0)
		about_truth(c, path);
	else if (strcmp(method, "GET") == 0 && strcmp(path, "/metrics") == 0)
		about_metrics(c);
	else if (strcmp(method, "GET") == 0)
		answer_text(c, "text/plain", "hello", 5);
	else
		one_request(c, path, c->in, c->in + head_n, body_n);
	if (c->fd < 0)
		return false;
	memmove(c->in, c->in + head_n + body_n, c->in_n - head_n - body_n);
	c->in_n -= head_n + body_n;
	return true;
}

/* Of so many bytes that were just read, those that are not to be thrown away. */
static ssize_t skipped(struct conn *c, ssize_t got)
{
	size_t n = c->skip < (size_t)got ? c->skip : (size_t)got;

	c->skip -= n;
	memmove(c->in + c->in_n, c->in + c->in_n + n, (size_t)got - n);
	return got - (ssize_t)n;
}

static void on_readable(struct conn *c)
{
	for (;;) {
		ssize_t got;

		if (c->in_room - c->in_n < 4096) {
			c->in_room = c->in_room * 2 + 8192;
			if (c->in_room > REQ_MAX * 4) {
				hang_up(c, false);
				return;
			}
			c->in = realloc(c->in, c->in_room + 1);
			if (!c->in)
				abort();
		}
		got = conn_recv(c, c->in + c->in_n, c->in_room - c->in_n);
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0) {
			hang_up(c, false);
			return;
		}
		got = skipped(c, got);
		c->in_n += (size_t)got;
		while (take_request(c))
			;
		if (c->fd < 0)
			return;
	}
}

static void on_event(struct conn *c, uint32_t events)
{
	if (c->fd < 0)
		return;
	if (c->ssl && !c->handshaken) {
		int rc = SSL_accept(c->ssl);

		if (rc != 1) {
			rc = SSL_get_error(c->ssl, rc);
			if (rc != SSL_ERROR_WANT_READ && rc != SSL_ERROR_WANT_WRITE)
				hang_up(c, false);
			return;
		}
		c->handshaken = true;
		truth.handshakes++;
	}
	if ((events & EPOLLOUT) && c->want_write) {
		c->want_write = false;
		play_on(c);
	}
	if (c->fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		on_readable(c);
}

static void accept_all(void)
{
	for (;;) {
		int stamping = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
			       SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
		int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1, i;
		struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET };

		if (fd < 0)
			return;
		if (fd >= CONNS) {
			close(fd);
			continue;
		}
		i = fd; /* descriptors are small numbers: good enough as a place */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		conns[i] = (struct conn){ .fd = fd, .heap_at = -1 };
		if (tls) {
			conns[i].ssl = SSL_new(tls);
			SSL_set_fd(conns[i].ssl, fd);
		}
		if (departures)
			setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamping, sizeof(stamping));
		truth.connections++;
		ev.data.ptr = &conns[i];
		epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	}
}

/* ---- main ------------------------------------------------------------------------------------ */

static void die(const char *what)
{
	fprintf(stderr, "fake-server: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void listen_on(const char *host, int port, const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr *a = (struct sockaddr *)&four;
	socklen_t n = sizeof(four);
	int one = 1;

	if (path) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
		a = (struct sockaddr *)&un;
		n = sizeof(un);
	} else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1) {
		a = (struct sockaddr *)&six;
		n = sizeof(six);
	} else if (inet_pton(AF_INET, host, &four.sin_addr) != 1) {
		die("bad address");
	}
	listen_fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listen_fd, a, n) < 0 || listen(listen_fd, 4096) < 0)
		die("cannot listen");
	if (!path) {
		getsockname(listen_fd, a, &n);
		port = ntohs(a->sa_family == AF_INET ? four.sin_port : six.sin6_port);
	}
	printf("port %d\n", port);
	fflush(stdout);
}

static void serve(void)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &listen_fd };
	struct epoll_event in = { .events = EPOLLIN, .data.ptr = NULL };

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &ev);
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &in);
	for (;;) {
		struct epoll_event got[256];
		struct timespec wait = { .tv_sec = 1 };
		int n;

		if (heap_n) {
			int64_t left = heap[0]->due - now_ns();

			left = left > 0 ? left : 0;
			wait = (struct timespec){ left / 1000000000, left % 1000000000 };
		}
		n = epoll_pwait2(epoll_fd, got, 256, &wait, NULL);
		for (int i = 0; i < n; i++) {
			char byte[64];

			if (got[i].data.ptr == &listen_fd)
				accept_all();
			else if (got[i].data.ptr)
				on_event(got[i].data.ptr, got[i].events);
			else if (read(0, byte, sizeof(byte)) <= 0)
				return;
		}
		for (int64_t now = now_ns(); heap_n && heap[0]->due <= now;) {
			struct conn *c = heap[0];

			heap_remove(c);
			play_on(c);
		}
	}
}

static SSL_CTX *make_tls(const char *cert, const char *key)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (!ctx || SSL_CTX_use_certificate_chain_file(ctx, cert) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "fake-server: bad certificate or key\n");
		exit(1);
	}
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

int main(int argc, char **argv)
{
	const char *script = "", *host = "127.0.0.1", *path = NULL;
	struct rlimit l = { CONNS, CONNS };
	int port = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--script") == 0)
			script = argv[i + 1];
		else if (strcmp(argv[i], "--port") == 0)
			port = (int)strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--host") == 0)
			host = argv[i + 1];
		else if (strcmp(argv[i], "--unix") == 0)
			path = argv[i + 1];
		else if (strcmp(argv[i], "--slots") == 0)
			slots = (int)strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--departures") == 0)
			departures = true;
		else if (strcmp(argv[i], "--tls") == 0 && i + 2 < argc)
			tls = make_tls(argv[i + 1], argv[i + 2]), i++;
		else if (strcmp(argv[i], "--key") == 0)
			page_key = argv[i + 1];
	}
	n_turns = scripts_parse(script, turns, TURNS);
	if (n_turns <= 0)
		return 64;
	for (int i = 0; i < CONNS; i++)
		conns[i] = (struct conn){ .fd = -1, .heap_at = -1 };
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	setrlimit(RLIMIT_NOFILE, &l);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	listen_on(host, port, path);
	serve();
	return 0;
}
