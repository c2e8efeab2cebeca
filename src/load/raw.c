/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw samples: JSON lines under zstd. The first line is what was asked and the audit, then a line a
 * request, then {"total":N}. Times are ns from the start; "ev" holds the first token's time and
 * then gaps; "tok" and "fl" are there when any of them is not 0.
 */
#include "load/gather.h"

#include "base/err.h"
#include "base/vec.h"
#include "load/fields.h"
#include "load/server.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#define RAW_VERSION    1
#define RAW_LINE_LIMIT (256 * MIB)
#define RAW_REQUESTS   PLAN_LIMIT

#define R(f, t) FIELD(load_result, f, t)
static const struct field result_fields[] = {
	R(url, F_STR),
	R(model, F_STR),
	R(proxy, F_STR),
	FIELD_MAX(load_result, engine, F_ENUM, LOAD_ENGINE_NULL),
	FIELD_MAX(load_result, endpoint, F_ENUM, LOAD_PLAIN),
	FIELD_MAX(load_result, arrival, F_ENUM, LOAD_CLOSED),
	R(rate, F_F64),
	R(rate_to, F_F64),
	R(burstiness, F_F64),
	R(concurrency, F_UINT),
	R(max_in_flight, F_UINT),
	R(client_lag_ns, F_I64),
	R(loops, F_UINT),
	R(golden_tolerance, F_F64),
	R(shard, F_UINT),
	R(shards, F_UINT),
	R(seed, F_U64),
	R(duration_ns, F_I64),
	R(timeout_ns, F_I64),
	R(ignore_eos, F_BOOL),
	R(no_stream, F_BOOL),
	R(no_keep_alive, F_BOOL),
	R(tls_insecure, F_BOOL),
	R(prompts_digest, F_CHARS),
	R(schedule_digest, F_CHARS),
	R(interrupted, F_BOOL),
	R(t0, F_I64),
	R(wall_ms, F_I64),
	R(start_at_ms, F_I64),
	R(start_late_ns, F_I64),
	R(n_warmup, F_U64),
	R(n_warmup_ok, F_U64),
	R(repeated_prompts, F_U64),
	R(attempts, F_U64),
	R(peak, F_UINT),
};
#define A(f, t) FIELD(load_audit, f, t)
static const struct field audit_fields[] = {
	A(client_limited, F_BOOL),
	A(reasons, F_CHARS),
	A(wall_ns, F_I64),
	A(cpu_ns, F_I64),
	A(runq_ns, F_I64),
	A(cpu_share, F_F64),
	A(events, F_U64),
	A(merged, F_U64),
	A(late, F_U64),
	A(unstamped, F_U64),
	A(reads, F_U64),
	A(wakes, F_U64),
	A(stamp_lag_p50_ns, F_F64),
	A(stamp_lag_p99_ns, F_F64),
	A(stamp_lag_max_ns, F_F64),
	A(lag_p50_ns, F_F64),
	A(lag_p99_ns, F_F64),
	A(lag_max_ns, F_F64),
	A(rate_asked, F_F64),
	A(rate_achieved, F_F64),
	A(in_flight_mean, F_F64),
	A(little, F_F64),
	A(clock_steps, F_U64),
	A(allocations, F_U64),
	A(stamps, F_BOOL),
	A(priority, F_BOOL),
	A(out_of_sockets, F_BOOL),
};
#define Q(f, t) FIELD(load_req, f, t)
static const struct field req_fields[] = {
	Q(scheduled, F_I64),
	Q(begun, F_I64),
	Q(connected, F_I64),
	Q(started, F_I64),
	Q(first_byte, F_I64),
	Q(first_token, F_I64),
	Q(first_visible, F_I64),
	Q(last_token, F_I64),
	Q(end, F_I64),
	Q(connect_ns, F_I64),
	Q(tls_ns, F_I64),
	Q(prompt, F_U32),
	FIELD_MAX(load_req, turn, F_U8, LOAD_TURNS),
	Q(asked, F_U32),
	Q(tokens, F_U32),
	Q(usage_tokens, F_U32),
	Q(prompt_tokens, F_U32),
	Q(cached_tokens, F_U32),
	Q(reasoning_tokens, F_U32),
	Q(has_usage, F_BOOL),
	Q(has_cached, F_BOOL),
	Q(contradiction, F_BOOL),
	Q(reused, F_BOOL),
	Q(choices, F_U8),
	Q(reconnects, F_U8),
	FIELD_MAX(load_req, outcome, F_U8, LOAD_OUTCOMES - 1),
	FIELD_MAX(load_req, source, F_U8, LOAD_TOKENS_EVENT),
	FIELD_MAX(load_req, match, F_U8, LOAD_MATCH_NEAR),
	Q(good, F_BOOL),
	Q(answer_cut, F_BOOL),
	Q(status, F_U16),
	Q(retry_after_s, F_I32),
	Q(differs_at, F_U32),
	Q(differs_event, F_U32),
	Q(pings, F_U32),
	Q(body_events, F_U32),
	Q(bytes, F_U64),
	Q(finish, F_CHARS),
};

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
	FILE *f;
	ZSTD_CCtx *z;
	char out[64 * 1024];
};

