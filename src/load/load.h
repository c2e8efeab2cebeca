/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load engine: sends requests at times fixed before the run, follows every answer while it
 * streams, and says what it saw, how it knows, and whether it was fit to know.
 *
 *	struct load_conf conf;
 *	struct load_prompts prompts CLEANUP(load_prompts_release) = { 0 };
 *	struct load_result res CLEANUP(load_result_release) = { 0 };
 *	struct measurements m CLEANUP(measurements_release) = { 0 };
 *
 *	load_conf_init(&conf);
 *	conf.url = "http://127.0.0.1:8000";
 *	TRY(load_prompts_file("prompts.jsonl", &prompts, err));
 *	conf.prompts = &prompts;
 *	conf.rate = 4;                             requests a second, Poisson
 *	conf.duration_ns = 120 * NS_PER_S;
 *	TRY(load_run(&conf, &res, err));           0 also when requests were refused, cut, ...
 *	load_metrics(&res, &m);                    "ttft.p99", "throughput", "errors", ...
 *	if (res.audit.client_limited) ...          its timing can't support a verdict
 *
 * Times are int64_t ns. In a result they count from res.t0 (CLOCK_MONOTONIC, the start of the
 * measured part); LOAD_NONE stands for "did not happen" and never for 0. A warm-up has its own
 * records, which enter no metric.
 *
 * Definitions (in full in twice-load(1)):
 *	scheduled    set by the arrival process before the run; every latency counts from here
 *	started      first byte of the request written; client_queue = begun - scheduled
 *	ttft         first event with non-empty content, reasoning or tool call - scheduled
 *	itl          each gap between events that carry tokens, pooled over requests: per event
 *	tpot         (last token - first token) / tokens after the first event: per request
 *	e2e          end of the body - scheduled
 *	goodput      requests that met every objective / requests scheduled
 *	steady       the part from the first to the last moment at which at least 90 % of the usual
 *	             (time-weighted median) number of requests was in flight
 *
 * Arrival times of received bytes are the kernel's (SO_TIMESTAMPNS), mapped to CLOCK_MONOTONIC.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "model/model.h"

struct err;

#define LOAD_NONE INT64_MIN

/* ---- prompts --------------------------------------------------------------------------------- */

#define LOAD_TURNS 64

struct load_prompt {
	char *id;           /* "id" of the line, else its number from 1 */
	json_t *messages;   /* {"messages":[...]}, or NULL */
	char *prompt;       /* {"prompt":"..."}, or NULL */
	json_t *extra;      /* {"extra":{...}}: members put into the request as they are; or NULL */
	int64_t max_tokens; /* 0: the configuration's */
	char *golden;       /* {"golden":"..."}: the answer wanted; NULL: none */
	/* {"then":["...",...]}: what the user says next, once the answer before has ended; at most
	 * LOAD_TURNS. Chat in an open loop only. */
	struct strs then;
};
struct load_prompts {
	struct load_prompt *v;
	size_t n, room;
	char digest[65]; /* SHA-256 of all lines' canonical form */
};
/*
 * One JSON object a line: {"messages":[...]} or {"prompt":"..."}, and optionally "id",
 * "max_tokens", "golden", "extra". Empty lines are skipped. Anything else is -ERR_PARSE naming
 * `what` and the line.
 */
int load_prompts_parse(struct sv text, const char *what, struct load_prompts *ret,
		       struct err *err) MUST_USE;
int load_prompts_file(const char *path, struct load_prompts *ret, struct err *err) MUST_USE;
/*
 * Prompts of random words, the same for the same seed: "input=normal(512,64) output=128 prompts=100
 * prefix=64 prefixes=4 turns=3", in any order, each with a default. input: words (256), output:
 * max_tokens (the configuration's); both a number, uniform(low,high), normal(mean,deviation),
 * lognormal(median,sigma) or exponential(mean). prefix: words that `prefixes` groups of prompts
 * begin with. turns: conversations of so many prompts, in order, each with the earlier turns and
 * made-up answers in it.
 */
int load_prompts_synthetic(const char *spec, uint64_t seed, struct load_prompts *ret,
			   struct err *err) MUST_USE;
void load_prompts_release(struct load_prompts *p);

/* Golden answers of an earlier run: JSON lines {"id":...,"answer":...}. They win over a prompt's
 * own. */
struct load_golden {
	struct load_golden_answer {
		char *id, *answer;
	} * v;
	size_t n, room;
};
int load_golden_parse(struct sv text, const char *what, struct load_golden *ret,
		      struct err *err) MUST_USE;
