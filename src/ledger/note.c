/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/note.h"

#include "base/err.h"
#include "base/vec.h"

#define DASH   "\xe2\x80\x94 " /* U+2014 and a blank begin a signature line */
#define SECRET "PRIVATE+KEY+"

bool note_name_fits(struct sv name)
{
	if (!name.n || name.n > 255 || !utf8_valid(name))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= 0x20 || name.p[i] == '+' || name.p[i] == 0x7f ||
		    name.p[i] == '"' || name.p[i] == '\\')
			return false;
	return true;
}

static void key_id(struct sv name, enum note_type type, const uint8_t public[ED25519_LEN],
		   uint8_t ret[4])
{
	struct str s CLEANUP(str_release) = { 0 };
	uint8_t d[SHA256_LEN];

	str_addsv(&s, name);
	str_addc(&s, '\n');
	str_addc(&s, (char)type);
	str_addn(&s, public, ED25519_LEN);
	sha256(s.p, s.n, d);
	memcpy(ret, d, 4);
}

void note_key_of(const char *name, enum note_type type, const uint8_t public[ED25519_LEN],
		 struct note_key *ret)
{
	*ret = (struct note_key){ .name = xstrdup(name), .type = type };
	memcpy(ret->public, public, ED25519_LEN);
	key_id(sv_of(name), type, public, ret->id);
}

void note_key_release(struct note_key *k)
{
	free(k->name);
	*k = (struct note_key){ 0 };
}

void note_keys_release(struct note_keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		note_key_release(&k->v[i]);
	free(k->v);
	*k = (struct note_keys){ 0 };
}

/* "name+hex+base64" into its parts. The name holds no '+', base64 may. */
static bool key_parts(struct sv text, struct sv *name, uint8_t id[4], uint8_t blob[1 + ED25519_LEN])
{
	struct sv hex;
	size_t n;

	return sv_split(&text, '+', name) && note_name_fits(*name) && sv_split(&text, '+', &hex) &&
	       hex_to(hex, id, 4) && base64_to(text, blob, 1 + ED25519_LEN, &n) &&
	       n == 1 + ED25519_LEN;
}

int note_key_parse(struct sv vkey, struct note_key *ret, struct err *err)
{
	uint8_t blob[1 + ED25519_LEN], want[4];
	struct note_key own = { 0 };
	struct sv name;

	vkey = sv_trim(vkey);
	if (!key_parts(vkey, &name, own.id, blob))
		return bail(err, ERR_PARSE, "not a verifier key (name+id+base64): '" SV_FMT "'",
			    SV_ARG(vkey));
	if (blob[0] != NOTE_ED25519 && blob[0] != NOTE_COSIGNATURE)
		return bail(err, ERR_UNSUPPORTED, "verifier key of an unknown type %u", blob[0]);
	own.type = blob[0];
	memcpy(own.public, blob + 1, ED25519_LEN);
	key_id(name, own.type, own.public, want);
	if (memcmp(want, own.id, 4) != 0)
		return bail(err, ERR_PARSE, "verifier key of '" SV_FMT "' has another key id",
			    SV_ARG(name));
	own.name = sv_dup(name);
	*ret = own;
	return 0;
}

char *note_vkey(const struct note_key *k)
{
	struct str s = { 0 };
	uint8_t blob[1 + ED25519_LEN] = { (uint8_t)k->type };
	char id[9];

	memcpy(blob + 1, k->public, ED25519_LEN);
	hex_of(k->id, 4, id);
	str_addf(&s, "%s+%s+", k->name, id);
	base64_add(&s, blob, sizeof(blob));
	return str_steal(&s);
}

