/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/source.h"

#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/vec.h"
#include "capture/dpkg.h"
#include "capture/save.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define ENV_LIMIT     (256 * KIB)
#define FACTS_LIMIT   (16 * MIB)
#define COMMAND_LIMIT (8 * MIB)

extern char **environ;

/* ---- the environment a process of the workload begins with ----------------------------------- */

static void env_set(struct strs *env, struct sv pair)
{
	const char *eq = memchr(pair.p, '=', pair.n);
	size_t name_n;

	if (!eq || eq == pair.p)
		return;
	name_n = (size_t)(eq - pair.p) + 1;
	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], pair.p, name_n) == 0) {
			free(env->v[i]);
			env->v[i] = sv_dup(pair);
			return;
		}
	}
	strs_take(env, sv_dup(pair));
}

static void env_fill(struct source *s)
{
	AUTO_FREE char *recorded = NULL;

	if (source_recorded(s)) {
		AUTO_FREE char *path = xasprintf("%s/env", s->conf->root);
		struct err err = ERR_INIT;
		struct sv rest, line;

		if (file_read(path, ENV_LIMIT, &recorded, NULL, &err) == 0) {
			rest = sv_of(recorded);
			while (sv_line(&rest, &line))
				env_set(&s->env, line);
		}
	} else {
		for (char **e = environ; *e; e++)
			env_set(&s->env, sv_of(*e));
	}
	for (size_t i = 0; i < s->conf->environment.n; i++)
		env_set(&s->env, sv_of(s->conf->environment.v[i]));
	strs_sort(&s->env);
}

const char *src_env(const struct source *s, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < s->env.n; i++)
		if (strncmp(s->env.v[i], name, n) == 0 && s->env.v[i][n] == '=')
			return s->env.v[i] + n + 1;
	return NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

bool source_recorded(const struct source *s)
{
	return s->commands != NULL;
}

static int open_recorded(struct source *s, struct err *err)
{
	const char *root = s->conf->root;
	AUTO_FREE char *path = xasprintf("%s/facts.json", root);
	AUTO_FREE char *text = NULL;
	json_t *all = NULL;
	size_t n;

	s->root = xasprintf("%s/root", root);
	s->commands = xasprintf("%s/cmd", root);
	if (!dir_exists(s->root))
		return bail(err, ERR_NOT_FOUND,
			    "'%s' is no recorded machine: it has no folder 'root'", root);
	if (!file_exists(path)) {
		s->facts = json_object();
		return 0;
	}
	TRY(file_read(path, FACTS_LIMIT, &text, &n, err));
	TRY(json_read((struct sv){ text, n }, path, &all, err));
	s->facts = json_incref(json_object_get(all, "files"));
	json_decref(all);
	if (!json_is_object(s->facts))
		return bail(err, ERR_PARSE, "'%s' has no object 'files'", path);
	return 0;
}

