/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verdict for other people's tools: in-toto Statement v1 with one of three predicates, in a DSSE
 * envelope or a Sigstore bundle v0.3, and a C2SP tlog-proof of any entry.
 */
#include "ledger/dsse.h"
#include "ledger/inner.h"
#include "ledger/proof.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "model/model.h"
#include <sys/stat.h>

#define LL (unsigned long long)

static const char *const predicate_types[] = {
	[LEDGER_PREDICATE_VERDICT] = "https://twice.example/verdict/v1",
	[LEDGER_PREDICATE_TEST_RESULT] = "https://in-toto.io/attestation/test-result/v0.1",
	[LEDGER_PREDICATE_VSA] = "https://slsa.dev/verification_summary/v1",
};

const char *ledger_predicate_type(enum ledger_predicate p)
{
	return predicate_types[p];
}

/* ---- the newest head that covers an entry ---- */

struct covering {
	struct ledger *l;
	uint64_t seq, now;
	struct ledger_checkpoint best;
	size_t best_lines; /* one that witnesses have cosigned says more */
};

static void consider(struct covering *c, struct sv text)
{
	struct note n CLEANUP(note_release) = { 0 };
	struct err ignored = ERR_INIT;
	struct checkpoint cp;

	if (note_parse(text, &n, &ignored) < 0 || checkpoint_parse(n.text, &cp, &ignored) < 0 ||
	    cp.size <= c->seq || cp.size > c->now || !sv_is(cp.origin, c->l->origin))
		return;
	if (n.lines.n < c->best_lines || (n.lines.n == c->best_lines && cp.size <= c->best.size))
		return;
	ledger_checkpoint_release(&c->best);
	c->best.size = cp.size;
	memcpy(c->best.root, cp.root, SHA256_LEN);
	hex_of(cp.root, SHA256_LEN, c->best.root_hex);
	c->best.note = sv_dup(text);
	c->best_lines = n.lines.n;
}

static int on_note(void *arg, uint64_t size, struct sv note, struct err *err)
{
	(void)size, (void)err;
	consider(arg, note);
	return 0;
}

static void consider_file(struct covering *c, const char *dir, const char *name)
{
	AUTO_FREE char *path = path_join(dir, name), *text = NULL;
	struct err ignored = ERR_INIT;
	size_t n;

	if (file_read(path, NOTE_MAX, &text, &n, &ignored) == 0)
		consider(c, (struct sv){ text, n });
}

/* The files, which hold the newest; the many that the store has kept only when none of them will
 * do. */
static int find_covering(struct covering *c, struct err *err)
{
	AUTO_FREE char *anchors = path_join(c->l->dir, LEDGER_ANCHORS);
	struct strs names CLEANUP(strs_release) = { 0 };

	TRY(ledger_size(c->l, &c->now, NULL, err));
	consider_file(c, c->l->dir, LEDGER_CHECKPOINT);
	if (dir_exists(anchors))
		TRY(dir_list(anchors, &names, err));
	for (size_t i = 0; i < names.n; i++)
		consider_file(c, anchors, names.v[i]);
	if (!c->best.note)
		TRY(c->l->store->ops->notes(c->l->store, on_note, c, err));
	if (c->best.note)
		return 0;
	(void)bail(err, ERR_NOT_FOUND, "no signed checkpoint covers entry %llu", LL c->seq);
	err_hint(err, "Every command that adds to the ledger makes one at its end.");
	return -ERR_NOT_FOUND;
}