char *note_secret(const char *name, const struct ed25519 *key)
{
	struct str s = { 0 };
	uint8_t blob[1 + ED25519_LEN] = { NOTE_ED25519 }, id[4];
	char hex[9];

	key_id(sv_of(name), NOTE_ED25519, key->public, id);
	hex_of(id, 4, hex);
	memcpy(blob + 1, key->seed, ED25519_LEN);
	str_addf(&s, SECRET "%s+%s+", name, hex);
	base64_add(&s, blob, sizeof(blob));
	str_addc(&s, '\n');
	wipe(blob, sizeof(blob));
	return str_steal(&s);
}

int note_secret_parse(struct sv text, char **ret_name, struct ed25519 *ret, struct err *err)
{
	uint8_t blob[1 + ED25519_LEN], id[4], want[4];
	struct sv name;

	text = sv_trim(text);
	if (!sv_starts(text, SECRET))
		return bail(err, ERR_PARSE, "not a ledger's private key");
	text.p += strlen(SECRET);
	text.n -= strlen(SECRET);
	if (!key_parts(text, &name, id, blob) || blob[0] != NOTE_ED25519)
		return bail(err, ERR_PARSE, "not a ledger's private key");
	ed25519_from_seed(blob + 1, ret);
	wipe(blob, sizeof(blob));
	key_id(name, NOTE_ED25519, ret->public, want);
	if (memcmp(want, id, 4) != 0)
		return bail(err, ERR_PARSE, "a ledger's private key that is damaged");
	*ret_name = sv_dup(name);
	return 0;
}

/* ---- notes ---- */

void note_release(struct note *n)
{
	free(n->lines.v);
	*n = (struct note){ 0 };
}

static bool line_parse(struct sv line, struct note_line *ret)
{
	uint8_t blob[4 + sizeof(ret->sig)];
	size_t n;

	if (!sv_starts(line, DASH))
		return false;
	line.p += strlen(DASH);
	line.n -= strlen(DASH);
	if (!sv_split(&line, ' ', &ret->name) || !note_name_fits(ret->name) || !line.n)
		return false;
	if (!base64_to(line, blob, sizeof(blob), &n)) {
		AUTO_FREE uint8_t *longer = xmalloc(line.n);

		/* A longer signature is some other scheme's: kept as one that nobody checks. */
		ret->n = 0;
		return base64_to(line, longer, line.n, &n) && n > sizeof(blob);
	}
	if (n < 5)
		return false;
	memcpy(ret->id, blob, 4);
	memcpy(ret->sig, blob + 4, n - 4);
	ret->n = n - 4;
	return true;
}

int note_parse(struct sv bytes, struct note *ret, struct err *err)
{
	struct note own CLEANUP(note_release) = { 0 };
	struct sv rest = bytes, line;
	ptrdiff_t split = -1;

	if (bytes.n > NOTE_MAX)
		return bail(err, ERR_LIMIT, "signed note of more than %zu bytes", NOTE_MAX);
	if (!bytes.n || bytes.p[bytes.n - 1] != '\n' || !utf8_valid(bytes))
		return bail(err, ERR_PARSE, "not a signed note");
	for (size_t i = 0; i < bytes.n; i++)
		if (((unsigned char)bytes.p[i] < 0x20 && bytes.p[i] != '\n') || bytes.p[i] == 0x7f)
			return bail(err, ERR_PARSE, "control character in a signed note");
	/* The last blank line parts text and signatures. */
	for (size_t i = 0; i + 1 < bytes.n; i++)
		if (bytes.p[i] == '\n' && bytes.p[i + 1] == '\n')
			split = (ptrdiff_t)i;
	if (split < 0)
		return bail(err, ERR_PARSE, "signed note without a blank line");
	own.text = (struct sv){ bytes.p, (size_t)split + 1 };
	rest.p += split + 2;
	rest.n -= (size_t)split + 2;
	while (sv_split(&rest, '\n', &line) && (line.n || rest.n))
		if (!line_parse(line, VEC_ADD(&own.lines)))
			return bail(err, ERR_PARSE, "bad signature line in a signed note");
	if (!own.lines.n)
		return bail(err, ERR_PARSE, "signed note without a signature");
	*ret = own;
	own = (struct note){ 0 };
	return 0;
}

