/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong contracts and what has to be said about them: tests/contracts/wrong.txt. After a change of
 * words TWICE_WRONG_PRINT=1 prints the file as it would have to be; its diff is what gets reviewed.
 */
#include "base/file.h"
#include "contract_schemas.h"
#include "test.h"

static const char *const pieces[][2] = {
	{ "@batch", "twice: 1\nworkload: {name: t, kind: batch}\n" },
	{ "@rate", "workload_check:\n"
		   "  command: {argv: [./t], extract: [{metric: rate, unit: tokens/s, better: "
		   "higher, json: /r}]}\n"
		   "  objectives: [rate >= 5 tokens/s]\n" },
	{ "@service", "twice: 1\nworkload: {name: t, kind: inference}\n" },
	{ "@serve", "twice: 1\nworkload: {name: t, kind: inference}\n"
		    "workload_check:\n"
		    "  serve: {start: [./s]}\n"
		    "  load: {prompts: p, arrival: {poisson: 4/s}, duration: 1 min}\n"
		    "  objectives:\n" },
	{ "@train", "twice: 1\nworkload: {name: t, kind: training}\n"
		    "workload_check:\n"
		    "  train: {run: [./t], metrics: {jsonl: stdout}, target: {loss: '<= 0.5'}}\n"
		    "  objectives:\n" },
};

static void add_line(struct str *text, struct sv line)
{
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		if (sv_is(line, pieces[i][0])) {
			str_add(text, pieces[i][1]);
			return;
		}
	}
	CHECK(!sv_starts(line, "@"));
	str_addsv(text, line);
	str_addc(text, '\n');
}

/* What contract_parse says, one line each. */
static char *said(const struct str *text)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (contract_parse(sv_str(text), "f", test_schemas, &c, &bad, &err) == 0)
		return xstrdup("(no mistake found)\n");
	CHECK_INT(err.code, ERR_PARSE);
	for (size_t i = 0; i < bad.n; i++) {
		AUTO_FREE char *line = problem_line("f", &bad.v[i]);

		CHECK(i > 0 || strncmp(line, err.msg, sizeof(err.msg) - 1) == 0);
		CHECK(!strchr(line, '\n'));
		str_addf(&s, "%s\n", line + 2);
	}
	return str_steal(&s);
}

struct block {
	struct sv title;
	struct str text, source, want;
};

static void block_release(struct block *b)
{
	str_release(&b->text);
	str_release(&b->source);
	str_release(&b->want);
}

static bool next_block(struct sv *rest, struct block *ret)
{
	bool answer = false;
	struct sv line, before;

	if (!sv_line(rest, &line) || !sv_starts(line, "=== "))
		return false;
	ret->title = line;
	for (before = *rest; sv_line(rest, &line); before = *rest) {
		if (sv_starts(line, "=== ")) {
			*rest = before;
			break;
		}
		if (!answer && sv_is(line, "---")) {
			answer = true;
		} else if (answer) {
			str_addf(&ret->want, SV_FMT "\n", SV_ARG(line));
		} else {
			str_addf(&ret->source, SV_FMT "\n", SV_ARG(line));
			add_line(&ret->text, line);
		}
	}
	return true;
}

static void each_mistake_is_told_as_it_should_be(void)
{
	const char *src = getenv("TWICE_SRC"), *print = getenv("TWICE_WRONG_PRINT");
	AUTO_FREE char *path = NULL, *file = NULL;
	struct err err = ERR_INIT;
	struct sv rest, line, before;
	size_t n = 0, wrong = 0;

	if (!src)
		test_skip("TWICE_SRC is not set");
	path = path_join(src, "tests/contracts/wrong.txt");
	CHECK_OK(file_read(path, 1 * MIB, &file, NULL, &err), err);
	rest = sv_of(file);
	for (before = rest; sv_line(&rest, &line) && sv_starts(line, "#"); before = rest)
		if (print)
			fprintf(stderr, SV_FMT "\n", SV_ARG(line));
	rest = before;
	for (;; n++) {
		struct block b CLEANUP(block_release) = { 0 };
		AUTO_FREE char *got = NULL;

		if (!next_block(&rest, &b))
			break;
		got = said(&b.text);
		if (print)
			fprintf(stderr, SV_FMT "\n%s---\n%s", SV_ARG(b.title), str_text(&b.source),
				got);
		if (streq(got, str_text(&b.want)))
			continue;
		wrong++;
		printf(SV_FMT "\n  got  %s  want %s", SV_ARG(b.title), got, str_text(&b.want));
	}
	CHECK_INT(rest.n, 0);
	CHECK_INT(wrong, 0);
	CHECK(n >= 60);
}

TEST_MAIN(TEST(each_mistake_is_told_as_it_should_be))
