/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/err.h"
#include "test.h"

static const char *const colours[] = { "red", "green", "blue", NULL };

struct conf {
	bool flag, other;
	const char *text;
	int64_t number, time;
	int colour;
	struct strs list;
};
static const struct opt opts[] = {
	OPT(conf, flag, .name = "flag", .type = OPT_FLAG, .help = "a flag"),
	OPT(conf, other, .name = "other", .type = OPT_FLAG, .help = "another"),
	OPT(conf, text, .name = "text", .arg = "T", .type = OPT_TEXT, .def = "usual",
	    .help = "a text"),
	OPT(conf, number, .name = "the-number", .arg = "N", .type = OPT_NUMBER, .def = "5",
	    .min = 0, .max = 100, .help = "a number"),
	OPT(conf, time, .name = "time", .arg = "T", .type = OPT_TIME, .def = "1 s",
	    .help = "a time"),
	OPT(conf, colour, .name = "colour", .arg = "C", .type = OPT_CHOICE, .choices = colours,
	    .def = "green", .help = "a colour"),
	OPT(conf, list, .name = "list", .arg = "X", .type = OPT_LIST, .help = "may be repeated"),
	{ 0 },
};
static const struct opt needy[] = {
	OPT(conf, text, .name = "text", .arg = "T", .type = OPT_TEXT, .need = true,
	    .help = "a text"),
	{ 0 },
};

struct parsed {
	struct conf c;
	struct global_conf g;
	struct strs args;
	struct opt_sources src;
	struct err err;
	int rc;
};

static void release(struct parsed *p)
{
	opts_release(opts, &p->c);
	opts_release(global_opts, &p->g);
	strs_release(&p->args);
	opt_sources_release(&p->src);
}

/* A line of words; "''" is an empty one. */
static struct parsed parse_with(const struct opt *table, const char *line, const struct pairs *file,
				bool env)
{
	struct parsed p = { 0 };
	struct strs argv CLEANUP(strs_release) = { 0 };
	struct sv rest = sv_of(line), word;
	struct opt_input in = { .command = "cmd", .file = file, .use_env = env };

	while (sv_word(&rest, &word)) {
		AUTO_FREE char *w = sv_is(word, "''") ? xstrdup("") : sv_dup(word);

		strs_add(&argv, w);
	}
	const char **list = xcalloc(argv.n + 1, sizeof(*list));

	for (size_t i = 0; i < argv.n; i++)
		list[i] = argv.v[i];
	in.argv = list;
	p.rc = opts_parse(&in, global_opts, &p.g, table, &p.c, &p.args, &p.src, &p.err);
	free(list);
	return p;
}

static struct parsed parse(const char *line)
{
	return parse_with(opts, line, NULL, false);
}

static const char *where(const struct parsed *p, const char *name)
{
	for (size_t i = 0; i < p->src.n; i++)
		if (strcmp(p->src.v[i].name, name) == 0)
			return p->src.v[i].where;
	return "nowhere";
}

static void defaults_are_as_written(void)
{
	struct parsed p CLEANUP(release) = parse("");

	CHECK_OK(p.rc, p.err);
	CHECK(!p.c.flag && p.c.list.n == 0);
	CHECK_STR(p.c.text, "usual");
	CHECK_INT(p.c.number, 5);
	CHECK_INT(p.c.time, 1000000000);
	CHECK_INT(p.c.colour, 1);
	CHECK_STR(p.g.contract, "twice.yaml");
	CHECK_STR(where(&p, "text"), "default");
}

static void every_form_of_an_option(void)
{
	struct parsed p CLEANUP(release) = parse("a --flag --text=x=y --the-number 7 --time=250ms "
						 "--colour blue --list 1 --list=2 -q - --text -- "
						 "--other=true b -- --flag c");

	CHECK_OK(p.rc, p.err);
	CHECK(p.c.flag && p.c.other && p.g.quiet);
	CHECK_STR(p.c.text, "--"); /* a value may look like anything */
	CHECK_INT(p.c.number, 7);
	CHECK_INT(p.c.time, 250000000);
	CHECK_INT(p.c.colour, 2);
	CHECK_INT(p.c.list.n, 2);
	CHECK_INT(p.args.n, 5);
	CHECK_STR(p.args.v[1], "-");
	CHECK_STR(p.args.v[3], "--flag");
	CHECK_STR(where(&p, "colour"), "option");
}

