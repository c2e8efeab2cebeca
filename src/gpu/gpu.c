/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes are written down here from the vendors' public manuals; only functions whose
 * signature has
 * not changed since their first release are used, so no header of a vendor is needed.
 */
#include "gpu/gpu.h"

#include "base/clock.h"
#include "base/str.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct library {
	const char *name, *env;
	const char *files[6]; /* tried in this order */
	void (*ask)(void *lib, struct gpu_answer *a);
};

/* ---- asking, in the child -------------------------------------------------------------------- */

/* The needed function, or NULL and the reason. */
static void *need(void *lib, const char *symbol, struct gpu_answer *a)
{
	void *f = dlsym(lib, symbol);

	if (!f) {
		a->loaded = false;
		snprintf(a->why, sizeof(a->why), "it has no function %s", symbol);
	}
	return f;
}

static bool well(int rc, const char *what, struct gpu_answer *a)
{
	if (rc == 0)
		return true;
	snprintf(a->why, sizeof(a->why), "%s gives error %d", what, rc);
	return false;
}

/* int f(int *): hipRuntimeGetVersion, cudaRuntimeGetVersion, ncclGetVersion, ...GetDeviceCount. */
typedef int (*int_getter)(int *);

static bool ask_int(void *lib, const char *symbol, int *ret, struct gpu_answer *a)
{
	int_getter f = NULL;
	void *at = need(lib, symbol, a);

	if (!at)
		return false;
	memcpy(&f, &at, sizeof(f)); /* C forbids the cast from a data pointer */
	return well(f(ret), symbol, a);
}

static void ask_runtime(void *lib, enum gpu_lib which, const char *version, const char *count,
			struct gpu_answer *a)
{
	int n = 0;

	if (!ask_int(lib, version, &n, a))
		return;
	gpu_version_text(which, n, a->version, sizeof(a->version));
	if (count && !ask_int(lib, count, &a->devices, a)) {
		a->devices = -1;
		return;
	}
	a->works = true;
}

static void ask_hip(void *lib, struct gpu_answer *a)
{
	ask_runtime(lib, GPU_HIP, "hipRuntimeGetVersion", "hipGetDeviceCount", a);
}

static void ask_cudart(void *lib, struct gpu_answer *a)
{
	ask_runtime(lib, GPU_CUDART, "cudaRuntimeGetVersion", "cudaGetDeviceCount", a);
}

static void ask_rccl(void *lib, struct gpu_answer *a)
{
	ask_runtime(lib, GPU_RCCL, "ncclGetVersion", NULL, a);
}

static void ask_nccl(void *lib, struct gpu_answer *a)
{
	ask_runtime(lib, GPU_NCCL, "ncclGetVersion", NULL, a);
}

static void ask_nvml(void *lib, struct gpu_answer *a)
{
	int (*init)(void) = NULL, (*count)(unsigned *) = NULL, (*version)(char *, unsigned) = NULL;
	void *at[] = { need(lib, "nvmlInit_v2", a), need(lib, "nvmlDeviceGetCount_v2", a),
		       need(lib, "nvmlSystemGetDriverVersion", a) };
	unsigned n = 0;

	if (!at[0] || !at[1] || !at[2])
		return;
	memcpy(&init, &at[0], sizeof(init));
	memcpy(&count, &at[1], sizeof(count));
	memcpy(&version, &at[2], sizeof(version));
	if (!well(init(), "nvmlInit_v2", a) ||
	    !well(version(a->version, sizeof(a->version)), "nvmlSystemGetDriverVersion", a) ||
	    !well(count(&n), "nvmlDeviceGetCount_v2", a))
		return;
	a->devices = (int)n;
	a->works = true;
}

/* Its structs change with every release, so only that it starts (flag 2: GPUs) is asked. */
static void ask_amdsmi(void *lib, struct gpu_answer *a)
{
	int (*init)(uint64_t) = NULL;
	void *at = need(lib, "amdsmi_init", a);

	if (!at)
		return;
	memcpy(&init, &at, sizeof(init));
	a->works = well(init(2), "amdsmi_init", a);
}

static const struct library libraries[GPU_LIB_N] = {
	[GPU_HIP] = { "hip",
		      "TWICE_LIB_HIP",
		      { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
			"libamdhip64.so", "/opt/rocm/lib/libamdhip64.so" },
		      ask_hip },
	[GPU_AMDSMI] = { "amdsmi",
			 "TWICE_LIB_AMDSMI",
			 { "libamd_smi.so", "/opt/rocm/lib/libamd_smi.so" },
			 ask_amdsmi },
	[GPU_NVML] = { "nvml", "TWICE_LIB_NVML", { "libnvidia-ml.so.1" }, ask_nvml },
	[GPU_CUDART] = { "cudart",
			 "TWICE_LIB_CUDART",
			 { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
			   "libcudart.so", "/usr/local/cuda/lib64/libcudart.so" },
			 ask_cudart },
	[GPU_RCCL] = { "rccl",
		       "TWICE_LIB_RCCL",
		       { "librccl.so.1", "/opt/rocm/lib/librccl.so.1" },
		       ask_rccl },
	[GPU_NCCL] = { "nccl", "TWICE_LIB_NCCL", { "libnccl.so.2" }, ask_nccl },
};

