/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf e CLEANUP(elf_release) = { 0 };
	struct err err = ERR_INIT;

	if (elf_read_bytes((struct sv){ (const char *)data, size }, &e, &err) < 0)
		assert(err.msg[0] && !e.soname && !e.needed.n);
	return 0;
}
