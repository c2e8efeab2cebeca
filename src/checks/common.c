/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the workload, the machine meanwhile, HTTP for control. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int ctx_values(const struct check_ctx *ctx, int port, struct pairs *ret, struct err *err)
{
	AUTO_FREE char *number = xasprintf("%d", port);

	TRY(contract_values(ctx->contract, ctx->dir, ret, err));
	pairs_add(ret, "work", ctx->work);
	pairs_add(ret, "seed", "1");
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

int keep_text(const struct check_ctx *ctx, struct evidences *to, const char *label, struct sv text,
	      struct err *err)
{
	AUTO_FREE char *path = ctx_path(ctx, label);
	AUTO_FREE char *clean = NULL;

	if (!text.n)
		return 0;
	clean = redact_text(text, NULL);
	TRY(file_write(path, clean, strlen(clean), 0600, err));
	evidences_add(to, label, "text/plain", path);
	return 0;
}

char *tail_of(const char *path, size_t n)
{
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *redacted = NULL;
	struct sv v;
	size_t len;

	if (file_read(path, 64 * MIB, &text, &len, &err) < 0)
		return xstrdup("");
	v = sv_trim((struct sv){ text, len });
	if (v.n > n) {
		v.p += v.n - n;
		v.n = n;
	}
	/* The last line says most: begin at a line when there is one. */
	for (size_t i = v.n; i-- > 0;) {
		if (v.p[i] == '\n') {
			v.p += i + 1;
			v.n -= i + 1;
			break;
		}
	}
	redacted = redact_text(v, NULL);
	return text_clean(sv_of(redacted));
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

static void stat_ticks(uint64_t *busy, uint64_t *total)
{
	AUTO_FREE char *line = file_first_line("/proc/stat");
	struct sv rest = sv_of(line), word;
	uint64_t v;

	*busy = *total = 0;
	if (!sv_word(&rest, &word) || !sv_is(word, "cpu"))
		return;
	/* user nice system idle iowait irq softirq steal: proc(5). guest is in user already. */
	for (int i = 0; i < 8 && sv_word(&rest, &word) && sv_to_u64(word, &v); i++) {
		*total += v;
		if (i != 3 && i != 4)
			*busy += v;
	}
}

int64_t self_cpu_ns(void)
{
	struct rusage a, b;

	(void)getrusage(RUSAGE_SELF, &a);
	(void)getrusage(RUSAGE_CHILDREN, &b);
	return ((int64_t)a.ru_utime.tv_sec + a.ru_stime.tv_sec + b.ru_utime.tv_sec +
		b.ru_stime.tv_sec) *
		       NS_PER_S +
	       ((int64_t)a.ru_utime.tv_usec + a.ru_stime.tv_usec + b.ru_utime.tv_usec +
		b.ru_stime.tv_usec) *
		       NS_PER_US;
}

void watch_start(struct watch *w)
{
	w->start_ns = clock_ns();
	stat_ticks(&w->busy, &w->total);
}

double watch_others(const struct watch *w, int64_t own_ns)
{
	uint64_t busy, total;
	double ticks = (double)sysconf(_SC_CLK_TCK), others;

	stat_ticks(&busy, &total);
	if (!total || total <= w->total)
		return NAN;
	others = (double)(busy - w->busy) / ticks - (double)own_ns / 1e9;
	return MAX(0.0, MIN(1.0, others / ((double)(total - w->total) / ticks)));
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
