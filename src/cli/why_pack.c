/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/why_pack.h"

#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"
#include "base/vec.h"
#include "cli/reporting.h"
#include "cli/text.h"
#include "cli/why_names.h"
#include "diagnose/diagnose.h"
#include <ctype.h>
#include <unistd.h>
#include <zstd.h>

enum { AROUND = 20, LOG_MAX = 64 << 20, TAR_BLOCK = 512, LEVEL = 9 };

struct packed {
	char *name, *text;
};
struct pack {
	struct packed *v;
	size_t n, room;
	char host[256];
	const char *home, *user; /* of the environment; NULL */
};

static void pack_release(struct pack *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].name);
		free(p->v[i].text);
	}
	free(p->v);
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Takes the text. Whole words only: a short name is inside of many others. */
static char *without(char *text, const char *what, const char *instead)
{
	struct str s = { 0 };
	const char *at = text;
	size_t n = what ? strlen(what) : 0;

	if (n < 3)
		return text;
	for (const char *hit; (hit = strstr(at, what)); at = hit + n) {
		bool whole = (hit == text || !in_word(hit[-1])) && !in_word(hit[n]);

		str_addn(&s, at, (size_t)(hit - at));
		str_add(&s, whole ? instead : what);
	}
	str_add(&s, at);
	free(text);
	return str_steal(&s);
}

/* Every text goes through here: credentials, this host's name and who ran it do not get out. */
static void put(struct pack *p, const char *name, const char *text)
{
	char *clean = redact_text(sv_of(text), NULL);

	clean = without(clean, p->host, "<host>");
	clean = without(clean, p->home, "<home>");
	clean = without(clean, p->user, "<user>");
	*VEC_ADD(p) = (struct packed){ xstrdup(name), clean };
}

static void put_json(struct pack *p, const char *name, const json_t *j)
{
	AUTO_FREE char *text = json_text(j, /* pretty= */ true);

	put(p, name, text);
}

static void csv_rows(const json_t *reps, const char *arm, struct str *out)
{
	for (size_t i = 0; i < json_array_size(reps); i++) {
		const json_t *r = json_array_get(reps, i), *m = json_object_get(r, "measured");

		for (size_t k = 0; k < json_array_size(m); k++) {
			const json_t *x = json_array_get(m, k);
			AUTO_FREE char *value =
				json_is_integer(json_object_get(x, "value"))
					? xasprintf("%lld", (long long)json_int_or(x, "value", 0))
					: xstrdup("");

			str_addf(out, "%s,%zu,%s,%s,%s,%s\n", arm, i + 1,
				 json_str_or(r, "state", "ok"), json_str_or(x, "name", ""),
				 json_str_or(x, "unit", ""), value);
		}
	}
}

static void samples(struct pack *p, const json_t *v)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_add(&s, "arm,repetition,state,metric,unit,value\n");
	csv_rows(json_object_get(v, "bank"), "accepted", &s);
	csv_rows(json_object_get(v, "reps"), "candidate", &s);
	put(p, "samples.csv", str_text(&s));
}

static void changes(struct pack *p, const json_t *body)
{
	const json_t *l = json_object_get(body, "changes");
	struct str s CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *c = json_array_get(l, i);
		const json_t *a = json_object_get(c, "before"), *b = json_object_get(c, "after");

		str_addf(&s, "%s%s %s: %s -> %s\n",
			 json_bool_or(c, "material", false) ? "" : "(not material) ",
			 json_str_or(c, "layer", ""), json_str_or(c, "name", ""),
			 a ? json_str_or(a, "version", "unknown") : "(none)",
			 b ? json_str_or(b, "version", "unknown") : "(none)");
	}
	put(p, "stack-difference.txt", s.n ? str_text(&s) : "nothing that was captured differs\n");
	if (l)
		put_json(p, "stack-difference.json", l);
}

/* Lines near a signature that is more than a marker; without one, the end of the log. */
static void excerpt(const struct signatures *all, struct sv text, struct str *out)
{
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	struct sv rest = text, line;
	uint64_t lines = 0, no = 0, last = 0;
	bool any = false;

	signatures_scan_text(all, text, &h);
	for (size_t i = 0; i < h.n; i++)
		any |= h.v[i].won && h.v[i].sig->role != SIGNATURE_MARKER;
	while (sv_line(&rest, &line))
		lines++;
	rest = text;
	while (sv_line(&rest, &line)) {
		bool near = !any && ++no + 2 * AROUND > lines;

		no += any;
		for (size_t i = 0; any && i < h.n; i++)
			near |= h.v[i].won && h.v[i].sig->role != SIGNATURE_MARKER &&
				no + AROUND >= h.v[i].line && no <= h.v[i].line + AROUND;
		if (!near)
			continue;
		if (no > last + 1)
			str_addf(out, "... line %llu\n", (unsigned long long)no);
		last = no;
		str_addf(out, "%.*s\n", (int)MIN(line.n, (size_t)2000), line.p);
	}
}