void load_golden_release(struct load_golden *g);

/* ---- what to do ------------------------------------------------------------------------------ */

enum load_endpoint { LOAD_CHAT, LOAD_COMPLETIONS, LOAD_RESPONSES, LOAD_EMBEDDINGS, LOAD_PLAIN };
const char *load_endpoint_name(enum load_endpoint e); /* "chat" "completions" ... */
bool load_endpoint_parse(struct sv s, enum load_endpoint *ret);

enum load_arrival {
	LOAD_POISSON,  /* exponential gaps */
	LOAD_CONSTANT, /* equal gaps */
	LOAD_GAMMA,    /* gamma gaps of shape `burstiness`: 1 is Poisson, below 1 more bursty */
	LOAD_RAMP,     /* Poisson whose rate goes linearly from `rate` to `rate_to` */
	LOAD_STAGES,   /* Poisson, a list of (rate, duration) */
	LOAD_TRACE,    /* the times given in `trace_ns` */
	LOAD_CLOSED,   /* not open loop: `concurrency` requests at a time, the next when one ends */
};
const char *load_arrival_name(enum load_arrival a); /* "poisson" "constant" ... "closed" */
bool load_arrival_parse(struct sv s, enum load_arrival *ret);

enum load_engine {
	LOAD_ENGINE_HTTP, /* the real one */
	LOAD_ENGINE_RECV, /* sends, then only receives until the server closes: cost of receiving
			     alone */
	LOAD_ENGINE_NULL, /* no socket: every request is answered at once: cost of the generator
			     alone */
};
const char *load_engine_name(enum load_engine e);

struct load_stage {
	double rate; /* requests a second, > 0 */
	int64_t duration_ns;
};

enum load_latency { LOAD_TTFT, LOAD_ITL, LOAD_TPOT, LOAD_E2E };
/* What each request must keep to count in goodput. For LOAD_ITL the request's own p-quantile of
 * gaps is compared (p = 1: the largest). A request without the sample (too short) keeps the
 * objective. */
struct load_objective {
	enum load_latency what;
	double p;
	int64_t limit_ns;
};
/* "ttft <= 500 ms", "itl.p99 <= 40ms", "e2e<=10s". -ERR_PARSE says what is wrong. */
int load_objective_parse(struct sv text, struct load_objective *ret, struct err *err) MUST_USE;

/* So far, for a display. Percentiles here come from a histogram (error < 1.6 %). */
struct load_progress {
	bool warming;
	int64_t elapsed_ns, left_ns; /* of the offered part; left is an estimate, never negative */
	uint64_t scheduled, started, ok, failed, in_flight; /* scheduled: due by now */
	double rate_asked, rate_achieved;                   /* requests a second so far */
	double ttft_p50_ns, ttft_p99_ns, itl_p50_ns, itl_p99_ns, e2e_p50_ns,
		e2e_p99_ns;      /* NAN: none */
	uint64_t by_outcome[16]; /* enum load_outcome */
};

