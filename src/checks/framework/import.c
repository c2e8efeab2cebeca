/* SPDX-License-Identifier: Apache-2.0 */
/* A Python module really imported by the workload's Python, its version, and a first right result.
 * */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"

struct import_conf {
	char *module, *version, *python, *smoke;
	int64_t within_ns;
};

static const struct field import_fields[] = {
	FIELD(import_conf, module, .type = FIELD_STR, .need = true, .help = "name as imported"),
	FIELD(import_conf, version, .type = FIELD_STR, .help = "wanted: 2.8.1, or 2.8.*"),
	FIELD(import_conf, python, .type = FIELD_STR, .expand = true,
	      .help = "else the contract's"),
	FIELD(import_conf, smoke, .type = FIELD_STR,
	      .help = "an expression of Python that must be true; `m` is the module"),
	FIELD_AS("within", import_conf, within_ns, .type = FIELD_DURATION, .def = "2 min",
		 .min = "1 s", .help = "time it may take"),
	{ 0 },
};

static int import_valid(void *conf, struct err *err)
{
	const struct import_conf *c = conf;

	for (const char *p = c->module; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
		      *p == '.' || (*p >= '0' && *p <= '9')))
			return bail(err, ERR_PARSE, "'%s' is no name of a module", c->module);
	return 0;
}

/* numpy is asked for a product whose right answer is known: integers, so that it is exact. */
static const char program[] =
	"import importlib,json,sys\n"
	"m=importlib.import_module(sys.argv[1])\n"
	"r={'version':str(getattr(m,'__version__','')),'file':str(getattr(m,'__file__',''))}\n"
	"if sys.argv[1]=='numpy':\n"
	" n=64\n"
	" a=(m.arange(n*n)%7).reshape(n,n).astype('float32')\n"
	" b=(m.arange(n*n)%5).reshape(n,n).astype('float32')\n"
	" ai=a.astype('int64');bi=b.astype('int64')\n"
	" want=sum(int(ai[3,k])*int(bi[k,5]) for k in range(n))\n"
	" r['exact']=bool(int((a@b)[3,5])==want and (a@b==ai@bi).all())\n"
	"if len(sys.argv)>2:\n"
	" r['smoke']=bool(eval(sys.argv[2],{'m':m}))\n"
	"print(json.dumps(r))\n";

static bool fits(const char *pattern, const char *got)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return strncmp(pattern, got, n - 1) == 0;
	return streq(pattern, got);
}

static int judge(const struct import_conf *c, const json_t *j, struct outcome *o)
{
	const char *version = json_str_or(j, "version", "");

	if (json_object_get(j, "exact") && !json_bool_or(j, "exact", false))
		return ends(o, RESULT_FAIL, "a product of small integers comes out wrong");
	if (json_object_get(j, "smoke") && !json_bool_or(j, "smoke", false))
		return ends(o, RESULT_FAIL, "the smoke test is not true");
	if (c->version && !version[0])
		return ends(o, RESULT_ERROR, "%s does not say its version", c->module);
	if (c->version && !fits(c->version, version))
		return ends(o, RESULT_FAIL, "%s is %s, wanted %s", c->module, version, c->version);
	o->result = RESULT_PASS;
	return 0;
}

static int import_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	const struct import_conf *c = conf;
	AUTO_FREE char *python = NULL;
	const char *argv[] = { NULL, "-c", program, c->module, c->smoke, NULL };
	struct pairs values CLEANUP(pairs_release) = { 0 };
	struct strs env CLEANUP(strs_release) = { 0 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct proc_spec ps = {
		.argv = argv, .limit_ns = c->within_ns, .cancel = ctx->cancel, .cwd = ctx->work
	};
	AUTO_FREE char *how = NULL;
	AUTO_FREE char *out = NULL;
	AUTO_JSON json_t *j = NULL;

	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand(c->python ? c->python : ctx->contract->stack.python, &values, &python,
			    err));
	argv[0] = python;
	TRY(ctx_env(ctx, NULL, NULL, &env, err));
	ps.env = (const char *const *)env.v;
	if (proc_run(&ps, &done, err) < 0)
		return ends_err(o, err->code == ERR_NOT_FOUND ? RESULT_FAIL : RESULT_ERROR, err);
	TRY(keep_text(ctx, &o->evidence, "stdout.txt", sv_str(&done.out), err));
	TRY(keep_text(ctx, &o->evidence, "stderr.txt", sv_str(&done.err), err));
	how = proc_how(&done);
	if (done.timed_out)
		return ends(o, RESULT_ERROR, "importing %s: %s", c->module, how);
	if (!proc_ok(&done)) {
		AUTO_FREE char *path = ctx_path(ctx, "stderr.txt");
		AUTO_FREE char *tail = tail_of(path, 300);

		return ends(o, RESULT_FAIL, "importing %s ended with %s: %s", c->module, how, tail);
	}
	/* The module may print on import: the last line is ours. */
	out = sv_dup(sv_trim(sv_str(&done.out)));
	if (json_read(sv_of(strrchr(out, '\n') ? strrchr(out, '\n') + 1 : out), "the answer", &j,
		      err) < 0)
		return ends_err(o, RESULT_ERROR, err);
	return judge(c, j, o);
}

const struct check check_import = {
	.schema = { .name = "import",
		    .layers = 1u << LAYER_FRAMEWORK,
		    .fields = import_fields,
		    .conf_size = sizeof(struct import_conf),
		    .valid = import_valid,
		    .help = "a Python module imported, its version, an exact product" },
	.run = import_run,
};
