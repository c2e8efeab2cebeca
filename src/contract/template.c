/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First contracts, with comments that say what a line is for. In a template a line with @name@
 * takes the value of that name: the caller's, else the usual one; with neither the line stays as a
 * comment with an example in it.
 */
#include "base/err.h"
#include "contract/internal.h"

enum slot_kind {
	SLOT_TEXT,  /* one YAML scalar, quoted when it has to be */
	SLOT_FLOW,  /* YAML of one line: [a, b], {a: b}, 5 min */
	SLOT_BLOCK, /* whole lines, as they are */
};

static const struct slot {
	const char *name;
	enum slot_kind kind;
	const char *usual, *example;
} slots[] = {
	{ "name", SLOT_TEXT, NULL, NULL },
	{ "about", SLOT_TEXT, NULL, "what it is for, in a sentence" },
	{ "owner", SLOT_TEXT, NULL, "the team that answers for it" },
	{ "unit", SLOT_TEXT, NULL, NULL },
	{ "python", SLOT_TEXT, "python3", NULL },
	{ "modules", SLOT_FLOW, NULL, "[numpy, torch]" },
	{ "pins", SLOT_FLOW, NULL, "{rocm: \"7.0.*\", torch: \"2.8.*\"}" },
	{ "owners", SLOT_FLOW, NULL, "{driver: platform-team, model: ml-team}" },
	{ "environment", SLOT_FLOW, NULL, "{OMP_NUM_THREADS: \"8\"}" },
	{ "environment_file", SLOT_TEXT, NULL, "stack.env" },
	{ "files", SLOT_FLOW, NULL, "{model: model.safetensors, tokenizer: tokenizer.json}" },
	{ "switch", SLOT_FLOW, NULL, "{torch: {set: [pip, install, \"torch=={version}\"]}}" },
	{ "hardware", SLOT_BLOCK, NULL, NULL },
	{ "communication", SLOT_BLOCK, NULL, NULL },
	{ "framework", SLOT_BLOCK, NULL, NULL },
	{ "recovery", SLOT_BLOCK, NULL, NULL },
	{ "start", SLOT_FLOW, "[\"./serve.sh\", \"--port\", \"{port}\"]", NULL },
	{ "ready", SLOT_FLOW, "{http: /health, within: 5 min}", NULL },
	{ "prompts", SLOT_TEXT, "prompts.jsonl", NULL },
	{ "arrival", SLOT_FLOW, "{poisson: 4/s}", NULL },
	{ "duration", SLOT_FLOW, "60 s", NULL },
	{ "warmup", SLOT_FLOW, "10 s", NULL },
	{ "max_tokens", SLOT_FLOW, "128", NULL },
	{ "run", SLOT_FLOW, "[\"{python}\", \"{dir}/train.py\", \"--seed\", \"{seed}\"]", NULL },
	{ "resume", SLOT_FLOW, NULL, "[\"{python}\", \"{dir}/train.py\", --resume]" },
	{ "metrics", SLOT_FLOW, "{jsonl: stdout}", NULL },
	{ "fields", SLOT_FLOW, NULL, "{step: step, loss: loss, samples_per_s: samples_per_s}" },
	{ "target", SLOT_FLOW, "{eval_loss: \"<= 0.1\"}", NULL },
	{ "checkpoints", SLOT_TEXT, NULL, "\"{work}/checkpoints\"" },
	{ "limit", SLOT_FLOW, "1 h", NULL },
	{ "objectives", SLOT_FLOW, NULL, NULL },
	{ "runs", SLOT_FLOW, "5", NULL },
	{ "at_most", SLOT_FLOW, "10", NULL },
	{ "compare", SLOT_FLOW, NULL, NULL },
	{ "fallback", SLOT_FLOW, NULL, "{plan: use the other pool, owner: who does it}" },
	{ "expires", SLOT_FLOW, "90 days", NULL },
};

static const char *const names[] = {
	"name",       "about",  "owner",      "unit",          "python",
	"modules",    "pins",   "owners",     "environment",   "environment_file",
	"files",      "switch", "hardware",   "communication", "framework",
	"recovery",   "start",  "ready",      "prompts",       "arrival",
	"duration",   "warmup", "max_tokens", "run",           "resume",
	"metrics",    "fields", "target",     "checkpoints",   "limit",
	"objectives", "runs",   "at_most",    "compare",       "fallback",
	"expires",    NULL,
};

