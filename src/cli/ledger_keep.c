/* SPDX-License-Identifier: Apache-2.0 */
/* Retention of evidence, and corrections. */
#include "cli/ledger_keep.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "cli/when.h"

/* ---- what evidence there is ---- */

struct piece {
	char digest[SHA256_HEX];
	int64_t bytes;
	bool rests;   /* decisions read it: contracts, stacks */
	bool signed_; /* a run that was signed names it */
	bool young;   /* a run that is not older than asked for names it */
	bool gone;
};

struct pieces {
	struct piece *v;
	size_t n, room;
	struct strs runs; /* that somebody signed, sorted */
	int64_t before_ms;
};

static void pieces_release(struct pieces *p)
{
	free(p->v);
	strs_release(&p->runs);
}

static int by_digest(const void *a, const void *b)
{
	return strcmp(((const struct piece *)a)->digest, ((const struct piece *)b)->digest);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool was_signed(const struct pieces *p, const char *run)
{
	return run && p->runs.n && bsearch(&run, p->runs.v, p->runs.n, sizeof(*p->runs.v), by_text);
}

static bool is_blob(const json_t *v)
{
	const char *digest = json_str_or(v, "digest", "");

	return strlen(digest) == SHA256_HEX - 1 && json_is_integer(json_object_get(v, "bytes")) &&
	       json_str_or(v, "media_type", NULL);
}

/* Every object in it that names a blob. */
static void take_blobs(struct pieces *p, const json_t *v, const struct piece *like)
{
	const char *key;
	json_t *x;

	if (is_blob(v)) {
		struct piece *n = VEC_ADD(p);

		*n = *like;
		(void)snprintf(n->digest, sizeof(n->digest), "%s", json_str_or(v, "digest", ""));
		n->bytes = json_int_or(v, "bytes", 0);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)v, key, x)
	{
		take_blobs(p, x, like);
	}
	for (size_t i = 0; i < json_array_size(v); i++)
		take_blobs(p, json_array_get(v, i), like);
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct pieces *p = arg;
	struct piece like = {
		.rests = !streq(e->kind, "run.result") && !streq(e->kind, "import"),
		.signed_ = was_signed(p, json_str_or(e->body, "run", NULL)),
		.young = e->at_ms >= p->before_ms,
	};

	(void)err;
	if (!streq(e->kind, "evidence.state")) {
		take_blobs(p, e->body, &like);
		return 0;
	}
	struct piece *n = VEC_ADD(p);

	*n = (struct piece){ .gone = true };
	(void)snprintf(n->digest, sizeof(n->digest), "%s",
		       json_str_or(json_object_get(e->body, "blob"), "digest", ""));
	return 0;
}

static int on_signoff(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct pieces *p = arg;

	(void)err;
	if (json_str_or(e->body, "run", NULL))
		strs_add(&p->runs, json_str_or(e->body, "run", ""));
	return 0;
}

/* One row a piece: what any entry says of it counts. */
static int read_pieces(struct ledger *l, int64_t before_ms, struct pieces *p, struct err *err)
{
	static const char *const signoffs[] = { "signoff", NULL };
	struct ledger_filter f = { .kinds = signoffs };
	size_t n = 0;

	p->before_ms = before_ms;
	TRY(ledger_each(l, &f, on_signoff, p, err));
	if (p->runs.n > 1)
		qsort(p->runs.v, p->runs.n, sizeof(*p->runs.v), by_text);
	f.kinds = NULL;
	TRY(ledger_each(l, &f, on_entry, p, err));
	if (p->n > 1)
		qsort(p->v, p->n, sizeof(*p->v), by_digest);
	for (size_t i = 0; i < p->n; i++) {
		struct piece *x = &p->v[i], *last = n ? &p->v[n - 1] : NULL;

		if (!last || !streq(last->digest, x->digest)) {
			p->v[n++] = *x;
			continue;
		}
		last->bytes = MAX(last->bytes, x->bytes);
		last->rests |= x->rests;
		last->signed_ |= x->signed_;
		last->young |= x->young;
		last->gone |= x->gone;
	}
	p->n = n;
	return 0;
}

/* ---- retention ---- */

static int drop(struct cli *cli, const struct piece *x, const char *state, const char *reason,
		struct err *err)
{
	struct ledger_new who = { .by_id = cli->who, .role = "human", .at_ms = clock_wall_ms() };

	return ledger_blob_drop(cli->ledger, x->digest, state, reason, &who, err);
}

static int need_reason(const struct ledger_keep_conf *c, struct err *err)
{
	return c->reason && *c->reason ? 0 : bail(err, ERR_USAGE, "why? --reason TEXT is needed");
}

static int find_piece(const struct pieces *p, const char *name, const struct piece **ret,
		      struct err *err)
{
	const struct piece *found = NULL;

	if (strlen(name) < 8)
		return bail(err, ERR_USAGE, "'%s' is too short for a digest: 8 digits at least",
			    name);
	for (size_t i = 0; i < p->n; i++) {
		if (!str_starts(p->v[i].digest, name))
			continue;
		if (found)
			return bail(err, ERR_PARSE, "'%s' fits several pieces of evidence", name);
		found = &p->v[i];
	}
	if (!found) {
		(void)bail(err, ERR_NOT_FOUND, "no entry names evidence '%s'", name);
		err_hint(err, "'twice show ENTRY' shows the digests that an entry names.");
		return -ERR_NOT_FOUND;
	}
	*ret = found;
	return 0;
}

