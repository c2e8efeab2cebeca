/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the entries a run writes, and reading them back. */
#include "run/internal.h"

#include "base/canon.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"

json_t *run_ref(const char *hex)
{
	return json_pack("{s:s}", "digest", hex);
}

const char *run_ref_of(const json_t *o, const char *key)
{
	const char *hex = json_str_or(json_object_get(o, key), "digest", NULL);

	return hex && strlen(hex) == 64 ? hex : NULL;
}

int run_append(const struct run_env *env, const char *kind, const json_t *body,
	       struct ledger_ref *ret, struct err *err)
{
	struct ledger_new e = { .kind = kind,
				.body = body,
				.by_id = env->machine,
				.role = "machine",
				.at_ms = clock_wall_ms() };

	if (ledger_append(env->ledger, &e, ret, err) < 0)
		return err_wrap(err, "cannot record '%s'", kind);
	return 0;
}

int run_entry(struct ledger *l, const char *hex, const char *kind, struct ledger_entry *ret,
	      struct err *err)
{
	if (ledger_find(l, hex, ret, err) < 0)
		return err_wrap(err, "entry '%.16s'", hex);
	if (!streq(ret->kind, kind))
		return bail(err, ERR_BROKEN, "entry '%.16s' is '%s', not '%s'", hex, ret->kind,
			    kind);
	return 0;
}

static int has_contract(void *arg, const struct ledger_entry *e, struct err *err)
{
	(void)err;
	memcpy(arg, e->ref.hex, 65);
	return 1;
}

/* A contract is stored, so none may hold a secret. Words of a command stand side by side for this:
 * a password follows its option. */
static int no_secrets(const struct run_env *env, const struct str *canonical, struct err *err)
{
	AUTO_FREE char *words = xstrdup(str_text(canonical));
	AUTO_FREE char *clean = NULL, *again = NULL;
	size_t hits = 0, more = 0;

	for (char *p = words; (p = strstr(p, "\",\"")) != NULL;)
		memcpy(p, "   ", 3);
	clean = redact_text(sv_of(words), &hits);
	again = redact_text(sv_of(env->contract_text), &more);
	if (!hits && !more)
		return 0;
	(void)bail(err, ERR_PARSE, "the contract holds what looks like a secret (%zu time%s)",
		   MAX(hits, more), MAX(hits, more) == 1 ? "" : "s");
	err_hint(err, "Contracts are stored. Leave it in the environment of 'twice run', which the "
		      "workload inherits, or in a file that the workload reads.");
	return -ERR_PARSE;
}

int run_put_contract(const struct run_env *env, char ret[65], struct err *err)
{
	static const char *const kinds[] = { "contract.set", NULL };
	const struct contract *c = env->contract;
	struct ledger_filter f = {
		.kinds = kinds, .digest = c->digest, .newest_first = true, .limit = 1
	};
	struct ledger_blob canonical CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_blob source CLEANUP(ledger_blob_release) = { 0 };
	struct str bytes CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *j = NULL, *body = NULL;
	AUTO_FREE char *clean = NULL;
	struct ledger_ref ref;

	ret[0] = '\0';
	TRY(ledger_each(env->ledger, &f, has_contract, ret, err));
	if (ret[0])
		return 0;
	j = contract_to_json(c);
	TRY(canon_write(j, 0, &bytes, err));
	TRY(no_secrets(env, &bytes, err));
	TRY(ledger_blob_put(env->ledger, bytes.p, bytes.n, "application/json", &canonical, err));
	if (!streq(canonical.digest, c->digest))
		return bail(err, ERR_BUG,
			    "the contract's digest is not that of its canonical form");
	clean = redact_text(sv_of(env->contract_text), NULL);
	TRY(ledger_blob_put(env->ledger, clean, strlen(clean), "application/yaml", &source, err));
	body = json_object();
	json_put_str(body, "workload", c->workload.name);
	json_put(body, "contract", ledger_blob_json(&canonical));
	json_put(body, "source", ledger_blob_json(&source));
	TRY(run_append(env, "contract.set", body, &ref, err));
	memcpy(ret, ref.hex, 65);
	return 0;
}

