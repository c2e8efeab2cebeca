/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/proof.h"

#include "base/err.h"
#include "ledger/ledger.h"

#define FIRST_LINE "c2sp.org/tlog-proof@v1"

bool tlog_number_line(struct sv line, const char *word, uint64_t *ret)
{
	size_t n = strlen(word);

	if (!sv_starts(line, word) || line.n < n + 2 || line.p[n] != ' ')
		return false;
	line = (struct sv){ line.p + n + 1, line.n - n - 1 };
	return sv_to_u64(line, ret) && (line.n == 1 || line.p[0] != '0') && *ret <= INT64_MAX;
}

bool tlog_hash_line(struct sv line, uint8_t ret[SHA256_LEN])
{
	size_t n;

	return base64_to(line, ret, SHA256_LEN, &n) && n == SHA256_LEN;
}

void tlog_hash_lines(const struct ledger_proof *p, struct str *to)
{
	for (size_t i = 0; i < p->n; i++) {
		base64_add(to, p->hash[i], SHA256_LEN);
		str_addc(to, '\n');
	}
}

void tlog_proof_write(struct sv extra, uint64_t index, const struct ledger_proof *p,
		      struct sv checkpoint, struct str *to)
{
	str_add(to, FIRST_LINE "\n");
	if (extra.n) {
		str_add(to, "extra ");
		base64_add(to, extra.p, extra.n);
		str_addc(to, '\n');
	}
	str_addf(to, "index %llu\n", (unsigned long long)index);
	tlog_hash_lines(p, to);
	str_addc(to, '\n');
	str_addsv(to, checkpoint);
}

void tlog_proof_release(struct tlog_proof *p)
{
	free(p->extra);
	p->extra = NULL;
}

static int parse_extra(struct sv line, struct tlog_proof *ret, struct err *err)
{
	struct sv b64 = { line.p + 6, line.n - 6 };
	size_t room = b64.n / 4 * 3 + 1;

	ret->extra = xmalloc(room + 1);
	if (!base64_to(b64, ret->extra, room, &ret->extra_n))
		return bail(err, ERR_PARSE, "proof: its extra data is no base64");
	ret->extra[ret->extra_n] = '\0';
	return 0;
}

int tlog_proof_parse(struct sv text, struct tlog_proof *ret, struct err *err)
{
	struct tlog_proof own CLEANUP(tlog_proof_release) = { 0 };
	struct sv rest = text, line;

	if (text.n > TLOG_PROOF_MAX)
		return bail(err, ERR_LIMIT, "proof of more than %zu bytes", TLOG_PROOF_MAX);
	if (!sv_split(&rest, '\n', &line) || !sv_is(line, FIRST_LINE))
		return bail(err, ERR_PARSE, "not a tlog-proof: its first line is not '%s'",
			    FIRST_LINE);
	if (!sv_split(&rest, '\n', &line))
		line = (struct sv){ "", 0 };
	if (sv_starts(line, "extra ")) {
		TRY(parse_extra(line, &own, err));
		if (!sv_split(&rest, '\n', &line))
			line = (struct sv){ "", 0 };
	}
	if (!tlog_number_line(line, "index", &own.index))
		return bail(err, ERR_PARSE, "proof without a good index line");
	while (sv_split(&rest, '\n', &line) && line.n) {
		if (own.n == TLOG_PROOF_HASHES)
			return bail(err, ERR_LIMIT, "proof with more than %d hashes",
				    TLOG_PROOF_HASHES);
		if (!tlog_hash_line(line, own.hash[own.n++]))
			return bail(err, ERR_PARSE, "proof: line %zu of its hashes is none", own.n);
	}
	if (!rest.n)
		return bail(err, ERR_PARSE, "proof without a checkpoint");
	own.checkpoint = rest;
	*ret = own;
	own.extra = NULL;
	return 0;
}

int tlog_proof_check(const struct tlog_proof *p, struct sv entry, const struct note_key *log,
		     struct checkpoint *ret, struct err *err)
{
	struct note n CLEANUP(note_release) = { 0 };
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint8_t leaf[SHA256_LEN];
	struct checkpoint cp;
	bool good = false;

	TRY(note_parse(p->checkpoint, &n, err));
	TRY(checkpoint_parse(n.text, &cp, err));
	for (size_t i = 0; i < n.lines.n; i++) {
		enum note_check c = note_line_check(&n, &n.lines.v[i], log, NULL);

		if (c == NOTE_BAD)
			return bail(err, ERR_BROKEN,
				    "proof: the checkpoint's signature by '%s' "
				    "does not fit",
				    log->name);
		good |= c == NOTE_GOOD;
	}
	if (!good)
		return bail(err, ERR_UNSUPPORTED, "proof: its checkpoint is not signed by '%s'",
			    log->name);
	merkle_leaf(&h, entry, leaf);
	if (!merkle_inclusion_holds(&h, p->index, cp.size, leaf, p->hash, p->n, cp.root))
		return bail(err, ERR_BROKEN,
			    "proof: the entry is not number %llu of the log's %llu",
			    (unsigned long long)p->index, (unsigned long long)cp.size);
	*ret = cp;
	return 0;
}
