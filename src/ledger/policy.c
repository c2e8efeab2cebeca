/* SPDX-License-Identifier: Apache-2.0 */
/* Who may sign what, and whether it was signed so. */
#include "ledger/inner.h"
#include "ledger/sshwire.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

#define DAY_MS (86400 * (int64_t)1000)

/* ---- keys ---- */

static void key_release(struct ledger_key *k)
{
	free(k->line);
	free(k->holder);
	for (char **r = k->roles; r && *r; r++)
		free(*r);
	free(k->roles);
}

void ledger_keys_release(struct ledger_keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		key_release(&k->v[i]);
	free(k->v);
	*k = (struct ledger_keys){ 0 };
}

static int64_t time_or(const json_t *o, const char *key, int64_t def)
{
	const char *text = json_str_or(o, key, NULL);
	int64_t ms;

	return text && time_utc_parse(text, &ms) ? ms : def;
}

/* {"key":line,"holder":H,"roles":[...],"valid_from":T,"valid_to":T or null} */
static void key_take(struct ledger_keys *k, uint64_t seq, const json_t *o)
{
	struct ssh_key ssh CLEANUP(ssh_key_release) = { 0 };
	struct err ignored = ERR_INIT;
	const json_t *roles = json_object_get(o, "roles");
	const char *to = json_str_or(o, "valid_to", NULL);
	struct ledger_key *new;

	/* A key that nobody can use makes no signature valid; that is all there is to say about
	 * it. */
	if (ssh_key_parse(sv_of(json_str_or(o, "key", "")), &ssh, &ignored) < 0)
		return;
	new = VEC_ADD(k);
	new->line = STEAL(ssh.line);
	new->holder = xstrdup(json_str_or(o, "holder", ""));
	memcpy(new->fingerprint, ssh.fingerprint, sizeof(new->fingerprint));
	new->roles = xcalloc(json_array_size(roles) + 1, sizeof(*new->roles));
	for (size_t i = 0, n = 0; i < json_array_size(roles); i++)
		if (json_is_string(json_array_get(roles, i)))
			new->roles[n++] = xstrdup(json_string_value(json_array_get(roles, i)));
	new->added = seq;
	new->revoked = UINT64_MAX;
	new->from_ms = time_or(o, "valid_from", 0);
	/* An end that cannot be read is no open end. */
	new->to_ms = to ? time_or(o, "valid_to", INT64_MIN) : INT64_MAX;
}

/* At once, or (a key that was replaced) from `valid_to` on; an end never moves back out. */
static void key_gone(struct ledger_keys *k, uint64_t seq, const char *gone, const json_t *body)
{
	const char *to = json_str_or(body, "valid_to", NULL);

	for (size_t i = 0; i < k->n; i++) {
		struct ledger_key *key = &k->v[i];

		if (!streq(key->fingerprint, gone) || key->revoked != UINT64_MAX)
			continue;
		if (to)
			key->to_ms = MIN(key->to_ms, time_or(body, "valid_to", INT64_MIN));
		else
			key->revoked = seq;
	}
}

void keys_take(struct ledger_keys *k, uint64_t seq, const char *kind, const json_t *body)
{
	const json_t *list = json_object_get(body, "keys");
	const char *gone = json_str_or(body, "fingerprint", NULL);

	if (streq(kind, "ledger.genesis"))
		for (size_t i = 0; i < json_array_size(list); i++)
			key_take(k, seq, json_array_get(list, i));
	if (streq(kind, "key.add"))
		key_take(k, seq, body);
	if (streq(kind, "key.revoke") && gone)
		key_gone(k, seq, gone, body);
}

const struct ledger_key *ledger_key_valid(const struct ledger_keys *k, const char *fingerprint,
					  uint64_t seq, int64_t at_ms)
{
	for (size_t i = k->n; i-- > 0;) {
		const struct ledger_key *key = &k->v[i];

		if (streq(key->fingerprint, fingerprint) && key->added < seq &&
		    seq <= key->revoked && key->from_ms <= at_ms && at_ms < key->to_ms)
			return key;
	}
	return NULL;
}

/* Revoked and lapsed keys count: else whoever can write only waits until the last one lapses. */
bool keys_none(const struct ledger_keys *k, uint64_t seq)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].added < seq)
			return false;
	return true;
}

