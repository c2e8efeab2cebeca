/* SPDX-License-Identifier: Apache-2.0 */
#include "base/redact.h"

#include <ctype.h>

/* Parts of a name, between separators, that say "credential". */
static const char *const secret_words[] = {
	"TOKEN",  "SECRET",     "PASSWORD",    "PASSWD",     "PASSPHRASE", "PWD",
	"APIKEY", "CREDENTIAL", "CREDENTIALS", "PRIVATEKEY", "AUTH",       "AUTHORIZATION",
	"BEARER", "COOKIE",     "SESSIONID",   "SIGNATURE",  "ACCESSKEY",  "SECRETKEY",
	"PAT",    "CONNSTR",    "DSN",
};
/* Two parts in a row: API_KEY, ACCESS_KEY, PRIVATE_KEY, ... */
static const char *const before_key[] = { "API",          "ACCESS",  "PRIVATE", "SECRET",
					  "ENCRYPTION",   "SIGNING", "ACCOUNT", "STORAGE",
					  "SSH",          "LICENSE", "MASTER",  "SHARED",
					  "SUBSCRIPTION", "AUTH" };

static bool part_is(const char *p, size_t n, const char *word)
{
	if (strlen(word) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (toupper((unsigned char)p[i]) != word[i])
			return false;
	return true;
}

static bool in_list(const char *p, size_t n, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (part_is(p, n, list[i]))
			return true;
	return false;
}

bool redact_name(struct sv name)
{
	struct sv before = { NULL, 0 };
	size_t start = 0;

	for (size_t i = 0; i <= name.n; i++) {
		/* Parts end at separators and where camelCase begins a new word. */
		bool end = i == name.n || !isalnum((unsigned char)name.p[i]);
		bool camel = !end && i > start && isupper((unsigned char)name.p[i]) &&
			     islower((unsigned char)name.p[i - 1]);

		if (!end && !camel)
			continue;
		if (i > start) {
			struct sv part = { name.p + start, i - start };

			/* PWD alone is the working folder; OLDPWD is one word of its own. */
			if (in_list(part.p, part.n, secret_words, ARRAY_SIZE(secret_words)) &&
			    !(part_is(part.p, part.n, "PWD") && part.n == name.n))
				return true;
			if ((part_is(part.p, part.n, "KEY") || part_is(part.p, part.n, "KEYS")) &&
			    before.p &&
			    in_list(before.p, before.n, before_key, ARRAY_SIZE(before_key)))
				return true;
			before = part;
		}
		start = camel ? i : i + 1;
	}
	return false;
}

/* Tokens with a known beginning: the rest must be at least `min` characters of the class. */
static const struct {
	const char *start;
	size_t min;
} prefixes[] = {
	{ "AKIA", 16 },
	{ "ASIA", 16 },
	{ "ABIA", 16 },
	{ "ACCA", 16 }, /* AWS key ids */
	{ "AIza", 30 },
	{ "ya29.", 20 },
	{ "GOCSPX-", 20 }, /* Google */
	{ "ghp_", 30 },
	{ "gho_", 30 },
	{ "ghu_", 30 },
	{ "ghs_", 30 },
	{ "ghr_", 30 },
	{ "github_pat_", 20 },
	{ "glpat-", 15 },
	{ "gldt-", 15 },
	{ "glrt-", 15 },
	{ "glcbt-", 15 },
	{ "xoxb-", 10 },
	{ "xoxp-", 10 },
	{ "xoxa-", 10 },
	{ "xoxr-", 10 },
	{ "xoxs-", 10 },
	{ "xapp-", 10 },
	{ "sk-", 16 },
	{ "sk_live_", 10 },
	{ "sk_test_", 10 },
	{ "rk_live_", 10 },
	{ "pk_live_", 10 },
	{ "whsec_", 10 },
	{ "hf_", 20 },
	{ "api_org_", 20 },
	{ "nvapi-", 20 },
	{ "gsk_", 20 },
	{ "r8_", 20 },
	{ "npm_", 30 },
	{ "pypi-", 30 },
	{ "dop_v1_", 30 },
	{ "doo_v1_", 30 },
	{ "dapi", 32 },
	{ "SG.", 30 },
	{ "key-", 32 },
	{ "shpat_", 20 },
	{ "shpss_", 20 },
	{ "lin_api_", 20 },
	{ "figd_", 20 },
	{ "hvs.", 20 },
	{ "hvb.", 20 },
	{ "s.", 24 },
	{ "dckr_pat_", 20 },
	{ "atlasv1.", 20 },
	{ "PMAK-", 20 },
	{ "tfp_", 20 },
	{ "wandb_v1_", 20 },
	{ "ops_", 40 },
	{ "eyJ", 30 },
	{ "AGE-SECRET-KEY-1", 20 },
	{ "xai-", 20 },
	{ "pplx-", 20 },
	{ "co-", 30 },
	{ "tskey-", 10 },
	{ "glsa_", 20 },
};

/* Characters after which a token without a digit, or without a letter, is given up. */
enum { NOT_RANDOM = 512 };

static bool token_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '/' ||
	       c == '+' || c == '=' || c == '~';
}

