/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract: what acceptance means for one workload, read from twice.yaml (twice-contract(5)).
 *
 *	struct contract c CLEANUP(contract_release) = { 0 };
 *	struct problems bad CLEANUP(problems_release) = { 0 };
 *	if (contract_parse(text, "twice.yaml", all_check_schemas, &c, &bad, err) < 0)
 *		every mistake is in `bad`, the first one in err: "twice.yaml:7:3: ..."
 *
 * Pure: bytes in, struct out; no file is opened, so paths in it are as written (relative ones are
 * meant from the contract's folder, contract_expand's {dir}). All memory belongs to the struct.
 *
 * Settings are tables (struct field): a row says name, type, default, range and help. The same
 * table parses with positions, names the nearest right key, fills in defaults, releases, writes the
 * canonical form and prints the documentation. A check of another room brings its table in a struct
 * check_schema, so this room knows no check but the general `command`.
 *
 * Identity: contract.digest is the SHA-256 of the canonical JSON (contract_to_json): only what
 * differs from a default, keys sorted, quantities as integers in base units, names that people
 * chose as
 * {"name": ...} entries sorted by name. Comments, layout, order of map keys, `about` texts and
 * writing a default out do not change it; the order of a list does.
 */
#pragma once

#include "base/extract.h"
#include "base/json.h"
#include "base/str.h"
#include "model/model.h"

struct err;
struct yaml;

/* ---- mistakes -------------------------------------------------------------------------------- */

struct problem {
	unsigned line, col;
	char *text; /* "unknown key 'pinns' in 'stack' (nearest: 'pins')": one line */
};
struct problems {
	struct problem *v; /* sorted by place once contract_parse returned; at most PROBLEMS_MAX */
	size_t n, room;
};
#define PROBLEMS_MAX 200
void problems_release(struct problems *l);
char *problem_line(const char *file, const struct problem *p) MUST_USE; /* "file:line:col: text" */

/* ---- limits, commands ------------------------------------------------------------------------ */

enum limit_op { LIMIT_NONE, LIMIT_LE, LIMIT_GE, LIMIT_LT, LIMIT_GT, LIMIT_EQ };
/* ">= 191 GiB", "<= 0.02", "0" (the same as "= 0"). */
struct limit {
	enum limit_op op; /* LIMIT_NONE: no limit was set */
	double value;     /* in base units */
	enum unit unit;
};
bool limit_holds(const struct limit *l, double value); /* NAN never holds; LIMIT_NONE always does */
char *limit_text(const struct limit *l) MUST_USE;      /* ">= 191 GiB", "no limit" */
const char *limit_op_text(enum limit_op op);           /* "<=" ... */
/* The same outside a contract: for a number of `unit` that is called `name` in messages. */
int limit_parse(struct sv text, const char *name, enum unit unit, struct limit *ret,
		struct err *err) MUST_USE;

struct named_limit {
	char *name; /* as written: "1 GiB", "eval_loss" */
	struct limit limit;
};
struct limits {
	struct named_limit *v; /* in the order of the file */
	size_t n, room;
};
struct ints {
	int64_t *v;
	size_t n, room;
};
/* A program with its arguments; placeholders not yet filled in (contract_expand_argv). With `shell`
 * words is {"/bin/sh", "-c", LINE}. words.n == 0: none was given. */
struct argv {
	struct strs words;
	bool shell;
};

/* ---- field tables ---------------------------------------------------------------------------- */

enum field_type {
	FIELD_STR,      /* char *: text that is not empty; NULL: absent */
	FIELD_ENUM,     /* int: index in .names */
	FIELD_BOOL,     /* bool: true, false */
	FIELD_INT,      /* int64_t */
	FIELD_NUM,      /* double: a plain number with at most 9 decimals; NAN: absent */
	FIELD_DURATION, /* int64_t: ns, never negative ("90 days", "250 ms") */
	FIELD_BYTES,    /* int64_t: bytes, never negative ("1 GiB") */
	FIELD_QUANTITY, /* double: in base units of .unit; NAN: absent */
	FIELD_LIMIT,    /* struct limit of .unit; UNIT_N: any unit */
	FIELD_LIMITS,   /* struct limits: map of names to limits of .unit; UNIT_N: any unit */
	FIELD_STRS,     /* struct strs: list of texts (one text stands for a list of one) */
	FIELD_INTS,     /* struct ints: list of integers */
	FIELD_ENUMS,    /* unsigned: list of .names as bits, 1 << index */
	FIELD_ARGV,  /* struct argv: list of words; one line when the same map has `shell: true` */
	FIELD_MAP,   /* struct pairs: map of names to texts */
	FIELD_SUB,   /* a struct inside, read by .sub */
	FIELD_LIST,  /* struct { T *v; size_t n, room; }: list of maps, each T read by .sub, sizeof
			   .size */
	FIELD_NAMED, /* the same as map NAME: settings; T begins with `char *name` */
	FIELD_SKIP,  /* a known key that is read elsewhere: only named in lists and documentation */
};

