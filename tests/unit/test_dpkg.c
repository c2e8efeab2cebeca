/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/dpkg.h"
#include "test.h"

static const char status[] =
	"Package: libc6\nStatus: install ok installed\nArchitecture: i386\nVersion: 2.36-9\n"
	"Description: x\n Package: not this one\n\n"
	"Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-10\n\n"
	"Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n\n"
	"Package: half\nStatus: install ok half-installed\nArchitecture: amd64\nVersion: 1\n\n"
	"Package: a\nStatus: install ok installed\nArchitecture: all\nVersion: 1:2.0-1";

static void only_installed_ones_count(void)
{
	struct dpkg *d = xcalloc(1, sizeof(*d));

	dpkg_parse(d, sv_of(status));
	CHECK_INT(d->n, 3);
	CHECK_STR(d->v[0].name, "a");
	CHECK_STR(dpkg_version(d, "a"), "1:2.0-1");
	CHECK_STR(dpkg_version(d, "libc6:i386"), "2.36-9");
	CHECK_STR(dpkg_version(d, "libc6:amd64"), "2.36-10");
	CHECK(!dpkg_version(d, "gone"));
	CHECK(!dpkg_version(d, "half"));
	CHECK(!dpkg_version(d, "libc6:arm64"));
	dpkg_free(d);
}

static void the_pruned_status_says_the_same(void)
{
	struct dpkg *d = xcalloc(1, sizeof(*d)), *e = xcalloc(1, sizeof(*e));
	AUTO_FREE char *once = NULL;
	AUTO_FREE char *again = NULL;

	dpkg_parse(d, sv_of(status));
	once = dpkg_pruned(d);
	dpkg_parse(e, sv_of(once));
	again = dpkg_pruned(e);
	CHECK_STR(again, once);
	CHECK_INT(e->n, 3);
	dpkg_free(d);
	dpkg_free(e);
}

static void upstream(const char *version, const char *want)
{
	AUTO_FREE char *got = version_upstream(version);

	CHECK_STR(got, want);
}

static void versions_without_packaging(void)
{
	upstream("0.3.21+ds-4", "0.3.21");
	upstream("1:1.24.2-1+deb12u1", "1.24.2");
	upstream("3.1~dfsg-2", "3.1");
	upstream("2.0-rc1-3", "2.0-rc1");
	upstream("7.0.2", "7.0.2");
}

TEST_MAIN(TEST(only_installed_ones_count), TEST(the_pruned_status_says_the_same),
	  TEST(versions_without_packaging))
