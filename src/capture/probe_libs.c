/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries a workload runs on. The loader itself is asked (`ld.so --list`), under the
 * workload's
 * environment, for the interpreter and for those extension files of the named modules that need
 * anything beyond the C library. A running process is read from /proc/PID/maps and wins; what both
 * agree on is written alike, so that a later check without a process compares equal.
 */
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "capture/dpkg.h"
#include "capture/libs.h"
#include "capture/memo.h"
#include "capture/probes.h"
#include "readers/readers.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_EXTENSIONS 400
#define MAX_ASKED      16
#define MAX_DEPTH      4

struct found {
	struct libs libs;
	struct loaded_list names; /* owns the texts that libs points to */
	struct memo memo;         /* of how they were found */
};

static void found_release(struct found *f)
{
	free(f->libs.v);
	loaded_list_release(&f->names);
	memo_release(&f->memo);
	*f = (struct found){ 0 };
}

/* ---- extension files of a module ------------------------------------------------------------- */

static void find_extensions(struct source *s, const char *dir, int depth, struct memo *m,
			    struct strs *ret)
{
	struct strs names CLEANUP(strs_release) = { 0 };

	if (depth > MAX_DEPTH)
		return;
	memo_saw(m, dir);
	if (!src_list(s, dir, &names))
		return;
	for (size_t i = 0; i < names.n && ret->n < MAX_EXTENSIONS; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", dir, names.v[i]);

		if (str_ends(names.v[i], ".so"))
			strs_add(ret, path);
		else if (!strchr(names.v[i], '.') && !streq(names.v[i], "__pycache__"))
			find_extensions(s, path, depth + 1, m, ret);
	}
}

static bool everyday(const char *soname)
{
	static const char *const globs[] = { "libc.so*",   "libm.so*",   "libpthread.so*",
					     "libdl.so*",  "librt.so*",  "ld-linux*",
					     "libgcc_s*",  "libstdc++*", "libutil.so*",
					     "libpython*", "libz.so*" };

	for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
		if (glob_match(globs[i], sv_of(soname)))
			return true;
	return false;
}

static bool fd_at(void *arg, uint64_t offset, void *buf, size_t n)
{
	return pread(*(const int *)arg, buf, n, (off_t)offset) == (ssize_t)n;
}

/* Does it need something that no file before it needed? */
static bool adds_needs(const char *path, struct strs *seen)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct elf e CLEANUP(elf_release) = { 0 };
	struct err err = ERR_INIT;
	struct stat st;
	bool adds = false;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (elf_read(&(struct elf_bytes){ fd_at, &fd, (uint64_t)st.st_size }, &e, &err) < 0)
		return false;
	for (size_t i = 0; i < e.needed.n; i++) {
		if (everyday(e.needed.v[i]) || strs_has(seen, e.needed.v[i]))
			continue;
		strs_add(seen, e.needed.v[i]);
		adds = true;
	}
	return adds;
}

/* ---- asking the loader ----------------------------------------------------------------------- */

static const char *loader_of(struct source *s)
{
	static const char *const loaders[] = { "/lib64/ld-linux-x86-64.so.2",
					       "/lib/ld-linux-aarch64.so.1" };

	for (size_t i = 0; i < ARRAY_SIZE(loaders); i++)
		if (src_there(s, loaders[i]))
			return loaders[i];
	src_why(s, "no loader that can be asked");
	return NULL;
}

static void add_lib(struct source *s, struct found *f, const char *name, const char *path)
{
	struct loaded *text;
	struct lib *lib;

	for (size_t i = 0; i < f->libs.n; i++)
		if (streq(f->libs.v[i].name, name))
			return;
	text = VEC_ADD(&f->names);
	text->name = xstrdup(name);
	text->path = xstrdup(path);
	lib = VEC_ADD(&f->libs);
	lib->name = text->name;
	lib->path = text->path;
	(void)s;
}

/* The part of a path that names it in a recorded machine: "numpy.core._multiarray_umath". */
static char *short_name(const char *module, const char *path)
{
	const char *at = strstr(path, module);
	char *name = xstrdup(at ? at : path_base(path)), *dot;

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '.';
	dot = strstr(name, ".cpython");
	if (!dot)
		dot = strstr(name, ".so");
	if (dot)
		*dot = '\0';
	return name;
}

