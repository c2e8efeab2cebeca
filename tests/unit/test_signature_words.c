/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/vec.h"
#include "diagnose/diagnose.h"
#include "diagnose/signature_inner.h"
#include "test.h"

/* Whoever wrote it. */
static void a_failure_is_seen(void)
{
	static const char *const lines[] = {
		"RuntimeError: something odd",
		"E0912 12:00:01.000000 17 x.cc:12] odd",
		"[drm:x [amdgpu]] *ERROR* odd",
		"odd: No such file or directory",
		"the plan is not there",
		"X_STATUS_NOT_SUPPORTED",
		"ptlib: could not load plan",
		"failed with non-zero error code: 0xa",
		"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		"PRIORITY=3 MESSAGE=odd: timed out",
	};
	struct words *w = words_new();

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		CHECK_STR(words_fail(w, sv_of(lines[i])) ? lines[i] : "no failure", lines[i]);
	words_free(&w);
}

/* Lines that healthy machines and runs print. */
static const char *const healthy[] = {
	"step 12 of 90: 0 errors, 0 failed",
	"WARNING 08-26 14:22:01 [cuda.py:88] flash_attn is not used for head size 80",
	"INFO 08-26 14:22:01 [aiter.py:12] aiter module not found, Triton is used instead",
	"MESSAGE=WARNING server_args.py: overlap is not compatible with sglang's mamba",
	"cuDNN version: Could not collect",
	"CUDA runtime version         : Could not collect",
	"Nvidia driver version: No CUDA",
	"HW Thermal Slowdown                        : Not Active",
	"Retired Pages : N/A",
	"launch using: --env=NCCL_DEBUG --env=MIOPEN_ERROR_LEVEL --env=HSA_FAILED --env=CK_LOG_ERR "
	"--x",
	"+ srun --mpi=pmix --container-name=x --no-container-mount-home bash -c 'echo failed'",
	"server_args=ServerArgs(model='m', backend='flashinfer_cutlass', error=None, fail='x', "
	"a=1, b=2, "
	"c=3, d=4)",
	"completions ({'model': 'glm', 'url': 'x', 'max_length': 1, 'timeout': 9, 'error': 2, 'b': "
	"1, })",
	"[W807 16:58:55.634722012 socket.cpp:200] [c10d] The hostname of the client can't be "
	"retrieved",
	"[W501 04:31:23.777279412 socket.cpp:757] [c10d] The client socket cannot be initialized "
	"to connect "
	"to [x]:29501 (errno: 97 - Address family not supported by protocol).",
	"b9ed3c7 Fix vllm error in tokenizer and dataset (#2300)",
	"[aiter] [fused_moe] using 1stage default for (304, 16384, 'QuantType.No', False)",
	"rccl-tests: Version Unknown",
	"gpu|gres/gpu=32|Unknown|320|PER_NODE:gpu:8|billing=2064,cpu=320,node=4|slurm",
	"n:1:2 [6] proxy.cc:1521 NCCL WARN [Proxy Service 0] Failed to execute operation Close "
	"from rank 6",
	"[node-a:3566] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
	"If an error occurs in NCCL, set NCCL_DEBUG=INFO",
	"amdgpu 0000:83:00.0: amdgpu: SMU driver if version not matched",
	"WARNING: could not find the metadata file ckpt/latest_checkpointed_iteration.txt",
	"Lustre: x-OST00e3-osc: Connection restored to 198.51.100.7@tcp1",
	"node.labels: amd.com/rail-bandwidth=failed",
	"[ 12.3] amdgpu 0000:05:00.0: amdgpu: RAS: optional ras ta ucode is not available",
	"[ 12.3] amdgpu 0000:05:00.0: amdgpu: PSP runtime database doesn't exist",
	"[ 12.3] nvidia: module license 'NVIDIA' taints kernel.",
	"`torch_dtype` is deprecated! Use `dtype` instead!",
};

static void healthy_lines_decide_no_layer(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	size_t wrong = 0;

	CHECK_OK(signatures_builtin(&l, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(healthy); i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		struct signature_decision d CLEANUP(signature_decision_release) = { 0 };

		signatures_scan_text(&l, sv_of(healthy[i]), &h);
		signature_decide(&h, NULL, &d);
		wrong += d.layers.n > 0;
		if (d.layers.n)
			printf("# %s: %s\n", d.layers.v[0].best->id, healthy[i]);
	}
	CHECK_INT(wrong, 0);
}

TEST_MAIN(TEST(a_failure_is_seen), TEST(healthy_lines_decide_no_layer))
