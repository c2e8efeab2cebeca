/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/tiles.h"

#include "base/err.h"
#include "base/file.h"

#define LL (unsigned long long)

unsigned tile_width(unsigned level, uint64_t index, uint64_t size)
{
	uint64_t hashes = level < TILE_LEVELS ? size >> (8 * level) : 0;

	if (index >= hashes / TILE_WIDTH + 1)
		return 0;
	return index < hashes / TILE_WIDTH ? TILE_WIDTH : (unsigned)(hashes % TILE_WIDTH);
}

int tile_parse(struct sv bytes, unsigned width, struct tile *ret, struct err *err)
{
	if (!width || width > TILE_WIDTH || bytes.n != (size_t)width * SHA256_LEN)
		return bail(err, ERR_BROKEN, "a tile of %u hashes has %zu bytes", width, bytes.n);
	memcpy(ret->hash, bytes.p, bytes.n);
	ret->n = width;
	return 0;
}

bool bundle_next(struct sv *rest, struct sv *ret_entry)
{
	const unsigned char *p = (const unsigned char *)rest->p;
	size_t n;

	if (rest->n < 2)
		return false;
	n = (size_t)(p[0] << 8 | p[1]);
	if (rest->n - 2 < n)
		return false;
	*ret_entry = (struct sv){ rest->p + 2, n };
	rest->p += 2 + n;
	rest->n -= 2 + n;
	return true;
}

void tiles_release(struct tiles *t)
{
	sha256_release(&t->h);
}

/* A partial tile may have been replaced by the full one that came after it. */
static int load(struct tiles *t, unsigned level, uint64_t index, struct err *err)
{
	unsigned width = tile_width(level, index, t->size);
	struct tile *to = &t->level[level];
	AUTO_FREE char *bytes = NULL;
	size_t n = 0;
	int rc;

	if (to->n && to->index == index)
		return 0;
	to->n = 0;
	if (!width)
		return bail(err, ERR_RANGE, "no tile %llu at level %u of %llu entries", LL index,
			    level, LL t->size);
	for (unsigned w = width;; w = TILE_WIDTH) {
		AUTO_FREE char *name = tile_path(level, index, w), *path = path_join(t->dir, name);

		rc = file_read(path, sizeof(to->hash), &bytes, &n, err);
		if (rc == -ERR_NOT_FOUND && w < TILE_WIDTH) {
			err_clear(err);
			continue;
		}
		TRY(rc);
		rc = tile_parse((struct sv){ bytes, n }, w, to, err);
		if (rc < 0)
			return err_wrap(err, "'%s'", path);
		break;
	}
	to->index = index;
	return 0;
}

static int node(void *arg, unsigned level, uint64_t index, uint8_t ret[SHA256_LEN], struct err *err)
{
	struct tiles *t = arg;
	unsigned up = level / 8, within = level % 8, n = 1u << within;
	uint64_t first = index << within;
	unsigned at = (unsigned)(first % TILE_WIDTH);
	struct frontier f = { 0 };

	if (up >= TILE_LEVELS || first >> within != index)
		return bail(err, ERR_RANGE, "no node of level %u", level);
	TRY(load(t, up, first / TILE_WIDTH, err));
	if (at + n > t->level[up].n)
		return bail(err, ERR_BROKEN, "the tiles in '%s' are too narrow", t->dir);
	for (unsigned i = 0; i < n; i++)
		frontier_add(&f, &t->h, t->level[up].hash[at + i]);
	frontier_root(&f, &t->h, ret);
	return 0;
}

struct merkle_source tiles_source(struct tiles *t)
{
	return (struct merkle_source){ node, t, &t->h };
}
