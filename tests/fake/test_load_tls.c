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
	CHECK(bench_get(&b, "ttft.p50") - bench_get(&b, "ttft_from_start.p50") >=
	      bench_get(&b, "tls.p50"));
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

TEST_MAIN(TEST(streams_with_stamps_over_tls), TEST(keeps_the_handshake_apart),
	  TEST(one_handshake_serves_many_requests), TEST(refuses_whom_it_cannot_trust),
	  TEST(trusts_by_name), TEST(failures_are_told_apart_inside_tls))
