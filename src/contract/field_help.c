/* SPDX-License-Identifier: Apache-2.0 */
/* The tables as text for people. */
#include "contract/internal.h"

static void add_type(const struct field *f, struct str *s)
{
	AUTO_FREE char *names = f->names ? names_text(f->names, "or") : NULL;

	switch (f->type) {
	case FIELD_STR:
		str_add(s, "text");
		break;
	case FIELD_ENUM:
		str_add(s, names);
		break;
	case FIELD_BOOL:
		str_add(s, "true or false");
		break;
	case FIELD_INT:
		str_add(s, "whole number");
		break;
	case FIELD_NUM:
		str_add(s, "number");
		break;
	case FIELD_DURATION:
		str_add(s, unit_phrase(UNIT_NS));
		break;
	case FIELD_BYTES:
		str_add(s, unit_phrase(UNIT_BYTES));
		break;
	case FIELD_QUANTITY:
		str_add(s, unit_phrase(f->unit));
		break;
	case FIELD_LIMIT:
		str_addf(s, "limit on %s", unit_subject(f->unit));
		break;
	case FIELD_LIMITS:
		str_addf(s, "map NAME: limit on %s", unit_subject(f->unit));
		break;
	case FIELD_STRS:
		str_add(s, "list of texts");
		break;
	case FIELD_INTS:
		str_add(s, "list of whole numbers");
		break;
	case FIELD_ENUMS:
		str_addf(s, "list of %s", names);
		break;
	case FIELD_ARGV:
		str_add(s, "list of words, or one line with 'shell: true'");
		break;
	case FIELD_MAP:
		str_add(s, "map NAME: text");
		break;
	case FIELD_SUB:
		str_add(s, "map");
		break;
	case FIELD_LIST:
		str_add(s, "list of maps");
		break;
	case FIELD_NAMED:
		str_add(s, "map NAME: map");
		break;
	case FIELD_SKIP:
		str_add(s, f->min ? f->min : "see there");
		break;
	}
}

static void add_range(const struct field *f, struct str *s)
{
	if (f->type != FIELD_SKIP && f->min && f->max)
		str_addf(s, ", %s to %s", f->min, f->max);
	else if (f->type != FIELD_SKIP && f->min)
		str_addf(s, ", at least %s", f->min);
	else if (f->max)
		str_addf(s, ", at most %s", f->max);
	if (f->brief)
		str_addf(s, ", or just its '%s'", f->brief);
	if (f->need)
		str_add(s, f->one_of ? ", one of these is needed" : ", needed");
	else if (f->def)
		str_addf(s, ", by default %s", f->def);
}

void fields_help(const struct field *fields, unsigned indent, struct str *ret)
{
	for (const struct field *f = fields; f->name; f++) {
		size_t from = ret->n, column = indent + 20;

		str_pad(ret, ' ', indent);
		str_addf(ret, "%s:", f->name);
		str_pad(ret, ' ', ret->n - from < column ? column - (ret->n - from) : 1);
		add_type(f, ret);
		add_range(f, ret);
		str_addc(ret, '\n');
		str_pad(ret, ' ', column + 2);
		str_addf(ret, "%s\n", f->help ? f->help : "");
		if (f->sub)
			fields_help(f->sub, indent + 2, ret);
	}
}
