/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and memory that this process really has: affinity and control group, not the
 * machine's. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include <math.h>
#include <sched.h>
#include <unistd.h>

struct cpus_conf {
	struct limit count, quota;
};

static const struct field cpus_fields[] = {
	FIELD(cpus_conf, count, .type = FIELD_LIMIT, .unit = UNIT_COUNT,
	      .help = "processors that may be used (affinity)"),
	FIELD(cpus_conf, quota, .type = FIELD_LIMIT, .unit = UNIT_COUNT,
	      .help = "processors' worth of time the control group grants"),
	{ 0 },
};

static int cpus_valid(void *conf, struct err *err)
{
	const struct cpus_conf *c = conf;

	if (c->count.op == LIMIT_NONE && c->quota.op == LIMIT_NONE)
		return bail(err, ERR_PARSE,
			    "without a limit ('count' or 'quota') this could never fail");
	return 0;
}

/* Control group v2 "max 100000" or "60000 100000"; v1 in two files, -1 for no quota. */
static double quota(void)
{
	AUTO_FREE char *v2 = file_first_line("/sys/fs/cgroup/cpu.max");
	AUTO_FREE char *q = file_first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
	AUTO_FREE char *p = file_first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
	struct sv rest = sv_of(v2), a, b;
	int64_t x, y;

	if (v2 && sv_word(&rest, &a) && sv_word(&rest, &b)) {
		if (sv_is(a, "max"))
			return INFINITY;
		if (sv_to_i64(a, 1, INT64_MAX, &x) && sv_to_i64(b, 1, INT64_MAX, &y))
			return (double)x / (double)y;
		return NAN;
	}
	if (q && p && sv_to_i64(sv_of(q), -1, INT64_MAX, &x) &&
	    sv_to_i64(sv_of(p), 1, INT64_MAX, &y))
		return x < 0 ? INFINITY : (double)x / (double)y;
	return NAN;
}

static int hold(struct outcome *o, const char *what, const struct limit *l, double got)
{
	AUTO_FREE char *limit = limit_text(l);

	if (l->op == LIMIT_NONE)
		return 0;
	if (isnan(got))
		return ends(o, RESULT_ERROR, "%s cannot be read here", what);
	if (!limit_holds(l, got))
		return ends(o, RESULT_FAIL, "%s: %g, limit %s", what, got, limit);
	return 0;
}

static int cpus_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		    struct err *err)
{
	const struct cpus_conf *c = conf;
	cpu_set_t set;
	double n = NAN;

	(void)ctx;
	(void)err;
	o->result = RESULT_PASS;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	measurements_add(&o->measured, "cpus", UNIT_COUNT, HIGHER_IS_BETTER, n);
	(void)hold(o, "processors", &c->count, n);
	if (o->result == RESULT_PASS)
		(void)hold(o, "processor quota", &c->quota, quota());
	return 0;
}

const struct check check_cpus = {
	.schema = { .name = "cpus",
		    .layers = 1u << LAYER_HARDWARE,
		    .fields = cpus_fields,
		    .conf_size = sizeof(struct cpus_conf),
		    .valid = cpus_valid,
		    .help = "processors that this process may use" },
	.run = cpus_run,
};

/* ---- memory ---------------------------------------------------------------------------------- */

struct memory_conf {
	struct limit size;
};

static const struct field memory_fields[] = {
	FIELD(memory_conf, size, .type = FIELD_LIMIT, .unit = UNIT_BYTES, .need = true,
	      .help = "of the machine, or of the control group when that grants less"),
	{ 0 },
};

static double memory_bytes(void)
{
	static const char *const limits[] = { "/sys/fs/cgroup/memory.max",
					      "/sys/fs/cgroup/memory/memory.limit_in_bytes" };
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	struct sv rest, line, word;
	double total = NAN;
	uint64_t v;
	size_t n;

	if (file_read("/proc/meminfo", MIB, &text, &n, &err) < 0)
		return NAN;
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		if (!sv_starts(line, "MemTotal:"))
			continue;
		(void)sv_word(&line, &word);
		if (sv_word(&line, &word) && sv_to_u64(word, &v))
			total = (double)v * 1024; /* "kB" there is 1024 bytes: proc(5) */
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		AUTO_FREE char *l = file_first_line(limits[i]);

		if (l && sv_to_u64(sv_of(l), &v))
			total = MIN(total, (double)v);
	}
	return total;
}

static int memory_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	const struct memory_conf *c = conf;
	double bytes = memory_bytes();
	AUTO_FREE char *got = quantity_text(bytes, UNIT_BYTES);
	AUTO_FREE char *limit = limit_text(&c->size);

	(void)ctx;
	(void)err;
	measurements_add(&o->measured, "memory", UNIT_BYTES, HIGHER_IS_BETTER, bytes);
	if (isnan(bytes))
		return ends(o, RESULT_ERROR, "/proc/meminfo cannot be read");
	if (!limit_holds(&c->size, bytes))
		return ends(o, RESULT_FAIL, "memory is %s, limit %s", got, limit);
	o->result = RESULT_PASS;
	return 0;
}

const struct check check_memory = {
	.schema = { .name = "memory",
		    .layers = 1u << LAYER_HARDWARE,
		    .fields = memory_fields,
		    .conf_size = sizeof(struct memory_conf),
		    .help = "size of the memory" },
	.run = memory_run,
};
