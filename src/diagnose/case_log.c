/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of a recorded comparison: lines that turned over, lines that are known. */
#include "diagnose/case_log.h"

#include "diagnose/inner.h"

void case_log_release(struct case_log *l)
{
	signature_hits_release(&l->before);
	signature_hits_release(&l->now);
	free(l->signs.v);
	free(l->flips.v);
	strs_release(&l->words);
}

static void flips(const struct strs *before, const struct strs *now, struct case_log *ret)
{
	for (size_t i = 0; i < before->n; i++) {
		if (strs_has(now, before->v[i]))
			continue;
		for (size_t k = 0; k < now->n; k++) {
			struct sv x, y;
			char *from, *to;

			if (strs_has(before, now->v[k]) ||
			    !one_word_apart(before->v[i], now->v[k], &x, &y))
				continue;
			from = sv_dup(x);
			to = sv_dup(y);
			strs_take(&ret->words, from);
			strs_take(&ret->words, to);
			*VEC_ADD(&ret->flips) =
				(struct diagnose_flip){ before->v[i], now->v[k], from, to };
			break;
		}
	}
}

static void scan(const struct signatures *all, const struct strs *log, struct signature_hits *ret)
{
	struct str text = { 0 };

	for (size_t i = 0; i < log->n; i++)
		str_addf(&text, "%s\n", log->v[i]);
	signatures_scan_text(all, sv_str(&text), ret);
	str_release(&text);
}

static void signs(const struct signature_hits *h, enum diagnose_arm arm, struct case_log *ret)
{
	static const enum diagnose_role roles[SIGNATURE_ROLE_N] = {
		[SIGNATURE_CAUSE] = ROLE_CAUSE,     [SIGNATURE_GENERIC] = ROLE_GENERIC,
		[SIGNATURE_WRAPPER] = ROLE_WRAPPER, [SIGNATURE_CONSEQUENCE] = ROLE_CONSEQUENCE,
		[SIGNATURE_MARKER] = ROLE_MARKER,
	};

	for (size_t i = 0; i < h->n; i++) {
		const struct signature_hit *x = &h->v[i];

		/* Beaten in every line by something more specific. */
		if (!x->won)
			continue;
		*VEC_ADD(&ret->signs) = (struct diagnose_sign){ .id = x->sig->id,
								.component = x->sig->component,
								.meaning = x->sig->meaning,
								.action = x->sig->action,
								.owner = x->sig->owner,
								.line = x->excerpt,
								.role = roles[x->sig->role],
								.layer = x->sig->layer,
								.rank = x->sig->rank,
								.arm = arm };
	}
}

/* Good news of the accepted log that the candidate's lacks. */
static void missing(const struct signature_hits *before, const struct signature_hits *now,
		    struct case_log *ret)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct signature_hit *x = &before->v[i];
		bool turned = false;

		if (x->sig->role != SIGNATURE_MARKER || !x->won ||
		    signature_hits_find(now, x->sig->id))
			continue;
		for (size_t k = 0; k < ret->flips.n; k++)
			turned |= strstr(ret->flips.v[k].before, x->excerpt) != NULL;
		if (!turned)
			*VEC_ADD(&ret->flips) =
				(struct diagnose_flip){ x->excerpt, "the line is gone", "there",
							"not there" };
	}
}

void case_log_read(const struct signatures *all, const struct strs *before, const struct strs *now,
		   struct case_log *ret)
{
	flips(before, now, ret);
	if (!all)
		return;
	scan(all, before, &ret->before);
	scan(all, now, &ret->now);
	signs(&ret->before, ARM_ACCEPTED, ret);
	signs(&ret->now, ARM_CANDIDATE, ret);
	if (now->n)
		missing(&ret->before, &ret->now, ret);
}
