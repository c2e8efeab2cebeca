/* SPDX-License-Identifier: Apache-2.0 */
/* The whole tool at one glance, sorted. */
#include "cli/cmds.h"

const struct cmd *const cmds[] = {
	&cmd_accept,  &cmd_bisect, &cmd_check,   &cmd_completion, &cmd_contract, &cmd_diagnose,
	&cmd_diff,    &cmd_export, &cmd_help,    &cmd_init,       &cmd_key,      &cmd_ledger,
	&cmd_load,    &cmd_log,    &cmd_report,  &cmd_rollback,   &cmd_run,      &cmd_show,
	&cmd_stack,   &cmd_verify, &cmd_version, &cmd_waive,      &cmd_watch,    &cmd_why,
	&cmd_witness, NULL,
};

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; cmds[i]; i++)
		if (streq(cmds[i]->name, name))
			return cmds[i];
	return NULL;
}