static bool ask_loader(struct source *s, const char *loader, const char *file, const char *name,
		       struct found *f)
{
	const char *const argv[] = { loader, "--list", file, NULL };
	AUTO_FREE char *as = xasprintf("ld-list.%s", name);
	struct strs env CLEANUP(strs_release) = { 0 };
	struct loaded_list list CLEANUP(loaded_list_release) = { 0 };
	AUTO_FREE char *debug = NULL;
	AUTO_FREE char *text = NULL;

	strs_copy(&env, &s->conf->environment);
	strs_add(&env, "LD_DEBUG=libs"); /* glibc says on stderr where it looks: ld.so(8) */
	strs_add(&env, "LD_DEBUG_OUTPUT");
	text = src_command_both(s, as, argv, (const char *const *)env.v, &debug);
	memo_saw(&f->memo, file);
	memo_loader(&f->memo, sv_of(debug ? debug : ""));
	if (!text) {
		f->memo.unsure = true;
		return false;
	}
	ld_list_read(sv_of(text), &list);
	for (size_t i = 0; i < list.n; i++)
		if (list.v[i].path)
			add_lib(s, f, path_base(list.v[i].name), list.v[i].path);
	/* Also those that an answer before gave already. */
	for (size_t i = 0; i < list.n; i++)
		if (list.v[i].path)
			memo_saw(&f->memo, list.v[i].path);
	return list.n > 0;
}

static void ask_for_module(struct source *s, const char *loader, const struct python *p,
			   const char *module, struct strs *seen, struct found *f)
{
	AUTO_FREE char *where = python_module(s, p, module);
	struct strs files CLEANUP(strs_release) = { 0 };
	size_t asked = 0;

	if (!where || str_ends(where, ".py"))
		return;
	find_extensions(s, where, 0, &f->memo, &files);
	for (size_t i = 0; i < files.n && asked < MAX_ASKED; i++) {
		AUTO_FREE char *name = NULL;

		memo_saw(&f->memo, files.v[i]);
		/* A recorded machine keeps only the files that were asked for. */
		if (!source_recorded(s) && !adds_needs(files.v[i], seen))
			continue;
		(void)src_there(s, files.v[i]);
		name = short_name(module, files.v[i]);
		(void)ask_loader(s, loader, files.v[i], name, f);
		asked++;
	}
}

/*
 * Everything the answer depends on that is no file: what is asked, the variables that the loader
 * reads, and the machine since its start (which of the hwcaps folders it takes). NULL: not known.
 */
static char *question(struct source *s, const char *loader, const struct python *p)
{
	static const char *const globs[] = { "LD_*", "GLIBC_TUNABLES=*" };
	AUTO_FREE char *boot = src_line(s, "/proc/sys/kernel/random/boot_id");
	struct str q CLEANUP(str_release) = { 0 };
	char hex[SHA256_HEX];

	if (!boot)
		return NULL;
	str_addf(&q, "%s\n%s\n%s\n%s\n", boot, loader, p->exe, s->conf->dir ? s->conf->dir : "");
	for (size_t i = 0; i < s->env.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(globs); k++)
			if (glob_match(globs[k], sv_of(s->env.v[i])))
				str_addf(&q, "%s\n", s->env.v[i]);
	for (size_t i = 0; i < s->conf->modules.n; i++) {
		AUTO_FREE char *where = python_module(s, p, s->conf->modules.v[i]);

		str_addf(&q, "%s\n%s\n", s->conf->modules.v[i], where ? where : "");
	}
	sha256_hex(q.p, q.n, hex);
	return xstrdup(hex);
}

static bool recall(struct source *s, const char *loader, const struct python *p, struct found *f)
{
	struct loaded_list list CLEANUP(loaded_list_release) = { 0 };
	AUTO_FREE char *key = NULL;
	const char *text;

	f->memo.before_ns = s->now_ns - 2 * NS_PER_S;
	if (!s->conf->quick || source_recorded(s))
		return false;
	key = question(s, loader, p);
	text = key ? cache_get(&s->cache, 'l', key, &(struct cache_id){ 0 }) : NULL;
	if (!text || !memo_read(text, &list))
		return false;
	for (size_t i = 0; i < list.n; i++)
		add_lib(s, f, list.v[i].name, list.v[i].path);
	return f->libs.n > 0;
}

static void remember(struct source *s, const char *loader, const struct python *p, struct found *f)
{
	AUTO_FREE char *key =
		source_recorded(s) || src_cancelled(s) ? NULL : question(s, loader, p);
	AUTO_FREE char *text = NULL;

	if (!key)
		return;
	memo_saw(&f->memo, loader);
	memo_saw(&f->memo, "/etc/ld.so.preload");
	for (size_t i = 0; i < f->libs.n; i++)
		memo_lib(&f->memo, f->libs.v[i].name, f->libs.v[i].path);
	text = memo_text(&f->memo);
	if (text)
		cache_put(&s->cache, 'l', key, &(struct cache_id){ 0 }, text, s->now_ns);
}

