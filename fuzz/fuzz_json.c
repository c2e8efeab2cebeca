/* SPDX-License-Identifier: Apache-2.0 */
/* What is read as JSON is written and read again to an equal value; what isn't gives one line. */
#include "base/err.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_JSON json_t *j = NULL, *again = NULL;
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;

	if (json_read((struct sv){ (const char *)data, n }, "input", &j, &err) < 0) {
		assert(err.msg[0] && !strchr(err.msg, '\n'));
		return 0;
	}
	text = json_text(j, /* pretty= */ n % 2);
	assert(json_read(sv_of(text), "again", &again, &err) == 0);
	assert(json_equal(j, again));
	return 0;
}
