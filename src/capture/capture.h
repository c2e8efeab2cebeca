/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures the stack: everything below and around a workload, as components (model.h).
 *
 *	struct capture_conf conf CLEANUP(capture_conf_release) = { .python = "/usr/bin/python3" };
 *	strs_add(&conf.modules, "numpy");
 *	capture_add_file(&conf, "model", "model.npz", CL_MODEL);
 *	struct stack stack CLEANUP(stack_release) = { 0 };
 *	TRY(capture_stack(&conf, &stack, err));
 *
 * What a probe can't read becomes a component with version NULL (unknown) and a note that says why;
 * what is certainly not there is "none found". Nothing is guessed. Serial numbers, UUIDs,
 * addresses and
 * secrets are never captured. Values that move by themselves (load, free memory, clocks) are not
 * captured at all.
 *
 * Where things come from, in this order: files of /proc, /sys, /etc and the package database; the
 * real
 * loader (`ld.so --list`) for the libraries that a module's extension files will get under the
 * workload's environment; the running process when a pid is given; vendor commands with a time
 * limit.
 *
 * Two modes give stacks that can be compared:
 *	full	reads every byte it digests and asks vendor commands;
 *	quick	(`twice check`) takes digests from the cache when path, device, inode, size, mtime
 * 	and
 *		ctime are the same, starts no vendor command and no process but the loader. What
 * 		only a
 *		process or a command can tell is carried over from `known`: libraries are digested
 * 		again
 *		at the path where the process had them, other values keep their old value and say so
 *		in their note.
 *
 * A recorded machine is a folder: root/ (files), cmd/NAME (what a command printed; no file: not
 * there;
 * cmd/NAME.status holds an exit code that is not 0), facts.json (digests, sonames, build ids and
 * packages of files that are too big to keep; see capture_save). It always gives the same stack.
 *
 * Names of components by layer ("c" = cosmetic: shown, but no reason to be stale):
 *	hardware  system cpu cpu.features cpu.topology memory numa gpu gpu.pci gpu.pcie gpu.links
 * 	gpu.ras
 *		  gpu.memory gpu.pcie.gen gpu.pcie.width
 *	firmware  bios cpu.microcode gpu.vbios gpu.fw.NAME rdma
 *	host	  os kernel kernel.cmdline boot.NAME thp thp.defrag numa_balancing governor
 * 	overcommit
 *		  swappiness hugepages clocksource smt aslr ulimit.NAME cpus_allowed cgroup.cpu
 *		  cgroup.memory libc libstdc++ allocator package.NAME (c) packages (c)
 *	driver	  amdgpu nvidia nic.NAME gpu.partition gpu.power_cap gpu.performance_level gpu.mode
 * 	gpu.ecc
 *		  gpu.persistence
 *	runtime	  rocm cuda amd-smi and libraries (hip, hsa, cudart, ...)
 *	commlib	  rdma gpudirect and libraries (rccl, nccl, mpi, ucx, ...)
 *	kernellib blas lapack openmp and libraries (rocblas, hipblaslt, miopen, cudnn, ...),
 * 	triton, aiter
 *	framework python numpy.build torch.build, modules, libraries of frameworks
 *	engine	  vllm, sglang, ... (modules), programs that say so
 *	image	  image (c, only inside a container: it can't see its own digest)
 *	platform  node (c) virtualisation container cloud
 *	model, application   files and programs of the conf; env.NAME; twice
 * blas is ONE component whatever provides it: "openblas 0.3.21+ds-4", "reference 3.11.0-2", with
 * the digest
 * of the file that holds the code. So a swap of the kernel library is one change.
 */
#pragma once

#include "base/str.h"
#include "model/model.h"
#include <sys/types.h>

struct err;

struct capture_file {
	char *name, *path; /* a folder is digested as the sorted list of its files */
	enum component_layer layer;
};
struct capture_program {
	char *name;
	struct strs argv; /* prints its version; the first word like a version in it is taken */
	enum component_layer layer;
};

struct capture_conf {
	const char *root;        /* NULL or "": this machine; else the folder of a recorded one */
	const char *dir;         /* where relative paths of files and programs begin; NULL: here */
	pid_t pid;               /* a process of the workload; 0: none */
	const char *python;      /* NULL: no Python in this workload. A name without '/': by PATH */
	struct strs modules;     /* "numpy", "torch": import names */
	struct strs env_globs;   /* added to the allow-list: "MYAPP_*" */
	struct strs environment; /* "K=V" that the workload gets on top of ours */
	struct {
		struct capture_file *v;
		size_t n, room;
	} files;
	struct {
		struct capture_program *v;
		size_t n, room;
	} programs;
	const char *tool_version,
		*tool_digest; /* of twice itself: "0.1.0", 64 hex; NULL: left out */
	bool quick;
	const char
		*cache_path; /* file of the digest cache; NULL: no cache. A broken one is ignored */
	const struct stack *known;  /* the accepted stack, for quick; NULL: none */
	int64_t command_limit_ns;   /* for each vendor command; 0: 20 s */
	const volatile int *cancel; /* non-zero: give up with -ERR_INTERRUPTED; NULL: never */
};
void capture_conf_release(
	struct capture_conf *c); /* the lists; borrowed pointers stay the caller's */
void capture_add_file(struct capture_conf *c, const char *name, const char *path,
		      enum component_layer layer);
struct capture_program *capture_add_program(struct capture_conf *c, const char *name,
					    enum component_layer layer); /* fill its argv */

/* ret is sorted. Fails only when a recorded machine can't be opened, the pid is gone, or on
 * cancel. */
int capture_stack(const struct capture_conf *conf, struct stack *ret, struct err *err) MUST_USE;

/*
 * Records this machine into `dir` (made; must be empty or new): everything that a capture with this
 * conf reads, and no more. Texts are redacted (host name, serials, UUIDs, MAC and IP addresses,
 * secret-
 * looking values); the capture of the recording equals ret but for those. conf->root must be empty.
 */
int capture_save(const struct capture_conf *conf, const char *dir, struct stack *ret,
		 struct err *err) MUST_USE;

/* SHA-256 of a file, or of a folder: over "SHA256  relative/path\n" of its files, sorted by path;
 * links
 * are not followed, they count as "link TARGET  path". ret_bytes may be NULL. */
int capture_digest(const char *path, char ret[65], uint64_t *ret_bytes, struct err *err) MUST_USE;

/* The probes, in the order they run; NULL ended. For `twice stack --probes` and the docs. */
const char *const *capture_probe_names(void);
