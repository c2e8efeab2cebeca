/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says about itself (Prometheus text exposition format 0.0.4), read beside the
 * client's numbers by a thread of its own, about once a second. Names: vLLM's and SGLang's metrics
 * pages, llama.cpp's server README.
 */
#include "load/server.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "load/loop.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#define PAGE_LIMIT (8 * MIB)
#define EVERY_NS   NS_PER_S
#define WAIT_S     2

static const char *const names[LOAD_SERVER_N] = {
	"running",       "waiting",     "cache_used",    "prompt_tokens", "output_tokens",
	"requests",      "preemptions", "cache_queries", "cache_hits",    "ttft_sum_s",
	"ttft_requests", "e2e_sum_s",   "e2e_requests",
};

const char *load_server_name(enum load_server_value v)
{
	return names[v];
}

bool load_server_is_counter(enum load_server_value v)
{
	return v >= LOAD_SERVER_PROMPT_TOKENS;
}

static const struct known {
	const char *name;
	enum load_server_value v;
} known[] = {
	{ "vllm:num_requests_running", LOAD_SERVER_RUNNING },
	{ "vllm:num_requests_waiting", LOAD_SERVER_WAITING },
	{ "vllm:kv_cache_usage_perc", LOAD_SERVER_CACHE_USED },
	{ "vllm:gpu_cache_usage_perc", LOAD_SERVER_CACHE_USED },
	{ "vllm:prompt_tokens_total", LOAD_SERVER_PROMPT_TOKENS },
	{ "vllm:generation_tokens_total", LOAD_SERVER_OUTPUT_TOKENS },
	{ "vllm:request_success_total", LOAD_SERVER_REQUESTS },
	{ "vllm:num_preemptions_total", LOAD_SERVER_PREEMPTIONS },
	{ "vllm:prefix_cache_queries_total", LOAD_SERVER_CACHE_QUERIES },
	{ "vllm:prefix_cache_hits_total", LOAD_SERVER_CACHE_HITS },
	{ "vllm:time_to_first_token_seconds_sum", LOAD_SERVER_TTFT_SUM },
	{ "vllm:time_to_first_token_seconds_count", LOAD_SERVER_TTFT_N },
	{ "vllm:e2e_request_latency_seconds_sum", LOAD_SERVER_E2E_SUM },
	{ "vllm:e2e_request_latency_seconds_count", LOAD_SERVER_E2E_N },
	{ "sglang:num_running_reqs", LOAD_SERVER_RUNNING },
	{ "sglang:num_queue_reqs", LOAD_SERVER_WAITING },
	{ "sglang:token_usage", LOAD_SERVER_CACHE_USED },
	{ "sglang:prompt_tokens_total", LOAD_SERVER_PROMPT_TOKENS },
	{ "sglang:generation_tokens_total", LOAD_SERVER_OUTPUT_TOKENS },
	{ "sglang:num_requests_total", LOAD_SERVER_REQUESTS },
	{ "sglang:cached_tokens_total", LOAD_SERVER_CACHE_HITS },
	{ "sglang:time_to_first_token_seconds_sum", LOAD_SERVER_TTFT_SUM },
	{ "sglang:time_to_first_token_seconds_count", LOAD_SERVER_TTFT_N },
	{ "sglang:e2e_request_latency_seconds_sum", LOAD_SERVER_E2E_SUM },
	{ "sglang:e2e_request_latency_seconds_count", LOAD_SERVER_E2E_N },
	{ "llamacpp:requests_processing", LOAD_SERVER_RUNNING },
	{ "llamacpp:requests_deferred", LOAD_SERVER_WAITING },
	{ "llamacpp:kv_cache_usage_ratio", LOAD_SERVER_CACHE_USED },
	{ "llamacpp:prompt_tokens_total", LOAD_SERVER_PROMPT_TOKENS },
	{ "llamacpp:prompt_tokens_cached_total", LOAD_SERVER_CACHE_HITS },
	{ "llamacpp:tokens_predicted_total", LOAD_SERVER_OUTPUT_TOKENS },
};

/* ---- the page -------------------------------------------------------------------------------- */

/* "name{label="a}b",x="y"} 12.5 [time]" -> name and value. False: no sample. */
static bool sample_of(struct sv line, struct sv *ret_name, double *ret)
{
	size_t i = 0;
	struct sv rest, word;

	while (i < line.n && line.p[i] != '{' && line.p[i] != ' ' && line.p[i] != '\t')
		i++;
	*ret_name = (struct sv){ line.p, i };
	if (i == 0 || i == line.n)
		return false;
	if (line.p[i] == '{') {
		bool quoted = false;

		for (i++; i < line.n && (quoted || line.p[i] != '}'); i++) {
			if (quoted && line.p[i] == '\\')
				i++;
			else if (line.p[i] == '"')
				quoted = !quoted;
		}
		if (i >= line.n)
			return false;
		i++;
	}
	rest = (struct sv){ line.p + i, line.n - i };
	return sv_word(&rest, &word) && sv_to_f64(word, ret) && isfinite(*ret);
}