enum field_keys {
	KEYS_ANY,  /* up to 128 printable characters */
	KEYS_WORD, /* [a-z][a-z0-9_]* */
	KEYS_ENV,  /* [A-Za-z_][A-Za-z0-9_]*, and no credential: contracts are stored and shown */
};

/*
 * One setting. A table ends with { 0 }. Texts in .def, .min and .max are written as in the file.
 *
 *	static const struct field gpus_fields[] = {
 *		FIELD(gpus_conf, count, .type = FIELD_INT, .min = "1", .help = "how many"),
 *		FIELD(gpus_conf, memory, .type = FIELD_LIMIT, .unit = UNIT_BYTES,
 *		      .help = "of each"),
 *		{ 0 },
 *	};
 *	static int gpus_valid(void *conf, struct err *err);     what one row can't say
 *	const struct check_schema gpus_schema = {
 *		.name = "gpus", .layers = 1u << LAYER_HARDWARE, .fields = gpus_fields,
 *		.conf_size = sizeof(struct gpus_conf), .valid = gpus_valid, .help = "..." };
 */
struct field {
	const char *name;
	size_t at;
	enum field_type type;
	bool need;   /* must be given */
	bool expand; /* STR, STRS, MAP: placeholders are allowed and checked (ARGV: always) */
	bool prose;  /* words for people: not part of the identity */
	const char *def, *min, *max; /* NULL: none. min and max are allowed values themselves */
	enum unit unit;
	const char *const *names; /* NULL-ended */
	const struct field *sub;
	size_t size;
	const char *brief; /* SUB, LIST, NAMED: a value that is no map stands for {brief: value} */
	/* SUB, and each element of LIST and NAMED: what a row can't say, and members that follow
	 * from others (these must not own memory). Called when the rows found nothing wrong. The
	 * message gets the place. */
	int (*valid)(void *conf, struct err *err);
	enum field_keys keys; /* MAP, LIMITS, NAMED: how names must look */
	const char *one_of;   /* fields with the same word exclude each other; if one has .need, one
				 must be */
	size_t has; /* 1 + offsetof a bool that says whether the key was given; 0: nobody asks */
	const char *help; /* half a sentence */
};
#define FIELD(s, m, ...)                                                                           \
	{                                                                                          \
		.name = #m, .at = offsetof(struct s, m), __VA_ARGS__                               \
	}
/* When the key is not the member's name: FIELD_AS("default", s, def, ...) */
#define FIELD_AS(n, s, m, ...)                                                                     \
	{                                                                                          \
		.name = (n), .at = offsetof(struct s, m), __VA_ARGS__                              \
	}
#define FIELD_HAS(s, m) (1 + offsetof(struct s, m))

struct check_schema {
	const char *name;           /* [a-z][a-z0-9_]* */
	unsigned layers;            /* where it may stand: 1u << LAYER_... */
	const struct field *fields; /* may not use the names `name` `required` `owner` `about` */
	size_t conf_size;
	/* What a row can't say: impossible or senseless together, members that follow from others
	 * (which must not own memory). Called when the rows found nothing wrong; the message gets
	 * the place. NULL: none */
	int (*valid)(void *conf, struct err *err);
	const char *help;
};

/* Defaults into a zeroed conf (`need` fields stay zero). */
void fields_default(const struct field *fields, void *conf);
void fields_release(const struct field *fields, void *conf); /* and zeroes it */
/* A map as settings: for tests and for callers outside a contract. Mistakes are added to `bad`; 0
 * when none was. `what` names the map in messages. conf must be zeroed, and is to be released
 * either way. */
