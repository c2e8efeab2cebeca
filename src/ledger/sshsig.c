/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/sshwire.h"

#include "base/err.h"
#include "base/file.h"

#define ARMOR_MAX     (64 * KIB)
#define ARMOR_COLUMNS 70
#define RSA_MIN_BITS  3072

/* ---- wire ---- */

bool ssh_take_u32(struct sv *rest, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)rest->p;

	if (rest->n < 4)
		return false;
	*ret = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	rest->p += 4;
	rest->n -= 4;
	return true;
}

bool ssh_take(struct sv *rest, struct sv *ret)
{
	struct sv r = *rest;
	uint32_t n;

	if (!ssh_take_u32(&r, &n) || n > r.n)
		return false;
	*ret = (struct sv){ r.p, n };
	*rest = (struct sv){ r.p + n, r.n - n };
	return true;
}

void ssh_put_u32(struct str *to, uint32_t v)
{
	uint8_t b[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v };

	str_addn(to, b, 4);
}

void ssh_put(struct str *to, struct sv v)
{
	ssh_put_u32(to, (uint32_t)v.n);
	str_addsv(to, v);
}

void ssh_armor(const char *what, struct sv blob, struct str *to)
{
	AUTO_FREE char *text = base64_of(blob.p, blob.n);
	size_t n = strlen(text);

	str_addf(to, "-----BEGIN %s-----\n", what);
	for (size_t i = 0; i < n; i += ARMOR_COLUMNS)
		str_addf(to, "%.*s\n", (int)MIN(n - i, (size_t)ARMOR_COLUMNS), text + i);
	str_addf(to, "-----END %s-----\n", what);
}

bool ssh_unarmor(const char *what, struct sv text, struct str *ret_blob)
{
	struct str b64 CLEANUP(str_release) = { 0 };
	AUTO_FREE char *begin = xasprintf("-----BEGIN %s-----", what);
	AUTO_FREE char *end = xasprintf("-----END %s-----", what);
	AUTO_FREE char *buf = NULL;
	struct sv rest = sv_trim(text), line;
	size_t n;

	if (text.n > ARMOR_MAX || !sv_line(&rest, &line) || !sv_is(line, begin))
		return false;
	while (sv_line(&rest, &line) && !sv_is(line, end))
		str_addsv(&b64, line);
	if (!sv_is(line, end) || rest.n)
		return false;
	buf = xmalloc(b64.n + 1);
	if (!base64_to(sv_str(&b64), buf, b64.n, &n))
		return false;
	str_addn(ret_blob, buf, n);
	return true;
}

/* ---- public keys ---- */

enum kind { K_ED25519, K_ECDSA, K_RSA, K_SK_ED25519, K_SK_ECDSA };

static const struct type {
	const char *name, *curve_name;
	enum kind kind;
	enum ec_curve curve;
} types[] = {
	{ "ssh-ed25519", NULL, K_ED25519, 0 },
	{ "ecdsa-sha2-nistp256", "nistp256", K_ECDSA, EC_P256 },
	{ "ecdsa-sha2-nistp384", "nistp384", K_ECDSA, EC_P384 },
	{ "ecdsa-sha2-nistp521", "nistp521", K_ECDSA, EC_P521 },
	{ "ssh-rsa", NULL, K_RSA, 0 },
	{ "sk-ssh-ed25519@openssh.com", NULL, K_SK_ED25519, 0 },
	{ "sk-ecdsa-sha2-nistp256@openssh.com", "nistp256", K_SK_ECDSA, EC_P256 },
};

/* A public key taken apart; views into its blob. */
struct parts {
	const struct type *type;
	struct sv public; /* Ed25519 or EC point */
	struct sv modulus, exponent;
	struct sv application; /* sk: what the authenticator bound the key to */
};