static void writer_release(struct writer *w)
{
	ZSTD_freeCCtx(w->z);
	fclosep(&w->f);
}

static int compress_some(struct writer *w, const char *p, size_t n, ZSTD_EndDirective how,
			 struct err *err)
{
	ZSTD_inBuffer in = { p, n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { w->out, sizeof(w->out), 0 };

		left = ZSTD_compressStream2(w->z, &out, &in, how);
		if (ZSTD_isError(left))
			return bail(err, ERR_IO, "cannot compress: %s", ZSTD_getErrorName(left));
		if (out.pos && fwrite(w->out, 1, out.pos, w->f) != out.pos)
			return bail_sys(err, "cannot write");
	} while (in.pos < in.size || (how == ZSTD_e_end && left));
	return 0;
}

static int write_line(struct writer *w, json_t *o, struct err *err)
{
	AUTO_FREE char *text = json_text(o, /* pretty= */ false);

	TRY(compress_some(w, text, strlen(text), ZSTD_e_continue, err));
	return compress_some(w, "\n", 1, ZSTD_e_continue, err);
}

static json_t *objectives_json(const struct load_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_objectives; i++) {
		const struct load_objective *o = &r->objectives[i];

		json_array_append_new(list, json_pack("{s:i, s:f, s:I}", "what", (int)o->what, "p",
						      o->p, "limit_ns", (json_int_t)o->limit_ns));
	}
	return list;
}

static json_t *raw_stages(const struct load_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_stages; i++)
		json_array_append_new(list, json_pack("{s:f, s:I}", "rate", r->stages[i].rate,
						      "duration_ns",
						      (json_int_t)r->stages[i].duration_ns));
	return list;
}

static json_t *header_json(const struct load_result *r)
{
	json_t *o = json_object(), *a = json_object(), *ids = json_array();

	json_put_int(o, "twice_load_raw", RAW_VERSION);
	json_put_int(o, "requests", (int64_t)r->n);
	fields_put(o, result_fields, ARRAY_SIZE(result_fields), r);
	fields_put(a, audit_fields, ARRAY_SIZE(audit_fields), &r->audit);
	json_put(o, "audit", a);
	if (r->server.n)
		json_put(o, "server", server_raw(&r->server));
	json_put(o, "objectives", objectives_json(r));
	if (r->n_stages)
		json_put(o, "stages", raw_stages(r));
	for (size_t i = 0; i < r->n_prompt_ids; i++)
		json_array_append_new(ids, json_string(r->prompt_ids[i]));
	json_put(o, "prompt_ids", ids);
	return o;
}

static json_t *request_json(const struct load_result *r, const struct load_req *q)
{
	const struct load_event *e = r->events + q->events_at;
	json_t *o = json_object(), *ev = json_array(), *tok = json_array(), *fl = json_array();
	bool any_tok = false, any_fl = false;

	fields_put(o, req_fields, ARRAY_SIZE(req_fields), q);
	if (q->detail[0])
		json_put_str(o, "detail", q->detail);
	for (uint32_t i = 0; i < q->n_events; i++) {
		json_array_append_new(ev, json_integer(i ? e[i].at - e[i - 1].at : e[i].at));
		json_array_append_new(tok, json_integer(e[i].tokens));
		json_array_append_new(fl, json_integer(e[i].flags));
		any_tok |= e[i].tokens != 0;
		any_fl |= e[i].flags != 0;
	}
	if (q->n_events)
		json_put(o, "ev", json_incref(ev));
	if (any_tok)
		json_put(o, "tok", json_incref(tok));
	if (any_fl)
		json_put(o, "fl", json_incref(fl));
	json_decref(ev);
	json_decref(tok);
	json_decref(fl);
	if (q->answer_n)
		json_put(o, "answer", json_stringn(r->text + q->answer_at, q->answer_n));
	return o;
}

