/* SPDX-License-Identifier: Apache-2.0 */
/* The same lines in the clothes that logs wear: every signature has to win in each of them. */
#include "base/err.h"
#include "base/json.h"
#include "diagnose/signature.h"
#include "test.h"

static bool wins(const struct signatures *all, const char *id, const char *text)
{
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	const struct signature_hit *x;

	signatures_scan_text(all, sv_of(text), &h);
	x = signature_hits_find(&h, id);
	return x && x->won;
}

/* As a text in JSON, without the quotes around it. */
static char *in_json(const char *text)
{
	AUTO_JSON json_t *j = json_string(text);
	AUTO_FREE char *q = j ? json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	return q ? xstrndup(q + 1, strlen(q) - 2) : xstrdup("");
}

static char *dress(unsigned how, const char *line, const char *json)
{
	switch (how) {
	case 0:
		return xasprintf("\033[1;36m(VllmWorker rank=0 pid=21649)\033[0;0m ERROR 06-22 "
				 "11:05:45 [executor.py:527] %s\n",
				 line);
	case 1:
		return xasprintf("2026-01-02T03:04:05.123456789Z stderr F %s\n", line);
	case 2:
		return xasprintf("[1,3]<stderr>: [rank3]:[W1] %s\r\n", line);
	case 3:
		return xasprintf("{\"ts\":1,\"level\":\"error\",\"msg\":\"%s\",\"logger\":\"x\"}\n",
				 json);
	case 4:
		return xasprintf("{\"log\":\"\\u001b[31m%s\\u001b[0m\\n\",\"stream\":\"stderr\","
				 "\"time\":\"2026-01-01T00:00:00Z\"}\n",
				 json);
	case 5:
		return xasprintf("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\nPRIORITY=3\nMESSAGE=%s\n"
				 "_TRANSPORT=kernel\n\n",
				 line);
	case 6:
		return xasprintf("Jan 02 03:04:05 node7 kernel: [ 1234.567890] %s\n", line);
	default:
		return xasprintf("\033]0;title\007\033[2K\r%s\033[K\n", line);
	}
}

static void every_signature_wins_in_every_dress(void)
{
	static const char *const names[] = { "colours and a worker's name",
					     "container runtime",
					     "mpirun, CRLF",
					     "structured",
					     "docker json-file",
					     "journal export",
					     "kernel ring",
					     "terminal codes" };
	struct signatures all CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	size_t lost = 0;

	CHECK_OK(signatures_builtin(&all, &err), err);
	for (size_t i = 0; i < all.n; i++) {
		AUTO_FREE char *json = in_json(all.v[i].test);

		for (unsigned how = 0; how < ARRAY_SIZE(names); how++) {
			AUTO_FREE char *text = dress(how, all.v[i].test, json);

			if (all.v[i].frame == FRAME_BETWEEN || wins(&all, all.v[i].id, text))
				continue;
			lost++;
			printf("# %s: %s\n", all.v[i].id, names[how]);
		}
	}
	CHECK_INT(lost, 0);
}

/* An escape at the end, a half one, none at all: nothing is read behind the line. */
static void broken_escapes_do_no_harm(void)
{
	struct signatures all CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(signatures_builtin(&all, &err), err);
	CHECK(wins(&all, "xid-13", "{\"m\":\"NVRM: Xid (PCI:0000:4b:00): 13, \\u12\\"));
	CHECK(wins(&all, "xid-13", "{\\\nNVRM: Xid (PCI:0000:4b:00): 13\n{\\u\n"));
}

TEST_MAIN(TEST(every_signature_wins_in_every_dress), TEST(broken_escapes_do_no_harm))