struct load_conf {
	enum load_engine engine;
	/* "http://host:port[/path]", "https://...", "http+unix://%2Frun%2Fs.sock[/path]". For the
	 * OpenAI endpoints "/v1/<endpoint>" is added unless the path ends in it; after ".../v1"
	 * only the rest. */
	const char *url;
	enum load_endpoint endpoint;
	const char *model;   /* NULL: left out of the request */
	const char *key_env; /* name of the environment variable with the bearer key; NULL: none. An
				unset one is -ERR_NOT_FOUND. The key is stored nowhere */
	const struct load_prompts *prompts; /* borrowed; for LOAD_PLAIN may be NULL: GET */
	const struct load_golden *golden;   /* borrowed; NULL: only the prompts' own */
	int64_t max_tokens;                 /* for prompts without; default 128 */
	double temperature;                 /* default 0; negative: left out */
	bool ignore_eos;    /* asks the server for exactly max_tokens (vLLM and SGLang extension) */
	bool usage_every;   /* asks for stream_options.continuous_usage_stats (vLLM extension) */
	bool no_stream;     /* asks for one whole answer: no ttft, itl, tpot */
	bool no_keep_alive; /* a new connection for each request */
	bool shuffle;       /* prompts in a seeded order instead of the file's */
	enum load_arrival arrival;
	double rate, rate_to;            /* requests a second */
	double burstiness;               /* LOAD_GAMMA: shape, > 0; default 1 */
	unsigned concurrency;            /* LOAD_CLOSED */
	const struct load_stage *stages; /* LOAD_STAGES */
	size_t n_stages;
	const int64_t *trace_ns; /* LOAD_TRACE: offsets from the start, ascending */
	size_t n_trace;
	int64_t duration_ns;   /* of arrivals; 0: until `count` */
	uint64_t count;        /* requests; 0: until `duration_ns`. Both: whichever comes first */
	int64_t warmup_ns;     /* same arrivals for so long before, or */
	uint64_t warmup_count; /* ... so many requests one after another; default 0 */
	int64_t timeout_ns; /* a request, from its begin; default 60 s. Waiting longer than this for
			       a free place is `dropped` */
	uint64_t seed;      /* default 1 */
	/* How late we ourselves may be without being called client_limited: for machines that the
	 * server
	 * shares with us. 0: only the built-in limits, which are strict. Recorded in the result */
	int64_t client_lag_ns;
	/* UTC ms since 1970 when the measured part begins, for clients that begin together; a
	 * moment that is past begins at once, and says how late. 0: when it is ready. */
	int64_t start_at_ms;
	unsigned max_in_flight; /* 0: no cap. Waiting for a place counts in every latency, and apart
				   as client_queue */
	const struct load_objective *objectives; /* borrowed */
	size_t n_objectives;
	size_t answer_limit; /* bytes of each answer kept; default 1 MiB */
	unsigned loops;      /* threads; 0: 1 */
	bool tls_insecure;   /* don't verify the server's certificate; recorded in the result */
	const char *tls_ca;  /* file of PEM certificates to trust; NULL: the system's */
	/* "http://host:port": every connection is a tunnel through it (CONNECT); NULL: none; the
	 * environment is not read. */
	const char *proxy;
	/* Page with the server's own metrics, "http://..."; "auto": /metrics beside the target, if
	 * there is one known here (never over TLS); NULL: none. */
	const char *server_metrics;
	/* Of a golden answer's characters, the share that may differ (edit distance over the longer
	 * one's length) for LOAD_MATCH_NEAR; 0: none. */
	double golden_tolerance;
	/* One of several clients that share a schedule: of its arrivals those number shard, shard +
	 * shards, ...; 0 shards: alone. */
	unsigned shard, shards;
	/* Called about every tick_ns (default 250 ms) from the calling thread. Non-zero: stop now.
	 */
	int (*tick)(void *arg, const struct load_progress *p);
	void *arg;
	int64_t tick_ns;
	const volatile int *cancel; /* non-zero: stop now; NULL: none. A stopped run gives what it
				       has, marked interrupted */
};
void load_conf_init(struct load_conf *c);
/* Everything load_run would refuse before it opens a socket. */
int load_conf_check(const struct load_conf *c, struct err *err) MUST_USE;

/* ---- what happened --------------------------------------------------------------------------- */

enum load_outcome {
	LOAD_OK,
	LOAD_SHORT,       /* ended cleanly with fewer tokens than it had to have, or with none */
	LOAD_NO_FINISH,   /* ended cleanly without a finish reason */
	LOAD_ERROR_EVENT, /* an error inside the stream */
	LOAD_HTTP_STATUS, /* not 2xx */
	LOAD_ERROR_BODY,  /* 2xx with an error, or with something that is not the protocol asked for
			   */
	LOAD_CUT,         /* connection closed inside the answer */
	LOAD_RESET,       /* connection reset */
	LOAD_TIMEOUT,
	LOAD_CONNECT,   /* no connection, no TLS session */
	LOAD_DROPPED,   /* never begun: no free place in time */
	LOAD_CANCELLED, /* in flight when the run was interrupted: enters no metric */
	LOAD_OUTCOMES,
};
const char *load_outcome_name(enum load_outcome o); /* "ok" "short" "no_finish" ... */

enum load_token_source {
	LOAD_TOKENS_NONE,  /* no token came */
	LOAD_TOKENS_EVERY, /* server usage in every event */
	LOAD_TOKENS_USAGE, /* server usage at the end */
	LOAD_TOKENS_EVENT, /* one for each event: a lower bound */
};
const char *load_token_source_name(enum load_token_source s);

enum load_match {
	LOAD_MATCH_NONE,
	LOAD_MATCH_SAME,
	LOAD_MATCH_DIFFERENT,
	LOAD_MATCH_MISSING,
	LOAD_MATCH_NEAR, /* different, but within the tolerance */
};
const char *load_match_name(enum load_match m);

