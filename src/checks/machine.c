/* SPDX-License-Identifier: Apache-2.0 */
/* The machine while something is measured: who else used it, errors it counted, heat. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

static void stat_ticks(const struct check_ctx *ctx, uint64_t *busy, uint64_t *total)
{
	AUTO_FREE char *path = ctx_system(ctx, "/proc/stat");
	AUTO_FREE char *line = file_first_line(path);
	struct sv rest = sv_of(line), word;
	uint64_t v;

	*busy = *total = 0;
	if (!sv_word(&rest, &word) || !sv_is(word, "cpu"))
		return;
	/* user nice system idle iowait irq softirq steal: proc(5). guest is in user already. */
	for (int i = 0; i < 8 && sv_word(&rest, &word) && sv_to_u64(word, &v); i++) {
		*total += v;
		if (i != 3 && i != 4)
			*busy += v;
	}
}

int64_t self_cpu_ns(void)
{
	struct rusage a, b;

	(void)getrusage(RUSAGE_SELF, &a);
	(void)getrusage(RUSAGE_CHILDREN, &b);
	return ((int64_t)a.ru_utime.tv_sec + a.ru_stime.tv_sec + b.ru_utime.tv_sec +
		b.ru_stime.tv_sec) *
		       NS_PER_S +
	       ((int64_t)a.ru_utime.tv_usec + a.ru_stime.tv_usec + b.ru_utime.tv_usec +
		b.ru_stime.tv_usec) *
		       NS_PER_US;
}

unsigned cpus_usable(void)
{
	for (int most = 1024; most <= 1 << 20; most *= 4) {
		cpu_set_t *set = CPU_ALLOC((size_t)most);
		size_t size = CPU_ALLOC_SIZE((size_t)most);
		int n = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : -1;

		CPU_FREE(set);
		if (n > 0)
			return (unsigned)n;
		if (errno != EINVAL) /* EINVAL: the kernel's own set is larger than this one */
			return 0;
	}
	return 0;
}

void watch_start(const struct check_ctx *ctx, struct watch *w)
{
	w->start_ns = clock_ns();
	stat_ticks(ctx, &w->busy, &w->total);
	counters_read(ctx, &w->counters);
}

double watch_others(const struct check_ctx *ctx, const struct watch *w, int64_t own_ns)
{
	uint64_t busy, total;
	double ticks = (double)sysconf(_SC_CLK_TCK), others;

	stat_ticks(ctx, &busy, &total);
	if (!total || total <= w->total)
		return NAN;
	others = (double)(busy - w->busy) / ticks - (double)own_ns / 1e9;
	return MAX(0.0, MIN(1.0, others / ((double)(total - w->total) / ticks)));
}

/* ---- counters of the kernel ------------------------------------------------------------------ */

/* Adds the number in one file; false: it isn't there or holds none. */
static bool add_file(const char *dir, const char *name, double *sum)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *line = file_first_line(path);
	uint64_t v;

	if (!line || !sv_to_u64(sv_of(line), &v))
		return false;
	*sum += (double)v;
	return true;
}

/* Adds the number behind `word` in a text of "word number" lines. */
static bool add_line(const char *dir, const char *name, const char *word, double *sum)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	struct sv rest, line, first, number;
	uint64_t v;
	size_t n;

	if (file_read(path, MIB, &text, &n, &err) < 0)
		return false;
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		if (!sv_word(&line, &first) || !sv_is(first, word) || !sv_word(&line, &number) ||
		    !sv_to_u64(number, &v))
			continue;
		*sum += (double)v;
		return true;
	}
	return false;
}

typedef void each_fn(const char *dir, struct counters *c);

static void each(const struct check_ctx *ctx, const char *where, const char *prefix, each_fn *f,
		 struct counters *c)
{
	AUTO_FREE char *dir = ctx_system(ctx, where);
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	if (dir_list(dir, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path =
			str_starts(names.v[i], prefix) ? path_join(dir, names.v[i]) : NULL;

		if (path)
			f(path, c);
	}
}

/* Kernel: Documentation/admin-guide/RAS, EDAC. */
static void edac(const char *dir, struct counters *c)
{
	c->ecc |= add_file(dir, "ce_count", &c->corrected);
	c->ecc |= add_file(dir, "ue_count", &c->uncorrected);
}

/* Lines "ue: 0" and "ce: 0" in one file a block: Documentation/gpu/amdgpu/ras.rst. */
static void amdgpu(const char *dir, struct counters *c)
{
	AUTO_FREE char *ras = path_join(dir, "device/ras");
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	if (dir_list(ras, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		if (!str_ends(names.v[i], "_err_count"))
			continue;
		c->ecc |= add_line(ras, names.v[i], "ce:", &c->corrected);
		c->ecc |= add_line(ras, names.v[i], "ue:", &c->uncorrected);
	}
}

/* Documentation/ABI/testing/sysfs-bus-pci-devices-aer. */
static void aer(const char *dir, struct counters *c)
{
	c->ecc |= add_line(dir, "aer_dev_correctable", "TOTAL_ERR_COR", &c->corrected);
	c->ecc |= add_line(dir, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", &c->uncorrected);
	c->ecc |= add_line(dir, "aer_dev_fatal", "TOTAL_ERR_FATAL", &c->uncorrected);
}

static void throttle(const char *dir, struct counters *c)
{
	c->throttle |= add_file(dir, "thermal_throttle/core_throttle_count", &c->throttled);
}

void counters_read(const struct check_ctx *ctx, struct counters *ret)
{
	*ret = (struct counters){ 0 };
	each(ctx, "/sys/devices/system/edac/mc", "mc", edac, ret);
	each(ctx, "/sys/class/drm", "card", amdgpu, ret);
	each(ctx, "/sys/bus/pci/devices", "", aer, ret);
	each(ctx, "/sys/devices/system/cpu", "cpu", throttle, ret);
}

/* ---- while something is measured ------------------------------------------------------------- */

static struct outcome *doubtful(struct rep *r)
{
	struct outcome *o = VEC_ADD(&r->outcomes);

	o->check = xstrdup("workload/machine");
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	return o;
}

static void count(struct rep *r, const char *name, double v)
{
	measurements_add(&r->measured, name, UNIT_COUNT, LOWER_IS_BETTER, v);
}

void watch_end(const struct check_ctx *ctx, const struct watch *w, int64_t own_ns, struct rep *r)
{
	const struct counters *a = &w->counters;
	struct counters b;

	counters_read(ctx, &b);
	measurements_add(&r->measured, "host.others", UNIT_RATIO, LOWER_IS_BETTER,
			 watch_others(ctx, w, own_ns));
	if (a->ecc) {
		count(r, "host.ecc.corrected", b.corrected - a->corrected);
		count(r, "host.ecc.uncorrected", b.uncorrected - a->uncorrected);
	}
	if (a->throttle)
		count(r, "host.throttled", b.throttled - a->throttled);
	/* The beginnings of these reasons are what `gates.exclude` goes by. */
	if (b.uncorrected > a->uncorrected)
		ends(doubtful(r), RESULT_DOUBTFUL, "ecc_error: %.0f uncorrected errors meanwhile",
		     b.uncorrected - a->uncorrected);
	else if (b.uncorrected < a->uncorrected || b.ecc != a->ecc)
		ends(doubtful(r), RESULT_DOUBTFUL, "ecc_error: the counters of errors began anew");
	else if (b.throttled > a->throttled)
		ends(doubtful(r), RESULT_DOUBTFUL,
		     "throttled: processors were slowed down %.0f times",
		     b.throttled - a->throttled);
}
