/* SPDX-License-Identifier: Apache-2.0 */
/* What logs say about where a fault is. */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "cli/diagnose_case.h"
#include "diagnose/diagnose.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { PIECE = 1 << 20, CATALOGUE_MAX = 4 << 20, WINDOW_LOG_MAX = 27, NOTE_EVERY = 64 };

struct diagnose_conf {
	bool all, without_probes;
	const char *good, *catalogue, *recorded;
};

static const struct opt diagnose_opts[] = {
	OPT(diagnose_conf, recorded, .name = "case", .arg = "FILE", .type = OPT_TEXT,
	    .help = "a recorded comparison instead of logs: verdict, cause, trigger, owner"),
	OPT(diagnose_conf, without_probes, .name = "without-probes", .type = OPT_FLAG,
	    .help = "leave the probes of the comparison aside"),
	OPT(diagnose_conf, good, .name = "good", .arg = "LOG", .type = OPT_TEXT,
	    .help = "a log of a run that was well: what it has too explains little"),
	OPT(diagnose_conf, catalogue, .name = "catalogue", .arg = "FILE", .type = OPT_TEXT,
	    .help = "use the signatures of this file instead of the built-in ones"),
	OPT(diagnose_conf, all, .name = "all", .type = OPT_FLAG,
	    .help = "show markers and what lost against a more specific signature too"),
	{ 0 },
};

/* One log on its way through the scanner. */
struct feed {
	struct cli *cli;
	const char *name;
	struct signature_scan *scan;
	ZSTD_DCtx *zstd;
	char *in, *out;
	uint64_t taken, size; /* bytes read; size 0: not known */
	size_t left;          /* what zstd still waits for: 0 at the end of a frame */
};

static void feed_release(struct feed *f)
{
	signature_scan_free(&f->scan);
	(void)ZSTD_freeDCtx(f->zstd);
	free(f->in);
	free(f->out);
}

static int unpack(struct feed *f, size_t n, struct err *err)
{
	ZSTD_inBuffer in = { f->in, n, 0 };

	while (in.pos < in.size) {
		ZSTD_outBuffer out = { f->out, PIECE, 0 };

		f->left = ZSTD_decompressStream(f->zstd, &out, &in);
		if (ZSTD_isError(f->left))
			return bail(err, ERR_PARSE, "'%s' is no whole zstd: %s", f->name,
				    ZSTD_getErrorName(f->left));
		signature_scan_feed(f->scan, f->out, out.pos);
		/* A few bytes may unpack to gigabytes. */
		if (cli_cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted while reading '%s'",
				    f->name);
	}
	return 0;
}

