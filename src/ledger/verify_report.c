/* SPDX-License-Identifier: Apache-2.0 */
/* What a verification found. */
#include "ledger/verifying.h"

#include "base/vec.h"

/* The steps in which a ledger is judged; the first fault is the one of the earliest step. */
enum step {
	STEP_STORE,
	STEP_BYTES,
	STEP_DERIVED,
	STEP_ANCHOR,
	STEP_FORK,
	STEP_SIGNATURE,
	STEP_BLOB,
	STEP_RUN,
	STEP_VERDICT,
	STEP_NOTE
};

static const struct {
	const char *name;
	enum ledger_severity severity;
	enum step step;
} codes[] = {
	[LEDGER_UNREADABLE] = { "UNREADABLE", LEDGER_BROKEN, STEP_STORE },
	[LEDGER_NOT_CANONICAL] = { "NOT_CANONICAL", LEDGER_BROKEN, STEP_BYTES },
	[LEDGER_WRONG_LOG] = { "WRONG_LOG", LEDGER_BROKEN, STEP_BYTES },
	[LEDGER_SEQ_GAP] = { "SEQ_GAP", LEDGER_BROKEN, STEP_BYTES },
	[LEDGER_PREV_MISMATCH] = { "PREV_MISMATCH", LEDGER_BROKEN, STEP_BYTES },
	[LEDGER_INDEX_MISMATCH] = { "INDEX_MISMATCH", LEDGER_BROKEN, STEP_DERIVED },
	[LEDGER_ANCHOR_UNTRUSTED] = { "ANCHOR_UNTRUSTED", LEDGER_BROKEN, STEP_ANCHOR },
	[LEDGER_ANCHOR_BAD_SIGNATURE] = { "ANCHOR_BAD_SIGNATURE", LEDGER_BROKEN, STEP_ANCHOR },
	[LEDGER_TRUNCATED] = { "TRUNCATED", LEDGER_BROKEN, STEP_ANCHOR },
	[LEDGER_ROOT_MISMATCH] = { "ROOT_MISMATCH", LEDGER_BROKEN, STEP_ANCHOR },
	[LEDGER_FORK] = { "FORK", LEDGER_BROKEN, STEP_FORK },
	[LEDGER_BAD_SIGNATURE] = { "BAD_SIGNATURE", LEDGER_BROKEN, STEP_SIGNATURE },
	[LEDGER_KEY_NOT_VALID] = { "KEY_NOT_VALID", LEDGER_BROKEN, STEP_SIGNATURE },
	[LEDGER_POLICY] = { "POLICY", LEDGER_BROKEN, STEP_SIGNATURE },
	[LEDGER_BLOB_DIFFERS] = { "BLOB_DIFFERS", LEDGER_BROKEN, STEP_BLOB },
	[LEDGER_BLOB_MISSING] = { "BLOB_MISSING", LEDGER_MISSING, STEP_BLOB },
	[LEDGER_UNFINISHED] = { "UNFINISHED", LEDGER_MISSING, STEP_RUN },
	[LEDGER_REPS_LEFT_OUT] = { "REPS_LEFT_OUT", LEDGER_BROKEN, STEP_RUN },
	[LEDGER_VERDICT_DIFFERS] = { "VERDICT_DIFFERS", LEDGER_BROKEN, STEP_VERDICT },
	[LEDGER_ANCHOR_OLD] = { "ANCHOR_OLD", LEDGER_MISSING, STEP_ANCHOR },
	[LEDGER_CLOCK_BACK] = { "CLOCK_BACK", LEDGER_NOTE, STEP_NOTE },
	[LEDGER_UNKNOWN_KIND] = { "UNKNOWN_KIND", LEDGER_NOTE, STEP_NOTE },
	[LEDGER_WITHHELD] = { "WITHHELD", LEDGER_NOTE, STEP_NOTE },
};

const char *ledger_code_name(enum ledger_code c)
{
	return codes[c].name;
}

enum ledger_severity code_severity(enum ledger_code code)
{
	return codes[code].severity;
}

static void finding_release(struct ledger_finding *f)
{
	free(f->text);
}

void ledger_report_release(struct ledger_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		finding_release(&r->v[i]);
	for (size_t i = 0; i < r->n_anchors; i++)
		free(r->anchors[i].name);
	free(r->v);
	free(r->anchors);
	*r = (struct ledger_report){ 0 };
}

enum ledger_severity ledger_report_worst(const struct ledger_report *r)
{
	enum ledger_severity worst = LEDGER_NOTE;

	for (size_t i = 0; i < r->n; i++)
		worst = MAX(worst, r->v[i].severity);
	return worst;
}

void find(struct verifying *v, enum ledger_code code, uint64_t seq, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct ledger_finding *f;
	va_list ap;

	/* One clock that was set back once makes a note of each of a million entries. */
	if (codes[code].severity == LEDGER_NOTE && v->notes[code]++ >= NOTES_MOST)
		return;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	f = VEC_ADD(v->report);
	*f = (struct ledger_finding){ code, codes[code].severity, seq, text_clean(sv_str(&s)) };
}

static int by_step(const void *a, const void *b)
{
	const struct ledger_finding *x = a, *y = b;
	enum step s = codes[x->code].step, t = codes[y->code].step;

	if (s != t)
		return s < t ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void not_kept(struct verifying *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(v->notes); i++) {
		size_t more = v->notes[i] > NOTES_MOST ? v->notes[i] - NOTES_MOST : 0;

		if (!more)
			continue;
		v->notes[i] = 0;
		find(v, (enum ledger_code)i, UINT64_MAX, "%zu more of these", more);
	}
}

void report_settle(struct verifying *v)
{
	struct ledger_report *r = v->report;
	bool broken = false;
	size_t n = 0;

	not_kept(v);
	if (r->n > 1)
		qsort(r->v, r->n, sizeof(*r->v), by_step);
	for (size_t i = 0; i < r->n; i++) {
		if (!v->conf->all && broken && r->v[i].severity == LEDGER_BROKEN)
			finding_release(&r->v[i]);
		else
			r->v[n++] = r->v[i];
		broken |= r->v[n - 1].severity == LEDGER_BROKEN;
	}
	r->n = n;
}
