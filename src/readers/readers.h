/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign bytes -> facts. One file a format, each with
 *
 *	bool X_sniff(struct sv text)           does this look like X? Cheap; may be wrong both ways
 *	int  X_read(text, struct X *ret, err)  the facts; -ERR_PARSE when nothing of X is in there
 *	void X_release(struct X *)
 *
 * Pure: no files, no clock. Input is never trusted: any bytes end in facts or an error. Readers
 * judge
 * nothing, but they tell apart "the value is 0", "the tool says it is not available" and "it is
 * not in
 * the text", and they say when the text is cut (`complete`, `why_not`): a missing summary or row
 * must
 * never look like success. Numbers that are not there are NAN or -1, texts NULL.
 *
 * Everything a reader returns is owned by its struct and freed by X_release.
 */
#pragma once

#include "model/model.h"

struct err;

/* ---- nccl-tests and rccl-tests --------------------------------------------------------------- */

/* One half of a row: the collective out of place or in place. */
struct nccl_cell {
	double time_us;
	double algbw, busbw; /* bytes/s */
	/* elements out of bounds; -1: not checked (N/A, or the old `error` column) */
	int64_t wrong;
	double error; /* the old column: largest deviation; NAN: none */
};
struct nccl_row {
	uint64_t bytes, count;
	char type[16], redop[16]; /* "float"; "" where the tool prints none */
	struct nccl_cell out, in;
};
struct nccl_rows {
	struct nccl_row *v;
	size_t n, room;
};
struct nccl_tests {
	char *test;          /* "all_reduce_perf"; NULL: the text does not say */
	char *tests_version; /* of the benchmark, "develop:448c4c7" */
	char *lib_version;   /* of RCCL or NCCL, "2.22.3-develop:f5b15f2" */
	char *rocm_version, *hip_version, *lib_path;
	char *device;     /* name of the first device */
	int ranks, hosts; /* device lines seen: different ranks, different hosts */
	int validation;   /* header: 1 on, 0 off, -1 not said */
	int64_t iters, warmup;
	uint64_t min_bytes, max_bytes; /* asked for; 0: not said */
	struct nccl_rows rows;
	int64_t out_of_bounds; /* summary; -1: no summary line */
	bool out_of_bounds_ok; /* the line ends with OK */
	double avg_busbw;      /* bytes/s; NAN: no line */
	bool avg_failed;       /* the tool had a minimum and the average is under it */
	double mean_busbw;     /* bytes/s: mean over all cells, recomputed; NAN: no rows */
	struct strs failures;  /* the tool's own failure lines, cleaned, at most 20 */
	/* Rows, both summary lines, no failure line, nothing elided or cut, printed mean =
	 * recomputed. */
	bool complete;
	char *why_not; /* one line; NULL when complete */
	/* Every row's result was compared with the right one. wrong_total counts where `wrong` is
	 * known. */
	bool checked;
	int64_t wrong_total;
};
bool nccl_tests_sniff(struct sv text);
int nccl_tests_read(struct sv text, struct nccl_tests *ret, struct err *err) MUST_USE;
void nccl_tests_release(struct nccl_tests *t);
/* The row of that size, NULL when there is none. `bytes` 0: the largest size. */
const struct nccl_row *nccl_tests_row(const struct nccl_tests *t, uint64_t bytes);

/* ---- time per GPU kernel --------------------------------------------------------------------- */

/* rocprof and rocprofv3 (*_kernel_stats.csv, *.stats.csv), nsys stats (cuda_gpu_kern_sum as CSV),
 * and the Chrome trace that torch's profiler writes (*.trace.json, events of category "kernel").
 * Calls of one kernel are added up; the longest first. */
struct kernel_time {
	char *name;
	double ns; /* all calls together */
	uint64_t calls;
};
struct kernel_times {
	struct kernel_time *v;
	size_t n, room;
};
/* By the name of the file: is it one of those? */
bool kernel_times_named(const char *name);
int kernel_times_read(struct sv text, struct kernel_times *ret, struct err *err) MUST_USE;
void kernel_times_release(struct kernel_times *l);

