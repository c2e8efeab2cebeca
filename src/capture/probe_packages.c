/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installed packages. What a workload really loads is captured where it is loaded, so a package
 * alone is
 * cosmetic: installing one more changes nothing that an acceptance rests on.
 */
#include "base/crypto.h"
#include "capture/dpkg.h"
#include "capture/probes.h"

static bool matters(const char *name)
{
	static const char *const globs[] = {
		"amdgpu-*",       "rocm*",          "hip*",
		"hsa-*",          "rccl*",          "miopen*",
		"rocblas*",       "amd-smi*",       "libnccl*",
		"cuda-toolkit*",  "cuda-runtime*",  "libcudnn*",
		"nvidia-driver*", "nvidia-dkms*",   "libopenblas0*",
		"libblis4*",      "libatlas3-base", "libblas3",
		"liblapack3",     "libmkl*",        "intel-mkl*",
		"libjemalloc2",   "libmimalloc*",   "libtcmalloc*",
		"openmpi-bin",    "libucx0",        "rdma-core",
		"libibverbs1",    "libc6",          "libgomp1",
		"*-microcode",    "linux-firmware", "firmware-amd-graphics",
		"python3-numpy",  "python3-torch",  "slurmd",
		"containerd*",    "docker-ce",
	};

	for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
		if (glob_match(globs[i], sv_of(name)))
			return true;
	return false;
}

static void packages_run(struct source *s)
{
	struct dpkg *d = dpkg_of(s);
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	struct component *c;
	uint8_t raw[SHA256_LEN];
	char hex[SHA256_HEX];

	if (!d->there) {
		src_why(s, "no Debian package database (%s)", d->why);
		put(s, CL_HOST, "packages", NULL, "/var/lib/dpkg/status")->cosmetic = true;
		return;
	}
	sha256_init(&h);
	for (size_t i = 0; i < d->n; i++) {
		const struct package *p = &d->v[i];
		AUTO_FREE char *line = xasprintf("%s %s %s\n", p->name, p->arch, p->version);

		sha256_add(&h, line, strlen(line));
		if (matters(p->name)) {
			AUTO_FREE char *name = xasprintf("package.%s", p->name);

			put(s, CL_HOST, name, p->version, "/var/lib/dpkg/status")->cosmetic = true;
		}
	}
	sha256_end(&h, raw);
	hex_of(raw, sizeof(raw), hex);
	c = putf(s, CL_HOST, "packages", "/var/lib/dpkg/status", "%zu installed", d->n);
	put_digest(c, hex);
	put_note(c, "the digest is over name, architecture and version of all");
	c->cosmetic = true;
}

const struct probe probe_packages = { "packages", "installed packages (cosmetic)", false,
				      packages_run };
