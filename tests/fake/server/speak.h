/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of each endpoint: how tokens, ends and whole answers look in chat, completions,
 * responses and embeddings. Body bytes are collected in `buf`; play.c makes writes of them.
 */
#pragma once

#include "play.h"

struct maker {
	const struct script *s;
	struct play *p;
	enum api api;
	long id;            /* of the answer */
	char buf[1 << 16];  /* body bytes of the write being made */
	char json[1 << 14]; /* the event being made */
	size_t n, json_n;
	unsigned lines; /* line ends so far, for nl=mix */
	int events;     /* token events in buf */
};

/* Body bytes as they are. */
void speak_raw(struct maker *m, const char *text);
/* What comes before the first token. */
void speak_begin(struct maker *m);
/* One event with the tokens from..to-1 of a choice; all: how many there will be. */
void speak_tokens(struct maker *m, int64_t from, int64_t to, int64_t all, int64_t choice);
void speak_role(struct maker *m);
void speak_empty(struct maker *m);
void speak_usage(struct maker *m, int64_t tokens);
void speak_error(struct maker *m);
void speak_end(struct maker *m, int64_t tokens);
/* No stream: one JSON object. */
void speak_whole(struct maker *m, int64_t tokens);
