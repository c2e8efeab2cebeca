/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger in the test's folder, and short ways to fill and judge it. */
#pragma once

#include "ledger/ledger.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"

#include "test.h"

#define FIX_ORIGIN "twice.example/test"
#define FIX_T0     INT64_C(1796119200000) /* 2026-12-01T10:00:00Z */

static inline char *fix_dir(void)
{
	return path_join(test_dir(), "ledger");
}

static inline struct ledger *fix_open_with(unsigned flags, const json_t *policy)
{
	AUTO_FREE char *dir = fix_dir();
	struct ledger_conf conf = { .dir = dir,
				    .flags = flags,
				    .origin = FIX_ORIGIN,
				    .policy = policy,
				    .by_id = "twice@test",
				    .now_ms = FIX_T0 };
	struct err err = ERR_INIT;
	struct ledger *l = NULL;

	CHECK_OK(ledger_open(&conf, &l, &err), err);
	return l;
}

static inline struct ledger *fix_open(void)
{
	return fix_open_with(LEDGER_CREATE, NULL);
}

/* Takes over `body`. */
static inline struct ledger_ref fix_append(struct ledger *l, const char *kind, json_t *body)
{
	static int64_t minutes;
	struct ledger_new n = { .kind = kind,
				.body = body,
				.by_id = "twice@test",
				.role = "machine",
				.at_ms = FIX_T0 + ++minutes * 60000 };
	struct ledger_ref ref = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_append(l, &n, &ref, &err), err);
	json_decref(body);
	return ref;
}

static inline json_t *fix_ref(const char *key, const struct ledger_ref *r)
{
	return json_pack("{s:{s:s}}", key, "digest", r->hex);
}

static inline void fix_checkpoint(struct ledger *l)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_checkpoint(l, &cp, &err), err);
}

/* In place and without a flush: for the many small damages of a test. */
static inline void fix_overwrite(const char *path, const void *p, size_t n)
{
	FILE *f = NULL;

	(void)chmod(path, 0644);
	f = fopen(path, "wb");
	CHECK(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

/* "CODE@seq CODE@seq ..." of what is worse than a note. */
static inline char *fix_verify_with(const struct ledger_verify_conf *conf)
{
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;
	struct str s = { 0 };

	if (ledger_verify(conf, &r, &err) < 0)
		return xasprintf("error %s", err_code_name(err.code));
	for (size_t i = 0; i < r.n; i++) {
		if (r.v[i].severity == LEDGER_NOTE)
			continue;
		str_addf(&s, "%s%s", s.n ? " " : "", ledger_code_name(r.v[i].code));
		if (r.v[i].seq != UINT64_MAX)
			str_addf(&s, "@%llu", (unsigned long long)r.v[i].seq);
	}
	return str_steal(&s);
}

static inline char *fix_verify(void)
{
	AUTO_FREE char *dir = fix_dir();

	return fix_verify_with(&(struct ledger_verify_conf){ .path = dir });
}

#define CHECK_INTACT()                                                                             \
	do {                                                                                       \
		AUTO_FREE char *v_ = fix_verify();                                                 \
		CHECK_STR(v_, "");                                                                 \
	} while (0)