/* SGLang once wrote its names with '_' for ':'. */
static bool same_name(struct sv got, const char *want)
{
	size_t n = strlen(want);

	if (got.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (got.p[i] != want[i] && !(got.p[i] == '_' && want[i] == ':'))
			return false;
	return true;
}

size_t load_server_read(struct sv text, double ret[LOAD_SERVER_N], char kind[16])
{
	size_t hits = 0;

	for (int i = 0; i < LOAD_SERVER_N; i++)
		ret[i] = NAN;
	kind[0] = '\0';
	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		struct sv name;
		double v;

		line = sv_trim(line);
		if (line.n == 0 || line.p[0] == '#' || !sample_of(line, &name, &v))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			double *at = &ret[known[i].v];

			if (!same_name(name, known[i].name))
				continue;
			/* One series for each model, engine or finish reason: they add up. */
			*at = isnan(*at) ? v : *at + v;
			snprintf(kind, 16, "%.*s", (int)strcspn(known[i].name, ":"), known[i].name);
			hits++;
		}
	}
	return hits;
}

/* ---- fetching -------------------------------------------------------------------------------- */

struct scraper {
	struct target target;
	SSL_CTX *ctx; /* NULL: plain */
	char *key;    /* sent to the target itself only; NULL: none */
	struct load_server *to;
	int stop_fd;
	pthread_t thread;
	bool running;
};

/* One connection to the page, and until when it may take. */
struct page_conn {
	int fd;
	struct tls *tls;
	int64_t end;
};

/* False: nothing to read before the end of the wait. */
static bool readable(const struct page_conn *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	int64_t left = c->end - clock_ns();

	return left > 0 && poll(&p, 1, (int)(left / NS_PER_MS) + 1) > 0;
}

static bool shake_hands(const struct page_conn *c)
{
	int rc;

	while ((rc = tls_handshake(c->tls)) == 0)
		if (!readable(c))
			return false;
	return rc > 0;
}

static bool send_all(const struct page_conn *c, const char *p, size_t n)
{
	while (n) {
		ssize_t got = c->tls ? tls_send(c->tls, p, n) : send(c->fd, p, n, MSG_NOSIGNAL);

		if (got <= 0 && !(got < 0 && c->tls && errno == EAGAIN && readable(c)))
			return false;
		p += MAX(got, 0);
		n -= (size_t)MAX(got, 0);
	}
	return true;
}

/* 0: the end; -1: an error, or the wait is over. */
static ssize_t receive(const struct page_conn *c, char *buf, size_t room)
{
	struct iovec v = { buf, room };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t n;

	if (!c->tls)
		return readable(c) ? recv(c->fd, buf, room, 0) : -1;
	while ((n = tls_recv(c->tls, &m)) < 0 && errno == EAGAIN)
		if (!readable(c))
			return -1;
	return n;
}

static bool open_page(const struct scraper *s, struct page_conn *c)
{
	const struct timeval wait = { .tv_sec = WAIT_S };

	if (c->fd < 0 || setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(c->fd, (const struct sockaddr *)&s->target.addr, s->target.addr_len) < 0)
		return false;
	if (!s->ctx)
		return true;
	c->tls = tls_new(s->ctx, c->fd, s->target.host);
	return c->tls && shake_hands(c);
}

static bool read_page(const struct page_conn *c, struct str *body)
{
	AUTO_FREE char *buf = xmalloc(64 * KIB);
	struct lbuf_pool pool = { 0 };
	struct http h;
	bool ended = false, good = false;

	http_init(&h, &pool);
	while (!ended && !body->over) {
		ssize_t n = receive(c, buf, 64 * KIB);
		struct sv in = { buf, n > 0 ? (size_t)n : 0 }, part;
		enum http_ev ev;

		if (n <= 0) {
			good = n == 0 && http_eof(&h);
			break;
		}
		while (!ended && (ev = http_next(&h, &in, &part)) != HTTP_MORE) {
			if (ev == HTTP_BODY)
				str_addsv(body, part);
			good = ev == HTTP_DONE;
			ended = good || (ev != HTTP_BODY && ev != HTTP_HEAD);
		}
	}
	good &= h.status == 200 && !body->over;
	http_release(&h);
	lbuf_pool_release(&pool);
	return good;
}

