/* SPDX-License-Identifier: Apache-2.0 */
/* What its makers say of two components together. The rules' reading stands in envelope.h. */
#include "envelope/envelope.h"

#include "base/vec.h"

#define CUDA_GUIDE   "NVIDIA, CUDA compatibility"
#define CUDA_NOTES   "NVIDIA, CUDA toolkit release notes"
#define ROCM_MATRIX  "AMD, user and kernel space support matrix of ROCm"
#define TORCH_MATRIX "PyTorch, which torchvision and torchaudio belong to a torch"
#define BUILT_FOR    "what a build's version says it was built for"

/* Where `name` fits `when`, `other` must fit `need`; where `instead` fits it, that is as good. */
struct rule {
	const char *name, *when, *other, *need, *instead, *source;
};

static const struct rule rules[] = {
	/* A toolkit of CUDA runs on every driver since the first one of its major release; a
	 * compatibility package brings a driver library that is newer than the module. */
	{ "cuda", "11.*", "nvidia", ">=450.80.02", "cuda.driver", CUDA_GUIDE },
	{ "cuda", "12.*", "nvidia", ">=525.60.13", "cuda.driver", CUDA_GUIDE },
	{ "cuda", "13.*", "nvidia", ">=580", "cuda.driver", CUDA_GUIDE },
	{ "cudart", "11.*", "nvidia", ">=450.80.02", "cuda.driver", CUDA_GUIDE },
	{ "cudart", "12.*", "nvidia", ">=525.60.13", "cuda.driver", CUDA_GUIDE },
	{ "cudart", "13.*", "nvidia", ">=580", "cuda.driver", CUDA_GUIDE },
	{ "torch", "*+cu11?", "nvidia", ">=450.80.02", "cuda.driver", CUDA_NOTES },
	{ "torch", "*+cu12?", "nvidia", ">=525.60.13", "cuda.driver", CUDA_NOTES },
	{ "torch", "*+cu13?", "nvidia", ">=580", "cuda.driver", CUDA_NOTES },
	/* By the module's own version, as it tells it: 6.7.0 came with ROCm 6.1, 6.8.5 with 6.2,
	 * 6.10.5 with 6.3, 6.12.12 with 6.4. A bound that is not published is left open. */
	{ "amdgpu", "6.2.4*", "rocm", ">=5.5,<6.2", NULL, ROCM_MATRIX },
	{ "amdgpu", "6.3.6*", "rocm", ">=5.6,<6.3", NULL, ROCM_MATRIX },
	{ "amdgpu", "6.7.*", "rocm", ">=5.7,<6.4", NULL, ROCM_MATRIX },
	{ "amdgpu", "6.8.*", "rocm", ">=6.0,<7", NULL, ROCM_MATRIX },
	{ "amdgpu", "6.10.*", "rocm", ">=6.1", NULL, ROCM_MATRIX },
	{ "amdgpu", "6.12.*", "rocm", ">=6.2", NULL, ROCM_MATRIX },
	{ "amdgpu", "6.16.13*", "rocm", ">=6.3", NULL, ROCM_MATRIX },
	{ "torch", "2.4.*", "torchvision", "0.19.*", NULL, TORCH_MATRIX },
	{ "torch", "2.5.*", "torchvision", "0.20.*", NULL, TORCH_MATRIX },
	{ "torch", "2.6.*", "torchvision", "0.21.*", NULL, TORCH_MATRIX },
	{ "torch", "2.7.*", "torchvision", "0.22.*", NULL, TORCH_MATRIX },
	{ "torch", "2.8.*", "torchvision", "0.23.*", NULL, TORCH_MATRIX },
	{ "torch", "2.9.*", "torchvision", "0.24.*", NULL, TORCH_MATRIX },
	{ "torch", "2.4.*", "torchaudio", "2.4.*", NULL, TORCH_MATRIX },
	{ "torch", "2.5.*", "torchaudio", "2.5.*", NULL, TORCH_MATRIX },
	{ "torch", "2.6.*", "torchaudio", "2.6.*", NULL, TORCH_MATRIX },
	{ "torch", "2.7.*", "torchaudio", "2.7.*", NULL, TORCH_MATRIX },
	{ "torch", "2.8.*", "torchaudio", "2.8.*", NULL, TORCH_MATRIX },
	{ "torch", "2.9.*", "torchaudio", "2.9.*", NULL, TORCH_MATRIX },
};

/* A version as such: no words before it ("in-tree 6.8.0"), not "none found", not unknown. */
static const char *version_of(const struct component *c)
{
	return c && c->version && c->version[0] >= '0' && c->version[0] <= '9' ? c->version : NULL;
}

/* The first of the name that has one. */
static const struct component *versioned(const struct stack *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i].name, name) && version_of(&s->v[i]))
			return &s->v[i];
	return NULL;
}

static void add(struct findings *l, const struct component *c, const struct component *other,
		const char *other_name, const char *need, const char *source)
{
	enum finding_kind kind = !other                                 ? FINDING_UNKNOWN
				 : pin_fits(need, other->version, NULL) ? FINDING_OK
									: FINDING_VIOLATED;
	struct finding *f = VEC_ADD(l);

	*f = (struct finding){ .kind = kind, .layer = other ? other->layer : CL_N };
	f->component = xstrdup(other_name);
	f->with = xstrdup(c->name);
	f->want = xstrdup(need);
	f->found = xstrdup(other ? other->version : NULL);
	f->source = xstrdup(source);
	if (kind == FINDING_UNKNOWN)
		f->text = xasprintf("%s %s wants %s %s, of which no version is known", c->name,
				    c->version, other_name, need);
	else
		f->text = xasprintf("%s %s wants %s %s, and it is %s", c->name, c->version,
				    other_name, need, other->version);
	l->n_violated += kind == FINDING_VIOLATED;
	l->n_unknown += kind == FINDING_UNKNOWN;
}

static void by_rule(const struct rule *r, const struct stack *s, struct findings *ret)
{
	const struct component *c = versioned(s, r->name), *other = versioned(s, r->other);
	const struct component *instead = r->instead ? versioned(s, r->instead) : NULL;

	if (!c || !pin_fits(r->when, c->version, NULL))
		return;
	if (instead && pin_fits(r->need, instead->version, NULL))
		other = instead;
	add(ret, c, other, other ? other->name : r->other, r->need, r->source);
}

/* "2.8.0+rocm6.4" was built for ROCm 6.4: it wants that one's HIP or a later one of the same major
 * release. */
static void by_build(const struct stack *s, struct findings *ret)
{
	static const char *const names[] = { "torch", "torchvision", "torchaudio", "vllm" };
	const struct component *hip = versioned(s, "hip");

	if (!hip)
		hip = versioned(s, "rocm");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct component *c = versioned(s, names[i]);
		const char *tag = c ? strstr(c->version, "+rocm") : NULL;
		AUTO_FREE char *need = NULL;
		unsigned major, minor;

		if (!tag || sscanf(tag, "+rocm%2u.%2u", &major, &minor) != 2)
			continue;
		need = xasprintf(">=%u.%u,<%u", major, minor, major + 1);
		add(ret, c, hip, hip ? hip->name : "rocm", need, BUILT_FOR);
	}
}

void envelope_together(const struct stack *s, struct findings *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		by_rule(&rules[i], s, ret);
	by_build(s, ret);
}
