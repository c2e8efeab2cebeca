/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that is a contract is the same contract when it is read again, and when its YAML is
 * written anew; one that is none gives at least one line with a place.
 */
#include "../tests/lib/contract_schemas.h"
#include "base/canon.h"
#include "base/err.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void reads_the_same(struct sv text, const struct contract *want)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct err err = ERR_INIT;
	int rc = contract_parse(text, "f", test_schemas, &c, NULL, &err);

	assert(rc == 0);
	assert(strcmp(c.digest, want->digest) == 0);
}

static void canonical_form_holds(const struct contract *c)
{
	AUTO_JSON json_t *j = contract_to_json(c), *again = NULL;
	struct str text CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	char digest[65];

	assert(canon_write(j, 0, &text, &err) == 0);
	assert(canon_read(sv_str(&text), SIZE_MAX, CANON_STRICT, &again, &err) == 0);
	assert(canon_digest(again, digest, &err) == 0);
	assert(strcmp(digest, c->digest) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct str written CLEANUP(str_release) = { 0 };
	struct sv text = { (const char *)data, n };
	struct err err = ERR_INIT;

	if (contract_parse(text, "f", test_schemas, &c, &bad, &err) < 0) {
		assert(bad.n > 0 && err.msg[0] && !strchr(err.msg, '\n'));
		for (size_t i = 0; i < bad.n; i++)
			assert(bad.v[i].line > 0 && bad.v[i].col > 0 &&
			       !strchr(bad.v[i].text, '\n'));
		return 0;
	}
	assert(!bad.n);
	canonical_form_holds(&c);
	reads_the_same(text, &c);
	if (yaml_parse(text, &doc, &err) == 0)
		yaml_write(&doc, &written);
	if (written.n <= YAML_MAX_BYTES)
		reads_the_same(sv_str(&written), &c);
	return 0;
}
