/* SPDX-License-Identifier: Apache-2.0 */
/* From a list of loaded libraries to components: which library is what, and which code really
 * runs. */
#pragma once

#include "capture/facts.h"
#include "model/model.h"

/* A library of interest by the name of its file; NULL: none of ours. */
struct lib_kind {
	const char *glob; /* of the soname or file name: "librocblas.so*" */
	const char *name; /* of the component */
	enum component_layer layer;
};
const struct lib_kind *lib_kind_of(const char *file);

enum blas_family {
	BLAS_NONE,
	BLAS_OPENBLAS,
	BLAS_BLIS,
	BLAS_ATLAS,
	BLAS_MKL,
	BLAS_ARMPL,
	BLAS_NVPL,
	BLAS_FLEXIBLAS,
	BLAS_REFERENCE,
	BLAS_OTHER,
};
const char *blas_family_name(enum blas_family f); /* "openblas" ... "reference" */

/* A library as found in the loader's list or in a process, in that order. */
struct lib {
	const char *name;          /* "libblas.so.3" */
	const char *path;          /* where it was found */
	const struct facts *facts; /* NULL: unreadable */
};
struct libs {
	struct lib *v;
	size_t n, room;
};

/*
 * Who answers calls to `soname` ("libblas.so.3" or "liblapack.so.3"). `front` is the file with that
 * name, `code` the one with the code: the same, or, for a stub such as Debian's OpenBLAS
 * libblas.so.3,
 * the library behind it. Without the soname: the first library of a BLAS family (a wheel's own
 * copy).
 */
struct blas {
	enum blas_family family;
	const struct lib *front, *code;
};
struct blas blas_find(const struct libs *l, const char *soname);

/* Version of a library from its file name: "libopenblasp-r0.3.21.so" -> "0.3.21",
 * "librccl.so.1.0.60300"
 * -> "1.0.60300"; NULL when there is at most one number in it. */
char *lib_file_version(const char *path) MUST_USE;
