/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that concern several parts of a contract. */
#include "base/err.h"
#include "base/vec.h"
#include "contract/internal.h"

/* The node at a.b, or the nearest one above it that is there: where a mistake is shown. */
static const struct yaml *place(const struct yaml *root, const char *a, const char *b)
{
	const struct yaml *y = yaml_get(root, a);
	const struct yaml *z = y && b ? yaml_get(y, b) : NULL;

	return z ? z : y ? y : root;
}

/* Looks of the sequential comparison: the usual ones up to the cap, and the cap itself. */
void looks_default(int64_t at_most, struct ints *ret)
{
	static const int64_t usual[] = { 3, 4, 5, 6, 8, 10 };

	for (size_t i = 0; i < ARRAY_SIZE(usual) && usual[i] < at_most; i++)
		*VEC_ADD(ret) = usual[i];
	*VEC_ADD(ret) = at_most;
}

static void check_repeat(struct reading *r, const struct yaml *root, struct contract *c)
{
	const struct yaml *at_most = place(root, "repeat", "at_most");
	const struct yaml *looks = place(root, "repeat", "looks");
	struct ints *l = &c->repeat.looks;

	if (c->repeat.at_most < c->repeat.runs)
		complain(r, at_most->line, at_most->col,
			 "'at_most' (%lld) is less than 'runs' (%lld)",
			 (long long)c->repeat.at_most, (long long)c->repeat.runs);
	if (!l->n) {
		looks_default(c->repeat.at_most, l);
		return;
	}
	for (size_t i = 1; i < l->n; i++) {
		if (l->v[i] > l->v[i - 1])
			continue;
		complain(r, looks->line, looks->col,
			 "'looks': each is more than the one before it");
		return;
	}
	if (l->v[l->n - 1] != c->repeat.at_most)
		complain(r, looks->line, looks->col, "'looks': the last one is 'at_most' (%lld)",
			 (long long)c->repeat.at_most);
	if (l->n > 16)
		complain(r, looks->line, looks->col, "'looks': at most 16 of them");
}

static void check_gates(struct reading *r, const struct yaml *root, const struct contract *c)
{
	const struct yaml *y = place(root, "gates", "reject_failed");

	if (c->gates.reject_failed <= c->gates.max_failed)
		complain(r, y->line, y->col,
			 "'reject_failed' (%lld) is not more than 'max_failed' (%lld)",
			 (long long)c->gates.reject_failed, (long long)c->gates.max_failed);
}

static void check_kind(struct reading *r, const struct yaml *root, const struct contract *c)
{
	const struct workload_check *k = &c->workload_check;
	const struct yaml *y;

	if (c->workload.kind == KIND_INFERENCE && k->has_train) {
		y = place(root, "workload_check", "train");
		complain(
			r, y->key_line, y->key_col,
			"an inference workload is checked by 'serve' or 'command', not by 'train'");
	}
	if (k->has_train && k->train.launcher != LAUNCHER_LOCAL) {
		y = yaml_get(place(root, "workload_check", "train"), "launcher");
		complain(r, y ? y->line : 0, y ? y->col : 0,
			 "'launcher': this version starts jobs on this machine only: 'local'");
	}
	if (c->workload.kind == KIND_TRAINING && k->has_serve) {
		y = place(root, "workload_check", "serve");
		complain(r, y->key_line, y->key_col,
			 "a training workload is checked by 'train' or 'command', not by 'serve'");
	}
	if (k->has_load && !k->has_serve) {
		y = place(root, "workload_check", "load");
		complain(r, y->key_line, y->key_col,
			 "'load' needs a server: 'workload_check.serve'");
	}
}

static void check_cost(struct reading *r, const struct yaml *root, const struct contract *c)
{
	const struct yaml *y = place(root, "cost", NULL);

	if (c->has_cost && !c->cost.file && !c->cost.currency && y->kind == YAML_MAP)
		complain(r, y->line, y->col, "'cost' needs 'currency': USD, EUR, ...");
	for (const char *p = c->cost.currency; p && *p; p++) {
		if (*p >= 'A' && *p <= 'Z' && strlen(c->cost.currency) == 3)
			continue;
		y = place(root, "cost", "currency");
		complain(r, y->line, y->col,
			 "'currency': expected three capital letters, got '%.20s'",
			 c->cost.currency);
		return;
	}
}

/* An owner of neither a layer nor anything that looks like a component is most likely a slip. */
static void check_owners(struct reading *r, const struct yaml *root)
{
	const struct yaml *stack = yaml_get(root, "stack");
	const struct yaml *owners = stack ? yaml_get(stack, "owners") : NULL;

	for (size_t i = 0; owners && owners->kind == YAML_MAP && i < owners->n; i++) {
		const char *key = owners->v[i].key,
			   *near = nearest_name(key, component_layer_names);
		const struct yaml *pins = yaml_get(stack, "pins");

		/* One letter off a layer's name and no pin: not a component of its own. */
		if (!near || streq(near, key) || (pins && yaml_get(pins, key)) ||
		    labs((long)strlen(near) - (long)strlen(key)) > 1 || strlen(key) < 5)
			continue;
		complain(r, owners->v[i].key_line, owners->v[i].key_col,
			 "'owners': '%.60s' is no layer (nearest: '%s')", key, near);
	}
}

void rules_check(struct reading *r, const struct yaml *root, struct contract *c)
{
	check_repeat(r, root, c);
	check_gates(r, root, c);
	check_kind(r, root, c);
	check_cost(r, root, c);
	check_owners(r, root);
	told_check(r, root, c);
}
