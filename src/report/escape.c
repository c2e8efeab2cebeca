/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile text into markup. */
#include "report/internal.h"

/* U+FFFD in UTF-8. */
#define REPLACED "\xef\xbf\xbd"

/* Length of the character at p; 0: no valid UTF-8 begins there. */
static size_t character(const unsigned char *p, size_t n)
{
	size_t want = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	return want <= n && utf8_valid((struct sv){ (const char *)p, want }) ? want : 0;
}

static uint32_t code_point(const unsigned char *p, size_t n)
{
	if (n == 1)
		return p[0];
	if (n == 2)
		return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
	if (n == 3)
		return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
	return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
	       (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
}

/* Not a character of XML 1.0 (section 2.2), a control, or one that reorders what stands around it
 * (Unicode Standard Annex 9, section 2). */
static bool forbidden(uint32_t c)
{
	if (c == '\t' || c == '\n')
		return false;
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c ||
	       c == 0xfffe || c == 0xffff;
}

/* The next character of *rest in `ret` (at most 4 bytes and NUL); false at the end. */
static bool next(struct sv *rest, char ret[5])
{
	const unsigned char *p = (const unsigned char *)rest->p;
	size_t k;

	if (!rest->n)
		return false;
	k = character(p, rest->n);
	if (!k || forbidden(code_point(p, k))) {
		memcpy(ret, REPLACED, sizeof(REPLACED));
		k = k ? k : 1;
	} else {
		memcpy(ret, p, k);
		ret[k] = '\0';
	}
	rest->p += k;
	rest->n -= k;
	return true;
}

void esc_xml(struct str *out, const char *text)
{
	struct sv rest = sv_of(text);
	char c[5];

	while (next(&rest, c)) {
		switch (c[0]) {
		case '&':
			str_add(out, "&amp;");
			break;
		case '<':
			str_add(out, "&lt;");
			break;
		case '>':
			str_add(out, "&gt;");
			break;
		case '"':
			str_add(out, "&quot;");
			break;
		case '\'':
			str_add(out, "&#39;");
			break;
		case '\n':
			/* An attribute would turn it into a blank. */
			str_add(out, "&#10;");
			break;
		case '\t':
			str_add(out, "&#9;");
			break;
		default:
			str_add(out, c);
		}
	}
}

void esc_xml_in(struct str *out, const char *before, const char *text, const char *after)
{
	str_add(out, before);
	esc_xml(out, text);
	str_add(out, after);
}

void esc_md(struct str *out, const char *text)
{
	struct sv rest = sv_of(text);
	char c[5];

	while (next(&rest, c)) {
		if (c[0] == '\n' || c[0] == '\t')
			str_addc(out, ' ');
		else if (c[0] == '&')
			str_add(out, "&amp;");
		else if (c[0] == '<')
			str_add(out, "&lt;");
		else if (c[0] == '>')
			str_add(out, "&gt;");
		else if (c[0] == '@') /* nobody is called by a log line */
			str_add(out, "&#64;");
		else if (c[0] == ':' && rest.n && rest.p[0] == '/') /* nor linked to */
			str_add(out, "&#58;");
		else if (c[0] == '.' && out->n >= 3 && memcmp(out->p + out->n - 3, "www", 3) == 0)
			str_add(out, "&#46;");
		else if (c[0] == '#') /* nor is "#12" an issue of somebody's */
			str_add(out, "&#35;");
		else if (strchr("\\`*_{}[]()~|!$", c[0]))
			str_addf(out, "\\%s", c);
		else
			str_add(out, c);
	}
}
