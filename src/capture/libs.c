/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/libs.h"

#include "base/file.h"
#include "capture/probes.h"

static const struct lib_kind kinds[] = {
	/* host */
	{ "libc.so.6", "libc", CL_HOST },
	{ "libstdc++.so*", "libstdc++", CL_HOST },
	{ "libjemalloc*", "allocator", CL_HOST },
	{ "libmimalloc*", "allocator", CL_HOST },
	{ "libtcmalloc*", "allocator", CL_HOST },
	{ "libhoard*", "allocator", CL_HOST },
	/* runtime */
	{ "libamdhip64.so*", "hip", CL_RUNTIME },
	{ "libhsa-runtime64.so*", "hsa", CL_RUNTIME },
	{ "libhiprtc.so*", "hiprtc", CL_RUNTIME },
	{ "libamd_comgr.so*", "comgr", CL_RUNTIME },
	{ "libcuda.so*", "cuda.driver", CL_RUNTIME },
	{ "libcudart*.so*", "cudart", CL_RUNTIME },
	{ "libnvrtc.so*", "nvrtc", CL_RUNTIME },
	{ "libnvJitLink.so*", "nvjitlink", CL_RUNTIME },
	{ "libOpenCL.so*", "opencl", CL_RUNTIME },
	/* communication */
	{ "librccl.so*", "rccl", CL_COMMLIB },
	{ "librccl-net*.so*", "rccl.net", CL_COMMLIB },
	{ "libnccl.so*", "nccl", CL_COMMLIB },
	{ "libnccl-net*.so*", "nccl.net", CL_COMMLIB },
	{ "libmpi.so*", "mpi", CL_COMMLIB },
	{ "libucp.so*", "ucx", CL_COMMLIB },
	{ "libibverbs.so*", "ibverbs", CL_COMMLIB },
	{ "libfabric.so*", "libfabric", CL_COMMLIB },
	{ "libgloo*.so*", "gloo", CL_COMMLIB },
	/* kernels */
	{ "libgomp*.so*", "openmp", CL_KERNELLIB },
	{ "libomp*.so*", "openmp", CL_KERNELLIB },
	{ "libiomp5*.so*", "openmp", CL_KERNELLIB },
	{ "librocblas.so*", "rocblas", CL_KERNELLIB },
	{ "libhipblas.so*", "hipblas", CL_KERNELLIB },
	{ "libhipblaslt.so*", "hipblaslt", CL_KERNELLIB },
	{ "librocsolver.so*", "rocsolver", CL_KERNELLIB },
	{ "libhipsolver.so*", "hipsolver", CL_KERNELLIB },
	{ "librocsparse.so*", "rocsparse", CL_KERNELLIB },
	{ "libhipsparse.so*", "hipsparse", CL_KERNELLIB },
	{ "libhipsparselt.so*", "hipsparselt", CL_KERNELLIB },
	{ "librocfft.so*", "rocfft", CL_KERNELLIB },
	{ "libhipfft.so*", "hipfft", CL_KERNELLIB },
	{ "librocrand.so*", "rocrand", CL_KERNELLIB },
	{ "libhiprand.so*", "hiprand", CL_KERNELLIB },
	{ "libMIOpen.so*", "miopen", CL_KERNELLIB },
	{ "libaotriton*.so*", "aotriton", CL_KERNELLIB },
	{ "libcublas.so*", "cublas", CL_KERNELLIB },
	{ "libcublasLt.so*", "cublaslt", CL_KERNELLIB },
	{ "libcudnn.so*", "cudnn", CL_KERNELLIB },
	{ "libcudnn_*.so*", "cudnn.parts", CL_KERNELLIB },
	{ "libcufft.so*", "cufft", CL_KERNELLIB },
	{ "libcusparse.so*", "cusparse", CL_KERNELLIB },
	{ "libcusparseLt.so*", "cusparselt", CL_KERNELLIB },
	{ "libcusolver.so*", "cusolver", CL_KERNELLIB },
	{ "libcurand.so*", "curand", CL_KERNELLIB },
	{ "libdnnl.so*", "onednn", CL_KERNELLIB },
	/* frameworks */
	{ "libtorch_cpu.so*", "libtorch.cpu", CL_FRAMEWORK },
	{ "libtorch_hip.so*", "libtorch.hip", CL_FRAMEWORK },
	{ "libtorch_cuda.so*", "libtorch.cuda", CL_FRAMEWORK },
	{ "libtensorflow_cc.so*", "libtensorflow", CL_FRAMEWORK },
	{ "libonnxruntime.so*", "onnxruntime", CL_FRAMEWORK },
};

const struct lib_kind *lib_kind_of(const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (glob_match(kinds[i].glob, sv_of(file)))
			return &kinds[i];
	return NULL;
}