static int check_covering(const struct covering *c, struct err *err)
{
	struct merkle_source s = ledger_nodes(c->l);
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	uint8_t root[SHA256_LEN];
	bool good = false;

	TRY(note_key_parse(sv_of(c->l->vkey), &key, err));
	TRY(note_parse(sv_of(c->best.note), &n, err));
	for (size_t i = 0; i < n.lines.n; i++)
		good |= note_line_check(&n, &n.lines.v[i], &key, NULL) == NOTE_GOOD;
	if (!good)
		return bail(err, ERR_BROKEN,
			    "the checkpoint over %llu entries is not signed by "
			    "the ledger's key",
			    LL c->best.size);
	TRY(merkle_root(&s, c->best.size, root, err));
	if (memcmp(root, c->best.root, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "the checkpoint over %llu entries has another root",
			    LL c->best.size);
	return 0;
}

int ledger_checkpoint_covering(struct ledger *l, uint64_t seq, struct ledger_checkpoint *ret,
			       struct err *err)
{
	struct covering c = { .l = l, .seq = seq };
	int rc = find_covering(&c, err);

	if (rc == 0)
		rc = check_covering(&c, err);
	if (rc < 0) {
		ledger_checkpoint_release(&c.best);
		return rc;
	}
	*ret = c.best;
	return 0;
}

/* ---- statements ---- */

static bool passes(enum verdict_kind k)
{
	return k == VERDICT_ACCEPTED || k == VERDICT_ACCEPTED_NOTE;
}

static enum verdict_kind kind_of(const struct ledger_entry *verdict)
{
	const json_t *d = json_object_get(verdict->body, "decision");
	enum verdict_kind k;

	return verdict_parse(sv_of(json_str_or(d, "verdict", "")), &k) ? k : VERDICT_NO_RESULT;
}

static json_t *digest_json(struct sv hex)
{
	json_t *o = json_object(), *d = json_object();

	(void)json_object_set_new(d, "sha256", json_stringn(hex.p, hex.n));
	json_put(o, "digest", d);
	return o;
}

/* "sha256:<64 hex>" or 64 hex. The name is for people: who matches does it by digest alone. */
static void add_subject(json_t *list, const char *name, const char *digest)
{
	struct sv hex = sv_of(digest);
	json_t *o;

	if (sv_starts(hex, "sha256:"))
		hex = (struct sv){ hex.p + 7, hex.n - 7 };
	if (!hex_is_sha256(hex))
		return;
	o = digest_json(hex);
	json_put_str(o, "name", name);
	(void)json_array_append_new(list, o);
}

static const char *contract_of(const struct ledger_entry *verdict)
{
	return json_str_or(json_object_get(verdict->body, "contract"), "digest", "");
}

/* What the statement is about: what was run, as far as it has digests. */
static json_t *subjects(const struct ledger_attest *a)
{
	json_t *list = json_array();

	for (size_t i = 0; a->stack && i < a->stack->n; i++) {
		const struct component *c = &a->stack->v[i];
		AUTO_FREE char *name = NULL;

		if (!c->digest || (c->layer != CL_IMAGE && c->layer != CL_MODEL))
			continue;
		name = xasprintf("%s/%s", component_layer_name(c->layer), c->name);
		add_subject(list, name, c->digest);
	}
	add_subject(list, "stack", json_str_or(a->verdict->body, "stack_digest", ""));
	add_subject(list, "contract", contract_of(a->verdict));
	return list;
}

static int verdict_predicate(struct ledger *l, const struct ledger_attest *a, json_t **ret,
			     struct err *err)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct ledger_proof proof CLEANUP(ledger_proof_release) = { 0 };
	json_t *o, *inclusion, *hashes, *entry;

	TRY(ledger_checkpoint_covering(l, a->verdict->ref.seq, &cp, err));
	TRY(ledger_inclusion(l, a->verdict->ref.seq, cp.size, &proof, err));
	TRY(json_read((struct sv){ a->verdict->bytes, a->verdict->n }, "the entry", &entry, err));
	o = json_object();
	inclusion = json_object();
	hashes = json_array();
	for (size_t i = 0; i < proof.n; i++) {
		AUTO_FREE char *b64 = base64_of(proof.hash[i], SHA256_LEN);

		(void)json_array_append_new(hashes, json_string(b64));
	}
	json_put_int(inclusion, "index", (int64_t)a->verdict->ref.seq);
	json_put_int(inclusion, "treeSize", (int64_t)cp.size);
	json_put(inclusion, "hashes", hashes);
	json_put_str(o, "verdict", verdict_code(kind_of(a->verdict)));
	json_put(o, "entry", entry);
	json_put_str(o, "leaf", a->verdict->ref.hex);
	json_put_str(o, "checkpoint", cp.note);
	json_put_str(o, "ledgerKey", l->vkey);
	json_put(o, "inclusionProof", inclusion);
	*ret = o;
	return 0;
}

