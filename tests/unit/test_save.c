/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/save.h"
#include "test.h"

static void becomes(const char *in, const char *want)
{
	struct strs hide CLEANUP(strs_release) = { 0 };
	AUTO_FREE char *got = NULL;

	strs_add(&hide, "gpunode7");
	got = save_redact(&hide, sv_of(in));
	CHECK_STR(got, want);
}

static void what_names_this_machine_goes(void)
{
	becomes("Linux gpunode7 6.1\n", "Linux host 6.1\n");
	becomes("agpunode7b\n", "agpunode7b\n");
	becomes("GPU UUID: \t GPU-12345678-9abc-def0-1234-56789abcdef0\n",
		"GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000\n");
	becomes("ether 02:42:ac:11:00:02 brd\n", "ether 00:00:00:00:00:00 brd\n");
	becomes("unique_id 1311768467463790320\n", "unique_id 0000000000000000000\n");
	becomes("Serial Number : 1324A5\n", "Serial Number : 000000\n");
	becomes("pci 0000:05:00.0 gfx942\n", "pci 0000:05:00.0 gfx942\n");
	becomes("DB_PASSWORD=hunter22\n", "DB_PASSWORD=[redacted]\n");
}

TEST_MAIN(TEST(what_names_this_machine_goes))
