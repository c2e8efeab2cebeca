/* SPDX-License-Identifier: Apache-2.0 */
/* Values of "twice.report/1" to vary: a rejected run with everything in it; small ones. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "report/report.h"

#include "test.h"

#define SCENE_LEAF "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* What a check compares and throws away lives to the end of its test. */
static inline const char *keep(char *text)
{
	static struct strs kept;

	strs_take(&kept, text);
	return text;
}

static inline json_t *keep_json(json_t *j)
{
	static json_t *kept;

	if (!kept)
		kept = json_array();
	(void)json_array_append_new(kept, j);
	return j;
}

static inline json_t *scene_rep(const char *state, json_t *ttft, json_t *match)
{
	return json_pack(
		"{s:i, s:s, s:s, s:s, s:[{s:s,s:s,s:s,s:o},{s:s,s:s,s:s,s:o}], s:[], s:[]}", "rep",
		0, "state", state, "leaf", SCENE_LEAF, "session", SCENE_LEAF, "measured", "name",
		"ttft.p50", "unit", "ns", "better", "lower", "value", ttft, "name", "answers.match",
		"unit", "ratio", "better", "higher", "value", match, "outcomes", "evidence");
}

/* text: stands wherever a tool or a person could have put one. */
static inline json_t *scene_rejected(const char *text)
{
	static const char frame[] =
		"{\"verdict\": {\"run\": \"20261201T022342-65c05d74\", \"stack_digest\": "
		"\"" SCENE_LEAF "\","
		" \"tool_version\": \"0.1.0\", \"changes\": [], \"decision\": {\"verdict\": "
		"\"rejected\","
		" \"first\": false, \"used\": 3, \"bank\": 5, \"reasons\": [{\"code\": "
		"\"gross_regression\"}],"
		" \"notes\": [{\"code\": \"noisy\"}], \"numbers\": ["
		"{\"name\": \"ttft.p50\", \"unit\": \"ns\", \"better\": \"lower\", \"scale\": "
		"\"log\","
		" \"gate\": true, \"gross\": true, \"label\": \"regressed\", \"accepted\": 6500000,"
		" \"candidate\": 22500000, \"shift_e9\": 1241713132, \"lcb_e9\": \"-inf\", "
		"\"ucb_e9\": \"inf\","
		" \"margin_e9\": 470003629, \"limit\": 2000000000, \"over_limit\": false, "
		"\"over\": 0,"
		" \"held\": \"repetitions\"},"
		"{\"name\": \"answers.match\", \"unit\": \"ratio\", \"better\": \"higher\", "
		"\"scale\": \"abs\","
		" \"gate\": false, \"label\": \"none\", \"accepted\": 1000000000, \"candidate\": "
		"980000000,"
		" \"shift_e9\": 20000000, \"lcb_e9\": 10000000, \"ucb_e9\": 30000000, \"limit\": "
		"990000000,"
		" \"over_limit\": true, \"over\": 3, \"held\": \"no\"}]},"
		" \"attribution\": {\"symptom\": \"slower\", \"confidence\": \"medium\", "
		"\"suspects\": ["
		"{\"component\": \"blas\", \"layer\": \"kernellib\", \"share_e9\": 990000000}],"
		" \"reasons\": [], \"must_not\": []}},"
		" \"entry\": {\"seq\": 43, \"leaf\": \"" SCENE_LEAF "\", \"by\": \"twice@vm\"},"
		" \"times\": {\"begun\": \"2026-12-01T02:23:42.201Z\", \"took_ns\": 11240000000},"
		" \"contract\": {\"digest\": \"" SCENE_LEAF "\"},"
		" \"stack\": {\"digest\": \"" SCENE_LEAF "\", \"components\": ["
		"{\"layer\": \"kernellib\", \"name\": \"blas\", \"version\": \"reference 3.11.0\"},"
		"{\"layer\": \"image\", \"name\": \"image\", \"version\": null}]},"
		" \"log\": {\"origin\": \"twice.local/vm\", \"size\": 44, \"root\": \"" SCENE_LEAF
		"\"},"
		" \"checks\": [{\"check\": \"hardware/cpus\", \"layer\": \"hardware\", \"result\": "
		"\"PASS\","
		" \"required\": true, \"took_ns\": 97523, \"measured\": [{\"name\": \"cpus\", "
		"\"unit\":"
		" \"count\", \"better\": \"higher\", \"value\": 2000}]},"
		"{\"check\": \"communication/allreduce\", \"layer\": \"communication\", "
		"\"result\": \"FAIL\","
		" \"required\": false, \"took_ns\": 5, \"measured\": []},"
		"{\"check\": \"framework/import\", \"layer\": \"framework\", \"result\": "
		"\"DOUBTFUL\","
		" \"required\": true, \"took_ns\": 5, \"measured\": []},"
		"{\"check\": \"recovery/restart\", \"layer\": \"recovery\", \"result\": \"SKIP\","
		" \"required\": true, \"took_ns\": 0, \"measured\": []}],"
		" \"evidence\": [{\"digest\": \"" SCENE_LEAF
		"\", \"bytes\": 240, \"media_type\": \"text/plain\"}],"
		" \"signoffs\": [{\"leaf\": \"" SCENE_LEAF "\", \"standing\": \"pending\"}]}";
	struct err err = ERR_INIT;
	json_t *v = NULL, *body, *d, *x, *reps = json_array(), *bank = json_array();

	CHECK_OK(json_read(sv_of(frame), "the scene", &v, &err), err);
	body = json_object_get(v, "verdict");
	d = json_object_get(body, "decision");
	json_put_str(body, "workload", text);
	json_put_str(json_array_get(json_object_get(d, "reasons"), 0), "text", text);
	json_put_str(json_array_get(json_object_get(d, "notes"), 0), "text", text);
	json_put_str(json_object_get(v, "contract"), "source", text);
	x = json_array_get(json_object_get(json_object_get(body, "attribution"), "suspects"), 0);
	json_put_str(x, "change", text);
	json_put_str(x, "owner", text);
	(void)json_array_append_new(json_object_get(body, "changes"),
				    json_pack("{s:s, s:b, s:s, s:s, s:{s:s}, s:{s:n}}", "change",
					      "changed", "material", 1, "layer", "kernellib",
					      "name", text, "before", "version", text, "after",
					      "version"));
	for (size_t i = 0; i < 4; i++) {
		x = json_array_get(json_object_get(v, "checks"), i);
		json_put_str(x, "reason", i ? text : NULL);
		json_put_str(x, "owner", i ? text : NULL);
	}
	x = json_array_get(json_object_get(v, "evidence"), 0);
	json_put_str(x, "label", text);
	json_put_str(x, "of", text);
	x = json_array_get(json_object_get(v, "signoffs"), 0);
	json_put_str(x, "by", text);
	json_put_str(x, "note", text);
	json_put_str(json_array_get(json_object_get(json_object_get(v, "stack"), "components"), 0),
		     "origin", text);
	for (int i = 0; i < 5; i++)
		(void)json_array_append_new(bank, scene_rep("ok", json_integer(6400000 + i * 50000),
							    json_integer(1000000000)));
	for (int i = 0; i < 3; i++)
		(void)json_array_append_new(reps,
					    scene_rep("ok", json_integer(22400000 + i * 50000),
						      json_integer(980000000)));
	json_put(v, "reps", reps);
	json_put(v, "bank", bank);
	return v;
}

