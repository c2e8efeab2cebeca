/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "checks/checks.h"

struct version_conf {
	bool build;
};

static const struct opt version_opts[] = {
	OPT(version_conf, build, .name = "build", .type = OPT_FLAG,
	    .help = "what this program was built with"),
	{ 0 },
};

static int version_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct version_conf *c = conf;

	(void)err;
	json_put_str(v, "version", TWICE_VERSION);
	if (!c->build)
		return 0;
	json_put_str(v, "compiler", __VERSION__);
	json_put_str(v, "digest", cli_self_digest(cli));
	json_t *a = json_array();

	for (size_t i = 0; checks[i]; i++)
		(void)json_array_append_new(a, json_string(checks[i]->schema.name));
	json_put(v, "checks", a);
	return 0;
}

static void version_text(const json_t *v, struct str *out)
{
	const json_t *list = json_object_get(v, "checks");

	str_addf(out, "twice %s\n", json_str_or(v, "version", "?"));
	if (!list)
		return;
	str_addf(out, "compiler %s\ndigest   sha256:%s\nchecks  ", json_str_or(v, "compiler", "?"),
		 json_str_or(v, "digest", "?"));
	for (size_t i = 0; i < json_array_size(list); i++)
		str_addf(out, " %s", json_string_value(json_array_get(list, i)));
	str_add(out, "\n");
}

const struct cmd cmd_version = {
	.name = "version",
	.group = GROUP_TOOL,
	.help = "print the version",
	.opts = version_opts,
	.conf_size = sizeof(struct version_conf),
	.run = version_run,
	.text = version_text,
};
