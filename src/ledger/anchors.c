/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints against the entries: the file beside the store, those kept in it, those kept elsewhere. */
#include "ledger/verifying.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"

static const struct note_key *key_of(const struct verifying *v, const struct note_line *line)
{
	for (size_t i = 0; i < v->vkeys.n; i++)
		if (v->vkeys.v[i].type == NOTE_ED25519 && sv_is(line->name, v->vkeys.v[i].name) &&
		    memcmp(v->vkeys.v[i].id, line->id, 4) == 0)
			return &v->vkeys.v[i];
	return NULL;
}

/* Root over the first `size` entries, out of the store's leaves. */
static int root_at(struct verifying *v, uint64_t size, uint8_t ret[SHA256_LEN], struct err *err)
{
	struct merkle_source s = ledger_nodes(v->l);

	return merkle_root(&s, size, ret, err);
}

static int signed_by_us(struct verifying *v, const struct note *note, const char *name)
{
	bool known = false, good = false;

	for (size_t i = 0; i < note->lines.n; i++) {
		const struct note_key *k = key_of(v, &note->lines.v[i]);

		if (!k)
			continue;
		known = true;
		good |= note_line_check(note, &note->lines.v[i], k, NULL) == NOTE_GOOD;
	}
	if (!known)
		return report_find(v, LEDGER_ANCHOR_UNTRUSTED, UINT64_MAX, "%s: signed by no key that is known", name);
	return good ? 0 : report_find(v, LEDGER_ANCHOR_BAD_SIGNATURE, UINT64_MAX, "%s: bad signature", name);
}

static int anchor(struct verifying *v, const char *name, struct sv text, bool beside, struct err *err)
{
	struct note note CLEANUP(note_release) = { 0 };
	struct err why = ERR_INIT;
	struct checkpoint cp;
	struct ledger_anchor *a;
	uint8_t root[SHA256_LEN];
	size_t before = v->report->n;
	int rc;

	if (note_parse(text, &note, &why) < 0 || checkpoint_parse(note.text, &cp, &why) < 0)
		return report_find(v, LEDGER_ANCHOR_BAD_SIGNATURE, UINT64_MAX, "%s: %s", name, why.msg);
	if (v->report->n_anchors == v->report->room_anchors) {
		v->report->room_anchors = v->report->room_anchors ? 2 * v->report->room_anchors : 8;
		v->report->anchors = xrealloc(v->report->anchors,
					      v->report->room_anchors * sizeof(*v->report->anchors));
	}
	a = &v->report->anchors[v->report->n_anchors++];
	*a = (struct ledger_anchor){ .name = xstrdup(name), .size = cp.size, .beside = beside };
	if (v->origin && !sv_is(cp.origin, v->origin))
		return report_find(v, LEDGER_WRONG_LOG, UINT64_MAX, "%s is of log '" SV_FMT "'", name,
				   SV_ARG(cp.origin));
	rc = signed_by_us(v, &note, name);
	if (rc || v->report->n > before)
		return rc;
	if (cp.size > v->next)
		return report_find(v, LEDGER_TRUNCATED, v->next, "%s covers %llu entries, %llu are there", name,
				   (unsigned long long)cp.size, (unsigned long long)v->next);
	TRY(root_at(v, cp.size, root, err));
	if (memcmp(root, cp.root, SHA256_LEN) != 0)
		return report_find(v, LEDGER_ROOT_MISMATCH, UINT64_MAX, "%s: another root over %llu entries", name,
				   (unsigned long long)cp.size);
	a->holds = true;
	return 0;
}

static int anchor_file(struct verifying *v, const char *path, bool beside, bool must, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct err why = ERR_INIT;
	size_t n;

	if (file_read(path, NOTE_MAX, &text, &n, &why) < 0) {
		if (!must && why.code == ERR_NOT_FOUND)
			return 0;
		return report_find(v, LEDGER_ANCHOR_UNTRUSTED, UINT64_MAX, "%s", why.msg);
	}
	return anchor(v, path, (struct sv){ text, n }, beside, err);
}

/* Notes kept in the store: one that does not hold means that the store was changed by hand. */
static int on_note(void *arg, uint64_t size, struct sv text, struct err *err)
{
	struct verifying *v = arg;
	struct note note CLEANUP(note_release) = { 0 };
	uint8_t root[SHA256_LEN];
	struct err why = ERR_INIT;
	struct checkpoint cp;

	if (note_parse(text, &note, &why) < 0 || checkpoint_parse(note.text, &cp, &why) < 0)
		return report_find(v, LEDGER_INDEX_MISMATCH, UINT64_MAX, "kept checkpoint %llu: %s",
				   (unsigned long long)size, why.msg);
	if (cp.size != size)
		return report_find(v, LEDGER_INDEX_MISMATCH, UINT64_MAX, "kept checkpoint %llu is of size %llu",
				   (unsigned long long)size, (unsigned long long)cp.size);
	if (cp.size > v->next)
		return report_find(v, LEDGER_TRUNCATED, v->next, "a kept checkpoint covers %llu entries",
				   (unsigned long long)cp.size);
	TRY(root_at(v, cp.size, root, err));
	if (memcmp(root, cp.root, SHA256_LEN) != 0)
		return report_find(v, LEDGER_ROOT_MISMATCH, UINT64_MAX, "kept checkpoint %llu: another root",
				   (unsigned long long)size);
	return signed_by_us(v, &note, "a kept checkpoint");
}

static int trusted_keys(struct verifying *v, struct err *err)
{
	if (v->conf->only_vkeys) {
		note_keys_release(&v->vkeys);
		v->vkeys = (struct note_keys){ 0 };
	}
	for (size_t i = 0; v->conf->vkeys && v->conf->vkeys[i]; i++) {
		struct note_key k = { 0 };

		TRY(note_key_parse(sv_of(v->conf->vkeys[i]), &k, err));
		*VEC_ADD(&v->vkeys) = k;
	}
	return 0;
}

static int others(struct verifying *v, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && v->conf->anchors && v->conf->anchors[i]; i++) {
		const char *path = v->conf->anchors[i];
		struct strs names CLEANUP(strs_release) = { 0 };

		if (!dir_exists(path)) {
			rc = anchor_file(v, path, false, true, err);
			continue;
		}
		TRY(dir_list(path, &names, err));
		for (size_t k = 0; rc == 0 && k < names.n; k++) {
			AUTO_FREE char *file = path_join(path, names.v[k]);

			rc = anchor_file(v, file, false, true, err);
		}
	}
	return rc;
}

int verifying_anchors(struct verifying *v, struct err *err)
{
	AUTO_FREE char *beside = path_join(v->l->dir, LEDGER_CHECKPOINT);
	uint64_t covered = 0;
	int rc;

	TRY(trusted_keys(v, err));
	rc = anchor_file(v, beside, true, false, err);
	if (rc == 0)
		rc = v->l->store->ops->notes(v->l->store, on_note, v, err);
	if (rc == 0)
		rc = others(v, err);
	for (size_t i = 0; i < v->report->n_anchors; i++)
		if (v->report->anchors[i].holds && !v->report->anchors[i].beside)
			covered = MAX(covered, v->report->anchors[i].size);
	v->report->entries_after_anchor = v->next - MIN(covered, v->next);
	return rc;
}
