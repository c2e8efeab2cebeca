/* SPDX-License-Identifier: Apache-2.0 */
/* Which configurations of a search are not planned, and why. */
#include "run/bisecting.h"
#include "test.h"

/* Components as "name old>new"; the first `switched` of them have a switch of their name. */
struct row {
	const char *components;
	unsigned switched;
	const char *pins;  /* "name pattern; name pattern" */
	const char *want;  /* refusals: "name=new,name=old: source; ..." */
	unsigned possible; /* of 2^switched configurations */
};

static const struct row rows[] = {
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "", "", 4 },
	/* two that are said not to go together, in the ways that have not run yet */
	{ "torch 2.7.1+rocm6.2>2.8.0+rocm6.4, rocm 6.2.4>6.4.1", 2, "",
	  "torch=new,rocm=old: what a build's version says it was built for", 3 },
	{ "torch 2.7.1>2.8.0, torchvision 0.22.1>0.23.0", 2, "",
	  "torch=new,torchvision=old: PyTorch, which torchvision and torchaudio belong to a torch; "
	  "torch=old,torchvision=new: PyTorch, which torchvision and torchaudio belong to a torch",
	  2 },
	{ "amdgpu 6.7.0>6.12.12, flag 0>1, rocm 6.1.2>6.4.1", 3, "",
	  "amdgpu=new,rocm=old: AMD, user and kernel space support matrix of ROCm; "
	  "amdgpu=old,rocm=new: AMD, user and kernel space support matrix of ROCm",
	  4 },
	{ "cuda 12.4.1>13.0.0, nvidia 550.54>580.65", 2, "",
	  "cuda=new,nvidia=old: NVIDIA, CUDA compatibility", 3 },
	/* both ran together, whatever the table says of them */
	{ "torch 2.7.1>2.8.0, torchvision 0.21.0>0.21.1", 2, "",
	  "torch=new,torchvision=old: PyTorch, which torchvision and torchaudio belong to a torch; "
	  "torch=old,torchvision=new: PyTorch, which torchvision and torchaudio belong to a torch",
	  2 },
	/* what has no switch stays new: with it nothing is refused that has not run */
	{ "rocm 6.1.2>6.4.1, amdgpu 6.7.0>6.7.0", 1, "", "", 2 },
	/* unknown is not infeasible */
	{ "torch 2.7.1+rocm6.2>2.8.0+rocm6.4, rocm ?>?", 1, "", "", 2 },
	{ "torch ?>2.8.0+rocm6.4, rocm 6.4.0>6.4.1", 2, "", "", 4 },
	{ "torch 9.7.1>9.8.0, torchvision 0.22.1>0.23.0", 2, "", "", 4 },
	/* pins: a person's word, for everything but what was measured already */
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "blas 0.3.21", "blas=new: pin", 3 },
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "blas 0.3.26", "blas=old: pin", 3 },
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "kernellib/blas 0.3.21", "blas=new: pin", 3 },
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "blas 9.9", "blas=old: pin; blas=new: pin", 2 },
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "blas 0.3.*; threads >=1", "", 4 },
	{ "blas 0.3.21>?, threads 1>8", 2, "blas 0.3.21", "blas=new: pin", 3 }, /* by its word */
	{ "blas 0.3.21>0.3.26, threads 1>8, fixed 1>1", 2, "fixed 2", "", 4 },
	{ "blas 0.3.21>0.3.26, threads 1>8", 2, "absent 2", "", 4 },
};

static void add(struct stack *s, const char *name, struct sv version)
{
	AUTO_FREE char *v = sv_dup(version);

	(void)stack_add(s, CL_KERNELLIB, name, streq(v, "?") ? NULL : v, "x");
}

struct scene {
	struct stack was, is;
	struct strs names;
	struct question q;
	struct pairs pins;
};

static void scene_release(struct scene *s)
{
	stack_release(&s->was);
	stack_release(&s->is);
	question_release(&s->q);
	strs_release(&s->names);
	pairs_release(&s->pins);
}

