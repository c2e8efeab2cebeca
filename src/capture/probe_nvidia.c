/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs: the driver's files, then nvidia-smi for what has no file. */
#include "base/err.h"
#include "capture/probes.h"
#include "capture/tally.h"
#include "readers/readers.h"

#define NV "/proc/driver/nvidia"

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build ...":
 * the first word of digits and at least one dot. */
static bool driver_version(struct sv line, struct sv *ret)
{
	struct sv w;

	while (sv_word(&line, &w)) {
		size_t dots = 0, digits = 0;

		for (size_t i = 0; i < w.n; i++) {
			dots += w.p[i] == '.';
			digits += w.p[i] >= '0' && w.p[i] <= '9';
		}
		if (dots && digits + dots == w.n) {
			*ret = w;
			return true;
		}
	}
	return false;
}

static bool put_driver(struct source *s)
{
	AUTO_FREE char *line = src_line(s, NV "/version");
	AUTO_FREE char *version = NULL;
	struct sv v;

	if (!line) {
		bool absent = src_absent(s, NV "/version");

		put(s, CL_DRIVER, "nvidia", absent ? NONE_FOUND : NULL, NV "/version");
		return false;
	}
	if (driver_version(sv_of(line), &v))
		version = xasprintf(SV_FMT "%s", SV_ARG(v),
				    strstr(line, "Open Kernel Module") ? " (open)" : "");
	else
		src_why(s, "no version in '%s'", line);
	put(s, CL_DRIVER, "nvidia", version, NV "/version");
	return true;
}

static void put_tally(struct source *s, enum component_layer layer, const char *name,
		      const struct tally *t)
{
	AUTO_FREE char *text = tally_text(t);

	if (text)
		put(s, layer, name, text, NV "/gpus/*/information");
}

static void nvidia_run(struct source *s)
{
	struct strs gpus CLEANUP(strs_release) = { 0 };
	struct tally names CLEANUP(tally_release) = { 0 };
	struct tally vbios CLEANUP(tally_release) = { 0 };
	struct tally firmware CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;

	if (!put_driver(s) || !src_list(s, NV "/gpus", &gpus))
		return;
	for (size_t i = 0; i < gpus.n; i++) {
		AUTO_FREE char *path = xasprintf(NV "/gpus/%s/information", gpus.v[i]);
		AUTO_FREE char *info = src_text(s, path, 16 * KIB);
		static const char *const keys[] = { "Model", "Video BIOS", "GPU Firmware" };
		struct tally *to[] = { &names, &vbios, &firmware };

		for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
			AUTO_FREE char *value = NULL;
			struct sv v;

			if (info && line_of(sv_of(info), keys[k], ':', &v))
				value = sv_dup(v);
			if (k == 0 || value)
				tally_add(to[k], value);
		}
	}
	text = tally_counted(&names);
	if (text)
		put(s, CL_HARDWARE, "gpu", text, NV "/gpus/*/information");
	put_tally(s, CL_FIRMWARE, "gpu.vbios", &vbios);
	put_tally(s, CL_FIRMWARE, "gpu.fw.gsp", &firmware);
}

const struct probe probe_nvidia = { "nvidia", "NVIDIA GPUs, driver, firmware", false, nvidia_run };

/* ---- nvidia-smi, amd-smi --------------------------------------------------------------------- */

static void put_column(struct source *s, const struct smi_csv *t, enum component_layer layer,
		       const char *name, const char *column)
{
	struct tally all CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;
	ptrdiff_t at = smi_csv_column(t, column);

	if (at < 0)
		return;
	for (size_t i = 0; i < t->rows; i++)
		tally_add(&all, smi_csv_at(t, i, (size_t)at));
	text = tally_text(&all);
	if (streq(text, "unknown"))
		src_why(s, "nvidia-smi has no value for %s", column);
	put(s, layer, name, streq(text, "unknown") ? NULL : text,
	    ORIGIN_COMMAND "nvidia-smi --query-gpu");
}

static void ask_nvidia_smi(struct source *s)
{
	static const char *const argv[] = {
		"nvidia-smi",
		"--query-gpu=memory.total,ecc.mode.current,mig.mode.current,compute_mode,"
		"persistence_mode,power.limit,pcie.link.gen.max,pcie.link.width.current",
		"--format=csv", NULL
	};
	AUTO_FREE char *text = src_command(s, "nvidia-smi.query-gpu", argv, NULL);
	struct smi_csv t CLEANUP(smi_csv_release) = { 0 };
	struct err err = ERR_INIT;

	if (text && smi_csv_read(sv_of(text), &t, &err) < 0) {
		src_why(s, "nvidia-smi: %s", err.msg);
		freep(&text);
	}
	if (!text) {
		put(s, CL_DRIVER, "gpu.mode", NULL, ORIGIN_COMMAND "nvidia-smi --query-gpu");
		return;
	}
	put_column(s, &t, CL_HARDWARE, "gpu.memory", "memory.total");
	put_column(s, &t, CL_DRIVER, "gpu.ecc", "ecc.mode.current");
	put_column(s, &t, CL_DRIVER, "gpu.partition", "mig.mode.current");
	put_column(s, &t, CL_DRIVER, "gpu.mode", "compute_mode");
	put_column(s, &t, CL_DRIVER, "gpu.persistence", "persistence_mode");
	put_column(s, &t, CL_DRIVER, "gpu.power_cap", "power.limit");
	put_column(s, &t, CL_HARDWARE, "gpu.pcie.gen", "pcie.link.gen.max");
	put_column(s, &t, CL_HARDWARE, "gpu.pcie.width", "pcie.link.width.current");
}

static void ask_amd_smi(struct source *s)
{
	static const char *const argv[] = { "amd-smi", "version", NULL };
	AUTO_FREE char *text = src_command(s, "amd-smi.version", argv, NULL);
	struct amd_smi_version v CLEANUP(amd_smi_version_release) = { 0 };
	struct err err = ERR_INIT;

	if (text && amd_smi_version_read(sv_of(text), &v, &err) < 0) {
		src_why(s, "amd-smi: %s", err.msg);
		freep(&text);
	}
	if (!text) {
		put(s, CL_RUNTIME, "amd-smi", str_ends(s->why, "not there") ? NONE_FOUND : NULL,
		    ORIGIN_COMMAND "amd-smi version");
		return;
	}
	src_why(s, "amd-smi does not say it");
	put(s, CL_RUNTIME, "amd-smi", v.tool, ORIGIN_COMMAND "amd-smi version");
	put(s, CL_RUNTIME, "amd-smi.library", v.library, ORIGIN_COMMAND "amd-smi version");
}

static void gpu_tools_run(struct source *s)
{
	if (src_there(s, NV "/version"))
		ask_nvidia_smi(s);
	if (src_there(s, "/sys/module/amdgpu"))
		ask_amd_smi(s);
}

const struct probe probe_gpu_tools = { "gpu-tools", "what only nvidia-smi and amd-smi can tell",
				       true, gpu_tools_run };
