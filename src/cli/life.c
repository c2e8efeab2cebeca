/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/life.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/text.h"

struct life {
	const char *workload;
	struct str text;
	uint64_t n;
	/* Entries of a run that name no workload themselves, by the run's id. */
	struct strs runs;
};

/* About this workload, or about none. */
static bool is_told(struct life *t, const struct ledger_entry *e)
{
	const char *w = json_str_or(e->body, "workload", NULL),
		   *run = json_str_or(e->body, "run", NULL);

	if (!t->workload)
		return true;
	if (w && streq(w, t->workload) && run && !strs_has(&t->runs, run))
		strs_add(&t->runs, run);
	if (w)
		return streq(w, t->workload);
	return !run || strs_has(&t->runs, run);
}

static void add_word(struct str *s, const json_t *body, const char *key, const char *before)
{
	const char *text = json_str_or(body, key, "");

	if (*text)
		str_addf(s, "%s%s", before, text);
}

static char *what(const struct ledger_entry *e)
{
	const json_t *d = json_object_get(e->body, "decision"),
		     *first = json_array_get(json_object_get(d, "reasons"), 0);
	struct str s CLEANUP(str_release) = { 0 };
	const char *const plain[] = { "scope", "state",  "holder",  "reason", "note",
				      "what",  "result", "witness", "place" };

	add_word(&s, e->body, "run", "");
	if (json_is_object(d)) {
		str_addf(&s, "%s%s", s.n ? " " : "",
			 text_verdict_word(json_str_or(d, "verdict", "")));
		add_word(&s, first, "text", ": ");
	} else {
		add_word(&s, e->body, "decision", s.n ? " " : "");
	}
	/* A cosigned note is in the entry, and no line for people. */
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (!streq(e->kind, "anchor") || !streq(plain[i], "note"))
			add_word(&s, e->body, plain[i], s.n ? ", " : "");
	return text_clean(sv_str(&s));
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct life *t = arg;
	AUTO_FREE char *text = NULL, *by = NULL, *kind = NULL;

	(void)err;
	if (!is_told(t, e))
		return 0;
	text = what(e);
	by = text_clean(sv_of(e->by_id));
	kind = text_clean(sv_of(e->kind));
	str_addf(&t->text, "%6llu  %.24s  %-15s %-24s %.16s  %s\n", (unsigned long long)e->ref.seq,
		 e->at, kind, by, e->ref.hex, text);
	t->n++;
	return 0;
}

int life_write(struct ledger *l, const char *workload, const char *dir, uint64_t *ret_n,
	       struct err *err)
{
	AUTO_FREE char *path = path_join(dir, "life.txt");
	AUTO_FREE char *clean = workload ? text_clean(sv_of(workload)) : NULL;
	struct life t = { .workload = workload };
	int rc;

	str_addf(&t.text,
		 "The life of %s%s in the log %s.\n\n"
		 "Written from entries.jsonl, which is what counts: sequence number, time as "
		 "claimed, "
		 "kind, by whom,\nhash (twice-ledger(5) says how to check all of it), what.\n\n",
		 clean ? "workload " : "all workloads", clean ? clean : "", ledger_origin(l));
	rc = ledger_each(l, &(struct ledger_filter){ 0 }, on_entry, &t, err);
	if (rc == 0)
		rc = file_write(path, t.text.p, t.text.n, 0644, err);
	*ret_n = t.n;
	str_release(&t.text);
	strs_release(&t.runs);
	return rc;
}
