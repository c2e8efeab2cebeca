/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the text of `twice why`, out of its JSON. */
#pragma once

#include "base/json.h"

/* A metric of the decision in its own unit, with its repetitions drawn on one scale. */
void why_metric(const json_t *reps, const json_t *number, struct str *out);
/* One of decision.answers. */
void why_answer(const json_t *answer, struct str *out);
