/* SPDX-License-Identifier: Apache-2.0 */
#include "envelope/envelope.h"
#include "test.h"

struct row {
	const char *components; /* "name version, name version" */
	enum finding_kind worst;
	const char *text; /* of the worst finding; "": there is none at all */
};

static const struct row rows[] = {
	/* the AMD driver and what runs above it */
	{ "amdgpu 6.7.0, rocm 6.4.1-83", FINDING_VIOLATED,
	  "amdgpu 6.7.0 wants rocm >=5.7,<6.4, and it is 6.4.1-83" },
	{ "amdgpu 6.7.0, rocm 6.3.4-82", FINDING_OK,
	  "amdgpu 6.7.0 wants rocm >=5.7,<6.4, and it is 6.3.4-82" },
	{ "amdgpu 6.12.12, rocm 6.1.2-119", FINDING_VIOLATED,
	  "amdgpu 6.12.12 wants rocm >=6.2, and it is 6.1.2-119" },
	{ "amdgpu 6.12.12, rocm 7.0.2-56", FINDING_OK,
	  "amdgpu 6.12.12 wants rocm >=6.2, and it is 7.0.2-56" },
	{ "amdgpu 6.12.12, rocm ?", FINDING_UNKNOWN,
	  "amdgpu 6.12.12 wants rocm >=6.2, of which no version is known" },
	{ "amdgpu 6.12.12, rocm none found", FINDING_UNKNOWN,
	  "amdgpu 6.12.12 wants rocm >=6.2, of which no version is known" },
	/* a module of the kernel's tree has the kernel's version: no driver release is meant */
	{ "amdgpu in-tree 6.8.0-31-generic, rocm 5.0.0", FINDING_OK, "" },
	{ "amdgpu 9.9.9, rocm 5.0.0", FINDING_OK, "" },
	{ "amdgpu ?, rocm 5.0.0", FINDING_OK, "" },
	/* NVIDIA */
	{ "nvidia 535.183.01, cuda 12.4.1", FINDING_OK,
	  "cuda 12.4.1 wants nvidia >=525.60.13, and it is 535.183.01" },
	{ "nvidia 535.183.01, cuda 13.0.0", FINDING_VIOLATED,
	  "cuda 13.0.0 wants nvidia >=580, and it is 535.183.01" },
	{ "nvidia 535.183.01, cuda 13.0.0, cuda.driver 580.65.06", FINDING_OK,
	  "cuda 13.0.0 wants cuda.driver >=580, and it is 580.65.06" },
	{ "nvidia 470.57.02, torch 2.6.0+cu124", FINDING_VIOLATED,
	  "torch 2.6.0+cu124 wants nvidia >=525.60.13, and it is 470.57.02" },
	/* what a build was made for */
	{ "torch 2.3.0+rocm6.4, hip 6.2.41134", FINDING_VIOLATED,
	  "torch 2.3.0+rocm6.4 wants hip >=6.4,<7, and it is 6.2.41134" },
	{ "torch 2.3.0+rocm6.4, rocm 6.2.4-139", FINDING_VIOLATED,
	  "torch 2.3.0+rocm6.4 wants rocm >=6.4,<7, and it is 6.2.4-139" },
	{ "torch 2.3.0+rocm6.2, hip 6.4.43482", FINDING_OK,
	  "torch 2.3.0+rocm6.2 wants hip >=6.2,<7, and it is 6.4.43482" },
	/* its own libraries count before those of the system */
	{ "torch 2.3.0+rocm6.4, hip 6.4.43482, rocm 6.2.4-139", FINDING_OK,
	  "torch 2.3.0+rocm6.4 wants hip >=6.4,<7, and it is 6.4.43482" },
	{ "torch 2.3.0+rocm6.4", FINDING_UNKNOWN,
	  "torch 2.3.0+rocm6.4 wants rocm >=6.4,<7, of which no version is known" },
	{ "torch 2.3.0", FINDING_OK, "" },
	{ "vllm 0.10.1+rocm641", FINDING_OK, "" },
	/* packages of one release */
	{ "torch 2.8.0, torchvision 0.22.1", FINDING_VIOLATED,
	  "torch 2.8.0 wants torchvision 0.23.*, and it is 0.22.1" },
	{ "torch 2.8.0, torchvision 0.23.0, torchaudio 2.7.1", FINDING_VIOLATED,
	  "torch 2.8.0 wants torchaudio 2.8.*, and it is 2.7.1" },
	{ "blas openblas 0.3.21+ds-4, numpy 1.24.2", FINDING_OK, "" },
};

static void fill(struct stack *s, const char *text)
{
	struct sv rest = sv_of(text), part;

	while (sv_split(&rest, ',', &part)) {
		struct sv value = sv_trim(part), name;
		AUTO_FREE char *n = NULL;
		AUTO_FREE char *v = NULL;

		(void)sv_split(&value, ' ', &name);
		n = sv_dup(name);
		v = sv_dup(value);
		(void)stack_add(s, CL_RUNTIME, n, streq(v, "?") ? NULL : v, "x");
	}
}

static const struct finding *worst_of(const struct findings *l)
{
	static const enum finding_kind order[] = { FINDING_VIOLATED, FINDING_OK, FINDING_UNKNOWN };

	for (size_t k = 0; k < ARRAY_SIZE(order); k++)
		for (size_t i = 0; i < l->n; i++)
			if (l->v[i].kind == order[k])
				return &l->v[i];
	return NULL;
}

static void every_row(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stack s CLEANUP(stack_release) = { 0 };
		struct findings l CLEANUP(findings_release) = { 0 };
		const struct finding *f;

		fill(&s, rows[i].components);
		envelope_together(&s, &l);
		f = worst_of(&l);
		CHECK_STR(f ? f->text : "", rows[i].text);
		CHECK_INT(f ? f->kind : FINDING_OK, rows[i].worst);
		CHECK(!f || (f->with && f->source && f->want));
		CHECK_INT(l.n_violated, rows[i].worst == FINDING_VIOLATED);
	}
}

static void no_pin_names_another_component(void)
{
	struct stack s CLEANUP(stack_release) = { 0 };
	struct pairs pins CLEANUP(pairs_release) = { 0 };
	struct findings l CLEANUP(findings_release) = { 0 };
	AUTO_JSON json_t *j = NULL;

	fill(&s, "torch 2.8.0, torchvision 0.22.1");
	pairs_add(&pins, "torch", "2.8.*");
	envelope_check(&pins, &s, &l);
	CHECK(l.n == 1 && !l.v[0].with);
	envelope_together(&s, &l);
	j = findings_to_json(&l);
	CHECK_STR(json_str_or(json_array_get(j, 1), "with", NULL), "torch");
	CHECK_STR(json_str_or(json_array_get(j, 1), "component", NULL), "torchvision");
	CHECK(!json_object_get(json_array_get(j, 0), "with"));
}

TEST_MAIN(TEST(every_row), TEST(no_pin_names_another_component))
