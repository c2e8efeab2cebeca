/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the load engine costs and how well it times, as ratios against other clients on this
 * machine:
 * everything interleaved, each in a process of its own, medians. Absolute figures wander with the
 * machine; the ratios are what counts. Goals stand beside them.
 *
 *	bench_load [REPETITIONS [PART]]         5 unless given; costs, timing, coalesced, memory,
 *	                                        shorts: that part alone
 */
#include "bench_load.h"

#include "base/err.h"
#include "base/json.h"
#include "cert.h"
#include "load/load.h"
#include "load_lib.h"
#include "stat/stat.h"

#include <curl/curl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define MOST_REPS 15
#define ITL_MS    20
#define TOKENS    100

/* What one measuring process says. */
struct said {
	double events, cpu_ns, wall_ns, err_p50, err_p99, err_max, itl_p99, rss_bytes, ok, merged;
	double last_p99;  /* of last events alone */
	double write_p99; /* the same against the server's clock before its write */
	double kernel;    /* share of the CPU time */
};

enum client { OURS, RECV, CURL_, PYTHON, TLS };
enum how { AT_ONCE, TIMED, ONE_BY_ONE }; /* the last: a thousand a second */

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sysconf(_SC_NPROCESSORS_ONLN) >= 2)
		(void)sched_setaffinity(0, sizeof(set), &set);
}

static double cpu_of(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e9 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e3;
}

/* ---- timing error ------------------------------------------------------------------------------
 * */

static void add(double **v, size_t *n, size_t *room, double x)
{
	if (*n == *room) {
		*room = *room ? *room * 2 : 1024;
		*v = xrealloc(*v, *room * sizeof(**v));
	}
	(*v)[(*n)++] = x;
}

static void compare_one(const char *line, const struct load_result *r, double **v, size_t n[4],
			size_t room[4])
{
	AUTO_JSON json_t *o = json_loads(line, 0, NULL);
	json_t *sent = json_object_get(o, "sent"), *left = json_object_get(o, "left");
	unsigned id;
	double before = NAN;

	if (!sent || !left ||
	    sscanf(json_string_value(json_object_get(o, "id")), "twice-%u", &id) != 1 ||
	    id >= r->n || r->v[id].n_events != json_array_size(sent))
		return;
	for (uint32_t k = 0; k < r->v[id].n_events; k++) {
		int64_t ours = r->events[r->v[id].events_at + k].at + r->t0;
		int64_t truth = json_integer_value(json_array_get(left, k));
		double e = (double)(ours - truth);
		bool merged = r->events[r->v[id].events_at + k].flags & LOAD_EV_MERGED;

		/* What was read together with another event is marked so, and claims no time. */
		if (merged || truth == 0) {
			before = NAN;
			continue;
		}
		/* An answer's end is written right behind its last event, apart: where both are
		 * read at once the kernel's stamp is the end's. */
		if (k > 0 && k + 1 == r->v[id].n_events) {
			add(&v[3], &n[3], &room[3], e);
			continue;
		}
		add(&v[0], &n[0], &room[0], e);
		add(&v[2], &n[2], &room[2],
		    (double)(ours - json_integer_value(json_array_get(sent, k))));
		if (!isnan(before))
			add(&v[1], &n[1], &room[1], fabs(e - before));
		before = e;
	}
}

/*
 * Ours, where we claim a time, against when the server's kernel gave each event to the device:
 * each arrival, and each gap. Against the server's own clock, read before its write, as well: that
 * has the server's system call in it, which is nobody's reading error.
 */
