/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate of a test's own. */
#pragma once

#include "test.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static inline void cert_extension(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	CHECK(e && X509_add_ext(x, e, -1) == 1);
	X509_EXTENSION_free(e);
}

/* One that signed itself, for these names, good for a day: cert.pem and key.pem in `dir`. */
static inline void cert_make(const char *dir, const char *names, char cert_path[128],
			     char key_path[128])
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	FILE *f;

	CHECK(key && x);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"test", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	cert_extension(x, NID_basic_constraints, "critical,CA:TRUE");
	cert_extension(x, NID_subject_alt_name, names);
	CHECK(X509_sign(x, key, EVP_sha256()) > 0);
	snprintf(cert_path, 128, "%s/cert.pem", dir);
	snprintf(key_path, 128, "%s/key.pem", dir);
	f = fopen(cert_path, "we");
	CHECK(f && PEM_write_X509(f, x) == 1);
	fclose(f);
	f = fopen(key_path, "we");
	CHECK(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
	fclose(f);
	X509_free(x);
	EVP_PKEY_free(key);
}
