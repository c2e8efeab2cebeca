/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/part.h"

#include "test.h"

static void a_name_tells_layer_kind_and_owner(void)
{
	static const struct {
		const char *name;
		enum component_layer layer;
		enum part_kind kind;
		const char *product, *gpu, *owner;
	} cases[] = {
		{ "triton_version", CL_KERNELLIB, PART_VERSION, "triton", NULL,
		  "kernel_lib_upstream" },
		{ "rocm_version_image", CL_RUNTIME, PART_VERSION, "rocm", NULL, "AMD" },
		{ "hipblaslt_commit", CL_KERNELLIB, PART_VERSION, "hipblaslt", NULL, "AMD" },
		{ "aotriton_version", CL_KERNELLIB, PART_VERSION, "aotriton", NULL, "AMD" },
		{ "driver_version", CL_DRIVER, PART_VERSION, "driver", "NVIDIA H100", "NVIDIA" },
		{ "driver_version", CL_DRIVER, PART_VERSION, "driver", "AMD Instinct MI300X",
		  "AMD" },
		{ "nic_driver_version", CL_DRIVER, PART_VERSION, "NIC driver", NULL,
		  "network_vendor" },
		{ "kernel_version", CL_HOST, PART_VERSION, "kernel", NULL, "platform_team" },
		{ "nccl_version", CL_COMMLIB, PART_VERSION, "nccl", NULL, "NVIDIA" },
		{ "effective.attention_backend", CL_ENGINE, PART_SETTING, "attention backend", NULL,
		  "engine_upstream" },
		{ "image_digest", CL_IMAGE, PART_WRAPPER, "image", NULL, "image_maintainer" },
		{ "env.HSA_OVERRIDE_GFX_VERSION", CL_APPLICATION, PART_SETTING,
		  "env.HSA_OVERRIDE_GFX_VERSION", NULL, "platform_team" },
		{ "dataset_digest", CL_APPLICATION, PART_WORK, "dataset", NULL, "app_team" },
		{ "node_id", CL_HARDWARE, PART_NODE, "node", NULL, "hardware_vendor" },
		{ "device_plugin_version", CL_PLATFORM, PART_VERSION, "device_plugin", NULL,
		  "operator_project" },
		{ "what_is_this", CL_APPLICATION, PART_SETTING, "what is this", NULL, "app_team" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct part *p = part_of(cases[i].name);
		AUTO_FREE char *product = part_product(cases[i].name);

		CHECK_STR(component_layer_name(p->layer), component_layer_name(cases[i].layer));
		CHECK_INT(p->kind, cases[i].kind);
		CHECK_STR(product, cases[i].product);
		CHECK_STR(part_owner(p, p->layer, cases[i].gpu), cases[i].owner);
	}
}

static void aspects_are_taken_off(void)
{
	char aspect;

	CHECK_STR(part_name("effective.moe_backend", &aspect), "moe_backend");
	CHECK_INT(aspect, 'e');
	CHECK_STR(part_name("requested_ep", &aspect), "ep");
	CHECK_INT(aspect, 'r');
	CHECK_STR(part_name("label", &aspect), "label");
	CHECK_INT(aspect, 0);
	CHECK_STR(part_name("loaded.rccl_version", &aspect), "rccl_version");
	CHECK_INT(aspect, 'e');
}

static void a_kernel_belongs_to_a_library(void)
{
	CHECK_STR(kernel_product("Cijk_Ailk_Bljk_BBS_BH_MT256"), "hipblaslt");
	CHECK_STR(kernel_product("fused_moe_kernel_gptq_awq"), "triton");
	CHECK_STR(kernel_product("void at::native::vectorized_elementwise_kernel<4>"), "torch");
	CHECK(!kernel_product("other"));
}

static void a_metric_points_at_layers(void)
{
	CHECK(domain_of("kv_cache_blocks")->layers == 1u << CL_ENGINE);
	CHECK(domain_of("junction_temp_c")->layers == 1u << CL_HARDWARE);
	CHECK(domain_of("busbw_2node")->layers & 1u << CL_COMMLIB);
	CHECK(!domain_of("output_tok_s"));
}

TEST_MAIN(TEST(a_name_tells_layer_kind_and_owner), TEST(aspects_are_taken_off),
	  TEST(a_kernel_belongs_to_a_library), TEST(a_metric_points_at_layers))