/* One whole answer over a connection of its own, by our own strict reader. The wait is for all of
 * it: a page without an end must hold up neither the run nor its interruption. */
static bool fetch(const struct scraper *s, struct str *body)
{
	const struct target *t = &s->target;
	struct page_conn c = { .fd = socket(t->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0),
			       .end = clock_ns() + WAIT_S * NS_PER_S };
	AUTO_FREE char *ask =
		xasprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: twice\r\n"
			  "Accept: text/plain\r\n%s%s%sConnection: close\r\n\r\n",
			  t->path, t->authority, s->key ? "Authorization: Bearer " : "",
			  s->key ? s->key : "", s->key ? "\r\n" : "");
	bool good;

	str_init(body, PAGE_LIMIT);
	good = open_page(s, &c) && send_all(&c, ask, strlen(ask)) && read_page(&c, body);
	explicit_bzero(ask, strlen(ask));
	tls_free(c.tls);
	closep(&c.fd);
	return good;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool scrape(struct scraper *s)
{
	struct str body CLEANUP(str_release) = { 0 };
	struct load_server_sample x = { .at = clock_ns() };
	char kind[16];

	if (!fetch(s, &body) || !load_server_read(sv_str(&body), x.v, kind)) {
		s->to->missed++;
		return false;
	}
	memcpy(s->to->kind, kind, sizeof(kind));
	*VEC_ADD(s->to) = x;
	return true;
}

static void *scraper_thread(void *arg)
{
	struct scraper *s = arg;

	for (;;) {
		struct pollfd p = { .fd = s->stop_fd, .events = POLLIN };

		if (poll(&p, 1, (int)(EVERY_NS / NS_PER_MS)) != 0)
			return NULL;
		(void)scrape(s);
	}
}

/* "http+unix://%2Frun%2Fserver.sock/metrics" */
static char *beside_socket(const struct target *t)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_add(&s, "http+unix://");
	for (const char *p = t->host; *p; p++)
		str_addf(&s, "%%%02X", (unsigned)(unsigned char)*p);
	str_add(&s, "/metrics");
	return str_steal(&s);
}

/* Beside the target, unless another place is named. Through a proxy nothing is looked for. */
static int find_page(const struct load_conf *c, const struct target *t, struct target *ret,
		     bool *ret_none, struct err *err)
{
	AUTO_FREE char *beside = NULL;

	*ret_none = streq(c->server_metrics, "auto") && c->proxy;
	if (*ret_none)
		return 0;
	if (streq(c->server_metrics, "auto"))
		beside = t->unix_socket ? beside_socket(t)
					: xasprintf("%s://%s/metrics", t->tls ? "https" : "http",
						    t->authority);
	TRY(target_parse(beside ? beside : c->server_metrics, LOAD_PLAIN, ret, err));
	return target_resolve(ret, err);
}

/* The key is the target's: no other host and no other port sees it. */
static bool same_place(const struct target *a, const struct target *b)
{
	return a->tls == b->tls && a->unix_socket == b->unix_socket && a->port == b->port &&
	       streq(a->host, b->host);
}

void scraper_free(struct scraper *s)
{
	if (!s)
		return;
	scraper_stop(s);
	closep(&s->stop_fd);
	target_release(&s->target);
	SSL_CTX_free(s->ctx);
	if (s->key)
		explicit_bzero(s->key, strlen(s->key));
	free(s->key);
	free(s);
}

int scraper_start(const struct load_conf *c, const struct target *t, const char *key,
		  struct load_server *to, struct scraper **ret, struct err *err)
{
	struct scraper *s;
	struct target page CLEANUP(target_release) = { 0 };
	bool none;

	*ret = NULL;
	if (!c->server_metrics || c->engine != LOAD_ENGINE_HTTP)
		return 0;
	TRY(find_page(c, t, &page, &none, err));
	if (none)
		return 0;
	s = xcalloc(1, sizeof(*s));
	s->target = page;
	page = (struct target){ 0 };
	s->to = to;
	s->key = same_place(&s->target, t) ? xstrdup(key) : NULL;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->ctx = s->target.tls ? tls_context(c, err) : NULL;
	if (s->target.tls && !s->ctx) {
		scraper_free(s);
		return -(int)err->code;
	}
	if (s->stop_fd < 0 || !scrape(s)) {
		bool asked = !streq(c->server_metrics, "auto");

		scraper_free(s);
		to->missed = 0;
		if (asked)
			return bail(err, ERR_NOT_FOUND, "no metrics known here at '%s'",
				    c->server_metrics);
		return 0;
	}
	s->running = pthread_create(&s->thread, NULL, scraper_thread, s) == 0;
	*ret = s;
	return 0;
}

