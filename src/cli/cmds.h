/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, one a file. */
#pragma once

#include "cli/cli.h"

extern const struct cmd cmd_accept, cmd_bisect, cmd_check, cmd_completion, cmd_contract,
	cmd_diagnose, cmd_diff, cmd_export, cmd_help, cmd_init, cmd_key, cmd_ledger, cmd_load,
	cmd_log, cmd_report, cmd_rollback, cmd_run, cmd_show, cmd_stack, cmd_verify, cmd_version,
	cmd_waive, cmd_watch, cmd_why, cmd_witness;
