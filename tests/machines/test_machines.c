/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every folder here is a recorded machine: root/, cmd/, facts.json, env, what to capture
 * (conf.json) and
 * the stack that must come out (expected.json). TWICE_ACCEPT=1 rewrites expected.json; read its
 * diff.
 */
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "capture/capture.h"
#include "test.h"

static char *folder; /* of the test that runs */

static char *in_folder(const char *name)
{
	return path_join(folder, name);
}

static json_t *read_json(const char *name)
{
	AUTO_FREE char *path = in_folder(name);
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	json_t *j;
	size_t n;

	CHECK_OK(file_read(path, MIB, &text, &n, &err), err);
	CHECK_OK(json_read((struct sv){ text, n }, path, &j, &err), err);
	return j;
}

static void add_strings(const json_t *a, struct strs *to)
{
	const json_t *one;
	size_t i;

	json_array_foreach(a, i, one) strs_add(to, json_string_value(one));
}

static void fill_conf(json_t *j, struct capture_conf *conf)
{
	const char *key;
	json_t *value;

	conf->root = folder;
	conf->python = json_str_or(j, "python", NULL);
	add_strings(json_object_get(j, "modules"), &conf->modules);
	add_strings(json_object_get(j, "env"), &conf->env_globs);
	add_strings(json_object_get(j, "environment"), &conf->environment);
	json_object_foreach(json_object_get(j, "files"), key, value)
		capture_add_file(conf, key, json_string_value(value),
				 streq(key, "model") ? CL_MODEL : CL_APPLICATION);
	json_object_foreach(json_object_get(j, "programs"), key, value)
		add_strings(value, &capture_add_program(conf, key, CL_ENGINE)->argv);
}

static char *captured(bool quick)
{
	AUTO_JSON json_t *j = read_json("conf.json");
	struct capture_conf conf CLEANUP(capture_conf_release) = { .quick = quick };
	struct stack stack CLEANUP(stack_release) = { 0 };
	AUTO_JSON json_t *out = NULL;
	struct err err = ERR_INIT;

	fill_conf(j, &conf);
	CHECK_OK(capture_stack(&conf, &stack, &err), err);
	out = stack_to_json(&stack);
	return json_text(out, /* pretty= */ true);
}

static void first_difference(const char *got, const char *want)
{
	struct sv a = sv_of(got), b = sv_of(want), la, lb;

	while (sv_line(&a, &la) && sv_line(&b, &lb))
		if (!sv_eq(la, lb))
			test_fails(__FILE__, __LINE__, "got '" SV_FMT "', want '" SV_FMT "'",
				   SV_ARG(la), SV_ARG(lb));
	test_fails(__FILE__, __LINE__, "one is longer than the other");
}

static void gives_the_expected_stack(void)
{
	AUTO_FREE char *got = captured(false);
	AUTO_FREE char *again = captured(false);
	AUTO_FREE char *quick = captured(true);
	AUTO_FREE char *path = in_folder("expected.json");
	AUTO_FREE char *want = NULL;
	struct err err = ERR_INIT;

	CHECK_STR(again, got);
	CHECK(strlen(quick) <= strlen(got));
	if (getenv("TWICE_ACCEPT"))
		CHECK_OK(file_write(path, got, strlen(got), 0644, &err), err);
	CHECK_OK(file_read(path, MIB, &want, NULL, &err), err);
	if (!streq(got, want))
		first_difference(got, want);
}

int main(void)
{
	AUTO_FREE char *all = xasprintf("%s/tests/machines", getenv("TWICE_SRC"));
	struct strs names CLEANUP(strs_release) = { 0 }, machines CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	bool ok = true;

	if (dir_list(all, &names, &err) < 0) {
		printf("1..0 # SKIP %s\n", err.msg);
		return 1;
	}
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *conf = xasprintf("%s/%s/conf.json", all, names.v[i]);

		if (file_exists(conf))
			strs_add(&machines, names.v[i]);
	}
	printf("1..%zu\n", machines.n);
	for (size_t i = 0; i < machines.n; i++) {
		folder = path_join(all, machines.v[i]);
		ok = test_one(&(struct test){ machines.v[i], gives_the_expected_stack }, i + 1) &&
		     ok;
		free(folder);
	}
	return ok && machines.n ? 0 : 1;
}
