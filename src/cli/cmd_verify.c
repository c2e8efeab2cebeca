/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "checks/checks.h"
#include "run/run.h"

struct verify_conf {
	struct strs anchors, witnesses;
	bool recompute, all, skip_blobs;
};

static const struct opt verify_opts[] = {
	OPT(verify_conf, recompute, .name = "recompute", .type = OPT_FLAG,
	    .help = "decide every verdict again from the ledger alone"),
	OPT(verify_conf, all, .name = "all", .type = OPT_FLAG,
	    .help = "go on after the first fault"),
	OPT(verify_conf, skip_blobs, .name = "skip-evidence", .type = OPT_FLAG,
	    .help = "don't read the evidence"),
	OPT(verify_conf, anchors, .name = "anchor", .arg = "FILE", .type = OPT_LIST,
	    .help = "a checkpoint kept elsewhere; may be repeated"),
	OPT(verify_conf, witnesses, .name = "witness", .arg = "VKEY", .type = OPT_LIST,
	    .help = "a witness's key that you trust; may be repeated"),
	{ 0 },
};

static const char *const severities[] = { "note", "missing", "broken" };

static void findings(const struct ledger_report *r, json_t *v)
{
	json_t *a = json_array(), *b = json_array();

	for (size_t i = 0; i < r->n; i++) {
		json_t *o = json_object();

		json_put_str(o, "code", ledger_code_name(r->v[i].code));
		json_put_str(o, "severity", severities[r->v[i].severity]);
		if (r->v[i].seq != UINT64_MAX)
			json_put_int(o, "seq", (int64_t)r->v[i].seq);
		json_put_str(o, "text", r->v[i].text);
		(void)json_array_append_new(a, o);
	}
	json_put(v, "findings", a);
	for (size_t i = 0; i < r->n_anchors; i++) {
		json_t *o = json_object();

		json_put_str(o, "name", r->anchors[i].name);
		json_put_int(o, "size", (int64_t)r->anchors[i].size);
		json_put_bool(o, "holds", r->anchors[i].holds);
		json_put_bool(o, "beside", r->anchors[i].beside);
		json_put_int(o, "cosigned", (int64_t)r->anchors[i].cosigned);
		json_put_bool(o, "vouched", r->anchors[i].vouched);
		(void)json_array_append_new(b, o);
	}
	json_put(v, "anchors", b);
}

static int verify_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	static const int codes[] = { 0, 2, 1 };
	const struct verify_conf *c = conf;
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct ledger_conf open = { .dir = cli->ledger_dir,
				    .pg = cli->pg,
				    .flags = LEDGER_READONLY };
	struct run_recompute_arg arg = { .schemas = checks_schemas() };
	struct ledger_verify_conf vc = { .path = cli->args.n ? cli->args.v[0] : cli->ledger_dir,
					 .pg = cli->pg,
					 .all = c->all,
					 .skip_blobs = c->skip_blobs,
					 .now_ms = clock_wall_ms() };
	struct ledger *l CLEANUP(ledger_closep) = NULL;
	struct err closed = ERR_INIT;
	int worst, rc;

	vc.anchors = c->anchors.n ? (const char *const *)c->anchors.v : NULL;
	vc.vkeys = c->witnesses.n ? (const char *const *)c->witnesses.v : NULL;
	open.dir = vc.path;
	/* A ledger that doesn't open can still be verified: that is the finding. One that was never
	 * made (nothing in its store, no checkpoint) is none. */
	rc = ledger_open(&open, &l, &closed);
	if (rc == -ERR_NOT_FOUND)
		return bail(err, ERR_UNSUPPORTED, "no ledger in '%s'", vc.path);
	if (c->recompute && rc == 0) {
		arg.ledger = l;
		vc.recompute = run_recompute;
		vc.arg = &arg;
	}
	TRY(ledger_verify(&vc, &r, err));
	worst = (int)ledger_report_worst(&r);
	json_put_str(v, "path", vc.path);
	json_put_str(v, "state",
		     worst == LEDGER_BROKEN    ? "broken"
		     : worst == LEDGER_MISSING ? "incomplete"
					       : "intact");
	findings(&r, v);
	json_put_int(v, "size", (int64_t)r.size);
	json_put_int(v, "blobs", (int64_t)r.blobs);
	json_put_int(v, "signatures", (int64_t)r.signatures);
	json_put_int(v, "after_anchor", (int64_t)r.entries_after_anchor);
	json_put_bool(v, "recomputed", vc.recompute != NULL);
	return codes[worst];
}

static void verify_text(const json_t *v, struct str *out)
{
	const json_t *f = json_object_get(v, "findings"), *a = json_object_get(v, "anchors");
	bool outside = false;

	str_addf(out, "%s: %s, %lld entries, %lld pieces of evidence, %lld signatures%s\n",
		 json_str_or(v, "path", ""), json_str_or(v, "state", ""),
		 (long long)json_int_or(v, "size", 0), (long long)json_int_or(v, "blobs", 0),
		 (long long)json_int_or(v, "signatures", 0),
		 json_bool_or(v, "recomputed", false) ? ", verdicts decided again" : "");
	for (size_t i = 0; i < json_array_size(f); i++) {
		const json_t *x = json_array_get(f, i);
		AUTO_FREE char *t = text_clean(sv_of(json_str_or(x, "text", "")));

		str_addf(out, "  %s %s", json_str_or(x, "severity", ""),
			 json_str_or(x, "code", ""));
		if (json_object_get(x, "seq"))
			str_addf(out, " at entry %lld", (long long)json_int_or(x, "seq", 0));
		str_addf(out, ": %s\n", t);
	}
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *x = json_array_get(a, i);

		outside |= json_bool_or(x, "holds", false) &&
			   (!json_bool_or(x, "beside", true) || json_bool_or(x, "vouched", false));
		str_addf(out, "  anchor %s: size %lld, %s", json_str_or(x, "name", ""),
			 (long long)json_int_or(x, "size", 0),
			 json_bool_or(x, "holds", false) ? "holds" : "does not hold");
		if (json_int_or(x, "cosigned", 0))
			str_addf(out, ", cosigned by %lld%s",
				 (long long)json_int_or(x, "cosigned", 0),
				 json_bool_or(x, "vouched", false) ? ", trusted" : "");
		str_addc(out, '\n');
	}
	if (!outside)
		str_add(out, "  no anchor outside this folder: whoever owns the machine and the "
			     "ledger's key could have\n"
			     "  rewritten it all (keep a copy of 'checkpoint' elsewhere, give it "
			     "with --anchor, or see twice-witness(1))\n");
}

const struct cmd cmd_verify = {
	.name = "verify",
	.group = GROUP_READ,
	.args = "[DIR]",
	.max_args = 1,
	.help = "is the ledger intact?",
	.about = "Exit 0: intact; 1: broken; 2: intact, but evidence is missing or an anchor is "
		 "too old.",
	.opts = verify_opts,
	.conf_size = sizeof(struct verify_conf),
	.run = verify_run,
	.text = verify_text,
};