int fields_parse(const struct field *fields, const struct yaml *y, const char *what, void *conf,
		 struct problems *bad) MUST_USE;
json_t *fields_to_json(const struct field *fields,
		       const void *conf); /* what differs from defaults */
/* Text table for people: name, type with range, default, help; nested ones indented. */
void fields_help(const struct field *fields, unsigned indent, struct str *ret);

/* ---- the parts of a contract ----------------------------------------------------------------- */

enum workload_kind { KIND_INFERENCE, KIND_TRAINING, KIND_EVALUATION, KIND_BATCH, KIND_N };
const char *workload_kind_name(enum workload_kind k);

struct workload {
	char *name; /* [a-z0-9][a-z0-9._-]*, at most 64 */
	int kind;   /* enum workload_kind */
	char *unit; /* what one accepted output is: "request", "fine-tune" */
	char *owner;
	char *about;
};

struct stack_file {
	char *name;
	char *path; /* placeholders allowed; a folder means all files in it */
	int layer;  /* enum component_layer; by default CL_MODEL for `model`, else CL_APPLICATION */
	bool has_layer;
};
struct stack_program {
	char *name;
	struct argv argv; /* prints its version on the first line */
};
struct stack_switch {
	char *name;      /* a component */
	struct argv set; /* {version} is where to go */
	struct argv get; /* prints the version that is in place */
	bool shell;
	char *about;
};
struct stack_spec {
	struct strs envelope;     /* names of support matrices that must list the combination */
	struct pairs pins;        /* component: version pattern */
	struct pairs owners;      /* component or layer: who acts */
	struct pairs environment; /* for every process of the workload and for the capture */
	char *environment_file;   /* KEY=VALUE lines; its values belong to the stack, not to the
				     contract */
	char *python;             /* {python}; default "python3" */
	struct strs
		modules; /* Python modules whose versions and extension libraries are captured */
	struct strs env; /* globs added to the allow-list of captured variables */
	struct {
		struct stack_file *v;
		size_t n, room;
	} files;
	struct {
		struct stack_program *v;
		size_t n, room;
	} programs;
	struct {
		struct stack_switch *v;
		size_t n, room;
	} switches;
};

/* One entry of hardware:, communication:, framework: or recovery:. */
struct contract_check {
	const struct check_schema *schema;
	enum check_layer layer;
	char *name;    /* unique in its layer; the schema's name unless `name:` says otherwise */
	bool required; /* default true: nothing but PASS will do */
	char *owner;   /* NULL: by layer */
	char *about;
	void *conf; /* schema->conf_size bytes */
	unsigned line, col;
};
struct contract_checks {
	struct contract_check *v; /* by layer, inside a layer in the order of the file */
	size_t n, room;
};

/* A program whose output is read for numbers. In a layer's list its measurements are named
 * command.NAME.METRIC, NAME being the entry's name; as workload_check.command they are METRIC. */
enum metric_from { FROM_STDOUT, FROM_STDERR, FROM_FILE };
struct csv_spec {
	char *column;
	int64_t row;
	struct pairs where;
	char *delimiter;
};
struct command_metric {
	char *metric;    /* [a-z][a-z0-9_.]* */
	char *unit_text; /* "GB/s", "ms"; NULL: a plain number */
	enum unit unit;  /* of that text */
	double factor;   /* raw number x factor = value in base units; holds unit_text and scale */
	int better;      /* enum direction */
	char *from;      /* "stdout", "stderr", "file:PATH" */
	enum metric_from source;
	const char *path; /* the PATH in `from` */
	char *json, *pattern, *lines;
	struct csv_spec csv;
	bool has_json, has_csv, exit;
	double scale;
	int agg; /* enum extract_agg */
	struct limit limit;
};
struct command_spec {
	struct argv argv;
	bool shell;
	struct pairs env;
	char *cwd;            /* default "{dir}" */
	int64_t limit_ns;     /* wall-clock limit */
	int64_t output_limit; /* bytes kept of each stream */
	struct strs exit;     /* allowed codes ("0", "3") or {"any"}: command_exit_ok */
	struct {
		struct command_metric *v;
		size_t n, room;
	} extract;
};
extern const struct check_schema command_schema; /* contract_parse knows it without being told */
bool command_exit_ok(const struct command_spec *c, int exit_code);
/* The spec that base/extract.h runs; borrows from m. scale is 1: multiply by m->factor. */
void command_metric_spec(const struct command_metric *m, struct extract_spec *ret);
/* Everything of one metric that is not I/O: numbers in `text`, aggregated, in base units. */
int command_metric_read(const struct command_metric *m, struct sv text, int exit_code, double *ret,
			struct err *err) MUST_USE;

