/* SPDX-License-Identifier: Apache-2.0 */
/* What this session may use: resource limits, control groups (v1 and v2), processors. */
#include "capture/probes.h"
#include "capture/tally.h"

#define UNLIMITED_BYTES (UINT64_C(1) << 62) /* v1 prints 2^63 less a page for "none" */

/* "Max open files            1024                 1048576              files" */
static void put_limit(struct source *s, struct sv text, const char *label, const char *name)
{
	struct sv line, rest, soft;

	while (sv_line(&text, &line)) {
		AUTO_FREE char *value = NULL;

		if (!sv_starts(line, label))
			continue;
		rest = (struct sv){ line.p + strlen(label), line.n - strlen(label) };
		if (!sv_word(&rest, &soft))
			break;
		value = sv_dup(soft);
		put(s, CL_HOST, name, value, "/proc/self/limits");
		return;
	}
	src_why(s, "no line '%s'", label);
	put(s, CL_HOST, name, NULL, "/proc/self/limits");
}

static void put_limits(struct source *s)
{
	static const struct {
		const char *label, *name;
	} limits[] = {
		{ "Max locked memory", "ulimit.memlock" },
		{ "Max open files", "ulimit.nofile" },
		{ "Max stack size", "ulimit.stack" },
		{ "Max processes", "ulimit.nproc" },
	};
	AUTO_FREE char *text = src_text(s, "/proc/self/limits", 16 * KIB);

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (text)
			put_limit(s, sv_of(text), limits[i].label, limits[i].name);
		else
			put(s, CL_HOST, limits[i].name, NULL, "/proc/self/limits");
	}
}

/* ---- control groups
 * --------------------------------------------------------------------------------
 * A limit of any ancestor holds for all below, so the smallest on the way to the root counts. */

struct cgroup {
	char *path; /* below its mount */
	const char *mount;
	bool v2;
};

/* Lines "N:controllers:path"; v2 is "0::path". v1 wins when it has the controller. */
static bool cgroup_of(struct sv text, const char *controller, struct cgroup *ret)
{
	struct sv line, part, list, path;
	bool found = false;

	while (sv_line(&text, &line)) {
		struct sv rest = line;

		if (!sv_split(&rest, ':', &part) || !sv_split(&rest, ':', &list))
			continue;
		path = rest;
		if (sv_is(part, "0") && list.n == 0 && !found) {
			free(ret->path);
			ret->path = sv_dup(path);
			ret->v2 = found = true;
			continue;
		}
		while (sv_split(&list, ',', &part)) {
			if (!sv_is(part, controller))
				continue;
			free(ret->path);
			ret->path = sv_dup(path);
			ret->v2 = false;
			return true;
		}
	}
	return found;
}

static char *cgroup_file(struct source *s, const struct cgroup *g, const char *path,
			 const char *controller, const char *file)
{
	AUTO_FREE char *full = NULL;

	if (g->v2)
		full = xasprintf("/sys/fs/cgroup%s/%s", streq(path, "/") ? "" : path, file);
	else
		full = xasprintf("/sys/fs/cgroup/%s%s/%s", controller, streq(path, "/") ? "" : path,
				 file);
	return src_line(s, full);
}

static bool up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || (slash == path && !path[1]))
		return false;
	if (slash == path)
		path[1] = '\0';
	else
		*slash = '\0';
	return true;
}

/* CPUs by quota at one place; 0: no quota there. */
static double quota_at(struct source *s, const struct cgroup *g, const char *path)
{
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;
	double quota, period;

	if (g->v2) {
		struct sv rest, q, p;

		a = cgroup_file(s, g, path, "cpu", "cpu.max");
		rest = sv_of(a);
		if (!a || !sv_word(&rest, &q) || !sv_word(&rest, &p) || !sv_to_f64(q, &quota) ||
		    !sv_to_f64(p, &period) || period <= 0)
			return 0;
		return quota / period;
	}
	a = cgroup_file(s, g, path, "cpu", "cpu.cfs_quota_us");
	b = cgroup_file(s, g, path, "cpu", "cpu.cfs_period_us");
	if (!a || !b || !sv_to_f64(sv_of(a), &quota) || !sv_to_f64(sv_of(b), &period) ||
	    quota <= 0 || period <= 0)
		return 0;
	return quota / period;
}

static uint64_t memory_at(struct source *s, const struct cgroup *g, const char *path)
{
	AUTO_FREE char *a =
		cgroup_file(s, g, path, "memory", g->v2 ? "memory.max" : "memory.limit_in_bytes");
	uint64_t n;

	if (!a || !sv_to_u64(sv_of(a), &n) || n >= UNLIMITED_BYTES)
		return 0;
	return n;
}

static void put_cpu_quota(struct source *s, struct sv groups)
{
	struct cgroup g = { 0 };
	AUTO_FREE char *path = NULL;
	double least = 0;

	if (!cgroup_of(groups, "cpu", &g)) {
		put(s, CL_HOST, "cgroup.cpu", NONE_FOUND, "/proc/self/cgroup");
		return;
	}
	path = g.path;
	do {
		double here = quota_at(s, &g, path);

		if (here > 0 && (least == 0 || here < least))
			least = here;
	} while (up(path));
	if (least > 0)
		putf(s, CL_HOST, "cgroup.cpu", "/sys/fs/cgroup", "%.2f CPUs", least);
	else
		put(s, CL_HOST, "cgroup.cpu", "no limit", "/sys/fs/cgroup");
}

static void put_memory_limit(struct source *s, struct sv groups)
{
	struct cgroup g = { 0 };
	AUTO_FREE char *path = NULL;
	uint64_t least = 0;

	if (!cgroup_of(groups, "memory", &g)) {
		put(s, CL_HOST, "cgroup.memory", NONE_FOUND, "/proc/self/cgroup");
		return;
	}
	path = g.path;
	do {
		uint64_t here = memory_at(s, &g, path);

		if (here && (!least || here < least))
			least = here;
	} while (up(path));
	if (least)
		putf(s, CL_HOST, "cgroup.memory", "/sys/fs/cgroup", "%.0f MiB",
		     (double)least / (double)MIB);
	else
		put(s, CL_HOST, "cgroup.memory", "no limit", "/sys/fs/cgroup");
}

static void put_allowed(struct source *s)
{
	AUTO_FREE char *text = src_text(s, "/proc/self/status", 16 * KIB);
	AUTO_FREE char *cpus = NULL;
	struct sv v;

	if (text && line_of(sv_of(text), "Cpus_allowed_list", ':', &v))
		cpus = sv_dup(v);
	else if (text)
		src_why(s, "no line Cpus_allowed_list");
	put(s, CL_HOST, "cpus_allowed", cpus, "/proc/self/status");
}

static void limits_run(struct source *s)
{
	AUTO_FREE char *groups = NULL;

	put_limits(s);
	put_allowed(s);
	groups = src_text(s, "/proc/self/cgroup", 16 * KIB);
	if (groups) {
		put_cpu_quota(s, sv_of(groups));
		put_memory_limit(s, sv_of(groups));
	} else {
		put(s, CL_HOST, "cgroup.cpu", NULL, "/proc/self/cgroup");
		put(s, CL_HOST, "cgroup.memory", NULL, "/proc/self/cgroup");
	}
}

const struct probe probe_limits = { "limits", "resource limits, control groups, processors allowed",
				    false, limits_run };
