/* SPDX-License-Identifier: Apache-2.0 */
/* verify on lines that anybody may have written; a line of "@" begins an anchor. */
#include "base/err.h"
#include "ledger/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv rest = { (const char *)data, size }, part, lines[64], anchors[8];
	struct ledger_verify_conf conf = { .all = size & 1 };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;
	size_t n = 0, m = 0;
	int rc;

	while (n < 64 && sv_split(&rest, '\n', &part) && !sv_is(part, "@"))
		lines[n++] = part;
	while (m < 8 && sv_split(&rest, '@', &part))
		anchors[m++] = part;
	rc = ledger_verify_lines(lines, n, NULL, anchors, m, &conf, &r, &err);
	assert(rc == 0 && r.size <= n);
	for (size_t i = 0; i < r.n; i++)
		assert(r.v[i].text && ledger_code_name(r.v[i].code));
	return 0;
}