static int begin(struct feed *f, size_t n, struct err *err)
{
	static const char zst[] = "\x28\xb5\x2f\xfd";
	static const struct {
		const char *magic, *name, *tool;
	} packed[] = { { "\x1f\x8b", "gzip", "zcat" },
		       { "\xfd"
			 "7zXZ",
			 "xz", "xzcat" },
		       { "BZh", "bzip2", "bzcat" },
		       { "PK\x03\x04", "zip", "unzip -p" },
		       { "\x04\x22\x4d\x18", "lz4", "lz4cat" } };

	for (size_t i = 0; i < ARRAY_SIZE(packed); i++) {
		size_t len = strlen(packed[i].magic);

		if (n < len || memcmp(f->in, packed[i].magic, len) != 0)
			continue;
		bail(err, ERR_PARSE, "'%s' is compressed with %s", f->name, packed[i].name);
		err_hint(err, "Unpack it on the way: '%s FILE | twice diagnose -'.",
			 packed[i].tool);
		return -ERR_PARSE;
	}
	if (n < 4 || memcmp(f->in, zst, 4) != 0)
		return 0;
	f->zstd = ZSTD_createDCtx();
	f->out = xmalloc(PIECE);
	if (!f->zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(f->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
		return bail(err, ERR_IO, "cannot set zstd up");
	return 0;
}

/* A whole piece, so that the first one holds the magic bytes; less only at the end. */
static int fill(struct feed *f, int fd, size_t *ret, struct err *err)
{
	size_t n = 0;

	while (n < PIECE) {
		ssize_t got = read(fd, f->in + n, PIECE - n);

		if (cli_cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted while reading '%s'",
				    f->name);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return bail_sys(err, "cannot read '%s'", f->name);
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret = n;
	return 0;
}

static void note(struct feed *f, bool last)
{
	if (f->taken / PIECE < NOTE_EVERY || (!last && f->taken / PIECE % NOTE_EVERY))
		return;
	if (f->size)
		cli_progress(f->cli, last, "%s: %llu of %llu MiB", f->name,
			     (unsigned long long)(f->taken / MIB),
			     (unsigned long long)(f->size / MIB));
	else
		cli_progress(f->cli, last, "%s: %llu MiB", f->name,
			     (unsigned long long)(f->taken / MIB));
}

static int scan_fd(struct cli *cli, const struct signatures *l, const char *name, int fd,
		   struct signature_hits *ret, struct err *err)
{
	struct feed f CLEANUP(feed_release) = { .cli = cli, .name = name };
	struct stat st;
	size_t n;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return bail(err, ERR_PARSE, "'%s' is a folder, not a log", name);
	f.size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	f.scan = signature_scan_new(l);
	f.in = xmalloc(PIECE);
	TRY(fill(&f, fd, &n, err));
	TRY(begin(&f, n, err));
	while (n > 0) {
		f.taken += n;
		if (f.zstd)
			TRY(unpack(&f, n, err));
		else
			signature_scan_feed(f.scan, f.in, n);
		note(&f, /* last= */ false);
		TRY(fill(&f, fd, &n, err));
	}
	note(&f, /* last= */ true);
	if (f.zstd && f.left)
		return bail(err, ERR_PARSE, "'%s' is no whole zstd: it ends too early", name);
	signature_scan_end(STEAL(f.scan), ret);
	return 0;
}

static int scan_log(struct cli *cli, const struct signatures *l, const char *path,
		    struct signature_hits *ret, struct err *err)
{
	int fd CLEANUP(closep) = -1;

	if (streq(path, "-"))
		return scan_fd(cli, l, "stdin", STDIN_FILENO, ret, err);
	fd = open(path, O_RDONLY | O_CLOEXEC); /* a pipe without a writer waits here */
	if (fd < 0 && errno == EINTR && cli_cancel)
		return bail(err, ERR_INTERRUPTED, "interrupted while opening '%s'", path);
	if (fd < 0)
		return bail_sys(err, "cannot open '%s'", path);
	return scan_fd(cli, l, path, fd, ret, err);
}

static int catalogue(const struct diagnose_conf *c, struct signatures *ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t n;

	if (!c->catalogue)
		return signatures_builtin(ret, err);
	TRY(file_read(c->catalogue, CATALOGUE_MAX, &text, &n, err));
	if (signatures_parse((struct sv){ text, n }, ret, err) < 0)
		return err_wrap(err, "%s", c->catalogue);
	return 0;
}

struct log_list {
	struct signature_log *v;
	size_t n, room;
};

static void logs_release(struct log_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		signature_log_release(&l->v[i]);
	free(l->v);
	*l = (struct log_list){ 0 };
}

static json_t *log_value(const char *path, const struct signature_hits *h,
			 const struct signature_log *l)
{
	json_t *o = json_object();

	json_put_str(o, "path", streq(path, "-") ? "stdin" : path);
	json_put_int(o, "bytes", (int64_t)h->bytes);
	json_put_int(o, "lines", (int64_t)h->lines);
	json_put_str(o, "says", signature_says_name(l->says));
	if (l->best) {
		json_put_str(o, "signature", l->best->id);
		json_put_str(o, "layer", signature_layer_name(l->best->layer));
		json_put_int(o, "line", (int64_t)l->line);
		json_put_str(o, "time", l->time);
	}
	return o;
}

static void first_value(const struct log_list *l, const struct signature_decision *d, json_t *v)
{
	static const char *const how[] = { "time", "only", "order" };
	enum signature_first by;
	json_t *o;
	size_t at;

	if (l->n < 2 || !d->layers.n ||
	    !signature_logs_first(l->v, l->n, d->layers.v[0].layer, &at, &by))
		return;
	o = json_object();
	json_put_int(o, "log", (int64_t)at);
	json_put_str(o, "by", how[by]);
	json_put(v, "first", o);
}

static int diagnose_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct diagnose_conf *c = conf;
	struct signatures all CLEANUP(signatures_release) = { 0 };
	struct signature_hits now CLEANUP(signature_hits_release) = { 0 };
	struct signature_hits good CLEANUP(signature_hits_release) = { 0 };
	struct signature_decision d CLEANUP(signature_decision_release) = { 0 };
	struct log_list each CLEANUP(logs_release) = { 0 };
	json_t *logs = json_array();

	json_put(v, "logs", logs);
	TRY(catalogue(c, &all, err));
	if (c->recorded && (cli->args.n || c->good))
		return bail(err, ERR_USAGE, "--case takes no logs");
	if (c->recorded) {
		json_t *answer = NULL;
		int rc = diagnose_case_value(c->recorded, c->without_probes, &all, &answer, err);

		json_put(v, "case", answer);
		return rc;
	}
	if (!cli->args.n) {
		bail(err, ERR_USAGE, "'twice diagnose' needs LOG... or --case FILE");
		err_hint(err, "See 'twice diagnose --help'.");
		return -ERR_USAGE;
	}
	if (c->good)
		TRY(scan_log(cli, &all, c->good, &good, err));
	for (size_t i = 0; i < cli->args.n; i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };

		TRY(scan_log(cli, &all, cli->args.v[i], &h, err));
		signature_log_of(&h, VEC_ADD(&each));
		(void)json_array_append_new(logs,
					    log_value(cli->args.v[i], &h, &each.v[each.n - 1]));
		signature_hits_add(&now, &h, (unsigned)i);
	}
	signature_decide(&now, c->good ? &good : NULL, &d);
	json_put_str(v, "good", c->good);
	json_put_int(v, "signatures", (int64_t)all.n);
	json_put(v, "decision", signature_decision_to_json(&d));
	first_value(&each, &d, v);
	json_put(v, "found", signature_hits_to_json(&now));
	json_put_int(v, "unjudged", (int64_t)now.unjudged);
	json_put_bool(v, "all", c->all);
	return d.layers.n ? 0 : 2;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void put(struct str *out, const char *key, const char *text)
{
	AUTO_FREE char *clean = text_clean(sv_of(text));

	if (clean[0])
		str_addf(out, "  %-10s %s\n", key, clean);
}

static char *place(const json_t *v, const json_t *hit)
{
	const json_t *log =
		json_array_get(json_object_get(v, "logs"), (size_t)json_int_or(hit, "file", 0));
	AUTO_FREE char *path = text_clean(sv_of(json_str_or(log, "path", "")));
	int64_t won = json_int_or(hit, "won", 0), seen = json_int_or(hit, "seen", 0);
	int64_t n = won ? won : seen;

	if (n > 1)
		return xasprintf("%s:%lld and %lld more", path,
				 (long long)json_int_or(hit, "line", 0), (long long)n - 1);
	return xasprintf("%s:%lld", path, (long long)json_int_or(hit, "line", 0));
}

static const json_t *found(const json_t *v, const char *id)
{
	const json_t *l = json_object_get(v, "found");

	for (size_t i = 0; i < json_array_size(l); i++)
		if (streq(json_str_or(json_array_get(l, i), "id", NULL), id))
			return json_array_get(l, i);
	return NULL;
}

static void layer_text(const json_t *v, const json_t *layer, struct str *out)
{
	const json_t *hit = found(v, json_str_or(layer, "signature", ""));
	double share = (double)json_int_or(layer, "share_e9", 0) / 1e9;

	str_addf(out, "\n%s (%.0f %% of the evidence)\n", json_str_or(layer, "layer", ""),
		 100 * share);
	put(out, "component", json_str_or(layer, "component", ""));
	put(out, "owner", json_str_or(layer, "owner", ""));
	if (hit) {
		AUTO_FREE char *at = place(v, hit);

		put(out, "found", at);
		put(out, "line", json_str_or(hit, "excerpt", ""));
	}
	put(out, hit ? "means" : "missing", json_str_or(layer, "meaning", ""));
	put(out, "causes", json_str_or(hit, "causes", ""));
	put(out, "do first", json_str_or(layer, "action", ""));
	put(out, "but", json_str_or(hit, "caution", ""));
	put(out, "signature", json_str_or(layer, "signature", ""));
}

static bool is_best(const json_t *v, const char *id)
{
	const json_t *l = json_object_get(json_object_get(v, "decision"), "layers");

	for (size_t i = 0; i < json_array_size(l); i++)
		if (streq(json_str_or(json_array_get(l, i), "signature", NULL), id))
			return true;
	return false;
}

static void others(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(v, "found");
	bool all = json_bool_or(v, "all", false), any = false;

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *h = json_array_get(l, i);
		const char *id = json_str_or(h, "id", ""), *role = json_str_or(h, "role", "");
		bool lost = !json_int_or(h, "won", 0);
		AUTO_FREE char *at = place(v, h);
		AUTO_FREE char *what = text_clean(sv_of(json_str_or(h, "meaning", "")));

		if (is_best(v, id) || (!all && (lost || streq(role, "positive_marker"))))
			continue;
		if (!any)
			str_add(out, "\nfound as well\n");
		any = true;
		str_addf(out, "  %-15s %-12s %s: %s%s [%s]\n", role, json_str_or(h, "layer", ""),
			 at, what, lost ? " (a more specific one won)" : "", id);
	}
}

/* "rank3.log, line 42 at 10:11:02". */
static char *log_place(const json_t *log)
{
	AUTO_FREE char *path = text_clean(sv_of(json_str_or(log, "path", "")));
	const char *time = json_str_or(log, "time", NULL);

	return xasprintf("%s, line %lld%s%s", path, (long long)json_int_or(log, "line", 0),
			 time ? " at " : "", time ? time : "");
}

static void several_text(const json_t *v, struct str *out)
{
	const json_t *logs = json_object_get(v, "logs"), *first = json_object_get(v, "first");
	const json_t *top =
		json_array_get(json_object_get(json_object_get(v, "decision"), "layers"), 0);
	const char *layer = json_str_or(top, "layer", "");
	size_t n = json_array_size(logs), same = 0, other = 0, follow = 0;

	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		const json_t *l = json_array_get(logs, i);
		const char *says = json_str_or(l, "says", "");

		if (streq(says, "cause"))
			*(streq(json_str_or(l, "layer", ""), layer) ? &same : &other) += 1;
		follow += streq(says, "consequences");
	}
	if (first) {
		AUTO_FREE char *at =
			log_place(json_array_get(logs, (size_t)json_int_or(first, "log", 0)));
		const char *by = json_str_or(first, "by", "");

		str_addf(out, "  begins     %s%s\n", at,
			 streq(by, "time")    ? " (the earliest)"
			 : streq(by, "order") ? " (the first in order: the lines have no times of "
						"one form)"
					      : "");
	}
	str_addf(out, "  %zu logs    %zu name %s", n, same, layer[0] ? layer : "a layer");
	if (other)
		str_addf(out, ", %zu another layer", other);
	if (follow)
		str_addf(out, ", %zu only consequences", follow);
	if (same + other + follow < n)
		str_addf(out, ", %zu nothing", n - same - other - follow);
	str_add(out, "\n");
}