struct ready_spec {
	char *http; /* path that must answer 200; default "/health" */
	char *line; /* besides: a PCRE2 pattern that a line of its output must match; NULL: none */
	int64_t within_ns; /* default 5 min */
};
struct serve_spec {
	struct argv start; /* or attach */
	bool shell;
	char *attach; /* base URL of a server that is already there: never started or stopped */
	char *url;    /* base URL of the started one; default "http://127.0.0.1:{port}" */
	int64_t port; /* 0: a free one is chosen */
	struct pairs env;
	char *cwd; /* default "{dir}" */
	struct ready_spec ready;
	char *metrics;          /* path of a Prometheus page, read before and after; NULL: none */
	int64_t stop_within_ns; /* SIGTERM to SIGKILL; default 30 s */
};

enum endpoint_kind { ENDPOINT_CHAT, ENDPOINT_COMPLETIONS, ENDPOINT_PLAIN };
enum answers_match { ANSWERS_EXACT, ANSWERS_PREFIX };
enum arrival_kind { ARRIVAL_POISSON, ARRIVAL_CONSTANT, ARRIVAL_GAMMA, ARRIVAL_CLOSED };
struct arrival_spec {
	double poisson, constant, gamma; /* requests a second; NAN when not this one */
	double burstiness;               /* gamma's shape; 1 is poisson; default 1 */
	int64_t closed;                  /* clients that wait for their answer; 0: open loop */
	int kind;                        /* enum arrival_kind */
	double rate;                     /* of the one that was given; NAN: closed */
};
struct load_spec {
	int endpoint;  /* enum endpoint_kind */
	char *path;    /* NULL: the endpoint's usual path; plain: needed */
	char *model;   /* the name that requests carry; NULL: first of /v1/models */
	char *prompts; /* JSON lines; plain: NULL for a GET without a body */
	struct arrival_spec arrival;
	int64_t duration_ns; /* 0: by count */
	int64_t count;       /* 0: by duration */
	int64_t warmup_ns;   /* before that, measured apart */
	int64_t max_tokens;  /* for prompts that don't say; default 128 */
	double temperature;
	bool stream; /* default true */
	bool ignore_eos;
	int64_t timeout_ns;    /* of one request; default 60 s */
	int64_t seed;          /* default 1 */
	int64_t max_in_flight; /* default 4096 */
	int64_t client_lag_ns; /* 0: the load engine's own strict limits */
	char *key_env; /* NAME of the variable that holds the API key; the key is never kept */
	struct {
		char *golden; /* "accepted" (the accepted run's) or a file; default "accepted" */
		int match;    /* enum answers_match */
	} answers;
	struct {
		int64_t ttft_ns, tpot_ns, itl_ns, e2e_ns; /* 0: none */
	} goodput; /* what a good request is; all 0: the latency objectives (contract_goodput) */
};

enum train_launcher { LAUNCHER_LOCAL, LAUNCHER_SLURM, LAUNCHER_MPI, LAUNCHER_KUBERNETES };
enum train_metrics { TRAIN_MLLOG, TRAIN_JSONL };
struct train_metrics_spec {
	char *mllog, *jsonl; /* a file; "stdout" is the standard output */
	int kind;            /* enum train_metrics */
	const char *path;    /* of the one that was given */
};
struct train_spec {
	struct argv run;
	struct argv resume; /* words.n == 0: `run` resumes by itself when started again in the same
			       {work} */
	bool shell;
	struct pairs env;
	char *cwd;    /* default "{work}" */
	int launcher; /* enum train_launcher */
	struct train_metrics_spec metrics;
	struct {
		char *step, *loss, *samples, *samples_per_s, *step_ms, *data_ms;
	} fields;             /* members of the JSON lines; defaults are the same words */
	struct limits target; /* reached when all hold in one line or evaluation; n >= 1 */
	struct {
		struct ints steps; /* losses to compare, seed by seed; n == 0: none */
		double margin;     /* relative, 0.01 */
	} loss_at;
	double jump; /* largest relative step back of the target's first metric; finding above */
	char *checkpoints; /* folder where checkpoints appear; needed by resume checks; NULL: none
			    */
	int64_t limit_ns;  /* of one repetition; default 1 h */
	int64_t output_limit;
};

