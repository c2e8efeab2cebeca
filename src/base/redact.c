/* SPDX-License-Identifier: Apache-2.0 */
#include "base/redact.h"

/* ---- names ---------------------------------------------------------------------------------------- */

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool alnum(char c)
{
	char l = lower(c);

	return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');
}

/* Case-blind; whole words between characters that are no letters or digits when `whole`. */
static bool has_word(struct sv in, const char *what, bool whole)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= in.n; i++) {
		size_t k = 0;

		while (k < n && lower(in.p[i + k]) == what[k])
			k++;
		if (k < n)
			continue;
		if (!whole ||
		    ((i == 0 || !alnum(in.p[i - 1])) && (i + n == in.n || !alnum(in.p[i + n]))))
			return true;
	}
	return false;
}

bool redact_name(struct sv name)
{
	/* Parts that say "credential" wherever they stand. */
	static const char *const anywhere[] = { "secret",      "passwd",     "password",
						"passphrase",  "credential", "apikey",
						"api_key",     "api-key",    "privatekey",
						"private_key", "access_key", "accesskey",
						"client_key",  "auth_token", "authtoken" };
	/* Words too short or too common to be looked for inside others: TOKENIZERS_PARALLELISM is none. */
	static const char *const words[] = { "token", "key",    "pass",   "pwd", "auth", "pat",
					     "sas",   "cookie", "bearer", "jwt", "dsn" };

	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (has_word(name, anywhere[i], false))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(name, words[i], true))
			return true;
	return false;
}

/* ---- shapes --------------------------------------------------------------------------------------- */

static bool secret_char(char c)
{
	return alnum(c) || c == '-' || c == '_' || c == '.' || c == '+' || c == '/' || c == '=' ||
	       c == '~';
}

static size_t run_of(struct sv v, size_t from)
{
	size_t n = 0;

	while (from + n < v.n && secret_char(v.p[from + n]))
		n++;
	return n;
}

static bool at_is(struct sv v, size_t i, const char *what)
{
	size_t n = strlen(what);

	if (n > v.n - i)
		return false;
	for (size_t k = 0; k < n; k++)
		if (lower(v.p[i + k]) != lower(what[k]))
			return false;
	return true;
}

/* A word that begins like a key of a known service, and is long enough to be one. Exact case. */
static size_t known_key(struct sv v, size_t i)
{
	static const struct {
		const char *prefix;
		size_t least; /* characters behind the prefix */
	} keys[] = {
		{ "hf_", 20 },         { "sk-", 16 },
		{ "sk_live_", 10 },    { "ghp_", 20 },
		{ "gho_", 20 },        { "ghs_", 20 },
		{ "ghu_", 20 },        { "ghr_", 20 },
		{ "github_pat_", 20 }, { "glpat-", 16 },
		{ "xoxb-", 10 },       { "xoxp-", 10 },
		{ "xoxa-", 10 },       { "AKIA", 16 },
		{ "ASIA", 16 },        { "AIza", 30 },
		{ "ya29.", 20 },       { "nvapi-", 20 },
		{ "dckr_pat_", 16 },   { "npm_", 30 },
		{ "pypi-", 30 },       { "AGE-SECRET-KEY-", 20 },
	};

	if (i && (alnum(v.p[i - 1]) || v.p[i - 1] == '_' || v.p[i - 1] == '-'))
		return 0;
	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		size_t n = strlen(keys[k].prefix), run;

		if (n > v.n - i || memcmp(v.p + i, keys[k].prefix, n) != 0)
			continue;
		run = run_of(v, i);
		if (run >= n + keys[k].least)
			return run;
	}
	return 0;
}

/* header.payload.signature, each base64url; a header begins with {" which is "eyJ". */
static size_t jwt(struct sv v, size_t i)
{
	size_t run, dots = 0;

	if (!(v.n - i > 20 && memcmp(v.p + i, "eyJ", 3) == 0) || (i && alnum(v.p[i - 1])))
		return 0;
	run = run_of(v, i);
	for (size_t k = 0; k < run; k++)
		dots += v.p[i + k] == '.';
	return dots >= 2 ? run : 0;
}

/* ---- one place of the text ------------------------------------------------------------------------- */

struct span {
	size_t keep,
		hide; /* characters to copy, then characters to replace; hide 0: nothing here */
};

static const struct span nothing = { 0, 0 };

/* -----BEGIN ... PRIVATE KEY----- up to its END line, or to the end of the text. */
static struct span key_block(struct sv v, size_t i)
{
	struct sv rest = { v.p + i, v.n - i };
	ptrdiff_t head_end, end;

	if (!at_is(v, i, "-----BEGIN "))
		return nothing;
	head_end = sv_find((struct sv){ rest.p + 11, rest.n - 11 }, SV("-----"));
	if (head_end < 0 || head_end > 60 ||
	    sv_find((struct sv){ rest.p, (size_t)head_end + 11 }, SV("PRIVATE KEY")) < 0)
		return nothing;
	end = sv_find(rest, SV("-----END "));
	return (struct span){ (size_t)head_end + 16,
			      (end < 0 ? rest.n : (size_t)end) - ((size_t)head_end + 16) };
}

/* scheme://user:password@host */
static struct span url_password(struct sv v, size_t i)
{
	size_t colon = 0, k = i + 3;

