/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scripted server plays: "n=8,ttft=50ms,itl=10ms". Several scripts stand apart by '|' and
 * are taken in turn; "3*status=429|7*n=8" is ten turns. Words, with their defaults:
 *
 *	n=64|ask                 tokens; ask: the request's max_tokens
 *	ttft=100ms itl=20ms      times (us, ms, s)
 *	tpc=1 epw=1              tokens an event, events a write
 *	split=0 gap=0            bytes a write, and the pause between
 *	frag=0 ext=0             bytes an HTTP chunk; chunks with an extension
 *	nl=lf|crlf|cr|mix sp=1   line ends; the blank after "data:"
 *	comment=0                each event takes two lines of data with a comment between
 *	role=first|early|none    the role-only event
 *	ping=0                   a comment each so often
 *	utf8=0 esc=0             tokens of several bytes, raw or as JSON escapes
 *	choices=1                answers at once, interleaved, each of n tokens
 *	empty=0 nulls=0          empty deltas before each token; "usage":null and "error":null
 *	usage=end|every|none|first     ulie=0 adds to its count; cached=-1: cached_tokens
 *	fin=sep|same|none fr=stop done=1   finish reason, [DONE]
 *	reason=0 tool=0 refuse=0 the first so many tokens are reasoning, a tool call, a refusal
 *	pause=0 pat=0            tokens from pat on are so much later
 *	end=ok|clean|cut|reset|hang at=-1  after so many tokens ends without the rest
 *	end=linger|slam          all but the body's end; a reset behind the whole answer
 *	more=0                   token events behind [DONE]
 *	extra=0                  1: bytes behind the answer, in one write with it; a time: later
 *	err=-1 bad=-1            error event, broken JSON after so many tokens
 *	status=200 retry=-1      HTTP status, Retry-After
 *	body=ok|error|text|whole a 200 with another body; whole: an answer that is no stream
 *	type=sse|json|none zip=0 Content-Type; says that it is gzip
 *	late=0                   headers so late in their own write; -1: with the first event
 *	hsplit=0 hgap=0          bytes of the head a write, and the pause between
 *	frame=chunked|length|close keep=1 interim=0 (2: 100) trailer=0 (2: broken)
 *	dup=0 http10=0           Content-Length twice (2: and not the same); an HTTP/1.0 server
 *	eager=0                  answers when the request's head is there
 *	race=0                   closes the connection on its second request
 *	think=0                  all times count from so long after the request came in
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { END_OK, END_CLEAN, END_CUT, END_RESET, END_HANG, END_LINGER, END_SLAM };
enum { USAGE_END, USAGE_EVERY, USAGE_NONE, USAGE_FIRST };
enum { FIN_SEP, FIN_SAME, FIN_NONE };
enum { ROLE_FIRST, ROLE_EARLY, ROLE_NONE };
enum { BODY_OK, BODY_ERROR, BODY_TEXT, BODY_WHOLE };
enum { TYPE_SSE, TYPE_JSON, TYPE_NONE };
enum { FRAME_CHUNKED, FRAME_LENGTH, FRAME_CLOSE };
enum { NL_LF, NL_CRLF, NL_CR, NL_MIX };

struct script {
	int64_t n, ttft, itl, tpc, epw, split, gap, nl, sp, role, ping, utf8, esc, usage, ulie,
		cached, fin, done, reason, end, at, err, bad, status, retry, body, late, frame,
		keep, interim, trailer, race, ask, think, frag, ext, comment, choices, empty, nulls,
		tool, refuse, pause, pat, more, extra, type, zip, hsplit, hgap, dup, http10, eager;
	char fr[16];
};

/* Fills up to `room` turns; gives their number, or -1 after printing what is wrong. */
int scripts_parse(const char *text, struct script *ret, int room);
