/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory bandwidth by the triad a[i] = b[i] + s c[i] of STREAM (McCalpin 1995), counted as STREAM
 * counts it: three doubles an element, no write allocation. The operands are small integers, so the
 * right result is known exactly and every element is compared afterwards.
 */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "stat/stat.h"
#include <pthread.h>

struct bandwidth_conf {
	int64_t size_bytes, threads, repeats;
	struct limit at_least;
};

static const struct field bandwidth_fields[] = {
	FIELD_AS("size", bandwidth_conf, size_bytes, .type = FIELD_BYTES, .def = "64 MiB",
		 .min = "1 MiB", .max = "16 GiB",
		 .help = "of each of the three arrays; several times the last-level cache"),
	FIELD(bandwidth_conf, threads, .type = FIELD_INT, .def = "0", .min = "0", .max = "1024",
	      .help = "0: one for each processor that may be used"),
	FIELD(bandwidth_conf, repeats, .type = FIELD_INT, .def = "9", .min = "3", .max = "1000",
	      .help = "passes; the median counts, the best is kept too"),
	FIELD(bandwidth_conf, at_least, .type = FIELD_LIMIT, .unit = UNIT_BYTES_PER_S,
	      .help = "\">= 10 GB/s\"; none: results must be right, the number is kept"),
	{ 0 },
};

/* Threads begin when all of them are there, or end when one could not be made. */
enum state { WAIT, GO, QUIT };

struct start {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state;
};

struct part {
	double *a, *b, *c;
	size_t from, to;
	struct start *start;
	pthread_barrier_t *gate;
	const bool *enough; /* written between two gates only */
	uint64_t wrong;
};

static enum state wait_start(struct start *s)
{
	enum state now;

	(void)pthread_mutex_lock(&s->lock);
	while (s->state == WAIT)
		(void)pthread_cond_wait(&s->changed, &s->lock);
	now = s->state;
	(void)pthread_mutex_unlock(&s->lock);
	return now;
}

