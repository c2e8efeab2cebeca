/* SPDX-License-Identifier: Apache-2.0 */
#include "readers/readers.h"

#include "base/err.h"
#include "test.h"

static void lines_become_items_in_the_order_of_their_ids(void)
{
	const struct item_keys k = { .id = "doc_id",
				     .correct = "exact_match",
				     .cluster = "passage" };
	struct item_results l CLEANUP(item_results_release) = { 0 };
	struct str kept CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(items_read(SV("loading...\n{\"doc_id\": 10, \"exact_match\": 1.0, \"passage\": "
			       "\"p\"}\n\n{\"doc_id\": 2, \"exact_match\": false, \"x\": []}\n"),
			    &k, &l, &err),
		 err);
	CHECK_INT(l.n, 2);
	CHECK_STR(l.v[0].id, "10");
	CHECK(l.v[0].right);
	CHECK_STR(l.v[0].cluster, "p");
	CHECK(!l.v[1].right && !l.v[1].cluster);
	items_write(&l, &kept);
	CHECK_STR(str_text(&kept), "{\"cluster\":\"p\",\"id\":\"10\",\"right\":true}\n"
				   "{\"id\":\"2\",\"right\":false}\n");
}

static void refused(const char *text, const char *why)
{
	const struct item_keys k = { .id = "id", .correct = "correct" };
	struct item_results l CLEANUP(item_results_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(items_read(sv_of(text), &k, &l, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, why);
}

static void what_is_no_score_is_an_error(void)
{
	refused("", "no item is in there");
	refused("{\"id\": 1}", "'correct' is not true, false, 1 or 0");
	refused("{\"id\": 1, \"correct\": 0.5}", "item '1'");
	refused("{\"correct\": true}", "line 1: no 'id'");
	refused("{\"id\": 1, \"correct\": true}\n{\"id\": \"1\", \"correct\": true}", "twice");
	refused("{\"id\": 1, \"correct\": true", "line 1");
}

/* Harnesses write a line for each filter: one of them is the score. */
static void only_the_lines_that_are_asked_for(void)
{
	struct pairs where CLEANUP(pairs_release) = { 0 };
	struct item_keys k = { .id = "id", .correct = "acc", .where = &where };
	struct item_results l CLEANUP(item_results_release) = { 0 };
	struct err err = ERR_INIT;

	pairs_add(&where, "filter", "strict");
	CHECK_OK(items_read(SV("{\"id\": 1, \"acc\": 0, \"filter\": \"strict\"}\n"
			       "{\"id\": 1, \"acc\": 1, \"filter\": \"flexible\"}\n"),
			    &k, &l, &err),
		 err);
	CHECK_INT(l.n, 1);
	CHECK(!l.v[0].right);
}

static void texts_have_ids_or_code_points(void)
{
	const struct item_keys k = { .id = "id", .text = "text", .tokens = "token_ids" };
	struct item_texts l CLEANUP(item_texts_release) = { 0 };
	struct item_texts again CLEANUP(item_texts_release) = { 0 };
	struct str kept CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(texts_read(SV("{\"id\": \"a\", \"text\": \"x\xc3\xbc\xf0\x9f\x98\x80\"}\n"
			       "{\"id\": \"b\", \"text\": \"yes\", \"token_ids\": [7, 8]}\n"),
			    &k, &l, &err),
		 err);
	CHECK_INT(l.v[0].n, 3);
	CHECK_INT(l.v[0].token[1], 0xfc);
	CHECK_INT(l.v[0].token[2], 0x1f600);
	CHECK(!l.v[0].ids && l.v[1].ids);
	CHECK_INT(l.v[1].n, 2);
	CHECK_INT(l.tokens, 5);
	texts_write(&l, &kept);
	CHECK_OK(texts_read(sv_str(&kept), &item_keys_kept, &again, &err), err);
	CHECK_INT(again.tokens, 5);
	CHECK_INT(again.v[1].token[1], 8);
	item_text_points(&again.v[1]);
	CHECK_INT(again.v[1].n, 3);
	CHECK_INT(texts_read(SV("{\"id\": 1, \"text\": 5}"), &k, &again, &err), -ERR_PARSE);
}

TEST_MAIN(TEST(lines_become_items_in_the_order_of_their_ids), TEST(what_is_no_score_is_an_error),
	  TEST(only_the_lines_that_are_asked_for), TEST(texts_have_ids_or_code_points))