bool key_is_revoked(const struct ledger_keys *k, const char *fingerprint)
{
	bool revoked = false;

	for (size_t i = 0; i < k->n; i++)
		if (streq(k->v[i].fingerprint, fingerprint))
			revoked = k->v[i].revoked != UINT64_MAX;
	return revoked;
}

char *ledger_allowed_signers(const struct ledger_keys *k)
{
	struct str s = { 0 };

	for (size_t i = 0; i < k->n; i++) {
		const struct ledger_key *key = &k->v[i];
		/* In whole seconds; an entry of the last one was still signed well. */
		AUTO_FREE char *to = key->to_ms == INT64_MAX ? NULL : time_utc(key->to_ms + 999);

		/* Blanks and quotes would end the field; ssh-keygen knows no escape for them. */
		if (!*key->holder || strpbrk(key->holder, " \t\"#,*?!"))
			continue;
		str_addf(&s, "%s namespaces=\"" LEDGER_NAMESPACE "\"", key->holder);
		if (key->to_ms > 0 && to) /* YYYYMMDDHHMMSSZ */
			str_addf(&s, ",valid-before=\"%.4s%.2s%.2s%.2s%.2s%.2sZ\"", to, to + 5,
				 to + 8, to + 11, to + 14, to + 17);
		str_addf(&s, " %s\n", key->line);
	}
	return str_steal(&s);
}

json_t *ledger_key_body(const struct ssh_key *k, const char *holder, const char *const *roles,
			int64_t from_ms, int64_t to_ms)
{
	AUTO_FREE char *from = time_utc(from_ms), *to = to_ms ? time_utc(to_ms) : NULL;
	json_t *o = json_object(), *list = json_array();

	for (; *roles; roles++)
		(void)json_array_append_new(list, json_string(*roles));
	json_put_str(o, "key", k->line);
	json_put_str(o, "fingerprint", k->fingerprint);
	json_put_str(o, "holder", holder);
	json_put(o, "roles", list);
	json_put_str(o, "valid_from", from);
	json_put_str(o, "valid_to", to);
	return o;
}

void note_keys_take(struct note_keys *k, const char *kind, const json_t *body)
{
	const char *vkey = json_str_or(body, "ledger_key", NULL);
	struct err ignored = ERR_INIT;
	struct note_key key;

	if (!vkey || (!streq(kind, "ledger.genesis") && !streq(kind, "key.add")))
		return;
	if (note_key_parse(sv_of(vkey), &key, &ignored) == 0)
		*VEC_ADD(k) = key;
}

/* ---- policy ---- */

json_t *ledger_default_policy(void)
{
	static const char *const kinds[][2] = { { "key_add", "admin" },
						{ "key_revoke", "admin" },
						{ "signoff", "approver" },
						{ "waiver", "approver" },
						{ "waiver_revoke", "approver" } };
	json_t *p = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		json_put(p, kinds[i][0],
			 json_pack("{s:i,s:s,s:b}", "holders", 1, "role", kinds[i][1],
				   "self_approval", 1));
	return p;
}

int policy_check(const json_t *policy, struct err *err)
{
	const char *kind;
	json_t *rule;

	if (!json_is_object(policy))
		return bail(err, ERR_PARSE, "a policy is an object: kind -> rule");
	json_object_foreach((json_t *)policy, kind, rule)
	{
		int64_t holders = json_int_or(rule, "holders", 1);
		int64_t days = json_int_or(rule, "max_days", 0);
		AUTO_FREE char *dotted = xstrdup(kind);

		for (char *c = dotted; *c; c++)
			*c = *c == '_' ? '.' : *c;
		if (!entry_kind_known(sv_of(dotted)))
			return bail(err, ERR_PARSE, "policy for '%s', which is no kind of entry",
				    kind);
		if (!json_is_object(rule) || holders < 1 || holders > 100)
			return bail(err, ERR_PARSE, "policy of '%s': holders from 1 to 100", kind);
		if (days < 0 || days > 36500)
			return bail(err, ERR_PARSE, "policy of '%s': max_days from 0 to 36500",
				    kind);
	}
	return 0;
}

struct policy_rule policy_rule_of(const json_t *policy, const char *kind)
{
	AUTO_FREE char *key = xstrdup(kind);
	const json_t *rule;

