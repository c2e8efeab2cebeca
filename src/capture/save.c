/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/save.h"

#include "base/file.h"
#include "base/redact.h"
#include "capture/dpkg.h"
#include "capture/probes.h"
#include "capture/source.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- redaction ------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_word(char c)
{
	return is_hex(c) || (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') || c == '_';
}

/* Length of something of the shape (x hex digit, else itself) at p, or 0. */
static size_t shape_at(const char *p, size_t left, const char *shape)
{
	size_t n = strlen(shape);

	if (n > left)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'x' ? !is_hex(p[i]) : p[i] != shape[i])
			return 0;
	return n < left && is_word(p[n]) ? 0 : n;
}

/* Hex digits become 0; so the shape stays and nothing else does. */
static void blank_shapes(char *text, size_t n)
{
	static const char *const shapes[] = {
		"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", /* UUID */
		"xx:xx:xx:xx:xx:xx",                    /* MAC */
		"xxxx:xxxx:xxxx:xxxx",                  /* node GUID of InfiniBand */
	};

	for (size_t i = 0; i < n; i++) {
		if (i && is_word(text[i - 1]))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(shapes); k++) {
			size_t len = shape_at(text + i, n - i, shapes[k]);

			for (size_t j = 0; j < len; j++)
				if (is_hex(text[i + j]))
					text[i + j] = '0';
		}
	}
}