static void fill(const struct row *r, struct scene *s)
{
	struct sv rest = sv_of(r->components), part;

	while (sv_split(&rest, ',', &part)) {
		struct sv is = sv_trim(part), name, was;
		struct bisect_part *p;

		(void)sv_split(&is, ' ', &name);
		(void)sv_split(&is, '>', &was);
		strs_take(&s->names, sv_dup(name));
		add(&s->was, s->names.v[s->names.n - 1], was);
		add(&s->is, s->names.v[s->names.n - 1], is);
		if (s->q.parts.n == r->switched)
			continue;
		s->q.parts.v = xrealloc(s->q.parts.v, (s->q.parts.n + 1) * sizeof(*p));
		p = &s->q.parts.v[s->q.parts.n++];
		*p = (struct bisect_part){ .was = sv_dup(was), .is = sv_dup(is), .weight = 1 };
	}
	for (size_t i = 0; i < s->q.parts.n; i++)
		s->q.parts.v[i].name = s->names.v[i];
	rest = sv_of(r->pins);
	while (sv_split(&rest, ';', &part)) {
		struct sv want = sv_trim(part), name;
		AUTO_FREE char *n = NULL;
		AUTO_FREE char *w = NULL;

		if (!want.n)
			continue;
		(void)sv_split(&want, ' ', &name);
		n = sv_dup(name);
		w = sv_dup(want);
		pairs_add(&s->pins, n, w);
	}
}

static char *told(const struct question *q)
{
	struct str s = { 0 };

	for (size_t i = 0; i < q->never.n; i++) {
		const struct never *n = &q->never.v[i];
		bool first = true;

		str_add(&s, i ? "; " : "");
		for (size_t k = 0; k < q->parts.n; k++) {
			if (!(n->mask >> k & 1))
				continue;
			str_addf(&s, "%s%s=%s", first ? "" : ",", q->parts.v[k].name,
				 n->value >> k & 1 ? "new" : "old");
			first = false;
		}
		str_addf(&s, ": %s", n->source);
		CHECK(n->why && n->why[0]);
	}
	return s.n ? str_steal(&s) : xstrdup("");
}

static void every_row(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s CLEANUP(scene_release) = { 0 };
		struct changes changes CLEANUP(changes_release) = { 0 };
		struct waivers none = { 0 };
		AUTO_FREE char *text = NULL;
		AUTO_JSON json_t *j = json_object();
		unsigned possible = 0;

		fill(&rows[i], &s);
		stack_diff(&s.was, &s.is, &changes);
		question_refuse(&s.q, &s.was, &s.is, &changes, &s.pins, &none);
		text = told(&s.q);
		CHECK_STR(text, rows[i].want);
		for (uint32_t c = 0; c < UINT32_C(1) << s.q.parts.n; c++)
			possible += !question_refusal(&s.q, c);
		CHECK_INT(possible, rows[i].possible);
		CHECK(!question_refusal(&s.q, 0));
		CHECK(!question_refusal(&s.q, (UINT32_C(1) << s.q.parts.n) - 1));
		put_refused(&s.q, j);
		CHECK_INT(json_array_size(json_object_get(j, "refused")), s.q.never.n);
		CHECK_INT(json_int_or(j, "configurations_left", -1),
			  s.q.never.n ? (int64_t)possible : -1);
	}
}

static void what_a_waiver_lifts(void)
{
	struct scene s CLEANUP(scene_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct waiver w = { .subject = xstrdup("pin/blas"),
			    .until_ms = INT64_MAX,
			    .standing = LEDGER_IN_FORCE };
	struct waivers l = { &w, 1, 1 };

	fill(&(struct row){ "blas 0.3.21>0.3.26, threads 1>8", 2, "blas 0.3.21", "", 4 }, &s);
	stack_diff(&s.was, &s.is, &changes);
	question_refuse(&s.q, &s.was, &s.is, &changes, &s.pins, &l);
	CHECK_INT(s.q.never.n, 0);
	free(w.subject);
}

/* What was named on the command line holds for the two measured ones too. */
static void never_is_never(void)
{
	struct scene s CLEANUP(scene_release) = { 0 };
	struct never n = {
		.mask = 3, .value = 3, .why = xstrdup("x"), .source = xstrdup("--never")
	};

	fill(&(struct row){ "blas 0.3.21>0.3.26, threads 1>8", 2, "", "", 4 }, &s);
	s.q.never.v = xmalloc(sizeof(n));
	s.q.never.v[0] = n;
	s.q.never.n = 1;
	CHECK(question_refusal(&s.q, 3) != NULL);
	CHECK(!question_refusal(&s.q, 0) && !question_refusal(&s.q, 1));
}

TEST_MAIN(TEST(every_row), TEST(what_a_waiver_lifts), TEST(never_is_never))
