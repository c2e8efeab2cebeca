/* SPDX-License-Identifier: Apache-2.0 */
/* The operating system, the kernel and the settings of the host that move results. */
#include "base/redact.h"
#include "capture/probes.h"
#include "capture/tally.h"

/* ---- os -------------------------------------------------------------------------------------- */

static char *unquoted(struct sv v)
{
	if (v.n >= 2 && (v.p[0] == '"' || v.p[0] == '\'') && v.p[v.n - 1] == v.p[0])
		v = (struct sv){ v.p + 1, v.n - 2 };
	return sv_dup(v);
}

static void os_run(struct source *s)
{
	AUTO_FREE char *text = src_text(s, "/etc/os-release", 16 * KIB);
	AUTO_FREE char *debian = NULL;
	AUTO_FREE char *name = NULL;
	struct sv v;

	if (!text || !line_of(sv_of(text), "PRETTY_NAME", '=', &v)) {
		put(s, CL_HOST, "os", NULL, "/etc/os-release");
		return;
	}
	name = unquoted(v);
	/* Debian's point release stands only there; Ubuntu's is in PRETTY_NAME. */
	if (line_of(sv_of(text), "ID", '=', &v) && sv_is(v, "debian"))
		debian = src_line(s, "/etc/debian_version");
	putf(s, CL_HOST, "os", "/etc/os-release", "%s%s%s", name, debian ? ", " : "",
	     debian ? debian : "");
}

const struct probe probe_os = { "os", "operating system and release", false, os_run };

/* ---- kernel and boot parameters -------------------------------------------------------------- */

/* Parameters that change from boot to boot or machine to machine without changing how it computes.
 * */
static bool boot_noise(struct sv word)
{
	static const char *const names[] = {
		"BOOT_IMAGE", "root",       "initrd",   "ro",          "rw",         "quiet",
		"splash",     "console",    "resume",   "rootflags",   "rootfstype", "rd.luks.uuid",
		"rd.lvm.lv",  "vt.handoff", "loglevel", "earlyprintk", "rootwait"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (sv_starts(word, names[i]) && (word.n == n || word.p[n] == '='))
			return true;
	}
	return false;
}