/* Where a workload says more than numbers: answers of the load, its outputs, a file. */
enum told_from {
	TOLD_NONE,
	TOLD_ANSWERS,
	TOLD_STDOUT,
	TOLD_STDERR,
	TOLD_LOG,
	TOLD_METRICS,
	TOLD_FILE
};

/* A fixed set of questions, each right or wrong: compared item by item with the accepted run. */
struct items_spec {
	char *name; /* the metric of its share is NAME.score */
	char *from; /* "stdout", "stderr", "file:PATH" */
	enum told_from source;
	const char *path;
	char *id, *correct, *cluster; /* members of the JSON lines; cluster NULL: none */
	struct pairs where;           /* only lines with these members */
	double margin;                /* absolute: 0.01 is one point */
	char *about;
};
/* Generated texts with fixed sampling: compared with the accepted stack's agreement with itself. */
struct texts_spec {
	char *name;
	char *from; /* "answers" (of the load), "stdout", "stderr", "file:PATH" */
	enum told_from source;
	const char *path;
	char *id, *text, *tokens;
	struct pairs where;
	double margin;
	bool invariant; /* the engine claims batch invariance: any difference is wrong */
	char *about;
};
/* A setting three times: what was asked for, what is in effect, what the label says. */
struct setting_spec {
	char *name;
	char *requested, *label; /* NULL: not said */
	char *from; /* "log" (of the server), "metrics", "stdout", "stderr", "file:PATH" */
	enum told_from source;
	const char *path;
	char *pattern; /* PCRE2; its group `value` is what is in effect */
	bool required; /* default true: not found is no result */
	char *about;
};

enum workload_how { HOW_SERVE, HOW_TRAIN, HOW_COMMAND };

/* log: a loss is a factor (5 %); abs: shares, a loss is a difference (2 points). */
enum metric_scale { SCALE_LOG, SCALE_ABS };
struct metric_info {
	const char *name;
	enum unit unit;
	enum direction dir;
	enum metric_scale scale;
	bool across; /* one number over all repetitions, none of a single one: runs_reaching_target
		      */
	bool paired; /* share of scored items: compared item by item, never by its own margin */
	double margin; /* when compare: says nothing: 0.05 is 5 % or 5 points */
	const char *help;
};
struct objective {
	char *metric;
	struct metric_info info; /* info.name is metric */
	struct limit limit;      /* op LE or LT for lower-is-better, GE or GT for higher; EQ */
	unsigned line, col;
};
struct objectives {
	struct objective *v; /* in the order of the file; one a metric */
	size_t n, room;
};
struct margin {
	char *metric;
	struct metric_info info;
	double margin;   /* > 0: 0.05 is 5 % (log: ln(1 + margin)) or 5 points (abs) */
	bool gate;       /* false: shown, decides nothing */
	bool by_default; /* not written in the contract */
};
/* compare: as written, by metric name; without that block every objective's metric with its
 * default. */
struct margins {
	struct margin *v;
	size_t n, room;
};

struct workload_check {
	enum workload_how how;
	bool has_serve, has_train, has_command, has_load;
	struct serve_spec serve;
	struct load_spec load;
	struct train_spec train;
	struct command_spec command;
	struct {
		struct items_spec *v;
		size_t n, room;
	} items;
	struct {
		struct texts_spec *v;
		size_t n, room;
	} texts;
	struct {
		struct setting_spec *v;
		size_t n, room;
	} settings;
	struct objectives objectives; /* at least one */
};

/* Causes that may exclude a repetition; never its metric. */
enum exclude_cause {
	EXCLUDE_THROTTLED,
	EXCLUDE_ECC_ERROR,
	EXCLUDE_HOST_BUSY,
	EXCLUDE_CLIENT_LIMITED,
	EXCLUDE_N
};
const char *exclude_cause_name(enum exclude_cause c);

