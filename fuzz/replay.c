/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target as a plain test, without a fuzzer: replay DIR
 *
 * Runs every file of the corpus folder, the empty input, and a fixed number of mutations of each
 * file (cut short, a byte changed, a part doubled, two files joined) by a generator with a fixed
 * seed. TAP out, a line a file; a crash names its file first.
 */
#include "base/defs.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUTATIONS   64
#define MAX_FILES   4096
#define INPUT_LIMIT (256 * KIB)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

struct input {
	char *name;
	uint8_t *p;
	size_t n;
};

static uint64_t state = 0x7477696365ULL;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static size_t below(size_t n)
{
	return n ? (size_t)(next() % n) : 0;
}

/* A copy of exactly n bytes, so that reading one more is seen by a sanitizer and by valgrind. */
static void try_it(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	assert(copy);
	if (n)
		memcpy(copy, p, n);
	(void)LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static void mutate(const struct input *in, const struct input *other, uint8_t *buf)
{
	size_t n = MIN(in->n, INPUT_LIMIT), from, len, more;

	memcpy(buf, in->p, n);
	switch (below(5)) {
	case 0: /* cut short */
		n = below(n + 1);
		break;
	case 1: /* some bytes changed */
		for (size_t k = 1 + below(4); n && k > 0; k--)
			buf[below(n)] = (uint8_t)next();
		break;
	case 2: /* a part taken out */
		from = below(n);
		len = below(n - from + 1);
		memmove(buf + from, buf + from + len, n - from - len);
		n -= len;
		break;
	case 3: /* a part doubled */
		from = below(n);
		len = MIN(below(n - from + 1), INPUT_LIMIT - n);
		memmove(buf + from + len, buf + from, n - from);
		n += len;
		break;
	default: /* the start of one, the end of another */
		n = below(n + 1);
		from = below(other->n);
		more = MIN(other->n - from, INPUT_LIMIT - n);
		memcpy(buf + n, other->p + from, more);
		n += more;
		break;
	}
	try_it(buf, n);
}

static bool read_input(const char *dir, const char *name, struct input *ret)
{
	char path[4096];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	ret->n = (size_t)st.st_size;
	ret->p = malloc(ret->n ? ret->n : 1);
	ret->name = strdup(name);
	assert(ret->p && ret->name);
	ret->n = fread(ret->p, 1, ret->n, f);
	(void)fclose(f);
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct input *)a)->name, ((const struct input *)b)->name);
}

static size_t read_corpus(const char *dir, struct input *in)
{
	size_t n = 0;
	DIR *d = opendir(dir);

	for (struct dirent *e; d && n < MAX_FILES && (e = readdir(d));)
		if (e->d_name[0] != '.' && read_input(dir, e->d_name, &in[n]))
			n++;
	if (d)
		(void)closedir(d);
	qsort(in, n, sizeof(*in), by_name);
	return n;
}

int main(int argc, char **argv)
{
	static struct input in[MAX_FILES];
	static uint8_t buf[INPUT_LIMIT];
	const char *dir = argc > 1 ? argv[1] : "";
	size_t n = read_corpus(dir, in);

	if (LLVMFuzzerInitialize)
		(void)LLVMFuzzerInitialize(&argc, &argv);
	printf("1..%zu\n", n + 1);
	try_it(buf, 0);
	if (n > 0)
		printf("ok 1 - the empty input\n");
	else
		printf("ok 1 - the empty input # SKIP no corpus in %s yet, only that was run\n",
		       dir);
	for (size_t i = 0; i < n; i++) {
		printf("# %s\n", in[i].name);
		fflush(stdout);
		try_it(in[i].p, in[i].n);
		for (int k = 0; k < MUTATIONS; k++)
			mutate(&in[i], &in[below(n)], buf);
		printf("ok %zu - %s\n", i + 2, in[i].name);
	}
	for (size_t i = 0; i < n; i++) {
		free(in[i].p);
		free(in[i].name);
	}
	return 0;
}
