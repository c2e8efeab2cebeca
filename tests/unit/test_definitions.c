/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "test.h"

/* "ttft.p99.all" is of "ttft", "throughput.steady" of "throughput"; outcomes have their own. */
static bool defined(const json_t *o, const char *name)
{
	AUTO_FREE char *base = xstrdup(name);
	char *dot;

	if (json_object_get(o, name))
		return true;
	if (str_starts(name, "requests.") || str_starts(name, "answers."))
		return false;
	dot = strchr(base, '.');
	if (dot)
		*dot = '\0';
	return json_object_get(o, base) != NULL;
}

static void every_metric_is_defined(void)
{
	static const struct load_result none;
	struct measurements m CLEANUP(measurements_release) = { 0 };
	AUTO_JSON json_t *o = definitions_json();

	load_metrics(&none, &m);
	CHECK(m.n > 50);
	for (size_t i = 0; i < m.n; i++)
		if (!defined(o, m.v[i].name))
			test_fails(__FILE__, __LINE__, "'%s' has no definition", m.v[i].name);
}

static void every_outcome_and_source_is_defined(void)
{
	AUTO_JSON json_t *o = definitions_json();

	for (int i = 0; i < LOAD_OUTCOMES; i++) {
		AUTO_FREE char *name =
			xasprintf("requests.%s", load_outcome_name((enum load_outcome)i));

		CHECK(json_object_get(o, name));
	}
	for (int i = LOAD_TOKENS_EVERY; i <= LOAD_TOKENS_EVENT; i++)
		CHECK(json_object_get(o, load_token_source_name((enum load_token_source)i)));
}

TEST_MAIN(TEST(every_metric_is_defined), TEST(every_outcome_and_source_is_defined))
