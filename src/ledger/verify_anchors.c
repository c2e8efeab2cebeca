/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints against the entries: the file beside the store, those kept in it, those kept
 * elsewhere. */
#include "ledger/verifying.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"

#define LL (unsigned long long)

/* ---- reading ---- */

void anchors_add(struct verifying *v, const char *name, struct sv text, bool beside, bool kept)
{
	struct anchor *a = VEC_ADD(&v->anchors);
	struct err why = ERR_INIT;

	a->name = xstrdup(name);
	a->text = sv_dup(text);
	a->beside = beside;
	a->kept = kept;
	a->readable = note_parse((struct sv){ a->text, text.n }, &a->note, &why) == 0 &&
		      checkpoint_parse(a->note.text, &a->cp, &why) == 0;
	if (!a->readable)
		a->fault = xstrdup(why.msg);
}

static void add_file(struct verifying *v, const char *path, bool beside)
{
	AUTO_FREE char *text = NULL;
	struct err why = ERR_INIT;
	size_t n;

	if (file_read(streq(path, "-") ? "/dev/stdin" : path, NOTE_MAX, &text, &n, &why) == 0) {
		anchors_add(v, path, (struct sv){ text, n }, beside, /* kept= */ false);
		return;
	}
	if (!beside || why.code != ERR_NOT_FOUND)
		find(v, LEDGER_ANCHOR_UNTRUSTED, UINT64_MAX, "anchor: %s", why.msg);
}

static int on_note(void *arg, uint64_t size, struct sv text, struct err *err)
{
	struct verifying *v = arg;
	AUTO_FREE char *name = xasprintf("checkpoint %llu in the store", LL size);
	struct anchor *a;

	(void)err;
	anchors_add(v, name, text, /* beside= */ true, /* kept= */ true);
	a = &v->anchors.v[v->anchors.n - 1];
	if (a->readable && a->cp.size != size) {
		a->readable = false;
		a->fault = xasprintf("it is of size %llu", LL a->cp.size);
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	if (x->cp.size != y->cp.size)
		return x->cp.size < y->cp.size ? -1 : 1;
	return strcmp(x->name, y->name);
}

void anchors_sort(struct verifying *v)
{
	if (v->anchors.n > 1)
		qsort(v->anchors.v, v->anchors.n, sizeof(*v->anchors.v), by_size);
}

static int add_folder(struct verifying *v, const char *dir, bool beside, struct err *err)
{
	struct strs names CLEANUP(strs_release) = { 0 };

	TRY(dir_list(dir, &names, err));
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = path_join(dir, names.v[i]);

		add_file(v, path, beside);
	}
	return 0;
}

static void add_key_once(struct verifying *v, struct note_key *key)
{
	for (size_t i = 0; i < v->vkeys.n; i++)
		if (streq(v->vkeys.v[i].name, key->name) &&
		    memcmp(v->vkeys.v[i].id, key->id, sizeof(key->id)) == 0) {
			note_key_release(key);
			return;
		}
	*VEC_ADD(&v->vkeys) = *key;
}

/* Keys that the ledger keeps itself tell a witness's name and no more: `given` ones come first. */
static void keep_witnesses(struct verifying *v)
{
	AUTO_FREE char *path = path_join(v->conf->path, LEDGER_WITNESSES), *text = NULL;
	struct err why = ERR_INIT;
	struct sv rest, line;

	if (v->conf->only_vkeys)
		return;
	if (file_read(path, MIB, &text, NULL, &why) < 0) {
		if (why.code != ERR_NOT_FOUND)
			find(v, LEDGER_ANCHOR_UNTRUSTED, UINT64_MAX, "witnesses: %s", why.msg);
		return;
	}
	rest = sv_of(text);
	while (sv_line(&rest, &line)) {
		struct note_key key;

		if (!sv_trim(line).n)
			continue;
		if (note_key_parse(line, &key, &why) == 0)
			add_key_once(v, &key);
		else
			find(v, LEDGER_ANCHOR_UNTRUSTED, UINT64_MAX, "'%s': %s", path, why.msg);
	}
}

int anchors_read(struct verifying *v, struct err *err)
{
	AUTO_FREE char *beside = path_join(v->conf->path, LEDGER_CHECKPOINT),
		       *anchors = path_join(v->conf->path, LEDGER_ANCHORS);

	keep_witnesses(v);
	add_file(v, beside, /* beside= */ true);
	if (dir_exists(anchors))
		TRY(add_folder(v, anchors, /* beside= */ true, err));
	for (const char *const *a = v->conf->anchors; a && *a; a++) {
		if (dir_exists(*a))
			TRY(add_folder(v, *a, /* beside= */ false, err));
		else
			add_file(v, *a, /* beside= */ false);
	}
	if (v->l->store && !v->nothing)
		TRY(v->l->store->ops->notes(v->l->store, on_note, v, err));
	anchors_sort(v);
	return 0;
}

void anchors_pass(struct verifying *v)
{
	for (; v->anchors.next < v->anchors.n; v->anchors.next++) {
		struct anchor *a = &v->anchors.v[v->anchors.next];

		if (a->cp.size > v->frontier.size)
			return;
		if (a->cp.size < v->frontier.size)
			continue;
		frontier_root(&v->frontier, &v->h, a->root);
		a->have_root = true;
		a->at_ms = v->at_ms;
	}
}

/* ---- judging ---- */

