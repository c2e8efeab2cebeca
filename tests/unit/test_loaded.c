/* SPDX-License-Identifier: Apache-2.0 */
#include "readers/readers.h"
#include "test.h"

static void the_loaders_list(void)
{
	struct loaded_list l CLEANUP(loaded_list_release) = { 0 };

	ld_list_read(SV("\tlinux-vdso.so.1 (0x00007f23383ea000)\n"
			"\t/usr/lib/libjemalloc.so.2 (0x00007f2337a00000)\n"
			"\tlibblas.so.3 => /my libs/(x)/libblas.so.3 (0x00007f2338374000)\n"
			"\tlibmiss.so.1 => not found\n"
			"\tstatically linked\n"
			"\tbroken => /x\n\t => /nameless (0x0)\n"),
		     &l);
	CHECK_INT(l.n, 3);
	CHECK_STR(l.v[0].path, "/usr/lib/libjemalloc.so.2");
	CHECK_STR(l.v[1].name, "libblas.so.3");
	CHECK_STR(l.v[1].path, "/my libs/(x)/libblas.so.3");
	CHECK_STR(l.v[2].name, "libmiss.so.1");
	CHECK(!l.v[2].path);
}

static void the_maps_of_a_process(void)
{
	struct loaded_list l CLEANUP(loaded_list_release) = { 0 };

	maps_read(SV("55e0-55f0 r--p 00000000 fe:00 12  /usr/bin/python3.11\n"
		     "55f0-5600 r-xp 00001000 fe:00 12  /usr/bin/python3.11\n"
		     "7f00-7f10 rw-p 00000000 00:00 0 \n"
		     "7f10-7f20 r--p 00000000 fe:00 13  /opt/a b/libblas.so.3\n"
		     "7f20-7f30 r--p 00000000 fe:00 14  /opt/old.so (deleted)\n"
		     "7ffd-7ffe rw-p 00000000 00:00 0   [stack]\n"
		     "cut\n"),
		  &l);
	CHECK_INT(l.n, 3);
	CHECK_STR(l.v[0].path, "/usr/bin/python3.11");
	CHECK_STR(l.v[1].path, "/opt/a b/libblas.so.3");
	CHECK_STR(l.v[2].path, "/opt/old.so (deleted)");
}

TEST_MAIN(TEST(the_loaders_list), TEST(the_maps_of_a_process))
