/* SPDX-License-Identifier: Apache-2.0 */
/* A training job of a few lines of shell, for tests. */
#pragma once

#include "checks_scene.h"

/* A training job in shell: counts steps, keeps a checkpoint every 5, loss falls with the step. */
static const char trainer[] = "#!/bin/sh\n"
			      "i=0; [ \"$1\" = resume ] && i=$(cat ckpt)\n"
			      "while [ $i -lt 20 ]; do\n"
			      " i=$((i+1)); echo \"{\\\"step\\\": $i, \\\"loss\\\": 0.$((90-i)), "
			      "\\\"eval_loss\\\": 0.$((90-i)), "
			      "\\\"ms\\\": 2, \\\"data_ms\\\": 1, \\\"samples_per_s\\\": 500}\"\n"
			      " [ $((i%5)) = 0 ] && echo $i > ckpt; sleep 0.02\n"
			      "done\n"
			      "echo '{\"final\": true, \"weights\": \"abc\"}'\n";

static const char train_tail[] =
	"workload_check:\n"
	"  train:\n"
	"    run: [sh, \"{dir}/train.sh\"]\n"
	"    resume: [sh, \"{dir}/train.sh\", resume]\n"
	"    metrics: {jsonl: stdout}\n"
	"    target: {eval_loss: \"<= %s\"}\n"
	"    checkpoints: \"{work}\"\n"
	"  objectives: [final_loss <= 0.8, runs_reaching_target = 100 %%]\n";
