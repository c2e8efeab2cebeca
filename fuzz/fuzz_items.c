/* SPDX-License-Identifier: Apache-2.0 */
/* Results by item: any bytes end in items or an error; what is kept of them reads back the same. */
#include "base/err.h"
#include "base/str.h"
#include "readers/readers.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct item_keys keys = {
		.id = "id", .correct = "correct", .cluster = "c", .text = "text", .tokens = "ids"
	};
	struct sv text = { (const char *)data, size };
	struct item_results a CLEANUP(item_results_release) = { 0 };
	struct item_results b CLEANUP(item_results_release) = { 0 };
	struct item_texts t CLEANUP(item_texts_release) = { 0 };
	struct item_texts u CLEANUP(item_texts_release) = { 0 };
	struct str kept CLEANUP(str_release) = { 0 };
	struct str kept_texts CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (items_read(text, &keys, &a, &err) == 0) {
		items_write(&a, &kept);
		assert(items_read(sv_str(&kept), &item_keys_kept, &b, &err) == 0);
		assert(a.n == b.n);
	}
	err_clear(&err);
	if (texts_read(text, &keys, &t, &err) == 0) {
		texts_write(&t, &kept_texts);
		assert(texts_read(sv_str(&kept_texts), &item_keys_kept, &u, &err) == 0);
		assert(t.n == u.n && t.tokens == u.tokens);
	}
	return 0;
}
