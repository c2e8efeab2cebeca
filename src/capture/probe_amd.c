/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD GPUs from the files of the amdgpu driver and of KFD. Units and meanings: kernel
 * documentation,
 * gpu/amdgpu; the properties of KFD nodes are those that ROCr reads (decimal throughout).
 */
#include "base/vec.h"
#include "capture/dpkg.h"
#include "capture/probes.h"
#include "capture/tally.h"

#define KFD       "/sys/class/kfd/kfd/topology/nodes"
#define DRM       "/sys/class/drm"
#define MAX_NODES 1024

/* Marketing names by PCI device id, for boards whose product_name is empty (pci.ids). */
static const struct {
	unsigned id;
	const char *name;
} products[] = {
	{ 0x738c, "AMD Instinct MI100" },     { 0x7408, "AMD Instinct MI250X" },
	{ 0x740c, "AMD Instinct MI250" },     { 0x740f, "AMD Instinct MI210" },
	{ 0x74a0, "AMD Instinct MI300A" },    { 0x74a1, "AMD Instinct MI300X" },
	{ 0x74a2, "AMD Instinct MI308X" },    { 0x74a5, "AMD Instinct MI325X" },
	{ 0x74b5, "AMD Instinct MI300X VF" }, { 0x75a0, "AMD Instinct MI350X" },
	{ 0x75a3, "AMD Instinct MI355X" },
};

/* One package: all its partitions together. */
struct kfd_gpu {
	uint64_t key; /* unique_id, or domain and location where the driver has none */
	unsigned device;
	uint64_t cus, vram, gfx;
	unsigned partitions;
};
struct kfd_gpus {
	struct kfd_gpu *v;
	size_t n, room;
};

static void kfd_gpus_release(struct kfd_gpus *l)
{
	free(l->v);
	*l = (struct kfd_gpus){ 0 };
}

static uint64_t property(struct sv text, const char *key)
{
	struct sv line, name, value;
	uint64_t n;

	while (sv_line(&text, &line))
		if (sv_word(&line, &name) && sv_is(name, key) && sv_word(&line, &value))
			return sv_to_u64(value, &n) ? n : 0;
	return 0;
}

/* local_mem_size is 0 on current kernels; the banks of heap type 1 and 2 are the GPU's own memory.
 * */
static uint64_t vram_of(struct source *s, const char *node)
{
	AUTO_FREE char *dir = xasprintf(KFD "/%s/mem_banks", node);
	struct strs banks CLEANUP(strs_release) = { 0 };
	uint64_t sum = 0;

	if (!src_list(s, dir, &banks))
		return 0;
	for (size_t i = 0; i < banks.n; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/properties", dir, banks.v[i]);
		AUTO_FREE char *text = src_text(s, path, 16 * KIB);
		uint64_t type = text ? property(sv_of(text), "heap_type") : 0;

		if (type == 1 || type == 2)
			sum += property(sv_of(text), "size_in_bytes");
	}
	return sum;
}

static struct kfd_gpu *gpu_of(struct kfd_gpus *l, uint64_t key)
{
	struct kfd_gpu *g;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].key == key)
			return &l->v[i];
	g = VEC_ADD(l);
	g->key = key;
	return g;
}

static void read_nodes(struct source *s, struct kfd_gpus *ret)
{
	struct strs nodes CLEANUP(strs_release) = { 0 };

	if (!src_list(s, KFD, &nodes))
		return;
	for (size_t i = 0; i < nodes.n && i < MAX_NODES; i++) {
		AUTO_FREE char *path = xasprintf(KFD "/%s/properties", nodes.v[i]);
		AUTO_FREE char *text = src_text(s, path, 64 * KIB);
		struct sv t = sv_of(text);
		uint64_t simds = text ? property(t, "simd_count") : 0;
		uint64_t per_cu = text ? property(t, "simd_per_cu") : 0;
		uint64_t key;
		struct kfd_gpu *g;

		if (!simds)
			continue; /* a CPU, or a node this user may not see */
		key = property(t, "unique_id");
		/* Partitions of one package differ in the PCI function only. */
		if (!key)
			key = property(t, "domain") << 32 | (property(t, "location_id") & ~7ULL);
		g = gpu_of(ret, key);
		g->device = (unsigned)property(t, "device_id");
		g->gfx = property(t, "gfx_target_version");
		g->cus += per_cu ? simds / per_cu : 0;
		/* In SPX there is one node; in CPX each partition shows the memory it may use. */
		g->vram += vram_of(s, nodes.v[i]);
		g->partitions++;
	}
}

/* 90402 -> gfx942: major * 10000 + minor * 100 + step, the last two as hex digits. */
static void gfx_name(uint64_t v, char *ret, size_t room)
{
	if (v)
		snprintf(ret, room, "gfx%llu%llx%llx", (unsigned long long)(v / 10000),
			 (unsigned long long)(v / 100 % 100), (unsigned long long)(v % 100));
	else
		snprintf(ret, room, "gfx unknown");
}

/* ---- DRM cards ------------------------------------------------------------------------------- */

