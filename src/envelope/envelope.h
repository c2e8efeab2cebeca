/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins and what goes together, against a stack. Pure: values in, findings out.
 *
 * A pin is a component and what its version must be:
 *	7.0.2		  exactly that version. One that goes on with '-', '+' or '~' fits too
 *			  (7.0.2-56, 2.8.0+rocm7.0), one that goes on with '.' or a digit does not
 *	=7.0.2-56	  that text and nothing else
 *	7.0.*		  glob: * any text, ? one character; the whole version must match
 *	>=1.2,<2	  all of the parts must hold: >= > <= < != ==, compared by version_compare
 *	sha256:HEX	  the digest of what was really loaded begins with HEX (at least 12 digits)
 *	a || b		  one of them
 *	NAME@REV	  a model: REV is the version, the label, or how the digest begins; where
 * 	only
 *			  the digest of the files is known and differs, the finding is unknown
 *
 * The component is NAME, or LAYER/NAME; a bare NAME that stands in two layers must fit in both. Its
 * version may have words around the number: a pattern is tried on the whole text and on the first
 * word that begins with a digit, so "openblas 0.3.*", "0.3.21", ">=0.3.20" and plain "openblas" all
 * fit the component blas with "openblas 0.3.21+ds-4". Comparisons use that word alone.
 *
 * A component that is absent or unknown is an unknown finding, "none found" is a violation:
 * neither is
 * ever ok.
 */
#pragma once

#include "base/str.h"
#include "model/model.h"

struct err;

enum finding_kind { FINDING_OK, FINDING_VIOLATED, FINDING_UNKNOWN, FINDING_N };
const char *finding_name(enum finding_kind k); /* "ok" "violated" "unknown" */

struct finding {
	enum finding_kind kind;
	char *component;            /* as the pin names it */
	char *with;                 /* what wants it, of two together; NULL: a pin */
	char *want;                 /* the pattern */
	char *found;                /* version (or digest) in the stack; NULL: unknown or absent */
	char *source;               /* "pin", or who says so of two together */
	char *text;                 /* one sentence for people, without a full stop */
	enum component_layer layer; /* CL_N when the component is absent */
};
struct findings {
	struct finding *v;
	size_t n, room, n_violated, n_unknown;
};
void findings_release(struct findings *l);
json_t *findings_to_json(const struct findings *l);

/* Appends one finding a pin, in the order of the pins. A pattern that can't be read is unknown. */
void envelope_check(const struct pairs *pins, const struct stack *s, struct findings *ret);

/*
 * Which components go together by what their makers publish: a driver and what runs above it, a
 * build and what it was built for, packages of one release. One finding a rule that applies
 * (`with` in a version that the rule is about), its component is what is wanted. Unknown where
 * that has no known version. A rule that says nothing of a version is no finding: what is not
 * listed is not refused.
 */
void envelope_together(const struct stack *s, struct findings *ret);

/* Whether a pattern can be read: for the linter. -ERR_PARSE says what is wrong with it. */
int pin_valid(const char *pattern, struct err *err) MUST_USE;
/* Does this version (digest may be NULL) fit a valid pattern? */
bool pin_fits(const char *pattern, const char *version, const char *digest);

/*
 * Orders versions the way package managers do: epochs first ("1:2" > "9"), runs of digits as
 * numbers, '~' before everything (even the end), letters before other characters. <0, 0, >0.
 */
int version_compare(struct sv a, struct sv b);
