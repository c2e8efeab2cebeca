/* SPDX-License-Identifier: Apache-2.0 */
/* Which accelerators are in the machine, with or without a driver; GPU software that is installed.
 * */
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "capture/probes.h"
#include "capture/tally.h"

#define PCI "/sys/bus/pci/devices"

static unsigned hex_file(struct source *s, const char *address, const char *name)
{
	AUTO_FREE char *path = xasprintf(PCI "/%s/%s", address, name);
	AUTO_FREE char *line = src_line(s, path);
	uint64_t n;

	return line && sv_to_hex(sv_of(line), &n) ? (unsigned)n : 0;
}

/* Class 03xxxx: display controllers; 12xxxx: processing accelerators (PCI Code and ID Assignment).
 * */
bool gpu_pcis_find(struct source *s, struct gpu_pcis *ret)
{
	struct strs names CLEANUP(strs_release) = { 0 };

	if (!src_list(s, PCI, &names))
		return src_absent(s, PCI);
	for (size_t i = 0; i < names.n; i++) {
		unsigned class = hex_file(s, names.v[i], "class") >> 16;
		unsigned vendor =
			class == 0x03 || class == 0x12 ? hex_file(s, names.v[i], "vendor") : 0;
		struct gpu_pci *one;

		if (vendor != 0x1002 && vendor != 0x10de)
			continue;
		one = VEC_ADD(ret);
		snprintf(one->address, sizeof(one->address), "%s", names.v[i]);
		one->vendor = vendor;
		one->device = hex_file(s, names.v[i], "device");
	}
	return true;
}

static void gpu_pcis_release(struct gpu_pcis *l)
{
	free(l->v);
	*l = (struct gpu_pcis){ 0 };
}

static void gpu_run(struct source *s)
{
	struct gpu_pcis all CLEANUP(gpu_pcis_release) = { 0 };
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;

	if (!gpu_pcis_find(s, &all)) {
		put(s, CL_HARDWARE, "gpu.pci", NULL, PCI);
		return;
	}
	for (size_t i = 0; i < all.n; i++) {
		AUTO_FREE char *id = xasprintf("%04x:%04x", all.v[i].vendor, all.v[i].device);

		tally_add(&t, id);
	}
	text = tally_counted(&t);
	if (!text && !src_there(s, "/sys/bus/pci") && src_there(s, "/proc/driver/nvidia/version"))
		return; /* a container that hides PCI: the drivers say what there is */
	put(s, CL_HARDWARE, "gpu.pci", text ? text : NONE_FOUND, PCI);
}

const struct probe probe_gpu = { "gpu", "accelerators on the PCI bus", false, gpu_run };

/* ---- ROCm and CUDA as installed -------------------------------------------------------------- */

static void put_rocm(struct source *s)
{
	const char *dir = src_env(s, "ROCM_PATH");
	AUTO_FREE char *path =
		xasprintf("%s/.info/version", dir && dir[0] == '/' ? dir : "/opt/rocm");
	AUTO_FREE char *line = src_line(s, path);

	if (!line && src_absent(s, path))
		put(s, CL_RUNTIME, "rocm", NONE_FOUND, path);
	else
		put(s, CL_RUNTIME, "rocm", line, path);
}

static void put_cuda(struct source *s)
{
	const char *dir = src_env(s, "CUDA_HOME");
	AUTO_FREE char *path =
		xasprintf("%s/version.json", dir && dir[0] == '/' ? dir : "/usr/local/cuda");
	AUTO_FREE char *text = src_text(s, path, 256 * KIB);
	AUTO_JSON json_t *j = NULL;
	const char *version;
	struct err err = ERR_INIT;

	if (!text) {
		put(s, CL_RUNTIME, "cuda", src_absent(s, path) ? NONE_FOUND : NULL, path);
		return;
	}
	if (json_read(sv_of(text), path, &j, &err) < 0)
		src_why(s, "%s", err.msg);
	version = json_str_or(json_object_get(j, "cuda"), "version", NULL);
	if (j && !version)
		src_why(s, "%s has no cuda.version", path);
	put(s, CL_RUNTIME, "cuda", version, path);
}

static void runtime_run(struct source *s)
{
	put_rocm(s);
	put_cuda(s);
}

const struct probe probe_runtime = { "runtime", "ROCm and CUDA releases", false, runtime_run };