	if (!at_is(v, i, "://"))
		return nothing;
	for (; k < v.n && k < i + 300; k++) {
		char c = v.p[k];

		if (c == '@')
			break;
		if (c == '/' || c == ' ' || c == '\n' || c == '"' || c == '\'' || c == '?')
			return nothing;
		if (c == ':' && !colon)
			colon = k;
	}
	if (k >= v.n || v.p[k] != '@' || !colon || colon + 1 == k)
		return nothing;
	return (struct span){ colon + 1 - i, k - colon - 1 };
}

/* "Bearer x", "Basic x" as in an Authorization header. */
static struct span bearer(struct sv v, size_t i)
{
	static const char *const schemes[] = { "bearer ", "basic " };

	if (i && alnum(v.p[i - 1]))
		return nothing;
	for (size_t k = 0; k < ARRAY_SIZE(schemes); k++) {
		size_t n = strlen(schemes[k]), run;

		if (!at_is(v, i, schemes[k]))
			continue;
		run = run_of(v, i + n);
		if (run >= 8)
			return (struct span){ n, run };
	}
	return nothing;
}

static bool value_end(char c, char quote)
{
	if (quote)
		return c == quote || c == '\n';
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ';' ||
	       c == '&' || c == '"' || c == '\'' || c == ')' || c == ']' || c == '}';
}

/* A name that is nothing but a common word ("key", "pass", "token") proves little: only a long value
 * with a digit in it then counts, so that logs keep their keys and their tokens. */
static bool worth_hiding(struct sv name, struct sv value)
{
	static const char *const common[] = {
		"key", "pass", "token", "auth", "pat", "cookie", "sas"
	};

	if (value.n < 4)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
		if (name.n != strlen(common[i]) || !has_word(name, common[i], true))
			continue;
		if (value.n < 16 || run_of(value, 0) < value.n)
			return false;
		for (size_t k = 0; k < value.n; k++)
			if (value.p[k] >= '0' && value.p[k] <= '9')
				return true;
		return false;
	}
	return true;
}

/*
 * name=value, name: value, "name": "value", --name value, where the name says "credential". Stands at
 * the first character of the name. A value of fewer than 4 characters is none.
 */
static struct span named_value(struct sv v, size_t i)
{
	size_t n = 0, k;
	char quote = '\0';
	size_t from;

	if (i && (alnum(v.p[i - 1]) || v.p[i - 1] == '_' || v.p[i - 1] == '-'))
		return nothing;
	while (i + n < v.n && n < 64 &&
	       (alnum(v.p[i + n]) || v.p[i + n] == '_' || v.p[i + n] == '-'))
		n++;
	if (!n || !redact_name((struct sv){ v.p + i, n }))
		return nothing;
	k = i + n;
	while (k < v.n && (v.p[k] == '"' || v.p[k] == '\''))
		k++;
	while (k < v.n && v.p[k] == ' ')
		k++;
	if (k >= v.n || (v.p[k] != '=' && v.p[k] != ':'))
		return nothing;
	k++;
	while (k < v.n && v.p[k] == ' ')
		k++;
	if (k < v.n && (v.p[k] == '"' || v.p[k] == '\''))
		quote = v.p[k++];
	from = k;
	while (k < v.n && !value_end(v.p[k], quote))
		k++;
	if (!worth_hiding((struct sv){ v.p + i, n }, (struct sv){ v.p + from, k - from }) ||
	    at_is(v, from, "bearer") || at_is(v, from, REDACTED) || at_is(v, from, "null") ||
	    at_is(v, from, "none") || at_is(v, from, "true") || at_is(v, from, "false"))
		return nothing;
	return (struct span){ from - i, k - from };
}

/* machine HOST login USER password SECRET */
static struct span netrc(struct sv v, size_t i)
{
	size_t n = strlen("password "), k;

	if ((i && alnum(v.p[i - 1])) || !at_is(v, i, "password "))
		return nothing;
	{
		size_t line = i;

		while (line > 0 && v.p[line - 1] != '\n')
			line--;
		if (sv_find((struct sv){ v.p + line, i - line }, SV("login ")) < 0)
			return nothing;
	}
	for (k = i + n; k < v.n && !value_end(v.p[k], '\0'); k++)
		;
	return (struct span){ n, k - i - n };
}

static struct span span_at(struct sv v, size_t i)
{
	static struct span (*const shapes[])(struct sv, size_t) = { key_block, url_password, bearer,
								    netrc, named_value };
	size_t run = known_key(v, i);

	if (!run)
		run = jwt(v, i);
	if (run)
		return (struct span){ 0, run };
	for (size_t k = 0; k < ARRAY_SIZE(shapes); k++) {
		struct span s = shapes[k](v, i);

		if (s.hide)
			return s;
	}
	return nothing;
}

char *redact_text(struct sv text, size_t *ret_hits)
{
	struct str s CLEANUP(str_release) = { 0 };
	size_t hits = 0;

	for (size_t i = 0; i < text.n;) {
		struct span at = span_at(text, i);

		if (!at.hide) {
			str_addc(&s, text.p[i++]);
			continue;
		}
		str_addn(&s, text.p + i, at.keep);
		str_add(&s, REDACTED);
		i += at.keep + at.hide;
		hits++;
	}
	if (ret_hits)
		*ret_hits = hits;
	return str_steal(&s);
}
