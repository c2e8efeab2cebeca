/* SPDX-License-Identifier: Apache-2.0 */
/* Who may sign what: keys as entries made them known, the policy of the genesis, standings. */
#include "ledger/inner.h"
#include "ledger/sshwire.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

/* ---- keys ---------------------------------------------------------------------------------------- */

static void key_release(struct ledger_key *k)
{
	free(k->line);
	free(k->holder);
	for (size_t i = 0; k->roles && k->roles[i]; i++)
		free(k->roles[i]);
	free(k->roles);
}

void ledger_keys_release(struct ledger_keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		key_release(&k->v[i]);
	free(k->v);
	*k = (struct ledger_keys){ 0 };
}

json_t *ledger_key_body(const struct ssh_key *k, const char *holder, const char *const *roles,
			int64_t from_ms, int64_t to_ms)
{
	json_t *o = json_object(), *a = json_array();

	for (size_t i = 0; roles && roles[i]; i++)
		(void)json_array_append_new(a, json_string(roles[i]));
	json_put_str(o, "public_key", k->line);
	json_put_str(o, "fingerprint", k->fingerprint);
	json_put_str(o, "holder", holder);
	json_put(o, "roles", a);
	json_put_int(o, "valid_from_ms", from_ms);
	json_put_int(o, "valid_to_ms", to_ms);
	return o;
}

static void add_key(struct ledger_keys *k, uint64_t seq, const json_t *body)
{
	const json_t *roles = json_object_get(body, "roles");
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger_key *n;
	int64_t to;

	/* The fingerprint is the key's own, whatever the entry calls it. */
	if (ssh_key_parse(sv_of(json_str_or(body, "public_key", "")), &key, &err) < 0)
		return;
	n = VEC_ADD(k);
	n->line = xstrdup(key.line);
	n->holder = xstrdup(json_str_or(body, "holder", ""));
	memcpy(n->fingerprint, key.fingerprint, sizeof(n->fingerprint));
	n->roles = xcalloc(json_array_size(roles) + 1, sizeof(*n->roles));
	for (size_t i = 0, at = 0; i < json_array_size(roles); i++)
		if (json_is_string(json_array_get(roles, i)))
			n->roles[at++] = xstrdup(json_string_value(json_array_get(roles, i)));
	n->added = seq;
	n->revoked = UINT64_MAX;
	n->from_ms = json_int_or(body, "valid_from_ms", 0);
	to = json_int_or(body, "valid_to_ms", 0);
	n->to_ms = to ? to : INT64_MAX;
}

void keys_take(struct ledger_keys *k, uint64_t seq, const char *kind, const json_t *body)
{
	const json_t *first = json_object_get(body, "keys");
	const char *which = json_str_or(body, "fingerprint", "");

	if (streq(kind, "ledger.genesis")) {
		for (size_t i = 0; i < json_array_size(first); i++)
			add_key(k, seq, json_array_get(first, i));
	} else if (streq(kind, "key.add")) {
		add_key(k, seq, body);
	} else if (streq(kind, "key.revoke")) {
		for (size_t i = 0; i < k->n; i++)
			if (streq(k->v[i].fingerprint, which) && k->v[i].revoked == UINT64_MAX)
				k->v[i].revoked = seq;
	}
}

static int on_key(void *arg, const struct ledger_entry *e, struct err *err)
{
	(void)err;
	keys_take(arg, e->ref.seq, e->kind, e->body);
	return 0;
}

int ledger_keys_read(struct ledger *l, struct ledger_keys *ret, struct err *err)
{
	static const char *const kinds[] = { "ledger.genesis", "key.add", "key.revoke", NULL };
	struct ledger_filter f = { .kinds = kinds };
	struct ledger_keys own CLEANUP(ledger_keys_release) = { 0 };

	TRY(ledger_each(l, &f, on_key, &own, err));
	*ret = own;
	own = (struct ledger_keys){ 0 };
	return 0;
}

