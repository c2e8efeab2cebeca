/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that speak of a failure, whoever wrote them. */
#include "diagnose/signature_inner.h"

#include "base/str.h"
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
static const char mild[] =
	"^.{0,160}?((?<![_A-Za-z.-])(?<!DEBUG=)(?<!LEVEL=)(?-i:INFO|DEBUG|TRACE|NOTICE|WARN|"
	"WARNING)"
	"(?![=_A-Za-z])|level[\"=: ]+(info|warn|debug|trace|notice)|\\b[A-Za-z]+Warning\\b|"
	"(?<![a-z])warning[:\\]])|"
	"^[IWD][0-9]{4} |\\[[IWD][0-9]{3,4} [0-9]{2}:[0-9]{2}:|(?<![\\w.-])(no|0|zero|without( "
	"any)?) "
	"(\\w+ )?(errors?|fail(ures?|ed)|warnings?|exceptions?|mismatch(es)?|timeouts?)\\b|"
	"\\b(errors?|fail(ures?|ed))\"?[=:] ?(0|none|null|false)\\b|"
	"\\bif\\b.{0,40}\\b(errors?|failures?) (occurs?|happens?)|"
	"^[\\w ()./+%-]{1,70}:\\s+\\[?(not active|no|none|n/a|unknown|disabled|not supported|not "
	"available|false|0|"
	"could not collect|no cuda)\\]?\\s*$|"
	"^\\+ |^.{0,100}\\bignor(e|ing)\\b|(?: "
	"--[\\w-]+[^-\\n]{0,200}){4}|(?:\\b\\w+=[^,=\\n]{0,80}, ?){6}|"
	"(?:['\"]\\w+['\"]: [^,\\n]{0,80}, ?){6}|\\b(fix(es|ed)?|revert)\\b.*\\(#[0-9]+\\)";

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

struct words {
	pcre2_code *failure, *mild;
};

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
	w->mild = compiled(mild);
	return w;
}

void words_free(struct words **at)
{
	struct words *w = *at;

	if (!w)
		return;
	pcre2_code_free(w->failure);
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
	return matches(w->failure, line) && !matches(w->mild, line);
}
