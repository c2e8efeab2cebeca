/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that speak of a failure, whoever wrote them. */
#include "diagnose/signature_inner.h"

#include "base/str.h"
#include "base/vec.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* What programs say when something went wrong. Borders of words: ignore_errors and failsafe are no
 * failures. */
static const char failure[] =
	"\\b(errors?|err|fatal|fail(s|ed|ing|ures?)?|abort(s|ed|ing)?|assert(s|ed|ion)?|panic(ked)?"
	"|"
	"exceptions?|cannot|can ?not|can't|couldn't|could not|unable|not found|no such|does "
	"?n[o']t "
	"(exist|match|support|have)|did "
	"?n[o']t|invalid|illegal|mismatch(ed|es)?|missing|unsupported|"
	"(not|isn't|only|no longer) supported|undefined|unexpected|unknown [a-z]|unrecognized|"
	"timed? ?out|refused|denied|forbidden|unauthorized|not "
	"permitted|corrupt(ed|ion)?|crash(ed)?|"
	"seg(mentation )?fault(ed)?|killed|out of (memory|range|bounds|resources?)|overflow(ed)?|"
	"exhausted|exceed(s|ed)|insufficient|not enough|not (available|allowed|implemented|enabled|"
	"recognized|registered|installed|configured|compatible|responding|ready)|incompatible|"
	"must (be|have|match|equal|contain|not)|should "
	"(be|have)|expected\\b.{0,80}\\b(but|got|found|not)|too (old|new|large|long|"
	"small|many|few)|(is|are|was|were|has|have) "
	"not|isn't|hasn't|bad|broken|stale|lost|dead|died|"
	"hangs?|hung|stuck|stalled|unhealthy|unreachable|uncorrectable|poison(ed)?|duplicate|"
	"conflict(s|ing)?|unresolved|no (valid|suitable|kernel|solution|device|supported|matching|"
	"module|available)|requires)\\b|wrong!|[A-Za-z](?-i:Error|Exception|Failure|Failed|Fault|"
	"NotFound|"
	"Invalid)\\b|\\b[A-Z0-9_]+_(ERROR|FAILED|FAILURE|INVALID|NOT_SUPPORTED|NOT_FOUND)\\b|"
	"^[EF][0-9]{4} |\\*ERROR\\*|E[RE]{2}OR";
/* What is no failure though it has such words: a level below an error's; "0 errors"; the "Unknown"
 * of a status table; commands, settings and dumps that are echoed; titles of commits. */
static const char level[] = /* in the first LEVEL_WITHIN bytes */
	"(?<![_A-Za-z.-])(?<!DEBUG=)(?<!LEVEL=)(?-i:INFO|DEBUG|TRACE|NOTICE|WARN|WARNING)"
	"(?![=_A-Za-z])|level[\"=: ]+(info|warn|debug|trace|notice)|Warning\\b|\\bignor(e|ing)\\b|"
	"(?<![a-z])warning[:\\]]|^[IWD][0-9]{4} |\\[[IWD][0-9]{3,4} [0-9]{2}:[0-9]{2}:|^\\+ ";
static const char mild[] =
	"(?<![\\w.-])(no|0|zero|without( any)?) (\\w+ )?"
	"(errors?|fail(ures?|ed)|warnings?|exceptions?|mismatch(es)?|timeouts?)\\b|"
	"\\b(errors?|fail(ures?|ed))\"?[=:] ?(0|none|null|false)\\b|"
	"\\bif\\b.{0,40}\\b(errors?|failures?) (occurs?|happens?)|"
	"^[\\w ()./+%-]{1,70}:\\s+\\[?(not active|no|none|n/a|unknown|disabled|not supported|"
	"not available|false|0|could not collect|no cuda)\\]?\\s*$|"
	"(?: --[\\w-]+[^-\\n]{0,200}){4}|(?:\\b\\w+=[^,=\\n]{0,80}, ?){6}|"
	"(?:['\"]\\w+['\"]: [^,\\n]{0,80}, ?){6}|\\b(fix(es|ed)?|revert)\\b.*\\(#[0-9]+\\)";
enum { LEVEL_WITHIN = 180 };

const char *const words_anchors[] = {
	" error ",     " error:",        "error: ",       "*error*",         "error] ",
	"error in",    "error code",     "error(s)",      "fatal: ",         " fatal ",
	"fatal error", "failed ",        " failed",       "failed:",         "failure",
	"exception",   "assertion",      "assert ",       "aborted",         "aborting",
	"cannot ",     "could not",      "couldn't",      "unable t",        "not found",
	"no such ",    "does not",       "doesn't",       "did not",         "invalid",
	"illegal",     "mismatch",       "missing",       "unsupported",     "not support",
	"undefined",   "unexpected",     "unrecognized",  "timed out",       "timeout",
	"refused",     " denied",        "not permitted", "corrupt",         "crashed",
	"segfault",    "segmentation",   "killed ",       "out of m",        "out of r",
	"overflow",    "exhausted",      "exceeded",      "exceeds",         "insufficient",
	"not enough",  "not avail",      "not allowed",   "not implemented", "not installed",
	"not compat",  "incompatible",   "must be",       "must match",      "should be",
	"expected",    "too old",        "too large",     " is not ",        "no longer",
	"panic: ",     "traceback",      "duplicate",     "conflict",        "unreachable",
	"poison",      "unable ",        "not match",     "unknown",         "unhealthy",
	"requires",    " only supports", " can't ",       "not registered",  "not ready",
	"gave up",     "giving up",      "terminated",    "rejected",        NULL,
};

