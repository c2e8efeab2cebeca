/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/stray.h"
#include "base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct stream {
	int fd; /* our end; -1 when closed or when the child writes to a file */
	struct str kept;
	size_t limit;
	bool cut;
	struct str line; /* the unfinished line, for on_line */
};

struct proc {
	pid_t pid;
	bool reaped;
	int64_t started_ns, ended_ns;
	int status;
	struct rusage usage;
	struct stream out, err;
	int in_fd;
	char *in;
	size_t in_n, in_at;
	void (*on_line)(void *arg, struct sv line);
	void *arg;
	bool timed_out, cancelled;
	int64_t limit_ns;
	char tag[STRAY_TAG]; /* empty: what leaves the group may go on */
	unsigned strays;
	struct proc *next;
};

/* Every child group that still runs, so that an exit on a signal can end them. One thread only. */
static struct proc *running;

/*
 * The guard: one small process that is told the group of every child and ends those that are left
 * when we are gone, however we went (kill -9 too). PDEATHSIG alone reaches only the direct child.
 */
static int guard_fd = -1;

static NORETURN void guard_main(int from, const char *tag)
{
	enum { MOST = 256 };
	pid_t groups[MOST], msg;
	size_t n = 0;

	(void)setsid();
	for (int s = 1; s < 32; s++)
		(void)sigaction(s, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	for (int fd = 0; fd < 1024; fd++)
		if (fd != from)
			(void)close(fd);
	for (;;) {
		ssize_t k = read(from, &msg, sizeof(msg));

		if (k < 0 && errno == EINTR)
			continue;
		if (k != (ssize_t)sizeof(msg))
			break;
		if (msg > 0 && n < MOST) {
			groups[n++] = msg;
		} else {
			for (size_t i = 0; i < n; i++)
				if (groups[i] == -msg)
					groups[i--] = groups[--n];
		}
	}
	for (size_t i = 0; i < n; i++)
		(void)kill(-groups[i], SIGKILL);
	stray_end_all(tag);
	_exit(0);
}

static void guard_tell(pid_t msg)
{
	while (guard_fd >= 0 && write(guard_fd, &msg, sizeof(msg)) < 0 && errno == EINTR)
		;
}

static void guard_start(void)
{
	char tag[STRAY_TAG];
	int fd[2], status;
	pid_t pid;

	if (guard_fd >= 0 || pipe2(fd, O_CLOEXEC) < 0)
		return;
	stray_tag(tag);
	/* Forked twice, so that nobody has to wait for it. */
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			guard_main(fd[0], tag);
		_exit(0);
	}
	(void)close(fd[0]);
	if (pid < 0) {
		(void)close(fd[1]);
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	guard_fd = fd[1];
}

static void forget(struct proc *p)
{
	guard_tell(-p->pid);
	for (struct proc **at = &running; *at; at = &(*at)->next) {
		if (*at == p) {
			*at = p->next;
			return;
		}
	}
}

void proc_done_release(struct proc_done *done)
{
	str_release(&done->out);
	str_release(&done->err);
}

bool proc_ok(const struct proc_done *done)
{
	return done->exit_code == 0 && !done->timed_out && !done->cancelled;
}

char *proc_how(const struct proc_done *done)
{
	if (done->cancelled)
		return xstrdup("interrupted");
	if (done->timed_out) {
		AUTO_FREE char *t = duration_text(done->wall_ns);

		return xasprintf("over its time limit, ended after %s", t);
	}
	if (done->term_signal)
		return xasprintf("signal %d (%s)", done->term_signal, strsignal(done->term_signal));
	return xasprintf("exit %d", done->exit_code);
}

/* The child's environment: ours with the changes on top. */
static void make_env(const struct proc_spec *spec, const char *tag, struct strs *ret)
{
	extern char **environ;

	for (char **e = environ; !spec->env_clear && *e; e++) {
		const char *eq = strchr(*e, '=');
		size_t n = eq ? (size_t)(eq - *e) : strlen(*e);
		bool replaced = strncmp(STRAY_NAME, *e, n) == 0 && !STRAY_NAME[n];

		for (const char *const *k = spec->env; k && *k; k++)
			if (strncmp(*k, *e, n) == 0 && ((*k)[n] == '=' || (*k)[n] == '\0'))
				replaced = true;
		if (!replaced)
			strs_add(ret, *e);
	}
	for (const char *const *k = spec->env; k && *k; k++)
		if (strchr(*k, '='))
			strs_add(ret, *k);
	if (tag[0])
		strs_add(ret, tag);
}

static const char *env_value(const struct strs *env, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = env->n; i-- > 0;)
		if (strncmp(env->v[i], key, n) == 0 && env->v[i][n] == '=')
			return env->v[i] + n + 1;
	return NULL;
}