static int write_all(const struct load_result *r, struct writer *w, struct err *err)
{
	AUTO_JSON json_t *head = header_json(r), *tail = json_object();

	TRY(write_line(w, head, err));
	for (size_t i = 0; i < r->n; i++) {
		AUTO_JSON json_t *o = request_json(r, &r->v[i]);

		TRY(write_line(w, o, err));
	}
	json_put_int(tail, "total", (int64_t)r->n);
	TRY(write_line(w, tail, err));
	TRY(compress_some(w, "", 0, ZSTD_e_end, err));
	if (fflush(w->f) != 0 || fsync(fileno(w->f)) < 0)
		return bail_sys(err, "cannot write");
	return 0;
}

int load_raw_write(const struct load_result *r, const char *path, struct err *err)
{
	AUTO_FREE char *temp = xasprintf("%s.%d.part", path, (int)getpid());
	struct writer w CLEANUP(writer_release) = { .f = fopen(temp, "wbe") };

	if (!w.f)
		return bail_sys(err, "cannot make '%s'", temp);
	w.z = ZSTD_createCCtx();
	if (!w.z || ZSTD_isError(ZSTD_CCtx_setParameter(w.z, ZSTD_c_checksumFlag, 1)))
		return bail(err, ERR_IO, "cannot set zstd up");
	if (write_all(r, &w, err) < 0) {
		(void)unlink(temp);
		return err_wrap(err, "raw samples '%s'", path);
	}
	if (rename(temp, path) < 0) {
		(void)bail_sys(err, "cannot rename '%s' to '%s'", temp, path);
		(void)unlink(temp);
		return -ERR_IO;
	}
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct load_result *r;
	struct {
		struct load_req *v;
		size_t n, room;
	} reqs;
	struct {
		struct load_event *v;
		size_t n, room;
	} events;
	struct str text;
	bool begun, ended;
	size_t said; /* requests the header announced */
};

static void reading_release(struct reading *rd)
{
	free(rd->reqs.v);
	free(rd->events.v);
	str_release(&rd->text);
}

static int read_objectives(const json_t *o, struct load_result *r, struct err *err)
{
	json_t *list, *v;
	size_t i;

	TRY(json_get_arr(o, "objectives", &list, err));
	r->objectives = xcalloc(json_array_size(list) + 1, sizeof(*r->objectives));
	json_array_foreach(list, i, v)
	{
		struct load_objective *to = &r->objectives[i];
		int64_t what, limit;

		TRY(json_get_int(v, "what", &what, err));
		TRY(json_get_int(v, "limit_ns", &limit, err));
		if (what < 0 || what > LOAD_E2E || limit <= 0)
			return bail(err, ERR_PARSE, "objective %zu is none", i + 1);
		*to = (struct load_objective){ (enum load_latency)what,
					       json_number_value(json_object_get(v, "p")), limit };
	}
	r->n_objectives = json_array_size(list);
	return 0;
}

static int read_stages(const json_t *o, struct load_result *r, struct err *err)
{
	json_t *list = json_object_get(o, "stages"), *v;
	size_t i;

	if (!list)
		return 0; /* no stages, or written before they were kept */
	r->stages = xcalloc(json_array_size(list) + 1, sizeof(*r->stages));
	json_array_foreach(list, i, v)
	{
		struct load_stage *to = &r->stages[i];

		to->rate = json_number_value(json_object_get(v, "rate"));
		TRY(json_get_int(v, "duration_ns", &to->duration_ns, err));
		if (!(to->rate > 0) || to->duration_ns <= 0 ||
		    to->duration_ns > INT64_MAX / (int64_t)(json_array_size(list) + 1))
			return bail(err, ERR_PARSE, "stage %zu is none", i + 1);
	}
	r->n_stages = json_array_size(list);
	return 0;
}