static const char head[] =
	"# What has to hold before this workload counts as accepted. Every key: "
	"twice-contract(5).\n"
	"twice: 1\n"
	"workload:\n"
	"  name: @name@\n"
	"  kind: @kind@\n"
	"  unit: @unit@\n"
	"  owner: @owner@\n"
	"  about: @about@\n"
	"\n"
	"# What it stands on. The capture finds versions by itself; name here what it can't "
	"guess.\n"
	"stack:\n"
	"  python: @python@\n"
	"  modules: @modules@\n"
	"  # Versions that must be there: exact, 7.0.*, >=7.0,<8, or sha256:...\n"
	"  pins: @pins@\n"
	"  # For every process of the workload, so that runs are alike.\n"
	"  environment: @environment@\n"
	"  # The same from a file that may differ from stack to stack: a change makes the "
	"acceptance stale.\n"
	"  environment_file: @environment_file@\n"
	"  # Files whose content belongs to the stack; {model} in a command is the path.\n"
	"  files: @files@\n"
	"  # Who acts when a component or a layer is at fault.\n"
	"  owners: @owners@\n"
	"  # How to change one component without the others: for rollback and bisect.\n"
	"  switch: @switch@\n"
	"\n";

static const char layers[] =
	"# Checks of the layers below, one by one; the first that fails stops the later ones.\n"
	"@hardware@\n"
	"@communication@\n"
	"@framework@\n"
	"\n";

static const char tail[] =
	"\n"
	"# What has to work when something breaks.\n"
	"@recovery@\n"
	"\n"
	"# Each repetition is a fresh start. Five meet a first acceptance, ten make later "
	"comparisons sharp.\n"
	"repeat: {runs: @runs@, at_most: @at_most@}\n"
	"\n"
	"# Largest loss against the accepted run that still counts as the same. Gate few metrics.\n"
	"compare: @compare@\n"
	"\n"
	"fallback: @fallback@\n"
	"\n"
	"# An acceptance ends after this time even when nothing changed.\n"
	"expires: @expires@\n";

static const char serve[] =
	"workload_check:\n"
	"  serve:\n"
	"    # In the foreground; {port} is a free port.\n"
	"    start: @start@\n"
	"    ready: @ready@\n"
	"  load:\n"
	"    endpoint: chat\n"
	"    # One JSON object a line: {\"messages\": [...]} or {\"prompt\": \"...\"}\n"
	"    prompts: @prompts@\n"
	"    # Requests come at their times, whatever the server does: latency counts from there.\n"
	"    arrival: @arrival@\n"
	"    duration: @duration@\n"
	"    warmup: @warmup@\n"
	"    max_tokens: @max_tokens@\n"
	"  # What each repetition must keep.\n"
	"  objectives: @objectives@\n";

static const char train[] =
	"workload_check:\n"
	"  train:\n"
	"    # Runs in a fresh folder, {work}; {dir} is the folder of this file.\n"
	"    run: @run@\n"
	"    resume: @resume@\n"
	"    # mllog: or jsonl: with a file, or stdout.\n"
	"    metrics: @metrics@\n"
	"    fields: @fields@\n"
	"    # Reached when all these hold.\n"
	"    target: @target@\n"
	"    checkpoints: @checkpoints@\n"
	"    limit: @limit@\n"
	"  # What each repetition must keep.\n"
	"  objectives: @objectives@\n";

static const char command[] =
	"workload_check:\n"
	"  command:\n"
	"    argv: @run@\n"
	"    limit: @limit@\n"
	"    # Numbers in what it writes: by json:, csv:, pattern:, lines: or exit:.\n"
	"    extract:\n"
	"      - {metric: score, unit: \"%\", better: higher, json: /score}\n"
	"  # What each repetition must keep.\n"
	"  objectives: @objectives@\n";

/* What one kind of workload has of its own. */
static const struct kind {
	const char *check, *unit, *objectives, *compare, *run;
} kinds[KIND_N] = {
	[KIND_INFERENCE] = { serve, "request",
			     "[ttft.p99 <= 500 ms, itl.p99 <= 50 ms, errors <= 0.1 %, goodput >= "
			     "95 %]",
			     "{throughput: 5 %, ttft.p50: 5 %, ttft.p99: 10 %, itl.p50: 5 %}",
			     NULL },
	[KIND_TRAINING] = { train, "training run",
			    "[time_to_target <= 45 min, runs_reaching_target = 100 %]",
			    "{step_time.p50: 5 %, samples_to_target: 5 %}", NULL },
	[KIND_EVALUATION] = { command, "evaluation", "[score >= 70 %, wall_time <= 10 min]",
			      "{score: 2 points, wall_time: 5 %}",
			      "[\"{python}\", \"{dir}/evaluate.py\"]" },
	[KIND_BATCH] = { command, "batch", "[score >= 99 %, wall_time <= 10 min]",
			 "{wall_time: 5 %}", "[\"{python}\", \"{dir}/batch.py\"]" },
};

const char *const *contract_template_names(enum workload_kind kind)
{
	(void)kind; /* one list for all: a value that its template does not use is left out */
	return names;
}

static const struct slot *find_slot(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
		if (streq(slots[i].name, name))
			return &slots[i];
	return NULL;
}

