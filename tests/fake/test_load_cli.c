/* SPDX-License-Identifier: Apache-2.0 */
/* `twice load` as a program: what it prints, writes and exits with. */
#include "load_lib.h"

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

static void progress_is_an_object_a_line(void)
{
	struct fake f = fake_start("n=4,ttft=10ms,itl=2ms", NULL);
	struct run r;
	char *save = NULL;
	int lines = 0;

	RUN(&r, "--prompt", "hi", "--rate", "30", "--for", "2200ms", "--progress", "json",
	    "--client-lag", "5s", url_of(&f));
	CHECK_INT(r.status, 0);
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
	CHECK_INT(r.status, 0);
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
	CHECK_INT(r.status, 0);
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
	CHECK_INT(r.status, 1);
	CHECK_STR(json_str_or(json_object_get(r.v, "search"), "end", ""), "all_lost");
	done(&r);
	RUN(&r, "--search", "--prompt", "hi", url_of(&f));
	CHECK(r.status > 2);
	CHECK_HAS(r.text, "needs an objective");
	done(&r);
	fake_stop(&f);
}

TEST_MAIN(TEST(a_replay_gives_the_same_numbers), TEST(ctrl_c_gives_what_there_is_marked_so),
	  TEST(progress_is_an_object_a_line), TEST(an_open_loop_has_no_cap_of_its_own),
	  TEST(a_search_ends_at_the_capacity))
