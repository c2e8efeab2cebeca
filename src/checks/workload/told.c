/* SPDX-License-Identifier: Apache-2.0 */
/* Beside its numbers a workload may tell which items it got right, what it wrote, and which
 * settings are in effect. Kept in one form, whatever it was told in. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "load/load.h"
#include "readers/readers.h"
#include <math.h>

/* Not told, or not in a form that can be read: nothing is known, and that blocks an acceptance. */
static int unread(struct rep *r, const char *list, const char *name, struct err *err)
{
	struct outcome *o;

	if (no_answer(err))
		return -(int)err->code;
	o = VEC_ADD(&r->outcomes);
	o->check = xasprintf("workload/%s.%s", list, name);
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	return ends_err(o, RESULT_ERROR, err);
}

static int file_text(const char *path, char **owned, struct sv *ret, struct err *err)
{
	size_t n;

	TRY(file_read(path, EXTRACT_MAX_BYTES, owned, &n, err));
	*ret = (struct sv){ *owned, n };
	return 0;
}

static int source_text(const struct told *t, enum told_from from, const char *path, char **owned,
		       struct sv *ret, struct err *err)
{
	AUTO_FREE char *name = NULL, *full = NULL;

	switch (from) {
	case TOLD_STDOUT:
		if (t->out_cut)
			return bail(err, ERR_LIMIT, "its output was cut at the limit");
		*ret = t->out;
		return 0;
	case TOLD_ANSWERS:
		*owned = t->load ? load_golden_text(t->load) : xstrdup("");
		*ret = sv_of(*owned);
		return 0;
	case TOLD_STDERR:
	case TOLD_LOG:
		return file_text(t->log, owned, ret, err);
	case TOLD_METRICS:
		return file_text(t->metrics, owned, ret, err);
	case TOLD_FILE:
	default:
		TRY(contract_expand(path, t->values, &name, err));
		full = path_join(t->cwd, name);
		return file_text(full, owned, ret, err);
	}
}

static int keep_lines(const struct check_ctx *ctx, struct rep *r, const char *label,
		      const struct str *lines, struct err *err)
{
	AUTO_FREE char *path = ctx_path(ctx, label);

	TRY(file_write(path, str_text(lines), lines->n, 0600, err));
	evidences_add(&r->evidence, label, "application/x-ndjson", path);
	return 0;
}

static int items(const struct check_ctx *ctx, const struct told *t, const struct items_spec *s,
		 struct rep *r, struct err *err)
{
	const struct item_keys k = {
		.id = s->id, .correct = s->correct, .cluster = s->cluster, .where = &s->where
	};
	struct item_results l CLEANUP(item_results_release) = { 0 };
	struct str lines CLEANUP(str_release) = { 0 };
	AUTO_FREE char *score = xasprintf("%s.score", s->name);
	AUTO_FREE char *label = xasprintf("items.%s.jsonl", s->name);
	AUTO_FREE char *owned = NULL;
	struct sv text;
	size_t right = 0;

	TRY(source_text(t, s->source, s->path, &owned, &text, err));
	if (items_read(text, &k, &l, err) < 0)
		return err_wrap(err, "'%s'", s->from);
	for (size_t i = 0; i < l.n; i++)
		right += l.v[i].right;
	measurements_add(&r->measured, score, UNIT_RATIO, HIGHER_IS_BETTER,
			 (double)right / (double)l.n);
	items_write(&l, &lines);
	return keep_lines(ctx, r, label, &lines, err);
}

static int texts(const struct check_ctx *ctx, const struct told *t, const struct texts_spec *s,
		 struct rep *r, struct err *err)
{
	const bool answers = s->source == TOLD_ANSWERS;
	const struct item_keys k = { .id = answers ? "id" : s->id,
				     .text = answers ? "answer" : s->text,
				     .tokens = s->tokens,
				     .where = &s->where };
	struct item_texts l CLEANUP(item_texts_release) = { 0 };
	struct str lines CLEANUP(str_release) = { 0 };
	AUTO_FREE char *label = xasprintf("texts.%s.jsonl", s->name);
	AUTO_FREE char *owned = NULL;
	struct sv text;

	TRY(source_text(t, s->source, s->path, &owned, &text, err));
	if (texts_read(text, &k, &l, err) < 0)
		return err_wrap(err, "'%s'", s->from);
	texts_write(&l, &lines);
	return keep_lines(ctx, r, label, &lines, err);
}

static int setting(const struct told *t, const struct setting_spec *s, struct rep *r,
		   struct err *err)
{
	AUTO_FREE char *owned = NULL;
	AUTO_FREE char *value = NULL;
	struct sv text;

	TRY(source_text(t, s->source, s->path, &owned, &text, err));
	if (extract_word(s->pattern, text, &value, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -(int)err->code;
	pairs_add(&r->settings, s->name, value);
	return 0;
}

int told_collect(const struct check_ctx *ctx, const struct told *t, struct rep *r, struct err *err)
{
	const struct workload_check *k = &ctx->contract->workload_check;

	for (size_t i = 0; i < k->items.n; i++)
		if (items(ctx, t, &k->items.v[i], r, err) < 0)
			TRY(unread(r, "items", k->items.v[i].name, err));
	for (size_t i = 0; i < k->texts.n; i++)
		if (texts(ctx, t, &k->texts.v[i], r, err) < 0)
			TRY(unread(r, "texts", k->texts.v[i].name, err));
	for (size_t i = 0; i < k->settings.n; i++) {
		struct err lost = ERR_INIT;

		/* What is not found is unknown: the contract says whether that matters. */
		if (setting(t, &k->settings.v[i], r, &lost) < 0 && no_answer(&lost)) {
			*err = lost;
			return -(int)err->code;
		}
	}
	return 0;
}
