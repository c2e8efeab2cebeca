/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles and bundles of entries: lengths are kept, nothing is read behind the end. */
#include "base/err.h"
#include "ledger/tiles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv bytes = { (const char *)data, size }, rest = bytes, entry;
	static struct tile t;
	struct str again CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	uint64_t index = 0, tree = 0;

	while (bundle_next(&rest, &entry)) {
		unsigned char length[2] = { (unsigned char)(entry.n >> 8), (unsigned char)entry.n };

		str_addn(&again, length, 2);
		str_addsv(&again, entry);
	}
	assert(again.n + rest.n == size && (!again.n || memcmp(again.p, data, again.n) == 0));
	for (unsigned w = 0; w <= TILE_WIDTH + 1; w++) {
		bool fits = w && w <= TILE_WIDTH && size == (size_t)w * SHA256_LEN;
		int rc = tile_parse(bytes, w, &t, &err);

		assert((rc == 0) == fits);
	}
	if (size)
		memcpy(&index, data, MIN(size, sizeof(index)));
	if (size > sizeof(index))
		memcpy(&tree, data + sizeof(index), MIN(size - sizeof(index), sizeof(tree)));
	tree >>= 1;
	for (unsigned level = 0; level < TILE_LEVELS + 2; level++)
		assert(tile_width(level, index, tree) <= TILE_WIDTH);
	return 0;
}