/* A process that has ended but was not waited for has no memory left to read. */
static bool alive(pid_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%ld/stat", (long)pid);
	AUTO_FREE char *line = file_first_line(path);
	const char *state = line ? strrchr(line, ')') : NULL;

	return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

int source_open(struct source *s, const struct capture_conf *conf, struct err *err)
{
	struct timespec now;

	s->conf = conf;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	s->now_ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
	if (conf->root && conf->root[0]) {
		TRY(open_recorded(s, err));
	} else {
		s->root = xstrdup("");
		cache_load(&s->cache, conf->cache_path);
	}
	env_fill(s);
	if (conf->pid && !source_recorded(s) && !alive(conf->pid))
		return bail(err, ERR_NOT_FOUND, "no process %ld", (long)conf->pid);
	return 0;
}

void source_release(struct source *s)
{
	if (s->conf && !source_recorded(s))
		cache_save(&s->cache, s->conf->cache_path);
	free(s->root);
	free(s->commands);
	free(s->program_dir);
	strs_release(&s->env);
	json_decref(s->facts);
	cache_release(&s->cache);
	facts_list_release(&s->known);
	dpkg_free(s->dpkg);
	*s = (struct source){ 0 };
}

bool src_cancelled(const struct source *s)
{
	return s->conf->cancel && *s->conf->cancel;
}

void src_why(struct source *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
}

/* ---- reading --------------------------------------------------------------------------------- */

static char *at(const struct source *s, const char *path)
{
	return xasprintf("%s%s", s->root, path);
}

static char *read_head(int fd, size_t limit, size_t *ret_n)
{
	struct str text CLEANUP(str_release) = { 0 };
	char buf[16 * KIB];

	while (text.n < limit) {
		ssize_t n = read(fd, buf, MIN(sizeof(buf), limit - text.n));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		if (n == 0)
			break;
		str_addn(&text, buf, (size_t)n);
	}
	*ret_n = text.n;
	return str_steal(&text);
}

char *src_text(struct source *s, const char *path, size_t limit)
{
	AUTO_FREE char *real = at(s, path);
	CLEANUP(closep) int fd = open(real, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = NULL;
	size_t n = 0;

	if (fd >= 0)
		text = read_head(fd, limit, &n);
	if (!text) {
		src_why(s, "%s: %s", path, errno == ENOENT ? "not there" : strerror(errno));
		return NULL;
	}
	if (s->save)
		save_text(s->save, path, (struct sv){ text, n });
	return text;
}

char *src_line(struct source *s, const char *path)
{
	AUTO_FREE char *text = src_text(s, path, 64 * KIB);
	struct sv rest = sv_of(text), line;

	if (!text)
		return NULL;
	return sv_line(&rest, &line) ? sv_dup(sv_trim(line)) : xstrdup("");
}

int64_t src_int(struct source *s, const char *path, int64_t none)
{
	AUTO_FREE char *line = src_line(s, path);
	int64_t n;

	return line && sv_to_i64(sv_of(line), INT64_MIN, INT64_MAX, &n) ? n : none;
}

bool src_list(struct source *s, const char *path, struct strs *ret)
{
	AUTO_FREE char *real = at(s, path);
	struct err err = ERR_INIT;
	struct strs all CLEANUP(strs_release) = { 0 };

	if (dir_list(real, &all, &err) < 0) {
		src_why(s, "%s: %s", path,
			err.code == ERR_NOT_FOUND ? "not there" : strerror(err.sys));
		return false;
	}
	for (size_t i = 0; i < all.n; i++)
		if (!streq(all.v[i], ".keep")) /* git keeps no empty folder */
			strs_add(ret, all.v[i]);
	if (s->save)
		save_dir(s->save, path);
	return true;
}

bool src_there(struct source *s, const char *path)
{
	AUTO_FREE char *real = at(s, path);
	bool folder = dir_exists(real);

	if (!folder && !file_exists(real))
		return false;
	if (s->save)
		save_there(s->save, path, folder);
	return true;
}

bool src_absent(struct source *s, const char *path)
{
	if (!str_ends(s->why, "not there"))
		return false;
	if (str_starts(path, "/sys/"))
		return src_there(s, "/sys");
	if (str_starts(path, "/proc/"))
		return src_there(s, "/proc");
	return true;
}

char *src_link(struct source *s, const char *path)
{
	AUTO_FREE char *real = at(s, path);
	char to[PATH_MAX];
	ssize_t n = readlink(real, to, sizeof(to) - 1);

	if (n < 0) {
		src_why(s, "%s: %s", path, errno == ENOENT ? "not there" : strerror(errno));
		return NULL;
	}
	to[n] = '\0';
	if (s->save)
		save_link(s->save, path, path_base(to));
	return xstrdup(path_base(to));
}

static const struct facts *known_facts(const struct source *s, const char *path)
{
	for (size_t i = 0; i < s->known.n; i++)
		if (streq(s->known.v[i]->path, path))
			return s->known.v[i];
	return NULL;
}

const struct facts *src_facts(struct source *s, const char *path)
{
	const struct facts *known = known_facts(s, path);
	struct facts *f;

	if (known)
		return known;
	if (source_recorded(s)) {
		const json_t *j = json_object_get(s->facts, path);

		f = j ? facts_from_json(path, j) : NULL;
		if (!f) {
			src_why(s, "cannot find '%s': %s", path,
				j ? "bad facts" : strerror(ENOENT));
			return NULL;
		}
	} else {
		f = facts_read(s, path);
		if (!f)
			return NULL;
		if (s->save)
			save_facts(s->save, f);
	}
	s->known.v = vec_grow(s->known.v, s->known.n, &s->known.room, sizeof(*s->known.v));
	s->known.v[s->known.n++] = f;
	return f;
}

/* ---- commands -------------------------------------------------------------------------------- */

static char *recorded_command(struct source *s, const char *name, const char *program)
{
	AUTO_FREE char *path = path_join(s->commands, name);
	AUTO_FREE char *status = xasprintf("%s/%s.status", s->commands, name);
	AUTO_FREE char *code = file_first_line(status);
	struct err err = ERR_INIT;
	char *text;

	if (file_read(path, COMMAND_LIMIT, &text, NULL, &err) < 0) {
		src_why(s, "%s: not there", program);
		return NULL;
	}
	if (code && !streq(code, "0")) {
		src_why(s, "%s: exit %s", program, code);
		free(text);
		return NULL;
	}
	return text;
}

char *src_command(struct source *s, const char *name, const char *const *argv,
		  const char *const *env)
{
	AUTO_FREE char *said = NULL;

	return src_command_both(s, name, argv, env, &said);
}

char *src_command_both(struct source *s, const char *name, const char *const *argv,
		       const char *const *env, char **ret_err)
{
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	int64_t limit = s->conf->command_limit_ns;
	struct proc_spec spec = {
		.argv = argv,
		.env = env,
		.cwd = s->conf->dir,
		.limit_ns = limit ? limit : 20 * NS_PER_S,
		.out_limit = COMMAND_LIMIT,
		.cancel = s->conf->cancel,
	};
	struct err err = ERR_INIT;

	*ret_err = NULL;
	if (source_recorded(s))
		return recorded_command(s, name, argv[0]);
	if (proc_run(&spec, &done, &err) < 0) {
		src_why(s, "%s: %s", argv[0], err.code == ERR_NOT_FOUND ? "not there" : err.msg);
		return NULL;
	}
	if (s->save)
		save_command(s->save, name, sv_str(&done.out), done.exit_code);
	if (!proc_ok(&done) || done.out_cut) {
		AUTO_FREE char *how = done.out_cut ? xstrdup("prints too much") : proc_how(&done);

		src_why(s, "%s: %s", argv[0], how);
		return NULL;
	}
	if (!done.err_cut)
		*ret_err = str_steal(&done.err);
	return str_steal(&done.out);
}

/* ---- components ------------------------------------------------------------------------------ */

struct component *put(struct source *s, enum component_layer layer, const char *name,
		      const char *version, const char *origin)
{
	AUTO_FREE char *clean = version ? text_clean(sv_of(version)) : NULL;
	struct component *c;

	/* Two vendors in one machine: one component that names both. */
	for (size_t i = 0; i < s->out->n; i++) {
		c = &s->out->v[i];
		if (c->layer != layer || !streq(c->name, name))
			continue;
		if (clean && c->version && !streq(clean, c->version)) {
			char *both = xasprintf("%s + %s", c->version, clean);

			free(c->version);
			c->version = both;
		}
		return c;
	}
	c = stack_add(s->out, layer, name, clean, origin);
	if (!version)
		put_note(c, "%s", s->why);
	return c;
}

struct component *putf(struct source *s, enum component_layer layer, const char *name,
		       const char *origin, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	struct str str CLEANUP(str_release) = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&str, fmt, ap);
	va_end(ap);
	text = str_steal(&str);
	return put(s, layer, name, text, origin);
}

void put_note(struct component *c, const char *fmt, ...)
{
	struct str str CLEANUP(str_release) = { 0 };
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&str, fmt, ap);
	va_end(ap);
	text = str_steal(&str);
	free(c->note);
	c->note = text_clean(sv_of(text));
}

void put_digest(struct component *c, const char *hex)
{
	free(c->digest);
	c->digest = hex ? xasprintf("sha256:%s", hex) : NULL;
}
