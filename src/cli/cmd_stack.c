/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "run/run.h"

struct stack_conf {
	const char *root, *save;
	bool bare;
};

static const struct opt stack_opts[] = {
	OPT(stack_conf, root, .name = "root", .arg = "DIR", .type = OPT_TEXT,
	    .help = "a machine recorded with --save instead of this one"),
	OPT(stack_conf, save, .name = "save", .arg = "DIR", .type = OPT_TEXT,
	    .help = "record this machine into a new folder; names and serials are left out"),
	OPT(stack_conf, bare, .name = "bare", .type = OPT_FLAG,
	    .help = "the machine alone, without what a contract adds"),
	{ 0 },
};

static int stack_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct stack_conf *c = conf;
	struct stack s CLEANUP(stack_release) = { 0 };
	bool with = !c->bare && file_exists(cli->contract_path);
	struct run_capture rc = { .dir = cli->dir,
				  .root = c->root,
				  .tool_version = TWICE_VERSION,
				  .tool_digest = cli_self_digest(cli),
				  .cancel = &cli_cancel };
	char digest[65];

	if (with) {
		TRY(cli_load_contract(cli, err));
		rc.contract = &cli->contract;
	}
	if (c->save)
		TRY(run_stack_save(&rc, c->save, &s, err));
	else
		TRY(run_stack(&rc, &s, err));
	stack_digest(&s, digest);
	json_put_str(v, "stack_digest", digest);
	json_put(v, "components", stack_to_json(&s));
	json_put_str(v, "contract", with ? cli->contract_path : NULL);
	json_put_str(v, "saved", c->save);
	return 0;
}

static void stack_text(const json_t *v, struct str *out)
{
	const json_t *a = json_object_get(v, "components");
	const char *layer = "";

	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *c = json_array_get(a, i);
		const char *l = json_str_or(c, "layer", ""),
			   *digest = json_str_or(c, "digest", NULL);
		AUTO_FREE char *version = text_clean(sv_of(json_str_or(c, "version", "unknown")));

		str_addf(out, "%-12s %-28s %s", streq(l, layer) ? "" : l,
			 json_str_or(c, "name", ""), version);
		if (digest)
			str_addf(out, "  %.19s", digest);
		if (json_str_or(c, "requested", NULL))
			str_addf(out, "  [requested %s]", json_str_or(c, "requested", ""));
		if (!json_str_or(c, "version", NULL) && json_str_or(c, "note", NULL))
			str_addf(out, "  (%s)", json_str_or(c, "note", ""));
		str_add(out, "\n");
		layer = l;
	}
	str_addf(out, "\n%zu components, stack sha256:%s\n", json_array_size(a),
		 json_str_or(v, "stack_digest", ""));
	if (!json_str_or(v, "contract", NULL))
		str_add(out, "without a contract: the machine alone\n");
	if (json_str_or(v, "saved", NULL))
		str_addf(out, "recorded in %s\n", json_str_or(v, "saved", ""));
}

const struct cmd cmd_stack = {
	.name = "stack",
	.group = GROUP_RUN,
	.help = "capture and show the stack",
	.opts = stack_opts,
	.conf_size = sizeof(struct stack_conf),
	.run = stack_run,
	.text = stack_text,
};
