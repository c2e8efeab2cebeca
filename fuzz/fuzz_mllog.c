/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mllog m CLEANUP(mllog_release) = { 0 };
	struct err err = ERR_INIT;

	if (mllog_read((struct sv){ (const char *)data, size }, &m, &err) == 0)
		assert((m.time_to_train_ms >= 0) == !m.why_not);
	return 0;
}
