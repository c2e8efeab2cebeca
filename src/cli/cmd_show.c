/* SPDX-License-Identifier: Apache-2.0 */
/* One entry whole, or the bytes of a piece of evidence. */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "cli/searched.h"
#include "cli/text.h"
#include "report/report.h"
#include <unistd.h>

struct show_conf {
	const char *out;
};

static const struct opt show_opts[] = {
	OPT(show_conf, out, .name = "out", .arg = "FILE", .type = OPT_TEXT,
	    .help = "write evidence to a file"),
	{ 0 },
};

/* Nothing is edited: what was found wrong later stands in entries of its own. */
static int on_correction(void *arg, const struct ledger_entry *e, struct err *err)
{
	json_t *o = json_object();

	(void)err;
	json_put_int(o, "seq", (int64_t)e->ref.seq);
	json_put_str(o, "at", e->at);
	json_put_str(o, "by", e->by_id);
	json_put_str(o, "reason", json_str_or(e->body, "reason", ""));
	(void)json_array_append_new(arg, o);
	return 0;
}

static int put_corrections(struct cli *cli, const char *leaf, json_t *v, struct err *err)
{
	static const char *const kinds[] = { "correction", NULL };
	struct ledger_filter f = { .kinds = kinds, .digest = leaf, .rel = "entry" };
	json_t *a = json_array();

	json_put(v, "corrections", a);
	return ledger_each(cli->ledger, &f, on_correction, a, err);
}

/* Evidence that somebody took away is not lost: who, when and why is in the log. */
static bool say_who_took_it(struct cli *cli, const char *digest, struct err *err)
{
	static const char *const kinds[] = { "evidence.state", NULL };
	struct ledger_filter f = { .kinds = kinds, .digest = digest };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err quiet = ERR_INIT;

	if (err->code != ERR_NOT_FOUND || ledger_last(cli->ledger, &f, &e, &quiet) < 0)
		return false;
	AUTO_FREE char *reason = text_clean(sv_of(json_str_or(e.body, "reason", "")));

	(void)bail(err, ERR_NOT_FOUND, "evidence %.16s is %s since %.10s (entry %llu): %s", digest,
		   json_str_or(e.body, "state", ""), e.at, (unsigned long long)e.ref.seq, reason);
	return true;
}

static int show_blob(struct cli *cli, const char *digest, const char *out, json_t *v,
		     struct err *err)
{
	AUTO_FREE char *bytes = NULL;
	size_t n;

	TRY(ledger_blob_get(cli->ledger, digest, (size_t)1 << 30, &bytes, &n, err));
	json_put_str(v, "blob", digest);
	json_put_int(v, "bytes", (int64_t)n);
	if (out) {
		TRY(file_write(out, bytes, n, 0644, err));
		json_put_str(v, "out", out);
		return 0;
	}
	if (memchr(bytes, '\0', n) || !utf8_valid((struct sv){ bytes, n })) {
		bail(err, ERR_UNSUPPORTED, "evidence %.16s is no text", digest);
		err_hint(err, "Write it to a file with --out FILE.");
		return -ERR_UNSUPPORTED;
	}
	json_put_str(v, "content", bytes);
	return 0;
}

static int show_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct show_conf *c = conf;
	const char *name = cli->args.v[0];
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_signatures sigs CLEANUP(ledger_signatures_release) = { 0 };
	AUTO_JSON json_t *entry = NULL;
	json_t *a = json_array();

	json_put(v, "signatures", a);
	if (ledger_find(cli->ledger, name, &e, err) < 0) {
		struct err other = ERR_INIT;

		if (strlen(name) == 64 && show_blob(cli, name, c->out, v, &other) == 0)
			return 0;
		if (strlen(name) == 64 &&
		    (other.code != ERR_NOT_FOUND || say_who_took_it(cli, name, &other)))
			*err = other;
		return -(int)err->code;
	}
	TRY(json_read((struct sv){ e.bytes, e.n }, "the entry", &entry, err));
	json_put_str(v, "leaf", e.ref.hex);
	json_put(v, "entry", json_incref(entry));
	TRY(put_corrections(cli, e.ref.hex, v, err));
	if (streq(e.kind, "verdict"))
		TRY(searched_put(cli->ledger, e.ref.hex, v, err));
	TRY(ledger_signatures_of(cli->ledger, e.ref.leaf, &sigs, err));
	for (size_t i = 0; i < sigs.n; i++)
		(void)json_array_append_new(a, json_pack("{s:s, s:s}", "scheme", sigs.v[i].scheme,
							 "signer", sigs.v[i].signer));
	return 0;
}

/* Evidence is what a program wrote: as it is for a file or a pipe, but a terminal obeys it. */
static void add_content(const char *text, struct str *out)
{
	AUTO_FREE char *clean = isatty(1) == 1 ? text_clean_lines(text) : NULL;

	str_add(out, clean ? clean : text);
}

/* The answer of a search in words, and beside a verdict what a search found about it. */
static void said(const json_t *v, struct str *out)
{
	const json_t *entry = json_object_get(v, "entry"), *body = json_object_get(entry, "body");
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_FREE char *clean = NULL;

	searched_text(json_object_get(v, "search"), out);
	if (!streq(json_str_or(entry, "kind", ""), "attribution") ||
	    !streq(json_str_or(body, "what", ""), "bisect"))
		return;
	if (streq(json_str_or(body, "state", ""), "factorial"))
		report_search_factorial(json_object_get(body, "factorial"), &s);
	else
		report_search_line(body, &s);
	clean = text_clean(sv_str(&s));
	str_addf(out, "answer: %s\n", clean);
}

static void show_text(const json_t *v, struct str *out)
{
	const json_t *a = json_object_get(v, "signatures"), *entry = json_object_get(v, "entry");
	const json_t *wrong = json_object_get(v, "corrections");
	AUTO_FREE char *text = NULL;

	if (json_str_or(v, "content", NULL)) {
		add_content(json_str_or(v, "content", ""), out);
		return;
	}
	if (json_str_or(v, "blob", NULL)) {
		str_addf(out, "%lld bytes written to %s\n", (long long)json_int_or(v, "bytes", 0),
			 json_str_or(v, "out", ""));
		return;
	}
	text = entry ? json_text(entry, true) : xstrdup("null");
	str_addf(out, "leaf %s\n%s\n", json_str_or(v, "leaf", ""), text);
	said(v, out);
	for (size_t i = 0; i < json_array_size(a); i++)
		str_addf(out, "signed: %s by %s\n", json_str_or(json_array_get(a, i), "scheme", ""),
			 json_str_or(json_array_get(a, i), "signer", ""));
	for (size_t i = 0; i < json_array_size(wrong); i++) {
		const json_t *x = json_array_get(wrong, i);
		AUTO_FREE char *by = text_clean(sv_of(json_str_or(x, "by", "")));
		AUTO_FREE char *why = text_clean(sv_of(json_str_or(x, "reason", "")));

		str_addf(out, "wrong: %s (entry %lld, %s)\n", why,
			 (long long)json_int_or(x, "seq", 0), by);
	}
}

const struct cmd cmd_show = {
	.name = "show",
	.group = GROUP_READ,
	.args = "SEQ|LEAF|DIGEST",
	.min_args = 1,
	.max_args = 1,
	.help = "print one entry, or a piece of evidence by its digest",
	.flags = CMD_LEDGER_NEED,
	.opts = show_opts,
	.conf_size = sizeof(struct show_conf),
	.run = show_run,
	.text = show_text,
};
