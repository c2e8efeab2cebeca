/* SPDX-License-Identifier: Apache-2.0 */
/* Going back: the contract's switches, from what is in place to what was accepted. */
#include "run/internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/proc.h"
#include "base/redact.h"
#include "base/vec.h"

void switch_plan_release(struct switch_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].to);
		free(p->v[i].from);
	}
	free(p->v);
	strs_release(&p->missing);
	strs_release(&p->along);
	*p = (struct switch_plan){ 0 };
}

static int run_it(const struct contract *c, const char *dir, const struct argv *a,
		  const char *version, const volatile int *cancel, struct proc_done *done,
		  struct err *err)
{
	struct pairs values CLEANUP(pairs_release) = { 0 };
	struct strs argv CLEANUP(strs_release) = { 0 };
	/* A switch may start a service that stays. */
	struct proc_spec ps = {
		.cwd = dir, .limit_ns = 600 * NS_PER_S, .cancel = cancel, .leave = true
	};

	TRY(contract_values(c, dir, &values, err));
	if (version)
		pairs_add(&values, "version", version);
	TRY(contract_expand_argv(a, &values, &argv, err));
	ps.argv = (const char *const *)argv.v;
	TRY(proc_run(&ps, done, err));
	if (!proc_ok(done)) {
		AUTO_FREE char *how = proc_how(done);
		AUTO_FREE char *clear =
			redact_text(sv_trim(sv_str(done->err.n ? &done->err : &done->out)), NULL);
		AUTO_FREE char *said = text_clean(sv_of(clear));

		return bail(err, ERR_BROKEN, "'%s' ended with %s: %.300s", argv.v[0], how, said);
	}
	return 0;
}

int run_switch_get(const struct contract *c, const char *dir, const struct stack_switch *s,
		   char **ret, struct err *err)
{
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct sv rest, line;

	if (!s->get.words.n)
		return bail(err, ERR_UNSUPPORTED, "no 'get' command");
	TRY(run_it(c, dir, &s->get, NULL, NULL, &done, err));
	rest = sv_str(&done.out);
	if (!sv_line(&rest, &line) || !sv_trim(line).n)
		return bail(err, ERR_BROKEN, "its 'get' command printed nothing");
	*ret = sv_dup(sv_trim(line));
	return 0;
}

static const char *word_then(const json_t *switches, const char *name)
{
	for (size_t i = 0; i < json_array_size(switches); i++) {
		const json_t *o = json_array_get(switches, i);

		if (streq(json_str_or(o, "name", ""), name))
			return json_str_or(o, "value", NULL);
	}
	return NULL;
}

bool run_switch_names(const char *name, const struct change *c)
{
	const char *of = change_name(c);

	return streq(name, of) || (str_starts(of, "env.") && streq(name, of + strlen("env.")));
}

static bool switched(const struct switch_plan *p, const struct change *c)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].needed && run_switch_names(p->v[i].component, c))
			return true;
	return false;
}

/*
 * Accepted as one: what goes back to the same version of the same layer came from the same package
 * then, wherever it comes from now (LAPACK of OpenBLAS, beside BLIS that of the reference).
 */
static bool accepted_as_one(const struct change *a, const struct change *b)
{
	return change_layer(a) == change_layer(b) && a->before && b->before && a->before->version &&
	       streq(a->before->version, b->before->version);
}

static bool moves_along(const struct switch_plan *p, const struct changes *l,
			const struct change *c)
{
	for (size_t i = 0; i < l->n; i++)
		if (switched(p, &l->v[i]) && accepted_as_one(&l->v[i], c))
			return true;
	return false;
}

int run_switch_plan(struct ledger *l, const struct contract *c, const char *dir,
		    const struct acceptance *a, const struct staleness *s, struct switch_plan *ret,
		    struct err *err)
{
	struct intent in CLEANUP(intent_release) = { 0 };
	struct switch_plan p CLEANUP(switch_plan_release) = { 0 };

	TRY(intent_read(l, a->intent, &in, err));
	for (size_t i = 0; i < c->stack.switches.n; i++) {
		const struct stack_switch *sw = &c->stack.switches.v[i];
		const char *to = word_then(in.switches, sw->name);
		struct switch_step *step;

		if (!to)
			continue;
		step = VEC_ADD(&p);
		step->component = sw->name;
		step->to = xstrdup(to);
		if (run_switch_get(c, dir, sw, &step->from, err) < 0)
			err_clear(err);
		step->needed = !streq(step->from, step->to);
	}
	for (size_t i = 0; i < s->changes.n; i++) {
		const struct change *x = &s->changes.v[i];
		AUTO_FREE char *text = change_text(x);

		if (x->material && !switched(&p, x))
			strs_add(moves_along(&p, &s->changes, x) ? &p.along : &p.missing, text);
	}
	*ret = p;
	p = (struct switch_plan){ 0 };
	return 0;
}

int run_switch(const struct contract *c, const char *dir, const struct switch_step *s,
	       const volatile int *cancel, struct err *err)
{
	for (size_t i = 0; i < c->stack.switches.n; i++) {
		const struct stack_switch *sw = &c->stack.switches.v[i];
		struct proc_done done CLEANUP(proc_done_release) = { 0 };
		AUTO_FREE char *now = NULL;

		if (!streq(sw->name, s->component))
			continue;
		if (run_it(c, dir, &sw->set, s->to, cancel, &done, err) < 0)
			return err_wrap(err, "switching '%s' to '%s'", s->component, s->to);
		if (!sw->get.words.n)
			return 0;
		TRY(run_switch_get(c, dir, sw, &now, err));
		if (!streq(now, s->to))
			return bail(err, ERR_BROKEN, "'%s' says '%s' after it was set to '%s'",
				    s->component, now, s->to);
		return 0;
	}
	return bail(err, ERR_NOT_FOUND, "no switch for '%s'", s->component);
}