struct contract {
	char *file; /* as given to contract_parse */
	int64_t schema;
	struct workload workload;
	struct stack_spec stack;
	struct contract_checks checks; /* all layers but the workload's */
	struct workload_check workload_check;
	struct {
		int64_t runs; /* repetitions when there is no accepted run to compare with; default
				 5 */
		int64_t at_most;   /* cap of one series; default 10 */
		struct ints looks; /* repetition counts at which a comparison may decide; ends with
				      at_most */
	} repeat;
	struct margins compare;
	struct {
		int64_t max_failed, reject_failed; /* defaults 0 and 2 */
		double max_cov;                    /* default 0.05 */
		unsigned exclude;                  /* 1u << enum exclude_cause */
	} gates;
	bool has_fallback, has_cost;
	struct {
		char *plan, *when, *owner;
		struct argv drill;
		bool shell;
		int64_t within_ns; /* 0: not limited */
	} fallback;
	struct {
		char *file; /* or the three below */
		char *currency;
		double per_hour; /* of the whole stack while the workload runs; NAN: not given */
		int source;      /* 0 measured 1 billed 2 quoted 3 assumed */
	} cost;
	int64_t expires_ns; /* of an acceptance after its signing; 0: never */
	char digest[65];
};

/* ---- reading, identity ----------------------------------------------------------------------- */

/* `schemas`: NULL-ended; all checks that contracts may name. ret must be zeroed; on failure it is
 * empty again. bad may be NULL. Fails with -ERR_PARSE (-ERR_LIMIT: too large). */
int contract_parse(struct sv text, const char *file, const struct check_schema *const *schemas,
		   struct contract *ret, struct problems *bad, struct err *err) MUST_USE;
void contract_release(struct contract *c);
json_t *contract_to_json(const struct contract *c); /* the canonical value */
/* Every key with type, default and help. topic: NULL all, "stack", "load", "hardware/gpus",
 * "command", "metrics". False: no such topic. */
bool contract_help(const struct check_schema *const *schemas, const char *topic, struct str *ret);

/* ---- questions ------------------------------------------------------------------------------- */

/* What the contract's workload can be measured by; false: it has no such metric. */
bool contract_metric(const struct contract *c, const char *name, struct metric_info *ret);
/* Latency limits that make a request good: load.goodput, or else the tightest latency objectives.
 */
struct goodput_limits {
	int64_t ttft_ns, tpot_ns, itl_ns, e2e_ns; /* 0: none */
};
void contract_goodput(const struct contract *c, struct goodput_limits *ret);
const struct contract_check *contract_find_check(const struct contract *c, enum check_layer l,
						 const char *schema_name, size_t *from);
/* Who acts for a component: stack.owners by its name, then by its layer; NULL: nobody was named. */
const char *contract_owner(const struct contract *c, enum component_layer l, const char *component);
/* A short label of what a check entry is called in results: "hardware/gpus". Caller frees. */
char *contract_check_label(const struct contract_check *k) MUST_USE;

/* ---- placeholders ---------------------------------------------------------------------------- */

/*
 * {port} {model} {dir} {work} {python} {seed} {version} and {NAME} of every stack.files entry;
 * "{{x}}" is the text "{x}", any other brace is itself (so JSON in an argument is safe). Values
 * come as pairs. A placeholder without a value: -ERR_NOT_FOUND.
 */
int contract_expand(const char *text, const struct pairs *values, char **ret,
		    struct err *err) MUST_USE;
/* Appends the words. In a shell line each value is quoted for the shell, so write {x} without
 * quotes. */
int contract_expand_argv(const struct argv *a, const struct pairs *values, struct strs *ret,
			 struct err *err) MUST_USE;
/* Appends "NAME=value" of each pair. */
int contract_expand_env(const struct pairs *env, const struct pairs *values, struct strs *ret,
			struct err *err) MUST_USE;
/* {dir}, {python}, every stack.files entry (from dir when relative), {model} (file `model`, else
 * the pin `model` before '@'); the caller adds port, work, seed, version. */
int contract_values(const struct contract *c, const char *dir, struct pairs *ret,
		    struct err *err) MUST_USE;

/* ---- a first contract ------------------------------------------------------------------------ */

/*
 * A commented contract to begin with. Values (all optional): name, owner, unit, start (YAML list),
 * model, modules, prompts ... as contract_template_names(kind) lists them. The text parses.
 */
int contract_template(enum workload_kind kind, const struct pairs *values, struct str *ret,
		      struct err *err) MUST_USE;
const char *const *contract_template_names(enum workload_kind kind); /* NULL-ended */
