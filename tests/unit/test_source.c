/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/file.h"
#include "capture/probes.h"
#include "capture/source.h"
#include "test.h"

static void make(const char *name, const char *text)
{
	AUTO_FREE char *path = path_join(test_dir(), name);
	AUTO_FREE char *dir = path_dir(path);
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(dir, &err), err);
	CHECK_OK(file_write(path, text, strlen(text), 0644, &err), err);
}

static void reads_a_recorded_machine(void)
{
	const struct capture_conf conf = { .root = test_dir() };
	struct stack out CLEANUP(stack_release) = { 0 };
	struct source s CLEANUP(source_release) = { .out = &out };
	struct strs names CLEANUP(strs_release) = { 0 };
	const char *const argv[] = { "tool", NULL };
	struct err err = ERR_INIT;
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *head = NULL;
	AUTO_FREE char *said = NULL;

	make("root/proc/x", "  12  \nmore\n");
	make("root/proc/d/.keep", "");
	make("root/proc/d/b", "");
	make("root/proc/d/a", "");
	make("cmd/tool.ok", "said\n");
	make("cmd/tool.bad", "half\n");
	make("cmd/tool.bad.status", "3\n");
	make("env", "A=1\nB=x=y\n");
	CHECK_OK(source_open(&s, &conf, &err), err);
	line = src_line(&s, "/proc/x");
	CHECK_STR(line, "12");
	CHECK_INT(src_int(&s, "/proc/x", -1), 12);
	CHECK_INT(src_int(&s, "/proc/y", -1), -1);
	CHECK_STR(s.why, "/proc/y: not there");
	CHECK(src_absent(&s, "/proc/y"));
	CHECK(!src_absent(&s, "/sys/y")); /* no /sys here: nothing is certain */
	head = src_text(&s, "/proc/x", 4);
	CHECK_STR(head, "  12");
	CHECK(src_list(&s, "/proc/d", &names));
	CHECK_INT(names.n, 2);
	CHECK_STR(names.v[0], "a");
	CHECK_STR(src_env(&s, "B"), "x=y");
	CHECK(!src_env(&s, "C"));
	said = src_command(&s, "tool.ok", argv, NULL);
	CHECK_STR(said, "said\n");
	CHECK(!src_command(&s, "tool.bad", argv, NULL));
	CHECK_STR(s.why, "tool: exit 3");
	CHECK(!src_command(&s, "tool.none", argv, NULL));
	CHECK_STR(s.why, "tool: not there");
	CHECK(!src_facts(&s, "/proc/x"));
}

static void the_contracts_environment_wins(void)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };
	struct source s CLEANUP(source_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(setenv("OMP_NUM_THREADS", "8", 1), 0);
	strs_add(&conf.environment, "OMP_NUM_THREADS=2");
	CHECK_OK(source_open(&s, &conf, &err), err);
	CHECK_STR(src_env(&s, "OMP_NUM_THREADS"), "2");
	CHECK(env_kept(&s, "OMP_NUM_THREADS=2"));
	CHECK(!env_kept(&s, "HF_TOKEN=x"));
	CHECK(!env_kept(&s, "PATH=/bin"));
}

static void a_command_that_hangs_is_ended(void)
{
	const struct capture_conf conf = { .command_limit_ns = 200 * NS_PER_MS };
	struct source s CLEANUP(source_release) = { 0 };
	const char *const argv[] = { "sleep", "100", NULL };
	const char *const none[] = { "twice-no-such-program", NULL };
	struct err err = ERR_INIT;

	CHECK_OK(source_open(&s, &conf, &err), err);
	CHECK(!src_command(&s, "x", argv, NULL));
	CHECK_HAS(s.why, "time limit");
	CHECK(!src_command(&s, "x", none, NULL));
	CHECK_HAS(s.why, "not there");
}

static void what_is_no_machine_is_refused(void)
{
	const struct capture_conf conf = { .root = test_dir() };
	struct source s CLEANUP(source_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(source_open(&s, &conf, &err), -ERR_NOT_FOUND);
	make("root/x", "");
	make("facts.json", "{\"files\": 3}");
	source_release(&s);
	CHECK_INT(source_open(&s, &conf, &err), -ERR_PARSE);
}

static void globs(void)
{
	CHECK(glob_match("HSA_*", SV("HSA_X")));
	CHECK(glob_match("*a*b", SV("xaaab")));
	CHECK(glob_match("?", SV("x")));
	CHECK(glob_match("*", SV("")));
	CHECK(!glob_match("HSA_*", SV("HSA")));
	CHECK(!glob_match("?", SV("")));
	CHECK(!glob_match("a*b", SV("abc")));
}

TEST_MAIN(TEST(reads_a_recorded_machine), TEST(the_contracts_environment_wins),
	  TEST(a_command_that_hangs_is_ended), TEST(what_is_no_machine_is_refused), TEST(globs))
