/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/dsse.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

/* ---- keys ---- */

void dsse_key_release(struct dsse_key *k)
{
	p256_release(&k->p256);
	ed25519_wipe(&k->ed);
	free(k->public_pem);
	*k = (struct dsse_key){ 0 };
}

/* The DER inside of PEM is plain base64 between two lines. */
static void set_id(struct dsse_key *k)
{
	struct sv rest = sv_of(k->public_pem), line;
	struct str b64 CLEANUP(str_release) = { 0 };
	uint8_t der[256];
	size_t n = 0;

	while (sv_line(&rest, &line))
		if (!sv_starts(line, "-----"))
			str_addsv(&b64, line);
	if (!base64_to(sv_str(&b64), der, sizeof(der), &n))
		assert(!"a public key that OpenSSL wrote");
	sha256(der, n, k->id);
}

static void settle(struct dsse_key *k)
{
	k->public_pem =
		k->ed25519 ? ed25519_public_pem(k->ed.public) : p256_public_pem(k->p256.point);
	set_id(k);
}

static int no_key(struct err *err)
{
	return bail(err, ERR_PARSE,
		    "not an unencrypted P-256 or Ed25519 key in PEM (PKCS#8 or public)");
}

int dsse_key_parse(struct sv pem, struct dsse_key *ret, struct err *err)
{
	struct dsse_key own = { 0 };
	struct err ignored = ERR_INIT;

	if (sv_find(pem, SV("-----BEGIN ")) < 0)
		return no_key(err);
	if (p256_from_pem(pem, &own.p256, &ignored) == 0) {
		own.can_sign = true;
	} else if (ed25519_from_pem(pem, &own.ed, &ignored) == 0) {
		own.ed25519 = own.can_sign = true;
	} else if (ed25519_public_from_pem(pem, own.ed.public, &ignored) == 0) {
		own.ed25519 = true;
	} else if (p256_point_from_pem(pem, own.p256.point, &ignored) < 0) {
		return no_key(err);
	}
	settle(&own);
	*ret = own;
	return 0;
}

int dsse_key_make(struct dsse_key *ret, char **ret_pem, struct err *err)
{
	struct dsse_key own = { .can_sign = true };

	TRY(p256_make(&own.p256, err));
	settle(&own);
	*ret_pem = p256_private_pem(&own.p256);
	*ret = own;
	return 0;
}

/* ---- signatures ---- */

void dsse_pae(struct sv type, struct sv payload, struct str *to)
{
	str_addf(to, "DSSEv1 %zu ", type.n);
	str_addsv(to, type);
	str_addf(to, " %zu ", payload.n);
	str_addsv(to, payload);
}

void dsse_sign(const struct dsse_key *k, struct sv type, struct sv payload, struct str *to)
{
	struct str pae CLEANUP(str_release) = { 0 };
	uint8_t sig[ED25519_SIG];

	assert(k->can_sign);
	dsse_pae(type, payload, &pae);
	if (!k->ed25519) {
		p256_sign(&k->p256, pae.p, pae.n, to);
		return;
	}
	ed25519_sign(&k->ed, pae.p, pae.n, sig);
	str_addn(to, sig, sizeof(sig));
}

bool dsse_verify(const struct dsse_key *k, struct sv type, struct sv payload, struct sv sig)
{
	struct str pae CLEANUP(str_release) = { 0 };

	dsse_pae(type, payload, &pae);
	if (!k->ed25519)
		return ecdsa_verify_der(EC_P256, (struct sv){ (const char *)k->p256.point, 65 },
					pae.p, pae.n, sig);
	return sig.n == ED25519_SIG &&
	       ed25519_verify(k->ed.public, pae.p, pae.n, (const uint8_t *)sig.p);
}

/* ---- envelopes ---- */

void dsse_write(const struct dsse_key *k, struct sv type, struct sv payload, struct str *to)
{
	struct str sig CLEANUP(str_release) = { 0 };
	AUTO_FREE char *body = base64_of(payload.p, payload.n), *sig64 = NULL, *text = NULL;
	AUTO_FREE char *word = sv_dup(type);
	AUTO_JSON json_t *o = NULL;
	char id[SHA256_HEX];

	dsse_sign(k, type, payload, &sig);
	sig64 = base64_of(sig.p, sig.n);
	hex_of(k->id, SHA256_LEN, id);
	o = json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "payload", body, "payloadType", word,
		      "signatures", "keyid", id, "sig", sig64);
	text = json_text(o, /* pretty= */ false);
	str_add(to, text);
}

void dsse_envelope_release(struct dsse_envelope *e)
{
	for (size_t i = 0; i < e->n; i++) {
		free(e->v[i].keyid);
		free(e->v[i].sig);
	}
	free(e->v);
	free(e->type);
	free(e->payload);
	*e = (struct dsse_envelope){ 0 };
}

/* Both alphabets of RFC 4648, as DSSE asks of a verifier. */
static int bytes_of(const char *text, const char *what, char **ret, size_t *ret_n, struct err *err)
{
	AUTO_FREE char *plain = xstrdup(text), *out = NULL;
	size_t room = strlen(plain) / 4 * 3 + 3;

	for (char *p = plain; *p; p++)
		*p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
	out = xmalloc(room + 1);
	if (!base64_to(sv_of(plain), out, room, ret_n))
		return bail(err, ERR_PARSE, "envelope: its %s is no base64", what);
	out[*ret_n] = '\0';
	*ret = STEAL(out);
	return 0;
}

static int signatures_of(const json_t *list, struct dsse_envelope *ret, struct err *err)
{
	size_t n = json_array_size(list);

	if (!n)
		return bail(err, ERR_PARSE, "envelope without a signature");
	if (n > DSSE_SIGNATURES)
		return bail(err, ERR_LIMIT, "envelope with more than %d signatures",
			    DSSE_SIGNATURES);
	for (size_t i = 0; i < n; i++) {
		const json_t *o = json_array_get(list, i);
		struct dsse_signature *s = VEC_ADD(ret);
		const char *sig;

		TRY(json_get_str(o, "sig", &sig, err));
		s->keyid = xstrdup(json_str_or(o, "keyid", ""));
		TRY(bytes_of(sig, "signature", &s->sig, &s->n, err));
	}
	return 0;
}

int dsse_parse(struct sv text, struct dsse_envelope *ret, struct err *err)
{
	struct dsse_envelope own CLEANUP(dsse_envelope_release) = { 0 };
	AUTO_JSON json_t *o = NULL;
	const char *type, *payload;
	json_t *list;

	if (text.n > DSSE_MAX)
		return bail(err, ERR_LIMIT, "envelope of more than %zu bytes", DSSE_MAX);
	TRY(json_read(text, "the envelope", &o, err));
	TRY(json_get_str(o, "payloadType", &type, err));
	TRY(json_get_str(o, "payload", &payload, err));
	TRY(json_get_arr(o, "signatures", &list, err));
	own.type = xstrdup(type);
	TRY(bytes_of(payload, "payload", &own.payload, &own.payload_n, err));
	TRY(signatures_of(list, &own, err));
	*ret = own;
	own = (struct dsse_envelope){ 0 };
	return 0;
}

bool dsse_signed_by(const struct dsse_envelope *e, const struct dsse_key *k)
{
	for (size_t i = 0; i < e->n; i++)
		if (dsse_verify(k, sv_of(e->type), (struct sv){ e->payload, e->payload_n },
				(struct sv){ e->v[i].sig, e->v[i].n }))
			return true;
	return false;
}
