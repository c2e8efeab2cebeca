/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/part.h"

#include <ctype.h>

#define HW  (1u << CL_HARDWARE)
#define FW  (1u << CL_FIRMWARE)
#define HO  (1u << CL_HOST)
#define DR  (1u << CL_DRIVER)
#define RT  (1u << CL_RUNTIME)
#define CO  (1u << CL_COMMLIB)
#define KL  (1u << CL_KERNELLIB)
#define FR  (1u << CL_FRAMEWORK)
#define EN  (1u << CL_ENGINE)
#define MO  (1u << CL_MODEL)
#define IM  (1u << CL_IMAGE)
#define PL  (1u << CL_PLATFORM)
#define APP (1u << CL_APPLICATION)

/* The first that fits counts: what is special stands before what is general. */
static const struct part parts[] = {
	/* what was measured, and by what */
	{ "_question|_n_items_|_dataset|_data_digest_|_prompt_set|_prompts_|_shots_|_seed_|"
	  "_concurrency|_context_len|_input_len|_output_len|_isl_|_osl_|_arrival|_request_rate|"
	  "_schedule_|_workload|_message_size|_load_shape|_batch_of_requests_|_eval_set|"
	  "_eval_data|_sample_count_|_n_samples_",
	  CL_APPLICATION, PART_WORK, NULL, NULL, VENDOR_NONE, 0 },
	{ "_time_limit_|_wall_time|_walltime|_job_time|_deadline_", CL_PLATFORM, PART_SETTING,
	  "job time limit", "platform_team", VENDOR_NONE, 0 },
	{ "_job_exit|_end_reason|_exit_reason|_job_state", CL_PLATFORM, PART_STATE,
	  "job end reason", "platform_team", VENDOR_NONE, 0 },
	{ "_threshold|_limit_set|_limits_|_acceptance_criteri|_margin_|_bar_", CL_APPLICATION,
	  PART_LIMIT, "acceptance criterion", "platform_team", VENDOR_NONE, 0 },
	{ "_nodes_on_|_nodes_with_|_rollout_", CL_PLATFORM, PART_COUNT, NULL, NULL, VENDOR_NONE,
	  0 },
	{ "_parser_|_exporter_|_scraper_|_monitoring_", CL_APPLICATION, PART_TOOL, NULL, "app_team",
	  VENDOR_NONE, RT },
	{ "_load_gen|_client_version|_check_tool|_benchmark_tool|_benchmark_client|_tool_version_|"
	  "_harness",
	  CL_APPLICATION, PART_TOOL, NULL, "app_team", VENDOR_NONE, 0 },
	{ "_amd_smi|_amdsmi|_rocm_smi|_nvidia_smi|_smi_", CL_RUNTIME, PART_TOOL, NULL, NULL,
	  VENDOR_GPU, APP | DR },
	{ "_env_", CL_APPLICATION, PART_SETTING, NULL, "platform_team", VENDOR_NONE, 0 },
	/* orchestrator */
	{ "_device_plugin|_gpu_operator|_operator_|_dra_driver|_dra_", CL_PLATFORM, PART_VERSION,
	  NULL, "operator_project", VENDOR_NONE, DR },
	{ "_driver_via_operator|_driver_upgrade_reboot|_driver_container", CL_PLATFORM,
	  PART_VERSION, NULL, "operator_project", VENDOR_GPU, DR },
	{ "_free_disk|_disk_|_shm_|_scratch|_storage|_filesystem|_lustre|_nfs_", CL_PLATFORM,
	  PART_STATE, "node state", "platform_team", VENDOR_NONE, 0 },
	{ "_node_image|_ami_|_kubernetes|_k8s|_kubelet", CL_PLATFORM, PART_VERSION, NULL,
	  "distro_or_cloud_image", VENDOR_NONE, DR | HO | IM },
	{ "_slurm|_scheduler|_containerd|_docker_version|_docker_engine|_docker_|_runc|_container_"
	  "runtime|"
	  "_enroot|_pyxis|_cri_o_|_podman",
	  CL_PLATFORM, PART_VERSION, NULL, "platform_team", VENDOR_NONE, IM },
	/* metal and firmware */
	{ "_nic_firmware|_nic_fw|_hca_firmware|_hca_fw|_switch_firmware", CL_FIRMWARE, PART_VERSION,
	  "NIC firmware", NULL, VENDOR_NETWORK, CO },
	{ "_nic_driver|_bnxt|_mlx5|_mlnx_ofed|_ofed|_doca_|_ionic", CL_DRIVER, PART_VERSION,
	  "NIC driver", NULL, VENDOR_NETWORK, CO | FW },
	{ "_peer_mem|_gdr_|_dmabuf|_rdma_devices|_gpudirect", CL_HOST, PART_STATE, NULL, NULL,
	  VENDOR_NONE, CO | DR },
	{ "_vbios|_ifwi|_mes_|_mec_|_smu_|_psp_|_firmware|_fw_|_microcode|_bios_|_bmc_|_gsp_|_uefi",
	  CL_FIRMWARE, PART_VERSION, NULL, NULL, VENDOR_GPU, DR },
	{ "_node_id|_node_name|_node_set|_hostname|_host_name|_machine_id|_node_|_machine_",
	  CL_HARDWARE, PART_NODE, "node", NULL, VENDOR_NONE, PL },
	{ "_iommu|_acs_|_numa|_governor|_cmdline|_boot_param|_hugepage|_sysctl", CL_HOST,
	  PART_SETTING, NULL, "platform_team", VENDOR_NONE, CO },
	{ "_kernel_version|_kernel_release|_linux_kernel|_linux_|_os_|_ubuntu|_rhel|_glibc_|"
	  "_os_kernel|_dgx_os",
	  CL_HOST, PART_VERSION, NULL, "platform_team", VENDOR_NONE, DR | CO | PL },
	{ "_partition_mode|_compute_partition|_memory_partition", CL_DRIVER, PART_SETTING, NULL,
	  "platform_team", VENDOR_NONE, 0 },
	{ "_amdgpu|_dkms|_kfd_|_driver_|_host_driver|_gpu_driver|_nvidia_driver|_kmd_", CL_DRIVER,
	  PART_VERSION, NULL, NULL, VENDOR_GPU, FW | PL },
	/* libraries */
	{ "_tokeniz|_chat_template|_generation_config|_token_id", CL_MODEL, PART_VERSION, NULL,
	  "model_publisher", VENDOR_NONE, FR | EN },
	{ "_rccl_tests|_nccl_tests", CL_APPLICATION, PART_TOOL, NULL, "app_team", VENDOR_NONE, CO },
	{ "_efa_|_libfabric|_ofi_|_aws_ofi", CL_COMMLIB, PART_VERSION, NULL,
	  "distro_or_cloud_image", VENDOR_NONE, IM },
	{ "_rccl|_msccl", CL_COMMLIB, PART_VERSION, "rccl", NULL, VENDOR_AMD, 0 },
	{ "_nccl", CL_COMMLIB, PART_VERSION, "nccl", NULL, VENDOR_NVIDIA, 0 },
	{ "_transport|_net_plugin|_nchannels|_allreduce_algo|_all_reduce_path|_collective_algo|"
	  "_algo_proto",
	  CL_COMMLIB, PART_SETTING, NULL, NULL, VENDOR_GPU, 0 },
	{ "_ucx|_ucc_|_mpi_|_openmpi|_libibverbs|_rdma_core|_mori", CL_COMMLIB, PART_VERSION, NULL,
	  "distro_or_cloud_image", VENDOR_NETWORK, IM },
	{ "_tuning|_perf_db|_tuned|_find_db", CL_KERNELLIB, PART_VERSION, NULL, NULL, VENDOR_GPU,
	  0 },
	{ "_miopen|_hipblas|_rocblas|_tensile|_aotriton|_rocfft|_hipsolver", CL_KERNELLIB,
	  PART_VERSION, NULL, NULL, VENDOR_AMD, FR },
	{ "_cublas|_cudnn|_cufft", CL_KERNELLIB, PART_VERSION, NULL, NULL, VENDOR_NVIDIA, 0 },
	{ "_triton|_aiter|_ck_|_composable_kernel|_flash_att|_flashinfer|_cutlass|_deepgemm|"
	  "_deep_gemm|_sgl_kernel|_vllm_flash_attn|_fbgemm|_xformers|_bitsandbytes|_openblas|_blas|"
	  "_lapack|_onednn|_mkl_|"
	  "_kernel_lib",
	  CL_KERNELLIB, PART_VERSION, NULL, "kernel_lib_upstream", VENDOR_NONE, EN },
	/* application */
	{ "_trainer|_app_|_script|_launcher|_own_code|_training_code|_repo_commit|_git_commit",
	  CL_APPLICATION, PART_VERSION, NULL, "app_team", VENDOR_NONE, 0 },
	{ "_checkpoint_format|_checkpoint", CL_FRAMEWORK, PART_VERSION, NULL, "framework_upstream",
	  VENDOR_NONE, APP },
	/* images before what is in their names */
	{ "_image_tag|_tag_", CL_IMAGE, PART_SETTING, "registry tag", "image_maintainer",
	  VENDOR_NONE, 0 },
	{ "_vllm_rocm_image|_vllm_image|_sglang_image|_sglang_rocm_image|_vllm_nightly|_engine_"
	  "image|"
	  "_nightly_image",
	  CL_ENGINE, PART_WRAPPER, NULL, "engine_upstream", VENDOR_NONE,
	  IM | KL | CO | FR | PL | RT },
	{ "_base_image|_benchmark_image", CL_IMAGE, PART_WRAPPER, NULL, "image_maintainer",
	  VENDOR_NONE, RT | FR | CO | KL },
	{ "_image_digest|_image|_container_image|_image_id|_registry", CL_IMAGE, PART_WRAPPER,
	  "image", "image_maintainer", VENDOR_NONE, EN | FR | KL | CO | RT | HW },
	{ "_container_rocm|_container_cuda", CL_IMAGE, PART_WRAPPER, NULL, "platform_team",
	  VENDOR_NONE, DR | RT | FR },
	{ "_pip_|_wheel|_conda|_requirements|_package_set|_packages_|_package_index|_venv",
	  CL_IMAGE, PART_VERSION, NULL, "image_maintainer", VENDOR_NONE, FR | CO },
	/* how an engine is run */
	{ "_graph_capture|_cuda_graph|_hip_graph|_args_|_attention_backend|_attn_backend|"
	  "_moe_backend|_kv_|_max_num|_tensor_parallel|_pipeline_parallel|_expert_parallel|"
	  "_data_parallel|_tp_|_ep_|_dp_|_pp_|_speculat|_sampling|_temperature_|_gpu_memory_util|"
	  "_memory_fraction|_enforce_eager|_dtype|_block_size|_backend_|_batch_limit|_parallel",
	  CL_ENGINE, PART_SETTING, NULL, "engine_upstream", VENDOR_NONE, KL },
	{ "_quant|_model_revision|_model_|_weights|_lora|_config_digest|_checkpoint_digest",
	  CL_MODEL, PART_VERSION, NULL, "model_publisher", VENDOR_NONE, EN },
	/* runtimes and frameworks */
	{ "_torch|_pytorch|_jax|_tensorflow|_xla_", CL_FRAMEWORK, PART_VERSION, NULL,
	  "framework_upstream", VENDOR_NONE, KL | CO },
	{ "_transformers|_deepspeed|_megatron|_accelerate|_lightning|_onnx|_peft|_trl_|_nemo_|"
	  "_apex_|_transformer_engine",
	  CL_FRAMEWORK, PART_VERSION, NULL, "framework_upstream", VENDOR_NONE, MO | IM | APP },
	{ "_engine|_vllm|_sglang|_tgi_|_tensorrt_llm|_trtllm|_llama_cpp|_lmdeploy|_ollama|_router_",
	  CL_ENGINE, PART_VERSION, NULL, "engine_upstream", VENDOR_NONE, KL | FR },
	{ "_rocm|_hip_|_hsa_|_rocr|_comgr|_clr_", CL_RUNTIME, PART_VERSION, NULL, NULL, VENDOR_AMD,
	  KL | DR | CO },
	{ "_cuda", CL_RUNTIME, PART_VERSION, NULL, NULL, VENDOR_NVIDIA, KL | DR | CO },
	/* metal, last: "gpu" is in many names */
	{ "_nic_|_hca_|_nic_model", CL_HARDWARE, PART_IDENTITY, "NIC", NULL, VENDOR_NETWORK, CO },
	{ "_gpu_|_gpu_arch|_gfx|_pci_id|_card|_cpu_|_dimm|_nodes_|_gpus_|_accelerator|_cooling",
	  CL_HARDWARE, PART_IDENTITY, NULL, NULL, VENDOR_NONE, DR | APP | CO },
};
static const struct part unknown = { "", CL_APPLICATION, PART_SETTING, NULL, NULL, VENDOR_NONE, 0 };

