/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the workload, what they leave behind, HTTP for control. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

int ctx_values(const struct check_ctx *ctx, int port, struct pairs *ret, struct err *err)
{
	AUTO_FREE char *number = xasprintf("%d", port);
	AUTO_FREE char *seed = xasprintf("%d", MAX(ctx->seed, 1));

	TRY(contract_values(ctx->contract, ctx->dir, ret, err));
	pairs_add(ret, "work", ctx->work);
	pairs_add(ret, "seed", seed);
	if (port)
		pairs_add(ret, "port", number);
	return 0;
}

int ctx_env(const struct check_ctx *ctx, const struct pairs *own, const struct pairs *values,
	    struct strs *ret, struct err *err)
{
	for (size_t i = 0; ctx->environment && i < ctx->environment->n; i++)
		strs_addf(ret, "%s=%s", ctx->environment->v[i].name, ctx->environment->v[i].value);
	return own ? contract_expand_env(own, values, ret, err) : 0;
}

char *ctx_path(const struct check_ctx *ctx, const char *name)
{
	return path_join(ctx->work, name);
}

/* A log may hold anything; a NUL would end it. Takes the text. */
static int keep(const char *path, struct evidences *to, const char *label, const char *media_type,
		struct str *text, struct err *err)
{
	AUTO_FREE char *clean = NULL;

	for (size_t i = 0; i < text->n; i++)
		if (text->p[i] == '\0')
			text->p[i] = '?';
	clean = redact_text(sv_str(text), NULL);
	TRY(file_write(path, clean, strlen(clean), 0600, err));
	evidences_add(to, label, media_type, path);
	return 0;
}

int keep_text(const struct check_ctx *ctx, struct evidences *to, const char *label, struct sv text,
	      struct err *err)
{
	AUTO_FREE char *path = ctx_path(ctx, label);
	struct str copy CLEANUP(str_release) = { 0 };

	str_addsv(&copy, text);
	return text.n ? keep(path, to, label, "text/plain", &copy, err) : 0;
}

enum { KEPT_MOST = 64 * 1024 * 1024 };

/* A whole file, or its two ends with a line between them. */
static int read_ends(const char *path, struct str *ret, struct err *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *buf = xmalloc(MIB);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), left_out = size - KEPT_MOST, at = 0;
	ssize_t n;

	if (fd < 0)
		return bail_sys(err, "cannot open '%s'", path);
	while ((n = pread(fd, buf, MIB, at)) > 0 && ret->n < KEPT_MOST) {
		str_addn(ret, buf, (size_t)n);
		at += n;
		if (left_out <= 0 || at < KEPT_MOST / 2)
			continue;
		str_addf(ret, "\n[%lld bytes left out]\n", (long long)left_out);
		at += left_out;
		left_out = 0;
	}
	return n < 0 ? bail_sys(err, "cannot read '%s'", path) : 0;
}

int keep_file(const struct check_ctx *ctx, struct evidences *to, const char *label,
	      const char *media_type, const char *path, struct err *err)
{
	AUTO_FREE char *name = xasprintf("kept.%s", label);
	AUTO_FREE char *kept = ctx_path(ctx, name);
	struct str text CLEANUP(str_release) = { 0 };

	if (!file_exists(path))
		return 0;
	TRY(read_ends(path, &text, err));
	return keep(kept, to, label, media_type, &text, err);
}

char *tail_of(const char *path, size_t n)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	char buf[16 * KIB];
	ssize_t got = fd < 0 ? -1 : pread(fd, buf, sizeof(buf), MAX(size - (off_t)sizeof(buf), 0));
	AUTO_FREE char *redacted = NULL;
	struct sv v, line, last = { NULL, 0 };

	if (got <= 0)
		return xstrdup("");
	for (ssize_t i = 0; i < got; i++)
		if (buf[i] == '\0')
			buf[i] = '?';
	/* The last line that is not empty says most. Redacted whole, so that no half of a secret
	 * is left. */
	redacted = redact_text((struct sv){ buf, (size_t)got }, NULL);
	for (v = sv_of(redacted); sv_line(&v, &line);)
		if (sv_trim(line).n)
			last = sv_trim(line);
	last.n = MIN(last.n, n);
	return text_clean(last);
}

char *ctx_system(const struct check_ctx *ctx, const char *path)
{
	return xasprintf("%s%s", ctx->root ? ctx->root : "", path);
}

int free_port(struct err *err)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return bail_sys(err, "cannot find a free port");
	return ntohs(a.sin_port);
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	if (arg)
		str_addn(arg, p, size * n);
	return size * n;
}

int http_get(const char *url, int64_t timeout_ns, long *ret_status, struct str *body,
	     struct err *err)
{
	CURL *c = curl_easy_init();
	CURLcode rc;

	*ret_status = 0;
	if (!c)
		return bail(err, ERR_IO, "cannot set up HTTP");
	if (body && !body->limit)
		str_init(body, MIB);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)MAX(timeout_ns / NS_PER_MS, 1));
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
	rc = curl_easy_perform(c);
	if (rc == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, ret_status);
	curl_easy_cleanup(c);
	if (rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL)
		return bail(err, ERR_PARSE, "'%s' is no http address", url);
	return 0;
}
