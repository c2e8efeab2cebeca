/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"

static const char *const kinds[] = { "inference", "training", "evaluation", "batch", NULL };

struct init_conf {
	int kind;
	struct strs set;
	bool force, show;
};

static const struct opt init_opts[] = {
	OPT(init_conf, kind, .name = "kind", .arg = "KIND", .type = OPT_CHOICE, .def = "inference",
	    .choices = kinds, .help = "what the workload is"),
	OPT(init_conf, set, .name = "set", .arg = "NAME=VALUE", .type = OPT_LIST,
	    .help = "fill in a value of the template (name, owner, start, model, ...); may be "
		    "repeated"),
	OPT(init_conf, force, .name = "force", .type = OPT_FLAG,
	    .help = "overwrite a contract that is there"),
	OPT(init_conf, show, .name = "print", .type = OPT_FLAG, .help = "print it, write nothing"),
	{ 0 },
};

static int values_of(const struct strs *set, enum workload_kind kind, struct pairs *ret,
		     struct err *err)
{
	const char *const *names = contract_template_names(kind);

	for (size_t i = 0; i < set->n; i++) {
		struct sv value = sv_of(set->v[i]), name;
		bool known = false;

		(void)sv_split(&value, '=', &name);
		AUTO_FREE char *k = sv_dup(name);

		if (!value.p)
			return bail(err, ERR_USAGE, "--set '%s' is not of the form NAME=VALUE",
				    set->v[i]);
		for (size_t n = 0; names[n]; n++)
			known |= streq(names[n], k);
		if (!known) {
			bail(err, ERR_USAGE, "the template has no value '%s'", k);
			err_hint_nearest(err, k, names);
			return -ERR_USAGE;
		}
		AUTO_FREE char *v = sv_dup(value);

		pairs_add(ret, k, v);
	}
	return 0;
}

static int init_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct init_conf *c = conf;
	enum workload_kind kind = (enum workload_kind)c->kind;
	struct pairs values CLEANUP(pairs_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };

	TRY(values_of(&c->set, kind, &values, err));
	TRY(contract_template(kind, &values, &text, err));
	json_put_str(v, "kind", kinds[c->kind]);
	if (c->show) {
		json_put_str(v, "contract", str_text(&text));
		return 0;
	}
	if (file_exists(cli->contract_path) && !c->force) {
		bail(err, ERR_CONFLICT, "'%s' is there already", cli->contract_path);
		err_hint(err, "Name another file with --contract, or overwrite it with --force.");
		return -ERR_CONFLICT;
	}
	TRY(file_write(cli->contract_path, text.p, text.n, 0644, err));
	json_put_str(v, "file", cli->contract_path);
	return 0;
}

static void init_text(const json_t *v, struct str *out)
{
	if (json_str_or(v, "contract", NULL)) {
		str_add(out, json_str_or(v, "contract", ""));
		return;
	}
	str_addf(out, "wrote %s (%s): read its comments, fill it in, then 'twice contract check'\n",
		 json_str_or(v, "file", ""), json_str_or(v, "kind", ""));
}

const struct cmd cmd_init = {
	.name = "init",
	.group = GROUP_RUN,
	.help = "write a first contract",
	.opts = init_opts,
	.conf_size = sizeof(struct init_conf),
	.run = init_run,
	.text = init_text,
};