/* A key is good for its own key.add (the first one signs itself) and for what came later. */
const struct ledger_key *ledger_key_valid(const struct ledger_keys *k, const char *fingerprint,
					  uint64_t seq, int64_t at_ms)
{
	for (size_t i = 0; i < k->n; i++) {
		const struct ledger_key *x = &k->v[i];

		if (streq(x->fingerprint, fingerprint) && x->added <= seq && seq < x->revoked &&
		    x->from_ms <= at_ms && at_ms < x->to_ms)
			return x;
	}
	return NULL;
}

char *ledger_allowed_signers(const struct ledger_keys *k)
{
	struct str s = { 0 };

	for (size_t i = 0; i < k->n; i++) {
		if (k->v[i].revoked != UINT64_MAX)
			continue;
		/* A principal is one word for ssh-keygen: blanks and quotes would end it. */
		for (const char *p = k->v[i].holder; *p; p++)
			str_addc(&s, (unsigned char)*p <= 0x20 || strchr("\"',*?!", *p) ? '_' : *p);
		str_addf(&s, " namespaces=\"%s\" %s\n", LEDGER_NAMESPACE, k->v[i].line);
	}
	return str_steal(&s);
}

void note_keys_take(struct note_keys *k, const char *kind, const json_t *body)
{
	const char *vkey = json_str_or(body, "vkey", NULL);
	struct note_key key = { 0 };
	struct err err = ERR_INIT;

	if (!vkey || (!streq(kind, "ledger.genesis") && !streq(kind, "key.add")))
		return;
	if (note_key_parse(sv_of(vkey), &key, &err) == 0)
		*VEC_ADD(k) = key;
}

/* ---- policy --------------------------------------------------------------------------------------- */

json_t *ledger_default_policy(void)
{
	return json_pack("{s:{s:i,s:s,s:b}, s:{s:i,s:s,s:b}, s:{s:i,s:s,s:b}, s:{s:i,s:s,s:b}}", "signoff",
			 "holders", 1, "role", "approver", "self_approval", 1, "waiver", "holders", 1, "role",
			 "approver", "self_approval", 1, "key_add", "holders", 1, "role", "admin",
			 "self_approval", 1, "key_revoke", "holders", 1, "role", "admin", "self_approval", 1);
}

struct policy_rule policy_rule_of(const json_t *policy, const char *kind)
{
	AUTO_FREE char *name = xstrdup(kind);
	const json_t *o;

	for (char *p = name; *p; p++)
		*p = *p == '.' ? '_' : *p;
	o = json_object_get(policy, name);
	if (!json_is_object(o))
		return (struct policy_rule){ 0 };
	return (struct policy_rule){ true, json_int_or(o, "holders", 1), json_str_or(o, "role", NULL),
				     json_bool_or(o, "self_approval", false) };
}

int policy_check(const json_t *policy, struct err *err)
{
	const char *kind;
	json_t *o;

	if (!json_is_object(policy))
		return bail(err, ERR_PARSE, "a policy is an object of kinds");
	json_object_foreach((json_t *)(uintptr_t)policy, kind, o) {
		int64_t holders = json_int_or(o, "holders", 1);

		if (!json_is_object(o) || holders < 1 || holders > 100)
			return bail(err, ERR_PARSE, "policy '%s': holders must be 1 to 100", kind);
	}
	return 0;
}

/* ---- judging signatures ------------------------------------------------------------------------------ */

void signed_by_release(struct signed_by *s)
{
	strs_release(&s->holders);
	str_release(&s->why);
}

static bool has_role(const struct ledger_key *k, const char *role)
{
	for (size_t i = 0; k->roles && k->roles[i]; i++)
		if (streq(k->roles[i], role))
			return true;
	return !role;
}

