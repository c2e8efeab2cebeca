/* SPDX-License-Identifier: Apache-2.0 */
/* Two lines: a pattern, a version. */
#include "base/err.h"
#include "envelope/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv rest = { (const char *)data, size }, a = { "", 0 }, b = { "", 0 };
	AUTO_FREE char *pattern = NULL;
	AUTO_FREE char *version = NULL;
	struct err err = ERR_INIT;

	(void)sv_line(&rest, &a);
	(void)sv_line(&rest, &b);
	pattern = sv_dup(a);
	version = sv_dup(b);
	if (pin_valid(pattern, &err) < 0)
		assert(err.msg[0]);
	assert(!pin_fits(pattern, NULL, NULL));
	(void)pin_fits(pattern, version, NULL);
	assert(version_compare(a, a) == 0);
	assert((version_compare(a, b) > 0) == (version_compare(b, a) < 0));
	return 0;
}
