/* SPDX-License-Identifier: Apache-2.0 */
/* What parses is written and parses again to an equal tree; what doesn't gives one line with a
 * place. */
#include "base/err.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 }, again CLEANUP(yaml_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (yaml_parse((struct sv){ (const char *)data, n }, &doc, &err) < 0) {
		char *at = err.msg;

		/* "line:col: " */
		at += strspn(at, "0123456789");
		assert(at > err.msg && *at == ':');
		at += 1 + strspn(at + 1, "0123456789");
		assert(at[0] == ':' && at[1] == ' ' && !strchr(err.msg, '\n'));
		return 0;
	}
	yaml_write(&doc, &text);
	if (text.n > YAML_MAX_BYTES)
		return 0;
	assert(yaml_parse(sv_str(&text), &again, &err) == 0);
	assert(yaml_equal(&doc, &again));
	return 0;
}