	for (char *c = key; *c; c++)
		*c = *c == '.' ? '_' : *c;
	rule = json_object_get(policy, key);
	return (struct policy_rule){ .there = json_is_object(rule),
				     .holders = MAX(json_int_or(rule, "holders", 1), 1),
				     .role = json_str_or(rule, "role", NULL),
				     .max_ms = json_int_or(rule, "max_days", 0) * DAY_MS,
				     .self_approval = json_bool_or(rule, "self_approval", true) };
}

/* ---- signatures ---- */

void signed_by_release(struct signed_by *s)
{
	strs_release(&s->holders);
	str_release(&s->why);
	*s = (struct signed_by){ 0 };
}

static bool has_role(const struct ledger_key *k, const char *role)
{
	if (!role)
		return true;
	for (char **r = k->roles; *r; r++)
		if (streq(*r, role))
			return true;
	return false;
}

static void say(struct signed_by *s, const char *fmt, const char *who, const char *more)
{
	AUTO_FREE char *clean = NULL;

	if (s->why.n)
		return;
	str_addf(&s->why, "%s %s%s", who, fmt, more);
	clean = text_clean(sv_str(&s->why));
	str_clear(&s->why);
	str_add(&s->why, clean);
}

/* The key of a first key.add vouches for itself: there is nobody else yet. */
static const struct ledger_key *first_key(const struct signed_entry *e, const char *fingerprint,
					  struct ledger_keys *own)
{
	if (!streq(e->kind, "key.add") || !e->seq || !keys_none(e->keys, e->seq))
		return NULL;
	keys_take(own, e->seq - 1, e->kind, e->body);
	return ledger_key_valid(own, fingerprint, e->seq, e->at_ms);
}

void signed_by_take(struct signed_by *s, const struct signed_entry *e, const struct sig_row *r)
{
	struct ledger_keys own CLEANUP(ledger_keys_release) = { 0 };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str normal CLEANUP(str_release) = { 0 };
	const struct ledger_key *known, *first = NULL;
	struct err err = ERR_INIT;

	if (!sv_is(r->scheme, "sshsig"))
		return; /* signatures of exports stand beside the entry, they approve nothing */
	if (ssh_verify(r->sig, LEDGER_NAMESPACE, e->bytes.p, e->bytes.n, &key, &err) < 0) {
		s->bad++;
		say(s, "a signature: ", err.msg, "");
		return;
	}
	if (!ssh_sig_normal(r->sig, &normal) || !sv_eq(sv_str(&normal), r->sig) ||
	    !sv_is(r->signer, key.fingerprint)) {
		s->bad++;
		say(s, "signed, but not as it was stored", key.fingerprint, "");
		return;
	}
	known = ledger_key_valid(e->keys, key.fingerprint, e->seq, e->at_ms);
	if (!known)
		known = first = first_key(e, key.fingerprint, &own);
	if (!known) {
		s->not_valid++;
		say(s, "is not valid at this entry", key.fingerprint, "");
		return;
	}
	s->good++;
	if (!first && !has_role(known, e->rule->role)) {
		say(s, "has not the role ", known->holder, e->rule->role);
		return;
	}
	if (e->nobody_known) {
		say(s, "counts only when it is known who ran it, and that is not recorded",
		    known->holder, "");
		return;
	}
	if (!first && e->self && strs_has(e->self, known->holder)) {
		say(s, "may not approve what is their own", known->holder, "");
		return;
	}
	if (!strs_has(&s->holders, known->holder))
		strs_add(&s->holders, known->holder);
}

enum ledger_standing signed_by_standing(const struct signed_by *s, const struct policy_rule *rule)
{
	if (!rule->there)
		return LEDGER_NO_POLICY;
	if (s->bad || s->not_valid || s->too_long || !s->holders.n)
		return LEDGER_NOT_SIGNED;
	return (int64_t)s->holders.n >= rule->holders ? LEDGER_IN_FORCE : LEDGER_PENDING;
}

static void self_take(struct strs *self, const struct ledger_entry *e)
{
	const char *by = json_str_or(e->body, "run_by", NULL);

	if (streq(e->role, "human"))
		strs_add(self, e->by_id);
	if (by)
		strs_add(self, by);
}

/* ---- how an entry stands ---- */

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
	struct ledger_signatures *to = arg;

	(void)err;
	*VEC_ADD(to) = (struct ledger_signature){ .scheme = sv_dup(r->scheme),
						  .signer = sv_dup(r->signer),
						  .sig = sv_dup(r->sig),
						  .n = r->sig.n };
	return 0;
}

