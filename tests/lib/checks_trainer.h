/* SPDX-License-Identifier: Apache-2.0 */
/* A training job in shell: counts steps, keeps a checkpoint every 5, loss falls with the step. */
#pragma once

#include "checks_scene.h"

/* Replaced by tests: LINE prints a step, AFTER comes after the last one. */
#define TRAINER_HEAD                                                                               \
	"#!/bin/sh\n"                                                                              \
	"i=0; [ \"$1\" = resume ] && i=$(cat ckpt)\n"
#define TRAINER_LOOP                                                                               \
	"while [ $i -lt 20 ]; do\n"                                                                \
	" i=$((i+1))\n"
#define TRAINER_LINE                                                                               \
	" echo \"{\\\"step\\\": $i, \\\"loss\\\": 0.$((90-i)), \\\"eval_loss\\\": 0.$((90-i)), "   \
	"\\\"ms\\\": 2, "                                                                          \
	"\\\"data_ms\\\": 1, \\\"samples_per_s\\\": 500}\"\n"
#define TRAINER_SAVE                                                                               \
	" [ $((i%5)) = 0 ] && echo $i > ckpt; [ $i -gt 10 ] && sleep 0.02\n"                       \
	"done\n"
#define TRAINER_END "echo '{\"final\": true, \"weights\": \"abc\"}'\n"

static const char trainer[] = TRAINER_HEAD TRAINER_LOOP TRAINER_LINE TRAINER_SAVE TRAINER_END;

/* check: a recovery block or ""; metrics and more: of `train`. */
static inline void train_scene(struct scene *s, const char *check, const char *script,
			       const char *metrics, const char *target, const char *more)
{
	AUTO_FREE char *rest =
		xasprintf("%s"
			  "workload_check:\n"
			  "  train:\n"
			  "    run: [sh, \"{dir}/train.sh\", start]\n"
			  "    resume: [sh, \"{dir}/train.sh\", resume]\n"
			  "    metrics: {%s}\n"
			  "    target: {eval_loss: \"<= %s\"}\n"
			  "    checkpoints: \"{work}\"\n%s"
			  "  objectives: [final_loss <= 0.8, runs_reaching_target = 100 %%]\n",
			  check, metrics, target, more);

	scene(s, rest);
	test_file("train.sh", script, 0755);
}
