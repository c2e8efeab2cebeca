/* SPDX-License-Identifier: Apache-2.0 */
/* Public SSH keys, armored signatures, and their wire form. */
#include "base/err.h"
#include "ledger/sshwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv text = { (const char *)data, size };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 }, again CLEANUP(ssh_key_release) = { 0 };
	struct ssh_key who CLEANUP(ssh_key_release) = { 0 }, raw CLEANUP(ssh_key_release) = { 0 };
	struct str one CLEANUP(str_release) = { 0 }, two CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (ssh_key_parse(text, &key, &err) == 0) {
		int rc = ssh_key_parse(sv_of(key.line), &again, &err);

		assert(rc == 0 && streq(key.fingerprint, again.fingerprint));
	}
	if (ssh_key_from_blob(text, "", &raw, &err) == 0)
		(void)ssh_check(text, text, text);
	if (ssh_sig_normal(text, &one)) {
		bool same = ssh_sig_normal(sv_str(&one), &two);

		assert(same && sv_eq(sv_str(&one), sv_str(&two)));
	}
	if (ssh_verify(text, LEDGER_NAMESPACE, "x", 1, &who, &err) == 0)
		assert(who.line);
	return 0;
}
