/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the host that are known to matter, held to what the contract says. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"

struct host_conf {
	struct pairs settings;
};

static const struct field host_fields[] = {
	FIELD(host_conf, settings, .type = FIELD_MAP, .need = true,
	      .help = "name: wanted text, several with |: thp numa_balancing swappiness overcommit "
		      "governor clocksource smt iommu pcie_aspm thp_defrag numa_reclaim, and "
		      "kernel.* vm.* net.* "
		      "of /proc/sys"),
	{ 0 },
};

enum how {
	PLAIN,    /* the first line */
	CHOSEN,   /* "always [madvise] never": the one in brackets */
	EACH_CPU, /* of every processor */
	IOMMU,    /* what its groups do, or "off" */
};

static const struct {
	const char *name, *path;
	enum how how;
} known[] = {
	{ "thp", "/sys/kernel/mm/transparent_hugepage/enabled", CHOSEN },
	{ "thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag", CHOSEN },
	{ "numa_balancing", "/proc/sys/kernel/numa_balancing", PLAIN },
	{ "numa_reclaim", "/proc/sys/vm/zone_reclaim_mode", PLAIN },
	{ "swappiness", "/proc/sys/vm/swappiness", PLAIN },
	{ "overcommit", "/proc/sys/vm/overcommit_memory", PLAIN },
	{ "governor", "cpufreq/scaling_governor", EACH_CPU },
	{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	  PLAIN },
	{ "smt", "/sys/devices/system/cpu/smt/control", PLAIN },
	{ "pcie_aspm", "/sys/module/pcie_aspm/parameters/policy", CHOSEN },
	{ "iommu", "/sys/kernel/iommu_groups", IOMMU },
};

static char *path_of(const char *name, enum how *how)
{
	*how = PLAIN;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (streq(known[i].name, name)) {
			*how = known[i].how;
			return xstrdup(known[i].path);
		}
	}
	if (str_starts(name, "kernel.") || str_starts(name, "vm.") || str_starts(name, "net.")) {
		char *path = xasprintf("/proc/sys/%s", name);

		for (char *p = path + 10; *p; p++)
			*p = *p == '.' ? '/' : *p;
		return path;
	}
	return NULL;
}

static int host_valid(void *conf, struct err *err)
{
	const struct host_conf *c = conf;
	const char *names[ARRAY_SIZE(known) + 1] = { NULL };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		names[i] = known[i].name;
	for (size_t i = 0; i < c->settings.n; i++) {
		enum how how;
		AUTO_FREE char *path = path_of(c->settings.v[i].name, &how);
		const char *near = nearest_name(c->settings.v[i].name, names);

		if (!path)
			return bail(err, ERR_PARSE, "unknown setting '%s'%s%s%s",
				    c->settings.v[i].name, near ? " (nearest: '" : "",
				    near ? near : "", near ? "')" : "");
	}
	return 0;
}

static char *joined(const struct strs *l)
{
	struct str s = { 0 };

	for (size_t i = 0; i < l->n; i++)
		str_addf(&s, "%s%s", i ? ", " : "", l->v[i]);
	return l->n ? str_steal(&s) : NULL;
}

/* The different values of a file in every folder of `dir` that begins with `prefix`. */
static char *values_of(const char *dir, const char *prefix, const char *file, bool *ret_listed)
{
	struct strs names CLEANUP(strs_release) = { 0 }, values CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	*ret_listed = dir_list(dir, &names, &err) == 0;
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/%s", dir, names.v[i], file);
		AUTO_FREE char *v = str_starts(names.v[i], prefix) ? file_first_line(path) : NULL;

		if (v && !strs_has(&values, v))
			strs_add(&values, v);
	}
	strs_sort(&values);
	return joined(&values);
}

static char *chosen(char *line)
{
	char *open = line ? strchr(line, '[') : NULL;
	char *close = open ? strchr(open, ']') : NULL;
	char *v = close ? xstrndup(open + 1, (size_t)(close - open - 1)) : NULL;

	if (!v)
		return line;
	free(line);
	return v;
}

/* NULL: cannot be read. */
static char *value_of(const struct check_ctx *ctx, const char *setting, enum how how)
{
	AUTO_FREE char *path = ctx_system(ctx, setting);
	AUTO_FREE char *cpus = ctx_system(ctx, "/sys/devices/system/cpu");
	bool listed;
	char *v;

	switch (how) {
	case CHOSEN:
		return chosen(file_first_line(path));
	case EACH_CPU:
		return values_of(cpus, "cpu", setting, &listed);
	case IOMMU:
		/* A kernel with IOMMU support has the folder, empty while nothing is translated. */
		v = values_of(path, "", "type", &listed);
		return v || !listed ? v : xstrdup("off");
	case PLAIN:
	default:
		return file_first_line(path);
	}
}

static bool one_of(const char *wanted, const char *got)
{
	struct sv rest = sv_of(wanted), part;

	while (sv_split(&rest, '|', &part))
		if (sv_is(sv_trim(part), got))
			return true;
	return false;
}

static int host_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		    struct err *err)
{
	const struct host_conf *c = conf;
	struct str wrong CLEANUP(str_release) = { 0 }, unknown CLEANUP(str_release) = { 0 };

	(void)err;
	for (size_t i = 0; i < c->settings.n; i++) {
		const char *name = c->settings.v[i].name, *want = c->settings.v[i].value;
		enum how how;
		AUTO_FREE char *path = path_of(name, &how);
		AUTO_FREE char *got = path ? value_of(ctx, path, how) : NULL;

		if (!got)
			str_addf(&unknown, "%s%s", unknown.n ? ", " : "", name);
		else if (!one_of(want, got))
			str_addf(&wrong, "%s%s is '%s', wanted '%s'", wrong.n ? "; " : "", name,
				 got, want);
	}
	if (wrong.n)
		return ends(o, RESULT_FAIL, "%s", str_text(&wrong));
	if (unknown.n)
		return ends(o, RESULT_ERROR, "cannot be read here: %s", str_text(&unknown));
	o->result = RESULT_PASS;
	return 0;
}

const struct check check_host = {
	.schema = { .name = "host",
		    .layers = 1u << LAYER_HARDWARE,
		    .fields = host_fields,
		    .conf_size = sizeof(struct host_conf),
		    .valid = host_valid,
		    .help = "settings of the kernel and the host" },
	.run = host_run,
};
