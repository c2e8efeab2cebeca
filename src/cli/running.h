/* SPDX-License-Identifier: Apache-2.0 */
/* Running a contract from a command, with a live line: for run and rollback. */
#pragma once

#include "cli/cli.h"
#include "run/run.h"

/* Everything of env that is not an option: contract, ledger, callbacks with a live line. */
void running_env(struct cli *cli, struct run_env *env);
void running_clear_line(struct cli *cli);
/* env holds the options; the rest is filled in here. */
int running_contract(struct cli *cli, struct run_env *env, struct run_done *ret,
		     struct err *err) MUST_USE;
void running_value(const struct run_done *done, json_t *v);
void running_text(const json_t *v, struct str *out);
int running_exit(const struct run_done *done);