static void the_stronger_place_wins(void)
{
	struct pairs file CLEANUP(pairs_release) = { 0 };

	pairs_add(&file, "cmd.text", "file");
	pairs_add(&file, "cmd.the-number", "6");
	pairs_add(&file, "cmd.colour", "red");
	pairs_add(&file, "text", "of nobody"); /* only the global ones stand without a command */
	pairs_add(&file, "quiet", "true");
	pairs_add(&file, "other.text", "of another command");
	setenv("TWICE_CMD_THE_NUMBER", "8", 1);
	setenv("TWICE_CMD_COLOUR", "green", 1);
	setenv("TWICE_CMD_FLAG", "1", 1);
	setenv("TWICE_CONTRACT", "env.yaml", 1);
	struct parsed p CLEANUP(release) = parse_with(opts, "--colour blue", &file, true);
	struct parsed without CLEANUP(release) = parse_with(opts, "", &file, false);

	CHECK_OK(p.rc, p.err);
	CHECK_STR(p.c.text, "file");
	CHECK_INT(p.c.number, 8);
	CHECK_INT(p.c.colour, 2);
	CHECK(p.c.flag && p.g.quiet);
	CHECK_STR(p.g.contract, "env.yaml");
	CHECK_STR(where(&p, "text"), "config file");
	CHECK_STR(where(&p, "the-number"), "environment");
	CHECK_STR(where(&p, "colour"), "option");
	CHECK_INT(without.c.number, 6);
	CHECK_INT(without.c.colour, 0);
}

static void a_list_is_replaced_not_lengthened(void)
{
	struct pairs file CLEANUP(pairs_release) = { 0 };

	pairs_add(&file, "cmd.list", "file");
	struct parsed p CLEANUP(release) = parse_with(opts, "--list a --list b", &file, false);

	CHECK_OK(p.rc, p.err);
	CHECK_INT(p.c.list.n, 2);
	CHECK_STR(p.c.list.v[0], "a");
}

static void mistakes_are_named(void)
{
	static const struct {
		const char *line, *msg, *hint;
	} t[] = {
		{ "--falg", "unknown option '--falg'", "Did you mean '--flag'?" },
		{ "--jsno", "unknown option '--jsno'", "Did you mean '--json'?" },
		{ "--xyzzyxyzzy", "unknown option '--xyzzyxyzzy'", "" },
		{ "-z", "unknown option '-z'", "" },
		{ "--text", "option '--text' needs a value (T)", "" },
		{ "--the-number x", "--the-number: 'x' is no whole number", "" },
		{ "--the-number 101", "--the-number: 101 is not between 0 and 100", "" },
		{ "--the-number -1", "--the-number: -1 is not between 0 and 100", "" },
		{ "--the-number 99999999999999999999",
		  "--the-number: '99999999999999999999' is no whole number", "" },
		{ "--time 5", "--time: '5'", "" },
		{ "--time 5%", "--time: '5%'", "" },
		{ "--colour gren", "--colour: 'gren' is none of red, green, blue",
		  "Did you mean 'green'?" },
		{ "--flag=yes", "--flag: 'yes' is neither true nor false", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct parsed p CLEANUP(release) = parse(t[i].line);

		printf("# %s: %s\n", t[i].line, p.err.msg);
		CHECK_INT(p.rc, -ERR_USAGE);
		CHECK_HAS(p.err.msg, t[i].msg);
		CHECK_STR(p.err.hint, t[i].hint);
	}
}

static void a_mistake_elsewhere_says_where(void)
{
	struct pairs file CLEANUP(pairs_release) = { 0 };

	pairs_add(&file, "cmd.the-number", "many");
	struct parsed f CLEANUP(release) = parse_with(opts, "", &file, false);

	CHECK_INT(f.rc, -ERR_USAGE);
	CHECK_HAS(f.err.msg, "cmd.the-number of the config file: ");
	setenv("TWICE_CMD_TIME", "long", 1);
	struct parsed e CLEANUP(release) = parse_with(opts, "", NULL, true);

	CHECK_INT(e.rc, -ERR_USAGE);
	CHECK_HAS(e.err.msg, "TWICE_CMD_TIME: ");
}

static void what_is_needed_is_asked_for(void)
{
	struct parsed none CLEANUP(release) = parse_with(needy, "", NULL, false);
	struct parsed some CLEANUP(release) = parse_with(needy, "--text x", NULL, false);
	struct parsed help CLEANUP(release) = parse_with(needy, "--help", NULL, false);

	CHECK_INT(none.rc, -ERR_USAGE);
	CHECK_HAS(none.err.msg, "option '--text T' is needed");
	CHECK_OK(some.rc, some.err);
	CHECK_OK(help.rc, help.err); /* whoever asks for help has not chosen yet */
}

static void the_table_explains_itself(void)
{
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *j = opts_to_json(opts);

	opts_help(opts, &s);
	CHECK_HAS(str_text(&s), "--colour C");
	CHECK_HAS(str_text(&s), "a colour (red, green, blue) [green]");
	CHECK_INT(json_array_size(j), 7);
	CHECK_STR(json_str_or(json_array_get(j, 5), "type", ""), "choice");
	CHECK_INT(json_array_size(json_object_get(json_array_get(j, 5), "choices")), 3);
}

TEST_MAIN(TEST(defaults_are_as_written), TEST(every_form_of_an_option),
	  TEST(the_stronger_place_wins), TEST(a_list_is_replaced_not_lengthened),
	  TEST(mistakes_are_named), TEST(a_mistake_elsewhere_says_where),
	  TEST(what_is_needed_is_asked_for), TEST(the_table_explains_itself))
