/* SPDX-License-Identifier: Apache-2.0 */
#include "cert.h"
#include "load_lib.h"

static char cert_path[128], key_path[128];

static struct fake start_tls(struct bench *b, const char *script, const char *names)
{
	const char *more[] = { "--tls", cert_path, key_path, NULL };
	struct fake f;

	cert_make(test_dir(), names, cert_path, key_path);
	f = fake_start(script, more);
	bench_init(b, &f);
	snprintf(b->url, sizeof(b->url), "https://127.0.0.1:%d", f.port);
	b->conf.tls_ca = cert_path;
	return f;
}

static void all_ok(const struct bench *b)
{
	for (size_t i = 0; i < b->res.n; i++)
		if (b->res.v[i].outcome != LOAD_OK)
			test_fails(__FILE__, __LINE__, "request %zu is %s (%s)", i,
				   load_outcome_name(b->res.v[i].outcome), b->res.v[i].detail);
}

static void streams_with_stamps_over_tls(void)
{
	struct bench b;
	struct fake f = start_tls(&b, "n=8,ttft=50ms,itl=10ms", "IP:127.0.0.1");

	bench_run(&b);
	all_ok(&b);
	CHECK_TIME(bench_ms(&b, "ttft.p50"), 50, 120);
	CHECK_TIME(bench_ms(&b, "itl.p50"), 8, 15);
	CHECK_INT(b.res.audit.events, 80);
	CHECK_INT(b.res.audit.unstamped, 0);
	CHECK(b.res.v[0].tls_ns > 0 && b.res.v[0].connect_ns >= 0);
	bench_done(&b);
	fake_stop(&f);
}

/* A handshake for each request is time of its own, in ttft but also apart. */
static void keeps_the_handshake_apart(void)
{
	struct bench b;
	struct fake f = start_tls(&b, "n=2,ttft=10ms,itl=1ms,keep=0", "IP:127.0.0.1");

	bench_run(&b);
	all_ok(&b);
	for (size_t i = 0; i < b.res.n; i++) {
		const struct load_req *r = &b.res.v[i];

		CHECK(r->tls_ns > 0 && r->connect_ns > 0 && !r->reused);
		/* What ttft has of it is what ttft_from_start has not. */
		CHECK(r->started - r->begun >= r->tls_ns + r->connect_ns);
	}
	/* Request by request above: medians do not add up. */
	CHECK(bench_get(&b, "tls.p50") > 0 &&
	      bench_get(&b, "ttft.p50") > bench_get(&b, "ttft_from_start.p50"));
	bench_done(&b);
	fake_stop(&f);
	f = start_tls(&b, "n=2,ttft=10ms,itl=1ms", "IP:127.0.0.1");
	b.conf.warmup_count = 1;
	bench_run(&b);
	all_ok(&b);
	CHECK(b.res.v[0].reused && b.res.v[0].tls_ns == LOAD_NONE);
	bench_done(&b);
	fake_stop(&f);
}

static void counts_handshakes(bool keep, int at_least, int at_most)
{
	struct bench b;
	struct fake f = start_tls(&b, "n=2,ttft=5ms,itl=1ms", "IP:127.0.0.1");
	int fresh = 0;

	b.conf.no_keep_alive = !keep;
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 1;
	bench_run(&b);
	all_ok(&b);
	for (size_t i = 0; i < b.res.n; i++)
		fresh += b.res.v[i].tls_ns != LOAD_NONE;
	CHECK_TIME(fresh, at_least, at_most);
	bench_done(&b);
	fake_stop(&f);
}

static void one_handshake_serves_many_requests(void)
{
	counts_handshakes(/* keep= */ true, 1, 2);
	counts_handshakes(/* keep= */ false, 10, 10);
}

static void refuses_whom_it_cannot_trust(void)
{
	struct bench b;
	struct fake f = start_tls(&b, "n=2,ttft=5ms,itl=1ms", "IP:127.0.0.1");

	b.conf.tls_ca = NULL; /* the system knows nothing of this one */
	bench_run(&b);
	for (size_t i = 0; i < b.res.n; i++) {
		CHECK_INT(b.res.v[i].outcome, LOAD_CONNECT);
		CHECK_STR(b.res.v[i].detail, "TLS handshake failed");
	}
	bench_done(&b);
	fake_stop(&f);
	f = start_tls(&b, "n=2,ttft=5ms,itl=1ms", "DNS:elsewhere.example,IP:127.0.0.9");
	bench_run(&b);
	CHECK_INT(b.res.v[0].outcome, LOAD_CONNECT);
	bench_done(&b);
	bench_init(&b, &f);
	snprintf(b.url, sizeof(b.url), "https://127.0.0.1:%d", f.port);
	b.conf.tls_insecure = true;
	bench_run(&b);
	all_ok(&b);
	CHECK(b.res.tls_insecure);
	bench_done(&b);
	fake_stop(&f);
}

static void trusts_by_name(void)
{
	struct bench b;
	struct fake f = start_tls(&b, "n=2,ttft=5ms,itl=1ms", "DNS:localhost");

	snprintf(b.url, sizeof(b.url), "https://localhost:%d", f.port);
	bench_run(&b);
	all_ok(&b);
	bench_done(&b);
	fake_stop(&f);
}