static PRINTF(2, 3) void because(struct signed_by *s, const char *fmt, ...)
{
	va_list ap;

	if (s->why.n)
		return;
	va_start(ap, fmt);
	str_vaddf(&s->why, fmt, ap);
	va_end(ap);
}

void signed_by_take(struct signed_by *s, const struct sig_row *r, struct sv bytes, uint64_t seq,
		    int64_t at_ms, const struct ledger_keys *keys, const struct policy_rule *rule,
		    const struct strs *self)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	const struct ledger_key *k;
	struct err err = ERR_INIT;

	if (!sv_is(r->scheme, "sshsig"))
		return;
	if (ssh_verify(r->sig, LEDGER_NAMESPACE, bytes.p, bytes.n, &key, &err) < 0) {
		s->bad++;
		because(s, "a signature does not fit the entry: %s", err.msg);
		return;
	}
	if (!sv_is(r->signer, key.fingerprint)) {
		s->bad++;
		because(s, "a signature is filed under another key than made it");
		return;
	}
	k = ledger_key_valid(keys, key.fingerprint, seq, at_ms);
	if (!k) {
		s->not_valid++;
		because(s, "key %s is not valid at this entry", key.fingerprint);
		return;
	}
	s->good++;
	if (rule->role && !has_role(k, rule->role)) {
		because(s, "%s is no %s", k->holder, rule->role);
		return;
	}
	if (self && !rule->self_approval && strs_has(self, k->holder)) {
		because(s, "%s ran it, and may not approve it", k->holder);
		return;
	}
	if (!strs_has(&s->holders, k->holder))
		strs_add(&s->holders, k->holder);
}

enum ledger_standing signed_by_standing(const struct signed_by *s, const struct policy_rule *rule)
{
	if (!rule->there)
		return LEDGER_NO_POLICY;
	if ((int64_t)s->holders.n >= rule->holders)
		return LEDGER_IN_FORCE;
	return s->holders.n ? LEDGER_PENDING : LEDGER_NOT_SIGNED;
}

/* Who can't approve their own: the writers named in the entry. */
static void self_of(const struct ledger_entry *e, struct strs *ret)
{
	const char *by = json_str_or(e->body, "run_by", NULL);

	if (by)
		strs_add(ret, by);
}

static int policy_of(struct ledger *l, struct ledger_entry *genesis, json_t **ret, struct err *err)
{
	TRY(ledger_get(l, 0, genesis, err));
	*ret = json_object_get(genesis->body, "policy");
	return 0;
}

struct judging {
	struct signed_by *s;
	struct sv bytes;
	uint64_t seq;
	int64_t at_ms;
	const struct ledger_keys *keys;
	const struct policy_rule *rule;
	const struct strs *self;
};

static int on_signature(void *arg, const struct sig_row *r, struct err *err)
{
	const struct judging *j = arg;

	(void)err;
	signed_by_take(j->s, r, j->bytes, j->seq, j->at_ms, j->keys, j->rule, j->self);
	return 0;
}

int ledger_standing(struct ledger *l, uint64_t seq, enum ledger_standing *ret, struct strs *ret_holders,
		    struct str *why, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_entry genesis CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct signed_by s CLEANUP(signed_by_release) = { 0 };
	struct strs self CLEANUP(strs_release) = { 0 };
	struct policy_rule rule;
	struct judging j;
	json_t *policy;

	TRY(ledger_get(l, seq, &e, err));
	TRY(policy_of(l, &genesis, &policy, err));
	TRY(ledger_keys_read(l, &keys, err));
	rule = policy_rule_of(policy, e.kind);
	self_of(&e, &self);
	j = (struct judging){ &s, { e.bytes, e.n }, seq, e.at_ms, &keys, &rule, &self };
	TRY(l->store->ops->signatures(l->store, e.ref.leaf, on_signature, &j, err));
	*ret = signed_by_standing(&s, &rule);
	if (ret_holders)
		strs_copy(ret_holders, &s.holders);
	if (why && *ret != LEDGER_IN_FORCE && *ret != LEDGER_NO_POLICY) {
		str_addf(why, "%zu of %lld holders have signed", s.holders.n, (long long)rule.holders);
		if (s.why.n)
			str_addf(why, ": %s", str_text(&s.why));
	}
	return 0;
}

