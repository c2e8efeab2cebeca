/* SPDX-License-Identifier: Apache-2.0 */
/* What `twice load` does beside a single run. The room's own business. */
#pragma once

#include "cli/cmds.h"
#include "load/load.h"

/* Fills `value` with another load generator's result. */
int load_import(const char *path, json_t *value, struct err *err) MUST_USE;
void load_import_text(const json_t *v, struct str *out);

struct load_opts {
	const char *model, *key_env, *prompts, *prompt, *golden, *save_golden, *rate, *rate_to,
		*burstiness, *trace, *temperature, *ca, *raw, *replay, *import, *vllm_json, *share,
		*proxy, *server_metrics, *tolerance, *shard, *synthetic, *launcher, *start_at;
	struct strs stages, objectives, merge;
	int endpoint, arrival, engine, progress;
	int64_t for_ns, requests, warmup_ns, warmup_requests, timeout_ns, seed, concurrency,
		max_in_flight, max_tokens, loops, client_lag_ns, shards, lead_ns;
	bool ignore_eos, usage_every, no_stream, no_keep_alive, shuffle, insecure, search;
};

/* What a configuration borrows. */
struct load_owned {
	struct load_prompts prompts;
	struct load_golden golden;
	struct load_stage *stages;
	struct load_objective *objectives;
	int64_t *trace;
};
void load_owned_release(struct load_owned *o);

/* Everything but the display. */
int load_make_conf(const struct cli *cli, const struct load_opts *o, struct load_owned *own,
		   struct load_conf *c, struct err *err) MUST_USE;
/* "4", "4/s", "0.5 req/s" */
int load_read_rate(const char *name, struct sv text, double *ret, struct err *err) MUST_USE;
/* load_conf.tick, with a struct cli: one line for people, or one JSON object a line. */
int load_show(void *arg, const struct load_progress *p);
int load_show_json(void *arg, const struct load_progress *p);
/* --merge: results of several clients as one. */
int load_merge_files(const struct strs *paths, struct load_result *ret, struct err *err) MUST_USE;
/* --shards: starts the clients and merges what they wrote. */
int load_shards_run(const struct load_opts *o, struct load_result *ret, struct err *err) MUST_USE;
/* --search */
int load_search_run(const struct load_opts *o, struct load_conf *c, json_t *value,
		    struct err *err) MUST_USE;