#define LOAD_EV_MERGED    0x1 /* read together with another: came somewhere since the last read */
#define LOAD_EV_LATE      0x2 /* merged because we read late (over 1 ms), not as it was sent */
#define LOAD_EV_UNSTAMPED 0x4 /* no kernel stamp: our own clock after the read */
#define LOAD_EV_HIDDEN    0x8 /* reasoning only */

struct load_event {
	int64_t at;      /* when its last byte came in */
	uint32_t tokens; /* by server usage in every event; 0: not known */
	uint32_t flags;
};

struct load_req {
	int64_t scheduled, begun, connected, started, first_byte, first_token, first_visible,
		last_token, end;
	int64_t connect_ns, tls_ns; /* LOAD_NONE on a connection that was there already */
	uint32_t prompt;            /* index of the prompt */
	uint8_t turn; /* of a conversation; 0: the first. A later one is scheduled when
				       the answer before it ended */
	uint32_t events_at, n_events; /* in res.events: those that carry tokens */
	uint32_t asked;               /* max_tokens */
	uint32_t tokens;              /* answered, by `source` */
	uint32_t usage_tokens, prompt_tokens, cached_tokens,
		reasoning_tokens;   /* as the server said; */
	bool has_usage, has_cached; /* ... if it said so */
	bool contradiction;         /* server usage doesn't fit what was asked for or what came */
	bool reused;                /* on a kept connection */
	uint8_t choices;            /* answers in it, by the indices seen; 0: it told none */
	uint8_t reconnects; /* kept connection turned out closed before any byte came: sent again */
	uint8_t outcome;    /* enum load_outcome */
	uint8_t source;     /* enum load_token_source */
	uint8_t match;      /* enum load_match */
	bool good;          /* ok and all objectives kept */
	bool answer_cut;    /* longer than answer_limit */
	uint16_t status;    /* HTTP status; 0: none */
	int32_t retry_after_s;  /* -1: none */
	uint32_t differs_at;    /* golden: first different character (code point) */
	uint32_t differs_event; /* golden: event (from 0) that carried it; n_events: it ended */
	uint32_t pings, body_events;  /* comments; all events, also those without tokens */
	uint64_t bytes;               /* of the body */
	uint32_t answer_at, answer_n; /* in res.text, UTF-8 */
	char finish[16];              /* finish reason, "" if none */
	const char *detail; /* borrowed: "refused", "bad JSON in an event", ...; never NULL */
};

/* What a server says about itself, by what it means. From PROMPT_TOKENS on: counters. */
enum load_server_value {
	LOAD_SERVER_RUNNING,    /* requests */
	LOAD_SERVER_WAITING,    /* requests */
	LOAD_SERVER_CACHE_USED, /* 0..1 */
	LOAD_SERVER_PROMPT_TOKENS,
	LOAD_SERVER_OUTPUT_TOKENS,
	LOAD_SERVER_REQUESTS, /* that ended */
	LOAD_SERVER_PREEMPTIONS,
	LOAD_SERVER_CACHE_QUERIES, /* tokens */
	LOAD_SERVER_CACHE_HITS,
	LOAD_SERVER_TTFT_SUM, /* s, over ... */
	LOAD_SERVER_TTFT_N,   /* ... so many */
	LOAD_SERVER_E2E_SUM,
	LOAD_SERVER_E2E_N,
	LOAD_SERVER_N,
};
const char *load_server_name(enum load_server_value v);
bool load_server_is_counter(enum load_server_value v);
struct load_server_sample {
	int64_t at;              /* from res.t0 */
	double v[LOAD_SERVER_N]; /* NAN: not offered */
};
struct load_server {
	char kind[16]; /* "vllm" "sglang" "llamacpp"; "": nothing offered */
	struct load_server_sample *v;
	size_t n, room;
	size_t missed;  /* times it did not answer */
	bool restarted; /* a counter went down: totals mean nothing */
};
/* Last less first of a counter; NAN: not known. */
double load_server_total(const struct load_server *s, enum load_server_value v);

/* A log-linear histogram: 64 buckets an octave (error < 1.6 %), values 0..2^63-1. Display only. */
struct load_hist;