static void must_not_text(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(json_object_get(v, "decision"), "must_not");

	if (json_array_size(l))
		str_add(out, "\nmust not be concluded\n");
	for (size_t i = 0; i < json_array_size(l); i++) {
		AUTO_FREE char *t = text_clean(sv_of(json_string_value(json_array_get(l, i))));

		str_addf(out, "  %s\n", t);
	}
}

static void logs_text(const json_t *v, struct str *out)
{
	const json_t *d = json_object_get(v, "decision"), *layers = json_object_get(d, "layers");
	const json_t *reasons = json_object_get(d, "reasons"), *logs = json_object_get(v, "logs");
	int64_t lines = 0;

	for (size_t i = 0; i < json_array_size(logs); i++)
		lines += json_int_or(json_array_get(logs, i), "lines", 0);
	if (json_array_size(layers))
		str_addf(out, "%s, confidence %s",
			 json_str_or(json_array_get(layers, 0), "layer", ""),
			 json_str_or(d, "confidence", ""));
	else
		str_add(out, "undetermined");
	str_addf(out, " (%lld line%s, %lld signature%s)\n", (long long)lines, lines == 1 ? "" : "s",
		 (long long)json_int_or(v, "signatures", 0),
		 json_int_or(v, "signatures", 0) == 1 ? "" : "s");
	for (size_t i = 0; i < json_array_size(reasons); i++) {
		AUTO_FREE char *t =
			text_clean(sv_of(json_string_value(json_array_get(reasons, i))));

		str_addf(out, "  %s\n", t);
	}
	several_text(v, out);
	for (size_t i = 0; i < json_array_size(layers); i++)
		layer_text(v, json_array_get(layers, i), out);
	others(v, out);
	must_not_text(v, out);
}

static void diagnose_text(const json_t *v, struct str *out)
{
	const json_t *answer = json_object_get(v, "case");

	if (answer)
		diagnose_case_text(answer, out);
	else
		logs_text(v, out);
}

const struct cmd cmd_diagnose = {
	.name = "diagnose",
	.group = GROUP_READ,
	.args = "[LOG...]",
	.max_args = 1000,
	.help = "find out from logs which layer is at fault",
	.about = "Exit 0: a layer is named; 2: undetermined.",
	.opts = diagnose_opts,
	.conf_size = sizeof(struct diagnose_conf),
	.run = diagnose_run,
	.text = diagnose_text,
};