static bool predict(struct source *s, struct found *f)
{
	struct python p CLEANUP(python_release) = { 0 };
	struct strs seen CLEANUP(strs_release) = { 0 };
	const char *loader;

	if (!s->conf->python || !python_find(s, &p))
		return false;
	loader = loader_of(s);
	if (!loader)
		return false;
	if (recall(s, loader, &p, f))
		return true;
	if (!ask_loader(s, loader, p.exe, "python", f))
		return false;
	for (size_t i = 0; i < s->conf->modules.n && !src_cancelled(s); i++)
		ask_for_module(s, loader, &p, s->conf->modules.v[i], &seen, f);
	remember(s, loader, &p, f);
	return true;
}

/* ---- asking the process ---------------------------------------------------------------------- */

static bool read_maps(struct source *s, struct found *f)
{
	AUTO_FREE char *path = xasprintf("/proc/%ld/maps", (long)s->conf->pid);
	AUTO_FREE char *text = NULL;
	struct loaded_list list CLEANUP(loaded_list_release) = { 0 };
	struct err err = ERR_INIT;

	if (file_read(path, 64 * MIB, &text, NULL, &err) < 0) {
		src_why(s, "%s", err.msg);
		return false;
	}
	maps_read(sv_of(text), &list);
	for (size_t i = 0; i < list.n; i++)
		if (strstr(path_base(list.v[i].path), ".so"))
			add_lib(s, f, path_base(list.v[i].path), list.v[i].path);
	return f->libs.n > 0;
}

/* ---- components ------------------------------------------------------------------------------ */

static bool of_interest(const struct lib *l)
{
	static const char *const more[] = { "libblas*",      "libcblas*", "liblapack*",
					    "lib*openblas*", "libblis*",  "lib*atlas*",
					    "libmkl_*",      "libarmpl*", "libnvpl_*",
					    "libflexiblas*" };
	const char *file = path_base(l->path);

	if (lib_kind_of(l->name) || lib_kind_of(file))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		if (glob_match(more[i], sv_of(l->name)) || glob_match(more[i], sv_of(file)))
			return true;
	return false;
}

static void read_facts(struct source *s, struct found *f)
{
	for (size_t i = 0; i < f->libs.n && !src_cancelled(s); i++)
		if (of_interest(&f->libs.v[i]))
			f->libs.v[i].facts = src_facts(s, f->libs.v[i].path);
}

/* Package version, number in the file's name, or at least the build id: it says which build. */
static char *version_of(struct source *s, const struct facts *f)
{
	const char *package = f->package ? dpkg_version(dpkg_of(s), f->package) : NULL;
	char *named;

	if (package)
		return xstrdup(package);
	named = lib_file_version(f->real);
	if (named)
		return named;
	if (f->build_id)
		return xasprintf("build %.12s", f->build_id);
	return xasprintf("sha256 %.12s", f->digest);
}

struct lib_component {
	enum component_layer layer;
	const char *name;
	char *version; /* NULL: unreadable */
	const struct lib *code, *front;
};
struct lib_components {
	struct lib_component *v;
	size_t n, room;
};

static void lib_components_release(struct lib_components *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].version);
	free(l->v);
	*l = (struct lib_components){ 0 };
}

static void add_component(struct lib_components *l, enum component_layer layer, const char *name,
			  char *version, const struct lib *code, const struct lib *front)
{
	struct lib_component *c;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].layer == layer && streq(l->v[i].name, name)) {
			free(version); /* the loader takes the first one */
			return;
		}
	}
	c = VEC_ADD(l);
	*c = (struct lib_component){ layer, name, version, code, front };
}

static void add_blas(struct source *s, const struct libs *libs, const char *soname,
		     const char *name, struct lib_components *ret)
{
	struct blas b = blas_find(libs, soname);
	AUTO_FREE char *version = NULL;

	if (b.family == BLAS_NONE)
		return;
	if (b.code->facts)
		version = version_of(s, b.code->facts);
	add_component(ret, CL_KERNELLIB, name,
		      version ? xasprintf("%s %s",
					  b.family == BLAS_OTHER ? path_base(b.front->path)
								 : blas_family_name(b.family),
					  version)
			      : NULL,
		      b.code, b.front);
}

