/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(f) offsetof(struct script, f)

static const struct key {
	const char *name;
	size_t at;
	const char *words; /* of an enumeration, "|"-separated */
} keys[] = {
	{ "n", AT(n), NULL },
	{ "ttft", AT(ttft), NULL },
	{ "itl", AT(itl), NULL },
	{ "tpc", AT(tpc), NULL },
	{ "epw", AT(epw), NULL },
	{ "split", AT(split), NULL },
	{ "gap", AT(gap), NULL },
	{ "nl", AT(nl), "lf|crlf|cr|mix" },
	{ "sp", AT(sp), NULL },
	{ "role", AT(role), "first|early|none" },
	{ "ping", AT(ping), NULL },
	{ "utf8", AT(utf8), NULL },
	{ "esc", AT(esc), NULL },
	{ "usage", AT(usage), "end|every|none|first" },
	{ "ulie", AT(ulie), NULL },
	{ "cached", AT(cached), NULL },
	{ "fin", AT(fin), "sep|same|none" },
	{ "done", AT(done), NULL },
	{ "reason", AT(reason), NULL },
	{ "end", AT(end), "ok|clean|cut|reset|hang|linger|slam" },
	{ "at", AT(at), NULL },
	{ "err", AT(err), NULL },
	{ "bad", AT(bad), NULL },
	{ "status", AT(status), NULL },
	{ "retry", AT(retry), NULL },
	{ "body", AT(body), "ok|error|text|whole" },
	{ "late", AT(late), NULL },
	{ "frame", AT(frame), "chunked|length|close" },
	{ "keep", AT(keep), NULL },
	{ "interim", AT(interim), NULL },
	{ "trailer", AT(trailer), NULL },
	{ "race", AT(race), NULL },
	{ "think", AT(think), NULL },
	{ "frag", AT(frag), NULL },
	{ "ext", AT(ext), NULL },
	{ "comment", AT(comment), NULL },
	{ "choices", AT(choices), NULL },
	{ "empty", AT(empty), NULL },
	{ "nulls", AT(nulls), NULL },
	{ "tool", AT(tool), NULL },
	{ "refuse", AT(refuse), NULL },
	{ "pause", AT(pause), NULL },
	{ "pat", AT(pat), NULL },
	{ "more", AT(more), NULL },
	{ "extra", AT(extra), NULL },
	{ "type", AT(type), "sse|json|none" },
	{ "zip", AT(zip), NULL },
	{ "hsplit", AT(hsplit), NULL },
	{ "hgap", AT(hgap), NULL },
	{ "dup", AT(dup), NULL },
	{ "http10", AT(http10), NULL },
	{ "eager", AT(eager), NULL },
};

static struct script defaults(void)
{
	return (struct script){ .n = 64,
				.ttft = 100000000,
				.itl = 20000000,
				.tpc = 1,
				.epw = 1,
				.sp = 1,
				.cached = -1,
				.done = 1,
				.at = -1,
				.err = -1,
				.bad = -1,
				.status = 200,
				.retry = -1,
				.keep = 1,
				.choices = 1,
				.fr = "stop" };
}

static bool word_index(const char *words, const char *value, int64_t *ret)
{
	size_t n = strlen(value);

	for (int64_t i = 0;; i++) {
		size_t len = strcspn(words, "|");

		if (len == n && memcmp(words, value, n) == 0) {
			*ret = i;
			return true;
		}
		if (!words[len])
			return false;
		words += len + 1;
	}
}

/* Plain numbers, or times in ns. */
static bool number(const char *value, int64_t *ret)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value)
		return false;
	if (strcmp(end, "us") == 0)
		v *= 1e3;
	else if (strcmp(end, "ms") == 0)
		v *= 1e6;
	else if (strcmp(end, "s") == 0)
		v *= 1e9;
	else if (*end)
		return false;
	*ret = (int64_t)v;
	return true;
}

static bool set(struct script *s, const char *name, const char *value)
{
	if (strcmp(name, "fr") == 0) {
		snprintf(s->fr, sizeof(s->fr), "%s", value);
		return true;
	}
	if (strcmp(name, "n") == 0 && strcmp(value, "ask") == 0) {
		s->ask = 1;
		return true;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int64_t *at = (int64_t *)((char *)s + keys[i].at);

		if (strcmp(keys[i].name, name) == 0)
			return keys[i].words ? word_index(keys[i].words, value, at)
					     : number(value, at);
	}
	return false;
}

static bool one(char *text, struct script *s)
{
	char *save = NULL;

	*s = defaults();
	for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '=');

		if (eq)
			*eq = '\0';
		if (!eq || !set(s, p, eq + 1)) {
			fprintf(stderr, "fake-server: bad word '%s' in the script\n", p);
			return false;
		}
	}
	return true;
}

int scripts_parse(const char *text, struct script *ret, int room)
{
	char copy[2048], *save = NULL;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	if (!*copy) {
		ret[0] = defaults();
		return 1;
	}
	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		char *star = strchr(p, '*');
		long times = star ? strtol(p, NULL, 10) : 1;
		struct script s;

		if (!one(star ? star + 1 : p, &s))
			return -1;
		while (times-- > 0 && n < room)
			ret[n++] = s;
	}
	return n;
}