int run_put_stack(const struct run_env *env, const struct stack *s, char ret[65], struct err *err)
{
	struct ledger_blob blob CLEANUP(ledger_blob_release) = { 0 };
	struct str bytes CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *j = stack_to_json(s), *body = json_object();
	struct ledger_ref ref;
	char digest[65];

	stack_digest(s, digest);
	TRY(canon_write(j, 0, &bytes, err));
	TRY(ledger_blob_put(env->ledger, bytes.p, bytes.n, "application/json", &blob, err));
	json_put_str(body, "stack_digest", digest);
	json_put(body, "components", ledger_blob_json(&blob));
	json_put_int(body, "count", (int64_t)s->n);
	TRY(run_append(env, "stack.capture", body, &ref, err));
	memcpy(ret, ref.hex, 65);
	return 0;
}

int run_get_stack(struct ledger *l, const char *capture, struct stack *ret, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct stack s CLEANUP(stack_release) = { 0 };
	AUTO_FREE char *text = NULL;
	AUTO_JSON json_t *j = NULL;
	const char *digest;
	char again[65];
	size_t n;

	TRY(run_entry(l, capture, "stack.capture", &e, err));
	digest = run_ref_of(e.body, "components");
	if (!digest)
		return bail(err, ERR_BROKEN, "entry '%.16s' names no components", capture);
	if (ledger_blob_get(l, digest, RUN_BLOB_LIMIT, &text, &n, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -(int)err->code;
		(void)bail(err, ERR_MISSING,
			   "what a stack was made of is lost or withheld: blob %.12s", digest);
		err_hint(err, "'twice verify' says what else is missing.");
		return -ERR_MISSING;
	}
	TRY(canon_read((struct sv){ text, n }, 0, CANON_STRICT, &j, err));
	TRY(stack_from_json(j, &s, err));
	stack_digest(&s, again);
	if (!streq(again, json_str_or(e.body, "stack_digest", "")))
		return bail(err, ERR_BROKEN,
			    "entry '%.16s': the stack's digest is not its components'", capture);
	*ret = s;
	s = (struct stack){ 0 };
	return 0;
}

/* Text is redacted once more before it is hashed; what is no text goes in as it is. */
static int put_file(const struct run_env *env, struct evidence *e, struct err *err)
{
	struct ledger_blob blob CLEANUP(ledger_blob_release) = { 0 };
	bool is_text = str_starts(e->media_type, "text/") || strstr(e->media_type, "json");

	if (is_text) {
		AUTO_FREE char *text = NULL;
		AUTO_FREE char *clean = NULL;
		size_t n;

		TRY(file_read(e->path, RUN_BLOB_LIMIT, &text, &n, err));
		clean = redact_text((struct sv){ text, n }, NULL);
		TRY(ledger_blob_put(env->ledger, clean, strlen(clean), e->media_type, &blob, err));
	} else {
		TRY(ledger_blob_put_file(env->ledger, e->path, e->media_type, &blob, err));
	}
	free(e->digest);
	e->digest = xstrdup(blob.digest);
	e->bytes = blob.bytes;
	return 0;
}

int run_put_evidence(const struct run_env *env, struct evidences *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		struct evidence *e = &l->v[i];

		if (e->digest || !e->path || !file_exists(e->path))
			continue;
		if (put_file(env, e, err) < 0)
			return err_wrap(err, "cannot keep the evidence '%s'", e->label);
		free(e->path);
		e->path = NULL;
	}
	return 0;
}

int run_evidence_text(struct ledger *l, const struct evidences *e, const char *label, char **ret,
		      size_t *ret_n, struct err *err)
{
	for (size_t i = 0; i < e->n; i++)
		if (streq(e->v[i].label, label) && e->v[i].digest)
			return ledger_blob_get(l, e->v[i].digest, RUN_BLOB_LIMIT, ret, ret_n, err);
	return bail(err, ERR_NOT_FOUND, "no evidence '%s'", label);
}
