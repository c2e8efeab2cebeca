/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and memory that this process really has: affinity and control group, not the
 * machine's. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include <math.h>

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

/* "max 100000" or "60000 100000" of version 2. */
static double quota_v2(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, "cpu.max");
	AUTO_FREE char *line = file_first_line(path);
	struct sv rest = sv_of(line), a, b;
	int64_t x, y;

	if (!sv_word(&rest, &a) || !sv_word(&rest, &b) || sv_is(a, "max"))
		return INFINITY;
	if (!sv_to_i64(a, 1, INT64_MAX, &x) || !sv_to_i64(b, 1, INT64_MAX, &y))
		return NAN;
	return (double)x / (double)y;
}

/* Two files of version 1, -1 for no quota. */
static double quota_v1(const char *dir)
{
	AUTO_FREE char *quota_path = path_join(dir, "cpu.cfs_quota_us");
	AUTO_FREE char *period_path = path_join(dir, "cpu.cfs_period_us");
	AUTO_FREE char *quota = file_first_line(quota_path);
	AUTO_FREE char *period = file_first_line(period_path);
	int64_t x, y;

	if (!quota || !period)
		return INFINITY;
	if (!sv_to_i64(sv_of(quota), -1, INT64_MAX, &x) ||
	    !sv_to_i64(sv_of(period), 1, INT64_MAX, &y))
		return NAN;
	return x < 0 ? INFINITY : (double)x / (double)y;
}

static double memory_v2(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, "memory.max");
	AUTO_FREE char *line = file_first_line(path);
	uint64_t v;

	if (!line || streq(line, "max"))
		return INFINITY;
	return sv_to_u64(sv_of(line), &v) ? (double)v : NAN;
}

static double memory_v1(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, "memory.limit_in_bytes");
	AUTO_FREE char *line = file_first_line(path);
	uint64_t v;

	if (!line)
		return INFINITY;
	return sv_to_u64(sv_of(line), &v) ? (double)v : NAN;
}

/* The path of this process in the hierarchy of a controller (NULL: version 2); caller frees. */
static char *group_path(const struct check_ctx *ctx, const char *controller)
{
	AUTO_FREE char *file = ctx_system(ctx, "/proc/self/cgroup");
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	struct sv rest, line, id, names, name;
	size_t n;

	if (file_read(file, MIB, &text, &n, &err) < 0)
		return NULL;
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		/* "4:cpu,cpuacct:/a/b", and "0::/a/b" for version 2: cgroups(7) */
		if (!sv_split(&line, ':', &id) || !sv_split(&line, ':', &names))
			continue;
		if (!controller && !names.n)
			return sv_dup(line);
		while (controller && sv_split(&names, ',', &name))
			if (sv_is(name, controller))
				return sv_dup(line);
	}
	return NULL;
}

/* The least that any group on the way up grants. NAN: what is there can't be read. */
static double lowest(const struct check_ctx *ctx, const char *controller, const char *base,
		     double (*of)(const char *dir))
{
	AUTO_FREE char *group = group_path(ctx, controller);
	AUTO_FREE char *top = ctx_system(ctx, base);
	AUTO_FREE char *dir = xasprintf("%s%s", top, group ? group : "");
	size_t least = strlen(top);
	double low = INFINITY;

	for (;;) {
		double v = of(dir);

		if (isnan(v))
			return NAN;
		low = MIN(low, v);
		if (strlen(dir) <= least)
			return low;
		*strrchr(dir, '/') = '\0';
	}
}

static double quota(const struct check_ctx *ctx)
{
	double a = lowest(ctx, NULL, "/sys/fs/cgroup", quota_v2);
	double b = lowest(ctx, "cpu", "/sys/fs/cgroup/cpu", quota_v1);

	return isnan(a) || isnan(b) ? NAN : MIN(a, b);
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
	unsigned found = cpus_usable();
	double n = found ? (double)found : NAN, granted = quota(ctx);

	(void)err;
	o->result = RESULT_PASS;
	measurements_add(&o->measured, "cpus", UNIT_COUNT, HIGHER_IS_BETTER, n);
	if (isfinite(granted))
		measurements_add(&o->measured, "cpu_quota", UNIT_COUNT, HIGHER_IS_BETTER, granted);
	(void)hold(o, "processors", &c->count, n);
	if (o->result == RESULT_PASS)
		(void)hold(o, "processor quota", &c->quota, granted);
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

static double memory_bytes(const struct check_ctx *ctx)
{
	AUTO_FREE char *path = ctx_system(ctx, "/proc/meminfo");
	double a = lowest(ctx, NULL, "/sys/fs/cgroup", memory_v2);
	double b = lowest(ctx, "memory", "/sys/fs/cgroup/memory", memory_v1);
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	struct sv rest, line, word;
	double total = NAN;
	uint64_t v;
	size_t n;

	if (isnan(a) || isnan(b) || file_read(path, MIB, &text, &n, &err) < 0)
		return NAN;
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		if (!sv_starts(line, "MemTotal:"))
			continue;
		(void)sv_word(&line, &word);
		if (sv_word(&line, &word) && sv_to_u64(word, &v))
			total = (double)v * 1024; /* "kB" there is 1024 bytes: proc(5) */
	}
	return isnan(total) ? NAN : MIN(total, MIN(a, b));
}

static int memory_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	const struct memory_conf *c = conf;
	double bytes = memory_bytes(ctx);
	AUTO_FREE char *got = quantity_text(bytes, UNIT_BYTES);
	AUTO_FREE char *limit = limit_text(&c->size);

	(void)err;
	measurements_add(&o->measured, "memory", UNIT_BYTES, HIGHER_IS_BETTER, bytes);
	if (isnan(bytes))
		return ends(o, RESULT_ERROR, "the size of the memory cannot be read here");
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
