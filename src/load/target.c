/* SPDX-License-Identifier: Apache-2.0 */
#include "load/target.h"

#include "base/err.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#define PROBE_MS 2000

void target_release(struct target *t)
{
	free(t->host);
	free(t->path);
	free(t->authority);
	free(t->tunnel);
	*t = (struct target){ 0 };
}

static const char *endpoint_path(enum load_endpoint e)
{
	switch (e) {
	case LOAD_CHAT:
		return "/chat/completions";
	case LOAD_COMPLETIONS:
		return "/completions";
	case LOAD_RESPONSES:
		return "/responses";
	case LOAD_EMBEDDINGS:
		return "/embeddings";
	default:
		return "";
	}
}

static char *full_path(struct sv path, enum load_endpoint e)
{
	const char *rest = endpoint_path(e);

	while (path.n && path.p[path.n - 1] == '/' && e != LOAD_PLAIN)
		path.n--;
	if (e == LOAD_PLAIN || sv_ends(path, rest))
		return path.n ? sv_dup(path) : xstrdup("/");
	return xasprintf(SV_FMT "%s%s", SV_ARG(path), sv_ends(path, "/v1") ? "" : "/v1", rest);
}

static int hex_of_char(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "%2Frun%2Fs.sock" */
static char *unescape_path(struct sv v)
{
	struct str s = { 0 };

	for (size_t i = 0; i < v.n; i++) {
		int hi = -1, lo = -1;

		if (v.p[i] == '%' && i + 2 < v.n) {
			hi = hex_of_char(v.p[i + 1]);
			lo = hex_of_char(v.p[i + 2]);
		}
		if (hi >= 0 && lo >= 0) {
			str_addc(&s, (char)(hi * 16 + lo));
			i += 2;
		} else {
			str_addc(&s, v.p[i]);
		}
	}
	return str_steal(&s);
}

/* "host", "host:port", "[::1]:port" */
static int read_authority(struct sv a, struct target *t, const char *url, struct err *err)
{
	struct sv host = a, port = { 0 };
	int64_t n = t->tls ? 443 : 80;
	ptrdiff_t at;

	if (sv_starts(a, "[")) {
		at = sv_find(a, SV("]"));
		if (at < 0)
			return bail(err, ERR_PARSE, "URL '%s': '[' without ']'", url);
		host = (struct sv){ a.p + 1, (size_t)at - 1 };
		port = (struct sv){ a.p + at + 1, a.n - (size_t)at - 1 };
		if (port.n && port.p[0] != ':')
			return bail(err, ERR_PARSE, "URL '%s': text after ']'", url);
	} else {
		at = sv_find(a, SV(":"));
		if (at >= 0) {
			host.n = (size_t)at;
			port = (struct sv){ a.p + at, a.n - (size_t)at };
		}
	}
	if (host.n == 0)
		return bail(err, ERR_PARSE, "URL '%s' has no host", url);
	if (port.n && !sv_to_i64((struct sv){ port.p + 1, port.n - 1 }, 1, 65535, &n))
		return bail(err, ERR_PARSE, "URL '%s': port is not a number from 1 to 65535", url);
	t->host = sv_dup(host);
	t->authority = sv_dup(a);
	t->port = (uint16_t)n;
	return 0;
}

static int refuse_odd_bytes(struct sv v, const char *url, struct err *err)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] == 127 || v.p[i] == '#')
			return bail(err, ERR_PARSE,
				    "URL '%s' has a blank, a control byte, '#' or a byte over 127",
				    url);
	return 0;
}

int target_parse(const char *url, enum load_endpoint endpoint, struct target *ret, struct err *err)
{
	struct target t CLEANUP(target_release) = { 0 };
	struct sv rest = sv_of(url), authority;
	ptrdiff_t slash;

	TRY(refuse_odd_bytes(rest, url, err));
	t.tls = sv_starts(rest, "https://");
	t.unix_socket = sv_starts(rest, "http+unix://");
	if (!t.tls && !t.unix_socket && !sv_starts(rest, "http://"))
		return bail(err, ERR_PARSE,
			    "URL '%s' begins with none of 'http://', 'https://', 'http+unix://'",
			    url);
	slash = sv_find(rest, SV("://")) + 3;
	rest = (struct sv){ rest.p + slash, rest.n - (size_t)slash };
	slash = sv_find(rest, SV("/"));
	authority = (struct sv){ rest.p, slash < 0 ? rest.n : (size_t)slash };
	rest = (struct sv){ rest.p + authority.n, rest.n - authority.n };
	if (sv_find(authority, SV("@")) >= 0)
		return bail(
			err, ERR_PARSE,
			"a URL with a user or password in it is refused: give a key by the name "
			"of its environment variable");
	if (t.unix_socket) {
		struct sockaddr_un *un = (struct sockaddr_un *)&t.addr;

		t.host = unescape_path(authority);
		t.authority = xstrdup("localhost");
		if (!t.host[0] || strlen(t.host) >= sizeof(un->sun_path))
			return bail(err, ERR_PARSE, "URL '%s': socket path is empty or too long",
				    url);
	} else {
		TRY(read_authority(authority, &t, url, err));
	}
	t.path = full_path(rest, endpoint);
	*ret = t;
	t = (struct target){ 0 };
	return 0;
}

static bool accepts(const struct addrinfo *a)
{
	int fd CLEANUP(closep) =
		socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t n = sizeof(error);

	if (fd < 0)
		return false;
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return true;
	if (errno != EINPROGRESS || poll(&p, 1, PROBE_MS) != 1)
		return false;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0;
}

int target_resolve(struct target *t, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list = NULL, *pick;
	char port[8];
	int rc;

	if (t->unix_socket) {
		struct sockaddr_un *un = (struct sockaddr_un *)&t->addr;

		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, t->host, strlen(t->host) + 1);
		t->addr_len = sizeof(*un);
		return 0;
	}
	snprintf(port, sizeof(port), "%u", t->port);
	rc = getaddrinfo(t->host, port, &hints, &list);
	if (rc != 0)
		return bail(err, ERR_IO, "cannot resolve host '%s': %s", t->host, gai_strerror(rc));
	pick = list;
	if (list->ai_next) {
		while (pick && !accepts(pick))
			pick = pick->ai_next;
		if (!pick)
			pick = list;
	}
	memcpy(&t->addr, pick->ai_addr, pick->ai_addrlen);
	t->addr_len = pick->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

int target_through(struct target *t, const char *proxy, struct err *err)
{
	struct target p CLEANUP(target_release) = { 0 };
	const char *bracket[2] = { "", "" };

	if (target_parse(proxy, LOAD_PLAIN, &p, err) < 0)
		return err_wrap(err, "proxy");
	if (p.tls || p.unix_socket || t->unix_socket)
		return bail(err, ERR_UNSUPPORTED,
			    "a proxy is spoken to over plain TCP, and leads to a host");
	if (strchr(t->host, ':'))
		bracket[0] = "[", bracket[1] = "]";
	TRY(target_resolve(&p, err));
	t->addr = p.addr;
	t->addr_len = p.addr_len;
	t->tunnel =
		xasprintf("CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n\r\n", bracket[0],
			  t->host, bracket[1], t->port, bracket[0], t->host, bracket[1], t->port);
	return 0;
}
