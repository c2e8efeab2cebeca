/* SPDX-License-Identifier: Apache-2.0 */
/* One answer as a list of writes with their times, made from a script before the first byte goes
 * out. */
#pragma once

#include "script.h"

#include <stddef.h>

struct step {
	int64_t at; /* ns after the answer's clock starts */
	size_t from, n;
	int events; /* token events whose last byte this write carries */
};

struct play {
	char *bytes;
	size_t n, room;
	struct step *steps;
	size_t n_steps, room_steps;
	int end; /* END_...: what to do after the last step */
	bool keep;
};

/* What the request's path asks for. */
enum api { API_CHAT, API_COMPLETIONS, API_RESPONSES, API_EMBEDDINGS };

/* ask: max_tokens of the request. */
void play_make(const struct script *s, enum api api, int64_t ask, struct play *ret);
void play_release(struct play *p);
