/* SPDX-License-Identifier: Apache-2.0 */
/* Processor, memory, the machine itself, and what it runs on or in. */
#include "capture/probes.h"
#include "capture/tally.h"

#define CPUINFO "/proc/cpuinfo"
/* The first processor is enough, and the whole file takes milliseconds on a big machine. */
#define CPUINFO_HEAD (12 * KIB)

static bool has_word(struct sv list, const char *word)
{
	struct sv w;

	while (sv_word(&list, &w))
		if (sv_is(w, word))
			return true;
	return false;
}

static void put_features(struct source *s, struct sv flags)
{
	static const char *const matter[] = {
		"sse4_2",   "avx",      "avx2",        "fma",         "f16c",        "avx512f",
		"avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
		"amx_tile", "amx_int8", "amx_bf16",    "asimd",       "asimddp",     "sve",
		"sve2",     "i8mm",     "bf16",
	};
	struct str s_ CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(matter); i++)
		if (has_word(flags, matter[i]))
			str_addf(&s_, "%s%s", s_.n ? " " : "", matter[i]);
	put(s, CL_HARDWARE, "cpu.features", s_.n ? str_text(&s_) : NONE_FOUND, CPUINFO);
}

/* "0-3,8" -> 5; 0 when it can't be read. */
static int64_t list_count(const char *list)
{
	struct sv rest = sv_of(list), part, from;
	int64_t n = 0, a, b;

	while (list && sv_split(&rest, ',', &part)) {
		struct sv to = part;

		if (!sv_split(&to, '-', &from) || !sv_to_i64(from, 0, 1 << 20, &a))
			return 0;
		b = a;
		if (to.n && !sv_to_i64(to, a, 1 << 20, &b))
			return 0;
		n += b - a + 1;
	}
	return n;
}