static void add_line(struct str *to, const char *name, const uint8_t *blob, size_t n)
{
	str_addf(to, DASH "%s ", name);
	base64_add(to, blob, n);
	str_addc(to, '\n');
}

void note_sign(struct sv text, const char *name, const struct ed25519 *key, struct str *to)
{
	uint8_t blob[4 + ED25519_SIG];

	key_id(sv_of(name), NOTE_ED25519, key->public, blob);
	ed25519_sign(key, text.p, text.n, blob + 4);
	add_line(to, name, blob, sizeof(blob));
}

static void cosigned_text(struct sv text, int64_t time_s, struct str *to)
{
	str_addf(to, "cosignature/v1\ntime %lld\n", (long long)time_s);
	str_addsv(to, text);
}

void note_cosign(struct sv text, const char *name, const struct ed25519 *key, int64_t time_s,
		 struct str *to)
{
	struct str s CLEANUP(str_release) = { 0 };
	uint8_t blob[4 + 8 + ED25519_SIG];

	key_id(sv_of(name), NOTE_COSIGNATURE, key->public, blob);
	for (int i = 0; i < 8; i++)
		blob[4 + i] = (uint8_t)((uint64_t)time_s >> (56 - 8 * i));
	cosigned_text(text, time_s, &s);
	ed25519_sign(key, s.p, s.n, blob + 12);
	add_line(to, name, blob, sizeof(blob));
}

enum note_check note_line_check(const struct note *n, const struct note_line *l,
				const struct note_key *k, int64_t *ret_time)
{
	struct str s CLEANUP(str_release) = { 0 };
	uint64_t time = 0;

	if (!sv_is(l->name, k->name) || memcmp(l->id, k->id, 4) != 0)
		return NOTE_OTHER_KEY;
	if (k->type == NOTE_ED25519)
		return l->n == ED25519_SIG &&
				       ed25519_verify(k->public, n->text.p, n->text.n, l->sig)
			       ? NOTE_GOOD
			       : NOTE_BAD;
	if (l->n != 8 + ED25519_SIG)
		return NOTE_BAD;
	for (int i = 0; i < 8; i++)
		time = time << 8 | l->sig[i];
	if (time > INT64_MAX)
		return NOTE_BAD;
	cosigned_text(n->text, (int64_t)time, &s);
	if (!ed25519_verify(k->public, s.p, s.n, l->sig + 8))
		return NOTE_BAD;
	if (ret_time)
		*ret_time = (int64_t)time;
	return NOTE_GOOD;
}

/* ---- checkpoints ---- */

int checkpoint_parse(struct sv text, struct checkpoint *ret, struct err *err)
{
	struct sv size, root;
	struct checkpoint own = { 0 };
	size_t n;

	if (!sv_split(&text, '\n', &own.origin) || !note_name_fits(own.origin) ||
	    !sv_split(&text, '\n', &size) || !sv_split(&text, '\n', &root) || text.n)
		return bail(err, ERR_PARSE, "not a checkpoint of three lines");
	if (!sv_to_u64(size, &own.size) || (size.n > 1 && size.p[0] == '0') || own.size > INT64_MAX)
		return bail(err, ERR_PARSE, "checkpoint with a bad size");
	if (!base64_to(root, own.root, SHA256_LEN, &n) || n != SHA256_LEN)
		return bail(err, ERR_PARSE, "checkpoint with a bad root");
	*ret = own;
	return 0;
}

void checkpoint_text(const char *origin, uint64_t size, const uint8_t root[SHA256_LEN],
		     struct str *to)
{
	str_addf(to, "%s\n%llu\n", origin, (unsigned long long)size);
	base64_add(to, root, SHA256_LEN);
	str_addc(to, '\n');
}
