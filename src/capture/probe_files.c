/* SPDX-License-Identifier: Apache-2.0 */
/* Files, folders and programs that the contract names, and twice itself. */
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "capture/probes.h"
#include <sys/stat.h>

static char *placed(const struct source *s, const char *path)
{
	return s->conf->dir && s->conf->dir[0] ? path_join(s->conf->dir, path) : xstrdup(path);
}

static void put_file(struct source *s, const struct capture_file *f)
{
	AUTO_FREE char *path = placed(s, f->path);
	const struct facts *facts = src_facts(s, path);
	struct component *c;

	if (!facts) {
		put(s, f->layer, f->name, NULL, f->path);
		return;
	}
	c = putf(s, f->layer, f->name, f->path, "%.12s", facts->digest);
	put_digest(c, facts->digest);
	put_note(c, "%s, %llu bytes", facts->folder ? "folder" : "file",
		 (unsigned long long)facts->bytes);
}

static void files_run(struct source *s)
{
	for (size_t i = 0; i < s->conf->files.n && !src_cancelled(s); i++)
		put_file(s, &s->conf->files.v[i]);
}

const struct probe probe_files = { "files", "digests of model, data and code", false, files_run };

/* ---- programs -------------------------------------------------------------------------------- */

/* The first word that has a digit, then a dot, then a digit, without a leading v, "," or ")". */
static char *version_word(struct sv text)
{
	struct sv w;

	while (sv_word(&text, &w)) {
		while (w.n && (w.p[0] == 'v' || w.p[0] == '(' || w.p[0] == '"' || w.p[0] == '\'')) {
			w.p++;
			w.n--;
		}
		while (w.n && strchr(",;:)\"'", w.p[w.n - 1]))
			w.n--;
		if (!w.n || w.p[0] < '0' || w.p[0] > '9')
			continue;
		for (size_t i = 1; i + 1 < w.n; i++)
			if (w.p[i] == '.' && w.p[i - 1] >= '0' && w.p[i - 1] <= '9')
				return sv_dup(w);
	}
	return NULL;
}

/* The answer of a program stays true while its file and the question are the same. */
static char *ask_key(const char *const *argv)
{
	struct str s CLEANUP(str_release) = { 0 };
	char hex[SHA256_HEX];

	for (; *argv; argv++)
		str_addn(&s, *argv, strlen(*argv) + 1);
	sha256_hex(str_text(&s), s.n, hex);
	return xstrdup(hex);
}

char *version_of_program(struct source *s, const char *name, const char *const *argv,
			 const char *real)
{
	AUTO_FREE char *key = ask_key(argv);
	AUTO_FREE char *text = NULL;
	struct cache_id id = { 0 };
	struct stat st;
	const char *known = NULL;
	char *version;

	if (real && !source_recorded(s) && stat(real, &st) == 0) {
		id = cache_id_of(&st);
		known = s->conf->quick ? cache_get(&s->cache, 'p', key, &id) : NULL;
	}
	if (known)
		return xstrdup(known);
	text = src_command(s, name, argv, (const char *const *)s->conf->environment.v);
	if (!text)
		return NULL;
	version = version_word(sv_of(text));
	if (!version)
		src_why(s, "'%s' prints no version", argv[0]);
	else if (id.ino)
		cache_put(&s->cache, 'p', key, &id, version, s->now_ns);
	return version;
}

static void put_program(struct source *s, const struct capture_program *p)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *version = NULL;
	AUTO_FREE char *found = NULL;
	AUTO_FREE char *name = xasprintf("program.%s", p->name);
	const struct facts *facts = NULL;
	struct component *c;

	if (!p->argv.n)
		return;
	path = strchr(p->argv.v[0], '/') ? placed(s, p->argv.v[0]) : xstrdup(p->argv.v[0]);
	if (!strchr(path, '/'))
		found = source_recorded(s) ? xasprintf("/usr/bin/%s", path)
					   : path_program(path, src_env(s, "PATH"));
	else
		found = xstrdup(path);
	if (found)
		facts = src_facts(s, found);
	version = version_of_program(s, name, (const char *const *)p->argv.v,
				     facts ? facts->real : NULL);
	c = put(s, p->layer, p->name, version, p->argv.v[0]);
	if (facts)
		put_digest(c, facts->digest);
}

static void programs_run(struct source *s)
{
	for (size_t i = 0; i < s->conf->programs.n && !src_cancelled(s); i++)
		put_program(s, &s->conf->programs.v[i]);
}

const struct probe probe_programs = { "programs", "versions of programs the contract names", false,
				      programs_run };

/* ---- twice ----------------------------------------------------------------------------------- */

static void tool_run(struct source *s)
{
	struct component *c;

	if (!s->conf->tool_version)
		return;
	c = put(s, CL_APPLICATION, "twice", s->conf->tool_version, "this program");
	put_digest(c, s->conf->tool_digest);
}

const struct probe probe_tool = { "tool", "twice itself", false, tool_run };