static int logs(struct cli *cli, struct pack *p, const json_t *v, struct err *err)
{
	struct signatures all CLEANUP(signatures_release) = { 0 };
	const json_t *l = json_object_get(v, "evidence");

	TRY(signatures_builtin(&all, err));
	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *e = json_array_get(l, i);
		const char *label = json_str_or(e, "label", "log"),
			   *digest = json_str_or(e, "digest", "");
		struct str out CLEANUP(str_release) = { 0 };
		AUTO_FREE char *bytes = NULL, *name = NULL;
		struct err lost = ERR_INIT;
		size_t n;

		if (!str_ends(label, ".log") && !strstr(label, "stderr") &&
		    !strstr(label, "stdout"))
			continue;
		if (str_starts(json_str_or(e, "of", ""), "accepted"))
			continue;
		if (ledger_blob_get(cli->ledger, digest, LOG_MAX, &bytes, &n, &lost) < 0) {
			str_addf(&out, "this evidence could not be read: %s\n", lost.msg);
		} else {
			excerpt(&all, (struct sv){ bytes, n }, &out);
		}
		name = xasprintf("logs/%03zu-%s", i + 1, label);
		for (char *c = name + 5; *c; c++)
			if (*c == '/' || (unsigned char)*c < ' ')
				*c = '_';
		put(p, name, str_text(&out));
	}
	return 0;
}

static void readme(struct pack *p, const json_t *v)
{
	const json_t *body = json_object_get(v, "verdict"), *d = json_object_get(body, "decision");
	struct str s CLEANUP(str_release) = { 0 };

	str_addf(&s,
		 "# Evidence of run %s: %s\n\n"
		 "Made by twice %s. Credentials were taken out; names of hosts and users, "
		 "addresses, serial numbers and UUIDs have placeholders, the same name the same "
		 "one in all files. Look through it before you publish it.\n\n",
		 json_str_or(body, "run", ""), text_verdict_word(json_str_or(d, "verdict", "")),
		 json_str_or(v, "tool_version", ""));
	str_add(&s, "```\n");
	text_verdict_searched(body, json_object_get(v, "search"), /* long_form= */ true, &s);
	str_add(&s, "```\n\n"
		    "| file | what it is |\n| --- | --- |\n"
		    "| verdict.json | the verdict with its numbers, reasons and attribution |\n"
		    "| stack-difference.txt, .json | what changed from the accepted stack |\n"
		    "| stack.json | the whole stack of the candidate |\n"
		    "| search.json | what 'twice bisect' found, where it was asked |\n"
		    "| samples.csv | every repetition of both arms; values are integers in the "
		    "metric's unit (docs/json.md) |\n"
		    "| contract.yaml | the exact commands, limits and settings |\n"
		    "| commands.txt | how to do it again |\n"
		    "| logs/ | lines around known signatures, or the end of a log |\n");
	put(p, "README.md", str_text(&s));
}

static void commands(struct pack *p, const json_t *v)
{
	const json_t *body = json_object_get(v, "verdict"), *next;
	struct str s CLEANUP(str_release) = { 0 };

	next = json_object_get(json_object_get(body, "attribution"), "next");
	str_addf(&s,
		 "# contract.yaml holds the commands themselves (workload_check, stack.switch)\n"
		 "twice run --contract contract.yaml\n"
		 "twice why %s\n"
		 "twice diff\n"
		 "twice bisect --dry-run\n",
		 json_str_or(body, "run", ""));
	if (json_is_string(next))
		str_addf(&s, "# next: %s\n", json_string_value(next));
	put(p, "commands.txt", str_text(&s));
}

/* ---- names ---- */

/* Versions of four numbers look like addresses; a component's name is no host's. */
static void keep_stack(struct names *n, const json_t *l)
{
	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *c = json_array_get(l, i);

		names_keep(n, json_str_or(c, "name", NULL));
		names_keep(n, json_str_or(c, "version", NULL));
		names_keep(n, json_str_or(json_object_get(c, "before"), "version", NULL));
		names_keep(n, json_str_or(json_object_get(c, "after"), "version", NULL));
	}
}

