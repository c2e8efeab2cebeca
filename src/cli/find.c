/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/find.h"

#include "base/err.h"

struct finding {
	const char *name, *workload;
	uint64_t seq;
	size_t n;
	char run[64];
};

static int on_verdict(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct finding *f = arg;
	const char *run = json_str_or(e->body, "run", "");

	(void)err;
	if (f->workload && !streq(json_str_or(e->body, "workload", ""), f->workload))
		return 0;
	if (f->name && !strstr(run, f->name) && !str_starts(e->ref.hex, f->name))
		return 0;
	if (f->n && streq(f->run, run))
		return 0;
	if (!f->n)
		f->seq = e->ref.seq;
	(void)snprintf(f->run, sizeof(f->run), "%s", run);
	f->n++;
	return f->name ? 0 : 1;
}

int find_verdict(struct cli *cli, const char *name, struct ledger_entry *ret, struct err *err)
{
	static const char *const kinds[] = { "verdict", NULL };
	struct ledger_filter filter = { .kinds = kinds, .newest_first = true };
	struct finding f = { .name = name && streq(name, "latest") ? NULL : name };

	if (!f.name)
		f.workload = cli->contract.workload.name;
	TRY(ledger_each(cli->ledger, &filter, on_verdict, &f, err));
	if (!f.n) {
		if (!f.name)
			bail(err, ERR_UNSUPPORTED, "no run of '%s' has a verdict yet",
			     f.workload ? f.workload : "any workload");
		else
			bail(err, ERR_NOT_FOUND, "no verdict of a run '%s'", f.name);
		err_hint(err, "'twice log' lists the runs.");
		return -(int)err->code;
	}
	if (f.n > 1)
		return bail(err, ERR_PARSE, "'%s' fits several runs", f.name);
	return ledger_get(cli->ledger, f.seq, ret, err);
}