static json_t *test_result_predicate(const struct ledger_attest *a)
{
	enum verdict_kind k = kind_of(a->verdict);
	json_t *o = json_object(), *configuration = json_array(), *lists[3];
	const json_t *t;
	size_t i;

	add_subject(configuration, "contract", contract_of(a->verdict));
	for (i = 0; i < 3; i++)
		lists[i] = json_array();
	json_array_foreach(a->tests, i, t)
	{
		const char *status = json_str_or(t, "status", "");
		size_t to = streq(status, "passed") ? 0 : streq(status, "skipped") ? 1 : 2;

		json_put_line(lists[to], "%s", json_str_or(t, "name", ""));
	}
	json_put_str(o, "result",
		     k == VERDICT_ACCEPTED        ? "PASSED"
		     : k == VERDICT_ACCEPTED_NOTE ? "WARNED"
						  : "FAILED");
	json_put(o, "configuration", configuration);
	json_put(o, "passedTests", lists[0]);
	json_put(o, "warnedTests", lists[1]);
	json_put(o, "failedTests", lists[2]);
	return o;
}

/* Whatever is no unreserved character of RFC 3986 is escaped. */
static char *uri_part(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-._~/";
	struct str s = { 0 };

	for (; *text; text++) {
		if (strchr(plain, *text))
			str_addc(&s, *text);
		else
			str_addf(&s, "%%%02X", (unsigned)(unsigned char)*text);
	}
	return str_steal(&s);
}

static json_t *vsa_predicate(const struct ledger *l, const struct ledger_attest *a)
{
	bool good = passes(kind_of(a->verdict));
	AUTO_FREE char *name = uri_part(json_str_or(a->verdict->body, "workload", ""));
	AUTO_FREE char *origin = uri_part(l->origin);
	AUTO_FREE char *resource = xasprintf("https://%s/workload/%s", origin, name);
	AUTO_FREE char *policy_uri = xasprintf("https://%s/contract/%s", origin, name);
	json_t *o = json_object(), *verifier = json_object(), *levels = json_array();
	json_t *policy = digest_json(sv_of(contract_of(a->verdict)));

	json_put_str(verifier, "id", "https://twice.example/verifier/v1");
	json_put_str(policy, "uri", policy_uri);
	json_put(o, "verifier", verifier);
	json_put_str(o, "timeVerified", a->verdict->at);
	json_put_str(o, "resourceUri", resource);
	json_put(o, "policy", policy);
	json_put_str(o, "verificationResult", good ? "PASSED" : "FAILED");
	json_put_line(levels, "%s", good ? "TWICE_ACCEPTED" : "FAILED");
	if (good && a->proven)
		json_put_line(levels, "TWICE_PROVEN");
	json_put(o, "verifiedLevels", levels);
	json_put_str(o, "slsaVersion", "1.0");
	return o;
}

int ledger_statement(struct ledger *l, const struct ledger_attest *a, enum ledger_predicate p,
		     json_t **ret, struct err *err)
{
	json_t *predicate = NULL, *o, *list;

	if (!streq(a->verdict->kind, "verdict"))
		return bail(err, ERR_UNSUPPORTED, "entry %llu is a %s, no verdict",
			    LL a->verdict->ref.seq, a->verdict->kind);
	list = subjects(a);
	if (!json_array_size(list)) {
		json_decref(list);
		return bail(err, ERR_BROKEN, "verdict %llu names neither contract nor stack",
			    LL a->verdict->ref.seq);
	}
	if (p == LEDGER_PREDICATE_VERDICT) {
		int rc = verdict_predicate(l, a, &predicate, err);

		if (rc < 0) {
			json_decref(list);
			return rc;
		}
	} else {
		predicate =
			p == LEDGER_PREDICATE_VSA ? vsa_predicate(l, a) : test_result_predicate(a);
	}
	o = json_object();
	json_put_str(o, "_type", "https://in-toto.io/Statement/v1");
	json_put(o, "subject", list);
	json_put_str(o, "predicateType", predicate_types[p]);
	json_put(o, "predicate", predicate);
	*ret = o;
	return 0;
}