/* Parameters worth a line of their own: they explain slow or failing accelerators. */
static bool boot_matters(struct sv name)
{
	static const char *const names[] = {
		"iommu",
		"amd_iommu",
		"intel_iommu",
		"numa_balancing",
		"pci",
		"mitigations",
		"hugepages",
		"hugepagesz",
		"default_hugepagesz",
		"transparent_hugepage",
		"isolcpus",
		"nohz_full",
		"rcu_nocbs",
		"nosmt",
		"idle",
		"amd_pstate",
		"intel_pstate",
		"processor.max_cstate",
		"intel_idle.max_cstate",
		"swiotlb",
		"pcie_aspm",
		"modprobe.blacklist",
		"cgroup_no_v1",
		"numa",
		"mem",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (sv_is(name, names[i]))
			return true;
	return sv_starts(name, "amdgpu.") || sv_starts(name, "nvidia.") ||
	       sv_starts(name, "nvidia_drm.") || sv_starts(name, "amdttm.");
}

static struct sv name_part(struct sv word)
{
	const char *eq = memchr(word.p, '=', word.n);

	return (struct sv){ word.p, eq ? (size_t)(eq - word.p) : word.n };
}

static void put_parameters(struct source *s, struct pairs *params)
{
	for (size_t i = 0; i < params->n; i++) {
		AUTO_FREE char *name = xasprintf("boot.%s", params->v[i].name);
		struct str all CLEANUP(str_release) = { 0 };
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen = seen || streq(params->v[k].name, params->v[i].name);
		if (seen)
			continue;
		for (size_t k = i; k < params->n; k++)
			if (streq(params->v[k].name, params->v[i].name))
				str_addf(&all, "%s%s", all.n ? " " : "", params->v[k].value);
		put(s, CL_HOST, name, str_text(&all), "/proc/cmdline");
	}
}

static void boot_run(struct source *s)
{
	AUTO_FREE char *line = src_line(s, "/proc/cmdline");
	struct str rest CLEANUP(str_release) = { 0 };
	struct pairs params CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *clean = NULL;
	struct sv text = sv_of(line), word;

	if (!line) {
		put(s, CL_HOST, "kernel.cmdline", NULL, "/proc/cmdline");
		return;
	}
	/* What follows "--" is for init, not for the kernel. */
	while (sv_word(&text, &word) && !sv_is(word, "--")) {
		struct sv name = name_part(word);

		if (boot_noise(word))
			continue;
		if (boot_matters(name)) {
			AUTO_FREE char *n = sv_dup(name);
			AUTO_FREE char *v = name.n < word.n
						    ? sv_dup((struct sv){ name.p + name.n + 1,
									  word.n - name.n - 1 })
						    : xstrdup("on");

			pairs_add(&params, n, v);
			continue;
		}
		str_addf(&rest, "%s" SV_FMT, rest.n ? " " : "", SV_ARG(word));
	}
	clean = redact_text(sv_str(&rest), NULL);
	put_note(put(s, CL_HOST, "kernel.cmdline", clean[0] ? clean : "none", "/proc/cmdline"),
		 "without boot.NAME and without the root device, console and the like");
	put_parameters(s, &params);
}

static void kernel_run(struct source *s)
{
	AUTO_FREE char *release = src_line(s, "/proc/sys/kernel/osrelease");
	AUTO_FREE char *version = release ? src_line(s, "/proc/sys/kernel/version") : NULL;

	if (release && version)
		putf(s, CL_HOST, "kernel", "/proc/sys/kernel/osrelease", "%s %s", release, version);
	else
		put(s, CL_HOST, "kernel", NULL, "/proc/sys/kernel/osrelease");
	boot_run(s);
}

const struct probe probe_kernel = { "kernel", "kernel release, version, boot parameters", false,
				    kernel_run };

/* ---- settings -------------------------------------------------------------------------------- */

/* A setting of one line. A kernel built without it has no file: that is a value too. */
static void put_setting(struct source *s, const char *name, const char *path, bool in_brackets)
{
	AUTO_FREE char *line = src_line(s, path);
	AUTO_FREE char *value = line && in_brackets ? bracketed(line) : NULL;

	if (!line && src_absent(s, path))
		put(s, CL_HOST, name, NONE_FOUND, path);
	else
		put(s, CL_HOST, name, value ? value : line, path);
}

static void put_governor(struct source *s)
{
	static const char dir[] = "/sys/devices/system/cpu/cpufreq";
	struct strs names CLEANUP(strs_release) = { 0 };
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;

	if (!src_list(s, dir, &names) && !src_absent(s, dir)) {
		put(s, CL_HOST, "governor", NULL, dir);
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *gov = NULL;
		AUTO_FREE char *drv = NULL;
		AUTO_FREE char *path = NULL;
		AUTO_FREE char *path2 = NULL;
		AUTO_FREE char *both = NULL;

		if (!str_starts(names.v[i], "policy"))
			continue;
		path = xasprintf("%s/%s/scaling_governor", dir, names.v[i]);
		path2 = xasprintf("%s/%s/scaling_driver", dir, names.v[i]);
		gov = src_line(s, path);
		drv = src_line(s, path2);
		both = xasprintf("%s (%s)", gov ? gov : "unknown", drv ? drv : "unknown");
		tally_add(&t, both);
	}
	text = tally_text(&t);
	put(s, CL_HOST, "governor", text ? text : NONE_FOUND, dir);
}

static void host_run(struct source *s)
{
	put_setting(s, "thp", "/sys/kernel/mm/transparent_hugepage/enabled", true);
	put_setting(s, "thp.defrag", "/sys/kernel/mm/transparent_hugepage/defrag", true);
	put_setting(s, "numa_balancing", "/proc/sys/kernel/numa_balancing", false);
	put_setting(s, "overcommit", "/proc/sys/vm/overcommit_memory", false);
	put_setting(s, "swappiness", "/proc/sys/vm/swappiness", false);
	put_setting(s, "hugepages", "/proc/sys/vm/nr_hugepages", false);
	put_setting(s, "clocksource",
		    "/sys/devices/system/clocksource/clocksource0/current_clocksource", false);
	put_setting(s, "smt", "/sys/devices/system/cpu/smt/control", false);
	put_setting(s, "aslr", "/proc/sys/kernel/randomize_va_space", false);
	put_governor(s);
}

const struct probe probe_host = { "host", "memory, scheduling and frequency settings", false,
				  host_run };
