/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of memory and buses that the kernel counts: the difference while memory is written and
 * read back for a while. What comes back is compared too, so that a machine without counters is
 * not believed on its word either.
 */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"

struct ecc_conf {
	int64_t for_ns, size_bytes;
	struct limit corrected, uncorrected, before;
};

static const struct field ecc_fields[] = {
	FIELD_AS("for", ecc_conf, for_ns, .type = FIELD_DURATION, .def = "2 s", .min = "1 ms",
		 .max = "1 h", .help = "how long memory is written and compared"),
	FIELD_AS("size", ecc_conf, size_bytes, .type = FIELD_BYTES, .def = "64 MiB", .min = "1 MiB",
		 .max = "64 GiB", .help = "of that memory"),
	FIELD(ecc_conf, uncorrected, .type = FIELD_LIMIT, .unit = UNIT_COUNT, .def = "0",
	      .help = "new uncorrected errors meanwhile"),
	FIELD(ecc_conf, corrected, .type = FIELD_LIMIT, .unit = UNIT_COUNT, .def = "0",
	      .help = "new corrected errors meanwhile"),
	FIELD(ecc_conf, before, .type = FIELD_LIMIT, .unit = UNIT_COUNT,
	      .help = "uncorrected errors since the machine was started"),
	{ 0 },
};

/* One pass: a pattern of its own, so that a stuck bit shows in one of two passes. */
static uint64_t pass(volatile uint64_t *v, size_t n, uint64_t number)
{
	uint64_t wrong = 0,
		 pattern = number & 1 ? UINT64_C(0xaaaaaaaaaaaaaaaa) : UINT64_C(0x5555555555555555);

	for (size_t i = 0; i < n; i++)
		v[i] = pattern ^ i ^ number << 32;
	for (size_t i = 0; i < n; i++)
		wrong += v[i] != (pattern ^ i ^ number << 32);
	return wrong;
}

static int exercise(const struct check_ctx *ctx, const struct ecc_conf *c, uint64_t *ret_wrong,
		    struct err *err)
{
	size_t n = (size_t)c->size_bytes / sizeof(uint64_t);
	AUTO_FREE uint64_t *v = malloc(n * sizeof(*v));
	int64_t start = clock_ns(), spent = 0;

	if (!v)
		return bail(err, ERR_LIMIT, "no memory of %lld bytes", (long long)c->size_bytes);
	*ret_wrong = 0;
	for (uint64_t k = 0; k < 2 || spent < c->for_ns; k++, spent = clock_ns() - start) {
		if (*ctx->cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted");
		report(ctx, "memory", "", MIN((double)spent / (double)c->for_ns, 1.0),
		       MAX(c->for_ns - spent, 0));
		*ret_wrong += pass(v, n, k);
	}
	return 0;
}

static void measured(struct outcome *o, const char *name, double v)
{
	measurements_add(&o->measured, name, UNIT_COUNT, LOWER_IS_BETTER, v);
}

static bool holds(struct outcome *o, const char *what, const struct limit *l, double v)
{
	AUTO_FREE char *limit = limit_text(l);

	if (limit_holds(l, v))
		return true;
	ends(o, RESULT_FAIL, "%.0f %s, limit %s", v, what, limit);
	return false;
}

static int ecc_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		   struct err *err)
{
	const struct ecc_conf *c = conf;
	struct counters a, b;
	uint64_t wrong;

	counters_read(ctx, &a);
	if (exercise(ctx, c, &wrong, err) < 0)
		return ends_err(o, RESULT_ERROR, err);
	counters_read(ctx, &b);
	measured(o, "memory.wrong_words", (double)wrong);
	if (wrong)
		return ends(o, RESULT_FAIL, "%llu words came back wrong from memory",
			    (unsigned long long)wrong);
	if (!a.ecc || !b.ecc)
		return ends(o, RESULT_SKIP, "no counter of errors here (EDAC, amdgpu, PCIe)");
	measured(o, "ecc.uncorrected", b.uncorrected - a.uncorrected);
	measured(o, "ecc.corrected", b.corrected - a.corrected);
	measured(o, "ecc.uncorrected_before", a.uncorrected);
	if (b.uncorrected < a.uncorrected || b.corrected < a.corrected)
		return ends(o, RESULT_ERROR, "the counters of errors began anew meanwhile");
	if (holds(o, "new uncorrected errors", &c->uncorrected, b.uncorrected - a.uncorrected) &&
	    holds(o, "new corrected errors", &c->corrected, b.corrected - a.corrected) &&
	    holds(o, "uncorrected errors since the start", &c->before, a.uncorrected))
		o->result = RESULT_PASS;
	return 0;
}

const struct check check_ecc = {
	.schema = { .name = "ecc",
		    .layers = 1u << LAYER_HARDWARE,
		    .fields = ecc_fields,
		    .conf_size = sizeof(struct ecc_conf),
		    .help = "memory written and compared; what error counters say meanwhile" },
	.run = ecc_run,
};
