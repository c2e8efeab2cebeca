/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vendor libraries, by dlopen: the only place that does. Nothing of a vendor is linked or needed
 * to build.
 *
 *	struct gpu_answer a;
 *	gpu_ask(GPU_HIP, 20 * NS_PER_S, &a);
 *	if (!a.loaded) ... a.why
 *
 * A library is opened and asked in a child process: a driver in a bad state hangs or kills callers
 * of its
 * libraries, and then only the child is lost. Nothing of it stays in this process.
 *
 * First form: version, path and number of devices. That is what a smoke check needs ("the runtime
 * starts
 * and sees N devices"); telemetry comes later behind the same child.
 *
 * TWICE_LIB_HIP, TWICE_LIB_NVML, ... name another file to open (tests use it for small fakes).
 */
#pragma once

#include "base/defs.h"

enum gpu_lib {
	GPU_HIP,    /* libamdhip64.so */
	GPU_AMDSMI, /* libamd_smi.so */
	GPU_NVML,   /* libnvidia-ml.so.1 */
	GPU_CUDART, /* libcudart.so */
	GPU_RCCL,   /* librccl.so.1 */
	GPU_NCCL,   /* libnccl.so.2 */
	GPU_LIB_N,
};
const char *gpu_lib_name(enum gpu_lib l); /* "hip" "amdsmi" "nvml" "cudart" "rccl" "nccl" */

struct gpu_answer {
	bool loaded;      /* the library is there and its needed functions too */
	bool works;       /* it started and answered without an error */
	int devices;      /* it sees; -1: it was not asked, or can't say */
	char version[80]; /* "" : it does not say */
	char path[512];   /* where the loader found it */
	char why[256];    /* when not loaded or not working: one line */
};
/* Never fails: what went wrong is the answer. limit_ns: wall clock for all of it. */
void gpu_ask(enum gpu_lib lib, int64_t limit_ns, struct gpu_answer *ret);

/* 60342131 -> "6.3.42131" (HIP), 22203 -> "2.22.3" (RCCL, NCCL), 12080 -> "12.8" (CUDA). */
void gpu_version_text(enum gpu_lib lib, int version, char *ret, size_t room);