/* Length of a known token at p, 0 when there is none. */
static size_t known_token(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const char *start = prefixes[i].start;
		size_t k, len;
		bool digit = false, letter = false;

		if (*p != *start)
			continue;
		k = len = strlen(start);
		if (n < k || memcmp(p, start, k) != 0)
			continue;
		while (len < n && token_char(p[len])) {
			/* Long text that does not look random is none: not looked through again
			 * and again. */
			if (len - k > NOT_RANDOM && k <= 4 && !(digit && letter))
				break;
			digit |= isdigit((unsigned char)p[len]) != 0;
			letter |= isalpha((unsigned char)p[len]) != 0;
			len++;
		}
		/* Short, plain beginnings must look random, or "s.something" in prose would
		 * vanish. */
		if (len - k >= prefixes[i].min && (k > 4 || (digit && letter)))
			return len;
	}
	return 0;
}

static bool starts_nocase(const char *p, size_t n, const char *with)
{
	size_t k = strlen(with);

	if (n < k)
		return false;
	for (size_t i = 0; i < k; i++)
		if (tolower((unsigned char)p[i]) != tolower((unsigned char)with[i]))
			return false;
	return true;
}

/* "-----BEGIN ... PRIVATE KEY-----" up to its end (or the end of the text). */
static size_t key_block(const char *p, size_t n)
{
	const char *line_end, *end;

	if (!starts_nocase(p, n, "-----BEGIN "))
		return 0;
	line_end = memmem(p + 11, n - 11, "-----", 5);
	if (!line_end || !memmem(p, (size_t)(line_end - p), "PRIVATE KEY", 11))
		return 0;
	end = memmem(line_end + 5, n - (size_t)(line_end + 5 - p), "-----END ", 9);
	if (!end)
		return n;
	end = memmem(end + 9, n - (size_t)(end + 9 - p), "-----", 5);
	return end ? (size_t)(end + 5 - p) : n;
}

/* "Bearer xyz", "Basic xyz", "password xyz" of .netrc: ret_keep is what stays in front. */
static size_t after_word(const char *p, size_t n, size_t *ret_keep)
{
	static const struct {
		const char *word;
		size_t min;
	} words[] = { { "bearer ", 8 },     { "basic ", 8 },
		      { "digest ", 20 },    { "apikey ", 8 },
		      { "token ", 12 },     { "password ", 4 },
		      { "negotiate ", 12 }, { "aws4-hmac-sha256 ", 12 } };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t k = strlen(words[i].word), len;
		bool mixed = false;

		if (!starts_nocase(p, n, words[i].word))
			continue;
		while (k < n && p[k] == ' ')
			k++;
		for (len = k;
		     len < n && !isspace((unsigned char)p[len]) && p[len] != '"' && p[len] != '\'';
		     len++)
			mixed |= !islower((unsigned char)p[len]);
		/* Prose ("basic settings") is lower case letters only; .netrc's password may be
		 * too. */
		if (len - k >= words[i].min && (mixed || words[i].min == 4)) {
			*ret_keep = k;
			return len;
		}
	}
	return 0;
}

