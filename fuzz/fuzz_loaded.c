/* SPDX-License-Identifier: Apache-2.0 */
#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loaded_list l CLEANUP(loaded_list_release) = { 0 };
	struct sv text = { (const char *)data, size };

	ld_list_read(text, &l);
	maps_read(text, &l);
	for (size_t i = 0; i < l.n; i++)
		assert(l.v[i].name && l.v[i].name[0]);
	return 0;
}
