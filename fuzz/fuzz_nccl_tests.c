/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };
	struct err err = ERR_INIT;

	if (nccl_tests_read((struct sv){ (const char *)data, size }, &t, &err) == 0) {
		assert(t.complete == !t.why_not);
		assert(!t.complete || t.rows.n > 0);
		assert(!t.checked || t.rows.n > 0);
	}
	return 0;
}