/* How a word of a failure begins, four bytes in lower case: most lines have none of these, and no
 * pattern has to be tried. */
static const char stems[][5] = {
	"erro", "err ", "err:", "fata", "fail", "abor", "asse", "pani", "exce", "cann", "can ",
	"can'", "coul", "unab", "not ", "no s", "no v", "no k", "no d", "no m", "no a", "no l",
	"does", "doe ", "did ", "didn", "inva", "ille", "mism", "miss", "unsu", "unde", "unex",
	"unkn", "unre", "unau", "time", "refu", "deni", "forb", "corr", "cras", "segf", "segm",
	"seg ", "kill", "out ", "over", "exha", "insu", "inco", "must", "shou", "expe", "too ",
	"isn'", "hasn", "bad ", "bad,", "brok", "stal", "lost", "dead", "died", "hang", "hung",
	"stuc", "unhe", "unco", "pois", "dupl", "conf", "requ", "wron", "only", "is n", "are ",
	"was ", "were", "has ", "have", "be n", "faul", "notf", "not_",
};
enum { STEM_BITS = 13 };

struct words {
	pcre2_code *failure, *level, *mild;
	uint64_t stems[(1u << STEM_BITS) / 64];
};

static uint32_t stem_at(const char *p)
{
	uint32_t g;

	memcpy(&g, p, sizeof(g));
	return g | 0x20202020u;
}

static uint32_t stem_hash(uint32_t stem)
{
	return (stem * 0x9e3779b1u) >> (32 - STEM_BITS);
}

static bool is_stem(const struct words *w, uint32_t stem)
{
	uint32_t h = stem_hash(stem);

	if (!(w->stems[h / 64] >> (h % 64) & 1))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
		if (stem_at(stems[i]) == stem)
			return true;
	return false;
}

static bool alphanumeric(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether it is worth trying the patterns. */
static bool has_stem(const struct words *w, struct sv line)
{
	if (line.n > 5 && (line.p[0] == 'E' || line.p[0] == 'F') && line.p[5] == ' ')
		return true; /* E0912 */
	for (size_t i = 0; i + 4 <= line.n; i++) {
		char c = line.p[i], before = i ? line.p[i - 1] : ' ';

		if (!alphanumeric(c) ||
		    (alphanumeric(before) && !(c >= 'A' && c <= 'Z' && before >= 'a')))
			continue;
		if (is_stem(w, stem_at(line.p + i)))
			return true;
	}
	return false;
}

static pcre2_code *compiled(const char *pattern)
{
	PCRE2_SIZE at;
	int code;
	pcre2_code *ret = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
					PCRE2_CASELESS | PCRE2_NO_AUTO_CAPTURE, &code, &at, NULL);

	assert(ret);
	(void)pcre2_jit_compile(ret, PCRE2_JIT_COMPLETE);
	return ret;
}

struct words *words_new(void)
{
	struct words *w = xcalloc(1, sizeof(*w));

	w->failure = compiled(failure);
	w->level = compiled(level);
	w->mild = compiled(mild);
	for (size_t i = 0; i < ARRAY_SIZE(stems); i++) {
		uint32_t h = stem_hash(stem_at(stems[i]));

		w->stems[h / 64] |= UINT64_C(1) << (h % 64);
	}
	return w;
}

void words_free(struct words **at)
{
	struct words *w = *at;

	if (!w)
		return;
	pcre2_code_free(w->failure);
	pcre2_code_free(w->level);
	pcre2_code_free(w->mild);
	free(w);
	*at = NULL;
}

static bool matches(const pcre2_code *code, struct sv line)
{
	pcre2_match_data *m = pcre2_match_data_create(1, NULL);
	int rc;

	assert(m);
	rc = pcre2_match(code, (PCRE2_SPTR)line.p, line.n, 0, 0, m, NULL);
	pcre2_match_data_free(m);
	return rc >= 0;
}

bool words_fail(const struct words *w, struct sv line)
{
	struct sv begin = { line.p, MIN(line.n, (size_t)LEVEL_WITHIN) };

	return has_stem(w, line) && matches(w->failure, line) && !matches(w->level, begin) &&
	       !matches(w->mild, line);
}
