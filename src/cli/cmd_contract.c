/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "checks/checks.h"
#include "envelope/envelope.h"

static json_t *problem_json(const struct problem *p)
{
	json_t *o = json_object();

	json_put_int(o, "line", p->line);
	json_put_int(o, "column", p->col);
	json_put_str(o, "text", p->text);
	return o;
}

/* Patterns of pins are the envelope's language, which the contract's room doesn't know. */
static void check_pins(const struct contract *c, json_t *problems)
{
	for (size_t i = 0; i < c->stack.pins.n; i++) {
		struct err err = ERR_INIT;

		if (pin_valid(c->stack.pins.v[i].value, &err) < 0) {
			AUTO_FREE char *text =
				xasprintf("pin '%s': %s", c->stack.pins.v[i].name, err.msg);
			struct problem p = { 0, 0, text };

			(void)json_array_append_new(problems, problem_json(&p));
		}
	}
}

static int check(struct cli *cli, const char *path, json_t *v, struct err *err)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct contract c CLEANUP(contract_release) = { 0 };
	json_t *problems = json_array();
	AUTO_FREE char *text = NULL;
	size_t n;
	int rc;

	(void)cli;
	json_put_str(v, "file", path);
	json_put(v, "problems", problems);
	rc = file_read(path, 4 * MIB, &text, &n, err);
	if (rc == -ERR_NOT_FOUND) {
		bail(err, ERR_UNSUPPORTED, "no contract '%s' here", path);
		err_hint(err, "Make one with 'twice init'.");
		return -ERR_UNSUPPORTED;
	}
	TRY(rc);
	rc = contract_parse((struct sv){ text, n }, path, checks_schemas(), &c, &bad, err);
	for (size_t i = 0; i < bad.n; i++)
		(void)json_array_append_new(problems, problem_json(&bad.v[i]));
	if (rc < 0 && !bad.n)
		return rc;
	if (rc == 0)
		check_pins(&c, problems);
	if (json_array_size(problems)) {
		err_clear(err);
		return 65;
	}
	json_put_str(v, "digest", c.digest);
	json_put_str(v, "workload", c.workload.name);
	json_put(v, "contract", contract_to_json(&c));
	return 0;
}

static int contract_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const char *what = cli->args.v[0];
	struct str help CLEANUP(str_release) = { 0 };

	(void)conf;
	json_put_str(v, "action", what);
	if (streq(what, "check") || streq(what, "show"))
		return check(cli, cli->args.n > 1 ? cli->args.v[1] : cli->contract_path, v, err);
	if (!streq(what, "help")) {
		static const char *const names[] = { "check", "show", "help", NULL };

		bail(err, ERR_USAGE, "'%s' is none of check, show, help", what);
		err_hint_nearest(err, what, names);
		return -ERR_USAGE;
	}
	if (!contract_help(checks_schemas(), cli->args.n > 1 ? cli->args.v[1] : NULL, &help))
		return bail(err, ERR_USAGE, "no topic '%s'", cli->args.v[1]);
	json_put_str(v, "text", str_text(&help));
	return 0;
}

static void contract_text(const json_t *v, struct str *out)
{
	const json_t *problems = json_object_get(v, "problems");
	const char *action = json_str_or(v, "action", ""), *file = json_str_or(v, "file", "");

	if (streq(action, "help")) {
		str_add(out, json_str_or(v, "text", ""));
		return;
	}
	for (size_t i = 0; i < json_array_size(problems); i++) {
		const json_t *p = json_array_get(problems, i);

		if (json_int_or(p, "line", 0))
			str_addf(out, "%s:%lld:%lld: ", file, (long long)json_int_or(p, "line", 0),
				 (long long)json_int_or(p, "column", 0));
		else
			str_addf(out, "%s: ", file);
		str_addf(out, "%s\n", json_str_or(p, "text", ""));
	}
	if (json_array_size(problems))
		return;
	if (streq(action, "show")) {
		AUTO_FREE char *text = json_text(json_object_get(v, "contract"), true);

		str_addf(out, "%s\n", text);
	}
	str_addf(out, "%s: contract for '%s', sha256:%s\n", file, json_str_or(v, "workload", ""),
		 json_str_or(v, "digest", ""));
}

const struct cmd cmd_contract = {
	.name = "contract",
	.group = GROUP_TOOL,
	.args = "check|show|help [FILE|TOPIC]",
	.min_args = 1,
	.max_args = 2,
	.help = "check a contract, print its canonical form, explain its keys",
	.run = contract_run,
	.text = contract_text,
};
