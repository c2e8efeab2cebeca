/* SPDX-License-Identifier: Apache-2.0 */
/* The document: what is refused, what is read, and verdicts on their edges. */
#include "diagnose/diagnose.h"

#include "base/err.h"
#include "test.h"

static json_t *parse(const char *text)
{
	json_error_t why;
	json_t *j = json_loads(text, 0, &why);

	if (!j)
		test_fails(__FILE__, __LINE__, "%s", why.text);
	return j;
}

static void refused(const char *text, const char *why)
{
	struct diagnose_case_opts opts = { 0 };
	AUTO_JSON json_t *doc = parse(text), *ret = NULL;
	struct err err = ERR_INIT;
	enum verdict_kind k;

	CHECK_INT(diagnose_case(doc, &opts, &ret, &k, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, why);
}

#define FP "\"fingerprint\":{\"torch_version\":\"1\"}"

static void what_is_no_comparison_is_refused(void)
{
	refused("[]", "a comparison is an object");
	refused("{}", "no 'accepted'");
	refused("{\"accepted\":{},\"candidate\":{}}", "accepted has no 'fingerprint'");
	refused("{\"accepted\":{" FP "},\"candidate\":{" FP "}}", "no 'limits'");
	refused("{\"accepted\":{" FP "},\"candidate\":{" FP "},\"limits\":{\"a\":{}}}",
		"limits.a has no 'rule'");
	refused("{\"accepted\":{" FP "},\"candidate\":{" FP
		"},\"limits\":{\"a\":{\"rule\":\"x\",\"margin_percent\":0}}}",
		"a margin is more than 0");
	refused("{\"accepted\":{" FP
		",\"evidence\":{\"a\":{\"samples\":[1,\"x\"]}}},\"candidate\":{" FP
		"},\"limits\":{\"a\":{\"rule\":\"x\"}}}",
		"accepted.a: sample 2 is no number");
	refused("{\"accepted\":{" FP
		",\"evidence\":{\"a\":{\"ok\":4,\"tries\":3}}},\"candidate\":{" FP
		"},\"limits\":{\"a\":{\"rule\":\"x\"}}}",
		"do not fit together");
	refused("{\"accepted\":{" FP ",\"log\":3},\"candidate\":{" FP "},\"limits\":{}}",
		"accepted.log is no list");
	refused("{\"accepted\":{" FP "},\"candidate\":{" FP
		"},\"limits\":{\"a\":{\"rule\":\"x\"}},\"probes\":3}",
		"probes is no list");
}

/* One limit `m` with this rule, and the evidence of both arms. */
static enum verdict_kind judged(const char *rule, const char *before, const char *now)
{
	AUTO_FREE char *text = xasprintf("{\"limits\":{\"m\":{%s}},"
					 "\"accepted\":{" FP ",\"evidence\":{\"m\":%s}},"
					 "\"candidate\":{" FP ",\"evidence\":{\"m\":%s}}}",
					 rule, before, now);
	struct diagnose_case_opts opts = { 0 };
	AUTO_JSON json_t *doc = parse(text), *ret = NULL;
	struct err err = ERR_INIT;
	enum verdict_kind k;

	CHECK_OK(diagnose_case(doc, &opts, &ret, &k, &err), err);
	return k;
}

#define NOT_WORSE "\"rule\":\"not worse than accepted\",\"margin_percent\":5"
#define SCORE     "\"rule\":\"not worse than accepted\",\"margin_abs\":0.02"
#define HIGHER(x) "{\"better\":\"higher\",\"samples\":[" x "]}"
#define ITEMS(x)  "{\"better\":\"higher\",\"items\":200,\"samples\":[" x "]}"

static void the_verdict_comes_from_the_samples(void)
{
	const char *bank = HIGHER("100,101,99,100.5,99.5,100.2,99.8,100.1,99.9,100.4");

	CHECK_INT(judged(NOT_WORSE, bank, HIGHER("100,100.2,99.9")), VERDICT_ACCEPTED);
	CHECK_INT(judged(NOT_WORSE, bank, HIGHER("60,61,59")), VERDICT_REJECTED);
	CHECK_INT(judged(NOT_WORSE, bank, HIGHER("95,96,95.5")), VERDICT_INCONCLUSIVE);
	CHECK_INT(judged(NOT_WORSE, bank, HIGHER("100,\"timeout\",null")), VERDICT_REJECTED);
	CHECK_INT(judged(NOT_WORSE, bank, HIGHER("")), VERDICT_NO_RESULT);
	CHECK_INT(judged(NOT_WORSE, bank, "{\"error\":\"the tool printed nothing\"}"),
		  VERDICT_NO_RESULT);
	CHECK_INT(judged("\"rule\":\"like the moon\"", bank, HIGHER("100")), VERDICT_NO_RESULT);
}

static void few_values_never_accept(void)
{
	CHECK_INT(judged(NOT_WORSE, HIGHER("100"), HIGHER("100")), VERDICT_INCONCLUSIVE);
	CHECK_INT(judged(NOT_WORSE, HIGHER("100,101"), HIGHER("93,92")), VERDICT_INCONCLUSIVE);
	CHECK_INT(judged(NOT_WORSE, HIGHER("1464"), HIGHER("112")), VERDICT_REJECTED);
	CHECK_INT(judged(SCORE, ITEMS("0.955"), ITEMS("0.93")), VERDICT_INCONCLUSIVE);
	CHECK_INT(judged(SCORE, ITEMS("0.955"), ITEMS("0.76")), VERDICT_REJECTED);
	CHECK_INT(judged(SCORE, ITEMS("0.955"), ITEMS("0.955")), VERDICT_INCONCLUSIVE);
	CHECK_INT(judged(SCORE, ITEMS("95.5"), ITEMS("76")), VERDICT_REJECTED);
}

static void rules_in_words(void)
{
	CHECK_INT(judged("\"rule\":\"at most 600 s\"", "300", "599"), VERDICT_ACCEPTED);
	CHECK_INT(judged("\"rule\":\"at most 600 s\"", "300", "700"), VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\">= 300\"", "310", "299"), VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\"equals the checkpoint step\"", "3900", "3900"),
		  VERDICT_ACCEPTED);
	CHECK_INT(judged("\"rule\":\"equals the checkpoint step\"", "3900", "0"), VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\"within 0.05 of the accepted run\"", "1.83", "1.87"),
		  VERDICT_ACCEPTED);
	CHECK_INT(judged("\"rule\":\"within 0.05 of the accepted run\"", "1.83", "1.77"),
		  VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\"within 2 % of the accepted run\"", "100", "103"),
		  VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\"all starts succeed\"", "{\"ok\":5,\"tries\":5}",
			 "{\"ok\":4,\"tries\":5}"),
		  VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\"all starts succeed\"", "{\"ok\":5,\"tries\":5}",
			 "{\"ok\":5,\"tries\":5}"),
		  VERDICT_ACCEPTED);
	CHECK_INT(judged("\"rule\":\"all starts succeed\"", "{\"ok\":5,\"tries\":5}",
			 "{\"ok\":0,\"tries\":0}"),
		  VERDICT_NO_RESULT);
	CHECK_INT(judged("\"rule\":\"0\"", "0", "1"), VERDICT_REJECTED);
	CHECK_INT(judged("\"rule\":\"identical\"", "\"sha256:a\"", "\"sha256:a\""),
		  VERDICT_ACCEPTED);
	CHECK_INT(judged("\"rule\":\"identical\"", "\"sha256:a\"", "\"sha256:b\""),
		  VERDICT_REJECTED);
}

static void members_that_are_not_understood_are_named(void)
{
	AUTO_JSON json_t *doc = parse("{\"limits\":{\"m\":{\"rule\":\"0\"}},\"frobnicate\":1,"
				      "\"accepted\":{" FP ",\"evidence\":{\"m\":0}},"
				      "\"candidate\":{" FP ",\"evidence\":{\"m\":0}}}");
	struct diagnose_case_opts opts = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *ret = NULL;
	enum verdict_kind k;

	CHECK_OK(diagnose_case(doc, &opts, &ret, &k, &err), err);
	CHECK_STR(json_string_value(json_array_get(json_object_get(ret, "unread"), 0)),
		  "frobnicate");
}

TEST_MAIN(TEST(what_is_no_comparison_is_refused), TEST(the_verdict_comes_from_the_samples),
	  TEST(few_values_never_accept), TEST(rules_in_words),
	  TEST(members_that_are_not_understood_are_named))