/* Only a verdict; everything else is absent. */
static inline json_t *scene_bare(const char *code)
{
	return json_pack("{s:{s:s, s:s, s:{s:s}}}", "verdict", "workload", "w", "run", "r1",
			 "decision", "verdict", code);
}

static const char *const scene_codes[] = { "accepted",       "accepted_with_note",
					   "rejected",       "inconclusive",
					   "no_result",      "baseline_void",
					   "maybe_accepted", "" };

/* Reads the text with Python's own parser of `what` (xml, html, json): what it says is a fault. */
static inline void scene_parses(const char *what, const struct str *text)
{
	static const char script[] =
		"import sys, json, html.parser, xml.etree.ElementTree as E\n"
		"t = open(sys.argv[2], encoding='utf-8').read()\n"
		"if sys.argv[1] == 'xml': E.fromstring(t.encode())\n"
		"elif sys.argv[1] == 'json': json.loads(t)\n"
		"else:\n"
		"    void = {'meta'}; stack = []; ids = []; refs = []\n"
		"    class P(html.parser.HTMLParser):\n"
		"        def handle_starttag(self, tag, attrs):\n"
		"            assert tag not in ('script', 'img', 'link', 'iframe', 'object', "
		"'base', 'form'), tag\n"
		"            for k, v in attrs:\n"
		"                assert not k.startswith('on') and k not in ('src', 'style'), k\n"
		"                assert k != 'href' or v.startswith('#'), v\n"
		"                if k == 'id': ids.append(v)\n"
		"                if k == 'href': refs.append(v[1:])\n"
		"                if k == 'aria-labelledby': refs.extend(v.split())\n"
		"            if tag not in void: stack.append(tag)\n"
		"        def handle_startendtag(self, tag, attrs): pass\n"
		"        def handle_endtag(self, tag): assert stack.pop() == tag, tag\n"
		"        def handle_comment(self, c): assert False, c\n"
		"    P().feed(t)\n"
		"    assert not stack, stack\n"
		"    assert len(ids) == len(set(ids)), ids\n"
		"    assert set(refs) <= set(ids), (refs, ids)\n";
	char file[128];
	pid_t pid;
	FILE *f;
	int status;

	(void)snprintf(file, sizeof(file), "%s/text", test_dir());
	f = fopen(file, "w");
	CHECK(f);
	CHECK(fwrite(str_text(text), 1, text->n, f) == text->n);
	CHECK_INT(fclose(f), 0);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execlp("python3", "python3", "-c", script, what, file, (char *)NULL);
		_exit(127);
	}
	status = test_reap(pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		test_skip("no python3");
	CHECK_INT(status, 0);
}
