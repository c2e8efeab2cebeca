/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	struct err err = ERR_INIT;

	if (loadgen_read((struct sv){ (const char *)data, size }, &g, &err) < 0)
		return 0;
	assert(g.tool && g.form && g.runs.n > 0);
	for (size_t i = 0; i < g.runs.n; i++)
		for (size_t k = 0; k < g.runs.v[i].values.n; k++) {
			const struct loadgen_value *v = &g.runs.v[i].values.v[k];

			/* A value that is none of ours says why. */
			assert(v->name || (v->theirs && v->note));
			assert(v->value - v->value == 0);
		}
	return 0;
}