static void set_start(struct start *s, enum state to)
{
	(void)pthread_mutex_lock(&s->lock);
	s->state = to;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

static void *work(void *arg)
{
	struct part *p = arg;
	const double s = 3;

	if (wait_start(p->start) == QUIT)
		return NULL;
	/* First touch by the thread that uses it: NUMA places it there. */
	for (size_t i = p->from; i < p->to; i++) {
		p->a[i] = 0;
		p->b[i] = (double)(i & 1023);
		p->c[i] = (double)(i & 511);
	}
	for (;;) {
		(void)pthread_barrier_wait(p->gate);
		if (*p->enough)
			break;
		for (size_t i = p->from; i < p->to; i++)
			p->a[i] = p->b[i] + s * p->c[i];
		(void)pthread_barrier_wait(p->gate);
	}
	for (size_t i = p->from; i < p->to; i++)
		p->wrong += p->a[i] != (double)(i & 1023) + s * (double)(i & 511);
	return NULL;
}

static unsigned make_threads(struct part *parts, pthread_t *ids, unsigned wanted)
{
	unsigned made = 0;

	while (made < wanted && pthread_create(&ids[made], NULL, work, &parts[made]) == 0)
		made++;
	return made;
}

/* The passes, timed from here; how many were made before somebody interrupted. */
static int64_t passes(const struct check_ctx *ctx, const struct bandwidth_conf *conf, size_t n,
		      pthread_barrier_t *gate, bool *enough, double *ret_samples)
{
	int64_t r = 0;

	for (; r < conf->repeats && !*ctx->cancel; r++) {
		int64_t start;

		report(ctx, "triad", "", (double)r / (double)conf->repeats, -1);
		(void)pthread_barrier_wait(gate);
		start = clock_ns();
		(void)pthread_barrier_wait(gate);
		ret_samples[r] =
			3.0 * (double)n * sizeof(double) / ((double)(clock_ns() - start) / 1e9);
	}
	*enough = true;
	(void)pthread_barrier_wait(gate);
	return r;
}

static int triad(const struct check_ctx *ctx, const struct bandwidth_conf *conf, unsigned threads,
		 double *ret_samples, uint64_t *ret_wrong, struct err *err)
{
	struct start start = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, WAIT };
	size_t n = (size_t)conf->size_bytes / sizeof(double);
	AUTO_FREE double *mem = aligned_alloc(4096, (3 * n * sizeof(double) + 4095) / 4096 * 4096);
	AUTO_FREE struct part *parts = xcalloc(threads, sizeof(*parts));
	AUTO_FREE pthread_t *ids = xcalloc(threads, sizeof(*ids));
	pthread_barrier_t gate;
	bool enough = false;
	int64_t made_passes = 0;
	unsigned made;

	if (!mem)
		return bail(err, ERR_LIMIT, "no memory for three arrays of %lld bytes",
			    (long long)conf->size_bytes);
	(void)pthread_barrier_init(&gate, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		parts[i] = (struct part){ mem,
					  mem + n,
					  mem + 2 * n,
					  n * i / threads,
					  n * (i + 1) / threads,
					  &start,
					  &gate,
					  &enough,
					  0 };
	made = make_threads(parts, ids, threads);
	set_start(&start, made == threads ? GO : QUIT);
	if (made == threads)
		made_passes = passes(ctx, conf, n, &gate, &enough, ret_samples);
	*ret_wrong = 0;
	for (unsigned i = 0; i < made; i++) {
		(void)pthread_join(ids[i], NULL);
		*ret_wrong += parts[i].wrong;
	}
	(void)pthread_barrier_destroy(&gate);
	if (made < threads)
		return bail(err, ERR_LIMIT, "only %u of %u threads could be started", made,
			    threads);
	if (made_passes < conf->repeats)
		return bail(err, ERR_INTERRUPTED, "interrupted");
	return 0;
}

static int bandwidth_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			 struct err *err)
{
	const struct bandwidth_conf *c = conf;
	AUTO_FREE double *v = xcalloc((size_t)c->repeats, sizeof(double));
	struct measurement *m;
	uint64_t wrong = 0;
	unsigned threads = (unsigned)c->threads;
	double mid;

	if (!threads)
		threads = MAX(cpus_usable(), 1u);
	if (triad(ctx, c, threads, v, &wrong, err) < 0)
		return ends_err(o, RESULT_ERROR, err);
	mid = median(v, (size_t)c->repeats);
	m = measurements_add(&o->measured, "memory_bandwidth", UNIT_BYTES_PER_S, HIGHER_IS_BETTER,
			     mid);
	m->samples = xcalloc((size_t)c->repeats, sizeof(double));
	memcpy(m->samples, v, (size_t)c->repeats * sizeof(double));
	m->n_samples = (size_t)c->repeats;
	sort_doubles(v, (size_t)c->repeats);
	measurements_add(&o->measured, "memory_bandwidth.best", UNIT_BYTES_PER_S, HIGHER_IS_BETTER,
			 v[c->repeats - 1]);
	if (wrong)
		return ends(o, RESULT_FAIL, "%llu of the results are wrong",
			    (unsigned long long)wrong);
	if (!limit_holds(&c->at_least, mid)) {
		AUTO_FREE char *got = quantity_text(mid, UNIT_BYTES_PER_S);
		AUTO_FREE char *limit = limit_text(&c->at_least);

		return ends(o, RESULT_FAIL, "memory bandwidth is %s, limit %s", got, limit);
	}
	o->result = RESULT_PASS;
	return 0;
}

const struct check check_memory_bandwidth = {
	.schema = { .name = "memory_bandwidth",
		    .layers = 1u << LAYER_HARDWARE,
		    .fields = bandwidth_fields,
		    .conf_size = sizeof(struct bandwidth_conf),
		    .help = "triad of STREAM, every result compared" },
	.run = bandwidth_run,
};
