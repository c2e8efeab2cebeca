/* SPDX-License-Identifier: Apache-2.0 */
/* A service whose server is tests/fake/llm.py, with words that say how it misbehaves. */
#pragma once

#include "checks_scene.h"

static inline void server_scene(struct scene *s, const char *check, const char *words,
				const char *load)
{
	const char *src = getenv("TWICE_SRC");
	AUTO_FREE char *rest = NULL;

	if (access("/usr/bin/python3", X_OK) != 0)
		test_skip("no /usr/bin/python3");
	if (!src)
		test_skip("TWICE_SRC is not set");
	test_file(
		"prompts.jsonl",
		"{\"id\": \"a\", \"messages\": [{\"role\": \"user\", \"content\": \"say one\"}]}\n"
		"{\"id\": \"b\", \"messages\": [{\"role\": \"user\", \"content\": \"say two\"}]}\n"
		"{\"id\": \"c\", \"messages\": [{\"role\": \"user\", \"content\": \"say "
		"three\"}]}\n",
		0644);
	rest = xasprintf(
		"%s"
		"workload_check:\n"
		"  serve:\n"
		"    start: [\"{python}\", \"%s/tests/fake/llm.py\", \"{port}\"%s%s]\n"
		"    cwd: \"{work}\"\n"
		"    ready: {http: /health, within: 10 s%s}\n"
		"    metrics: /metrics\n"
		"    stop_within: 1 s\n"
		"  load: {prompts: prompts.jsonl, arrival: {constant: 50/s}, duration: 400 ms,\n"
		"         max_tokens: 8, timeout: 5 s, client_lag: 2 s%s}\n"
		"  objectives: [errors <= 50 %%, answers.match >= 50 %%]\n",
		check ? check : "", src, words[0] ? ", " : "", words,
		strstr(words, "never-ready") ? "" : ", line: listening", load ? load : "");
	scene(s, rest);
}
