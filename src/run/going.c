/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a run: its name, its stack, its series, its announcement. */
#include "run/arms.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <unistd.h>

void going_release(struct going *g)
{
	struct err err = ERR_INIT;

	if (g->work && !g->env->keep_work && dir_remove(g->work, &err) < 0)
		err_clear(&err);
	free(g->work);
	closep(&g->lock_fd);
	pairs_release(&g->environment);
	stack_release(&g->stack);
	stack_release(&g->before);
	acceptances_release(&g->acceptances);
	strs_release(&g->intents);
	strs_release(&g->check_leaves);
	strs_release(&g->mismatches);
	judge_release(&g->judge);
	arms_release(g);
}

void going_note(const struct going *g, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	if (g->env->note)
		g->env->note(g->env->arg, str_text(&s));
}

json_t *refs_text(const struct strs *l)
{
	json_t *a = l->n ? json_array() : NULL;

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

int going_identify(struct going *g, struct err *err)
{
	AUTO_FREE char *at = time_utc(clock_wall_ms());
	AUTO_FREE char *boot = file_first_line("/proc/sys/kernel/random/boot_id");
	AUTO_FREE char *session = NULL;
	char host[256] = "";
	uint8_t b[4];

	TRY(random_bytes(b, sizeof(b), err));
	/* "20261201T100400-1a2b3c4d": sorts by time, unique in practice. */
	(void)snprintf(g->run, sizeof(g->run), "%.4s%.2s%.2sT%.2s%.2s%.2s-%02x%02x%02x%02x", at,
		       at + 5, at + 8, at + 11, at + 14, at + 17, b[0], b[1], b[2], b[3]);
	(void)gethostname(host, sizeof(host) - 1);
	session = xasprintf("%s %s", boot ? boot : "unknown", host);
	sha256_hex(session, strlen(session), g->session);
	return 0;
}

int going_capture(struct going *g, struct err *err)
{
	const struct run_env *env = g->env;
	struct run_capture rc = { .contract = env->contract,
				  .dir = env->dir,
				  .tool_version = env->tool_version,
				  .tool_digest = env->tool_digest,
				  .cancel = env->cancel };

	pairs_release(&g->environment);
	stack_release(&g->stack);
	strs_release(&g->mismatches);
	g->looked = false;
	TRY(run_environment(env->contract, env->dir, &g->environment, err));
	if (run_stack(&rc, &g->stack, err) < 0)
		return err_wrap(err, "cannot capture the stack");
	stack_digest(&g->stack, g->stack_digest);
	return 0;
}

/* The words that the contract's switches use for what is in place now: for a way back later. */
static json_t *switches_now(struct going *g)
{
	const struct contract *c = g->env->contract;
	json_t *a = json_array();

	for (size_t i = 0; i < c->stack.switches.n; i++) {
		struct err err = ERR_INIT;
		AUTO_FREE char *word = NULL;
		json_t *o;

		if (run_switch_get(c, g->env->dir, &c->stack.switches.v[i], &word, &err) < 0) {
			going_note(g, "switch '%s': %s", c->stack.switches.v[i].name, err.msg);
			continue;
		}
		o = json_object();
		json_put_str(o, "name", c->stack.switches.v[i].name);
		json_put_str(o, "value", word);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static json_t *margins_json(const struct contract *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->compare.n; i++) {
		json_t *o = json_object();

		json_put_str(o, "metric", c->compare.v[i].metric);
		json_put_int(o, "margin_ppm", (int64_t)llround(c->compare.v[i].margin * 1e6));
		json_put_bool(o, "gate", c->compare.v[i].gate);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static int announce(struct going *g, struct err *err)
{
	const struct contract *c = g->env->contract;
	AUTO_JSON json_t *body = json_object();
	json_t *bank = json_array(), *looks = json_array();

	json_put(body, "bank", bank);
	json_put(body, "looks", looks);
	TRY(run_put_contract(g->env, g->contract_leaf, err));
	TRY(run_put_stack(g->env, &g->stack, g->capture, err));
	json_put_str(body, "scope", "run");
	json_put_str(body, "run", g->run);
	json_put_str(body, "workload", c->workload.name);
	json_put(body, "contract", run_ref(c->digest));
	json_put(body, "contract_entry", run_ref(g->contract_leaf));
	json_put(body, "stack", run_ref(g->capture));
	json_put_str(body, "stack_digest", g->stack_digest);
	json_put_str(body, "session", g->session);
	json_put_int(body, "as_of", (int64_t)g->as_of);
	if (g->accepted)
		json_put(body, "accepted", run_ref(g->accepted->signoff));
	for (size_t i = 0; i < g->judge.bank.n; i++)
		(void)json_array_append_new(bank, run_ref(g->judge.bank.v[i].leaf));
	for (size_t i = 0; i < c->repeat.looks.n; i++)
		(void)json_array_append_new(looks, json_integer(c->repeat.looks.v[i]));
	json_put(body, "margins", margins_json(c));
	json_put(body, "switches", switches_now(g));
	json_put(body, "waivers", waivers_refs(&g->judge.waivers));
	json_put_str(body, "run_by", g->env->run_by);
	json_put_str(body, "new_series", g->env->new_series);
	json_put_str(body, "first", g->env->first);
	if (g->arms.on)
		arms_announce(g, body);
	json_put_str(body, "tool_version", g->env->tool_version);
	json_put_int(body, "pid", getpid());
	return run_append(g->env, "run.intent", body, &g->intent, err);
}

static int find_waivers(struct going *g, struct err *err)
{
	struct waivers *l = &g->judge.waivers;

	TRY(waivers_read(g->env->ledger, g->env->contract->workload.name, g->as_of, l, err));
	waivers_keep(l, NULL, clock_wall_ms());
	for (size_t i = 0; i < l->n; i++) {
		AUTO_FREE char *text = waiver_text(&l->v[i]);

		going_note(g, "%s%s%s %s", l->v[i].subject, l->v[i].limit ? " " : "",
			   l->v[i].limit ? l->v[i].limit : "", text);
	}
	return 0;
}

/* Lost evidence of long ago stops nobody: the repetitions are in entries; only what changed can't
 * be named. */
static int find_before(struct going *g, struct err *err)
{
	if (run_stack_of(g->env->ledger, g->accepted->intent, &g->before, err) == 0)
		return 0;
	if (err->code != ERR_MISSING)
		return -(int)err->code;
	going_note(g, "%s; what changed since it was accepted can't be named", err->msg);
	g->before_lost = true;
	err_clear(err);
	return 0;
}

static int find_series(struct going *g, struct err *err)
{
	const struct contract *c = g->env->contract;
	uint64_t from = 0, next;

	TRY(acceptances_read(g->env->ledger, c->workload.name, &g->acceptances, err));
	g->accepted = acceptance_current(&g->acceptances, clock_wall_ms());
	if (g->env->first) {
		g->accepted = NULL;
		strs_addf(&g->judge.notes, FIRST_NOTE, g->env->first);
	}
	g->judge.contract = c;
	memcpy(g->judge.stack_digest, g->stack_digest, 65);
	TRY(ledger_size(g->env->ledger, &g->as_of, NULL, err));
	TRY(find_waivers(g, err));
	if (g->accepted)
		TRY(find_before(g, err));
	if (g->accepted)
		TRY(judge_bank(g->env->ledger, c, g->accepted, g->as_of, &g->judge, &next, err));
	/* On the accepted stack the repetitions up to the latest good run are the bank; what
	 * came after it and was not decided, or not in its favour, goes on here as on any other
	 * stack. */
	if (g->accepted && streq(g->accepted->stack_digest, g->stack_digest) &&
	    streq(g->accepted->contract_digest, c->digest))
		from = next;
	if (!g->env->new_series)
		TRY(series_intents(g->env->ledger, c->workload.name, c->digest, g->stack_digest,
				   NULL, from, g->as_of, &g->intents, err));
	TRY(series_reps(g->env->ledger, &g->intents, &g->judge.cand, NULL, err));
	g->reps_before = g->judge.cand.n;
	if (g->reps_before && !g->arms.on)
		going_note(g, "this stack has %zu repetition%s already: the series goes on",
			   g->reps_before, g->reps_before == 1 ? "" : "s");
	return 0;
}

int going_lock(struct going *g, struct err *err)
{
	AUTO_FREE char *path = path_join(ledger_dir(g->env->ledger), "run.lock");
	bool told = false;

	g->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (g->lock_fd < 0)
		return bail_sys(err, "cannot open '%s'", path);
	while (flock(g->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return bail_sys(err, "cannot lock '%s'", path);
		if (g->env->cancel && *g->env->cancel)
			return bail(err, ERR_INTERRUPTED,
				    "interrupted while another run was going on");
		if (!told)
			going_note(
				g,
				"another run of this ledger is going on here: waiting for its end");
		told = true;
		sleep_ns(50 * NS_PER_MS);
	}
	return 0;
}

bool going_elsewhere(const struct run_env *env)
{
	AUTO_FREE char *path = path_join(ledger_dir(env->ledger), "run.lock");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool held;

	if (fd < 0)
		return false; /* nobody ran yet */
	held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	(void)close(fd);
	return held;
}

int going_begin(struct going *g, struct err *err)
{
	TRY(going_identify(g, err));
	TRY(dir_temp("run", &g->work, err));
	g->arms.on = g->env->interleave;
	TRY(arms_left(g, err));
	TRY(going_capture(g, err));
	TRY(find_series(g, err));
	if (g->arms.on)
		TRY(arms_find(g, err));
	TRY(announce(g, err));
	strs_add(&g->intents, g->intent.hex);
	return 0;
}

int going_folder(struct going *g, const char *name, char **ret, struct err *err)
{
	*ret = path_join(g->work, name);
	for (char *p = *ret + strlen(g->work) + 1; *p; p++)
		if (*p == '/' || *p == ' ')
			*p = '-';
	return dir_make(*ret, err);
}
