/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text output of nccl-tests and rccl-tests, three generations of it:
 *
 *	old     size count type [redop]        time algbw busbw error  time algbw busbw error
 *	middle  size count type  redop   root  time algbw busbw #wrong time algbw busbw #wrong
 *	newest  the same and a last column #iters
 *
 * A row is read from its right end, because redop and root come and go. Lines of other ranks, of
 * the launcher and of NCCL_DEBUG may stand anywhere between.
 */
#include "readers/readers.h"

#include "base/err.h"
#include "base/vec.h"
#include "readers/clean.h"
#include <math.h>

#define MAX_WORDS    20
#define MAX_FAILURES 20
#define MAX_RANKS    4096

struct reading {
	struct nccl_tests *t;
	bool saw_header, saw_old_column, saw_iters, elided, cut_row;
	struct strs *ranks, *hosts;
};

static size_t words_of(struct sv line, struct sv *w)
{
	size_t n = 0;

	while (n < MAX_WORDS && sv_word(&line, &w[n]))
		n++;
	return n;
}

/* A wrong count over a million is printed with %g: 2.68435e+08. */
static bool count_of(struct sv w, int64_t *ret)
{
	double d;

	if (word_not_available(w)) {
		*ret = -1;
		return true;
	}
	if (!sv_to_f64(w, &d) || d < 0 || d > 9e15)
		return false;
	*ret = (int64_t)(d + 0.5);
	return true;
}

static bool cell_of(const struct sv *w, bool old_column, struct nccl_cell *c)
{
	double gb;

	c->error = NAN;
	c->wrong = -1;
	if (!sv_to_f64(w[0], &c->time_us) || c->time_us < 0)
		return false;
	if (!sv_to_f64(w[1], &gb) || gb < 0)
		return false;
	c->algbw = gb * 1e9;
	if (!sv_to_f64(w[2], &gb) || gb < 0)
		return false;
	c->busbw = gb * 1e9;
	if (!old_column)
		return count_of(w[3], &c->wrong);
	return word_not_available(w[3]) || sv_to_f64(w[3], &c->error);
}

static void copy_word(char *to, size_t room, struct sv w)
{
	size_t n = MIN(w.n, room - 1);

	memcpy(to, w.p, n);
	to[n] = '\0';
}

/* Two counts and a type name: nothing else in these outputs begins like that. */
static bool begins_like_row(const struct sv *w, size_t n, struct nccl_row *row)
{
	static const char *const types[] = {
		"int8",     "uint8", "int32",  "uint32", "int64",  "uint64",   "half",     "float",
		"bfloat16", "char",  "double", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2",
	};

	if (n < 3 || !sv_to_u64(w[0], &row->bytes) || !sv_to_u64(w[1], &row->count))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (sv_is(w[2], types[i])) {
			copy_word(row->type, sizeof(row->type), w[2]);
			return true;
		}
	}
	return false;
}

static void read_row(struct reading *r, const struct sv *w, size_t n)
{
	struct nccl_row row = { 0 };
	size_t end = r->saw_iters ? n - 1 : n;

	if (!begins_like_row(w, n, &row))
		return;
	/* 3 leading words, none to two of redop and root, 8 results. */
	if (n < 11 || end < 11 || end > 13 || !cell_of(w + end - 8, r->saw_old_column, &row.out) ||
	    !cell_of(w + end - 4, r->saw_old_column, &row.in)) {
		r->cut_row = true;
		return;
	}
	if (end > 11)
		copy_word(row.redop, sizeof(row.redop), w[3]);
	*VEC_ADD(&r->t->rows) = row;
}

static int64_t number_after(struct sv line, const char *key)
{
	struct sv v, word;
	int64_t n;

	if (!line_value(line, key, &v) || !sv_word(&v, &word))
		return -1;
	return sv_to_i64(word, 0, INT64_MAX, &n) ? n : -1;
}

/* # nThread 1 nGpus 1 minBytes 8 maxBytes 1000 step: 2(factor) warmup iters: 5 iters: 20 ... */
static void read_settings(struct reading *r, struct sv line)
{
	struct nccl_tests *t = r->t;
	int64_t min = number_after(line, "minBytes"), max = number_after(line, "maxBytes");
	int64_t on = number_after(line, "validation:");
	struct sv v = line, warm;

	r->saw_header = true;
	t->min_bytes = min > 0 ? (uint64_t)min : 0;
	t->max_bytes = max > 0 ? (uint64_t)max : 0;
	t->warmup = number_after(line, "warmup iters:");
	if (line_value(line, "warmup iters:", &warm))
		v = warm;
	t->iters = number_after(v, "iters:");
	t->validation = on < 0 ? -1 : on > 0;
}

