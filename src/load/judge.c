/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was the client fit to measure this? Limits are set against what was measured, like against like:
 * the
 * median lag of sending matters as a share of the median latency, its 99th percentile as a share
 * of the
 * latency's. Receiving late does not move kernel stamps, so it counts only where stamps are
 * missing or
 * where it merged events.
 */
#include "load/gather.h"

#include <math.h>

#define LAG_P50_FLOOR_NS NS_PER_MS /* sending this late is never a reason */
#define LAG_P99_FLOOR_NS (5 * NS_PER_MS)
#define LAG_P50_SHARE    0.05
#define LAG_P99_SHARE    0.10
#define CPU_SHARE        0.90
#define MERGED_SHARE     0.10 /* of token events, merged because they were read late */
#define MERGED_TOLERANT  0.50 /* ... when the caller tolerates a lag */
#define UNSTAMPED        0.01
#define OFFERED          0.99 /* of the requests scheduled have to be begun */
#define RATE_SHARE       0.95

/* Of ttft, or of e2e where nothing streams. NAN: no request succeeded. */
static double latency(const struct load_result *r, double p)
{
	AUTO_FREE double *first = NULL;
	AUTO_FREE double *whole = NULL;
	size_t n = load_samples(r, LOAD_TTFT, &first);

	if (n)
		return load_quantile(first, n, p);
	n = load_samples(r, LOAD_E2E, &whole);
	return load_quantile(whole, n, p);
}

static void reason(struct load_result *r, const char *fmt, ...) PRINTF(2, 3);
static void reason(struct load_result *r, const char *fmt, ...)
{
	struct load_audit *a = &r->audit;
	size_t n = strlen(a->reasons);
	va_list ap;

	if (n && n + 2 < sizeof(a->reasons)) {
		memcpy(a->reasons + n, "; ", 3);
		n += 2;
	}
	va_start(ap, fmt);
	(void)vsnprintf(a->reasons + n, sizeof(a->reasons) - n, fmt, ap);
	va_end(ap);
	a->client_limited = true;
}

static void judge_sending(struct load_result *r)
{
	const struct load_audit *a = &r->audit;
	double p50 = latency(r, 0.5), p99 = latency(r, 0.99);
	size_t dropped = 0;

	/* fmax takes the floor when there is no latency. */
	if (a->lag_p50_ns >
	    fmax(fmax((double)LAG_P50_FLOOR_NS, LAG_P50_SHARE * p50), (double)r->client_lag_ns))
		reason(r, "requests sent late: half of them %.1f ms or more", a->lag_p50_ns / 1e6);
	if (a->lag_p99_ns >
	    fmax(fmax((double)LAG_P99_FLOOR_NS, LAG_P99_SHARE * p99), (double)r->client_lag_ns))
		reason(r, "requests sent late: p99 %.1f ms after their time", a->lag_p99_ns / 1e6);
	for (size_t i = 0; i < r->n; i++)
		dropped += r->v[i].outcome == LOAD_DROPPED;
	if ((double)(r->n - dropped) < OFFERED * (double)r->n)
		reason(r, "%zu of %zu requests never sent: no free place in time", dropped, r->n);
	if (a->out_of_sockets)
		reason(r, "out of descriptors or local ports");
	if (!r->max_in_flight && a->rate_achieved < RATE_SHARE * a->rate_asked && !r->interrupted)
		reason(r, "sent %.4g requests/s of %.4g", a->rate_achieved, a->rate_asked);
}

static void judge_receiving(struct load_result *r)
{
	const struct load_audit *a = &r->audit;
	AUTO_FREE double *v = NULL;
	size_t n = load_samples(r, LOAD_ITL, &v);
	double limit = (double)NS_PER_MS;

	if (n)
		limit = fmax(limit, LAG_P50_SHARE * load_quantile(v, n, 0.5));
	limit = fmax(limit, (double)r->client_lag_ns);
	if ((double)a->late >
	    (r->client_lag_ns ? MERGED_TOLERANT : MERGED_SHARE) * (double)a->events)
		reason(r, "%.1f %% of token events read late and merged",
		       100 * (double)a->late / (double)a->events);
	/* Without stamps nothing tells how late we read, but waiting for a CPU bounds it from
	 * below. */
	if ((double)a->unstamped > UNSTAMPED * (double)a->events && a->runq_ns >= 0 && a->wakes &&
	    (double)a->runq_ns / (double)a->wakes > limit)
		reason(r, "no kernel stamps, and %.1f ms a wake waited for a CPU",
		       (double)a->runq_ns / (double)a->wakes / 1e6);
}

void audit_judge(struct load_result *r)
{
	r->audit.client_limited = false;
	r->audit.reasons[0] = '\0';
	if (r->engine != LOAD_ENGINE_HTTP)
		return;
	judge_sending(r);
	judge_receiving(r);
	/* A closed loop drives as hard as it can; being busy is its nature, being late shows above.
	 */
	if (r->arrival != LOAD_CLOSED && r->audit.cpu_share > CPU_SHARE)
		reason(r, "a loop used %.0f %% of a CPU", 100 * r->audit.cpu_share);
}