struct load_audit {
	bool client_limited;
	char reasons[512]; /* "; "-separated; "" when not limited */
	int64_t wall_ns, cpu_ns,
		runq_ns;  /* loops together; runq: waited for a CPU (/proc schedstat) */
	double cpu_share; /* busiest loop: CPU / wall */
	uint64_t events, merged, late, unstamped; /* events that carry tokens */
	uint64_t reads, wakes;
	double stamp_lag_p50_ns, stamp_lag_p99_ns,
		stamp_lag_max_ns; /* our clock after the read - kernel stamp */
	double lag_p50_ns, lag_p99_ns,
		lag_max_ns;               /* begun - scheduled, where nothing but us held it up */
	double rate_asked, rate_achieved; /* requests a second */
	double in_flight_mean, little;    /* integrated by the loop; throughput x mean time */
	uint64_t clock_steps;             /* CLOCK_REALTIME was set during the run */
	uint64_t allocations;             /* pools that had to grow during the run */
	bool stamps;                      /* kernel stamps work here */
	bool priority;                    /* the loops ran at a higher priority */
	bool out_of_sockets;              /* no descriptors or local ports left */
};

struct load_result {
	/* what was asked, kept for the record */
	char *url; /* without user info */
	char *model;
	char *proxy;
	enum load_engine engine;
	enum load_endpoint endpoint;
	enum load_arrival arrival;
	double rate, rate_to, burstiness;
	unsigned concurrency, max_in_flight, loops;
	int64_t client_lag_ns;
	double golden_tolerance;
	unsigned shard, shards;
	uint64_t seed;
	int64_t duration_ns, timeout_ns;
	bool ignore_eos, no_stream, no_keep_alive, tls_insecure;
	char prompts_digest[65], schedule_digest[65];
	struct load_objective *objectives;
	size_t n_objectives;
	struct load_stage *stages; /* LOAD_STAGES */
	size_t n_stages;
	/* what happened */
	bool interrupted;
	int64_t t0, wall_ms;   /* CLOCK_MONOTONIC ns, and UTC ms since 1970, at the start */
	int64_t start_at_ms;   /* as load_conf asked; 0: at once */
	int64_t start_late_ns; /* after that moment; warming up and connecting took too long */
	struct load_req *v;    /* in order of schedule */
	size_t n;
	struct load_event *events;
	size_t n_events;
	char *text;
	size_t n_text;
	size_t n_warmup, n_warmup_ok;
	uint64_t
		repeated_prompts; /* requests whose prompt had been sent before, warm-up included */
	uint64_t attempts;        /* requests put on a wire, warm-up and reconnects included */
	unsigned peak;            /* most requests in flight at once, exactly */
	struct load_audit audit;
	struct load_server server;
	char **prompt_ids; /* by prompt index */
	size_t n_prompt_ids;
	struct strs details; /* owns the details of a result that was read from a file */
};
void load_result_release(struct load_result *r);

/*
 * Runs to the end of the last request (or its timeout): 0 also when every request failed. Errors: a
 * bad configuration, an unreadable key, no memory for sockets, a host that doesn't resolve.
 */
int load_run(const struct load_conf *c, struct load_result *ret, struct err *err) MUST_USE;

/* ---- numbers --------------------------------------------------------------------------------- */

/*
 * All metrics, each with unit and direction. NAN: nothing to measure it from. For X in ttft,
 * ttft_from_start, ttft_visible, itl, tpot, e2e, client_queue, connect, tls: X.mean X.p50 X.p90
 * X.p95 X.p99 X.max over ok requests, and for ttft and e2e also X.p50.all ... with every failed
 * request as +inf. throughput, throughput.steady (ok requests/s), output_tokens_per_s(.steady),
 * errors (failed / scheduled), goodput (NAN without objectives), answers.match (same / those with a
 * golden answer; a failed request does not match), answers.near (the same, or within the
 * tolerance), requests.scheduled, requests.<outcome>,
 * peak_concurrency. Quantiles are type 7 of all raw samples.
 */
void load_metrics(const struct load_result *r, struct measurements *ret);
/* All samples of one latency over ok requests, in order of schedule. Caller frees *ret. */
size_t load_samples(const struct load_result *r, enum load_latency what, double **ret);
/* Names load_metrics can give: to check a contract. Unit and direction if it is one. */
bool load_metric_known(struct sv name, enum unit *ret_unit, enum direction *ret_dir);
/* The steady window; false when there is none (shorter than 1 ms). */
bool load_steady(const struct load_result *r, int64_t *ret_from, int64_t *ret_to);

/* Schema "load" version 1 (described in docs/load-result.md): integers and strings only, +inf as
 * "inf". */