static void add_once(struct strs *l, struct sv v)
{
	AUTO_FREE char *s = text_clean(v);

	if (l->n < MAX_RANKS && !strs_has(l, s))
		strs_add(l, s);
}

static void set_once(char **at, struct sv v)
{
	if (!*at && v.n)
		*at = text_clean(v);
}

/* #  Rank  0 Group  0 Pid 30331 on worker1 device  0 [0x31] NVIDIA GeForce RTX 3090 */
static void read_device(struct reading *r, struct sv line)
{
	struct sv v, word;

	if (!line_value(line, "Rank", &v) || !sv_word(&v, &word) || sv_find(line, SV("Pid")) < 0 ||
	    sv_find(line, SV("device")) < 0)
		return;
	add_once(r->ranks, word);
	if (line_value(line, " on ", &v) && sv_word(&v, &word))
		add_once(r->hosts, word);
	if (line_value(line, "] ", &v))
		set_once(&r->t->device, v);
}

static void read_summary(struct reading *r, struct sv line)
{
	struct nccl_tests *t = r->t;
	struct sv v, word;
	double gb;

	if (line_value(line, "Out of bounds values", &v)) {
		if (!sv_word(&v, &word) || !count_of(word, &t->out_of_bounds))
			return;
		t->out_of_bounds_ok = sv_word(&v, &word) && sv_starts(word, "OK");
	} else if (line_value(line, "Avg bus bandwidth", &v)) {
		if (!sv_word(&v, &word) || !sv_to_f64(word, &gb))
			return;
		t->avg_busbw = gb * 1e9;
		t->avg_failed = sv_word(&v, &word) && sv_is(word, "FAILED");
	}
}

static void read_versions(struct reading *r, struct sv line)
{
	static const char *const tests_keys[] = { "rccl-tests: Version", "nccl-tests version" };
	struct nccl_tests *t = r->t;
	struct sv v, word;

	for (size_t i = 0; i < ARRAY_SIZE(tests_keys); i++)
		if (line_value(line, tests_keys[i], &v) && sv_word(&v, &word))
			set_once(&t->tests_version, word);
	if (line_value(line, "nccl-library=", &v) && sv_word(&v, &word))
		set_once(&t->lib_version, word);
	if (sv_starts(line, "RCCL version") || sv_starts(line, "NCCL version"))
		if (line_value(line, "CCL version", &v))
			set_once(&t->lib_version, v);
	if (sv_starts(line, "HIP version") && line_value(line, "HIP version", &v))
		set_once(&t->hip_version, v);
	if (sv_starts(line, "ROCm version") && line_value(line, "ROCm version", &v))
		set_once(&t->rocm_version, v);
	if (sv_starts(line, "Librccl path") && line_value(line, "Librccl path", &v))
		set_once(&t->lib_path, v);
	if (line_value(line, "Collective test starting", &v) && sv_word(&v, &word))
		set_once(&t->test, word);
}

/* The benchmark's name stands in the command line when somebody echoed it. */
static void read_command(struct reading *r, struct sv line)
{
	struct sv word;

	while (sv_word(&line, &word)) {
		ptrdiff_t at = sv_find(word, SV("_perf"));
		struct sv name = word;

		if (at < 0)
			continue;
		for (size_t i = 0; i < word.n; i++)
			if (word.p[i] == '/')
				name = (struct sv){ word.p + i + 1, word.n - i - 1 };
		while (name.n && !(name.p[0] >= 'a' && name.p[0] <= 'z')) {
			name.p++;
			name.n--;
		}
		at = sv_find(name, SV("_perf"));
		if (at > 0)
			set_once(&r->t->test, (struct sv){ name.p, (size_t)at + 5 });
		return;
	}
}