static void failures_are_told_apart_inside_tls(void)
{
	static const struct {
		const char *script;
		enum load_outcome want;
	} cases[] = {
		{ "n=9,end=cut,at=3,ttft=5ms,itl=1ms", LOAD_CUT },
		{ "n=9,err=4,ttft=5ms,itl=1ms", LOAD_ERROR_EVENT },
		{ "n=6,ttft=5ms,itl=1ms,frame=close", LOAD_OK },
		{ "n=6,ttft=5ms,itl=1ms,split=1,utf8=1", LOAD_OK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;
		struct fake f = start_tls(&b, cases[i].script, "IP:127.0.0.1");

		b.conf.count = 3;
		bench_run(&b);
		for (size_t k = 0; k < b.res.n; k++)
			if (b.res.v[k].outcome != cases[i].want)
				test_fails(__FILE__, __LINE__, "%s: %s (%s)", cases[i].script,
					   load_outcome_name(b.res.v[k].outcome),
					   b.res.v[k].detail);
		bench_done(&b);
		fake_stop(&f);
	}
}

/* ---- the server's own metrics ---------------------------------------------------------------- */

static void counted_the_same(const struct bench *b)
{
	CHECK(b->res.server.n >= 2);
	CHECK_STR(b->res.server.kind, "vllm");
	CHECK_NEAR(load_server_total(&b->res.server, LOAD_SERVER_OUTPUT_TOKENS),
		   (double)b->res.audit.events, 0.5);
}

static void its_metrics_are_read_over_tls_by_the_same_key(void)
{
	const char *more[] = { "--tls", cert_path, key_path, "--key", "s3cret", NULL };
	struct bench b;
	struct fake f;

	cert_make(test_dir(), "IP:127.0.0.1", cert_path, key_path);
	f = fake_start("n=4,ttft=5ms,itl=1ms", more);
	bench_init(&b, &f);
	snprintf(b.url, sizeof(b.url), "https://127.0.0.1:%d", f.port);
	b.conf.tls_ca = cert_path;
	b.conf.server_metrics = "auto";
	CHECK_INT(setenv("LOAD_TEST_KEY", "s3cret", 1), 0);
	b.conf.key_env = "LOAD_TEST_KEY";
	bench_run(&b);
	all_ok(&b);
	counted_the_same(&b);
	bench_done(&b);
	/* Without the key there is no page: that is no error, nobody asked for one. */
	bench_init(&b, &f);
	snprintf(b.url, sizeof(b.url), "https://127.0.0.1:%d", f.port);
	b.conf.tls_ca = cert_path;
	b.conf.server_metrics = "auto";
	bench_run(&b);
	all_ok(&b);
	CHECK_INT(b.res.server.n, 0);
	bench_done(&b);
	fake_stop(&f);
}

static void no_page(struct bench *b, const char *url)
{
	struct err err = ERR_INIT;

	b->conf.server_metrics = url;
	CHECK(load_run(&b->conf, &b->res, &err) < 0);
	CHECK_HAS(err.msg, "no metrics known here");
}

static void a_page_elsewhere_gets_no_key_and_is_not_trusted_blindly(void)
{
	const char *keyed[] = { "--key", "s3cret", NULL };
	const char *other[] = { "--tls", cert_path, key_path, NULL };
	struct fake f, page;
	struct bench b;
	char url[128];

	cert_make(test_dir(), "DNS:elsewhere", cert_path, key_path);
	f = fake_start("n=2,ttft=5ms,itl=1ms", NULL);
	page = fake_start("", keyed);
	CHECK_INT(setenv("LOAD_TEST_KEY", "s3cret", 1), 0);
	bench_init(&b, &f);
	b.conf.key_env = "LOAD_TEST_KEY";
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/metrics", page.port);
	no_page(&b, url);
	fake_stop(&page);
	page = fake_start("", other);
	snprintf(url, sizeof(url), "https://127.0.0.1:%d/metrics", page.port);
	no_page(&b, url);
	bench_done(&b);
	fake_stop(&page);
	fake_stop(&f);
}

static void metrics_behind_a_unix_socket(void)
{
	char path[128];
	const char *more[] = { "--unix", path, NULL };
	struct str url CLEANUP(str_release) = { 0 };
	struct fake f;
	struct bench b;

	snprintf(path, sizeof(path), "%s/m.sock", test_dir());
	f = fake_start("n=3,ttft=5ms,itl=1ms", more);
	bench_init(&b, &f);
	str_add(&url, "http+unix://");
	for (const char *p = path; *p; p++)
		str_addf(&url, *p == '/' ? "%%2F" : "%c", *p);
	b.conf.url = str_text(&url);
	b.conf.server_metrics = "auto";
	bench_run(&b);
	all_ok(&b);
	counted_the_same(&b);
	bench_done(&b);
	fake_stop(&f);
}

TEST_MAIN(TEST(streams_with_stamps_over_tls), TEST(keeps_the_handshake_apart),
	  TEST(one_handshake_serves_many_requests), TEST(refuses_whom_it_cannot_trust),
	  TEST(trusts_by_name), TEST(failures_are_told_apart_inside_tls),
	  TEST(its_metrics_are_read_over_tls_by_the_same_key),
	  TEST(a_page_elsewhere_gets_no_key_and_is_not_trusted_blindly),
	  TEST(metrics_behind_a_unix_socket))