static int read_header(const json_t *o, struct reading *rd, struct err *err)
{
	struct load_result *r = rd->r;
	json_t *a, *ids, *v;
	int64_t version, n;
	size_t i;

	TRY(json_get_int(o, "twice_load_raw", &version, err));
	if (version != RAW_VERSION)
		return bail(err, ERR_UNSUPPORTED, "raw samples of version %lld",
			    (long long)version);
	TRY(json_get_int(o, "requests", &n, err));
	if (n < 0 || n > (int64_t)RAW_REQUESTS)
		return bail(err, ERR_LIMIT, "more than %zu requests", RAW_REQUESTS);
	rd->said = (size_t)n;
	TRY(fields_get(o, result_fields, ARRAY_SIZE(result_fields), /* none= */ false, r, err));
	TRY(json_get_obj(o, "audit", &a, err));
	TRY(fields_get(a, audit_fields, ARRAY_SIZE(audit_fields), /* none= */ false, &r->audit,
		       err));
	TRY(server_unraw(json_object_get(o, "server"), &r->server, err));
	TRY(read_objectives(o, r, err));
	TRY(read_stages(o, r, err));
	TRY(json_get_arr(o, "prompt_ids", &ids, err));
	r->prompt_ids = xcalloc(json_array_size(ids) + 1, sizeof(*r->prompt_ids));
	json_array_foreach(ids, i, v)
	{
		if (!json_is_string(v))
			return bail(err, ERR_PARSE, "a prompt id is not a text");
		r->prompt_ids[r->n_prompt_ids++] = xstrdup(json_string_value(v));
	}
	rd->begun = true;
	return 0;
}

static int read_events(const json_t *o, struct load_req *q, struct reading *rd, struct err *err)
{
	json_t *ev = json_object_get(o, "ev"), *tok = json_object_get(o, "tok"), *v;
	json_t *fl = json_object_get(o, "fl");
	int64_t at = 0;
	size_t i, n = json_array_size(ev);

	if ((ev && !json_is_array(ev)) || (tok && json_array_size(tok) != n) ||
	    (fl && json_array_size(fl) != n) || rd->events.n + n > UINT32_MAX)
		return bail(err, ERR_PARSE, "token times don't fit together");
	q->events_at = (uint32_t)rd->events.n;
	json_array_foreach(ev, i, v)
	{
		if (!json_is_integer(v) ||
		    __builtin_add_overflow(at, (int64_t)json_integer_value(v), &at))
			return bail(err, ERR_PARSE, "a token time is no time");
		*VEC_ADD(&rd->events) = (struct load_event){
			.at = at,
			.tokens = (uint32_t)json_integer_value(json_array_get(tok, i)),
			.flags = (uint32_t)json_integer_value(json_array_get(fl, i)),
		};
	}
	q->n_events = (uint32_t)n;
	return 0;
}

static const char *intern(struct strs *l, const char *s)
{
	if (!s || !*s)
		return "";
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], s))
			return l->v[i];
	strs_add(l, s);
	return l->v[l->n - 1];
}

static int read_request(const json_t *o, struct reading *rd, struct err *err)
{
	struct load_req *q = VEC_ADD(&rd->reqs);
	const json_t *answer = json_object_get(o, "answer");

	if (rd->reqs.n > rd->said)
		return bail(err, ERR_PARSE, "more requests than announced");
	TRY(fields_get(o, req_fields, ARRAY_SIZE(req_fields), /* none= */ true, q, err));
	if (q->scheduled == LOAD_NONE)
		return bail(err, ERR_PARSE, "a request without its time");
	if (rd->r->n_prompt_ids && q->prompt >= rd->r->n_prompt_ids)
		return bail(err, ERR_PARSE, "'prompt' is out of range");
	q->detail = intern(&rd->r->details, json_str_or(o, "detail", ""));
	q->answer_at = (uint32_t)rd->text.n;
	q->answer_n = (uint32_t)json_string_length(answer);
	if (rd->text.n + q->answer_n > UINT32_MAX)
		return bail(err, ERR_LIMIT, "more than 4 GiB of answers");
	if (q->answer_n)
		str_addn(&rd->text, json_string_value(answer), q->answer_n);
	return read_events(o, q, rd, err);
}