/* ---- MLPerf logging -------------------------------------------------------------------------- */

struct mllog_point {
	double value;
	int64_t time_ms;       /* epoch ms of the event */
	int64_t step, samples; /* metadata step_num/step and samples_count; -1: not there */
	double epoch;          /* metadata epoch_num/epoch_count; NAN: not there */
};
struct mllog_points {
	struct mllog_point *v;
	size_t n, room;
};
struct mllog {
	size_t n_events; /* marker lines with a readable event */
	size_t n_bad;    /* marker lines without one (cut, mixed): more than 0 is worth a note */
	char *benchmark, *org, *platform;
	/* metadata.status of run_stop: "success", "aborted"; NULL: no run_stop, or none */
	char *status;
	int64_t seed, global_batch_size;   /* -1: not there */
	int64_t run_start_ms, run_stop_ms; /* -1: not there */
	size_t n_run_start, n_run_stop;    /* more than one run_start: several runs in one text */
	struct mllog_points evals;  /* key eval_accuracy (or eval_loss), in order; may be a loss */
	struct mllog_points losses; /* keys train_loss and loss */
	struct mllog_points throughput; /* tracked_stats.throughput, samples/s */
	/* run_stop - run_start when status is "success" and there is one run; else -1 and why_not.
	 * */
	int64_t time_to_train_ms;
	char *why_not;
};
bool mllog_sniff(struct sv text);
int mllog_read(struct sv text, struct mllog *ret, struct err *err) MUST_USE;
void mllog_release(struct mllog *m);

/* ---- ELF ------------------------------------------------------------------------------------- */

/* Where the bytes are: fills buf with n bytes from offset, or false. */
struct elf_bytes {
	bool (*at)(void *arg, uint64_t offset, void *buf, size_t n);
	void *arg;
	uint64_t size;
};
struct elf {
	char *soname, *build_id; /* build id in lower-case hex; NULL: none */
	char *interp;            /* the loader of a program; NULL: none */
	struct strs needed;      /* DT_NEEDED, in order */
	bool runpath;            /* has DT_RPATH or DT_RUNPATH */
};
/* 64-bit little-endian files; others, and files cut short, are -ERR_PARSE. */
int elf_read(const struct elf_bytes *from, struct elf *ret, struct err *err) MUST_USE;
void elf_release(struct elf *e);
/* The same from memory. */
int elf_read_bytes(struct sv bytes, struct elf *ret, struct err *err) MUST_USE;

/* ---- loader, process maps -------------------------------------------------------------------- */

struct loaded {
	char *name; /* what was asked for: "libblas.so.3"; of a preload or of maps: the path */
	char *path; /* NULL: not found */
};
struct loaded_list {
	struct loaded *v;
	size_t n, room;
};
void loaded_list_release(struct loaded_list *l);
/* Output of `ld.so --list`, the same as ldd's. Lines of other shapes are left out. */
void ld_list_read(struct sv text, struct loaded_list *ret);
/* /proc/PID/maps: each mapped file once, in order; deleted ones keep their " (deleted)". */
void maps_read(struct sv text, struct loaded_list *ret);

/* ---- vendor tools ---------------------------------------------------------------------------- */

/* nvidia-smi --query-... --format=csv */
struct smi_csv {
	struct strs columns; /* "power.limit": without the unit in brackets */
	char **cells;        /* rows x columns.n; NULL: the tool has no value */
	size_t rows;
};
int smi_csv_read(struct sv text, struct smi_csv *ret, struct err *err) MUST_USE;
void smi_csv_release(struct smi_csv *t);
ptrdiff_t smi_csv_column(const struct smi_csv *t, const char *name); /* -1: no such column */
const char *smi_csv_at(const struct smi_csv *t, size_t row, size_t column);