static bool is_failure(struct sv line)
{
	static const char *const marks[] = {
		"Test failure",
		"Test CUDA failure",
		"Test NCCL failure",
		"Test HIP failure",
		"There are not enough slots",
		"NCCL ERROR",
		"RCCL FATAL",
		"NCCL FATAL",
		"Exited with exit code",
		"exited on signal",
		"exited with non-zero status",
		"Segmentation fault",
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (sv_find(line, sv_of(marks[i])) >= 0)
			return true;
	return false;
}

static void read_line(struct reading *r, struct sv line)
{
	struct sv w[MAX_WORDS];

	if (line_elides(line))
		r->elided = true;
	if (is_failure(line) && r->t->failures.n < MAX_FAILURES)
		strs_take(&r->t->failures, text_clean(sv_trim(line)));
	if (sv_find(line, SV("minBytes")) >= 0)
		read_settings(r, line);
	if (sv_find(line, SV("algbw")) >= 0) {
		r->saw_header = true;
		r->saw_iters = sv_find(line, SV("#iters")) >= 0;
		r->saw_old_column =
			sv_find(line, SV("#wrong")) < 0 && sv_find(line, SV("error")) >= 0;
		return;
	}
	read_device(r, line);
	read_summary(r, line);
	read_versions(r, line);
	read_command(r, line);
	read_row(r, w, words_of(line, w));
}

static void add_up(struct nccl_tests *t)
{
	double sum = 0;

	t->checked = t->rows.n > 0 && t->validation != 0;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct nccl_cell *c[2] = { &t->rows.v[i].out, &t->rows.v[i].in };

		for (int k = 0; k < 2; k++) {
			sum += c[k]->busbw;
			if (c[k]->wrong > 0)
				t->wrong_total += c[k]->wrong;
			if (c[k]->wrong < 0 && isnan(c[k]->error))
				t->checked = false;
		}
	}
	t->mean_busbw = t->rows.n ? sum / (2.0 * (double)t->rows.n) : NAN;
}

/* The cells are rounded to 0.01 GB/s, the printed mean is not. */
static bool mean_agrees(const struct nccl_tests *t)
{
	return fabs(t->mean_busbw - t->avg_busbw) <= 0.006e9 + 1e-3 * t->avg_busbw;
}

static const char *incomplete_why(const struct reading *r)
{
	const struct nccl_tests *t = r->t;

	if (t->failures.n)
		return t->failures.v[0];
	if (!t->rows.n)
		return "no result rows";
	if (r->cut_row)
		return "a result row is cut";
	if (r->elided)
		return "parts of the output were removed";
	if (t->out_of_bounds < 0)
		return "no 'Out of bounds values' line: the run did not end";
	if (isnan(t->avg_busbw))
		return "no 'Avg bus bandwidth' line: the run did not end";
	if (!mean_agrees(t))
		return "the printed average is not the mean of the rows: rows are missing";
	return NULL;
}

bool nccl_tests_sniff(struct sv text)
{
	return sv_find(text, SV("nThread")) >= 0 ? sv_find(text, SV("minBytes")) >= 0
						 : sv_find(text, SV("algbw")) >= 0;
}

int nccl_tests_read(struct sv text, struct nccl_tests *ret, struct err *err)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = {
		.validation = -1,
		.iters = -1,
		.warmup = -1,
		.out_of_bounds = -1,
		.avg_busbw = NAN,
	};
	struct strs ranks CLEANUP(strs_release) = { 0 };
	struct strs hosts CLEANUP(strs_release) = { 0 };
	struct reading r = { .t = &t, .ranks = &ranks, .hosts = &hosts };
	struct str clean CLEANUP(str_release) = { 0 };
	const char *why;
	struct sv line;

	str_init(&clean, 64 * KIB);
	while (sv_line(&text, &line))
		read_line(&r, line_clean(line, &clean));
	if (!r.saw_header && !t.rows.n && !t.failures.n)
		return bail(err, ERR_PARSE, "this is no output of nccl-tests or rccl-tests");
	t.ranks = (int)ranks.n;
	t.hosts = (int)hosts.n;
	add_up(&t);
	why = incomplete_why(&r);
	t.complete = !why;
	t.why_not = why ? xstrdup(why) : NULL;
	*ret = t;
	t = (struct nccl_tests){ 0 };
	return 0;
}

void nccl_tests_release(struct nccl_tests *t)
{
	free(t->test);
	free(t->tests_version);
	free(t->lib_version);
	free(t->rocm_version);
	free(t->hip_version);
	free(t->lib_path);
	free(t->device);
	free(t->rows.v);
	strs_release(&t->failures);
	free(t->why_not);
	*t = (struct nccl_tests){ 0 };
}

const struct nccl_row *nccl_tests_row(const struct nccl_tests *t, uint64_t bytes)
{
	const struct nccl_row *best = NULL;

	for (size_t i = 0; i < t->rows.n; i++) {
		const struct nccl_row *row = &t->rows.v[i];

		if (bytes ? row->bytes == bytes : !best || row->bytes >= best->bytes)
			best = row;
	}
	return best;
}