/* ---- envelopes and bundles ---- */

struct ledger_signer {
	struct dsse_key key;
	char id[SHA256_HEX];
};

void ledger_signer_free(struct ledger_signer *s)
{
	if (s)
		dsse_key_release(&s->key);
	free(s);
}

const char *ledger_signer_id(const struct ledger_signer *s)
{
	return s->id;
}

const char *ledger_signer_public(const struct ledger_signer *s)
{
	return s->key.public_pem;
}

int ledger_signer_read(const char *path, struct ledger_signer **ret, struct err *err)
{
	CLEANUP(ledger_signer_freep) struct ledger_signer *own = xcalloc(1, sizeof(*own));
	AUTO_FREE char *text = NULL;
	struct stat st;
	size_t n;
	int rc;

	if (stat(path, &st) == 0 && (st.st_mode & 077)) {
		(void)bail(err, ERR_PARSE, "'%s' can be read by others", path);
		err_hint(err, "Run chmod 600 on it; if others may have read it, make a new key.");
		return -ERR_PARSE;
	}
	TRY(file_read(path, 64 * KIB, &text, &n, err));
	rc = dsse_key_parse((struct sv){ text, n }, &own->key, err);
	wipe(text, n);
	if (rc < 0)
		return err_wrap(err, "'%s'", path);
	if (!own->key.can_sign)
		return bail(err, ERR_PARSE, "'%s' is a public key: it can't sign", path);
	hex_of(own->key.id, SHA256_LEN, own->id);
	*ret = STEAL(own);
	return 0;
}

int ledger_signer_make(const char *path, struct ledger_signer **ret, struct err *err)
{
	CLEANUP(ledger_signer_freep) struct ledger_signer *own = xcalloc(1, sizeof(*own));
	AUTO_FREE char *public = xasprintf("%s.pub", path), *pem = NULL;
	int rc;

	if (file_exists(path))
		return bail(err, ERR_CONFLICT, "'%s' is there already", path);
	TRY(dsse_key_make(&own->key, &pem, err));
	rc = file_write(path, pem, strlen(pem), 0600, err);
	wipe(pem, strlen(pem));
	TRY(rc);
	TRY(file_write(public, own->key.public_pem, strlen(own->key.public_pem), 0644, err));
	hex_of(own->key.id, SHA256_LEN, own->id);
	*ret = STEAL(own);
	return 0;
}

void ledger_envelope(const struct ledger_signer *s, const json_t *statement, struct str *ret)
{
	AUTO_FREE char *text = json_text(statement, /* pretty= */ false);

	dsse_write(&s->key, SV(DSSE_TYPE_INTOTO), sv_of(text), ret);
}

/* The hint is what cosign makes of a public key: base64 of the SHA-256 of its DER. */
void ledger_bundle(const struct ledger_signer *s, const json_t *statement, struct str *ret)
{
	AUTO_FREE char *hint = base64_of(s->key.id, SHA256_LEN);
	struct str line CLEANUP(str_release) = { 0 };

	ledger_envelope(s, statement, &line);
	str_addf(ret,
		 "{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\","
		 "\"verificationMaterial\":{\"publicKey\":{\"hint\":\"%s\"},\"tlogEntries\":[]},"
		 "\"dsseEnvelope\":%s}\n",
		 hint, str_text(&line));
}

/* ---- proofs ---- */

int ledger_proof_file(struct ledger *l, const struct ledger_entry *e, struct str *ret,
		      struct err *err)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct ledger_proof proof CLEANUP(ledger_proof_release) = { 0 };

	TRY(ledger_checkpoint_covering(l, e->ref.seq, &cp, err));
	TRY(ledger_inclusion(l, e->ref.seq, cp.size, &proof, err));
	tlog_proof_write((struct sv){ e->bytes, e->n }, e->ref.seq, &proof, sv_of(cp.note), ret);
	return 0;
}
