/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/witness_serve.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX (16 * KIB)
#define BODY_MAX (64 * KIB)

struct serving {
	struct cli *cli;
	struct ledger_witness *w;
	const char *dir, *log_vkey;
	struct witness_served *n;
};

struct answer {
	int status;
	const char *type;
	struct str body;
};

/* ---- bytes ---- */

/* Waits for the socket until the deadline; false: over, or we are to end. */
static bool ready(int fd, short what, int64_t until_ns)
{
	while (!cli_cancel) {
		int64_t left = (until_ns - clock_ns()) / NS_PER_MS;
		struct pollfd p = { .fd = fd, .events = what };
		int rc;

		if (left <= 0)
			return false;
		rc = poll(&p, 1, (int)MIN(left, (int64_t)200));
		if (rc > 0)
			return true;
		if (rc < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static bool more(int fd, struct str *to, int64_t until_ns)
{
	char buf[8 * KIB];
	ssize_t n;

	if (!ready(fd, POLLIN, until_ns))
		return false;
	n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	str_addn(to, buf, (size_t)n);
	return n > 0 && !to->over;
}

static void send_all(int fd, struct sv text, int64_t until_ns)
{
	while (text.n && ready(fd, POLLOUT, until_ns)) {
		ssize_t n = send(fd, text.p, text.n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return;
		text.p += n;
		text.n -= (size_t)n;
	}
}

/* ---- HTTP ---- */

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 409:
		return "Conflict";
	case 411:
		return "Length Required";
	case 413:
		return "Content Too Large";
	case 422:
		return "Unprocessable Entity";
	default:
		return "Internal Server Error";
	}
}

static void says(struct answer *a, int status, const char *text)
{
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	str_clear(&a->body);
	str_addf(&a->body, "%s\n", text);
}

static bool header_is(struct sv line, const char *name, struct sv *ret)
{
	struct sv key;

	if (!sv_split(&line, ':', &key) || key.n != strlen(name) ||
	    strncasecmp(key.p, name, key.n) != 0)
		return false;
	*ret = sv_trim(line);
	return true;
}

/* The length of the body, or -1 after an answer was made. */
static int64_t length_of(struct sv head, struct answer *a)
{
	struct sv line, value;
	int64_t n = -1;
	bool twice = false;

	while (sv_line(&head, &line)) {
		if (header_is(line, "transfer-encoding", &value)) {
			says(a, 411, "a length is wanted");
			return -1;
		}
		if (!header_is(line, "content-length", &value))
			continue;
		twice = n >= 0;
		if (twice || !sv_to_i64(value, 0, INT64_MAX, &n)) {
			says(a, 400, "bad length");
			return -1;
		}
	}
	if (n < 0)
		says(a, 411, "a length is wanted");
	else if (n > (int64_t)BODY_MAX)
		says(a, 413, "too long");
	return n > (int64_t)BODY_MAX ? -1 : n;
}

/* ---- what a witness is asked ---- */

/* The log's name in a request: the line after the first empty one. */
static struct sv origin_in(struct sv request)
{
	ptrdiff_t at = sv_find(request, SV("\n\n"));
	struct sv rest = { 0 }, line = { 0 };

	if (at >= 0) {
		rest = (struct sv){ request.p + at + 2, request.n - (size_t)at - 2 };
		(void)sv_split(&rest, '\n', &line);
	}
	return line;
}

static void conflict(struct answer *a, uint64_t seen)
{
	a->status = 409;
	a->type = "text/x.tlog.size";
	str_clear(&a->body);
	str_addf(&a->body, "%llu\n", (unsigned long long)seen);
}

/* The log that was named on the command line may be one that we meet for the first time. */
static bool is_named(const struct serving *s, struct sv origin)
{
	struct sv rest = sv_of(s->log_vkey), name;

	return s->log_vkey && sv_split(&rest, '+', &name) && sv_eq(name, origin);
}

static void refused(struct serving *s, struct sv body, const struct err *why, struct answer *a)
{
	struct err ignored = ERR_INIT;
	uint64_t seen = 0;

	if (why->code == ERR_NOT_FOUND)
		says(a, 404, why->msg);
	else if (why->code == ERR_PARSE || why->code == ERR_LIMIT)
		says(a, 400, why->msg);
	else if (why->code != ERR_BROKEN)
		says(a, 500, "try again later");
	else if (str_starts(why->msg, "rollback: ") &&
		 ledger_witness_seen(s->w, origin_in(body), &seen, &ignored) == 0)
		conflict(a, seen);
	else
		says(a, str_starts(why->msg, "fork: ") ? 422 : 403, why->msg);
}

static void add_checkpoint(struct serving *s, struct sv body, struct answer *a)
{
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	const char *vkey = is_named(s, origin_in(body)) ? s->log_vkey : NULL;
	struct err why = ERR_INIT;
	int rc = ledger_witness_add(s->w, body, vkey, clock_wall_ms() / 1000, &d, &why);

	if (rc < 0) {
		AUTO_FREE char *clean = text_clean(sv_of(why.msg));

		s->n->refused++;
		cli_note(s->cli, "refused: %s", clean);
		refused(s, body, &why, a);
	} else if (!d.cosigned) {
		conflict(a, d.seen);
	} else {
		s->n->cosigned++;
		cli_note(s->cli, "cosigned %llu entries of %s", (unsigned long long)d.size,
			 d.origin);
		a->status = 200;
		a->type = "text/plain; charset=utf-8";
		str_add(&a->body, d.lines);
	}
}

/* /<sha256 of a log's name>/checkpoint */
static void get_checkpoint(const struct serving *s, struct sv path, struct answer *a)
{
	struct sv hex = { path.p + 1, 64 };
	AUTO_FREE char *file = NULL, *text = NULL, *name = NULL;
	struct err why = ERR_INIT;

	if (path.n != 76 || path.p[0] != '/' || !hex_is_sha256(hex) ||
	    !sv_ends(path, "/checkpoint")) {
		says(a, 404, "no such thing");
		return;
	}
	name = xasprintf(SV_FMT "/checkpoint", SV_ARG(hex));
	file = path_join(s->dir, name);
	if (file_read(file, BODY_MAX, &text, NULL, &why) < 0) {
		says(a, 404, "no log of that name was cosigned");
		return;
	}
	a->status = 200;
	a->type = "text/plain; charset=utf-8";
	str_add(&a->body, text);
}

/* ---- one connection ---- */

static void ask(struct serving *s, int fd, struct str *in, int64_t until_ns, struct answer *a)
{
	struct sv rest, line = { 0 }, method = { 0 }, path = { 0 }, head;
	ptrdiff_t end;
	int64_t n;

	while ((end = sv_find(sv_str(in), SV("\r\n\r\n"))) < 0)
		if (in->n > HEAD_MAX || !more(fd, in, until_ns))
			return says(a, 400, "no request");
	head = (struct sv){ in->p, (size_t)end };
	rest = head;
	(void)sv_line(&rest, &line);
	if (!sv_word(&line, &method) || !sv_word(&line, &path) ||
	    !sv_starts(sv_trim(line), "HTTP/1."))
		return says(a, 400, "no request");
	if (sv_is(method, "GET"))
		return get_checkpoint(s, path, a);
	if (!sv_is(method, "POST"))
		return says(a, 405, "GET or POST");
	if (!sv_is(path, "/add-checkpoint"))
		return says(a, 404, "no such thing");
	n = length_of(rest, a);
	if (n < 0)
		return;
	while (in->n < (size_t)end + 4 + (size_t)n)
		if (!more(fd, in, until_ns))
			return says(a, 400, "the request ended early");
	add_checkpoint(s, (struct sv){ in->p + end + 4, (size_t)n }, a);
}

static void serve_one(struct serving *s, int fd)
{
	struct str in CLEANUP(str_release) = { 0 }, out CLEANUP(str_release) = { 0 };
	int64_t until_ns = clock_ns() + SERVE_LIMIT_S * NS_PER_S;
	struct answer a = { 0 };

	s->n->requests++;
	str_init(&in, HEAD_MAX + BODY_MAX + 8 * KIB);
	ask(s, fd, &in, until_ns, &a);
	str_addf(&out,
		 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		 "Connection: close\r\n\r\n",
		 a.status, reason(a.status), a.type, a.body.n);
	str_addsv(&out, sv_str(&a.body));
	send_all(fd, sv_str(&out), until_ns);
	/* What was not read would turn into a reset that takes our answer along. */
	(void)shutdown(fd, SHUT_WR);
	while (in.n < in.limit && more(fd, &in, until_ns))
		;
	str_release(&a.body);
}

/* ---- the socket ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool address_of(const char *text, union address *ret, socklen_t *ret_n)
{
	const char *colon = strrchr(text, ':');
	AUTO_FREE char *host = colon ? xstrndup(text, (size_t)(colon - text)) : NULL;
	size_t n = host ? strlen(host) : 0;
	int64_t port;

	if (!host || !sv_to_i64(sv_of(colon + 1), 0, 65535, &port))
		return false;
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						 .sin6_port = htons((uint16_t)port) };
		*ret_n = sizeof(ret->v6);
		return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1;
	}
	ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	*ret_n = sizeof(ret->v4);
	return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1;
}

static int listen_at(const char *where, int *ret, int *ret_port, struct err *err)
{
	CLEANUP(closep) int fd = -1;
	union address a = { 0 };
	socklen_t n = 0;
	int one = 1;

	if (!address_of(where, &a, &n)) {
		(void)bail(err, ERR_USAGE, "'%s' is no address to listen at", where);
		err_hint(err, "As in 127.0.0.1:8412 or [::1]:8412.");
		return -ERR_USAGE;
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, &a.any, n) < 0 || listen(fd, 64) < 0 || getsockname(fd, &a.any, &n) < 0)
		return bail_sys(err, "cannot listen at %s", where);
	*ret_port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	*ret = fd;
	fd = -1;
	return 0;
}

int witness_serve(struct cli *cli, struct ledger_witness *w, const char *state_dir,
		  const char *listen, const char *log_vkey, struct witness_served *ret,
		  struct err *err)
{
	struct serving s = { .cli = cli, .w = w, .dir = state_dir, .log_vkey = log_vkey, .n = ret };
	CLEANUP(closep) int fd = -1;
	int port;

	TRY(listen_at(listen, &fd, &port, err));
	cli_note(cli, "listening, port %d", port);
	while (!cli_cancel) {
		CLEANUP(closep) int one = -1;

		if (!ready(fd, POLLIN, clock_ns() + NS_PER_S))
			continue;
		one = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (one >= 0)
			serve_one(&s, one);
		else if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
			return bail_sys(err, "cannot accept a connection");
	}
	return 0;
}
