/* SPDX-License-Identifier: Apache-2.0 */
/* The probes: one const struct each, one row each in capture.c. */
#pragma once

#include "capture/source.h"

/* Reads through src_...(), adds components with put(). What it can't read it adds as unknown. */
struct probe {
	const char *name;
	const char *help;
	bool slow; /* starts vendor commands: not in quick mode */
	void (*run)(struct source *s);
};

extern const struct probe probe_os, probe_kernel, probe_host, probe_limits, probe_platform;
extern const struct probe probe_cpu, probe_memory, probe_system;
extern const struct probe probe_gpu, probe_amd, probe_nvidia, probe_gpu_tools;
extern const struct probe probe_runtime, probe_net, probe_packages;
extern const struct probe probe_python, probe_libs, probe_env, probe_files, probe_programs;
extern const struct probe probe_tool;

/* Origins of values that only a process or a command can tell begin with these; quick mode carries
 * them
 * over from the accepted stack. */
#define ORIGIN_PROCESS "process "
#define ORIGIN_COMMAND "command "

/* "K=V": its name is on the allow-list. */
bool env_kept(const struct source *s, const char *pair);
/* The pair with its value redacted where it looks like a secret. */
char *env_redacted(const char *pair) MUST_USE;
bool glob_match(const char *pattern, struct sv text);

/*
 * What a program prints as its version; NULL and s->why when it does not. In quick mode the answer
 * of
 * an unchanged file (`real`, may be NULL) comes from the cache.
 */
char *version_of_program(struct source *s, const char *name, const char *const *argv,
			 const char *real) MUST_USE;

/* The PCI functions of GPUs, found without any driver. */
struct gpu_pci {
	char address[16]; /* "0000:05:00.0" */
	unsigned vendor, device;
};
struct gpu_pcis {
	struct gpu_pci *v;
	size_t n, room;
};
/* False and s->why: the bus can't be read. No bus at all is true and none. */
bool gpu_pcis_find(struct source *s, struct gpu_pcis *ret);

/* Python's folders and where a module is; probe_python.c. */
struct python {
	char *exe;        /* resolved path */
	char *version;    /* "3.11.2" */
	char *series;     /* "3.11" */
	struct strs path; /* sys.path folders with packages, in order */
};
bool python_find(struct source *s, struct python *ret);
void python_release(struct python *p);
/* Folder or file of an import name; NULL when it is nowhere. */
char *python_module(struct source *s, const struct python *p, const char *name) MUST_USE;
