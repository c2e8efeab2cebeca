/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `twice load` as a program: what it prints, writes and exits with. Where a busy machine makes it 2
 * (the client was not fit to measure), the status stands under CHECK_TIME.
 */
#include "proxy.h"

#include "base/file.h"

#include <signal.h>
#include <sys/wait.h>

struct run {
	pid_t pid;
	int out, err;
	char *text, *said; /* standard output, standard error */
	json_t *v;
	int status;
};

static void begin(struct run *r, const char *const *args)
{
	const char *exe = getenv("TWICE_BIN"), *argv[48];
	char *const env[] = { "LC_ALL=C", "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
	int out[2], err[2], n = 0;

	if (!exe || !*exe)
		test_skip("TWICE_BIN is not set");
	*r = (struct run){ 0 };
	argv[n++] = exe;
	argv[n++] = "load";
	argv[n++] = "--json";
	while (*args && n < 47)
		argv[n++] = *args++;
	argv[n] = NULL;
	CHECK(pipe(out) == 0 && pipe(err) == 0);
	r->pid = fork();
	if (r->pid == 0) {
		dup2(out[1], 1);
		dup2(err[1], 2);
		execve(exe, (char *const *)argv, env);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	r->out = out[0];
	r->err = err[0];
}

static char *read_all(int fd)
{
	struct str s = { 0 };
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		str_addn(&s, buf, (size_t)n);
	close(fd);
	return str_steal(&s);
}

#define COUNTED 1000 /* the record's scale of a number of requests */

/* Output is small enough for the pipes: one after the other is fine. */
static void end(struct run *r)
{
	int status;

	r->text = read_all(r->out);
	r->said = read_all(r->err);
	CHECK(waitpid(r->pid, &status, 0) == r->pid && WIFEXITED(status));
	r->status = WEXITSTATUS(status);
	r->v = json_loads(r->text, 0, NULL);
}

static void done(struct run *r)
{
	free(r->text);
	free(r->said);
	json_decref(r->v);
}

#define RUN(r, ...)                                                                                \
	do {                                                                                       \
		const char *const args_[] = { __VA_ARGS__, NULL };                                 \
		begin(r, args_);                                                                   \
		end(r);                                                                            \
	} while (0)

static const char *url_of(const struct fake *f)
{
	static char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", f->port);
	return url;
}

static int64_t metric(const json_t *v, const char *name)
{
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(v, "metrics"), i, m)
	{
		if (streq(json_str_or(m, "name", ""), name))
			return json_int_or(m, "value", -1);
	}
	return -1;
}

static void a_replay_gives_the_same_numbers(void)
{
	struct fake f = fake_start("3*n=8,ttft=20ms,itl=5ms|status=503|end=cut,at=3", NULL);
	AUTO_FREE char *raw = xasprintf("%s/raw.zst", test_dir());
	struct run a, b;

	RUN(&a, "--prompt", "hi", "--rate", "50", "--requests", "40", "--objective", "ttft<=500ms",
	    "--client-lag", "5s", "--raw", raw, url_of(&f));
	CHECK_INT(a.status, 0);
	RUN(&b, "--replay", raw);
	CHECK_INT(b.status, a.status);
	CHECK_STR(b.text, a.text);
	CHECK_INT(metric(a.v, "requests.ok"), 24 * COUNTED);
	CHECK_INT(metric(a.v, "requests.http_status"), 8 * COUNTED);
	CHECK_INT(metric(a.v, "requests.cut"), 8 * COUNTED);
	done(&a);
	done(&b);
	fake_stop(&f);
}

/* What we write for those who read vLLM's results is what we read of them. */
static void a_file_like_vllms_says_the_same(void)
{
	struct fake f = fake_start("3*n=8,ttft=20ms,itl=5ms|status=503|end=cut,at=3", NULL);
	AUTO_FREE char *file = xasprintf("%s/vllm.json", test_dir());
	static const char *const same[] = { "itl.p50", "itl.max", "tpot.mean", "requests.ok",
					    "errors" };
	const json_t *theirs;
	struct run a, b;

	RUN(&a, "--prompt", "hi", "--rate", "50", "--requests", "20", "--client-lag", "5s",
	    "--vllm-json", file, url_of(&f));
	RUN(&b, "--import", file);
	CHECK_STR(b.said, "");
	CHECK_INT(b.status, 0);
	CHECK_STR(json_str_or(json_object_get(b.v, "imported"), "tool", ""), "vLLM bench serve");
	theirs = json_array_get(json_object_get(b.v, "runs"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		CHECK_NEAR((double)metric(theirs, same[i]), (double)metric(a.v, same[i]), 2);
	CHECK(metric(theirs, "ttft_from_start.p50") >= 20000000);
	CHECK(metric(theirs, "e2e_from_start.p50") >= 55000000);
	done(&a);
	done(&b);
	fake_stop(&f);
}

static void ctrl_c_gives_what_there_is_marked_so(void)
{
	struct fake f = fake_start("n=4,ttft=10ms,itl=2ms", NULL);
	const char *const args[] = { "--prompt", "hi",         "--rate", "50",       "--for",
				     "60s",      "--progress", "json",   url_of(&f), NULL };
	struct run r;
	char line[4096];

	begin(&r, args);
	/* The first line of progress: it is in the middle of the run. */
	CHECK(read(r.err, line, sizeof(line)) > 0);
	kill(r.pid, SIGINT);
	end(&r);
	CHECK_INT(r.status, 2);
	CHECK(json_bool_or(r.v, "interrupted", false));
	CHECK(metric(r.v, "requests.ok") > 5 * COUNTED);
	CHECK(metric(r.v, "requests.scheduled") < 1000 * COUNTED);
	done(&r);
	fake_stop(&f);
}

/* A client that stood still for half a second says so, and doesn't charge the server for it. */
static void a_client_that_stood_still_is_the_limit(void)
{
	struct fake f = fake_start("n=20,ttft=20ms,itl=10ms", NULL);
	const char *const args[] = { "--prompt",   "hi",       "--rate",   "30",
				     "--arrival",  "constant", "--for",    "1500ms",
				     "--progress", "none",     url_of(&f), NULL };
	struct timespec part = { .tv_nsec = 500 * NS_PER_MS };
	struct run r;
	const json_t *audit;

	begin(&r, args);
	while (fake_truth(&f, "requests") < 5)
		(void)nanosleep(&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
	CHECK(kill(r.pid, SIGSTOP) == 0);
	(void)nanosleep(&part, NULL);
	CHECK(kill(r.pid, SIGCONT) == 0);
	end(&r);
	audit = json_object_get(r.v, "audit");
	CHECK_INT(r.status, 2);
	CHECK(json_bool_or(audit, "client_limited", false));
	CHECK_HAS(json_str_or(audit, "reasons", ""), "sent late");
	CHECK(json_int_or(audit, "schedule_lag_max_ns", 0) >= 300 * NS_PER_MS);
	/* What was there and not read is marked, and its time is the kernel's. */
	CHECK(json_int_or(audit, "late_events", 0) > 0);
	CHECK_TIME((double)metric(r.v, "tpot.p50") / 1e6, 9, 20);
	CHECK_INT(metric(r.v, "requests.ok"), 45 * COUNTED);
	done(&r);
	fake_stop(&f);
}

static void progress_is_an_object_a_line(void)
{
	struct fake f = fake_start("n=4,ttft=10ms,itl=2ms", NULL);
	struct run r;
	char *save = NULL;
	int lines = 0;

	RUN(&r, "--prompt", "hi", "--rate", "30", "--for", "2200ms", "--progress", "json",
	    "--client-lag", "5s", url_of(&f));
	CHECK_TIME(r.status, 0, 0);
	for (char *l = strtok_r(r.said, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		json_t *o = json_loads(l, 0, NULL);

		CHECK_STR(json_str_or(o, "schema", ""), "twice.load-progress/1");
		CHECK(json_int_or(o, "elapsed_ns", 0) > 0);
		CHECK(json_int_or(json_object_get(o, "outcomes"), "ok", -1) > 0);
		json_decref(o);
		lines++;
	}
	CHECK(lines >= 1 && lines <= 3);
	done(&r);
	RUN(&r, "--prompt", "hi", "--rate", "30", "--for", "1500ms", "--progress", "none",
	    "--client-lag", "5s", url_of(&f));
	CHECK_STR(r.said, "");
	done(&r);
	fake_stop(&f);
}

/* What --concurrency is by default must not hold up an open loop. */
static void an_open_loop_has_no_cap_of_its_own(void)
{
	struct fake f = fake_start("n=2,ttft=400ms,itl=5ms", NULL);
	struct run r;

	RUN(&r, "--prompt", "hi", "--arrival", "constant", "--rate", "50", "--requests", "40",
	    "--client-lag", "5s", url_of(&f));
	CHECK_TIME(r.status, 0, 0);
	CHECK(fake_truth(&f, "active_max") >= 15);
	CHECK_TIME((double)metric(r.v, "ttft.max") / 1e6, 400, 600);
	done(&r);
	fake_stop(&f);
}

/* 4 places of 50 ms: 80 requests a second at the most. */
static void a_search_ends_at_the_capacity(void)
{
	const char *const more[] = { "--slots", "4", NULL };
	struct fake f = fake_start("n=4,ttft=20ms,itl=10ms", more);
	struct run r;
	json_t *s, *p;
	double highest, lost;
	size_t i;

	RUN(&r, "--search", "--prompt", "hi", "--arrival", "constant", "--rate", "40", "--for",
	    "800ms", "--objective", "ttft<=200ms", "--share", "80%", "--client-lag", "5s",
	    url_of(&f));
	s = json_object_get(r.v, "search");
	CHECK_TIME(r.status, 0, 0);
	CHECK_STR(json_str_or(s, "end", ""), "found");
	highest = (double)json_int_or(s, "highest_rate_e6", 0) / 1e6;
	lost = (double)json_int_or(s, "lost_at_e6", 0) / 1e6;
	CHECK_TIME(highest, 40, 130);
	CHECK_TIME(lost / highest, 1, 1.11);
	json_array_foreach(json_object_get(s, "points"), i, p)
	{
		CHECK(json_int_or(p, "goodput_low_e9", -1) <= json_int_or(p, "goodput_e9", -2));
		CHECK_INT(json_bool_or(p, "held", false),
			  (double)json_int_or(p, "rate_e6", 0) / 1e6 <= highest + 1e-3);
	}
	CHECK(json_array_size(json_object_get(s, "points")) >= 4);
	done(&r);
	/* Objectives that no rate keeps, and none to keep. */
	RUN(&r, "--search", "--prompt", "hi", "--rate", "80", "--requests", "5", "--objective",
	    "ttft<=1ms", "--client-lag", "5s", url_of(&f));
	CHECK_TIME(r.status, 1, 1);
	CHECK_STR(json_str_or(json_object_get(r.v, "search"), "end", ""), "all_lost");
	done(&r);
	RUN(&r, "--search", "--prompt", "hi", url_of(&f));
	CHECK(r.status > 2);
	CHECK_HAS(r.text, "needs an objective");
	done(&r);
	fake_stop(&f);
}

/* Three clients on one schedule, and the same by hand. */
static void shards_are_merged_exactly(void)
{
	struct fake f = fake_start("n=4,ttft=10ms,itl=2ms", NULL);
	char *raw[4];
	struct run r, whole;
	char shard[8];

	for (int i = 0; i < 4; i++)
		raw[i] = xasprintf("%s/%d.zst", test_dir(), i);
	RUN(&r, "--prompt", "hi", "--rate", "60", "--requests", "60", "--client-lag", "5s",
	    "--shards", "3", "--raw", raw[3], url_of(&f));
	CHECK_TIME(r.status, 0, 0);
	CHECK_INT(metric(r.v, "requests.ok"), 60 * COUNTED);
	CHECK_INT(fake_truth(&f, "requests"), 60);
	CHECK_INT(json_int_or(r.v, "attempts", 0), 60);
	/* They began together, and in time. */
	CHECK(json_int_or(r.v, "start_asked_at_ms", 0) > 1000000);
	CHECK_TIME((double)json_int_or(r.v, "start_late_ns", -1) / 1e6, 0, 0);
	CHECK_TIME((double)(json_int_or(r.v, "started_at_ms", 0) -
			    json_int_or(r.v, "start_asked_at_ms", 0)),
		   -1, 1);
	for (int i = 0; i < 3; i++) {
		struct run one;

		snprintf(shard, sizeof(shard), "%d/3", i);
		RUN(&one, "--prompt", "hi", "--rate", "60", "--requests", "60", "--client-lag",
		    "5s", "--shard", shard, "--raw", raw[i], url_of(&f));
		CHECK_INT(metric(one.v, "requests.ok"), 20 * COUNTED);
		done(&one);
	}
	RUN(&whole, "--merge", raw[0], "--merge", raw[1], "--merge", raw[2]);
	CHECK_INT(metric(whole.v, "requests.ok"), 60 * COUNTED);
	CHECK_STR(json_str_or(json_object_get(whole.v, "conf"), "schedule_digest", "a"),
		  json_str_or(json_object_get(r.v, "conf"), "schedule_digest", "b"));
	done(&whole);
	RUN(&whole, "--merge", raw[0], "--merge", raw[2]);
	CHECK_HAS(whole.text, "2 of 3 shards are there");
	done(&whole);
	/* What the merge wrote is a result like any other. */
	RUN(&whole, "--replay", raw[3]);
	CHECK_STR(whole.text, r.text);
	done(&whole);
	done(&r);
	for (int i = 0; i < 4; i++)
		free(raw[i]);
	/* A launcher that can't start is an error, not a result. */
	RUN(&r, "--prompt", "hi", "--requests", "4", "--shards", "2", "--launcher", "false {shard}",
	    "--rate", "50", url_of(&f));
	CHECK(r.status > 2);
	done(&r);
	RUN(&r, "--prompt", "hi", "--requests", "4", "--shards", "2", "--launcher",
	    "env SHARD={shard}", "--lead", "400ms", "--rate", "50", "--client-lag", "5s",
	    url_of(&f));
	CHECK_INT(metric(r.v, "requests.ok"), 4 * COUNTED);
	done(&r);
	fake_stop(&f);
}

static void what_is_to_begin_later_does(void)
{
	static const char *const wrong[] = { "soon", "-5", "99999999999999",
					     "2026-13-01T10:04:00.000Z" };
	struct fake f = fake_start("n=2,ttft=5ms,itl=1ms", NULL);
	int64_t when = clock_wall_ms() + 700;
	AUTO_FREE char *at = xasprintf("%lld", (long long)when);
	AUTO_FREE char *utc = time_utc(clock_wall_ms() - 5000);
	struct run r;

	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "3", "--start-at", at, url_of(&f));
	CHECK(clock_wall_ms() >= when);
	CHECK_TIME((double)(json_int_or(r.v, "started_at_ms", 0) - when), 0, 20);
	done(&r);
	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "3", "--start-at", utc, url_of(&f));
	CHECK(json_int_or(r.v, "start_late_ns", 0) >= 4999 * NS_PER_MS);
	CHECK_INT(metric(r.v, "requests.ok"), 3 * COUNTED);
	done(&r);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		RUN(&r, "--prompt", "hi", "--requests", "1", "--start-at", wrong[i], url_of(&f));
		CHECK_INT(r.status, 64);
		CHECK_HAS(r.text, "--start-at");
		done(&r);
	}
	fake_stop(&f);
}

static void requests_go_through_a_proxys_tunnel(void)
{
	struct fake f = fake_start("n=4,ttft=10ms,itl=2ms", NULL);
	struct proxy p = proxy_start("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n");
	struct proxy no = proxy_start("HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n");
	char proxy[64];
	struct run r;
	json_t *why;

	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", p.port);
	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "20", "--client-lag", "5s",
	    "--proxy", proxy, url_of(&f));
	CHECK_TIME(r.status, 0, 0);
	CHECK_INT(metric(r.v, "requests.ok"), 20 * COUNTED);
	CHECK_INT(fake_truth(&f, "requests"), 20);
	CHECK_STR(json_str_or(json_object_get(r.v, "conf"), "proxy", ""), proxy);
	done(&r);
	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", no.port);
	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "3", "--client-lag", "5s",
	    "--proxy", proxy, url_of(&f));
	CHECK_INT(metric(r.v, "requests.ok"), 0);
	why = json_array_get(json_object_get(r.v, "failures"), 0);
	CHECK_STR(json_str_or(why, "outcome", ""), "connect");
	CHECK_STR(json_str_or(why, "detail", ""), "refused by the proxy");
	done(&r);
	CHECK_INT(fake_truth(&f, "requests"), 20);
	proxy_stop(&p);
	proxy_stop(&no);
	fake_stop(&f);
}