static void put_topology(struct source *s)
{
	AUTO_FREE char *online = src_line(s, "/sys/devices/system/cpu/online");
	AUTO_FREE char *core = NULL;
	AUTO_FREE char *package = NULL;
	int64_t n = list_count(online), per_core, per_package;

	if (!n) {
		put(s, CL_HARDWARE, "cpu.topology", NULL, "/sys/devices/system/cpu/online");
		return;
	}
	core = src_line(s, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
	package = src_line(s, "/sys/devices/system/cpu/cpu0/topology/core_siblings_list");
	per_core = list_count(core);
	per_package = list_count(package);
	if (per_core && per_package && n % per_package == 0 && per_package % per_core == 0)
		putf(s, CL_HARDWARE, "cpu.topology", "/sys/devices/system/cpu",
		     "%lld x %lld cores x %lld threads = %lld", (long long)(n / per_package),
		     (long long)(per_package / per_core), (long long)per_core, (long long)n);
	else
		putf(s, CL_HARDWARE, "cpu.topology", "/sys/devices/system/cpu", "%lld processors",
		     (long long)n);
}

static void cpu_run(struct source *s)
{
	AUTO_FREE char *text = NULL;
	struct sv all, name, v, family = SV("?"), model = SV("?"), step = SV("?");
	AUTO_FREE char *microcode = NULL;

	put_topology(s);
	text = src_text(s, CPUINFO, CPUINFO_HEAD);
	all = sv_of(text);
	if (!text) {
		put(s, CL_HARDWARE, "cpu", NULL, CPUINFO);
		put(s, CL_HARDWARE, "cpu.features", NULL, CPUINFO);
		put(s, CL_FIRMWARE, "cpu.microcode", NULL, CPUINFO);
		return;
	}
	if (line_of(all, "model name", ':', &name)) {
		(void)line_of(all, "cpu family", ':', &family);
		(void)line_of(all, "model", ':', &model);
		(void)line_of(all, "stepping", ':', &step);
		putf(s, CL_HARDWARE, "cpu", CPUINFO,
		     SV_FMT " (family " SV_FMT " model " SV_FMT " stepping " SV_FMT ")",
		     SV_ARG(name), SV_ARG(family), SV_ARG(model), SV_ARG(step));
	} else if (line_of(all, "CPU implementer", ':', &name) &&
		   line_of(all, "CPU part", ':', &v)) {
		putf(s, CL_HARDWARE, "cpu", CPUINFO, "implementer " SV_FMT " part " SV_FMT,
		     SV_ARG(name), SV_ARG(v));
	} else {
		src_why(s, "no model name");
		put(s, CL_HARDWARE, "cpu", NULL, CPUINFO);
	}
	if (line_of(all, "flags", ':', &v) || line_of(all, "Features", ':', &v)) {
		put_features(s, v);
	} else {
		src_why(s, "no line flags");
		put(s, CL_HARDWARE, "cpu.features", NULL, CPUINFO);
	}
	if (line_of(all, "microcode", ':', &v))
		microcode = sv_dup(v);
	else
		src_why(s, "no line microcode");
	put(s, CL_FIRMWARE, "cpu.microcode", microcode, CPUINFO);
}

const struct probe probe_cpu = { "cpu", "processor, features, topology, microcode", false,
				 cpu_run };

/* ---- memory ---------------------------------------------------------------------------------- */

static void put_numa(struct source *s)
{
	AUTO_FREE char *online = src_line(s, "/sys/devices/system/node/online");
	struct str out CLEANUP(str_release) = { 0 };
	struct strs names CLEANUP(strs_release) = { 0 };
	int64_t n = 0;

	if (!online || !src_list(s, "/sys/devices/system/node", &names)) {
		if (src_absent(s, "/sys/devices/system/node"))
			put(s, CL_HARDWARE, "numa", NONE_FOUND, "/sys/devices/system/node");
		else
			put(s, CL_HARDWARE, "numa", NULL, "/sys/devices/system/node");
		return;
	}
	for (int64_t i = 0; i < 1024; i++) {
		AUTO_FREE char *name = xasprintf("node%lld", (long long)i);
		AUTO_FREE char *path = NULL;
		AUTO_FREE char *cpus = NULL;

		if (!strs_has(&names, name))
			continue;
		path = xasprintf("/sys/devices/system/node/%s/cpulist", name);
		cpus = src_line(s, path);
		str_addf(&out, "%s%lld: %s", n ? "; " : "", (long long)i,
			 !cpus     ? "unknown"
			 : cpus[0] ? cpus
				   : "no CPUs");
		n++;
	}
	putf(s, CL_HARDWARE, "numa", "/sys/devices/system/node", "%lld node%s (%s)", (long long)n,
	     n == 1 ? "" : "s", str_text(&out));
}

static void memory_run(struct source *s)
{
	AUTO_FREE char *text = src_text(s, "/proc/meminfo", 16 * KIB);
	struct sv v, word;
	int64_t kib;

	/* Kernels keep some memory for themselves, each another bit: whole GiB don't move with it.
	 * */
	if (text && line_of(sv_of(text), "MemTotal", ':', &v) && sv_word(&v, &word) &&
	    sv_to_i64(word, 1, INT64_MAX / 2048, &kib)) {
		putf(s, CL_HARDWARE, "memory", "/proc/meminfo", "%lld GiB",
		     (long long)((kib + 512 * 1024) / (1024 * 1024)));
	} else {
		if (text)
			src_why(s, "no line MemTotal");
		put(s, CL_HARDWARE, "memory", NULL, "/proc/meminfo");
	}
	put_numa(s);
}

const struct probe probe_memory = { "memory", "memory size, NUMA nodes", false, memory_run };

/* ---- the machine ----------------------------------------------------------------------------- */

#define DMI "/sys/class/dmi/id/"

static void system_run(struct source *s)
{
	AUTO_FREE char *vendor = src_line(s, DMI "sys_vendor");
	AUTO_FREE char *product = NULL;
	AUTO_FREE char *bios = NULL;
	AUTO_FREE char *date = NULL;

	if (!vendor) {
		const char *version = src_absent(s, DMI) ? NONE_FOUND : NULL;

		put(s, CL_HARDWARE, "system", version, DMI "sys_vendor");
		put(s, CL_FIRMWARE, "bios", version, DMI "bios_version");
		return;
	}
	product = src_line(s, DMI "product_name");
	putf(s, CL_HARDWARE, "system", DMI "product_name", "%s %s", vendor,
	     product ? product : "unknown");
	bios = src_line(s, DMI "bios_version");
	date = bios ? src_line(s, DMI "bios_date") : NULL;
	if (bios)
		putf(s, CL_FIRMWARE, "bios", DMI "bios_version", "%s%s%s", bios, date ? ", " : "",
		     date ? date : "");
	else
		put(s, CL_FIRMWARE, "bios", NULL, DMI "bios_version");
}

const struct probe probe_system = { "system", "machine model and BIOS", false, system_run };

/* ---- virtual machine, container, cloud ------------------------------------------------------- */

static const char *hypervisor_of(const char *vendor, const char *product)
{
	static const struct {
		const char *vendor, *product, *name;
	} known[] = {
		{ "QEMU", "", "kvm" },
		{ "Amazon EC2", "", "kvm (Amazon EC2)" },
		{ "Google", "", "kvm (Google)" },
		{ "Microsoft Corporation", "Virtual Machine", "hyper-v" },
		{ "VMware", "", "vmware" },
		{ "Xen", "", "xen" },
		{ "innotek GmbH", "", "virtualbox" },
	};

	for (size_t i = 0; vendor && i < ARRAY_SIZE(known); i++)
		if (str_starts(vendor, known[i].vendor) &&
		    str_starts(product ? product : "", known[i].product))
			return known[i].name;
	return "a hypervisor";
}

static void put_virtualisation(struct source *s, const char *vendor, const char *product)
{
	AUTO_FREE char *text = src_text(s, CPUINFO, CPUINFO_HEAD);
	struct sv flags;

	if (text && line_of(sv_of(text), "flags", ':', &flags)) {
		put(s, CL_PLATFORM, "virtualisation",
		    has_word(flags, "hypervisor") ? hypervisor_of(vendor, product) : NONE_FOUND,
		    CPUINFO);
		return;
	}
	if (text)
		src_why(s, "this processor has no flag for it");
	put(s, CL_PLATFORM, "virtualisation", NULL, CPUINFO);
}

static void put_container(struct source *s)
{
	static const struct {
		const char *path, *name;
	} marks[] = {
		{ "/var/run/secrets/kubernetes.io", "kubernetes" },
		{ "/run/.containerenv", "podman" },
		{ "/.dockerenv", "docker" },
		{ "/.singularity.d", "apptainer" },
	};
	AUTO_FREE char *systemd = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (!src_there(s, marks[i].path))
			continue;
		put(s, CL_PLATFORM, "container", marks[i].name, marks[i].path);
		src_why(s, "a container can't see the digest of its own image: name it in the "
			   "contract");
		put(s, CL_IMAGE, "image", NULL, marks[i].path)->cosmetic = true;
		return;
	}
	systemd = src_line(s, "/run/systemd/container");
	put(s, CL_PLATFORM, "container", systemd && systemd[0] ? systemd : NONE_FOUND,
	    "/run/systemd/container");
}

