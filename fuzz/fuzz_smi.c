/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct smi_csv t CLEANUP(smi_csv_release) = { 0 };
	struct amd_smi_version v CLEANUP(amd_smi_version_release) = { 0 };
	struct sv text = { (const char *)data, size };
	struct err err = ERR_INIT;

	if (smi_csv_read(text, &t, &err) == 0)
		assert(t.rows && t.columns.n);
	if (amd_smi_version_read(text, &v, &err) == 0)
		assert(v.tool);
	return 0;
}
