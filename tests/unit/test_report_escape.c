/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static const char *xml(const char *text)
{
	struct str s = { 0 };

	esc_xml(&s, text);
	return keep(str_steal(&s));
}

static const char *md(const char *text)
{
	struct str s = { 0 };

	esc_md(&s, text);
	return keep(str_steal(&s));
}

static void marks_of_markup_are_text(void)
{
	CHECK_STR(xml("<script>alert(\"1\")</script>&'"),
		  "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
	CHECK_STR(xml("a\n\tb"), "a&#10;&#9;b");
	CHECK_STR(xml(NULL), "");
	CHECK_STR(xml("]]>"), "]]&gt;");
	CHECK_STR(xml("\xc2\xb5s \xe2\x89\xa5 \xf0\x9f\x98\x80"),
		  "\xc2\xb5s \xe2\x89\xa5 \xf0\x9f\x98\x80");
}

static void what_no_xml_can_hold_is_replaced(void)
{
	CHECK_STR(xml("a\x01\x1b[31m\x7f\r"),
		  "a\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd");
	CHECK_STR(xml("\xc2\x85"), "\xef\xbf\xbd"); /* NEL, a C1 control */
	CHECK_STR(xml("\xef\xbf\xbe\xef\xbf\xbf"), "\xef\xbf\xbd\xef\xbf\xbd"); /* U+FFFE, U+FFFF */
	CHECK_STR(xml("a\xe2\x80\xae"
		      "b"),
		  "a\xef\xbf\xbd"
		  "b"); /* right-to-left override */
	CHECK_STR(xml("\xe2\x81\xa6"), "\xef\xbf\xbd");
}

static void bad_utf8_is_replaced_a_byte_at_a_time(void)
{
	CHECK_STR(xml("\xff"), "\xef\xbf\xbd");
	CHECK_STR(xml("\xc3("), "\xef\xbf\xbd(");
	CHECK_STR(xml("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
	CHECK_STR(xml("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
	CHECK_STR(xml("\xc0\xaf<"), "\xef\xbf\xbd\xef\xbf\xbd&lt;");            /* overlong slash */
}

static void markdown_is_text_on_one_line(void)
{
	CHECK_STR(md("a|b`c`*d*_e_[f](g)!"), "a\\|b\\`c\\`\\*d\\*\\_e\\_\\[f\\]\\(g\\)\\!");
	CHECK_STR(md("a\n\nb"), "a  b");
	CHECK_STR(md("<b>&"), "&lt;b&gt;&amp;");
	CHECK_STR(md("@all #12"), "&#64;all &#35;12");
	CHECK_STR(md("http://x.y www.x"), "http&#58;//x.y www&#46;x");
}

TEST_MAIN(TEST(marks_of_markup_are_text), TEST(what_no_xml_can_hold_is_replaced),
	  TEST(bad_utf8_is_replaced_a_byte_at_a_time), TEST(markdown_is_text_on_one_line))
