/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto.h"

#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define RSA_MAX_BYTES 2048 /* 16384 bits: larger keys are refused, they only cost time */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "twice: OpenSSL cannot do '%s'\n", what);
	exit(70);
}

/* ---- digests ---- */

/* Looking a digest up by name on every call costs more than hashing a short entry, so the handles
 * are fetched once and kept for the life of the process; OpenSSL makes them safe to share. */
static const EVP_MD *md_sha256(void)
{
	static const EVP_MD *md;

	if (!md) {
		const EVP_MD *found = EVP_MD_fetch(NULL, "SHA256", NULL);

		must(found != NULL, "SHA256");
		md = found;
	}
	return md;
}

static void digest_once(const EVP_MD *md, const void *p, size_t n, uint8_t *ret)
{
	must(EVP_Digest(p, n, ret, NULL, md, NULL) == 1, "digest");
}

void sha256(const void *p, size_t n, uint8_t ret[SHA256_LEN])
{
	digest_once(md_sha256(), p, n, ret);
}

void sha512(const void *p, size_t n, uint8_t ret[64])
{
	digest_once(EVP_sha512(), p, n, ret);
}

void sha384(const void *p, size_t n, uint8_t ret[48])
{
	digest_once(EVP_sha384(), p, n, ret);
}

void sha256_init(struct sha256 *h)
{
	if (!h->ctx)
		h->ctx = EVP_MD_CTX_new();
	must(h->ctx && EVP_DigestInit_ex(h->ctx, md_sha256(), NULL) == 1, "SHA256");
}

void sha256_add(struct sha256 *h, const void *p, size_t n)
{
	must(EVP_DigestUpdate(h->ctx, p, n) == 1, "SHA256");
}

void sha256_end(struct sha256 *h, uint8_t ret[SHA256_LEN])
{
	must(EVP_DigestFinal_ex(h->ctx, ret, NULL) == 1, "SHA256");
}

void sha256_release(struct sha256 *h)
{
	EVP_MD_CTX_free(h->ctx);
	h->ctx = NULL;
}

void sha256_hex(const void *p, size_t n, char ret[SHA256_HEX])
{
	uint8_t d[SHA256_LEN];

	sha256(p, n, d);
	hex_of(d, sizeof(d), ret);
}

int sha256_fd(int fd, const char *name, uint8_t ret[SHA256_LEN], uint64_t *ret_bytes,
	      struct err *err)
{
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	AUTO_FREE uint8_t *buf = xmalloc(256 * KIB);
	uint64_t total = 0;

	sha256_init(&h);
	for (;;) {
		ssize_t n = read(fd, buf, 256 * KIB);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bail_sys(err, "cannot read '%s'", name);
		if (n == 0)
			break;
		sha256_add(&h, buf, (size_t)n);
		total += (uint64_t)n;
	}
	sha256_end(&h, ret);
	if (ret_bytes)
		*ret_bytes = total;
	return 0;
}