/* Device folders, "/sys/class/drm/card0/device". */
static void cards_find(struct source *s, struct strs *ret)
{
	struct strs names CLEANUP(strs_release) = { 0 };

	if (!src_list(s, DRM, &names))
		return;
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = NULL;
		AUTO_FREE char *vendor = NULL;

		if (!str_starts(names.v[i], "card") || strchr(names.v[i], '-'))
			continue;
		path = xasprintf(DRM "/%s/device/vendor", names.v[i]);
		vendor = src_line(s, path);
		if (streq(vendor, "0x1002"))
			strs_addf(ret, DRM "/%s/device", names.v[i]);
	}
}

/* One file of every card as one component; left out when no card has it. */
static void put_of_cards(struct source *s, const struct strs *cards, enum component_layer layer,
			 const char *name, const char *file)
{
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *origin = xasprintf(DRM "/card*/device/%s", file);
	bool any = false;

	for (size_t i = 0; i < cards->n; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", cards->v[i], file);
		AUTO_FREE char *line = src_line(s, path);

		any = any || line || !str_ends(s->why, "not there");
		tally_add(&t, line);
	}
	text = tally_text(&t);
	if (any)
		put(s, layer, name, streq(text, "unknown") ? NULL : text, origin);
}

static void put_firmware(struct source *s, const struct strs *cards)
{
	AUTO_FREE char *dir = xasprintf("%s/fw_version", cards->v[0]);
	struct strs files CLEANUP(strs_release) = { 0 };

	if (!src_list(s, dir, &files)) {
		put(s, CL_FIRMWARE, "gpu.fw", NULL, dir);
		return;
	}
	for (size_t i = 0; i < files.n; i++) {
		size_t n = strlen(files.v[i]);
		AUTO_FREE char *file = xasprintf("fw_version/%s", files.v[i]);
		AUTO_FREE char *name = NULL;

		if (!str_ends(files.v[i], "_fw_version"))
			continue;
		name = xasprintf("gpu.fw.%.*s", (int)(n - strlen("_fw_version")), files.v[i]);
		put_of_cards(s, cards, CL_FIRMWARE, name, file);
	}
}

static void put_pcie(struct source *s, const struct strs *cards)
{
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < cards->n; i++) {
		AUTO_FREE char *a = xasprintf("%s/max_link_speed", cards->v[i]);
		AUTO_FREE char *b = xasprintf("%s/max_link_width", cards->v[i]);
		AUTO_FREE char *c = xasprintf("%s/current_link_width", cards->v[i]);
		AUTO_FREE char *speed = src_line(s, a);
		AUTO_FREE char *width = src_line(s, b);
		AUTO_FREE char *now = src_line(s, c);
		AUTO_FREE char *one = NULL;

		/* The speed drops when the GPU is idle, the width does not. */
		one = xasprintf("%s x%s, runs x%s", speed ? speed : "unknown",
				width ? width : "unknown", now ? now : "unknown");
		tally_add(&t, one);
	}
	text = tally_text(&t);
	put(s, CL_HARDWARE, "gpu.pcie", text, DRM "/card*/device/max_link_speed");
}

static void put_power_cap(struct source *s, const struct strs *cards)
{
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < cards->n; i++) {
		AUTO_FREE char *dir = xasprintf("%s/hwmon", cards->v[i]);
		struct strs names CLEANUP(strs_release) = { 0 };
		AUTO_FREE char *path = NULL;
		AUTO_FREE char *watt = NULL;
		int64_t uw = -1;

		if (src_list(s, dir, &names) && names.n) {
			path = xasprintf("%s/%s/power1_cap", dir, names.v[0]);
			uw = src_int(s, path, -1); /* µW: kernel, hwmon/sysfs-interface */
		}
		if (uw >= 0)
			watt = xasprintf("%lld W", (long long)(uw / 1000000));
		tally_add(&t, watt);
	}
	text = tally_text(&t);
	put(s, CL_DRIVER, "gpu.power_cap", streq(text, "unknown") ? NULL : text,
	    DRM "/card*/device/hwmon/*/power1_cap");
}

static void put_partition(struct source *s, const struct strs *cards)
{
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;
	bool any = false;

	for (size_t i = 0; i < cards->n; i++) {
		AUTO_FREE char *a = xasprintf("%s/current_compute_partition", cards->v[i]);
		AUTO_FREE char *b = xasprintf("%s/current_memory_partition", cards->v[i]);
		AUTO_FREE char *compute = src_line(s, a);
		AUTO_FREE char *memory = src_line(s, b);
		AUTO_FREE char *both = xasprintf("%s %s", compute ? compute : "unknown",
						 memory ? memory : "unknown");

		any = any || compute || memory;
		tally_add(&t, both);
	}
	text = tally_text(&t);
	if (any)
		put(s, CL_DRIVER, "gpu.partition", text, DRM "/card*/device/current_*_partition");
}

/* ---- the driver ------------------------------------------------------------------------------ */

/* The module that runs, and as label what the package would load after the next boot, when that is
 * another one: a driver that was installed but not loaded. */