int ledger_signatures_of(struct ledger *l, const uint8_t leaf[SHA256_LEN],
			 struct ledger_signatures *ret, struct err *err)
{
	struct ledger_signatures own CLEANUP(ledger_signatures_release) = { 0 };

	TRY(l->store->ops->signatures(l->store, leaf, keep_signature, &own, err));
	*ret = own;
	own = (struct ledger_signatures){ 0 };
	return 0;
}

static int self_read(struct ledger *l, const struct ledger_entry *e, struct strs *self,
		     bool *ret_nobody_known, struct err *err)
{
	struct entry scan CLEANUP(entry_release) = { 0 };
	const char *by = json_str_or(e->body, "run_by", NULL);
	bool known = false;

	if (by)
		strs_add(self, by);
	if (streq(e->kind, "key.add") && json_str_or(e->body, "holder", NULL))
		strs_add(self, json_str_or(e->body, "holder", ""));
	TRY(entry_scan((struct sv){ e->bytes, e->n }, &scan, err));
	for (size_t i = 0; i < scan.n_refs; i++) {
		struct ledger_entry about CLEANUP(ledger_entry_release) = { 0 };
		char hex[SHA256_HEX];

		hex_of(scan.refs[i].digest, SHA256_LEN, hex);
		if (ledger_find(l, hex, &about, err) == 0) {
			self_take(self, &about);
			known |= json_str_or(about.body, "run_by", NULL) != NULL;
		} else {
			if (err->code != ERR_NOT_FOUND) /* most digests are no entry's */
				return -(int)err->code;
			err_clear(err);
		}
	}
	/* Left out, `run_by` would let everybody approve what is their own. */
	*ret_nobody_known = streq(e->kind, "signoff") && !known;
	return 0;
}

/* Does it end, and soon enough? */
static void check_end(const struct ledger_entry *e, const struct policy_rule *rule,
		      struct signed_by *s)
{
	int64_t end = json_int_or(e->body, "expires_at_ms", 0);

	if (!rule->there || !rule->max_ms || (end > 0 && end - e->at_ms <= rule->max_ms))
		return;
	s->too_long = true;
	str_clear(&s->why);
	str_addf(&s->why, "it has to end within %lld days", (long long)(rule->max_ms / DAY_MS));
}

int signed_by_read(struct ledger *l, const struct ledger_entry *e, const struct ledger_keys *keys,
		   const struct policy_rule *rule, struct signed_by *ret, struct err *err)
{
	struct ledger_signatures sigs CLEANUP(ledger_signatures_release) = { 0 };
	struct strs self CLEANUP(strs_release) = { 0 };
	struct signed_entry s = { .bytes = { e->bytes, e->n },
				  .seq = e->ref.seq,
				  .at_ms = e->at_ms,
				  .kind = e->kind,
				  .body = e->body,
				  .keys = keys,
				  .rule = rule };

	if (rule->there && !rule->self_approval) {
		TRY(self_read(l, e, &self, &s.nobody_known, err));
		s.self = &self;
	}
	TRY(ledger_signatures_of(l, e->ref.leaf, &sigs, err));
	for (size_t i = 0; i < sigs.n; i++) {
		struct sig_row r = { .scheme = sv_of(sigs.v[i].scheme),
				     .signer = sv_of(sigs.v[i].signer),
				     .sig = { sigs.v[i].sig, sigs.v[i].n } };

		signed_by_take(ret, &s, &r);
	}
	check_end(e, rule, ret);
	return 0;
}

struct reading {
	struct ledger *l;
	struct ledger_keys *keys;
	json_t *policy;
};

static void reading_release(struct reading *r)
{
	json_decref(r->policy);
}

/* A key that was added or revoked without what the policy asks for changes nothing. */
static int read_key(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct reading *r = arg;
	struct signed_by by CLEANUP(signed_by_release) = { 0 };
	struct policy_rule rule;
	enum ledger_standing standing;

	if (streq(e->kind, "ledger.genesis")) {
		r->policy = json_incref(json_object_get(e->body, "policy"));
		keys_take(r->keys, e->ref.seq, e->kind, e->body);
		return 0;
	}
	rule = policy_rule_of(r->policy, e->kind);
	TRY(signed_by_read(r->l, e, r->keys, &rule, &by, err));
	standing = signed_by_standing(&by, &rule);
	if (standing == LEDGER_IN_FORCE || standing == LEDGER_NO_POLICY)
		keys_take(r->keys, e->ref.seq, e->kind, e->body);
	return 0;
}