int sha256_file(const char *path, uint8_t ret[SHA256_LEN], uint64_t *ret_bytes, struct err *err)
{
	/* O_NONBLOCK: opening a pipe that nobody writes must not hang. */
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return bail(err, ERR_NOT_FOUND, "'%s' is not there", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return bail_sys(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return bail(err, ERR_PARSE, "'%s' is not a regular file", path);
	return sha256_fd(fd, path, ret, ret_bytes, err);
}

/* ---- encodings ---- */

void hex_of(const void *p, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[b[i] >> 4];
		ret[2 * i + 1] = digits[b[i] & 15];
	}
	ret[2 * n] = '\0';
}

/* 0x10 + the digit, so that 0 says "no digit" and two of them join without a branch each. */
static const uint8_t hex_digits[256] = {
	['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
	['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
	['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f,
};

static unsigned hex_digit(char c)
{
	return hex_digits[(unsigned char)c];
}

bool hex_to(struct sv text, void *ret, size_t n)
{
	uint8_t *to = ret;

	if (text.n != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned hi = hex_digit(text.p[2 * i]), lo = hex_digit(text.p[2 * i + 1]);

		if (!hi || !lo)
			return false;
		to[i] = (uint8_t)(hi << 4 | (lo & 0xf));
	}
	return true;
}

bool hex_is_sha256(struct sv text)
{
	if (text.n != 2 * SHA256_LEN)
		return false;
	for (size_t i = 0; i < text.n; i++)
		if (!hex_digit(text.p[i]))
			return false;
	return true;
}

static const char b64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct str *s, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		unsigned v = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) |
			     (left > 2 ? b[i + 2] : 0);

		str_addc(s, b64[v >> 18]);
		str_addc(s, b64[v >> 12 & 63]);
		str_addc(s, left > 1 ? b64[v >> 6 & 63] : '=');
		str_addc(s, left > 2 ? b64[v & 63] : '=');
	}
}

char *base64_of(const void *p, size_t n)
{
	struct str s = { 0 };

	base64_add(&s, p, n);
	return str_steal(&s);
}

static int b64_digit(char c)
{
	const char *at = c ? strchr(b64, c) : NULL;

	return at ? (int)(at - b64) : -1;
}

bool base64_to(struct sv text, void *ret, size_t room, size_t *ret_n)
{
	uint8_t *to = ret;
	size_t n = 0;

	if (text.n % 4)
		return false;
	for (size_t i = 0; i < text.n; i += 4) {
		const char *q = text.p + i;
		bool last = i + 4 == text.n;
		int pad = last && q[3] == '=' ? 1 + (q[2] == '=') : 0;
		unsigned v = 0;

		for (int k = 0; k < 4; k++) {
			int d = k >= 4 - pad ? 0 : b64_digit(q[k]);

			if (d < 0)
				return false;
			v = v << 6 | (unsigned)d;
		}
		if ((pad == 1 && v & 0xff) || (pad == 2 && v & 0xffff))
			return false;
		for (int k = 0; k < 3 - pad; k++) {
			if (n == room)
				return false;
			to[n++] = (uint8_t)(v >> (16 - 8 * k));
		}
	}
	*ret_n = n;
	return true;
}

/* ---- Ed25519 ---- */

static void pkey_drop(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}
#define AUTO_PKEY CLEANUP(pkey_drop) EVP_PKEY

static void mdctx_drop(EVP_MD_CTX **c)
{
	EVP_MD_CTX_free(*c);
}
#define AUTO_MDCTX CLEANUP(mdctx_drop) EVP_MD_CTX

int ed25519_make(struct ed25519 *ret, struct err *err)
{
	uint8_t seed[ED25519_LEN];

	TRY(random_bytes(seed, sizeof(seed), err));
	ed25519_from_seed(seed, ret);
	wipe(seed, sizeof(seed));
	return 0;
}

void ed25519_from_seed(const uint8_t seed[ED25519_LEN], struct ed25519 *ret)
{
	AUTO_PKEY *k = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, ED25519_LEN);
	size_t n = ED25519_LEN;

	must(k && EVP_PKEY_get_raw_public_key(k, ret->public, &n) == 1 && n == ED25519_LEN,
	     "Ed25519");
	memcpy(ret->seed, seed, ED25519_LEN);
}

void ed25519_sign(const struct ed25519 *key, const void *p, size_t n, uint8_t ret[ED25519_SIG])
{
	AUTO_PKEY *k = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->seed, ED25519_LEN);
	AUTO_MDCTX *ctx = EVP_MD_CTX_new();
	size_t len = ED25519_SIG;

	must(k && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, k) == 1 &&
		     EVP_DigestSign(ctx, ret, &len, p, n) == 1 && len == ED25519_SIG,
	     "Ed25519");
}

static bool pkey_verify(EVP_PKEY *k, const EVP_MD *md, const void *p, size_t n, const void *sig,
			size_t sig_n)
{
	AUTO_MDCTX *ctx = EVP_MD_CTX_new();

	must(ctx != NULL, "signatures");
	return k && EVP_DigestVerifyInit(ctx, NULL, md, NULL, k) == 1 &&
	       EVP_DigestVerify(ctx, sig, sig_n, p, n) == 1;
}

bool ed25519_verify(const uint8_t public[ED25519_LEN], const void *p, size_t n,
		    const uint8_t sig[ED25519_SIG])
{
	AUTO_PKEY *k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, ED25519_LEN);

	return pkey_verify(k, NULL, p, n, sig, ED25519_SIG);
}

static char *bio_text(BIO *b)
{
	char *p = NULL;
	long n = BIO_get_mem_data(b, &p);
	char *text = xstrndup(p, (size_t)n);

	BIO_free(b);
	return text;
}

static char *public_pem(EVP_PKEY *k)
{
	BIO *b = BIO_new(BIO_s_mem());

	must(b && k && PEM_write_bio_PUBKEY(b, k) == 1, "PEM");
	return bio_text(b);
}

char *ed25519_public_pem(const uint8_t public[ED25519_LEN])
{
	AUTO_PKEY *k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, ED25519_LEN);

	return public_pem(k);
}

/* ---- keys given by their numbers ---- */

static void bld_drop(OSSL_PARAM_BLD **b)
{
	OSSL_PARAM_BLD_free(*b);
}

static void params_drop(OSSL_PARAM **p)
{
	OSSL_PARAM_free(*p);
}