static void make_components(struct source *s, const struct libs *libs, struct lib_components *ret)
{
	add_blas(s, libs, "libblas.so.3", "blas", ret);
	add_blas(s, libs, "liblapack.so.3", "lapack", ret);
	for (size_t i = 0; i < libs->n; i++) {
		const struct lib *l = &libs->v[i];
		const struct lib_kind *k = lib_kind_of(l->name);
		AUTO_FREE char *version = NULL;

		if (!k)
			k = lib_kind_of(path_base(l->path));
		if (!k)
			continue;
		if (l->facts)
			version = version_of(s, l->facts);
		if (version && streq(k->name, "allocator")) {
			const char *file = path_base(l->path) + 3;
			char *named =
				xasprintf("%.*s %s", (int)strcspn(file, "._-"), file, version);

			free(version);
			version = named;
		}
		add_component(ret, k->layer, k->name, STEAL(version), l, l);
	}
}

static const struct lib_component *same_name(const struct lib_components *l,
					     const struct lib_component *c)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].layer == c->layer && streq(l->v[i].name, c->name))
			return &l->v[i];
	return NULL;
}

static struct component *put_lib(struct source *s, const struct lib_component *c,
				 const char *origin)
{
	struct component *out;

	if (!c->version)
		src_why(s, "%s can't be read%s", c->code->path,
			str_ends(c->code->path, "(deleted)")
				? ": it was replaced while the process ran"
				: "");
	out = put(s, c->layer, c->name, c->version, origin);
	if (!c->code->facts)
		return out;
	put_digest(out, c->code->facts->digest);
	if (c->front != c->code && c->front->facts)
		put_note(out, "%s -> %s, code in %s", c->front->name, c->front->facts->real,
			 c->code->facts->real);
	else if (c->code->facts->build_id)
		put_note(out, "build id %s", c->code->facts->build_id);
	return out;
}

static const char *real_of(const struct lib *l)
{
	return l->facts ? l->facts->real : l->path;
}

static void put_predicted(struct source *s, const struct lib_components *l)
{
	for (size_t i = 0; i < l->n; i++)
		(void)put_lib(s, &l->v[i], real_of(l->v[i].code));
}

/* What the loader says too is written as if the loader had said it. */
static void put_mapped(struct source *s, const struct lib_components *mapped,
		       const struct lib_components *predicted)
{
	for (size_t i = 0; i < mapped->n; i++) {
		const struct lib_component *m = &mapped->v[i], *p = same_name(predicted, m);
		AUTO_FREE char *origin = xasprintf(ORIGIN_PROCESS "%s", real_of(m->code));
		struct component *c;

		if (p && streq(real_of(p->code), real_of(m->code))) {
			(void)put_lib(s, p, real_of(p->code));
			continue;
		}
		c = put_lib(s, m, origin);
		if (p)
			c->requested = xstrdup(p->version);
	}
	/* Predicted, but the process has not loaded it (yet): only the loader's word. */
	for (size_t i = 0; i < predicted->n; i++)
		if (!same_name(mapped, &predicted->v[i]))
			(void)put_lib(s, &predicted->v[i], real_of(predicted->v[i].code));
}

static void put_defaults(struct source *s, const char *origin)
{
	if (!stack_find(s->out, CL_KERNELLIB, "blas"))
		put(s, CL_KERNELLIB, "blas", NONE_FOUND, origin);
	if (!stack_find(s->out, CL_HOST, "allocator"))
		put(s, CL_HOST, "allocator", "libc", origin);
}

static void libs_run(struct source *s)
{
	struct found loader CLEANUP(found_release) = { 0 };
	struct found process CLEANUP(found_release) = { 0 };
	struct lib_components predicted CLEANUP(lib_components_release) = { 0 };
	struct lib_components mapped CLEANUP(lib_components_release) = { 0 };
	bool asked = predict(s, &loader), live = false;

	if (!asked && s->conf->python)
		put(s, CL_KERNELLIB, "blas", NULL, "ld.so --list");
	read_facts(s, &loader);
	make_components(s, &loader.libs, &predicted);
	if (s->conf->pid && !source_recorded(s))
		live = read_maps(s, &process);
	if (live) {
		read_facts(s, &process);
		make_components(s, &process.libs, &mapped);
		put_mapped(s, &mapped, &predicted);
	} else {
		put_predicted(s, &predicted);
	}
	if (asked || live)
		put_defaults(s, asked ? "ld.so --list" : ORIGIN_PROCESS "maps");
}

const struct probe probe_libs = { "libs",
				  "libraries the loader gives the workload, or a process has",
				  false, libs_run };