void scraper_stop(struct scraper *s)
{
	uint64_t one = 1;

	if (!s || !s->running)
		return;
	(void)!write(s->stop_fd, &one, sizeof(one));
	pthread_join(s->thread, NULL);
	s->running = false;
	/* Counters of what ended last are often a moment late. */
	(void)poll(NULL, 0, 150);
	(void)scrape(s);
}

/* ---- after the run --------------------------------------------------------------------------- */

double load_server_total(const struct load_server *s, enum load_server_value v)
{
	if (s->n < 2 || s->restarted)
		return NAN;
	return s->v[s->n - 1].v[v] - s->v[0].v[v];
}

void server_settle(struct load_server *s, int64_t t0)
{
	for (size_t i = 0; i < s->n; i++)
		s->v[i].at -= t0;
	for (size_t i = 1; i < s->n; i++)
		for (int k = 0; k < LOAD_SERVER_N; k++)
			s->restarted |= load_server_is_counter((enum load_server_value)k) &&
					s->v[i].v[k] < s->v[i - 1].v[k];
}

static json_t *scaled(double v)
{
	return isfinite(v) && fabs(v) < 9e9 ? json_integer(llround(v * 1e6)) : json_null();
}

json_t *server_json(const struct load_server *s, int64_t tokens, int64_t requests)
{
	json_t *o = json_object(), *series = json_object(), *totals = json_object();
	json_t *at = json_array();
	double theirs = load_server_total(s, LOAD_SERVER_OUTPUT_TOKENS);

	json_put_str(o, "kind", s->kind);
	json_put_int(o, "missed", (int64_t)s->missed);
	json_put_bool(o, "restarted", s->restarted);
	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(at, json_integer(s->v[i].at));
	json_put(o, "at_ns", at);
	for (int k = 0; k < LOAD_SERVER_N; k++) {
		double total = load_server_total(s, (enum load_server_value)k);
		json_t *list;
		bool any = false;

		for (size_t i = 0; i < s->n; i++)
			any |= !isnan(s->v[i].v[k]);
		if (!any)
			continue;
		list = json_array();
		for (size_t i = 0; i < s->n; i++)
			json_array_append_new(list, scaled(s->v[i].v[k]));
		json_put(series, names[k], list);
		if (load_server_is_counter((enum load_server_value)k) && isfinite(total))
			json_put(totals, names[k], scaled(total));
	}
	json_put(o, "series_e6", series);
	json_put(o, "totals_e6", totals);
	json_put_int(o, "client_output_tokens", tokens);
	json_put_int(o, "client_requests", requests);
	if (isfinite(theirs))
		json_put_bool(o, "tokens_agree",
			      fabs(theirs - (double)tokens) <= 0.01 * theirs + 0.5);
	return o;
}

json_t *server_raw(const struct load_server *s)
{
	json_t *o = json_object(), *list = json_array();

	json_put_str(o, "kind", s->kind);
	json_put_int(o, "missed", (int64_t)s->missed);
	json_put_bool(o, "restarted", s->restarted);
	for (size_t i = 0; i < s->n; i++) {
		json_t *x = json_array();

		json_array_append_new(x, json_integer(s->v[i].at));
		for (int k = 0; k < LOAD_SERVER_N; k++)
			json_array_append_new(x, isnan(s->v[i].v[k]) ? json_null()
								     : json_real(s->v[i].v[k]));
		json_array_append_new(list, x);
	}
	json_put(o, "samples", list);
	return o;
}

int server_unraw(const json_t *o, struct load_server *ret, struct err *err)
{
	const json_t *list = json_object_get(o, "samples"), *x;
	size_t i;

	snprintf(ret->kind, sizeof(ret->kind), "%.15s", json_str_or(o, "kind", ""));
	ret->missed = (size_t)MAX(json_int_or(o, "missed", 0), INT64_C(0));
	ret->restarted = json_bool_or(o, "restarted", false);
	json_array_foreach(list, i, x)
	{
		struct load_server_sample *s = VEC_ADD(ret);

		*s = (struct load_server_sample){ 0 };
		if (json_array_size(x) != LOAD_SERVER_N + 1 ||
		    !json_is_integer(json_array_get(x, 0)))
			return bail(err, ERR_PARSE, "sample %zu of the server is none", i + 1);
		s->at = json_integer_value(json_array_get(x, 0));
		for (size_t k = 0; k < LOAD_SERVER_N; k++) {
			const json_t *v = json_array_get(x, k + 1);

			s->v[k] = json_is_number(v) ? json_number_value(v) : NAN;
		}
	}
	return 0;
}
