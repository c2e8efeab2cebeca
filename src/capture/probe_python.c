/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python and its modules from their files, without starting Python: the interpreter's package or
 * pyvenv.cfg, *.dist-info and *.egg-info folders, version.py. Only where none of them says it is
 * the
 * interpreter asked (`-V`, no site, no user code).
 */
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "capture/dpkg.h"
#include "capture/probes.h"
#include "capture/tally.h"

static char *find_program(struct source *s, const char *name)
{
	const char *path = src_env(s, "PATH");
	struct sv rest = sv_of(path ? path : "/usr/local/bin:/usr/bin:/bin"), dir;

	if (strchr(name, '/'))
		return s->conf->dir && name[0] != '/' ? path_join(s->conf->dir, name)
						      : xstrdup(name);
	while (sv_split(&rest, ':', &dir)) {
		AUTO_FREE char *full = xasprintf(SV_FMT "/%s", SV_ARG(dir), name);

		if (!dir.n || !src_there(s, full))
			continue;
		free(s->program_dir);
		s->program_dir = sv_dup(dir);
		return STEAL(full);
	}
	src_why(s, "no program '%s' in PATH", name);
	return NULL;
}

/* "python3.11" -> "3.11"; "3.11.2" -> "3.11". */
static char *series_of(const char *text)
{
	const char *p = text;
	size_t n = 0, dots = 0;

	while (*p && !(*p >= '0' && *p <= '9'))
		p++;
	while (p[n] && ((p[n] >= '0' && p[n] <= '9') || (p[n] == '.' && !dots))) {
		dots += p[n] == '.';
		n++;
	}
	return dots && p[n - 1] != '.' ? xstrndup(p, n) : NULL;
}

static char *ask_version(struct source *s, const char *exe, const char *real)
{
	const char *const argv[] = { exe, "-I", "-S", "-V", NULL };

	return version_of_program(s, "python.version", argv, real);
}

static void add_folder(struct source *s, struct python *p, char *folder)
{
	if (src_there(s, folder) && !strs_has(&p->path, folder))
		strs_take(&p->path, folder);
	else
		free(folder);
}

static void fill_path(struct source *s, struct python *p, const char *prefix, bool system_too)
{
	const char *extra = src_env(s, "PYTHONPATH");
	struct sv rest = sv_of(extra), dir;

	while (extra && sv_split(&rest, ':', &dir))
		if (dir.n)
			add_folder(s, p, sv_dup(dir));
	add_folder(s, p, xasprintf("%s/lib/python%s/site-packages", prefix, p->series));
	if (!system_too)
		return;
	/* Debian's layout; folders that are not there fall away. */
	add_folder(s, p, xasprintf("/usr/local/lib/python%s/dist-packages", p->series));
	add_folder(s, p, xasprintf("%s/lib/python3/dist-packages", prefix));
	add_folder(s, p, xstrdup("/usr/lib/python3/dist-packages"));
	add_folder(s, p, xasprintf("/usr/lib/python%s/site-packages", p->series));
}

/* A script in front of the interpreter (pyenv) can only be asked. */
static char *behind_script(struct source *s, const char *exe)
{
	const char *const argv[] = { exe, "-I", "-c", "import sys; print(sys.executable)", NULL };
	AUTO_FREE char *text = src_command(s, "python.executable", argv, NULL);

	return text ? sv_dup(sv_trim(sv_of(text))) : NULL;
}

static const struct facts *real_python(struct source *s, char **exe)
{
	const struct facts *f = src_facts(s, *exe);
	char *real;

	if (!f || f->elf)
		return f;
	real = behind_script(s, *exe);
	if (!real)
		return NULL;
	free(*exe);
	*exe = real;
	return src_facts(s, *exe);
}

