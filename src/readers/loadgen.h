/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that read other load generators' results. The room's own business. */
#pragma once

#include "base/json.h"
#include "readers/readers.h"

struct samples {
	double *v;
	size_t n, room;
};
void samples_release(struct samples *n);
void samples_add(struct samples *n, double v); /* one that is not finite is left out */

struct loadgen_run *loadgen_run_add(struct loadgen *g, const char *label);
/* Adds a value; one that is NAN or infinite is left out. `name` NULL: no metric of ours. */
void loadgen_put(struct loadgen_run *r, const char *name, const char *theirs, enum unit u, double v,
		 const char *note);
/* base.mean .p50 .p90 .p95 .p99 .max out of samples (type 7); sorts them. */
void loadgen_put_samples(struct loadgen_run *r, const char *base, struct samples *n,
			 const char *note);
/* "requests.ok", "requests.scheduled" and "errors" from the counts, where they are known. */
void loadgen_put_counts(struct loadgen_run *r);
/* A number, or NAN; of members one after the other, NULL ends. */
double json_num(const json_t *o, const char *key);
double mean_of(const struct samples *n);

/* One a form; the text was recognised by its members. */
int vllm_serve_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int sglang_serve_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int vllm_throughput_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int vllm_latency_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int vllm_console_read(struct sv text, struct loadgen *g, struct err *err) MUST_USE;
int guidellm_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int inference_perf_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int inference_perf_requests_read(const json_t *list, struct loadgen *g, struct err *err) MUST_USE;
int llmperf_read(const json_t *list, struct loadgen *g, struct err *err) MUST_USE;
int llmperf_summary_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int aiperf_records_read(struct sv text, struct loadgen *g, struct err *err) MUST_USE;
int aiperf_summary_read(const json_t *o, struct loadgen *g, struct err *err) MUST_USE;
int aiperf_console_read(struct sv text, struct loadgen *g, struct err *err) MUST_USE;
int aiperf_csv_read(struct sv text, struct loadgen *g, struct err *err) MUST_USE;
int genai_perf_csv_read(struct sv text, struct loadgen *g, struct err *err) MUST_USE;