int ledger_withhold(struct cli *cli, const struct ledger_keep_conf *c, json_t *v, struct err *err)
{
	struct pieces p CLEANUP(pieces_release) = { 0 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	const struct piece *x;

	TRY(need_reason(c, err));
	TRY(read_pieces(cli->ledger, 0, &p, err));
	TRY(find_piece(&p, cli->args.v[1], &x, err));
	if (x->gone)
		return bail(err, ERR_UNSUPPORTED, "evidence %.16s is gone already", x->digest);
	if (x->rests) {
		(void)bail(err, ERR_UNSUPPORTED,
			   "evidence %.16s is a contract or a stack: decisions rest on it",
			   x->digest);
		err_hint(err, "Without it no verdict of it could be decided again.");
		return -ERR_UNSUPPORTED;
	}
	TRY(signing_agreed(cli, c->yes, "remove it for good", err));
	TRY(drop(cli, x, "withheld", c->reason, err));
	TRY(ledger_checkpoint(cli->ledger, &cp, err));
	json_put_str(v, "digest", x->digest);
	json_put_int(v, "gone", 1);
	json_put_int(v, "bytes", x->bytes);
	json_put_bool(v, "signed_run", x->signed_);
	return 0;
}

static int expire_all(struct cli *cli, const struct ledger_keep_conf *c, const struct pieces *p,
		      json_t *v, struct err *err)
{
	int64_t gone = 0, bytes = 0, kept = 0;
	json_t *a = json_array();
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++) {
		const struct piece *x = &p->v[i];

		if (x->gone || x->rests)
			continue;
		if (x->signed_ || x->young) {
			kept++;
			continue;
		}
		if (cli_cancel)
			rc = bail(err, ERR_INTERRUPTED,
				  "stopped after %lld pieces; the rest is "
				  "there",
				  (long long)gone);
		else if (!c->dry)
			rc = drop(cli, x, "expired", c->reason, err);
		if (rc == 0) {
			gone++;
			bytes += x->bytes;
			(void)json_array_append_new(a, json_string(x->digest));
			cli_progress(cli, false, "%lld pieces", (long long)gone);
		}
	}
	json_put(v, "digests", a);
	json_put_int(v, "gone", gone);
	json_put_int(v, "bytes", bytes);
	json_put_int(v, "kept", kept);
	json_put_bool(v, "dry_run", c->dry);
	return rc;
}

int ledger_expire(struct cli *cli, const struct ledger_keep_conf *c, json_t *v, struct err *err)
{
	struct pieces p CLEANUP(pieces_release) = { 0 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct err quiet = ERR_INIT;
	int64_t before;
	int rc;

	if (!c->older)
		return bail(err, ERR_USAGE, "how old? --older-than TIME is needed");
	if (!c->dry)
		TRY(need_reason(c, err));
	TRY(when_parse("older-than", c->older, WHEN_AGO, false, clock_wall_ms(), &before, err));
	TRY(read_pieces(cli->ledger, before, &p, err));
	if (!c->dry)
		TRY(signing_agreed(cli, c->yes, "remove it for good", err));
	rc = expire_all(cli, c, &p, v, err);
	if (c->dry)
		return rc;
	/* What went so far is under a checkpoint in any case. */
	if (rc < 0) {
		(void)!ledger_checkpoint(cli->ledger, &cp, &quiet);
		return rc;
	}
	return ledger_checkpoint(cli->ledger, &cp, err);
}

/* ---- corrections ---- */

int ledger_correct(struct cli *cli, const struct ledger_keep_conf *c, json_t *v, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_FREE char *key = NULL, *holder = NULL;
	AUTO_JSON json_t *body = json_object();
	struct ledger_ref ref;

	TRY(need_reason(c, err));
	TRY(ledger_find(cli->ledger, cli->args.v[1], &e, err));
	json_put(body, "entry",
		 json_pack("{s:s, s:I}", "digest", e.ref.hex, "seq", (json_int_t)e.ref.seq));
	json_put_str(body, "corrects", e.kind);
	json_put_str(body, "reason", c->reason);
	if (json_str_or(e.body, "run", NULL))
		json_put_str(body, "run", json_str_or(e.body, "run", ""));
	if (json_str_or(e.body, "workload", NULL))
		json_put_str(body, "workload", json_str_or(e.body, "workload", ""));
	json_put_int(v, "corrects", (int64_t)e.ref.seq);

	AUTO_FREE char *text = json_text(body, true), *shown = text_clean_lines(text);

	TRY(signing_key(cli, c->key, &key, err));
	cli_note(cli, "correction %s", shown);
	TRY(signing_agreed(cli, c->yes, "sign this", err));
	TRY(signing_holder(cli, key, "correction", &holder, err));
	TRY(signing_append(cli, "correction", body, holder, key, &ref, err));
	return signing_done(cli, &ref, v, err);
}
