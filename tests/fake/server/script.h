/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scripted server plays: "n=8,ttft=50ms,itl=10ms". Several scripts stand apart by '|' and
 * are taken in turn; "3*status=429|7*n=8" is ten turns. Words, with their defaults:
 *
 *	n=64|ask                 tokens; ask: the request's max_tokens
 *	ttft=100ms itl=20ms      times (us, ms, s)
 *	tpc=1 epw=1              tokens an event, events a write
 *	split=0 gap=0            bytes a write, and the pause between
 *	nl=lf|crlf|cr sp=1       line ends; the blank after "data:"
 *	role=first|early|none    the role-only event
 *	ping=0                   a comment each so often
 *	utf8=0 esc=0             tokens of several bytes, raw or as JSON escapes
 *	usage=end|every|none     ulie=0 adds to its count; cached=-1: cached_tokens
 *	fin=sep|same|none fr=stop done=1   finish reason, [DONE]
 *	reason=0                 the first so many tokens are reasoning
 *	end=ok|clean|cut|reset|hang at=-1  after so many tokens ends without the rest
 *	err=-1 bad=-1            error event, broken JSON after so many tokens
 *	status=200 retry=-1      HTTP status, Retry-After
 *	body=ok|error|text       a 200 with another body
 *	late=0                   headers so late in their own write; -1: with the first event
 *	frame=chunked|length|close keep=1 interim=0 trailer=0
 *	race=0                   closes the connection on its second request
 *	think=0                  all times count from so long after the request came in
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { END_OK, END_CLEAN, END_CUT, END_RESET, END_HANG };
enum { USAGE_END, USAGE_EVERY, USAGE_NONE };
enum { FIN_SEP, FIN_SAME, FIN_NONE };
enum { ROLE_FIRST, ROLE_EARLY, ROLE_NONE };
enum { BODY_OK, BODY_ERROR, BODY_TEXT };
enum { FRAME_CHUNKED, FRAME_LENGTH, FRAME_CLOSE };
enum { NL_LF, NL_CRLF, NL_CR };

struct script {
	int64_t n, ttft, itl, tpc, epw, split, gap, nl, sp, role, ping, utf8, esc, usage, ulie,
		cached, fin, done, reason, end, at, err, bad, status, retry, body, late, frame,
		keep, interim, trailer, race, ask, think;
	char fr[16];
};

/* Fills up to `room` turns; gives their number, or -1 after printing what is wrong. */
int scripts_parse(const char *text, struct script *ret, int room);