static bool key_parts(struct sv blob, struct parts *ret)
{
	struct parts p = { 0 };
	struct sv name, curve;

	if (!ssh_take(&blob, &name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (sv_is(name, types[i].name))
			p.type = &types[i];
	if (!p.type)
		return false;
	if (p.type->curve_name && (!ssh_take(&blob, &curve) || !sv_is(curve, p.type->curve_name)))
		return false;
	if (p.type->kind == K_RSA) {
		if (!ssh_take(&blob, &p.exponent) || !ssh_take(&blob, &p.modulus))
			return false;
	} else if (!ssh_take(&blob, &p.public)) {
		return false;
	}
	if ((p.type->kind == K_ED25519 || p.type->kind == K_SK_ED25519) &&
	    p.public.n != ED25519_LEN)
		return false;
	if ((p.type->kind == K_SK_ED25519 || p.type->kind == K_SK_ECDSA) &&
	    !ssh_take(&blob, &p.application))
		return false;
	*ret = p;
	return !blob.n;
}

void ssh_key_release(struct ssh_key *k)
{
	free(k->type);
	free(k->line);
	free(k->comment);
	*k = (struct ssh_key){ 0 };
}

static void fingerprint_of(struct sv blob, char ret[64])
{
	uint8_t d[SHA256_LEN];
	AUTO_FREE char *b64 = NULL;

	sha256(blob.p, blob.n, d);
	b64 = base64_of(d, sizeof(d));
	b64[strcspn(b64, "=")] = '\0';
	(void)snprintf(ret, 64, "SHA256:%s", b64);
}

int ssh_key_from_blob(struct sv blob, const char *comment, struct ssh_key *ret, struct err *err)
{
	struct parts p;
	AUTO_FREE char *b64 = NULL;

	if (!key_parts(blob, &p))
		return bail(err, ERR_PARSE,
			    "not a public SSH key of a known type (Ed25519, ECDSA, RSA, sk)");
	if (p.type->kind == K_RSA && rsa_bits(p.modulus) < RSA_MIN_BITS)
		return bail(err, ERR_PARSE, "an RSA key of %u bits, at least %d are wanted",
			    rsa_bits(p.modulus), RSA_MIN_BITS);
	b64 = base64_of(blob.p, blob.n);
	*ret = (struct ssh_key){ .type = xstrdup(p.type->name),
				 .line = xasprintf("%s %s", p.type->name, b64),
				 .comment = xstrdup(comment) };
	fingerprint_of(blob, ret->fingerprint);
	return 0;
}

bool ssh_key_blob(const char *line, struct str *ret)
{
	struct sv rest = sv_of(line), type, b64;
	AUTO_FREE char *buf = NULL;
	size_t n;

	if (!sv_word(&rest, &type) || !sv_word(&rest, &b64) || b64.n > ARMOR_MAX)
		return false;
	buf = xmalloc(b64.n + 1);
	if (!base64_to(b64, buf, b64.n, &n))
		return false;
	str_addn(ret, buf, n);
	return true;
}

int ssh_key_parse(struct sv line, struct ssh_key *ret, struct err *err)
{
	struct str blob CLEANUP(str_release) = { 0 };
	struct ssh_key own CLEANUP(ssh_key_release) = { 0 };
	struct sv rest, type;
	AUTO_FREE char *text = NULL, *comment = NULL;

	line = sv_trim(line);
	text = sv_dup(line);
	rest = line;
	if (!sv_word(&rest, &type) || !ssh_key_blob(text, &blob))
		return bail(err, ERR_PARSE, "not a public SSH key ('type base64 comment')");
	(void)sv_word(&rest, &(struct sv){ 0 });
	comment = text_clean(sv_trim(rest));
	TRY(ssh_key_from_blob(sv_str(&blob), comment, &own, err));
	if (!sv_is(type, own.type))
		return bail(err, ERR_PARSE, "public SSH key is of type '%s', not '" SV_FMT "'",
			    own.type, SV_ARG(type));
	*ret = own;
	own = (struct ssh_key){ 0 };
	return 0;
}

/* ---- signatures ---- */

/* Authenticators sign SHA-256(application) || flags || counter || SHA-256(data). */
static bool sk_check(const struct parts *p, struct sv raw, struct sv rest, struct sv data)
{
	struct str m CLEANUP(str_release) = { 0 };
	uint8_t d[SHA256_LEN];
	struct sv r, s;

	if (rest.n != 5 || !(rest.p[0] & 1)) /* flag 0x01: somebody touched it */
		return false;
	sha256(p->application.p, p->application.n, d);
	str_addn(&m, d, sizeof(d));
	str_addsv(&m, rest);
	sha256(data.p, data.n, d);
	str_addn(&m, d, sizeof(d));
	if (p->type->kind == K_SK_ED25519)
		return raw.n == ED25519_SIG && ed25519_verify((const uint8_t *)p->public.p, m.p,
							      m.n, (const uint8_t *)raw.p);
	return ssh_take(&raw, &r) && ssh_take(&raw, &s) && !raw.n &&
	       ecdsa_verify(EC_P256, p->public, m.p, m.n, r, s);
}

bool ssh_check(struct sv key_blob, struct sv sig, struct sv data)
{
	struct parts p;
	struct sv name, raw, r, s;

	if (!key_parts(key_blob, &p) || !ssh_take(&sig, &name) || !ssh_take(&sig, &raw))
		return false;
	if (p.type->kind == K_RSA) {
		/* SSHSIG forbids SHA-1, so "ssh-rsa" is no signature type here. */
		int bits = sv_is(name, "rsa-sha2-256")   ? 256
			   : sv_is(name, "rsa-sha2-512") ? 512
							 : 0;

		return bits && !sig.n && rsa_bits(p.modulus) >= RSA_MIN_BITS &&
		       rsa_verify(p.modulus, p.exponent, bits, data.p, data.n, raw);
	}
	if (!sv_is(name, p.type->name))
		return false;
	if (p.type->kind == K_SK_ED25519 || p.type->kind == K_SK_ECDSA)
		return sk_check(&p, raw, sig, data);
	if (sig.n)
		return false;
	if (p.type->kind == K_ED25519)
		return raw.n == ED25519_SIG && ed25519_verify((const uint8_t *)p.public.p, data.p,
							      data.n, (const uint8_t *)raw.p);
	return ssh_take(&raw, &r) && ssh_take(&raw, &s) && !raw.n &&
	       ecdsa_verify(p.type->curve, p.public, data.p, data.n, r, s);
}

struct sshsig {
	struct sv key, namespace, reserved, hash, sig;
};

static bool sig_parts(struct sv blob, struct sshsig *ret)
{
	uint32_t version;

	if (!sv_starts(blob, "SSHSIG"))
		return false;
	blob.p += 6;
	blob.n -= 6;
	return ssh_take_u32(&blob, &version) && version == 1 && ssh_take(&blob, &ret->key) &&
	       ssh_take(&blob, &ret->namespace) && ssh_take(&blob, &ret->reserved) &&
	       ssh_take(&blob, &ret->hash) && ssh_take(&blob, &ret->sig) && !blob.n;
}

/* What is signed: the magic, namespace, reserved, hash name and the hash of the message. */
static bool signed_data(const char *namespace, struct sv hash, const void *p, size_t n,
			struct str *to)
{
	uint8_t d[64];
	size_t len = sv_is(hash, "sha512") ? 64 : sv_is(hash, "sha256") ? 32 : 0;

	if (!len)
		return false;
	if (len == 64)
		sha512(p, n, d);
	else
		sha256(p, n, d);
	str_add(to, "SSHSIG");
	ssh_put(to, sv_of(namespace));
	ssh_put(to, SV(""));
	ssh_put(to, hash);
	ssh_put(to, (struct sv){ (const char *)d, len });
	return true;
}

int ssh_verify(struct sv armored, const char *namespace, const void *p, size_t n,
	       struct ssh_key *ret, struct err *err)
{
	struct str blob CLEANUP(str_release) = { 0 }, data CLEANUP(str_release) = { 0 };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct sshsig s;

	if (!ssh_unarmor("SSH SIGNATURE", armored, &blob) || !sig_parts(sv_str(&blob), &s))
		return bail(err, ERR_PARSE, "not an SSH signature");
	TRY(ssh_key_from_blob(s.key, "", &key, err));
	if (!sv_is(s.namespace, namespace))
		return bail(err, ERR_BROKEN, "signature is for '" SV_FMT "', not for '%s'",
			    SV_ARG(s.namespace), namespace);
	if (!signed_data(namespace, s.hash, p, n, &data))
		return bail(err, ERR_PARSE, "SSH signature with an unknown hash");
	if (!ssh_check(s.key, s.sig, sv_str(&data)))
		return bail(err, ERR_BROKEN, "signature by %s does not fit", key.fingerprint);
	*ret = key;
	key = (struct ssh_key){ 0 };
	return 0;
}

int ssh_signer(struct sv armored, struct ssh_key *ret, struct err *err)
{
	struct str blob CLEANUP(str_release) = { 0 };
	struct sshsig s;

	if (!ssh_unarmor("SSH SIGNATURE", armored, &blob) || !sig_parts(sv_str(&blob), &s))
		return bail(err, ERR_PARSE, "not an SSH signature");
	return ssh_key_from_blob(s.key, "", ret, err);
}

bool ssh_sig_normal(struct sv armored, struct str *ret)
{
	struct str blob CLEANUP(str_release) = { 0 };
	struct sshsig s;

	if (!ssh_unarmor("SSH SIGNATURE", armored, &blob) || !sig_parts(sv_str(&blob), &s))
		return false;
	ssh_armor("SSH SIGNATURE", sv_str(&blob), ret);
	return true;
}
