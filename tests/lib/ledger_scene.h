/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers for tests: in the test's own folder, with a clock that counts. */
#pragma once

#include "test.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "ledger/ledger.h"
#include <sqlite3.h>

#define SCENE_ORIGIN "twice.example/lab/small"
#define SCENE_START  INT64_C(1796000000000)
#define SCENE_BY     "twice@node"

static inline const char *scene_path(const char *name)
{
	static char path[64][512];
	static unsigned at;
	char *to = path[at++ % 64];

	snprintf(to, 512, "%s/%s", test_dir(), name);
	return to;
}

static inline struct ledger *scene_open_as(const char *dir, unsigned flags, const json_t *policy)
{
	struct ledger_conf c = { .dir = dir,
				 .flags = flags,
				 .origin = SCENE_ORIGIN,
				 .policy = policy,
				 .by_id = SCENE_BY,
				 .now_ms = SCENE_START };
	struct ledger *l = NULL;
	struct err err = ERR_INIT;

	CHECK_OK(ledger_open(&c, &l, &err), err);
	return l;
}

static inline struct ledger *scene_open(const char *dir)
{
	return scene_open_as(dir, LEDGER_CREATE, NULL);
}

/* The code of opening it, as an error. */
static inline int scene_try_open(const char *dir, unsigned flags, struct err *err)
{
	struct ledger_conf c = { .dir = dir,
				 .flags = flags,
				 .origin = SCENE_ORIGIN,
				 .by_id = SCENE_BY,
				 .now_ms = SCENE_START };
	struct ledger *l = NULL;
	int rc = ledger_open(&c, &l, err);

	ledger_close(l);
	return rc;
}

static inline json_t *scene_json(const char *text)
{
	struct err err = ERR_INIT;
	json_t *j = NULL;

	CHECK_OK(json_read(sv_of(text), "body", &j, &err), err);
	return j;
}

static inline struct ledger_ref scene_add_at(struct ledger *l, const char *kind, int64_t at_ms,
					     const char *body)
{
	json_t *j = scene_json(body);
	struct ledger_new n = {
		.kind = kind, .body = j, .by_id = SCENE_BY, .role = "machine", .at_ms = at_ms
	};
	struct ledger_ref ref;
	struct err err = ERR_INIT;

	CHECK_OK(ledger_append(l, &n, &ref, &err), err);
	json_decref(j);
	return ref;
}

PRINTF(3, 4)
static inline struct ledger_ref scene_add(struct ledger *l, const char *kind, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	uint64_t size;
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	return scene_add_at(l, kind, SCENE_START + (int64_t)size * 1000, str_text(&s));
}

static inline void scene_checkpoint(struct ledger *l)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_checkpoint(l, &cp, &err), err);
}

static inline void scene_copy(const char *from, const char *to)
{
	char *text = NULL;
	size_t n = 0;
	struct err err = ERR_INIT;

	CHECK_OK(file_read(from, 64 * MIB, &text, &n, &err), err);
	CHECK_OK(file_write(to, text, n, 0644, &err), err);
	free(text);
}

/* A statement on the store behind the ledger's back, with its triggers out of the way. */
static inline void scene_put(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	CHECK(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

static inline void scene_sql(const char *dir, const char *sql)
{
	char path[600];
	sqlite3 *db = NULL;
	char *why = NULL;

	snprintf(path, sizeof(path), "%s/ledger.db", dir);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		test_fails(__FILE__, __LINE__, "%s: %s", sql, why);
	sqlite3_close(db);
}

/* Turns a store into one that an earlier program made: version 1 kept no nodes, and until 2 the
 * indexes of hashes ran over the whole log. */
static inline void scene_older(const char *dir, int version)
{
	char sql[200];

	scene_sql(
		dir,
		"PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON;"
		" DROP INDEX entry_by_leaf; DROP INDEX entry_by_kind;"
		" DROP INDEX entry_ref_by_digest; DROP TRIGGER entry_no_update;"
		" DROP TRIGGER entry_no_delete; DROP TRIGGER entry_in_order;"
		" ALTER TABLE entry RENAME TO newer;"
		"CREATE TABLE entry (seq INTEGER PRIMARY KEY CHECK (seq >= 0), kind TEXT NOT NULL,"
		" at_ms INTEGER NOT NULL, leaf BLOB NOT NULL UNIQUE CHECK (length(leaf) = 32),"
		" bytes BLOB NOT NULL) STRICT;"
		"INSERT INTO entry SELECT * FROM newer; DROP TABLE newer;"
		"CREATE INDEX entry_by_kind ON entry (kind, seq);"
		"CREATE INDEX entry_ref_by_digest ON entry_ref (digest);"
		"CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN"
		" SELECT RAISE(ABORT, 'an entry is never changed'); END;"
		"CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN"
		" SELECT RAISE(ABORT, 'an entry is never deleted'); END;"
		"CREATE TRIGGER entry_in_order BEFORE INSERT ON entry"
		" WHEN NEW.seq IS NOT (SELECT size FROM log WHERE log_id = 1) BEGIN"
		" SELECT RAISE(ABORT, 'an entry is only added at the end'); END");
	if (version == 1)
		scene_sql(dir, "DROP TABLE node");
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	scene_sql(dir, sql);
}

/* Text for the rest of the test; nobody has to free it. */
static inline char *scene_keep(char *text)
{
	static char *kept[16];
	static unsigned at;
	char **to = &kept[at++ % 16];

	free(*to);
	*to = text;
	return text;
}

/* What `verify --all` finds: "CODE@seq CODE ...", without notes. */
static inline char *scene_verify_conf(const struct ledger_verify_conf *c, enum ledger_severity from)
{
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct str s = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_verify(c, &r, &err), err);
	for (size_t i = 0; i < r.n; i++) {
		if (r.v[i].severity < from)
			continue;
		str_addf(&s, "%s%s", s.n ? " " : "", ledger_code_name(r.v[i].code));
		if (r.v[i].seq != UINT64_MAX)
			str_addf(&s, "@%llu", (unsigned long long)r.v[i].seq);
	}
	return scene_keep(str_steal(&s));
}

static inline char *scene_verify(const char *dir)
{
	return scene_verify_conf(&(struct ledger_verify_conf){ .path = dir, .all = true },
				 LEDGER_MISSING);
}
