/* SPDX-License-Identifier: Apache-2.0 */
/* For black-box tests of the load engine: starts the scripted server, runs against it, asks it for
 * the truth. */
#pragma once

#include "test.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "load/load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

struct fake {
	pid_t pid;
	int port, stdin_fd;
};

/* Extra arguments end with NULL. The server ends with its standard input, at the latest with this
 * test. */
static inline struct fake fake_start(const char *script, const char *const *more)
{
	const char *exe = getenv("TWICE_FAKE_SERVER"), *argv[16] = { exe, "--script", script };
	int in[2], out[2], n = 3;
	struct fake f = { 0 };
	char line[64] = "";
	ssize_t got;

	if (!exe)
		test_skip("TWICE_FAKE_SERVER is not set");
	while (more && *more && n < 15)
		argv[n++] = *more++;
	CHECK(pipe(in) == 0 && pipe(out) == 0);
	f.pid = fork();
	if (f.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execv(exe, (char *const *)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	fcntl(in[1], F_SETFD, FD_CLOEXEC);
	f.stdin_fd = in[1];
	got = read(out[0], line, sizeof(line) - 1);
	CHECK(got > 0);
	CHECK(sscanf(line, "port %d", &f.port) == 1);
	close(out[0]);
	return f;
}

static inline void fake_stop(struct fake *f)
{
	close(f->stdin_fd);
	(void)test_reap(f->pid);
}

/* One plain HTTP exchange; the body, which the caller frees. */
static inline char *fake_ask(const struct fake *f, const char *method, const char *path)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)f->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct str s = { 0 };
	char buf[65536], *body;
	long want = -1;

	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	dprintf(fd, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n", method, path);
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		const char *at;

		if (n <= 0)
			break;
		str_addn(&s, buf, (size_t)n);
		at = strstr(str_text(&s), "\r\n\r\n");
		if (at &&
		    sscanf(strstr(s.p, "Content-Length: "), "Content-Length: %ld", &want) == 1 &&
		    s.n >= (size_t)(at + 4 - s.p) + (size_t)want)
			break;
	}
	close(fd);
	CHECK(want >= 0);
	body = xstrdup(strstr(s.p, "\r\n\r\n") + 4);
	str_release(&s);
	return body;
}

static inline long fake_truth(const struct fake *f, const char *name)
{
	char *body = fake_ask(f, "GET", "/truth");
	char key[64];
	const char *at;
	long v = -1;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(body, key);
	CHECK(at && sscanf(at + strlen(key), "%ld", &v) == 1);
	free(body);
	return v;
}

/* ---- running --------------------------------------------------------------------------------- */

struct bench {
	struct load_conf conf;
	struct load_prompts prompts;
	struct load_result res;
	struct measurements m;
	char url[512];
};

static inline void bench_init(struct bench *b, const struct fake *f)
{
	struct err err = ERR_INIT;

	*b = (struct bench){ 0 };
	load_conf_init(&b->conf);
	snprintf(b->url, sizeof(b->url), "http://127.0.0.1:%d", f->port);
	b->conf.url = b->url;
	CHECK_OK(load_prompts_parse(SV("{\"prompt\":\"hello\"}\n{\"prompt\":\"you\"}\n"), "prompts",
				    &b->prompts, &err),
		 err);
	b->conf.prompts = &b->prompts;
	b->conf.arrival = LOAD_CONSTANT;
	b->conf.rate = 50;
	b->conf.count = 10;
	b->conf.max_tokens = 64;
	b->conf.timeout_ns = 10 * NS_PER_S;
}

static inline void bench_run(struct bench *b)
{
	struct err err = ERR_INIT;

	CHECK_OK(load_run(&b->conf, &b->res, &err), err);
	load_metrics(&b->res, &b->m);
}

static inline double bench_get(const struct bench *b, const char *name)
{
	const struct measurement *m = measurements_find(&b->m, name);

	if (!m)
		test_fails(__FILE__, __LINE__, "no metric %s", name);
	return m->value;
}

static inline double bench_ms(const struct bench *b, const char *name)
{
	return bench_get(b, name) / 1e6;
}

/*
 * Every token event of every request against when the server really wrote it: as many, never before
 * it (20 us for the two readings of the clock), and no more than late_ms after. Gives how many.
 */
static inline size_t bench_truth(const struct bench *b, const struct fake *f, double late_ms)
{
	char *body = fake_ask(f, "GET", "/truth/events"), *save = NULL;
	size_t seen = 0;

	for (char *line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *o = json_loads(line, 0, NULL), *sent = json_object_get(o, "sent");
		const struct load_req *r;
		unsigned id;

		CHECK(sscanf(json_str_or(o, "id", ""), "twice-%u", &id) == 1 && id < b->res.n);
		r = &b->res.v[id];
		/* Given up, it may have sent more; plain HTTP has no events. */
		CHECK(json_array_size(sent) >= r->n_events);
		CHECK(json_array_size(sent) == r->n_events || r->outcome != LOAD_OK ||
		      b->conf.endpoint == LOAD_PLAIN);
		for (uint32_t k = 0; k < r->n_events; k++) {
			int64_t theirs = json_integer_value(json_array_get(sent, k));
			int64_t ours = b->res.events[r->events_at + k].at + b->res.t0;

			CHECK_TIME((double)(ours - theirs) / 1e6, -0.02, late_ms);
			seen++;
		}
		if (r->n_events)
			CHECK_INT(r->first_token, b->res.events[r->events_at].at);
		json_decref(o);
	}
	free(body);
	return seen;
}

static inline void bench_done(struct bench *b)
{
	measurements_release(&b->m);
	load_result_release(&b->res);
	load_prompts_release(&b->prompts);
}