bool python_find(struct source *s, struct python *ret)
{
	struct python p CLEANUP(python_release) = { 0 };
	AUTO_FREE char *exe = find_program(s, s->conf->python);
	const struct facts *f = exe ? real_python(s, &exe) : NULL;
	AUTO_FREE char *bin = NULL;
	AUTO_FREE char *prefix = NULL;
	AUTO_FREE char *cfg_path = NULL;
	AUTO_FREE char *cfg = NULL;
	bool system_too = true;
	struct sv v;

	if (!f)
		return false;
	p.exe = xstrdup(f->real);
	bin = path_dir(exe);
	prefix = path_dir(bin);
	cfg_path = xasprintf("%s/pyvenv.cfg", prefix);
	cfg = src_text(s, cfg_path, 16 * KIB);
	if (cfg) {
		if (line_of(sv_of(cfg), "version", '=', &v) ||
		    line_of(sv_of(cfg), "version_info", '=', &v))
			p.version = sv_dup(v);
		system_too = line_of(sv_of(cfg), "include-system-site-packages", '=', &v) &&
			     sv_is(v, "true");
	}
	if (!p.version && f->package)
		p.version = xstrdup(dpkg_version(dpkg_of(s), f->package));
	if (!p.version)
		p.version = ask_version(s, exe, f->real);
	if (!p.version)
		return false;
	p.series = series_of(path_base(p.exe));
	if (!p.series)
		p.series = series_of(p.version);
	if (!p.series) {
		src_why(s, "can't tell the series of Python '%s'", p.version);
		return false;
	}
	fill_path(s, &p, prefix, system_too);
	*ret = p;
	p = (struct python){ 0 };
	return true;
}

void python_release(struct python *p)
{
	free(p->exe);
	free(p->version);
	free(p->series);
	strs_release(&p->path);
	*p = (struct python){ 0 };
}

char *python_module(struct source *s, const struct python *p, const char *name)
{
	for (size_t i = 0; i < p->path.n; i++) {
		AUTO_FREE char *folder = xasprintf("%s/%s", p->path.v[i], name);
		AUTO_FREE char *file = xasprintf("%s.py", folder);

		if (src_there(s, folder))
			return STEAL(folder);
		if (src_there(s, file))
			return STEAL(file);
	}
	return NULL;
}

/* ---- distributions --------------------------------------------------------------------------- */

/* Names compare without case, and "-", "_" and "." are the same (PEP 503). */
static bool same_name(struct sv a, const char *b)
{
	if (a.n != strlen(b))
		return false;
	for (size_t i = 0; i < a.n; i++) {
		char x = a.p[i], y = b[i];

		x = (char)(x >= 'A' && x <= 'Z' ? x + 32 : x == '-' || x == '.' ? '_' : x);
		y = (char)(y >= 'A' && y <= 'Z' ? y + 32 : y == '-' || y == '.' ? '_' : y);
		if (x != y)
			return false;
	}
	return true;
}