int ledger_may_sign(struct ledger *l, const struct ledger_draft *d, const struct ssh_key *key,
		    struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	TRY(entry_full((struct sv){ d->bytes, d->n }, d->ref.leaf, &e, err));
	TRY(ledger_keys_read(l, &keys, err));
	if (!keys.n && streq(d->kind, "key.add"))
		keys_take(&keys, d->ref.seq, d->kind, e.body);
	if (ledger_key_valid(&keys, key->fingerprint, d->ref.seq, e.at_ms))
		return 0;
	bail(err, ERR_UNSUPPORTED, "key %s is not known to this ledger, or not valid now", key->fingerprint);
	err_hint(err, "A key that is known has to add it first (key.add).");
	return -ERR_UNSUPPORTED;
}

/* ---- signatures kept ----------------------------------------------------------------------------------- */

void ledger_signatures_release(struct ledger_signatures *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].scheme);
		free(s->v[i].signer);
		free(s->v[i].sig);
	}
	free(s->v);
	*s = (struct ledger_signatures){ 0 };
}

static int keep_signature(void *arg, const struct sig_row *r, struct err *err)
{
	struct ledger_signatures *l = arg;
	struct ledger_signature *s = VEC_ADD(l);

	(void)err;
	*s = (struct ledger_signature){ sv_dup(r->scheme), sv_dup(r->signer), sv_dup(r->sig), r->sig.n };
	return 0;
}

int ledger_signatures_of(struct ledger *l, const uint8_t leaf[SHA256_LEN], struct ledger_signatures *ret,
			 struct err *err)
{
	struct ledger_signatures own CLEANUP(ledger_signatures_release) = { 0 };

	TRY(l->store->ops->signatures(l->store, leaf, keep_signature, &own, err));
	*ret = own;
	own = (struct ledger_signatures){ 0 };
	return 0;
}

int ledger_sign(struct ledger *l, uint64_t seq, const char *armored, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ledger_signatures there CLEANUP(ledger_signatures_release) = { 0 };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str normal CLEANUP(str_release) = { 0 };
	struct ledger *locked CLEANUP(lock_dropp) = NULL;
	struct sig_row row = { .scheme = SV("sshsig") };

	if (l->readonly)
		return bail(err, ERR_USAGE, "the ledger is open for reading only");
	TRY(ledger_get(l, seq, &e, err));
	TRY(ssh_verify(sv_of(armored), LEDGER_NAMESPACE, e.bytes, e.n, &key, err));
	TRY(ledger_keys_read(l, &keys, err));
	if (!ledger_key_valid(&keys, key.fingerprint, seq, e.at_ms))
		return bail(err, ERR_UNSUPPORTED, "key %s is not valid at entry %llu", key.fingerprint,
			    (unsigned long long)seq);
	TRY(ledger_signatures_of(l, e.ref.leaf, &there, err));
	for (size_t i = 0; i < there.n; i++)
		if (streq(there.v[i].signer, key.fingerprint))
			return bail(err, ERR_CONFLICT, "that key has signed entry %llu already",
				    (unsigned long long)seq);
	if (!ssh_sig_normal(sv_of(armored), &normal))
		return bail(err, ERR_PARSE, "the signature is not armored as SSHSIG");
	memcpy(row.leaf, e.ref.leaf, SHA256_LEN);
	row.signer = sv_of(key.fingerprint);
	row.sig = sv_str(&normal);
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, true, err));
	if (l->store->ops->sign(l->store, &row, err) < 0) {
		l->store->ops->rollback(l->store);
		return -(int)err->code;
	}
	return l->store->ops->commit(l->store, err);
}