static void the_servers_counters_stand_beside_ours(void)
{
	struct fake f = fake_start("n=8,ttft=20ms,itl=5ms", NULL);
	struct fake liar = fake_start("n=8,ttft=20ms,itl=5ms,usage=none,tpc=2", NULL);
	struct run r;
	json_t *s;

	RUN(&r, "--prompt", "hi", "--rate", "20", "--for", "2500ms", "--client-lag", "5s",
	    url_of(&f));
	s = json_object_get(r.v, "server");
	CHECK_STR(json_str_or(s, "kind", ""), "vllm");
	CHECK(json_array_size(json_object_get(s, "at_ns")) >= 3);
	CHECK_INT(json_array_size(json_object_get(json_object_get(s, "series_e6"), "running")),
		  json_array_size(json_object_get(s, "at_ns")));
	CHECK_INT(json_int_or(json_object_get(s, "totals_e6"), "output_tokens", 0),
		  8 * 1000 * metric(r.v, "requests.ok"));
	CHECK_INT(json_int_or(json_object_get(s, "totals_e6"), "requests", 0),
		  1000 * metric(r.v, "requests.ok"));
	CHECK(json_bool_or(s, "tokens_agree", false));
	done(&r);
	/* Two tokens an event and no usage: our count is a lower bound, and that shows. */
	RUN(&r, "--prompt", "hi", "--rate", "20", "--requests", "10", "--client-lag", "5s",
	    url_of(&liar));
	CHECK(!json_bool_or(json_object_get(r.v, "server"), "tokens_agree", true));
	done(&r);
	RUN(&r, "--prompt", "hi", "--rate", "20", "--requests", "2", "--client-lag", "5s",
	    "--server-metrics", "off", url_of(&liar));
	CHECK(!json_object_get(r.v, "server"));
	done(&r);
	fake_stop(&f);
	fake_stop(&liar);
}