const char *gpu_lib_name(enum gpu_lib l)
{
	return libraries[l].name;
}

void gpu_version_text(enum gpu_lib lib, int v, char *ret, size_t room)
{
	if (lib == GPU_HIP)
		snprintf(ret, room, "%d.%d.%d", v / 10000000, v / 100000 % 100, v % 100000);
	else if (lib == GPU_CUDART)
		snprintf(ret, room, "%d.%d", v / 1000, v % 1000 / 10);
	else if (v >= 10000)
		snprintf(ret, room, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	else /* NCCL before 2.9 */
		snprintf(ret, room, "%d.%d.%d", v / 1000, v / 100 % 10, v % 100);
}

static void *open_first(const struct library *l, struct gpu_answer *a)
{
	const char *other = getenv(l->env);
	void *lib = NULL;

	if (other && other[0]) {
		lib = dlopen(other, RTLD_NOW | RTLD_LOCAL);
		if (!lib)
			snprintf(a->why, sizeof(a->why), "%.250s", dlerror());
		return lib;
	}
	for (size_t i = 0; !lib && i < ARRAY_SIZE(l->files) && l->files[i]; i++) {
		lib = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
		/* The first file's reason is the one to tell, unless a later one is there and
		 * broken. */
		if (!lib) {
			const char *said = dlerror();

			if (i == 0 || !strstr(said, "cannot open shared object file"))
				snprintf(a->why, sizeof(a->why), "%.250s", said);
		}
	}
	return lib;
}

static void child_asks(enum gpu_lib which, struct gpu_answer *a)
{
	const struct library *l = &libraries[which];
	void *lib = open_first(l, a);
	Dl_info info;
	void *any;

	if (!lib)
		return;
	a->loaded = true;
	a->why[0] = '\0';
	any = dlsym(lib, which == GPU_NVML     ? "nvmlInit_v2"
			 : which == GPU_AMDSMI ? "amdsmi_init"
			 : which == GPU_HIP    ? "hipGetDeviceCount"
			 : which == GPU_CUDART ? "cudaGetDeviceCount"
					       : "ncclGetVersion");
	if (any && dladdr(any, &info) && info.dli_fname)
		snprintf(a->path, sizeof(a->path), "%.500s", info.dli_fname);
	l->ask(lib, a);
}

/* ---- the child and its limit ----------------------------------------------------------------- */

static bool read_answer(int fd, int64_t end_ns, struct gpu_answer *ret)
{
	char *to = (char *)ret;
	size_t n = 0;

	while (n < sizeof(*ret)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = end_ns - clock_ns();
		ssize_t k;

		if (left <= 0)
			return false;
		if (poll(&p, 1, (int)MIN(left / NS_PER_MS + 1, INT64_C(1000))) <= 0)
			continue;
		k = read(fd, to + n, sizeof(*ret) - n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		n += (size_t)k;
	}
	return true;
}

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static NORETURN void child(enum gpu_lib lib, int fd)
{
	struct gpu_answer a = { .devices = -1 };
	ssize_t n;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_asks(lib, &a);
	n = write(fd, &a, sizeof(a)); /* fits a pipe: whole or not at all */
	/* No exit handlers: those of a driver may hang. */
	_exit(n == (ssize_t)sizeof(a) ? 0 : 1);
}

void gpu_ask(enum gpu_lib lib, int64_t limit_ns, struct gpu_answer *ret)
{
	int64_t end = clock_ns() + limit_ns;
	struct gpu_answer a = { .devices = -1 };
	int fd[2], status;
	bool whole;
	pid_t pid;

	*ret = a;
	if (pipe2(fd, O_CLOEXEC) < 0) {
		snprintf(ret->why, sizeof(ret->why), "no pipe: %s", strerror(errno));
		return;
	}
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(lib, fd[1]);
	closep(&fd[1]);
	whole = pid > 0 && read_answer(fd[0], end, &a);
	closep(&fd[0]);
	if (pid < 0) {
		snprintf(ret->why, sizeof(ret->why), "no child: %s", strerror(errno));
		return;
	}
	if (!whole)
		(void)kill(pid, SIGKILL); /* our own child, not yet waited for */
	status = reap(pid);
	if (whole)
		*ret = a;
	else if (clock_ns() >= end)
		snprintf(ret->why, sizeof(ret->why), "%s: no answer in time", libraries[lib].name);
	else
		snprintf(ret->why, sizeof(ret->why), "%s: it died with signal %d",
			 libraries[lib].name, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