/* amd-smi version, every form since 6.1; NULL: not said, or not available */
struct amd_smi_version {
	char *tool, *library, *rocm, *driver;
};
int amd_smi_version_read(struct sv text, struct amd_smi_version *ret, struct err *err) MUST_USE;
void amd_smi_version_release(struct amd_smi_version *v);

/* ---- other load generators
 * ------------------------------------------------------------------------- */

/*
 * Results of vLLM's `bench serve` and `bench latency`, GuideLLM, AIPerf (and GenAI-Perf's analyze
 * table), inference-perf and LLMPerf, each in its own form. Known by their members, never by the
 * file's name; another version than those known is refused.
 *
 * A value gets a metric's name of ours (twice-load(1)) only where the two mean the same, or where
 * its samples or other values of the file let it be worked out; `note` says how. All of these tools
 * count from the sending of a request, so none has our "ttft" and "e2e": theirs are
 * "ttft_from_start" and "e2e_from_start". What has no name of ours keeps `name` NULL, and `note`
 * says why.
 */
struct loadgen_value {
	char *name;   /* ours, "tpot.p99"; NULL: none means this */
	char *theirs; /* "p99_tpot_ms"; NULL: worked out here */
	enum unit unit;
	double value;
	char *note; /* NULL: the same thing under the same definition */
};
struct loadgen_values {
	struct loadgen_value *v;
	size_t n, room;
};
struct loadgen_run {
	char *label; /* "rate 10, at most 32 at a time"; NULL: one run, nothing said */
	int64_t ok, failed, unended; /* requests; -1: not said. unended: cancelled or cut off */
	struct loadgen_values values;
	char *limited; /* why this is no measurement at the rate asked for; NULL: nothing says so */
};
struct loadgen_runs {
	struct loadgen_run *v;
	size_t n, room;
};
struct loadgen {
	const char *tool, *form; /* "vLLM bench serve", "JSON with samples" */
	char *version, *model;   /* as the file says; NULL: it doesn't */
	struct loadgen_runs runs;
	struct strs notes; /* what the reader of the numbers has to know */
};
bool loadgen_sniff(struct sv text);
int loadgen_read(struct sv text, struct loadgen *ret, struct err *err) MUST_USE;
void loadgen_release(struct loadgen *g);

/* ---- results by item ------------------------------------------------------------------------- */

/*
 * JSON lines of an evaluation, one an item: {"id": 7, "correct": true}, {"id": "q7", "text": ""}
 * under whatever names the caller gives. Lines that are no object are other output. An id that
 * comes
 * twice, or a score that is neither right nor wrong, is an error: -ERR_PARSE with the line.
 */
struct item_keys {
	const char *id, *correct;  /* id: text or integer; correct: true, false, 1, 0 */
	const char *cluster;       /* what items share (a passage, a template); NULL: nothing */
	const char *text, *tokens; /* of texts_read: the text, and its token ids if there are any */
	const struct pairs *where; /* only lines with these members; NULL: all */
};
struct item_result {
	char *id; /* the first member, here and below: they are sorted by it */
	char *cluster;
	bool right;
};
struct item_results {
	struct item_result *v;
	size_t n, room;
};
struct item_text {
	char *id, *text;
	int64_t *token; /* ids, or the text's code points when it came without */
	size_t n;
	bool ids;
};
struct item_texts {
	struct item_text *v;
	size_t n, room, tokens; /* tokens: of all of them */
};
int items_read(struct sv text, const struct item_keys *k, struct item_results *ret,
	       struct err *err) MUST_USE;
void item_results_release(struct item_results *l);
int texts_read(struct sv text, const struct item_keys *k, struct item_texts *ret,
	       struct err *err) MUST_USE;
void item_texts_release(struct item_texts *l);
void item_text_points(struct item_text *x); /* forgets the ids: code points of the text instead */
/* As they are kept with a repetition, and the names to read that back by. */
void items_write(const struct item_results *l, struct str *to);
void texts_write(const struct item_texts *l, struct str *to);
extern const struct item_keys item_keys_kept;
