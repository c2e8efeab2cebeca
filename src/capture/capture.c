/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/capture.h"

#include "base/err.h"
#include "base/vec.h"
#include "capture/dpkg.h"
#include "capture/libs.h"
#include "capture/probes.h"
#include "capture/save.h"
#include "capture/source.h"

static const struct probe *const probes[] = {
	&probe_os,     &probe_kernel,  &probe_host,      &probe_limits, &probe_platform,
	&probe_cpu,    &probe_memory,  &probe_system,    &probe_gpu,    &probe_amd,
	&probe_nvidia, &probe_runtime, &probe_gpu_tools, &probe_net,    &probe_packages,
	&probe_python, &probe_libs,    &probe_env,       &probe_files,  &probe_programs,
	&probe_tool,
};

const char *const *capture_probe_names(void)
{
	static const char *names[ARRAY_SIZE(probes) + 1]; /* filled once, always the same */

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		names[i] = probes[i]->name;
	return names;
}

/* ---- the conf -------------------------------------------------------------------------------- */

void capture_conf_release(struct capture_conf *c)
{
	strs_release(&c->modules);
	strs_release(&c->env_globs);
	strs_release(&c->environment);
	for (size_t i = 0; i < c->files.n; i++) {
		free(c->files.v[i].name);
		free(c->files.v[i].path);
	}
	free(c->files.v);
	for (size_t i = 0; i < c->programs.n; i++) {
		free(c->programs.v[i].name);
		strs_release(&c->programs.v[i].argv);
	}
	free(c->programs.v);
	*c = (struct capture_conf){ 0 };
}

void capture_add_file(struct capture_conf *c, const char *name, const char *path,
		      enum component_layer layer)
{
	struct capture_file *f = VEC_ADD(&c->files);

	f->name = xstrdup(name);
	f->path = xstrdup(path);
	f->layer = layer;
}

struct capture_program *capture_add_program(struct capture_conf *c, const char *name,
					    enum component_layer layer)
{
	struct capture_program *p = VEC_ADD(&c->programs);

	p->name = xstrdup(name);
	p->layer = layer;
	return p;
}

/* ---- after the probes ------------------------------------------------------------------------ */

/* The drivers name the GPUs; without a driver what stands on the bus, or nothing. */
static void put_missing_gpu(struct source *s)
{
	const struct component *pci = stack_find(s->out, CL_HARDWARE, "gpu.pci");

	if (stack_find(s->out, CL_HARDWARE, "gpu"))
		return;
	src_why(s, "%s", pci && pci->note ? pci->note : "not readable");
	if (pci && !pci->version)
		put(s, CL_HARDWARE, "gpu", NULL, "/sys/bus/pci/devices");
	else if (!pci || streq(pci->version, NONE_FOUND))
		put(s, CL_HARDWARE, "gpu", NONE_FOUND, "/sys/bus/pci/devices");
	else
		putf(s, CL_HARDWARE, "gpu", "/sys/bus/pci/devices", "%s, no driver", pci->version);
}

static bool begins(const char *text, const char *with)
{
	return text && str_starts(text, with);
}

/* A library a process had: the same path again, as it is now. */
static void carry_library(struct source *s, const struct component *old)
{
	const char *path = old->origin + strlen(ORIGIN_PROCESS);
	const struct facts *f = src_facts(s, path);
	const char *package;
	struct component *c;

	if (!f) {
		put(s, old->layer, old->name, NULL, old->origin);
		return;
	}
	c = put(s, old->layer, old->name, old->version, old->origin);
	put_digest(c, f->digest);
	c->requested = xstrdup(old->requested);
	c->label = xstrdup(old->label);
	if (streq(c->digest, old->digest)) {
		put_note(c, "where the accepted process had it; file unchanged");
		return;
	}
	package = f->package ? dpkg_version(dpkg_of(s), f->package) : NULL;
	put_note(c, "where the accepted process had it; the file is another one now");
	free(c->version);
	c->version = package ? xstrdup(package) : lib_file_version(f->real);
	if (!c->version)
		c->version = xasprintf("sha256 %.12s", f->digest);
}

static void carry_value(struct source *s, const struct component *old)
{
	struct component *c = put(s, old->layer, old->name, old->version, old->origin);

	c->requested = xstrdup(old->requested);
	c->label = xstrdup(old->label);
	c->digest = xstrdup(old->digest);
	c->cosmetic = old->cosmetic;
	put_note(c, "as accepted: not read again in a quick check");
}

static void drop(struct stack *s, const struct component *c)
{
	size_t i = (size_t)(c - s->v);
	struct stack one = { .v = &s->v[i], .n = 1 };
	struct component dead = *one.v;

	memmove(&s->v[i], &s->v[i + 1], (s->n - i - 1) * sizeof(*s->v));
	s->n--;
	free(dead.name);
	free(dead.version);
	free(dead.requested);
	free(dead.label);
	free(dead.digest);
	free(dead.origin);
	free(dead.note);
}

/*
 * What only a process or a command can tell, in a quick check: as long as what we would give the
 * process
 * is what we gave it then (`requested`), the accepted value stands for it.
 */
static void carry_over(struct source *s)
{
	const struct stack *known = s->conf->known;

	for (size_t i = 0; known && i < known->n; i++) {
		const struct component *old = &known->v[i];
		bool process = begins(old->origin, ORIGIN_PROCESS);
		const struct component *now = stack_find(s->out, old->layer, old->name);

		if (!process && !begins(old->origin, ORIGIN_COMMAND))
			continue;
		if (now && !streq(now->version, old->requested))
			continue;
		if (now)
			drop(s->out, now);
		else if (old->requested)
			continue; /* we gave it then, and don't now */
		if (process && old->origin[strlen(ORIGIN_PROCESS)] == '/')
			carry_library(s, old);
		else
			carry_value(s, old);
	}
}

static int run_probes(struct source *s, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (src_cancelled(s))
			return bail(err, ERR_INTERRUPTED, "interrupted");
		if (s->conf->quick && probes[i]->slow)
			continue;
		src_why(s, "not readable");
		probes[i]->run(s);
	}
	if (src_cancelled(s))
		return bail(err, ERR_INTERRUPTED, "interrupted");
	put_missing_gpu(s);
	if (s->conf->quick)
		carry_over(s);
	stack_sort(s->out);
	return 0;
}

int capture_stack(const struct capture_conf *conf, struct stack *ret, struct err *err)
{
	struct stack out CLEANUP(stack_release) = { 0 };
	struct source s CLEANUP(source_release) = { .out = &out };

	TRY(source_open(&s, conf, err));
	TRY(run_probes(&s, err));
	*ret = out;
	out = (struct stack){ 0 };
	return 0;
}

static void recorder_freep(struct recorder **r)
{
	recorder_free(*r);
}

int capture_save(const struct capture_conf *conf, const char *dir, struct stack *ret,
		 struct err *err)
{
	struct stack out CLEANUP(stack_release) = { 0 };
	struct source s CLEANUP(source_release) = { .out = &out };
	CLEANUP(recorder_freep) struct recorder *r = NULL;

	if (conf->root && conf->root[0])
		return bail(err, ERR_USAGE, "a recorded machine can't be recorded again");
	TRY(recorder_open(dir, &r, err));
	TRY(source_open(&s, conf, err));
	s.save = r;
	TRY(run_probes(&s, err));
	TRY(recorder_close(r, &s, err));
	*ret = out;
	out = (struct stack){ 0 };
	return 0;
}