static void timing_error(const struct fake *f, const struct load_result *r, struct said *s)
{
	char *body = fake_ask(f, "GET", "/truth/events"), *save = NULL;
	double *v[4] = { NULL, NULL, NULL, NULL };
	size_t n[4] = { 0 }, room[4] = { 0 };

	for (char *line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		compare_one(line, r, v, n, room);
	for (int i = 0; i < 4; i++)
		sort_doubles(v[i], n[i]);
	s->err_p50 = quantile_sorted(v[0], n[0], 0.5);
	s->err_p99 = quantile_sorted(v[0], n[0], 0.99);
	s->err_max = quantile_sorted(v[0], n[0], 1);
	s->itl_p99 = quantile_sorted(v[1], n[1], 0.99);
	s->write_p99 = quantile_sorted(v[2], n[2], 0.99);
	s->last_p99 = n[3] ? quantile_sorted(v[3], n[3], 0.99) : NAN;
	/* Too few of the kernel's stamps would be a choice of events. */
	if ((double)(n[0] + n[3]) < 0.9 * (double)(r->n_events - r->audit.merged))
		s->err_p50 = s->err_p99 = s->err_max = s->itl_p99 = s->write_p99 = NAN;
	for (int i = 0; i < 4; i++)
		free(v[i]);
	free(body);
}

/* ---- measuring processes --------------------------------------------------------------------- */

static void ours(const struct fake *f, enum client who, size_t streams, const char *ca,
		 enum how how, struct said *s)
{
	struct bench b;

	bench_init(&b, f);
	if (who == TLS)
		snprintf(b.url, sizeof(b.url), "https://127.0.0.1:%d", f->port);
	b.conf.engine = who == RECV ? LOAD_ENGINE_RECV : LOAD_ENGINE_HTTP;
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = (unsigned)streams;
	b.conf.count = streams;
	if (how == ONE_BY_ONE) {
		b.conf.arrival = LOAD_CONSTANT;
		b.conf.rate = 1000;
	}
	b.conf.timeout_ns = 60 * NS_PER_S;
	b.conf.tls_ca = ca;
	b.conf.max_tokens = 100000;
	bench_run(&b);
	s->ok = bench_get(&b, "requests.ok");
	s->events = (double)streams * TOKENS;
	s->cpu_ns = (double)b.res.audit.cpu_ns;
	s->wall_ns = (double)b.res.audit.wall_ns;
	s->merged = (double)b.res.audit.merged / (double)MAX(b.res.audit.events, (uint64_t)1);
	if (how == TIMED)
		timing_error(f, &b.res, s);
	bench_done(&b);
}

static void python(const struct fake *f, size_t streams, struct said *s)
{
	char cmd[512];
	FILE *p;

	snprintf(cmd, sizeof(cmd), "%s/bench/load_aiohttp.py", getenv("TWICE_SRC"));
	int out[2];
	pid_t pid;

	CHECK(pipe(out) == 0);
	pid = fork();
	if (pid == 0) {
		char url[64], n[16];

		snprintf(url, sizeof(url), "http://127.0.0.1:%d", f->port);
		snprintf(n, sizeof(n), "%zu", streams);
		dup2(out[1], 1);
		execl("/usr/bin/python3", "python3", cmd, url, n, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	p = fdopen(out[0], "r");
	if (fscanf(p, "%lf %lf %lf %lf %lf", &s->events, &s->cpu_ns, &s->err_p50, &s->err_p99,
		   &s->err_max) != 5)
		s->events = NAN;
	fclose(p);
	(void)test_reap(pid);
	s->ok = (double)streams;
}

static void curl(const struct fake *f, size_t streams, struct said *s)
{
	struct rusage before, after;
	char url[96];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/chat/completions", f->port);
	(void)curl_global_init(CURL_GLOBAL_ALL);
	getrusage(RUSAGE_SELF, &before);
	s->ok = (double)bench_curl(url, streams, streams, /* post= */ true);
	getrusage(RUSAGE_SELF, &after);
	s->events = (double)streams * TOKENS;
	s->cpu_ns = cpu_of(&after) - cpu_of(&before);
}

/* One client against a fresh server, both in processes of their own. */
static struct said measure_as(enum client who, size_t streams, const char *script, enum how how)
{
	char cert[128], key[128];
	const char *tls[] = { "--tls", cert, key, NULL };
	const char *departures[] = { "--departures", "on", NULL };
	struct said s = { 0 };
	struct rusage u;
	int out[2];
	pid_t pid;

	CHECK(pipe(out) == 0);
	pid = fork();
	if (pid == 0) {
		struct fake f;

		pin(0);
		cert_make(test_dir(), "IP:127.0.0.1", cert, key);
		f = fake_start(script, how == TIMED ? departures : who == TLS ? tls : NULL);
		pin(1);
		if (who == PYTHON)
			python(&f, streams, &s);
		else if (who == CURL_)
			curl(&f, streams, &s);
		else
			ours(&f, who, streams, cert, how, &s);
		getrusage(RUSAGE_SELF, &u);
		s.kernel = ((double)u.ru_stime.tv_sec * 1e9 + (double)u.ru_stime.tv_usec * 1e3) /
			   cpu_of(&u);
		s.rss_bytes = (double)u.ru_maxrss * 1024;
		fake_stop(&f);
		_exit(write(out[1], &s, sizeof(s)) == sizeof(s) ? 0 : 1);
	}
	close(out[1]);
	if (read(out[0], &s, sizeof(s)) != sizeof(s))
		s = (struct said){ .events = NAN, .cpu_ns = NAN };
	close(out[0]);
	(void)test_reap(pid);
	return s;
}

static struct said measure(enum client who, size_t streams, const char *script)
{
	return measure_as(who, streams, script, AT_ONCE);
}

/* ---- short requests -------------------------------------------------------------------------- */

/* Requests a second of a CPU that does nothing else: what one costs here, not what the server
 * gives. */
static double of_cpu(size_t requests, int whose, const struct rusage *before)
{
	struct rusage after;

	getrusage(whose, &after);
	return (double)requests / ((cpu_of(&after) - cpu_of(before)) / 1e9);
}

static double short_ours(const struct fake *f)
{
	struct bench b;
	double rate;

	bench_init(&b, f);
	b.conf.endpoint = LOAD_PLAIN;
	b.conf.prompts = NULL;
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 64;
	b.conf.count = 60000;
	bench_run(&b);
	rate = (double)b.res.n / ((double)b.res.audit.cpu_ns / 1e9);
	bench_done(&b);
	return rate;
}

static double short_curl(const struct fake *f)
{
	char url[64];
	struct rusage before;
	size_t n;

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", f->port);
	(void)curl_global_init(CURL_GLOBAL_ALL);
	getrusage(RUSAGE_SELF, &before);
	n = bench_curl(url, 64, 30000, /* post= */ false);
	return of_cpu(n, RUSAGE_SELF, &before);
}

static double short_wrk(const struct fake *f)
{
	char url[64], line[256];
	struct rusage before;
	long n = 0;
	int out[2];
	pid_t pid;
	FILE *p;

	getrusage(RUSAGE_CHILDREN, &before);
	CHECK(pipe(out) == 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", f->port);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		execlp("wrk", "wrk", "-t1", "-c64", "-d2s", url, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	p = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), p))
		(void)!sscanf(line, " %ld requests in", &n);
	fclose(p);
	(void)test_reap(pid);
	return n ? of_cpu((size_t)n, RUSAGE_CHILDREN, &before) : NAN;
}

static double short_requests(double (*how)(const struct fake *f))
{
	double rate = NAN;
	int out[2];
	pid_t pid;

	CHECK(pipe(out) == 0);
	pid = fork();
	if (pid == 0) {
		struct fake f;

		pin(0);
		f = fake_start("", NULL);
		pin(1);
		rate = how(&f);
		fake_stop(&f);
		_exit(write(out[1], &rate, sizeof(rate)) == sizeof(rate) ? 0 : 1);
	}
	close(out[1]);
	if (read(out[0], &rate, sizeof(rate)) != sizeof(rate))
		rate = NAN;
	close(out[0]);
	(void)test_reap(pid);
	return rate;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int reps = 5, missed;

static double middle(double *v, int n)
{
	sort_doubles(v, (size_t)n);
	return quantile_sorted(v, (size_t)n, 0.5);
}

static void goal(const char *what, double got, const char *unit, double limit, bool at_most)
{
	const char *word = "-";

	if (isnan(got)) {
		printf("%-58s %12s\n", what, "not measured");
		return;
	}
	if (!isnan(limit)) {
		bool met = at_most ? got <= limit : got >= limit;

		word = met ? "met" : "MISSED";
		missed += !met;
		printf("%-58s %9.3g %-4s goal %s %.3g: %s\n", what, got, unit,
		       at_most ? "<=" : ">=", limit, word);
	} else {
		printf("%-58s %9.3g %s\n", what, got, unit);
	}
	fflush(stdout);
}

/* CPU of one event: a long answer less a short one, so that connecting doesn't count. */
static double event_cost(enum client who, size_t streams, double *ret_err_p99, double *ret_kernel)
{
	char script[64];
	struct said few, many;

	snprintf(script, sizeof(script), "n=%d,ttft=500ms,itl=%dms,keep=0", TOKENS / 5, ITL_MS);
	few = measure(who, streams, script);
	snprintf(script, sizeof(script), "n=%d,ttft=500ms,itl=%dms,keep=0", TOKENS, ITL_MS);
	many = measure(who, streams, script);
	*ret_err_p99 = many.err_p99;
	*ret_kernel = 100 * many.kernel;
	return (many.cpu_ns - few.cpu_ns) / ((double)streams * (TOKENS - TOKENS / 5.0));
}

static void costs(size_t streams)
{
	static double v[5][MOST_REPS], errors[5][MOST_REPS], kernel[5][MOST_REPS];
	double m[5];

	for (int r = 0; r < reps; r++)
		for (int who = OURS; who <= TLS; who++)
			v[who][r] = event_cost((enum client)who, streams, &errors[who][r],
					       &kernel[who][r]);
	for (int who = OURS; who <= TLS; who++)
		m[who] = middle(v[who], reps);
	printf("%zu streams, an event each %d ms:\n", streams, ITL_MS);
	goal("  CPU an event, ours", m[OURS], "ns", NAN, true);
	goal("  of it in the kernel, ours", middle(kernel[OURS], reps), "%", NAN, true);
	goal("  of it in the kernel, libcurl", middle(kernel[CURL_], reps), "%", NAN, true);
	goal("  ours / receiving alone", m[OURS] / m[RECV], "x", 1.08, true);
	goal("  libcurl / ours", m[CURL_] / m[OURS], "x", 1.5, false);
	goal("  aiohttp / ours", m[PYTHON] / m[OURS], "x", 4, false);
	goal("  ours with TLS / ours", m[TLS] / m[OURS], "x", 1.35, true);
	goal("  aiohttp: timing error p99", middle(errors[PYTHON], reps) / 1e3, "us", NAN, true);
}

/* Events as fast as they come, many in one read: what parsing costs. */
static void coalesced(void)
{
	static double v[PYTHON + 1][MOST_REPS];
	static const enum client who[] = { OURS, RECV, PYTHON };
	const char *script = "n=4000,ttft=200ms,itl=0us,epw=100,keep=0";
	double m[PYTHON + 1];

	for (int r = 0; r < reps; r++)
		for (size_t k = 0; k < ARRAY_SIZE(who); k++)
			v[who[k]][r] = measure(who[k], 16, script).cpu_ns / (16 * 4000.0);
	for (size_t k = 0; k < ARRAY_SIZE(who); k++)
		m[who[k]] = middle(v[who[k]], reps);
	printf("16 streams, events as fast as they come, 100 a write:\n");
	goal("  CPU an event, ours", m[OURS], "ns", NAN, true);
	goal("  events parsed, ours / aiohttp", m[PYTHON] / m[OURS], "x", 40, false);
	goal("  events parsed, ours / receiving alone", m[RECV] / m[OURS], "x", 0.35, false);
}

static void timing(size_t streams, const char *script, const char *label)
{
	static double p50[MOST_REPS], p99[MOST_REPS], most[MOST_REPS], itl[MOST_REPS],
		merged[MOST_REPS], since_write[MOST_REPS], last[MOST_REPS];
	char name[96];

	for (int r = 0; r < reps; r++) {
		struct said s = measure_as(OURS, streams, script, TIMED);

		p50[r] = s.err_p50 / 1e3;
		p99[r] = s.err_p99 / 1e3;
		most[r] = s.err_max / 1e3;
		itl[r] = s.itl_p99 / 1e3;
		merged[r] = 100 * s.merged;
		since_write[r] = s.write_p99 / 1e3;
		last[r] = s.last_p99 / 1e3;
	}
	snprintf(name, sizeof(name), "events read together (no time claimed) %s", label);
	goal(name, middle(merged, reps), "%", NAN, true);
	snprintf(name, sizeof(name), "timing error %s: p50", label);
	goal(name, middle(p50, reps), "us", NAN, true);
	snprintf(name, sizeof(name), "timing error %s: p99", label);
	goal(name, middle(p99, reps), "us", streams >= 64 ? 10 : NAN, true);
	snprintf(name, sizeof(name), "timing error %s: max", label);
	goal(name, middle(most, reps), "us", NAN, true);
	snprintf(name, sizeof(name), "  since the server's clock before its write: p99");
	goal(name, middle(since_write, reps), "us", NAN, true);
	if (!isnan(last[0]))
		goal("  of last events, with the answer's end behind them: p99", middle(last, reps),
		     "us", NAN, true);
	if (isnan(itl[0])) /* no gap but to last events */
		return;
	snprintf(name, sizeof(name), "gap error %s: p99", label);
	goal(name, middle(itl, reps), "us", streams >= 64 ? 5 : NAN, true);
}

static double memory_of(enum client who, enum how how, const char *script)
{
	struct said few = measure_as(who, 64, script, how);
	struct said many = measure_as(who, 2048, script, how);

	return many.ok < 2048 ? NAN : (many.rss_bytes - few.rss_bytes) / (2048 - 64) / 1024;
}

static void memory(void)
{
	static double plain[MOST_REPS], tls[MOST_REPS], burst[MOST_REPS];

	for (int r = 0; r < reps; r++) {
		plain[r] = memory_of(OURS, AT_ONCE, "n=1,ttft=500ms,keep=0");
		tls[r] = memory_of(TLS, ONE_BY_ONE, "n=2,ttft=1s,itl=3s,keep=0");
		burst[r] = memory_of(TLS, AT_ONCE, "n=1,ttft=500ms,keep=0");
	}
	goal("user memory a stream", middle(plain, reps), "KiB", 0.5, true);
	goal("user memory a stream, TLS", middle(tls, reps), "KiB", 28, true);
	goal("user memory a stream, TLS, 2,048 handshakes at once", middle(burst, reps), "KiB", 28,
	     true);
}

static void shorts(void)
{
	static double a[MOST_REPS], b[MOST_REPS], c[MOST_REPS];
	double us, curl_, wrk;

	for (int r = 0; r < reps; r++) {
		a[r] = short_requests(short_ours);
		b[r] = short_requests(short_curl);
		c[r] = short_requests(short_wrk);
	}
	us = middle(a, reps);
	curl_ = middle(b, reps);
	wrk = middle(c, reps);
	goal("short requests a second of CPU, ours", us, "/s", NAN, true);
	goal("  ours / libcurl", us / curl_, "x", 5, false);
	goal("  ours / wrk", us / wrk, "x", 1, false);
}

static void costs_all(void)
{
	costs(64);
	costs(1024);
}

static void timing_all(void)
{
	timing(1, "n=100,ttft=100ms,itl=20ms", "1 stream");
	timing(64, "n=100,ttft=100ms,itl=20ms", "64 streams");
	timing(256, "n=100,ttft=100ms,itl=20ms", "256 streams");
	timing(1024, "n=100,ttft=300ms,itl=20ms", "1024 streams");
	timing(1024, "n=2,ttft=500ms,itl=50ms", "a burst of 1024");
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "costs", costs_all }, { "timing", timing_all }, { "coalesced", coalesced },
	{ "memory", memory },   { "shorts", shorts },
};

int main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	int64_t n;

	if (argc > 1 && sv_to_i64(sv_of(argv[1]), 1, MOST_REPS, &n))
		reps = (int)n;
	if (!getenv("TWICE_FAKE_SERVER") || !getenv("TWICE_SRC")) {
		fprintf(stderr, "bench_load: run it by 'make bench'\n");
		return 77;
	}
	snprintf(test_dir_path, sizeof(test_dir_path), "/tmp/twice-bench-XXXXXX");
	CHECK(mkdtemp(test_dir_path));
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!only || streq(only, parts[i].name))
			parts[i].run();
	test_remove_dir(test_dir_path);
	printf("%d goals missed\n", missed);
	return 0;
}