static void put_cloud(struct source *s, const char *vendor, const char *product)
{
	AUTO_FREE char *tag = vendor ? src_line(s, DMI "chassis_asset_tag") : NULL;

	/* Azure's tag is the same on every one of its machines; so is Oracle's. */
	if (streq(tag, "7783-7084-3265-9085-8269-3286-77"))
		put(s, CL_PLATFORM, "cloud", "azure", DMI "chassis_asset_tag");
	else if (streq(tag, "OracleCloud.com"))
		put(s, CL_PLATFORM, "cloud", "oci", DMI "chassis_asset_tag");
	else if (streq(vendor, "Amazon EC2"))
		putf(s, CL_PLATFORM, "cloud", DMI "product_name", "aws %s", product ? product : "");
	else if (streq(product, "Google Compute Engine"))
		put(s, CL_PLATFORM, "cloud", "gcp", DMI "product_name");
	else
		put(s, CL_PLATFORM, "cloud", NONE_FOUND, DMI "sys_vendor");
}

static void platform_run(struct source *s)
{
	AUTO_FREE char *vendor = src_line(s, DMI "sys_vendor");
	AUTO_FREE char *product = vendor ? src_line(s, DMI "product_name") : NULL;
	AUTO_FREE char *node = src_line(s, "/proc/sys/kernel/hostname");

	put(s, CL_PLATFORM, "node", node, "/proc/sys/kernel/hostname")->cosmetic = true;
	put_virtualisation(s, vendor, product);
	put_container(s);
	put_cloud(s, vendor, product);
}

const struct probe probe_platform = { "platform", "host name, hypervisor, container, cloud", false,
				      platform_run };