json_t *load_result_to_json(const struct load_result *r) MUST_USE;
/* That value as a few lines for people. */
void load_json_text(const json_t *v, struct str *out);
/* Both at once. Caller frees. */
char *load_result_text(const struct load_result *r) MUST_USE;
/* JSON lines {"id":...,"answer":...} of ok requests, one a prompt (the first): golden answers for
 * later. */
char *load_golden_text(const struct load_result *r) MUST_USE;

/* Raw samples: JSON lines compressed with zstd; reading them back gives the same numbers and text.
 */
int load_raw_write(const struct load_result *r, const char *path, struct err *err) MUST_USE;
int load_raw_read(const char *path, struct load_result *ret, struct err *err) MUST_USE;

/* ---- the highest rate ------------------------------------------------------------------------ */

struct load_search_conf {
	double from, to; /* requests a second: where it begins, and where it ends at the latest */
	double share;  /* of the requests scheduled that must keep every objective; default 0.95 */
	double close;  /* stop when lost / kept is at most this; default 1.1 */
	unsigned most; /* rates tried at most; default 24 */
};
void load_search_init(struct load_search_conf *c);

/* By the 95 % interval of goodput against the share; UNMEASURED: the client was the limit. */
enum load_kept { LOAD_KEPT, LOAD_LOST, LOAD_UNCLEAR, LOAD_UNMEASURED };
const char *load_kept_name(enum load_kept k);
enum load_search_end {
	LOAD_SEARCH_FOUND,
	LOAD_SEARCH_ALL_LOST, /* also at a sixteenth of the first rate */
	LOAD_SEARCH_ALL_KEPT, /* up to the last rate allowed */
	LOAD_SEARCH_LIMITED,  /* this client could not offer more: `highest` is a lower bound */
	LOAD_SEARCH_INTERRUPTED,
};
const char *load_search_end_name(enum load_search_end e);

struct load_point {
	double rate, achieved, throughput, output; /* per second; output: tokens */
	double goodput, low, high, errors;         /* low, high: its 95 % interval */
	double ttft_p50_ns, ttft_p99_ns, itl_p99_ns, tpot_p50_ns, e2e_p99_ns; /* of the last run */
	unsigned n, good, runs, peak; /* requests, those that were good, runs at this rate */
	enum load_kept kept;
	bool held;    /* kept, or unclear after two runs with the share itself reached */
	bool limited; /* the client was the limit */
	char why[512];
};
struct load_curve {
	struct load_point *v; /* by rate */
	size_t n, room;
	double share, highest, lost_at; /* NAN: no such rate */
	enum load_search_end end;
};
void load_curve_release(struct load_curve *c);
int load_search_check(const struct load_conf *c, const struct load_search_conf *s,
		      struct err *err) MUST_USE;
/*
 * Runs `c` at one rate after another (its own rate does not count), each for c->duration_ns or
 * c->count, with seeds c->seed, c->seed + 1, ...; a warm-up is done once.
 */
int load_search(const struct load_conf *c, const struct load_search_conf *s, struct load_curve *ret,
		struct err *err) MUST_USE;
json_t *load_curve_to_json(const struct load_curve *c) MUST_USE;
void load_curve_text(const json_t *v, struct str *out);

/*
 * One result out of several of the same schedule (load_conf.shards), or of several schedules with
 * the same prompts and objectives: all requests together, so percentiles are of all samples. Times
 * are put together by the wall clocks of the shards, which moves no latency. -ERR_RANGE when they
 * don't belong together. Of stamp and schedule lags the largest is taken.
 */
int load_merge(const struct load_result *v, size_t n, struct load_result *ret,
	       struct err *err) MUST_USE;

/* ---- other people's files ---------------------------------------------------------------------
 * */

/*
 * Arrival times, one a line: seconds as a number, or a JSON object with "timestamp" in ms (the
 * traces
 * published with Mooncake). They have to ascend; *ret counts from the first. Caller frees *ret.
 */
int load_trace_parse(struct sv text, const char *what, int64_t **ret, size_t *ret_n,
		     struct err *err) MUST_USE;
/*
 * The members that `vllm bench serve --save-detailed` writes, for tools made for those. Where its
 * definitions differ, ours are converted: its latencies count from the sending, not from the
 * schedule, end with the last token, and its tpot is (e2e - ttft) / (tokens - 1). Failed requests
 * are in "errors" and in no latency.
 */
json_t *load_vllm_json(const struct load_result *r) MUST_USE;