/* Answers every connection with a head and then without an end. */
static pid_t endless_start(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char junk[65536];
	pid_t pid;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 16) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	*ret_port = ntohs(a.sin_port);
	memset(junk, 'x', sizeof(junk));
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int c; (c = accept(fd, NULL, NULL)) >= 0; close(c)) {
			if (fork() != 0)
				continue;
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			dprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
			while (send(c, junk, sizeof(junk), MSG_NOSIGNAL) > 0)
				;
			_exit(0);
		}
		_exit(0);
	}
	close(fd);
	return pid;
}

static void a_page_without_an_end_holds_nothing_up(void)
{
	int port;
	pid_t pid = endless_start(&port);
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d", port);
	int64_t start = clock_ns();
	struct run r;

	RUN(&r, "--prompt", "hi", "--rate", "20", "--requests", "2", "--timeout", "500ms", url);
	CHECK(!json_object_get(r.v, "server"));
	CHECK_INT(metric(r.v, "requests.ok"), 0);
	CHECK(clock_ns() - start < 20 * NS_PER_S);
	done(&r);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

static void says_where_an_answer_begins_to_differ(void)
{
	struct fake f = fake_start("n=8,ttft=10ms,itl=1ms,usage=every", NULL);
	AUTO_FREE char *golden = xasprintf("%s/golden.jsonl", test_dir());
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	struct run r;
	json_t *o, *d;
	char *answer;
	size_t n;
	FILE *out;

	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "2", "--client-lag", "5s",
	    "--save-golden", golden, url_of(&f));
	done(&r);
	CHECK_OK(file_read(golden, MIB, &text, &n, &err), err);
	o = json_loads(text, 0, NULL);
	answer = xstrdup(json_str_or(o, "answer", ""));
	CHECK(strlen(answer) >= 8);
	/* The last character is in the last event. */
	answer[strlen(answer) - 1] ^= 1;
	out = fopen(golden, "w");
	fprintf(out, "{\"id\":\"1\",\"answer\":\"%s\"}\n", answer);
	fclose(out);
	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "2", "--client-lag", "5s",
	    "--golden", golden, "--golden-tolerance", "30%", url_of(&f));
	d = json_array_get(json_object_get(r.v, "differences"), 0);
	CHECK_INT(json_int_or(d, "event", -1), 7);
	CHECK_INT(json_int_or(d, "token", -1), 7);
	CHECK_INT(json_int_or(d, "character", -1), (int64_t)strlen(answer) - 1);
	CHECK_STR(json_str_or(d, "match", ""), "near");
	CHECK_INT(metric(r.v, "answers.match"), 0);
	CHECK_INT(metric(r.v, "answers.near"), 1000000000);
	done(&r);
	/* All as wanted, but more was wanted. */
	answer[strlen(answer) - 1] ^= 1;
	out = fopen(golden, "w");
	fprintf(out, "{\"id\":\"1\",\"answer\":\"%s and more\"}\n", answer);
	fclose(out);
	RUN(&r, "--prompt", "hi", "--rate", "50", "--requests", "2", "--client-lag", "5s",
	    "--golden", golden, url_of(&f));
	d = json_array_get(json_object_get(r.v, "differences"), 0);
	CHECK_INT(json_int_or(d, "event", -1), 8);
	CHECK_STR(json_str_or(d, "match", ""), "different");
	done(&r);
	free(answer);
	json_decref(o);
	fake_stop(&f);
}

TEST_MAIN(TEST(a_replay_gives_the_same_numbers), TEST(a_file_like_vllms_says_the_same),
	  TEST(ctrl_c_gives_what_there_is_marked_so), TEST(progress_is_an_object_a_line),
	  TEST(a_client_that_stood_still_is_the_limit), TEST(an_open_loop_has_no_cap_of_its_own),
	  TEST(a_search_ends_at_the_capacity), TEST(shards_are_merged_exactly),
	  TEST(what_is_to_begin_later_does), TEST(requests_go_through_a_proxys_tunnel),
	  TEST(the_servers_counters_stand_beside_ours),
	  TEST(a_page_without_an_end_holds_nothing_up), TEST(says_where_an_answer_begins_to_differ))