static void pctx_drop(EVP_PKEY_CTX **c)
{
	EVP_PKEY_CTX_free(*c);
}

static void bn_drop(BIGNUM **b)
{
	BN_free(*b);
}
#define AUTO_BN CLEANUP(bn_drop) BIGNUM

static EVP_PKEY *public_of(const char *type, OSSL_PARAM_BLD *b)
{
	CLEANUP(params_drop) OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(b);
	CLEANUP(pctx_drop) EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *k = NULL;

	if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &k, EVP_PKEY_PUBLIC_KEY, params) != 1)
		return NULL;
	return k;
}

static const struct {
	const char *group;
	size_t bytes;
} curves[] = {
	[EC_P256] = { "prime256v1", 32 },
	[EC_P384] = { "secp384r1", 48 },
	[EC_P521] = { "secp521r1", 66 },
};

static EVP_PKEY *ec_public(enum ec_curve curve, struct sv point)
{
	CLEANUP(bld_drop) OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();

	must(b != NULL, "EC");
	/* Uncompressed points only; OpenSSL itself checks that it lies on the curve. */
	if (point.n != 1 + 2 * curves[curve].bytes || point.p[0] != 4)
		return NULL;
	if (OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, curves[curve].group,
					    0) != 1 ||
	    OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point.p, point.n) != 1)
		return NULL;
	return public_of("EC", b);
}

bool ecdsa_verify_der(enum ec_curve curve, struct sv point, const void *p, size_t n, struct sv der)
{
	AUTO_PKEY *k = ec_public(curve, point);
	const EVP_MD *md = curve == EC_P256   ? EVP_sha256()
			   : curve == EC_P384 ? EVP_sha384()
					      : EVP_sha512();

	return pkey_verify(k, md, p, n, der.p, der.n);
}

bool ecdsa_verify(enum ec_curve curve, struct sv point, const void *p, size_t n, struct sv r,
		  struct sv s)
{
	AUTO_BN *a = NULL, *b = NULL;
	ECDSA_SIG *sig;
	unsigned char *der = NULL;
	int len;
	bool ok;

	if (r.n > 80 || s.n > 80)
		return false;
	a = BN_bin2bn((const unsigned char *)r.p, (int)r.n, NULL);
	b = BN_bin2bn((const unsigned char *)s.p, (int)s.n, NULL);
	sig = ECDSA_SIG_new();
	must(a && b && sig && ECDSA_SIG_set0(sig, a, b) == 1, "ECDSA");
	a = b = NULL; /* the signature owns them */
	len = i2d_ECDSA_SIG(sig, &der);
	ECDSA_SIG_free(sig);
	must(len > 0, "ECDSA");
	ok = ecdsa_verify_der(curve, point, p, n, (struct sv){ (char *)der, (size_t)len });
	OPENSSL_free(der);
	return ok;
}

unsigned rsa_bits(struct sv modulus)
{
	while (modulus.n && !modulus.p[0]) {
		modulus.p++;
		modulus.n--;
	}
	if (!modulus.n || modulus.n > RSA_MAX_BYTES)
		return 0;
	return (unsigned)(8 * modulus.n) - (unsigned)__builtin_clz((unsigned char)modulus.p[0]) +
	       24;
}

bool rsa_verify(struct sv modulus, struct sv exponent, int bits, const void *p, size_t n,
		struct sv sig)
{
	CLEANUP(bld_drop) OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
	AUTO_BN *m = NULL, *e = NULL;
	AUTO_PKEY *k = NULL;

	must(b != NULL, "RSA");
	if (!modulus.n || modulus.n > RSA_MAX_BYTES || !exponent.n || exponent.n > 8)
		return false;
	m = BN_bin2bn((const unsigned char *)modulus.p, (int)modulus.n, NULL);
	e = BN_bin2bn((const unsigned char *)exponent.p, (int)exponent.n, NULL);
	if (!m || !e || OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, m) != 1 ||
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, e) != 1)
		return false;
	k = public_of("RSA", b);
	return pkey_verify(k, bits == 256 ? EVP_sha256() : EVP_sha512(), p, n, sig.p, sig.n);
}

/* ---- P-256 key pairs ---- */

static bool point_of(EVP_PKEY *k, uint8_t ret[65])
{
	char group[64] = "";
	size_t n = 0;

	return EVP_PKEY_is_a(k, "EC") &&
	       EVP_PKEY_get_utf8_string_param(k, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group),
					      NULL) == 1 &&
	       streq(group, "prime256v1") &&
	       EVP_PKEY_get_octet_string_param(k, OSSL_PKEY_PARAM_PUB_KEY, ret, 65, &n) == 1 &&
	       n == 65 && ret[0] == 4;
}

