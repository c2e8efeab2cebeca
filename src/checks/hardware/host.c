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
		      "governor clocksource smt, and kernel.* vm.* net.* of /proc/sys"),
	{ 0 },
};

static const struct {
	const char *name, *path;
	bool chosen; /* "always [madvise] never": the one in brackets */
} known[] = {
	{ "thp", "/sys/kernel/mm/transparent_hugepage/enabled", true },
	{ "numa_balancing", "/proc/sys/kernel/numa_balancing", false },
	{ "swappiness", "/proc/sys/vm/swappiness", false },
	{ "overcommit", "/proc/sys/vm/overcommit_memory", false },
	{ "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", false },
	{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	  false },
	{ "smt", "/sys/devices/system/cpu/smt/control", false },
};

static char *path_of(const char *name, bool *chosen)
{
	*chosen = false;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (streq(known[i].name, name)) {
			*chosen = known[i].chosen;
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
		bool chosen;
		AUTO_FREE char *path = path_of(c->settings.v[i].name, &chosen);
		const char *near = nearest_name(c->settings.v[i].name, names);

		if (!path)
			return bail(err, ERR_PARSE, "unknown setting '%s'%s%s%s",
				    c->settings.v[i].name, near ? " (nearest: '" : "",
				    near ? near : "", near ? "')" : "");
	}
	return 0;
}

static char *value_of(const char *path, bool chosen)
{
	char *line = file_first_line(path);
	char *open = line && chosen ? strchr(line, '[') : NULL;
	char *close = open ? strchr(open, ']') : NULL;

	if (close) {
		char *v = xstrndup(open + 1, (size_t)(close - open - 1));

		free(line);
		return v;
	}
	return line;
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

	(void)ctx;
	(void)err;
	for (size_t i = 0; i < c->settings.n; i++) {
		const char *name = c->settings.v[i].name, *want = c->settings.v[i].value;
		bool chosen;
		AUTO_FREE char *path = path_of(name, &chosen);
		AUTO_FREE char *got = path ? value_of(path, chosen) : NULL;

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
