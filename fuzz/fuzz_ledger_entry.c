/* SPDX-License-Identifier: Apache-2.0 */
/* Entry bytes: what is read is its own canonical form, by both readers alike. */
#include "base/canon.h"
#include "base/err.h"
#include "ledger/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv bytes = { (const char *)data, size };
	struct ledger_entry full CLEANUP(ledger_entry_release) = { 0 };
	struct entry e CLEANUP(entry_release) = { 0 };
	struct str again CLEANUP(str_release) = { 0 };
	json_t *j CLEANUP(json_decrefp) = NULL;
	struct err err = ERR_INIT, other = ERR_INIT;
	static const uint8_t leaf[SHA256_LEN];
	bool strict = canon_read(bytes, CANON_MAX_BYTES, CANON_STRICT, &j, &other) == 0;

	if (strict) {
		int rc = canon_write(j, 0, &again, &other);

		assert(rc == 0 && again.n == size && memcmp(str_text(&again), data, size) == 0);
	}
	if (entry_scan(bytes, &e, &err) < 0)
		return 0;
	assert(strict);
	for (size_t i = 0; i < e.n_refs; i++)
		assert(e.refs[i].rel && strlen(e.refs[i].rel) <= ENTRY_REL_MAX);
	if (e.v == 1) {
		int rc = entry_full(bytes, leaf, &full, &err);

		assert(rc == 0 && full.ref.seq == e.seq);
	}
	return 0;
}
