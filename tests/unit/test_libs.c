/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/libs.h"
#include "test.h"

/* Borrowed texts throughout: nothing to release. One `needed` is enough for a stub. */
static struct facts file(const char *real, const char *soname, const char *package,
			 const char *const *needed)
{
	struct facts f = { .real = (char *)(uintptr_t)real,
			   .soname = (char *)(uintptr_t)soname,
			   .package = (char *)(uintptr_t)package };

	if (needed)
		f.needed = (struct strs){ .v = (char **)(uintptr_t)needed, .n = 1 };
	return f;
}

static const char *const needs_openblas[] = { "libopenblas.so.0", NULL };

static void a_stub_points_to_its_code(void)
{
	struct facts stub = file("/usr/lib/openblas-pthread/libblas.so.3", "libblas.so.3",
				 "libopenblas0-pthread:amd64", needs_openblas);
	struct facts code = file("/usr/lib/openblas-pthread/libopenblasp-r0.3.21.so",
				 "libopenblas.so.0", "libopenblas0-pthread:amd64", NULL);
	struct lib v[] = { { "libblas.so.3", "/lib/libblas.so.3", &stub },
			   { "libopenblas.so.0", "/lib/libopenblas.so.0", &code } };
	const struct libs l = { v, 2, 2 };
	struct blas b = blas_find(&l, "libblas.so.3");

	CHECK_INT(b.family, BLAS_OPENBLAS);
	CHECK(b.front == &v[0]);
	CHECK(b.code == &v[1]);
}

/* LAPACK of OpenBLAS drags libopenblas in; the calls to BLAS still go to libblas.so.3. */
static void what_is_only_dragged_in_does_not_count(void)
{
	struct facts ref =
		file("/usr/lib/x/blas/libblas.so.3.11.0", "libblas.so.3", "libblas3:amd64", NULL);
	struct facts lapack = file("/usr/lib/openblas-pthread/liblapack.so.3", "liblapack.so.3",
				   "libopenblas0-pthread:amd64", needs_openblas);
	struct facts code = file("/usr/lib/openblas-pthread/libopenblasp-r0.3.21.so",
				 "libopenblas.so.0", "libopenblas0-pthread:amd64", NULL);
	struct lib v[] = { { "libopenblas.so.0", "/lib/libopenblas.so.0", &code },
			   { "libblas.so.3", "/x/libblas.so.3", &ref },
			   { "liblapack.so.3", "/lib/liblapack.so.3", &lapack } };
	const struct libs l = { v, 3, 3 };

	CHECK_INT(blas_find(&l, "libblas.so.3").family, BLAS_REFERENCE);
	CHECK(blas_find(&l, "libblas.so.3").code == &v[1]);
	CHECK_INT(blas_find(&l, "liblapack.so.3").family, BLAS_OPENBLAS);
	CHECK(blas_find(&l, "liblapack.so.3").code == &v[0]);
}

static void a_process_maps_real_names(void)
{
	struct facts ref = file("/usr/lib/x/blas/libblas.so.3.11.0", "libblas.so.3", NULL, NULL);
	struct lib v[] = { { "libblas.so.3.11.0", "/usr/lib/x/blas/libblas.so.3.11.0", &ref } };
	const struct libs l = { v, 1, 1 };

	CHECK_INT(blas_find(&l, "libblas.so.3").family, BLAS_REFERENCE);
}

static void a_wheel_brings_its_own(void)
{
	struct facts own = file("/v/numpy.libs/libscipy_openblas64_-56d6093b.so",
				"libscipy_openblas64_-56d6093b.so", NULL, NULL);
	struct lib v[] = { { "libscipy_openblas64_-56d6093b.so", own.real, &own } };
	const struct libs l = { v, 1, 1 };

	CHECK_INT(blas_find(&l, "libblas.so.3").family, BLAS_OPENBLAS);
}

static void unreadable_and_absent(void)
{
	struct lib v[] = { { "libblas.so.3", "/x/libblas.so.3", NULL } };
	const struct libs l = { v, 1, 1 }, none = { 0 };

	CHECK_INT(blas_find(&l, "libblas.so.3").family, BLAS_OTHER);
	CHECK_INT(blas_find(&none, "libblas.so.3").family, BLAS_NONE);
}

static void version_is(const char *path, const char *want)
{
	AUTO_FREE char *got = lib_file_version(path);

	CHECK(streq(got, want));
}

static void versions_in_file_names(void)
{
	version_is("/l/libopenblasp-r0.3.21.so", "0.3.21");
	version_is("/l/librccl.so.1.0.60301", "1.0.60301");
	version_is("/l/libblas.so.3.11.0", "3.11.0");
	version_is("/l/libblas.so.3", NULL);
	version_is("/l/libamdhip64.so.6", NULL);
	version_is("/l/libtorch_hip.so", NULL);
	version_is("/l/libscipy_openblas64_-56d6093b.so", NULL);
	version_is("/l/libjemalloc.so.2", NULL);
}

static void kinds_by_name(void)
{
	CHECK_STR(lib_kind_of("librccl.so.1")->name, "rccl");
	CHECK_STR(lib_kind_of("libhipblaslt.so.0")->name, "hipblaslt");
	CHECK_STR(lib_kind_of("libhipblas.so.2")->name, "hipblas");
	CHECK_STR(lib_kind_of("libtcmalloc_minimal.so.4")->name, "allocator");
	CHECK(!lib_kind_of("libz.so.1"));
}

TEST_MAIN(TEST(a_stub_points_to_its_code), TEST(what_is_only_dragged_in_does_not_count),
	  TEST(a_process_maps_real_names), TEST(a_wheel_brings_its_own),
	  TEST(unreadable_and_absent), TEST(versions_in_file_names), TEST(kinds_by_name))
