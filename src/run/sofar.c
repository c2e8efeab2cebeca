/* SPDX-License-Identifier: Apache-2.0 */
/* Where a search stands before anything is tried: what a plan has to say first. */
#include "run/bisecting.h"

#include <math.h>

static const char *const states[] = { "open", "found", "outside", "vanished", "undetermined" };

static const char *name_of(const struct question *q, uint32_t bit)
{
	return q->parts.v[__builtin_ctz(bit)].name;
}

/* What one more search could tell that is not known yet. */
static char *further_text(const struct sofar *s)
{
	const struct bisect_hyp *h = &s->fit->v[s->step->hyp];
	uint32_t set = bisect_hyp_mask(h);
	bool refused = false, any = false;

	for (size_t i = 0; i < s->q->never.n; i++)
		refused |= s->q->never.v[i].measured;
	any = !question_refusal(s->q, 0) || s->q->parts.n > 20;
	for (uint32_t c = 1; !any && c < UINT32_C(1) << s->q->parts.n; c++)
		any = !question_refusal(s->q, c);
	switch (s->step->state) {
	case BISECT_FOUND:
		if (h->a != h->b)
			return xasprintf("nothing: it is known, and 'twice bisect' tells it again "
					 "without a trial; --factorial %s,%s measures each of the "
					 "two alone and what both do beyond that, --again starts "
					 "over",
					 name_of(s->q, UINT32_C(1) << h->a),
					 name_of(s->q, UINT32_C(1) << h->b));
		return xasprintf("nothing: it is known, and 'twice bisect' tells it again without "
				 "a trial; --again starts over and measures the share of %s anew",
				 name_of(s->q, set));
	case BISECT_OUTSIDE:
		return xstrdup("nothing about these components; what differs with every switch "
			       "back, and what time changed, is to be looked at. --again starts "
			       "over");
	case BISECT_VANISHED:
		return xstrdup("nothing while it does not reproduce: 'twice run' says whether it "
			       "still does. --again starts over");
	case BISECT_UNDETERMINED:
		if (s->limit)
			return xasprintf("the trials after the %zu that were made: --trials N with "
					 "a larger N goes on",
					 s->trials);
		if (!any)
			return xstrdup("nothing: every combination is refused");
		if (refused)
			return xstrdup("nothing without the combinations that are refused: "
				       "--unsupported tries them");
		return xstrdup("nothing: what could be tried was. --again starts over");
	default:
		return s->trials ? xstrdup("it goes on with the trials that were made") : NULL;
	}
}

void put_so_far(const struct sofar *s, json_t *to)
{
	const struct earlier *e = s->earlier;
	json_t *o = json_object();
	AUTO_FREE char *further = further_text(s);
	bool answered = s->step->state != BISECT_TRY;

	json_put_str(o, "state", states[s->step->state]);
	if (s->running)
		json_put_str(o, "search", "running");
	else if (e->unended)
		json_put_str(o, "search", "not ended");
	else
		json_put_str(o, "search", e->n ? "ended" : "none");
	json_put_str(o, "reason", s->step->reason);
	json_put_int(o, "trials", (int64_t)s->trials);
	if (e->n && e->answer[0] && answered) {
		json_put_str(o, "entry", e->answer);
		json_put_int(o, "seq", (int64_t)e->answer_seq);
	}
	if (e->n)
		json_put_str(o, "run", e->run);
	json_put_str(o, "further", further);
	json_put(to, "so_far", o);
}