static const char *distribution_of(const char *module)
{
	static const char *const other[][2] = {
		{ "yaml", "pyyaml" },       { "PIL", "pillow" },      { "sklearn", "scikit_learn" },
		{ "cv2", "opencv_python" }, { "aiter", "amd_aiter" }, { "google", "protobuf" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		if (streq(module, other[i][0]))
			return other[i][1];
	return module;
}

/* "numpy-1.24.2.egg-info" -> name, version; "-py3.11" is no part of the version. */
static bool split_dist(const char *entry, struct sv *name, struct sv *version)
{
	struct sv v = sv_of(entry);
	ptrdiff_t py;

	if (sv_ends(v, ".dist-info"))
		v.n -= strlen(".dist-info");
	else if (sv_ends(v, ".egg-info"))
		v.n -= strlen(".egg-info");
	else
		return false;
	for (size_t i = 1; i + 1 < v.n; i++) {
		if (v.p[i] != '-' || v.p[i + 1] < '0' || v.p[i + 1] > '9')
			continue;
		*name = (struct sv){ v.p, i };
		*version = (struct sv){ v.p + i + 1, v.n - i - 1 };
		py = sv_find(*version, SV("-py"));
		if (py > 0)
			version->n = (size_t)py;
		return true;
	}
	return false;
}

struct dist {
	char *info; /* path of the .dist-info or .egg-info */
	char *version;
};

static bool find_dist(struct source *s, const char *folder, const char *module, struct dist *ret)
{
	const char *want = distribution_of(module);
	struct strs names CLEANUP(strs_release) = { 0 };
	struct sv name, version;

	if (!src_list(s, folder, &names))
		return false;
	for (size_t i = 0; i < names.n; i++) {
		if (!split_dist(names.v[i], &name, &version) ||
		    (!same_name(name, want) && !same_name(name, module)))
			continue;
		ret->info = path_join(folder, names.v[i]);
		ret->version = sv_dup(version);
		(void)src_there(s, ret->info);
		return true;
	}
	return false;
}

/* The quoted text behind `name =` (or `name: str =`) at the start of a line. */
static char *assigned(struct sv text, const char *name)
{
	struct sv line;

	while (sv_line(&text, &line)) {
		const char *quote;
		size_t n;

		line = sv_trim(line);
		if (!sv_starts(line, name))
			continue;
		line.p += strlen(name);
		line.n -= strlen(name);
		if (!line.n || (line.p[0] != ' ' && line.p[0] != '=' && line.p[0] != ':'))
			continue;
		if (sv_find(line, SV("=")) < 0)
			continue;
		for (n = 0; n < line.n && line.p[n] != '"' && line.p[n] != '\''; n++)
			;
		if (n + 1 >= line.n)
			continue;
		quote = memchr(line.p + n + 1, line.p[n], line.n - n - 1);
		if (quote)
			return xstrndup(line.p + n + 1, (size_t)(quote - (line.p + n + 1)));
	}
	return NULL;
}

static char *module_text(struct source *s, const char *where, const char *file)
{
	AUTO_FREE char *path = xasprintf("%s/%s", where, file);

	return src_text(s, path, 256 * KIB);
}

static char *version_inside(struct source *s, const char *where)
{
	static const char *const files[] = { "version.py", "_version.py", "__init__.py" };
	static const char *const names[] = { "__version__", "version", "full_version" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_FREE char *text = module_text(s, where, files[i]);

		for (size_t k = 0; text && k < ARRAY_SIZE(names); k++) {
			AUTO_FREE char *v = assigned(sv_of(text), names[k]);

			if (v && v[0] >= '0' && v[0] <= '9')
				return STEAL(v);
		}
	}
	return NULL;
}

static enum component_layer layer_of(const char *module)
{
	static const struct {
		const char *glob;
		enum component_layer layer;
	} layers[] = {
		{ "vllm*", CL_ENGINE },
		{ "sglang*", CL_ENGINE },
		{ "sgl_kernel", CL_KERNELLIB },
		{ "tensorrt_llm", CL_ENGINE },
		{ "lmdeploy", CL_ENGINE },
		{ "megatron*", CL_ENGINE },
		{ "text_generation_server", CL_ENGINE },
		{ "triton", CL_KERNELLIB },
		{ "aiter", CL_KERNELLIB },
		{ "flash_attn*", CL_KERNELLIB },
		{ "flashinfer*", CL_KERNELLIB },
		{ "xformers", CL_KERNELLIB },
		{ "bitsandbytes", CL_KERNELLIB },
		{ "apex", CL_KERNELLIB },
		{ "transformer_engine", CL_KERNELLIB },
		{ "mpi4py", CL_COMMLIB },
	};

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (glob_match(layers[i].glob, sv_of(module)))
			return layers[i].layer;
	return CL_FRAMEWORK;
}

/* A list of digests of the module's files that its packager wrote: RECORD of a wheel, md5sums of a
 * Debian package. It says which build this is; files edited later don't show in it. */
static void put_build_list(struct source *s, struct component *c, const struct dist *d,
			   const char *where)
{
	AUTO_FREE char *record = d->info ? xasprintf("%s/RECORD", d->info) : NULL;
	AUTO_FREE char *init = xasprintf("%s/__init__.py", where);
	const struct facts *f = NULL;
	const char *package = NULL;

	if (record && src_there(s, record))
		f = src_facts(s, record);
	if (!f) {
		f = src_facts(s, str_ends(where, ".py") ? where : init);
		package = f ? f->package : NULL;
	}
	if (package) {
		AUTO_FREE char *list = xasprintf("/var/lib/dpkg/info/%s.md5sums", package);
		const struct facts *sums = src_facts(s, list);

		f = sums ? sums : f;
		put_note(c, "package %s %s", package, dpkg_version(dpkg_of(s), package));
	}
	if (f)
		put_digest(c, f->digest);
}

/* The text behind `"key":` of a line, without quotes and comma; NULL when the line is another. */
static char *json_line(struct sv line, const char *key)
{
	AUTO_FREE char *with = xasprintf("\"%s\":", key);
	struct sv v, q;

	line = sv_trim(line);
	if (!sv_starts(line, with))
		return NULL;
	v = (struct sv){ line.p + strlen(with), line.n - strlen(with) };
	if (!sv_split(&v, '"', &q))
		return NULL;
	return sv_split(&v, '"', &q) ? sv_dup(q) : NULL;
}

/* Since numpy 1.26: CONFIG = { ..., "Build Dependencies": { "blas": { "name": ..., "version": ...
 * */
static char *numpy_blas_new(struct sv block)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *version = NULL;
	struct sv line;

	while (sv_line(&block, &line) && !sv_starts(sv_trim(line), "}")) {
		if (!name)
			name = json_line(line, "name");
		if (!version)
			version = json_line(line, "version");
	}
	return xasprintf("blas %s%s%s", name ? name : "unknown", version ? " " : "",
			 version ? version : "");
}

/* Before: blas_opt_info={..., 'libraries': ['blas', 'blas'], ...} on one line. */
static char *numpy_blas_old(struct sv line)
{
	struct str out CLEANUP(str_release) = { 0 };
	ptrdiff_t at = sv_find(line, SV("'libraries': ["));
	struct sv rest, list;

	if (at < 0)
		return xstrdup("blas none");
	rest = (struct sv){ line.p + at + 14, line.n - (size_t)at - 14 };
	if (!sv_split(&rest, ']', &list))
		return NULL;
	str_add(&out, "blas ");
	for (size_t i = 0; i < list.n; i++)
		if (list.p[i] != '\'')
			str_addc(&out, list.p[i]);
	return str_steal(&out);
}

/* numpy's answer to "what was I built with", from its __config__.py. */
static char *numpy_blas(struct sv text)
{
	ptrdiff_t at = sv_find(text, SV("\"blas\": {"));
	struct sv line;

	if (at >= 0)
		return numpy_blas_new((struct sv){ text.p + at, text.n - (size_t)at });
	while (sv_line(&text, &line))
		if (sv_starts(line, "blas_opt_info"))
			return numpy_blas_old(line);
	return NULL;
}

static void put_numpy_build(struct source *s, const char *where)
{
	AUTO_FREE char *path = xasprintf("%s/__config__.py", where);
	AUTO_FREE char *text = src_text(s, path, 256 * KIB);
	AUTO_FREE char *blas = text ? numpy_blas(sv_of(text)) : NULL;
	struct component *c;
	char hex[SHA256_HEX];

	if (text && !blas)
		src_why(s, "%s says nothing about blas", path);
	c = put(s, CL_FRAMEWORK, "numpy.build", blas, path);
	if (text) {
		sha256_hex(text, strlen(text), hex);
		put_digest(c, hex);
	}
}

static void put_torch_build(struct source *s, const char *where)
{
	AUTO_FREE char *text = module_text(s, where, "version.py");
	AUTO_FREE char *hip = text ? assigned(sv_of(text), "hip") : NULL;
	AUTO_FREE char *cuda = text ? assigned(sv_of(text), "cuda") : NULL;
	AUTO_FREE char *git = text ? assigned(sv_of(text), "git_version") : NULL;

	if (!text)
		put(s, CL_FRAMEWORK, "torch.build", NULL, where);
	else
		putf(s, CL_FRAMEWORK, "torch.build", where, "hip %s, cuda %s, commit %.12s",
		     hip ? hip : "none", cuda ? cuda : "none", git ? git : "unknown");
}

static void put_module(struct source *s, const struct python *p, const char *module)
{
	enum component_layer layer = layer_of(module);
	AUTO_FREE char *where = python_module(s, p, module);
	AUTO_FREE char *folder = where ? path_dir(where) : NULL;
	struct dist d = { 0 };
	AUTO_FREE char *inside = NULL;
	struct component *c;

	if (!where) {
		src_why(s, "no module '%s' for %s", module, p->exe);
		put(s, layer, module, NULL, p->exe);
		return;
	}
	(void)find_dist(s, folder, module, &d);
	inside = str_ends(where, ".py") ? NULL : version_inside(s, where);
	if (!d.version && !inside)
		src_why(s, "no version in %s", where);
	c = put(s, layer, module, d.version ? d.version : inside, where);
	if (d.version && inside && !streq(d.version, inside))
		c->label = xstrdup(inside); /* what the module says of itself */
	put_build_list(s, c, &d, where);
	if (streq(module, "numpy"))
		put_numpy_build(s, where);
	else if (streq(module, "torch"))
		put_torch_build(s, where);
	free(d.info);
	free(d.version);
}

static void python_run(struct source *s)
{
	struct python p CLEANUP(python_release) = { 0 };
	struct component *c;
	const struct facts *f;

	if (!s->conf->python)
		return;
	if (!python_find(s, &p)) {
		put(s, CL_FRAMEWORK, "python", NULL, s->conf->python);
		for (size_t i = 0; i < s->conf->modules.n; i++)
			put(s, layer_of(s->conf->modules.v[i]), s->conf->modules.v[i], NULL,
			    s->conf->python);
		return;
	}
	c = put(s, CL_FRAMEWORK, "python", p.version, p.exe);
	f = src_facts(s, p.exe);
	if (f)
		put_digest(c, f->digest);
	for (size_t i = 0; i < s->conf->modules.n && !src_cancelled(s); i++)
		put_module(s, &p, s->conf->modules.v[i]);
}

const struct probe probe_python = { "python", "Python and its modules", false, python_run };
