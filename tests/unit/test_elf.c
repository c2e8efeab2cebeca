/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/file.h"
#include "readers/readers.h"
#include "test.h"

static void this_program_names_its_loader_and_needs(void)
{
	struct elf e CLEANUP(elf_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *p = NULL;
	size_t n;

	CHECK_OK(file_read("/proc/self/exe", 256 * MIB, &p, &n, &err), err);
	CHECK_OK(elf_read_bytes((struct sv){ p, n }, &e, &err), err);
	CHECK_HAS(e.interp, "/ld-");
	CHECK(strs_has(&e.needed, "libc.so.6"));
	CHECK(!e.soname);
	if (e.build_id)
		CHECK(strlen(e.build_id) >= 16);
}

static void a_file_cut_anywhere_is_no_crash(void)
{
	AUTO_FREE char *p = NULL;
	struct err err = ERR_INIT;
	size_t n;

	CHECK_OK(file_read("/proc/self/exe", 256 * MIB, &p, &n, &err), err);
	for (size_t cut = 0; cut < n; cut += 1 + cut / 3) {
		/* A copy of the exact size, so that a sanitizer sees every read past the end. */
		AUTO_FREE char *copy = xmalloc(cut + 1);
		struct elf e CLEANUP(elf_release) = { 0 };

		memcpy(copy, p, cut);
		if (cut < 64)
			CHECK_INT(elf_read_bytes((struct sv){ copy, cut }, &e, &err), -ERR_PARSE);
		else
			(void)!elf_read_bytes((struct sv){ copy, cut }, &e, &err);
	}
}

static void other_files_are_refused(void)
{
	struct elf e CLEANUP(elf_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(elf_read_bytes(SV("#!/bin/sh\n"), &e, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "no ELF file");
}

TEST_MAIN(TEST(this_program_names_its_loader_and_needs), TEST(a_file_cut_anywhere_is_no_crash),
	  TEST(other_files_are_refused))