/* Keys as they stand before entry `to`, as verify sees them there; 0: as of now. */
static int read_policy(struct ledger *l, uint64_t to, struct ledger_keys *keys, json_t **ret,
		       struct err *err)
{
	static const char *const kinds[] = { "ledger.genesis", "key.add", "key.revoke", NULL };
	struct reading r CLEANUP(reading_release) = { .l = l, .keys = keys };

	TRY(ledger_each(l, &(struct ledger_filter){ .kinds = kinds, .to = to }, read_key, &r, err));
	if (ret)
		*ret = STEAL(r.policy);
	return 0;
}

int ledger_keys_read(struct ledger *l, struct ledger_keys *ret, struct err *err)
{
	struct ledger_keys own CLEANUP(ledger_keys_release) = { 0 };

	TRY(read_policy(l, 0, &own, NULL, err));
	*ret = own;
	own = (struct ledger_keys){ 0 };
	return 0;
}

int ledger_standing(struct ledger *l, uint64_t seq, enum ledger_standing *ret,
		    struct strs *ret_holders, struct str *why, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct signed_by by CLEANUP(signed_by_release) = { 0 };
	AUTO_JSON json_t *policy = NULL;
	struct policy_rule rule;

	TRY(ledger_get(l, seq, &e, err));
	TRY(read_policy(l, seq, &keys, &policy, err));
	rule = policy_rule_of(policy, e.kind);
	TRY(signed_by_read(l, &e, &keys, &rule, &by, err));
	*ret = signed_by_standing(&by, &rule);
	if (ret_holders)
		strs_copy(ret_holders, &by.holders);
	if (why && by.why.n)
		str_addsv(why, sv_str(&by.why));
	else if (why && *ret == LEDGER_PENDING)
		str_addf(why, "signed by %zu of %lld holders", by.holders.n,
			 (long long)rule.holders);
	else if (why && *ret == LEDGER_NOT_SIGNED)
		str_add(why, "not signed by anybody who counts");
	return 0;
}

int ledger_policy(struct ledger *l, json_t **ret, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	AUTO_JSON json_t *policy = NULL;

	TRY(read_policy(l, 0, &keys, &policy, err));
	*ret = policy ? json_incref(policy) : json_object();
	return 0;
}

static const struct ledger_key *key_known(const struct ledger_keys *k, const char *fingerprint)
{
	for (size_t i = k->n; i-- > 0;)
		if (streq(k->v[i].fingerprint, fingerprint))
			return &k->v[i];
	return NULL;
}

int ledger_may_sign(struct ledger *l, const char *kind, const char *fingerprint, int64_t at_ms,
		    char **ret_holder, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	AUTO_JSON json_t *policy = NULL;
	const struct ledger_key *key;
	struct policy_rule rule;
	uint64_t size;

	TRY(read_policy(l, 0, &keys, &policy, err));
	TRY(ledger_size(l, &size, NULL, err));
	rule = policy_rule_of(policy, kind);
	key = key_known(&keys, fingerprint);
	if (!key) {
		(void)bail(err, ERR_UNSUPPORTED, "key %s is not known to this ledger", fingerprint);
		err_hint(err, "Somebody whose key is known adds it: 'twice key add'.");
		return -ERR_UNSUPPORTED;
	}
	if (key->revoked != UINT64_MAX)
		return bail(err, ERR_UNSUPPORTED, "key %s of %s was revoked by entry %llu",
			    fingerprint, key->holder, (unsigned long long)key->revoked);
	key = ledger_key_valid(&keys, fingerprint, size, at_ms);
	if (!key)
		return bail(err, ERR_UNSUPPORTED, "key %s is not valid now", fingerprint);
	if (!has_role(key, rule.there ? rule.role : NULL)) {
		(void)bail(err, ERR_UNSUPPORTED, "%s has not the role '%s', which '%s' needs",
			   key->holder, rule.role, kind);
		err_hint(err, "'twice key list' shows who has it.");
		return -ERR_UNSUPPORTED;
	}
	if (ret_holder)
		*ret_holder = xstrdup(key->holder);
	return 0;
}