static void put_loaded(struct source *s, const char *version)
{
	const char *package = dpkg_version(dpkg_of(s), "amdgpu-dkms");
	AUTO_FREE char *installed = package ? version_upstream(package) : NULL;
	struct component *c = put(s, CL_DRIVER, "amdgpu", version, "/sys/module/amdgpu/version");

	if (!installed || str_starts(installed, version))
		return;
	c->label = STEAL(installed);
	put_note(c, "package amdgpu-dkms %s is installed, module %s is loaded", package, version);
}

static void put_driver(struct source *s)
{
	/* Only a driver from outside the kernel tree has a version of its own. */
	AUTO_FREE char *version = NULL;
	AUTO_FREE char *kernel = NULL;

	if (!src_there(s, "/sys/module/amdgpu")) {
		src_why(s, "no /sys");
		put(s, CL_DRIVER, "amdgpu", src_there(s, "/sys") ? NONE_FOUND : NULL,
		    "/sys/module/amdgpu");
		return;
	}
	version = src_line(s, "/sys/module/amdgpu/version");
	if (version) {
		put_loaded(s, version);
		return;
	}
	kernel = src_line(s, "/proc/sys/kernel/osrelease");
	if (src_absent(s, "/sys/module/amdgpu/version") && kernel)
		putf(s, CL_DRIVER, "amdgpu", "/sys/module/amdgpu", "in-tree %s", kernel);
	else
		put(s, CL_DRIVER, "amdgpu", NULL, "/sys/module/amdgpu/version");
}

static char *product_of(struct source *s, const struct strs *cards, const struct kfd_gpu *g)
{
	for (size_t i = 0; i < cards->n; i++) {
		AUTO_FREE char *a = xasprintf("%s/device", cards->v[i]);
		AUTO_FREE char *b = xasprintf("%s/product_name", cards->v[i]);
		AUTO_FREE char *id = src_line(s, a);
		AUTO_FREE char *name = src_line(s, b);
		uint64_t n;

		if (id && name && name[0] && sv_to_hex(sv_of(id), &n) && n == g->device)
			return STEAL(name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(products); i++)
		if (products[i].id == g->device)
			return xstrdup(products[i].name);
	return xasprintf("1002:%04x", g->device);
}

static void put_gpus(struct source *s, const struct strs *cards, const struct kfd_gpus *gpus)
{
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < gpus->n; i++) {
		const struct kfd_gpu *g = &gpus->v[i];
		AUTO_FREE char *name = product_of(s, cards, g);
		AUTO_FREE char *one = NULL;
		char gfx[32];

		gfx_name(g->gfx, gfx, sizeof(gfx));
		one = xasprintf("%s (%s, %llu CU, %.0f GiB)", name, gfx, (unsigned long long)g->cus,
				(double)g->vram / (double)(MIB * KIB));
		tally_add(&t, one);
	}
	text = tally_counted(&t);
	if (text)
		put(s, CL_HARDWARE, "gpu", text, KFD);
}

/* Links between GPUs: type 11 is XGMI, 2 is PCIe; newer kernels list them under p2p_links. */
static void put_links(struct source *s)
{
	struct strs nodes CLEANUP(strs_release) = { 0 };
	size_t xgmi = 0, pcie = 0;

	if (!src_list(s, KFD, &nodes))
		return;
	for (size_t i = 0; i < nodes.n && i < MAX_NODES; i++) {
		static const char *const kinds[] = { "io_links", "p2p_links" };

		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			AUTO_FREE char *dir = xasprintf(KFD "/%s/%s", nodes.v[i], kinds[k]);
			struct strs links CLEANUP(strs_release) = { 0 };

			if (!src_list(s, dir, &links))
				continue;
			for (size_t m = 0; m < links.n; m++) {
				AUTO_FREE char *path =
					xasprintf("%s/%s/properties", dir, links.v[m]);
				AUTO_FREE char *text = src_text(s, path, 16 * KIB);
				uint64_t type = text ? property(sv_of(text), "type") : 0;

				xgmi += type == 11;
				pcie += type == 2;
			}
		}
	}
	putf(s, CL_HARDWARE, "gpu.links", KFD, "%zu XGMI, %zu PCIe", xgmi, pcie);
}

static void amd_run(struct source *s)
{
	struct strs cards CLEANUP(strs_release) = { 0 };
	struct kfd_gpus gpus CLEANUP(kfd_gpus_release) = { 0 };

	put_driver(s);
	cards_find(s, &cards);
	read_nodes(s, &gpus);
	put_gpus(s, &cards, &gpus);
	if (gpus.n)
		put_links(s);
	if (!cards.n)
		return;
	put_of_cards(s, &cards, CL_FIRMWARE, "gpu.vbios", "vbios_version");
	put_firmware(s, &cards);
	put_partition(s, &cards);
	put_pcie(s, &cards);
	put_power_cap(s, &cards);
	put_of_cards(s, &cards, CL_DRIVER, "gpu.performance_level",
		     "power_dpm_force_performance_level");
	put_of_cards(s, &cards, CL_HARDWARE, "gpu.ras", "ras/features");
}

const struct probe probe_amd = { "amd", "AMD GPUs, driver, firmware, partitions", false, amd_run };