/* Whose signature is it? Lines by keys that we don't know say nothing, for or against. */
static void check_lines(struct verifying *v, struct anchor *a, bool *ret_known, bool *ret_bad)
{
	for (size_t i = 0; i < a->note.lines.n; i++)
		for (size_t k = 0; k < v->vkeys.n; k++) {
			const struct note_key *key = &v->vkeys.v[k];
			enum note_check c =
				note_line_check(&a->note, &a->note.lines.v[i], key, NULL);
			bool own = key->type == NOTE_ED25519 && sv_is(a->cp.origin, key->name);

			*ret_bad |= c == NOTE_BAD;
			*ret_known |= own && c != NOTE_OTHER_KEY;
			a->good |= own && c == NOTE_GOOD;
			if (c == NOTE_GOOD && key->type == NOTE_COSIGNATURE) {
				a->cosigned++;
				a->vouched |= k < v->given;
			}
		}
}

static void judge(struct verifying *v, struct anchor *a)
{
	bool known = false, bad = false;
	uint64_t ours = v->frontier.size;

	if (!a->readable) {
		find(v, a->kept ? LEDGER_INDEX_MISMATCH : LEDGER_ANCHOR_BAD_SIGNATURE, UINT64_MAX,
		     "%s: %s", a->name, a->fault);
		return;
	}
	check_lines(v, a, &known, &bad);
	if (v->origin && !sv_is(a->cp.origin, v->origin)) {
		a->good = false;
		find(v, LEDGER_ANCHOR_UNTRUSTED, a->cp.size, "%s is of log '" SV_FMT "'", a->name,
		     SV_ARG(a->cp.origin));
	} else if (bad) {
		a->good = false;
		find(v, LEDGER_ANCHOR_BAD_SIGNATURE, a->cp.size, "%s: a signature does not fit",
		     a->name);
	} else if (v->nothing && a->cp.size) { /* nor is the entry that names the key */
		find(v, LEDGER_TRUNCATED, 0, "%s covers %llu entries, nothing is there", a->name,
		     LL a->cp.size);
	} else if (!known) {
		find(v, LEDGER_ANCHOR_UNTRUSTED, a->cp.size, "%s is signed by no key that is known",
		     a->name);
	} else if (a->cp.size > ours) {
		find(v, LEDGER_TRUNCATED, ours, "%s covers %llu entries, %llu are there", a->name,
		     LL a->cp.size, LL ours);
	} else if (!a->have_root || memcmp(a->root, a->cp.root, SHA256_LEN) != 0) {
		find(v, LEDGER_ROOT_MISMATCH, a->cp.size, "%s has another root over %llu entries",
		     a->name, LL a->cp.size);
	} else {
		a->holds = true;
	}
}

/* Two heads, both signed by the log's key, of which one cannot have grown out of the other. */
static void forks(struct verifying *v)
{
	const struct anchor *holds = NULL; /* one that holds, at least as large */

	for (size_t i = v->anchors.n; i-- > 0;) {
		const struct anchor *a = &v->anchors.v[i], *b = i ? &v->anchors.v[i - 1] : NULL;

		if (a->holds && !holds)
			holds = a;
		if (a->good && b && b->good && a->cp.size == b->cp.size &&
		    memcmp(a->cp.root, b->cp.root, SHA256_LEN) != 0)
			find(v, LEDGER_FORK, a->cp.size, "%s and %s are two heads of one size",
			     b->name, a->name);
		else if (a->good && !a->holds && holds && holds->cp.size > a->cp.size)
			find(v, LEDGER_FORK, a->cp.size, "%s did not grow out of %s", holds->name,
			     a->name);
	}
}

static void keep(struct verifying *v, const struct anchor *a)
{
	struct ledger_report *r = v->report;

	r->anchors = vec_grow(r->anchors, r->n_anchors, &r->room_anchors, sizeof(*r->anchors));
	r->anchors[r->n_anchors++] = (struct ledger_anchor){ .name = xstrdup(a->name),
							     .size = a->cp.size,
							     .at_ms = a->at_ms,
							     .holds = a->holds,
							     .beside = a->beside,
							     .vouched = a->vouched,
							     .cosigned = a->cosigned };
}

static void check_age(struct verifying *v, const struct anchor *newest)
{
	int64_t max = v->conf->anchor_max_age_ms;

	if (!max || !v->report->entries_after_anchor)
		return;
	if (!newest)
		find(v, LEDGER_ANCHOR_OLD, UINT64_MAX, "no anchor is kept outside of the ledger");
	else if (v->conf->now_ms - newest->at_ms > max)
		find(v, LEDGER_ANCHOR_OLD, newest->cp.size,
		     "the newest anchor, %s, is %lld s old and does not cover the entries since",
		     newest->name, (long long)((v->conf->now_ms - newest->at_ms) / 1000));
}

int anchors_trust(struct verifying *v, struct err *err)
{
	for (const char *const *k = v->conf->vkeys; k && *k; k++) {
		struct note_key key;

		TRY(note_key_parse(sv_of(*k), &key, err));
		*VEC_ADD(&v->vkeys) = key;
		v->given++;
	}
	return 0;
}

void anchors_finish(struct verifying *v)
{
	const struct anchor *newest = NULL;

	for (size_t i = 0; i < v->anchors.n; i++) {
		struct anchor *a = &v->anchors.v[i];

		judge(v, a);
		if (!a->kept)
			keep(v, a);
		if (a->holds && (!a->beside || a->vouched))
			newest = a; /* they are in order of size */
	}
	forks(v);
	v->report->entries_after_anchor = v->frontier.size - (newest ? newest->cp.size : 0);
	check_age(v, newest);
}