/* "Serial Number : 1234", "unique_id 987": the value goes. */
static bool names_a_serial(struct sv line)
{
	static const char *const words[] = { "serial",    "Serial",    "SERIAL",
					     "unique_id", "asset tag", "Asset Tag" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (sv_find(line, sv_of(words[i])) >= 0)
			return true;
	return false;
}

static void blank_serials(char *text)
{
	struct sv rest = sv_of(text), line;

	while (sv_line(&rest, &line)) {
		size_t i = line.n;

		if (!names_a_serial(line))
			continue;
		while (i > 0 && line.p[i - 1] != ' ' && line.p[i - 1] != ':' &&
		       line.p[i - 1] != ',' && line.p[i - 1] != '\t') {
			i--;
			if (is_hex(line.p[i]))
				text[line.p - text + (ptrdiff_t)i] = '0';
		}
	}
}

static char *replace_all(struct sv text, const char *what, const char *with)
{
	struct str s CLEANUP(str_release) = { 0 };
	size_t n = strlen(what);

	while (text.n) {
		ptrdiff_t hit = sv_find(text, sv_of(what));
		size_t end = hit < 0 ? text.n : (size_t)hit;
		bool whole = hit >= 0 && (hit == 0 || !is_word(text.p[hit - 1])) &&
			     (end + n >= text.n || !is_word(text.p[end + n]));

		str_addn(&s, text.p, end);
		if (hit < 0)
			break;
		str_add(&s, whole ? with : what);
		text = (struct sv){ text.p + end + n, text.n - end - n };
	}
	return str_steal(&s);
}

char *save_redact(const struct strs *hide, struct sv text)
{
	AUTO_FREE char *t = redact_text(text, NULL);

	for (size_t i = 0; i < hide->n; i++) {
		char *next = replace_all(sv_of(t), hide->v[i], "host");

		free(t);
		t = next;
	}
	blank_shapes(t, strlen(t));
	blank_serials(t);
	return STEAL(t);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

int recorder_open(const char *dir, struct recorder **ret, struct err *err)
{
	struct strs there CLEANUP(strs_release) = { 0 };
	AUTO_FREE char *root = path_join(dir, "root");
	AUTO_FREE char *cmd = path_join(dir, "cmd");
	struct recorder *r;
	char host[256] = "";

	TRY(dir_make(dir, err));
	TRY(dir_list(dir, &there, err));
	if (there.n)
		return bail(err, ERR_CONFLICT, "'%s' is not empty", dir);
	TRY(dir_make(root, err));
	TRY(dir_make(cmd, err));
	r = xcalloc(1, sizeof(*r));
	r->dir = xstrdup(dir);
	r->files = json_object();
	if (gethostname(host, sizeof(host) - 1) == 0 && strlen(host) > 2)
		strs_add(&r->hide, host);
	*ret = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	free(r->dir);
	json_decref(r->files);
	strs_release(&r->hide);
	free(r);
}

static void write_at(struct recorder *r, const char *under, const char *name, struct sv text)
{
	AUTO_FREE char *path =
		xasprintf("%s/%s%s%s", r->dir, under, name[0] == '/' ? "" : "/", name);
	AUTO_FREE char *dir = path_dir(path);

	if (r->failed.code)
		return;
	if (dir_make(dir, &r->failed) < 0 ||
	    file_write(path, text.p ? text.p : "", text.n, 0644, &r->failed) < 0)
		(void)err_wrap(&r->failed, "cannot record '%s'", name);
}

void save_text(struct recorder *r, const char *path, struct sv text)
{
	AUTO_FREE char *clean = NULL;

	if (str_ends(path, "/dpkg/status")) {
		struct dpkg *d = xcalloc(1, sizeof(*d));

		dpkg_parse(d, text);
		clean = dpkg_pruned(d);
		dpkg_free(d);
	} else if (str_ends(path, "/kernel/hostname")) {
		clean = xstrdup("host\n");
	} else {
		clean = save_redact(&r->hide, text);
	}
	write_at(r, "root", path, sv_of(clean));
}

void save_dir(struct recorder *r, const char *path)
{
	AUTO_FREE char *dir = xasprintf("%s/root%s", r->dir, path);

	if (!r->failed.code)
		(void)!dir_make(dir, &r->failed);
}

void save_there(struct recorder *r, const char *path, bool folder)
{
	AUTO_FREE char *at = xasprintf("%s/root%s", r->dir, path);

	if (folder)
		save_dir(r, path);
	else if (!file_exists(at))
		write_at(r, "root", path, (struct sv){ "", 0 });
}

void save_link(struct recorder *r, const char *path, const char *target)
{
	AUTO_FREE char *at = xasprintf("%s/root%s", r->dir, path);
	AUTO_FREE char *dir = path_dir(at);

	if (r->failed.code || dir_make(dir, &r->failed) < 0)
		return;
	if (symlink(target, at) < 0 && errno != EEXIST)
		(void)bail_sys(&r->failed, "cannot record '%s'", path);
}

void save_command(struct recorder *r, const char *name, struct sv out, int exit_code)
{
	AUTO_FREE char *clean = save_redact(&r->hide, out);
	AUTO_FREE char *status = xasprintf("%s.status", name);
	AUTO_FREE char *code = xasprintf("%d\n", exit_code);

	write_at(r, "cmd", name, sv_of(clean));
	if (exit_code != 0)
		write_at(r, "cmd", status, sv_of(code));
}

void save_facts(struct recorder *r, const struct facts *f)
{
	json_put(r->files, f->path, facts_to_json(f));
}

int recorder_close(struct recorder *r, const struct source *s, struct err *err)
{
	struct str env CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *all = json_pack("{sO}", "files", r->files);
	AUTO_FREE char *text = json_text(all, /* pretty= */ true);

	for (size_t i = 0; i < s->env.n; i++)
		if (env_kept(s, s->env.v[i])) {
			AUTO_FREE char *clean = env_redacted(s->env.v[i]);

			str_addf(&env, "%s\n", clean);
		}
	/* Of PATH only what a program was found through. */
	if (s->program_dir)
		str_addf(&env, "PATH=%s\n", s->program_dir);
	write_at(r, "", "env", sv_str(&env));
	write_at(r, "", "facts.json", sv_of(text));
	if (r->failed.code) {
		*err = r->failed;
		return -(int)err->code;
	}
	return 0;
}
