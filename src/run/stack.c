/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a contract: what it names, what its environment is, captured. */
#include "run/run.h"

#include "base/err.h"
#include "base/file.h"
#include "capture/capture.h"

static int add_line(struct sv line, size_t number, const char *path, struct pairs *ret,
		    struct err *err)
{
	struct sv value = line, name;

	(void)sv_split(&value, '=', &name);
	if (!value.p || !name.n)
		return bail(err, ERR_PARSE, "%s:%zu: not of the form NAME=value", path, number);
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
		      (i && c >= '0' && c <= '9')))
			return bail(err, ERR_PARSE, "%s:%zu: no name of a variable", path, number);
	}
	/* One pair of quotes around the whole value is the writer's, as in every such file. */
	if (value.n >= 2 && value.p[0] == value.p[value.n - 1] &&
	    (value.p[0] == '"' || value.p[0] == '\'')) {
		value.p++;
		value.n -= 2;
	}
	AUTO_FREE char *k = sv_dup(name);
	AUTO_FREE char *v = sv_dup(value);

	pairs_add(ret, k, v);
	return 0;
}

static int read_env_file(const char *path, struct pairs *ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct sv rest, line;
	size_t n, number = 0;

	if (file_read(path, MIB, &text, &n, err) < 0)
		return err_wrap(err, "environment_file");
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		number++;
		line = sv_trim(line);
		if (sv_starts(line, "export "))
			line = sv_trim((struct sv){ line.p + 7, line.n - 7 });
		if (line.n && line.p[0] != '#')
			TRY(add_line(line, number, path, ret, err));
	}
	return 0;
}

int run_environment(const struct contract *c, const char *dir, struct pairs *ret, struct err *err)
{
	struct pairs values CLEANUP(pairs_release) = { 0 };

	TRY(contract_values(c, dir, &values, err));
	for (size_t i = 0; i < c->stack.environment.n; i++) {
		AUTO_FREE char *v = NULL;

		TRY(contract_expand(c->stack.environment.v[i].value, &values, &v, err));
		pairs_add(ret, c->stack.environment.v[i].name, v);
	}
	if (c->stack.environment_file) {
		AUTO_FREE char *path = path_join(dir, c->stack.environment_file);

		TRY(read_env_file(path, ret, err));
	}
	return 0;
}

static void add_environment(struct capture_conf *conf, const struct pairs *env)
{
	for (size_t i = 0; i < env->n; i++) {
		strs_addf(&conf->environment, "%s=%s", env->v[i].name, env->v[i].value);
		strs_add(&conf->env_globs,
			 env->v[i].name); /* what the contract sets is part of the stack */
	}
}

static int fill(const struct run_capture *rc, struct capture_conf *conf, struct err *err)
{
	const struct contract *c = rc->contract;
	struct pairs values CLEANUP(pairs_release) = { 0 }, env CLEANUP(pairs_release) = { 0 };

	conf->root = rc->root;
	conf->dir = rc->dir;
	conf->pid = rc->pid;
	conf->quick = rc->quick;
	conf->cache_path = rc->cache_path;
	conf->known = rc->known;
	conf->cancel = rc->cancel;
	conf->tool_version = rc->tool_version;
	conf->tool_digest = rc->tool_digest;
	if (!c)
		return 0;
	conf->python = c->stack.python;
	strs_copy(&conf->modules, &c->stack.modules);
	strs_copy(&conf->env_globs, &c->stack.env);
	TRY(run_environment(c, rc->dir, &env, err));
	add_environment(conf, &env);
	TRY(contract_values(c, rc->dir, &values, err));
	for (size_t i = 0; i < c->stack.files.n; i++) {
		AUTO_FREE char *path = NULL;

		TRY(contract_expand(c->stack.files.v[i].path, &values, &path, err));
		capture_add_file(conf, c->stack.files.v[i].name, path,
				 (enum component_layer)c->stack.files.v[i].layer);
	}
	for (size_t i = 0; i < c->stack.programs.n; i++) {
		struct capture_program *p =
			capture_add_program(conf, c->stack.programs.v[i].name, CL_APPLICATION);

		TRY(contract_expand_argv(&c->stack.programs.v[i].argv, &values, &p->argv, err));
	}
	return 0;
}

int run_stack(const struct run_capture *rc, struct stack *ret, struct err *err)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };

	TRY(fill(rc, &conf, err));
	return capture_stack(&conf, ret, err);
}

int run_stack_save(const struct run_capture *rc, const char *to, struct stack *ret, struct err *err)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };

	TRY(fill(rc, &conf, err));
	return capture_save(&conf, to, ret, err);
}