const char *blas_family_name(enum blas_family f)
{
	static const char *const names[] = {
		[BLAS_NONE] = "none",
		[BLAS_OPENBLAS] = "openblas",
		[BLAS_BLIS] = "blis",
		[BLAS_ATLAS] = "atlas",
		[BLAS_MKL] = "mkl",
		[BLAS_ARMPL] = "armpl",
		[BLAS_NVPL] = "nvpl",
		[BLAS_FLEXIBLAS] = "flexiblas",
		[BLAS_REFERENCE] = "reference",
		[BLAS_OTHER] = "other",
	};

	return names[f];
}

/* Family by the file's own name. */
static enum blas_family family_of_name(const char *file)
{
	static const struct {
		const char *glob;
		enum blas_family family;
	} globs[] = {
		{ "lib*openblas*", BLAS_OPENBLAS }, { "libblis*", BLAS_BLIS },
		{ "libatlas*", BLAS_ATLAS },        { "lib?atlas*", BLAS_ATLAS },
		{ "libmkl_*", BLAS_MKL },           { "libarmpl*", BLAS_ARMPL },
		{ "libnvpl_*", BLAS_NVPL },         { "libflexiblas*", BLAS_FLEXIBLAS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
		if (glob_match(globs[i].glob, sv_of(file)))
			return globs[i].family;
	return BLAS_NONE;
}

/* Of a file with the neutral name libblas.so.3 or liblapack.so.3: by its package, else its folder.
 * */
static enum blas_family family_of_place(const struct lib *l)
{
	static const struct {
		const char *glob;
		enum blas_family family;
	} packages[] = {
		{ "libopenblas*", BLAS_OPENBLAS },
		{ "openblas*", BLAS_OPENBLAS },
		{ "libblis*", BLAS_BLIS },
		{ "libatlas*", BLAS_ATLAS },
		{ "*mkl*", BLAS_MKL },
		{ "libblas3*", BLAS_REFERENCE },
		{ "liblapack3*", BLAS_REFERENCE },
		{ "blas", BLAS_REFERENCE },
		{ "lapack", BLAS_REFERENCE },
	};
	static const struct {
		const char *glob;
		enum blas_family family;
	} folders[] = {
		{ "*/openblas-*", BLAS_OPENBLAS },   { "*/blis-*", BLAS_BLIS },
		{ "*/atlas/*", BLAS_ATLAS },         { "*/blas/lib*", BLAS_REFERENCE },
		{ "*/lapack/lib*", BLAS_REFERENCE },
	};

	if (!l->facts)
		return BLAS_OTHER;
	for (size_t i = 0; l->facts->package && i < ARRAY_SIZE(packages); i++)
		if (glob_match(packages[i].glob, sv_of(l->facts->package)))
			return packages[i].family;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (glob_match(folders[i].glob, sv_of(l->facts->real)))
			return folders[i].family;
	return BLAS_OTHER;
}

static const struct lib *lib_named(const struct libs *l, const char *soname)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct lib *one = &l->v[i];

		if (streq(one->name, soname) || streq(path_base(one->path), soname) ||
		    (one->facts && streq(one->facts->soname, soname)))
			return one;
	}
	return NULL;
}

/* The library behind a stub: what it needs and is of a BLAS family itself. */
static const struct lib *behind(const struct libs *l, const struct lib *front,
				enum blas_family *family)
{
	const struct strs *needed = front->facts ? &front->facts->needed : NULL;

	for (size_t i = 0; needed && i < needed->n; i++) {
		enum blas_family f = family_of_name(needed->v[i]);
		const struct lib *lib = f == BLAS_NONE ? NULL : lib_named(l, needed->v[i]);

		if (lib) {
			*family = f;
			return lib;
		}
	}
	return NULL;
}

struct blas blas_find(const struct libs *l, const char *soname)
{
	struct blas b = { .front = lib_named(l, soname) };

	if (b.front) {
		b.code = behind(l, b.front, &b.family);
		if (!b.code) {
			b.code = b.front;
			b.family = family_of_place(b.front);
		}
		return b;
	}
	for (size_t i = 0; i < l->n; i++) {
		enum blas_family f = family_of_name(path_base(l->v[i].path));

		if (f == BLAS_NONE)
			continue;
		b.family = f;
		b.front = b.code = &l->v[i];
		return b;
	}
	return b;
}

char *lib_file_version(const char *path)
{
	const char *base = path_base(path), *from = strstr(base, ".so.");
	const char *best = NULL;
	size_t best_n = 0;

	/* "-r0.3.21.so" before the suffix, or ".so.1.2.3" behind it: the longest run of numbers. */
	for (const char *p = base; *p;) {
		size_t n = 0, dots = 0;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		while ((p[n] >= '0' && p[n] <= '9') ||
		       (p[n] == '.' && p[n + 1] >= '0' && p[n + 1] <= '9')) {
			dots += p[n] == '.';
			n++;
		}
		if (dots && n > best_n &&
		    (p > base && (p[-1] == 'r' || p[-1] == '-' || (from && p > from)))) {
			best = p;
			best_n = n;
		}
		p += n;
	}
	return best ? xstrndup(best, best_n) : NULL;
}