char *part_words(const char *name)
{
	struct str s = { 0 };

	str_addc(&s, '_');
	for (const char *p = name; *p; p++) {
		char c = (char)tolower((unsigned char)*p);

		if (isalnum((unsigned char)c))
			str_addc(&s, c);
		else if (s.p[s.n - 1] != '_')
			str_addc(&s, '_');
	}
	if (s.p[s.n - 1] != '_')
		str_addc(&s, '_');
	return str_steal(&s);
}

bool part_has(const char *words, const char *like)
{
	struct sv rest = sv_of(like), one;

	while (sv_split(&rest, '|', &one))
		if (one.n && sv_find(sv_of(words), one) >= 0)
			return true;
	return false;
}

const char *part_name(const char *name, char *ret_aspect)
{
	static const char *const lead[] = { "effective", "requested", "label", "loaded" };

	*ret_aspect = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(lead); i++) {
		size_t n = strlen(lead[i]);

		if (str_starts(name, lead[i]) && (name[n] == '.' || name[n] == '_') &&
		    name[n + 1]) {
			*ret_aspect = lead[i][0] == 'l' && lead[i][1] == 'o' ? 'e' : lead[i][0];
			return name + n + 1;
		}
	}
	return name;
}

const struct part *part_of(const char *name)
{
	char aspect;
	AUTO_FREE char *words = part_words(part_name(name, &aspect));
	char *image = strstr(words, "_version_image_");

	/* The version of something inside the image, not the image. */
	if (image)
		image[strlen("_version_")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (part_has(words, parts[i].like))
			return &parts[i];
	return &unknown;
}

char *part_product(const char *name)
{
	static const char *const tails[] = { "_version", "_commit", "_digest",  "_revision",
					     "_image",   "_id",     "_release", "_package" };
	const struct part *p = part_of(name);
	struct str s = { 0 };
	char aspect;
	bool again = true;

	if (p->product)
		return xstrdup(p->product);
	str_add(&s, part_name(name, &aspect));
	while (again && p->kind != PART_SETTING) {
		again = false;
		for (size_t i = 0; i < ARRAY_SIZE(tails); i++)
			if (s.n > strlen(tails[i]) && str_ends(s.p, tails[i])) {
				s.n -= strlen(tails[i]);
				s.p[s.n] = '\0';
				again = true;
			}
	}
	if (p->kind == PART_SETTING && !str_starts(s.p, "env."))
		for (size_t i = 0; i < s.n; i++)
			if (s.p[i] == '_')
				s.p[i] = ' ';
	return str_steal(&s);
}

static const char *gpu_vendor(const char *gpu)
{
	static const char *const nvidia[] = { "nvidia", "_h100",   "_h200",  "_a100", "_b200",
					      "_b300",  "_gb200",  "_gb300", "_rtx",  "_l40",
					      "_v100",  "geforce", "tesla" };
	AUTO_FREE char *w = part_words(gpu ? gpu : "");

	for (size_t i = 0; i < ARRAY_SIZE(nvidia); i++)
		if (strstr(w, nvidia[i]))
			return "NVIDIA";
	return "AMD";
}

const char *part_owner(const struct part *p, enum component_layer layer, const char *gpu)
{
	static const char *const by_layer[CL_N] = {
		[CL_HARDWARE] = "hardware_vendor",      [CL_HOST] = "platform_team",
		[CL_FRAMEWORK] = "framework_upstream",  [CL_ENGINE] = "engine_upstream",
		[CL_MODEL] = "model_publisher",         [CL_IMAGE] = "image_maintainer",
		[CL_PLATFORM] = "platform_team",        [CL_APPLICATION] = "app_team",
		[CL_KERNELLIB] = "kernel_lib_upstream",
	};

	if (p && p->layer == layer) {
		if (p->owner)
			return p->owner;
		if (p->vendor == VENDOR_AMD)
			return "AMD";
		if (p->vendor == VENDOR_NVIDIA)
			return "NVIDIA";
		if (p->vendor == VENDOR_NETWORK)
			return "network_vendor";
		if (p->vendor == VENDOR_GPU)
			return gpu_vendor(gpu);
	}
	return by_layer[layer] ? by_layer[layer] : gpu_vendor(gpu);
}

const char *kernel_product(const char *kernel)
{
	static const struct {
		const char *like, *product;
	} owners[] = {
		{ "cijk_", "hipblaslt" },
		{ "hipblaslt", "hipblaslt" },
		{ "rocblas", "rocblas" },
		{ "rccl", "rccl" },
		{ "nccl", "nccl" },
		{ "miopen", "miopen" },
		{ "winograd", "miopen" },
		{ "igemm", "miopen" },
		{ "naive_conv", "miopen" },
		{ "attn_fwd", "aotriton" },
		{ "aiter", "aiter" },
		{ "fmha", "aiter" },
		{ "ck_tile", "composable_kernel" },
		{ "device_gemm", "composable_kernel" },
		{ "deepgemm", "deepgemm" },
		{ "deep_gemm", "deepgemm" },
		{ "flash_fwd", "flash_attn" },
		{ "triton", "triton" },
		{ "fused_moe_kernel", "triton" },
		{ "unified_attention", "triton" },
		{ "_fwd_kernel", "triton" },
		{ "xmma", "cublas" },
		{ "cublas", "cublas" },
		{ "cudnn", "cudnn" },
		{ "cutlass", "cutlass" },
		{ "at::native", "torch" },
		{ "vectorized_elementwise", "torch" },
		{ "paged_attention", "engine" },
		{ "vllm::", "engine" },
	};
	AUTO_FREE char *low = xstrdup(kernel);

	for (char *p = low; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		if (strstr(low, owners[i].like))
			return owners[i].product;
	return NULL;
}

const struct domain *domain_of(const char *metric)
{
	static const struct domain domains[] = {
		{ "_resume|_step_after|_checkpoint_step|_restored", FR | APP,
		  "checkpoint loading" },
		{ "_kv_|_gpu_blocks|_cache_blocks|_free_mem|_memory_at_start|_vram|_hbm_used|"
		  "_peak_memory|_gpu_memory",
		  EN, "memory sizing" },
		{ "_weight_bytes|_weights_g|_weight_g", IM | MO, "weight layout" },
		{ "_token_id|_token_digest|_tokens_of_fixed|_prompt_tokens", MO | FR, "tokenizer" },
		{ "_thermal|_throttl|_temp|_junction|_hotspot|_sclk|_clock|_power|_fan", HW,
		  "cooling and clocks" },
		{ "_ecc|_uncorrectable|_bad_page|_ras_|_hbm_error", HW, "GPU memory (ECC)" },
		{ "_link_width|_link_speed|_pcie", HW, "PCIe link" },
		{ "_mem_bw|_memory_bandwidth|_babelstream|_stream_|_hbm_bw|_copy_bw", HW | DR,
		  NULL },
		{ "_busbw|_algbw|_all_?reduce|_allreduce|_all_reduce|_allgather|_all_gather|_all_"
		  "to_all|"
		  "_alltoall|_nccl|_rccl|_p2p_bw|_net_bw|_ib_bw|_collective",
		  CO | HO | DR | FW | HW, NULL },
		{ "_disk|_shm|_inode", PL, "node state" },
		{ "_data_wait|_loader|_input_stall", PL | APP, "data path" },
		{ "_gemm|_tflops|_matmul|_conv_", KL, NULL },
	};
	AUTO_FREE char *w = part_words(metric);

	for (size_t i = 0; i < ARRAY_SIZE(domains); i++)
		if (part_has(w, domains[i].like))
			return &domains[i];
	return NULL;
}