int p256_make(struct p256 *ret, struct err *err)
{
	AUTO_PKEY *k = EVP_EC_gen("P-256");
	struct p256 own = { 0 };

	if (!k || !point_of(k, own.point))
		return bail(err, ERR_UNSUPPORTED, "cannot make a P-256 key");
	own.pkey = STEAL(k);
	*ret = own;
	return 0;
}

/* Encrypted keys are refused rather than asked for on a terminal. */
static int no_password(char *buf, int size, int writing, void *ctx)
{
	(void)buf, (void)size, (void)writing, (void)ctx;
	return 0;
}

/* NULL: not such a key. What OpenSSL notes of it is dropped. */
static EVP_PKEY *pem_read(struct sv pem, bool private)
{
	BIO *b = pem.n < MIB ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
	EVP_PKEY *k = NULL;

	if (b && private)
		k = PEM_read_bio_PrivateKey(b, NULL, no_password, NULL);
	else if (b)
		k = PEM_read_bio_PUBKEY(b, NULL, no_password, NULL);
	BIO_free(b);
	ERR_clear_error();
	return k;
}

int p256_from_pem(struct sv pem, struct p256 *ret, struct err *err)
{
	AUTO_PKEY *k = pem_read(pem, /* private= */ true);
	struct p256 own = { 0 };

	if (!k || !point_of(k, own.point))
		return bail(err, ERR_PARSE, "not an unencrypted P-256 private key in PEM");
	own.pkey = STEAL(k);
	*ret = own;
	return 0;
}

char *p256_private_pem(const struct p256 *key)
{
	BIO *b = BIO_new(BIO_s_secmem());

	must(b && PEM_write_bio_PKCS8PrivateKey(b, key->pkey, NULL, NULL, 0, NULL, NULL) == 1,
	     "PEM");
	return bio_text(b);
}

char *p256_public_pem(const uint8_t point[65])
{
	AUTO_PKEY *k = ec_public(EC_P256, (struct sv){ (const char *)point, 65 });

	return public_pem(k);
}

int p256_point_from_pem(struct sv pem, uint8_t ret[65], struct err *err)
{
	AUTO_PKEY *k = pem_read(pem, /* private= */ false);
	uint8_t own[65];

	if (!k || !point_of(k, own))
		return bail(err, ERR_PARSE, "not a P-256 public key in PEM");
	memcpy(ret, own, sizeof(own));
	return 0;
}

void p256_sign(const struct p256 *key, const void *p, size_t n, struct str *ret_der)
{
	AUTO_MDCTX *ctx = EVP_MD_CTX_new();
	uint8_t sig[160];
	size_t len = sizeof(sig);

	must(ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
		     EVP_DigestSign(ctx, sig, &len, p, n) == 1,
	     "ECDSA");
	str_addn(ret_der, sig, len);
}

int ed25519_from_pem(struct sv pem, struct ed25519 *ret, struct err *err)
{
	AUTO_PKEY *k = pem_read(pem, /* private= */ true);
	uint8_t seed[ED25519_LEN];
	size_t n = sizeof(seed);

	if (!k || !EVP_PKEY_is_a(k, "ED25519") || EVP_PKEY_get_raw_private_key(k, seed, &n) != 1 ||
	    n != sizeof(seed))
		return bail(err, ERR_PARSE, "not an unencrypted Ed25519 private key in PEM");
	ed25519_from_seed(seed, ret);
	wipe(seed, sizeof(seed));
	return 0;
}

int ed25519_public_from_pem(struct sv pem, uint8_t ret[ED25519_LEN], struct err *err)
{
	AUTO_PKEY *k = pem_read(pem, /* private= */ false);
	uint8_t own[ED25519_LEN];
	size_t n = sizeof(own);

	if (!k || !EVP_PKEY_is_a(k, "ED25519") || EVP_PKEY_get_raw_public_key(k, own, &n) != 1 ||
	    n != sizeof(own))
		return bail(err, ERR_PARSE, "not an Ed25519 public key in PEM");
	memcpy(ret, own, sizeof(own));
	return 0;
}

void p256_release(struct p256 *key)
{
	EVP_PKEY_free(key->pkey);
	key->pkey = NULL;
}

/* ---- random bytes and secrets ---- */

int random_bytes(void *ret, size_t n, struct err *err)
{
	for (size_t got = 0; got < n;) {
		ssize_t k = getrandom((uint8_t *)ret + got, n - got, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return bail_sys(err, "cannot get random bytes");
		got += (size_t)k;
	}
	return 0;
}

void wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

void ed25519_wipe(struct ed25519 *key)
{
	wipe(key, sizeof(*key));
}