/* All files at once: who is called <host-2> in one of them is so in the others. */
static void without_names(struct pack *p, const json_t *v, const json_t *stack)
{
	const json_t *body = json_object_get(v, "verdict");
	struct names n CLEANUP(names_release) = { 0 };

	names_keep(&n, json_str_or(body, "run", NULL));
	names_keep(&n, json_str_or(body, "workload", NULL));
	keep_stack(&n, stack);
	keep_stack(&n, json_object_get(body, "changes"));
	for (size_t i = 0; i < p->n; i++)
		names_learn(&n, p->v[i].text);
	for (size_t i = 0; i < p->n; i++) {
		char *clean = names_hide(&n, p->v[i].text), *name = names_hide(&n, p->v[i].name);

		free(p->v[i].text);
		free(p->v[i].name);
		p->v[i].text = clean;
		p->v[i].name = name;
	}
}

/* ---- writing it ---- */

static void octal(char *at, size_t n, uint64_t v)
{
	for (at[--n] = '\0'; n-- > 0; v >>= 3)
		at[n] = (char)('0' + (v & 7));
}

/* POSIX ustar: no owner, no time, so that the same evidence gives the same bytes. */
static void tar_add(struct str *out, const char *dir, const struct packed *f)
{
	char h[TAR_BLOCK] = { 0 };
	size_t n = strlen(f->text);
	unsigned sum = 0;

	(void)snprintf(h, 100, "%s/%s", dir, f->name);
	octal(h + 100, 8, 0644);
	octal(h + 108, 8, 0);
	octal(h + 116, 8, 0);
	octal(h + 124, 12, n);
	octal(h + 136, 12, 0);
	memset(h + 148, ' ', 8);
	h[156] = '0';
	memcpy(h + 257, "ustar\00000", 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)h[i];
	octal(h + 148, 7, sum);
	str_addn(out, h, TAR_BLOCK);
	str_addn(out, f->text, n);
	str_pad(out, '\0', (TAR_BLOCK - n % TAR_BLOCK) % TAR_BLOCK);
}

static int write_archive(const struct pack *p, const char *to, struct err *err)
{
	AUTO_FREE char *dir = xstrndup(path_base(to), strlen(path_base(to)) - strlen(".tar.zst"));
	struct str tar CLEANUP(str_release) = { 0 };
	AUTO_FREE void *out = NULL;
	size_t room, n;

	for (size_t i = 0; i < p->n; i++)
		tar_add(&tar, dir, &p->v[i]);
	str_pad(&tar, '\0', 2 * TAR_BLOCK);
	room = ZSTD_compressBound(tar.n);
	out = xmalloc(room);
	n = ZSTD_compress(out, room, tar.p, tar.n, LEVEL);
	if (ZSTD_isError(n))
		return bail(err, ERR_IO, "cannot compress '%s': %s", to, ZSTD_getErrorName(n));
	return file_write(to, out, n, 0644, err);
}

static int write_folder(const struct pack *p, const char *to, struct err *err)
{
	AUTO_FREE char *sub = path_join(to, "logs");

	if (file_exists(to) || dir_exists(to))
		return bail(err, ERR_CONFLICT, "'%s' is there already", to);
	TRY(dir_make(sub, err));
	for (size_t i = 0; i < p->n; i++) {
		AUTO_FREE char *path = path_join(to, p->v[i].name);

		TRY(file_write(path, p->v[i].text, strlen(p->v[i].text), 0644, err));
	}
	return 0;
}

int why_pack(struct cli *cli, const struct ledger_entry *verdict, const char *to,
	     struct strs *ret_files, struct err *err)
{
	struct pack p CLEANUP(pack_release) = { 0 };
	AUTO_JSON json_t *v = json_object();
	const json_t *contract, *stack;

	(void)gethostname(p.host, sizeof(p.host) - 1);
	p.home = getenv("HOME");
	p.user = getenv("USER");
	if (streq(p.home, "/root") || streq(p.home, "/"))
		p.home = NULL;
	if (streq(p.user, "root")) /* a role, no person */
		p.user = NULL;
	TRY(reporting_value(cli, verdict, v, err));
	readme(&p, v);
	put_json(&p, "verdict.json", json_object_get(v, "verdict"));
	changes(&p, json_object_get(v, "verdict"));
	stack = json_object_get(json_object_get(v, "stack"), "components");
	if (stack)
		put_json(&p, "stack.json", stack);
	if (json_object_get(v, "search"))
		put_json(&p, "search.json", json_object_get(v, "search"));
	samples(&p, v);
	contract = json_object_get(v, "contract");
	put(&p, "contract.yaml", json_str_or(contract, "source", ""));
	commands(&p, v);
	TRY(logs(cli, &p, v, err));
	without_names(&p, v, stack);
	TRY(str_ends(to, ".tar.zst") ? write_archive(&p, to, err) : write_folder(&p, to, err));
	for (size_t i = 0; i < p.n; i++)
		strs_add(ret_files, p.v[i].name);
	return 0;
}