static const char *usual_value(enum workload_kind kind, const struct slot *s)
{
	const struct kind *k = &kinds[kind];

	if (streq(s->name, "name"))
		return "my-workload";
	if (streq(s->name, "unit"))
		return k->unit;
	if (streq(s->name, "objectives"))
		return k->objectives;
	if (streq(s->name, "compare"))
		return k->compare;
	if (streq(s->name, "run") && k->run)
		return k->run;
	return s->usual;
}

/* Whether a text means itself in YAML without quotes. */
static bool plain_ok(const char *text)
{
	struct yaml y CLEANUP(yaml_release) = { 0 };
	AUTO_FREE char *line = xasprintf("[%s]", text);
	struct err err = ERR_INIT;

	return yaml_parse(sv_of(line), &y, &err) == 0 && y.n == 1 && streq(y.v[0].text, text) &&
	       !y.v[0].quoted && !yaml_is_null(&y.v[0]);
}

static void add_text(struct str *s, const char *text)
{
	AUTO_FREE char *copy = NULL;
	struct yaml y = { .kind = YAML_SCALAR };

	if (plain_ok(text)) {
		str_add(s, text);
		return;
	}
	copy = xstrdup(text);
	y.text = copy;
	yaml_write(&y, s);
}

/* One line of YAML that is a whole value: what a caller gives must not break out of its place. */
static int check_flow(const char *name, const char *text, struct err *err)
{
	struct yaml y CLEANUP(yaml_release) = { 0 };
	AUTO_FREE char *line = xasprintf("x: %s\n", text);

	if (strpbrk(text, "\r\n") || !*text)
		return bail(err, ERR_PARSE, "value of '%s': expected one line of YAML", name);
	if (yaml_parse(sv_of(line), &y, err) < 0 || y.kind != YAML_MAP || y.n != 1)
		return bail(err, ERR_PARSE, "value of '%s': '%.80s' is not YAML", name, text);
	return 0;
}

/* The checks of a layer, each as a line "  - check: settings". */
static void add_block(const char *name, const char *value, struct str *ret)
{
	if (!value || !*value) {
		str_addf(ret, "# %s: [command: {argv: [./check-%s]}]\n", name, name);
		return;
	}
	str_addf(ret, "%s:\n%s%s", name, value, str_ends(value, "\n") ? "" : "\n");
}

/* A line of the template without its end. */
static void add_line(struct sv line, enum workload_kind kind, const struct pairs *values,
		     struct str *ret)
{
	struct str out CLEANUP(str_release) = { 0 };
	bool filled = true;

	while (line.n) {
		ptrdiff_t from = sv_find(line, SV("@")), to;
		AUTO_FREE char *name = NULL;
		const struct slot *slot;
		const char *value;

		if (from < 0)
			from = (ptrdiff_t)line.n;
		str_addn(&out, line.p, (size_t)from);
		line = (struct sv){ line.p + from, line.n - (size_t)from };
		if (!line.n)
			break;
		line = (struct sv){ line.p + 1, line.n - 1 };
		to = sv_find(line, SV("@"));
		assert(to > 0);
		name = sv_dup((struct sv){ line.p, (size_t)to });
		line = (struct sv){ line.p + to + 1, line.n - (size_t)to - 1 };
		if (streq(name, "kind")) {
			str_add(&out, workload_kind_name(kind));
			continue;
		}
		slot = find_slot(name);
		assert(slot);
		value = pairs_get(values, name);
		value = value ? value : usual_value(kind, slot);
		if (slot->kind == SLOT_BLOCK) {
			add_block(name, value, ret);
			return;
		}
		filled = filled && value;
		value = value ? value : slot->example;
		if (slot->kind == SLOT_TEXT && filled)
			add_text(&out, value);
		else
			str_add(&out, value);
	}
	if (!filled)
		str_add(ret, "# ");
	str_addf(ret, "%s\n", str_text(&out));
}

static int check_values(const struct pairs *values, struct err *err)
{
	for (size_t i = 0; i < values->n; i++) {
		const struct slot *s = find_slot(values->v[i].name);

		if (!s) {
			(void)bail(err, ERR_NOT_FOUND, "a template has no value '%.60s'",
				   values->v[i].name);
			err_hint_nearest(err, values->v[i].name, names);
			return -ERR_NOT_FOUND;
		}
		if (!utf8_valid(sv_of(values->v[i].value)))
			return bail(err, ERR_PARSE, "value of '%s' is not UTF-8", s->name);
		if (s->kind == SLOT_FLOW)
			TRY(check_flow(s->name, values->v[i].value, err));
	}
	return 0;
}

int contract_template(enum workload_kind kind, const struct pairs *values, struct str *ret,
		      struct err *err)
{
	static const struct pairs none = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	struct sv rest, line;

	values = values ? values : &none;
	TRY(check_values(values, err));
	str_add(&text, head);
	str_add(&text, layers);
	str_add(&text, kinds[kind].check);
	str_add(&text, tail);
	rest = sv_str(&text);
	while (sv_line(&rest, &line))
		add_line(line, kind, values, ret);
	return 0;
}