struct child_fds {
	int in, out, err, report;
};

/* Runs between fork and exec: only async-signal-safe calls. */
static NORETURN void child(const struct child_fds *fds, const char *program,
			   const char *const *argv, char *const *env, const char *cwd, pid_t parent)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int e;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	for (int s = 1; s < 32; s++)
		(void)sigaction(s, &dfl, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* What our own parent left open (a lock, say) must not live on in a server of ours
	 * either. */
	(void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	if (dup2(fds->in, 0) >= 0 && dup2(fds->out, 1) >= 0 && dup2(fds->err, 2) >= 0 &&
	    (!cwd || chdir(cwd) == 0))
		(void)execve(program, (char *const *)(uintptr_t)argv, env);
	e = errno;
	(void)!write(fds->report, &e, sizeof(e));
	_exit(127);
}

static int open_stream(const char *path, int *ret_ours, int *ret_theirs, struct err *err)
{
	int fd[2];

	if (path) {
		*ret_theirs = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		*ret_ours = -1;
		return *ret_theirs < 0 ? bail_sys(err, "cannot open '%s'", path) : 0;
	}
	if (pipe2(fd, O_CLOEXEC) < 0)
		return bail_sys(err, "cannot make a pipe");
	*ret_ours = fd[0];
	*ret_theirs = fd[1];
	(void)fcntl(fd[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int open_input(const char *in, int *ret_ours, int *ret_theirs, struct err *err)
{
	int fd[2];

	if (!in) {
		*ret_ours = -1;
		*ret_theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *ret_theirs < 0 ? bail_sys(err, "cannot open '/dev/null'") : 0;
	}
	if (pipe2(fd, O_CLOEXEC) < 0)
		return bail_sys(err, "cannot make a pipe");
	*ret_ours = fd[1];
	*ret_theirs = fd[0];
	(void)fcntl(fd[1], F_SETFL, O_NONBLOCK);
	return 0;
}

static int find_program(const struct proc_spec *spec, const struct strs *env, char **ret,
			struct err *err)
{
	const char *name = spec->argv[0];

	/* A relative path with a slash is relative to the child's folder, as a shell in it would
	 * say. */
	if (strchr(name, '/') && name[0] != '/' && spec->cwd) {
		AUTO_FREE char *p = path_join(spec->cwd, name);

		*ret = path_program(p, NULL);
	} else {
		*ret = path_program(name, env_value(env, "PATH"));
	}
	if (!*ret) {
		bail(err, ERR_NOT_FOUND, "no program '%s'", name);
		err_hint(err, "Install it, or give its path.");
		return -ERR_NOT_FOUND;
	}
	if ((*ret)[0] != '/') { /* chdir comes first in the child */
		char *real = path_real(*ret);

		if (real) {
			free(*ret);
			*ret = real;
		}
	}
	return 0;
}

int proc_start(const struct proc_spec *spec, struct proc **ret, struct err *err)
{
	CLEANUP(closep) int in_theirs = -1;
	CLEANUP(closep) int out_theirs = -1;
	CLEANUP(closep) int err_theirs = -1;
	CLEANUP(closep) int report_r = -1;
	CLEANUP(closep) int report_w = -1;
	struct strs env CLEANUP(strs_release) = { 0 };
	struct proc *p CLEANUP(proc_freep) = NULL;
	AUTO_FREE char *program = NULL;
	int report[2], sys = 0;
	pid_t me = getpid();
	static char *no_env[] = { NULL };

	assert(spec->argv && spec->argv[0]);
	p = xcalloc(1, sizeof(*p));
	if (!spec->leave)
		stray_tag(p->tag);
	make_env(spec, p->tag, &env);
	p->reaped = true;
	p->out.fd = p->err.fd = p->in_fd = -1;
	TRY(find_program(spec, &env, &program, err));
	p->out.limit = p->err.limit = spec->out_limit ? spec->out_limit : MIB;
	p->on_line = spec->on_line;
	p->arg = spec->arg;
	p->limit_ns = spec->limit_ns;
	if (spec->in) {
		p->in = xstrdup(spec->in);
		p->in_n = strlen(spec->in);
	}
	TRY(open_input(spec->in, &p->in_fd, &in_theirs, err));
	TRY(open_stream(spec->out_path, &p->out.fd, &out_theirs, err));
	TRY(open_stream(spec->err_path, &p->err.fd, &err_theirs, err));
	if (pipe2(report, O_CLOEXEC) < 0)
		return bail_sys(err, "cannot make a pipe");
	report_r = report[0];
	report_w = report[1];

	guard_start();
	p->started_ns = clock_ns();
	p->pid = fork();
	if (p->pid < 0)
		return bail_sys(err, "cannot start '%s'", spec->argv[0]);
	if (p->pid == 0) {
		struct child_fds fds = { in_theirs, out_theirs, err_theirs, report_w };

		child(&fds, program, spec->argv, env.n ? env.v : no_env, spec->cwd, me);
	}
	(void)setpgid(p->pid, p->pid); /* both sides do it: whoever is first */
	guard_tell(p->pid);
	p->reaped = false;
	p->next = running;
	running = p;
	closep(&report_w);
	while (read(report_r, &sys, sizeof(sys)) < 0 && errno == EINTR)
		;
	if (sys)
		return err_set(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_IO, sys, __FILE__, __LINE__,
			       "cannot run '%s'%s%s", spec->argv[0], spec->cwd ? " in " : "",
			       spec->cwd ? spec->cwd : "");
	*ret = STEAL(p);
	return 0;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

static void lines(struct proc *p, struct stream *s, const char *buf, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (buf[i] == '\n') {
			struct sv v = sv_str(&s->line);

			if (v.n && v.p[v.n - 1] == '\r')
				v.n--;
			p->on_line(p->arg, v);
			str_clear(&s->line);
		} else {
			if (!s->line.limit)
				str_init(&s->line, 64 * KIB);
			str_addc(&s->line, buf[i]);
		}
	}
}

/*
 * Reads what is there, and no more than a pipe holds (pipe(7): 1 MiB at most): who never stops
 * writing must not keep us from looking at the clock. False once the stream has ended.
 */
static bool drain(struct proc *p, struct stream *s)
{
	char buf[16 * KIB];

	for (size_t got = 0; s->fd >= 0 && got < MIB;) {
		ssize_t n = read(s->fd, buf, sizeof(buf));
		size_t room = s->limit - MIN(s->kept.n, s->limit), keep;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0) {
			closep(&s->fd);
			if (p->on_line && s == &p->out && s->line.n) {
				p->on_line(p->arg, sv_str(&s->line));
				str_clear(&s->line);
			}
			return false;
		}
		got += (size_t)n;
		keep = MIN((size_t)n, room);
		str_addn(&s->kept, buf, keep);
		if (keep < (size_t)n)
			s->cut = true;
		if (p->on_line && s == &p->out)
			lines(p, s, buf, (size_t)n);
	}
	return s->fd >= 0;
}

static void feed(struct proc *p)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;

	if (p->in_fd < 0)
		return;
	(void)sigaction(SIGPIPE, &ignore, &old);
	while (p->in_at < p->in_n) {
		ssize_t n = write(p->in_fd, p->in + p->in_at, p->in_n - p->in_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			p->in_at = p->in_n; /* the child doesn't want it */
		else
			p->in_at += (size_t)n;
	}
	if (p->in_at == p->in_n)
		closep(&p->in_fd);
	(void)sigaction(SIGPIPE, &old, NULL);
}

/* A group ends with its leader: what the leader left behind is killed while its pid is still ours.
 */
static bool reap(struct proc *p, bool wait)
{
	siginfo_t info = { 0 };
	int rc;

	if (p->reaped)
		return true;
	do
		rc = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT | (wait ? 0 : WNOHANG));
	while (rc < 0 && errno == EINTR);
	if (rc == 0 && info.si_pid == 0)
		return false;
	(void)kill(-p->pid, SIGKILL);
	while (wait4(p->pid, &p->status, 0, &p->usage) < 0 && errno == EINTR)
		;
	p->reaped = true;
	p->ended_ns = clock_ns();
	forget(p);
	if (p->tag[0])
		p->strays = stray_end(p->tag, p->pid);
	return true;
}

bool proc_poll(struct proc *p, int64_t wait_ns)
{
	struct pollfd fds[3];
	nfds_t n = 0;

	feed(p);
	(void)drain(p, &p->out);
	(void)drain(p, &p->err);
	if (reap(p, /* wait= */ false)) {
		(void)drain(p, &p->out);
		(void)drain(p, &p->err);
		return false;
	}
	if (p->out.fd >= 0)
		fds[n++] = (struct pollfd){ .fd = p->out.fd, .events = POLLIN };
	if (p->err.fd >= 0)
		fds[n++] = (struct pollfd){ .fd = p->err.fd, .events = POLLIN };
	if (p->in_fd >= 0)
		fds[n++] = (struct pollfd){ .fd = p->in_fd, .events = POLLOUT };
	/* Without a stream to wait for only the clock is left: look often enough for a short child.
	 */
	if (!n)
		wait_ns = MIN(wait_ns, 5 * NS_PER_MS);
	if (wait_ns > 0) {
		struct timespec t = { .tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S };

		(void)ppoll(fds, n, &t, NULL);
		feed(p);
		(void)drain(p, &p->out);
		(void)drain(p, &p->err);
	}
	return !reap(p, /* wait= */ false);
}

void proc_signal(struct proc *p, int sig)
{
	if (!p->reaped)
		(void)kill(-p->pid, sig);
}

static int64_t tv_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * NS_PER_US;
}

static void fill(struct proc *p, struct proc_done *ret)
{
	ret->exit_code = WIFEXITED(p->status) ? WEXITSTATUS(p->status) : -1;
	ret->term_signal = WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0;
	ret->timed_out = p->timed_out;
	ret->cancelled = p->cancelled;
	ret->out_cut = p->out.cut;
	ret->err_cut = p->err.cut;
	ret->strays = p->strays;
	ret->wall_ns = p->ended_ns - p->started_ns;
	ret->user_ns = tv_ns(p->usage.ru_utime);
	ret->sys_ns = tv_ns(p->usage.ru_stime);
	ret->max_rss_bytes = (int64_t)p->usage.ru_maxrss * 1024; /* KiB on Linux: getrusage(2) */
	str_release(&ret->out);
	str_release(&ret->err);
	ret->out = p->out.kept;
	ret->err = p->err.kept;
	p->out.kept = p->err.kept = (struct str){ 0 };
}

void proc_stop(struct proc *p, int sig, int64_t grace_ns, struct proc_done *ret)
{
	int64_t until = clock_ns() + (grace_ns ? grace_ns : 2 * NS_PER_S);
	bool was_running = !reap(p, /* wait= */ false);

	if (was_running)
		proc_signal(p, sig ? sig : SIGTERM);
	while (was_running && proc_poll(p, 20 * NS_PER_MS) && clock_ns() < until)
		;
	if (!p->reaped)
		(void)kill(-p->pid, SIGKILL);
	(void)reap(p, /* wait= */ true);
	(void)drain(p, &p->out);
	(void)drain(p, &p->err);
	if (ret)
		fill(p, ret);
}

void proc_free(struct proc *p)
{
	if (!p)
		return;
	if (!p->reaped)
		proc_stop(p, SIGKILL, 1, NULL);
	closep(&p->out.fd);
	closep(&p->err.fd);
	closep(&p->in_fd);
	str_release(&p->out.kept);
	str_release(&p->err.kept);
	str_release(&p->out.line);
	free(p->in);
	free(p);
}

int proc_run(const struct proc_spec *spec, struct proc_done *ret, struct err *err)
{
	struct proc *p CLEANUP(proc_freep) = NULL;
	int64_t limit = spec->limit_ns ? spec->limit_ns : 600 * NS_PER_S, end;

	TRY(proc_start(spec, &p, err));
	assert(p);
	end = p->started_ns + limit;
	while (proc_poll(p, MIN(end - clock_ns(), 100 * NS_PER_MS))) {
		p->cancelled = spec->cancel && *spec->cancel;
		p->timed_out = !p->cancelled && clock_ns() >= end;
		if (p->cancelled || p->timed_out)
			break;
	}
	proc_stop(p, 0, spec->grace_ns, ret);
	if (p->cancelled)
		return bail(err, ERR_INTERRUPTED, "'%s' was interrupted", spec->argv[0]);
	return 0;
}

void proc_end_all(void)
{
	for (struct proc *p = running; p; p = p->next)
		if (!p->reaped)
			(void)kill(-p->pid, SIGKILL);
}
