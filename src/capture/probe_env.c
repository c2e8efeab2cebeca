/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the workload, by allow-list. Without a process it is ours with the contract's
 * on
 * top, which is what the workload will be started with. With one, the process is asked; where a
 * start
 * script set something else, `requested` keeps what we gave it.
 */
#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"
#include "capture/probes.h"

static const char *const allowed[] = {
	"HSA_*",          "HIP_*",           "ROCR_*",       "ROCM_*",          "ROCBLAS_*",
	"HIPBLASLT_*",    "HIPBLAS_*",       "MIOPEN_*",     "RCCL_*",          "NCCL_*",
	"UCX_*",          "OMPI_MCA_*",      "FI_*",         "AMD_*",           "GPU_*",
	"CUDA_*",         "CUBLAS_*",        "CUDNN_*",      "NVIDIA_*",        "VLLM_*",
	"SGLANG_*",       "SGL_*",           "TORCH_*",      "TORCHINDUCTOR_*", "PYTORCH_*",
	"TRITON_*",       "AITER_*",         "XLA_*",        "JAX_*",           "TF_ENABLE_*",
	"TF_XLA_*",       "TF_GPU_*",        "TF_NUM_*",     "OPENBLAS_*",      "OMP_*",
	"GOMP_*",         "KMP_*",           "MKL_*",        "BLIS_*",          "ATLAS_*",
	"GOTO_*",         "LD_LIBRARY_PATH", "LD_PRELOAD",   "LD_BIND_NOW",     "LD_AUDIT",
	"GLIBC_TUNABLES", "MALLOC_*",        "MIMALLOC_*",   "TCMALLOC_*",      "PYTHON*",
	"NPY_*",          "NUMEXPR_*",       "TOKENIZERS_*", "TRANSFORMERS_*",  "HF_HUB_OFFLINE",
	"HF_HOME",        "ACCELERATE_*",    "DEEPSPEED_*",  "WORLD_SIZE",      "LOCAL_WORLD_SIZE",
};
/* How a program prints or where it leaves its compiled files: shown, but no other stack. */
static const char *const cosmetic_names[] = { "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
					      "PYTHONIOENCODING", "PYTHONPYCACHEPREFIX" };
/* Change from start to start without a meaning. */
static const char *const volatile_names[] = { "PYTHONSTARTUP", "NCCL_COMM_ID", "TORCHELASTIC_*" };

bool glob_match(const char *pattern, struct sv text)
{
	const char *star = NULL;
	size_t i = 0, back = 0;

	/* The usual two-pointer walk: on a mismatch the last star takes one character more. */
	while (i < text.n) {
		if (*pattern == '*') {
			star = pattern++;
			back = i;
		} else if (*pattern == '?' || (*pattern && *pattern == text.p[i])) {
			pattern++;
			i++;
		} else if (star) {
			pattern = star + 1;
			i = ++back;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool in_globs(const char *const *globs, size_t n, struct sv name)
{
	for (size_t i = 0; i < n; i++)
		if (glob_match(globs[i], name))
			return true;
	return false;
}

static struct sv name_of(const char *pair)
{
	const char *eq = strchr(pair, '=');

	return (struct sv){ pair, eq ? (size_t)(eq - pair) : 0 };
}

bool env_kept(const struct source *s, const char *pair)
{
	struct sv name = name_of(pair);

	if (!name.n || in_globs(volatile_names, ARRAY_SIZE(volatile_names), name))
		return false;
	if (in_globs(allowed, ARRAY_SIZE(allowed), name))
		return true;
	return in_globs((const char *const *)s->conf->env_globs.v, s->conf->env_globs.n, name);
}

char *env_redacted(const char *pair)
{
	struct sv name = name_of(pair);
	const char *value = pair + name.n + 1;
	AUTO_FREE char *clean = NULL;

	if (redact_name(name))
		return xasprintf(SV_FMT "=%s", SV_ARG(name), REDACTED);
	clean = redact_text(sv_of(value), NULL);
	return xasprintf(SV_FMT "=%s", SV_ARG(name), clean);
}

/* value points into a redacted pair. */
static struct component *put_variable(struct source *s, const char *pair, const char *origin)
{
	AUTO_FREE char *clean = env_redacted(pair);
	struct sv name = name_of(clean);
	AUTO_FREE char *full = xasprintf("env." SV_FMT, SV_ARG(name));
	struct component *c;

	c = put(s, CL_APPLICATION, full, clean + name.n + 1, origin);
	c->cosmetic = in_globs(cosmetic_names, ARRAY_SIZE(cosmetic_names), name);
	return c;
}

static const char *find_pair(const struct strs *env, const char *pair)
{
	struct sv name = name_of(pair);

	for (size_t i = 0; i < env->n; i++) {
		struct sv have = name_of(env->v[i]);

		if (sv_eq(name, have))
			return env->v[i];
	}
	return NULL;
}

/* NUL-separated "K=V"s; false and s->why when the process can't be read. */
static bool read_process(struct source *s, struct strs *ret)
{
	AUTO_FREE char *path = xasprintf("/proc/%ld/environ", (long)s->conf->pid);
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	struct sv rest, part;
	size_t n;

	if (file_read(path, 4 * MIB, &text, &n, &err) < 0) {
		src_why(s, "%s", err.msg);
		return false;
	}
	rest = (struct sv){ text, n };
	while (sv_split(&rest, '\0', &part))
		if (part.n)
			strs_take(ret, sv_dup(part));
	strs_sort(ret);
	return true;
}

static void put_process(struct source *s, const struct strs *env)
{
	for (size_t i = 0; i < env->n; i++) {
		const char *given = find_pair(&s->env, env->v[i]);
		struct component *c;

		if (!env_kept(s, env->v[i]))
			continue;
		if (streq(given, env->v[i])) {
			(void)put_variable(s, env->v[i], "environment");
			continue;
		}
		c = put_variable(s, env->v[i], ORIGIN_PROCESS "environment");
		if (given) {
			AUTO_FREE char *clean = env_redacted(given);

			c->requested = xstrdup(clean + name_of(clean).n + 1);
		}
	}
	/* Given to it, and gone: a start script took it away. */
	for (size_t i = 0; i < s->env.n; i++) {
		struct component *c;
		AUTO_FREE char *clean = NULL;

		if (!env_kept(s, s->env.v[i]) || find_pair(env, s->env.v[i]))
			continue;
		clean = env_redacted(s->env.v[i]);
		c = put_variable(s, s->env.v[i], ORIGIN_PROCESS "environment");
		c->requested = xstrdup(clean + name_of(clean).n + 1);
		free(c->version);
		c->version = xstrdup("not set");
	}
}

static void env_run(struct source *s)
{
	struct strs env CLEANUP(strs_release) = { 0 };

	if (s->conf->pid && !source_recorded(s)) {
		if (read_process(s, &env)) {
			put_process(s, &env);
			return;
		}
		put(s, CL_APPLICATION, "env", NULL, ORIGIN_PROCESS "environment");
	}
	for (size_t i = 0; i < s->env.n; i++)
		if (env_kept(s, s->env.v[i]))
			(void)put_variable(s, s->env.v[i], "environment");
}

const struct probe probe_env = { "env", "environment variables of the allow-list", false, env_run };