/* scheme://user:password@host : the password. */
static size_t url_password(const char *p, size_t n, size_t *ret_keep)
{
	size_t i = 3, colon = 0;

	if (n < 6 || memcmp(p, "://", 3) != 0)
		return 0;
	for (; i < n && !isspace((unsigned char)p[i]) && p[i] != '/' && p[i] != '"' && p[i] != '\'';
	     i++) {
		if (p[i] == ':' && !colon)
			colon = i;
		if (p[i] == '@') {
			*ret_keep = colon ? colon + 1 : 3;
			return i > *ret_keep ? i : 0;
		}
	}
	return 0;
}

/* "Authorization: Token xyz": the word is the scheme's, what follows it is the secret. */
static bool scheme_follows(const char *p, size_t n)
{
	size_t keep;

	return after_word(p, n, &keep) != 0;
}

/* What servers without keys are given in place of one. */
static bool says_none(const char *p, size_t n)
{
	static const char *const words[] = { "EMPTY", "dummy", "unused" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (n == strlen(words[i]) && starts_nocase(p, n, words[i]))
			return true;
	return false;
}

/* A quote, also one that is escaped because it stands in a text within a text. */
static size_t after_quote(const char *all, size_t k, size_t n, char *ret_quote)
{
	size_t at = k;

	while (at < n && all[at] == '\\')
		at++;
	if (at == n || (all[at] != '"' && all[at] != '\''))
		return k;
	*ret_quote = all[at];
	return at + 1;
}

/* NAME=value, NAME: value, "name": "value", --name value, where the name says credential. */
static size_t assignment(const char *all, size_t at, size_t n, size_t *ret_keep)
{
	size_t name = at, k = at, end;
	char quote = 0;

	while (name > 0 && (isalnum((unsigned char)all[name - 1]) || strchr("_-.", all[name - 1])))
		name--;
	if (name == at || !redact_name((struct sv){ all + name, at - name }))
		return 0;
	k = after_quote(all, k, n, &quote);
	quote = 0;
	while (k < n && all[k] == ' ')
		k++;
	if (k < n && (all[k] == '=' || all[k] == ':')) {
		k++;
	} else if (!(name >= 2 && all[name] == '-') || k == at) {
		return 0; /* only --name value goes without a sign */
	}
	while (k < n && (all[k] == ' ' || all[k] == '\t'))
		k++;
	k = after_quote(all, k, n, &quote);
	for (end = k; end < n &&
		      (quote ? all[end] != quote && all[end] != '\n'
			     : !isspace((unsigned char)all[end]) && !strchr(",;&\"')}", all[end]));
	     end++)
		;
	/* A scheme word stays for after_word to see what follows it. */
	if (end - k < 3 || scheme_follows(all + k, n - k) ||
	    (end - k >= strlen(REDACTED) && memcmp(all + k, REDACTED, strlen(REDACTED)) == 0) ||
	    starts_nocase(all + k, end - k, "none") || starts_nocase(all + k, end - k, "null") ||
	    starts_nocase(all + k, end - k, "true") || starts_nocase(all + k, end - k, "false") ||
	    says_none(all + k, end - k))
		return 0;
	*ret_keep = k - at;
	return end - at;
}

char *redact_text(struct sv t, size_t *ret_hits)
{
	struct str s = { 0 };
	size_t hits = 0;

	for (size_t i = 0; i < t.n;) {
		const char *p = t.p + i;
		size_t n = t.n - i, keep = 0, len;
		bool word_start =
			i == 0 || !(isalnum((unsigned char)t.p[i - 1]) || t.p[i - 1] == '_');
		bool word_end = i > 0 &&
				(isalnum((unsigned char)t.p[i - 1]) || t.p[i - 1] == '_') &&
				!(isalnum((unsigned char)*p) || strchr("_-.", *p));

		len = *p == '-' ? key_block(p, n) : 0;
		/* Every known beginning is a letter or a digit. */
		word_start = word_start && isalnum((unsigned char)*p);
		if (!len && word_start)
			len = known_token(p, n);
		if (!len && word_start)
			len = after_word(p, n, &keep);
		if (!len && *p == ':')
			len = url_password(p, n, &keep);
		if (!len && word_end) {
			keep = 0;
			len = assignment(t.p, i, t.n, &keep);
		}
		if (len) {
			str_addn(&s, p, keep);
			str_add(&s, REDACTED);
			hits++;
			i += len;
		} else {
			str_addc(&s, *p);
			i++;
		}
	}
	if (ret_hits)
		*ret_hits = hits;
	return str_steal(&s);
}
