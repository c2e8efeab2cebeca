/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First line: how the rest is cut. Up to a line "--" the rest is a catalogue (an empty one: the
 * built-in one), what follows is a log. However a log is cut into pieces, the same is found in it.
 */
#include "base/err.h"
#include "diagnose/diagnose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct signatures *builtin(void)
{
	static struct signatures l;
	struct err err = ERR_INIT;

	if (!l.n)
		assert(signatures_builtin(&l, &err) == 0);
	return &l;
}

static void in_pieces(const struct signatures *l, struct sv text, size_t piece,
		      struct signature_hits *ret)
{
	struct signature_scan *s = signature_scan_new(l);

	for (size_t at = 0; at < text.n; at += piece)
		signature_scan_feed(s, text.p + at, MIN(piece, text.n - at));
	signature_scan_end(s, ret);
}

static void check(const struct signatures *l, struct sv text, size_t piece)
{
	struct signature_hits a CLEANUP(signature_hits_release) = { 0 };
	struct signature_hits b CLEANUP(signature_hits_release) = { 0 };
	struct signature_decision d CLEANUP(signature_decision_release) = { 0 };
	AUTO_JSON json_t *ja = NULL;
	AUTO_JSON json_t *jb = NULL;
	AUTO_JSON json_t *jd = NULL;

	signatures_scan_text(l, text, &a);
	in_pieces(l, text, piece, &b);
	assert(a.bytes == text.n && b.bytes == text.n && a.lines == b.lines && a.n == b.n);
	for (size_t i = 0; i < a.n; i++) {
		const struct signature_hit *h = &a.v[i];

		assert(h->line > 0 && h->line <= a.lines && h->line <= h->last_line);
		assert(h->last_line <= a.lines && h->won <= h->seen && h->offset < text.n);
		assert(strlen(h->excerpt) <= SIGNATURE_EXCERPT);
	}
	ja = signature_hits_to_json(&a);
	jb = signature_hits_to_json(&b);
	assert(json_equal(ja, jb));
	signature_decide(&a, &b, &d);
	jd = signature_decision_to_json(&d);
	assert(jd && (d.confidence == SIGNATURE_UNDETERMINED) == !d.layers.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sv rest = { (const char *)data, n }, line, text;
	struct signatures own CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	size_t piece;
	ptrdiff_t at;

	if (!n || !sv_line(&rest, &line) || !line.n)
		return 0;
	piece = 1 + (unsigned char)line.p[0];
	at = sv_find(rest, SV("--\n"));
	if (at < 0)
		return 0;
	text = (struct sv){ rest.p + at + 3, rest.n - (size_t)at - 3 };
	rest.n = (size_t)at;
	if (!rest.n) {
		check(builtin(), text, piece);
		return 0;
	}
	if (signatures_parse(rest, &own, &err) < 0) {
		assert(own.n == 0 && err.msg[0] && !strchr(err.msg, '\n'));
		return 0;
	}
	check(&own, text, piece);
	return 0;
}
