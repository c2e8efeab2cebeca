/* SPDX-License-Identifier: Apache-2.0 */
/* Check tables for tests of the contract room: one of every field type, and the names of real
 * checks. */
#pragma once

#include "base/err.h"
#include "contract/contract.h"

struct gpus_conf {
	int64_t count;
	char *arch;
	struct limit memory;
};
static const struct field gpus_fields[] = {
	FIELD(gpus_conf, count, .type = FIELD_INT, .min = "1", .max = "1024", .help = "how many"),
	FIELD(gpus_conf, arch, .type = FIELD_STR, .help = "gfx942"),
	FIELD(gpus_conf, memory, .type = FIELD_LIMIT, .unit = UNIT_BYTES, .help = "of each"),
	{ 0 },
};
static const struct check_schema gpus_schema = { .name = "gpus",
						 .layers = 1u << LAYER_HARDWARE,
						 .fields = gpus_fields,
						 .conf_size = sizeof(struct gpus_conf),
						 .help = "accelerators that must be there" };

struct bandwidth_conf {
	struct limit hbm, ram;
	double burn; /* a share */
	double load;
	struct strs tools;
	unsigned parts;
	int mode;
	bool quick;
	int64_t size_bytes, within_ns;
	struct ints sizes;
	struct pairs env;
};
static const char *const bandwidth_modes[] = { "copy", "triad", NULL };
static const char *const bandwidth_parts[] = { "read", "write", "copy", NULL };
static const struct field bandwidth_fields[] = {
	FIELD(bandwidth_conf, hbm, .type = FIELD_LIMIT, .unit = UNIT_BYTES_PER_S,
	      .help = "of a GPU"),
	FIELD(bandwidth_conf, ram, .type = FIELD_LIMIT, .unit = UNIT_BYTES_PER_S,
	      .help = "of the host"),
	FIELD(bandwidth_conf, burn, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .min = "1 %",
	      .max = "50 %", .help = "share of memory used"),
	FIELD(bandwidth_conf, load, .type = FIELD_NUM, .def = "0.5", .min = "0",
	      .help = "of the host"),
	FIELD(bandwidth_conf, tools, .type = FIELD_STRS, .help = "programs to use"),
	FIELD(bandwidth_conf, parts, .type = FIELD_ENUMS, .names = bandwidth_parts,
	      .help = "parts"),
	FIELD(bandwidth_conf, mode, .type = FIELD_ENUM, .names = bandwidth_modes, .def = "triad",
	      .help = "kernel"),
	FIELD(bandwidth_conf, quick, .type = FIELD_BOOL, .def = "false", .help = "less exact"),
	FIELD_AS("size", bandwidth_conf, size_bytes, .type = FIELD_BYTES, .def = "1 GiB",
		 .min = "1 MiB", .help = "of the arrays"),
	FIELD_AS("within", bandwidth_conf, within_ns, .type = FIELD_DURATION, .def = "1 min",
		 .help = "time it may take"),
	FIELD(bandwidth_conf, sizes, .type = FIELD_INTS, .min = "1", .help = "in MiB"),
	FIELD(bandwidth_conf, env, .type = FIELD_MAP, .keys = KEYS_ENV, .expand = true,
	      .help = "env"),
	{ 0 },
};

static int bandwidth_valid(void *conf, struct err *err)
{
	const struct bandwidth_conf *c = conf;

	if (c->hbm.op == LIMIT_NONE && c->ram.op == LIMIT_NONE)
		return bail(err, ERR_PARSE, "it could never fail: give 'hbm' or 'ram' a limit");
	return 0;
}

static const struct check_schema bandwidth_schema = { .name = "bandwidth",
						      .layers = 1u << LAYER_HARDWARE,
						      .fields = bandwidth_fields,
						      .conf_size = sizeof(struct bandwidth_conf),
						      .valid = bandwidth_valid,
						      .help = "memory bandwidth" };

struct collective_conf {
	char *op;
	int64_t ranks;
	struct limits busbw;
};
static const struct field collective_fields[] = {
	FIELD(collective_conf, op, .type = FIELD_STR, .def = "all_reduce", .help = "operation"),
	FIELD(collective_conf, ranks, .type = FIELD_INT, .need = true, .min = "2", .help = "ranks"),
	FIELD(collective_conf, busbw, .type = FIELD_LIMITS, .unit = UNIT_BYTES_PER_S,
	      .help = "size: bandwidth"),
	{ 0 },
};
static const struct check_schema collective_schema = { .name = "collective",
						       .layers = 1u << LAYER_COMM,
						       .fields = collective_fields,
						       .conf_size = sizeof(struct collective_conf),
						       .help = "collective operations" };

struct restart_conf {
	int64_t within_ns;
	bool under_load;
};
static const struct field restart_fields[] = {
	FIELD_AS("within", restart_conf, within_ns, .type = FIELD_DURATION, .def = "5 min",
		 .help = "time to be back"),
	FIELD(restart_conf, under_load, .type = FIELD_BOOL, .def = "false", .help = "while loaded"),
	{ 0 },
};
static const struct check_schema restart_schema = { .name = "restart",
						    .layers = 1u << LAYER_RECOVERY,
						    .fields = restart_fields,
						    .conf_size = sizeof(struct restart_conf),
						    .help = "kill the server and wait" };

static const struct check_schema *const test_schemas[] = { &gpus_schema, &bandwidth_schema,
							   &collective_schema, &restart_schema,
							   NULL };
