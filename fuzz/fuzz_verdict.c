/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict out of a foreign record: what is read can be written, and reads back as itself. */
#include "base/err.h"
#include "verdict/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verdict v CLEANUP(verdict_release) = { 0 }, again CLEANUP(verdict_release) = { 0 };
	AUTO_JSON json_t *j = NULL, *one = NULL, *two = NULL;
	struct err err = ERR_INIT;

	if (json_read((struct sv){ (const char *)data, size }, "input", &j, &err) < 0 ||
	    verdict_from_json(j, &v, &err) < 0)
		return 0;
	one = verdict_to_json(&v);
	if (verdict_from_json(one, &again, &err) < 0)
		assert(!"what was written does not read");
	two = verdict_to_json(&again);
	assert(json_equal(one, two));
	return 0;
}