static int read_line(struct sv line, void *arg, struct err *err)
{
	struct reading *rd = arg;
	AUTO_JSON json_t *o = NULL;

	TRY(json_read(line, "JSON", &o, err));
	if (!json_is_object(o))
		return bail(err, ERR_PARSE, "not an object");
	if (rd->ended)
		return bail(err, ERR_PARSE, "text after the end");
	if (!rd->begun)
		return read_header(o, rd, err);
	if (!json_object_get(o, "total"))
		return read_request(o, rd, err);
	if (json_int_or(o, "total", -1) != (int64_t)rd->reqs.n || rd->reqs.n != rd->said)
		return bail(err, ERR_PARSE, "requests are missing");
	rd->ended = true;
	return 0;
}

static void reader_free(ZSTD_DCtx **z)
{
	ZSTD_freeDCtx(*z);
}

/* Decompresses in pieces and hands over whole lines. */
static int each_line(FILE *f, int (*line_cb)(struct sv, void *, struct err *), void *arg,
		     struct err *err)
{
	CLEANUP(reader_free) ZSTD_DCtx *z = ZSTD_createDCtx();
	AUTO_FREE char *from = xmalloc(64 * KIB);
	AUTO_FREE char *to = xmalloc(256 * KIB);
	struct str rest CLEANUP(str_release) = { 0 };
	size_t n, hint = 0, number = 0;

	str_init(&rest, RAW_LINE_LIMIT);
	if (!z || ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, 27)))
		return bail(err, ERR_IO, "cannot set zstd up");
	while ((n = fread(from, 1, 64 * KIB, f)) > 0) {
		ZSTD_inBuffer in = { from, n, 0 };

		while (in.pos < in.size) {
			ZSTD_outBuffer out = { to, 256 * KIB, 0 };
			struct sv part;
			const char *nl;

			hint = ZSTD_decompressStream(z, &out, &in);
			if (ZSTD_isError(hint))
				return bail(err, ERR_PARSE, "not whole zstd: %s",
					    ZSTD_getErrorName(hint));
			part = (struct sv){ to, out.pos };
			while (part.n && (nl = memchr(part.p, '\n', part.n))) {
				size_t len = (size_t)(nl - part.p);

				str_addn(&rest, part.p, len);
				number++;
				if (rest.over)
					return bail(err, ERR_LIMIT, "line %zu is too long", number);
				if (line_cb(sv_str(&rest), arg, err) < 0)
					return err_wrap(err, "line %zu", number);
				str_clear(&rest);
				part.p += len + 1;
				part.n -= len + 1;
			}
			str_addn(&rest, part.p, part.n);
			if (rest.over)
				return bail(err, ERR_LIMIT, "line %zu is too long", number + 1);
		}
	}
	if (ferror(f))
		return bail_sys(err, "cannot read");
	if (hint != 0 || rest.n)
		return bail(err, ERR_PARSE, "cut short");
	return 0;
}

int load_raw_read(const char *path, struct load_result *ret, struct err *err)
{
	CLEANUP(fclosep) FILE *f = fopen(path, "rbe");
	struct load_result r CLEANUP(load_result_release) = { 0 };
	struct reading rd CLEANUP(reading_release) = { .r = &r };

	if (!f && errno == ENOENT)
		return bail(err, ERR_NOT_FOUND, "raw samples '%s' are not there", path);
	if (!f)
		return bail_sys(err, "cannot open '%s'", path);
	if (each_line(f, read_line, &rd, err) < 0)
		return err_wrap(err, "raw samples '%s'", path);
	if (!rd.ended)
		return bail(err, ERR_PARSE, "raw samples '%s': cut short", path);
	r.n = rd.reqs.n;
	r.v = rd.reqs.v ? STEAL(rd.reqs.v) : xcalloc(1, sizeof(*r.v));
	r.n_events = rd.events.n;
	r.events = rd.events.v ? STEAL(rd.events.v) : xcalloc(1, sizeof(*r.events));
	r.n_text = rd.text.n;
	r.text = str_steal(&rd.text);
	*ret = r;
	r = (struct load_result){ 0 };
	return 0;
}
