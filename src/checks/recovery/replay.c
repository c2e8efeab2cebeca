/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that a kill cut off are sent again. First the requests are answered by a healthy
 * server: that is what their answers should be. Then they are sent once more and the server is
 * killed meanwhile. Those that failed go to its successor, and must be answered as by the first
 * one.
 */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "load/load.h"
#include <math.h>

struct replay_conf {
	int64_t requests;
};

static const struct field replay_fields[] = {
	FIELD(replay_conf, requests, .type = FIELD_INT, .def = "20", .min = "2", .max = "100000",
	      .help = "sent, cut off by a kill, and those that failed sent again"),
	{ 0 },
};

/* Indexes of prompts, in the order they have to be sent again. */
struct failed {
	uint32_t *v;
	size_t n, room;
};

static void which_failed(const struct load_result *cut, struct failed *ret)
{
	for (size_t i = 0; i < cut->n; i++)
		if (cut->v[i].outcome != LOAD_OK)
			*VEC_ADD(ret) = cut->v[i].prompt;
}

static const struct load_req *first_answer(const struct load_result *r, uint32_t prompt)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].prompt == prompt && r->v[i].outcome == LOAD_OK)
			return &r->v[i];
	return NULL;
}

struct count {
	size_t answered, compared, different;
};

static void compare(const struct load_result *before, const struct load_result *after,
		    const struct failed *f, struct count *ret)
{
	for (size_t i = 0; i < after->n && i < f->n; i++) {
		const struct load_req *now = &after->v[i], *then = first_answer(before, f->v[i]);

		ret->answered += now->outcome == LOAD_OK;
		if (!then || now->outcome != LOAD_OK)
			continue;
		ret->compared++;
		ret->different += now->answer_n != then->answer_n ||
				  memcmp(after->text + now->answer_at,
					 before->text + then->answer_at, now->answer_n) != 0;
	}
}

static int keep(const struct check_ctx *ctx, const struct load_result *r, const char *label,
		struct outcome *o, struct err *err)
{
	AUTO_FREE char *path = ctx_path(ctx, label);

	TRY(load_raw_write(r, path, err));
	evidences_add(&o->evidence, label, "application/zstd", path);
	return 0;
}

/* A second load of the same requests, with the server killed under it. */
static int cut_off(const struct check_ctx *ctx, const struct replay_conf *c, struct server *s,
		   struct outcome *o, struct load_result *ret, struct err *err)
{
	struct background b CLEANUP(background_release) = BACKGROUND_INIT;
	struct load_ask ask = { .count = (uint64_t)c->requests,
				.open_loop = true,
				.no_golden = true };

	TRY(background_start(ctx, s->url, &ask, "cut.zst", &b, err));
	TRY(background_under_way(ctx, &b, err));
	report(ctx, "kill", "", -1, -1);
	server_stop(s, &ctx->contract->workload_check.serve, SIGKILL, NULL);
	return background_end(ctx, &b, /* now= */ false, &o->evidence, ret, err);
}

static int again(const struct check_ctx *ctx, const char *url, const struct failed *f,
		 struct load_result *ret, struct err *err)
{
	struct load_prompts all CLEANUP(load_prompts_release) = { 0 };
	AUTO_FREE struct load_prompt *some = xcalloc(f->n, sizeof(*some));
	struct load_prompts subset = { .v = some, .n = f->n };
	struct load_ask ask = { .count = f->n, .one_by_one = true, .no_golden = true };

	TRY(load_prompts_of(ctx, &all, err));
	for (size_t i = 0; all.n && i < f->n; i++)
		some[i] = all.v[f->v[i] % all.n]; /* borrowed */
	memcpy(subset.digest, all.digest, sizeof(subset.digest));
	ask.prompts = all.n ? &subset : NULL;
	report(ctx, "replay", "", -1, -1);
	return load_server(ctx, url, &ask, ret, err);
}

static int judge(const struct check_ctx *ctx, const struct failed *f, const struct count *n,
		 struct outcome *o)
{
	bool sampled = ctx->contract->workload_check.load.temperature > 0;

	measurements_add(&o->measured, "recovery.cut_off", UNIT_COUNT, LOWER_IS_BETTER,
			 (double)f->n);
	measurements_add(&o->measured, "recovery.replayed", UNIT_RATIO, HIGHER_IS_BETTER,
			 (double)n->answered / (double)f->n);
	if (n->answered < f->n)
		return ends(o, RESULT_FAIL, "%zu of %zu replayed requests failed",
			    f->n - n->answered, f->n);
	o->result = RESULT_PASS;
	if (sampled)
		return 0; /* drawn anew each time: only that they come can be asked for */
	if (!n->compared)
		return ends(o, RESULT_ERROR, "none of them had been answered before the kill");
	measurements_add(&o->measured, "recovery.same_answers", UNIT_RATIO, HIGHER_IS_BETTER,
			 1 - (double)n->different / (double)n->compared);
	if (n->different)
		return ends(o, RESULT_FAIL, "%zu of %zu answers differ after the restart",
			    n->different, n->compared);
	return 0;
}

static void failed_release(struct failed *f)
{
	free(f->v);
}

static int replay(const struct check_ctx *ctx, const struct replay_conf *c, struct outcome *o,
		  struct err *err)
{
	struct load_ask all = { .count = (uint64_t)c->requests, .no_golden = true };
	struct load_result before CLEANUP(load_result_release) = { 0 };
	struct load_result cut CLEANUP(load_result_release) = { 0 };
	struct load_result after CLEANUP(load_result_release) = { 0 };
	struct failed f CLEANUP(failed_release) = { 0 };
	struct server s CLEANUP(server_release) = { 0 };
	struct count n = { 0 };
	int port;

	TRY(server_start(ctx, "server.log", 0, &s, err));
	TRY(load_server(ctx, s.url, &all, &before, err));
	TRY(keep(ctx, &before, "before.zst", o, err));
	if (!load_count_ok(&before))
		return ends(o, RESULT_ERROR, "no request was answered before the kill");
	TRY(cut_off(ctx, c, &s, o, &cut, err));
	which_failed(&cut, &f);
	if (!f.n)
		return ends(o, RESULT_ERROR, "the kill cut no request off: ask for more of them");
	port = s.port;
	server_release(&s);
	TRY(server_start(ctx, "restarted.log", port, &s, err));
	TRY(again(ctx, s.url, &f, &after, err));
	TRY(keep(ctx, &after, "replayed.zst", o, err));
	server_stop(&s, &ctx->contract->workload_check.serve, SIGTERM, NULL);
	compare(&before, &after, &f, &n);
	return judge(ctx, &f, &n, o);
}

static int replay_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	if (only_serve(ctx, o))
		return 0;
	if (replay(ctx, conf, o, err) < 0)
		return ends_err(o, RESULT_FAIL, err);
	return 0;
}

const struct check check_replay = {
	.schema = { .name = "replay",
		    .layers = 1u << LAYER_RECOVERY,
		    .fields = replay_fields,
		    .conf_size = sizeof(struct replay_conf),
		    .help = "requests cut off by a kill are answered as before when sent again" },
	.run = replay_run,
};
