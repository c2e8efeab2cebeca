/* SPDX-License-Identifier: Apache-2.0 */
/* What verify found, as a list. */
#include "ledger/verifying.h"

#include "base/vec.h"

static const struct {
	const char *name;
	enum ledger_severity severity;
} codes[] = {
	[LEDGER_UNREADABLE] = { "UNREADABLE", LEDGER_BROKEN },
	[LEDGER_NOT_CANONICAL] = { "NOT_CANONICAL", LEDGER_BROKEN },
	[LEDGER_WRONG_LOG] = { "WRONG_LOG", LEDGER_BROKEN },
	[LEDGER_SEQ_GAP] = { "SEQ_GAP", LEDGER_BROKEN },
	[LEDGER_PREV_MISMATCH] = { "PREV_MISMATCH", LEDGER_BROKEN },
	[LEDGER_INDEX_MISMATCH] = { "INDEX_MISMATCH", LEDGER_BROKEN },
	[LEDGER_ANCHOR_UNTRUSTED] = { "ANCHOR_UNTRUSTED", LEDGER_BROKEN },
	[LEDGER_ANCHOR_BAD_SIGNATURE] = { "ANCHOR_BAD_SIGNATURE", LEDGER_BROKEN },
	[LEDGER_TRUNCATED] = { "TRUNCATED", LEDGER_BROKEN },
	[LEDGER_ROOT_MISMATCH] = { "ROOT_MISMATCH", LEDGER_BROKEN },
	[LEDGER_FORK] = { "FORK", LEDGER_BROKEN },
	[LEDGER_BAD_SIGNATURE] = { "BAD_SIGNATURE", LEDGER_BROKEN },
	[LEDGER_KEY_NOT_VALID] = { "KEY_NOT_VALID", LEDGER_BROKEN },
	[LEDGER_POLICY] = { "POLICY", LEDGER_BROKEN },
	[LEDGER_BLOB_DIFFERS] = { "BLOB_DIFFERS", LEDGER_BROKEN },
	[LEDGER_BLOB_MISSING] = { "BLOB_MISSING", LEDGER_MISSING },
	[LEDGER_UNFINISHED] = { "UNFINISHED", LEDGER_MISSING },
	[LEDGER_REPS_LEFT_OUT] = { "REPS_LEFT_OUT", LEDGER_BROKEN },
	[LEDGER_VERDICT_DIFFERS] = { "VERDICT_DIFFERS", LEDGER_BROKEN },
	[LEDGER_ANCHOR_OLD] = { "ANCHOR_OLD", LEDGER_MISSING },
	[LEDGER_CLOCK_BACK] = { "CLOCK_BACK", LEDGER_NOTE },
	[LEDGER_UNKNOWN_KIND] = { "UNKNOWN_KIND", LEDGER_NOTE },
	[LEDGER_WITHHELD] = { "WITHHELD", LEDGER_NOTE },
};

const char *ledger_code_name(enum ledger_code c)
{
	return codes[c].name;
}

void ledger_report_release(struct ledger_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].text);
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

int report_find(struct verifying *v, enum ledger_code code, uint64_t seq, const char *fmt, ...)
{
	struct ledger_finding *f = VEC_ADD(v->report);
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	*f = (struct ledger_finding){ code, codes[code].severity, seq, text_clean(sv_str(&s)) };
	str_release(&s);
	return f->severity == LEDGER_BROKEN && !v->conf->all ? 1 : 0;
}
