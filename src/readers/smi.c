/* SPDX-License-Identifier: Apache-2.0 */
/* Short answers of nvidia-smi and amd-smi. */
#include "readers/readers.h"

#include "base/err.h"
#include "readers/clean.h"

#define MAX_COLUMNS 512
#define MAX_ROWS    4096

/* "power.limit [W]" -> "power.limit" */
static struct sv without_unit(struct sv v)
{
	if (v.n && v.p[v.n - 1] == ']') {
		for (size_t i = v.n; i-- > 1;) {
			if (v.p[i] == '[' && v.p[i - 1] == ' ') {
				v.n = i - 1;
				break;
			}
		}
	}
	return sv_trim(v);
}

static void add_row(struct smi_csv *t, struct sv line)
{
	size_t n = t->columns.n;
	char **cells = xcalloc((t->rows + 1) * n, sizeof(*cells));

	if (t->rows)
		memcpy(cells, t->cells, t->rows * n * sizeof(*cells));
	free(t->cells);
	t->cells = cells;
	cells += t->rows * n;
	t->rows++;
	for (size_t i = 0; i < n; i++) {
		struct sv cell;

		if (!sv_split(&line, ',', &cell))
			return;
		cell = sv_trim(cell);
		if (!word_not_available(cell))
			cells[i] = text_clean(cell);
	}
}

/* Names of columns are lower case with dots: anything else is a message, not a table. */
static bool is_header(struct sv line)
{
	struct sv cell;

	if (!line.n)
		return false;
	while (sv_split(&line, ',', &cell)) {
		cell = without_unit(sv_trim(cell));
		if (!cell.n)
			return false;
		for (size_t i = 0; i < cell.n; i++)
			if (cell.p[i] == ' ' || cell.p[i] == ':' || (unsigned char)cell.p[i] < ' ')
				return false;
	}
	return true;
}

int smi_csv_read(struct sv text, struct smi_csv *ret, struct err *err)
{
	struct smi_csv t CLEANUP(smi_csv_release) = { 0 };
	struct str clean CLEANUP(str_release) = { 0 };
	struct sv line, cell;

	str_init(&clean, 64 * KIB);
	while (sv_line(&text, &line)) {
		struct sv v = sv_trim(line_clean(line, &clean));

		if (!v.n)
			continue;
		if (t.columns.n) {
			if (t.rows >= MAX_ROWS)
				return bail(err, ERR_LIMIT, "more than %d rows", MAX_ROWS);
			add_row(&t, v);
			continue;
		}
		if (!is_header(v)) {
			AUTO_FREE char *what = text_clean(v);

			return bail(err, ERR_PARSE, "no table: '%.120s'", what);
		}
		while (sv_split(&v, ',', &cell) && t.columns.n < MAX_COLUMNS)
			strs_take(&t.columns, sv_dup(without_unit(sv_trim(cell))));
	}
	if (!t.rows)
		return bail(err, ERR_PARSE, "no row");
	*ret = t;
	t = (struct smi_csv){ 0 };
	return 0;
}

void smi_csv_release(struct smi_csv *t)
{
	for (size_t i = 0; i < t->rows * t->columns.n; i++)
		free(t->cells[i]);
	free(t->cells);
	strs_release(&t->columns);
	*t = (struct smi_csv){ 0 };
}

ptrdiff_t smi_csv_column(const struct smi_csv *t, const char *name)
{
	for (size_t i = 0; i < t->columns.n; i++)
		if (streq(t->columns.v[i], name))
			return (ptrdiff_t)i;
	return -1;
}

const char *smi_csv_at(const struct smi_csv *t, size_t row, size_t column)
{
	return row < t->rows && column < t->columns.n ? t->cells[row * t->columns.n + column]
						      : NULL;
}

/* ---- amd-smi version ------------------------------------------------------------------------- */

/*
 * AMDSMI Tool: 25.3.0+ede62f2 | AMDSMI Library version: 25.3.0 | ROCm version: 6.4.0 | amdgpu
 * version: ..
 * With the driver of the kernel tree the last part is the kernel's whole banner: no version at all.
 */
static char *part_of(struct sv part, const char *key)
{
	ptrdiff_t at = sv_find(part, SV(":"));
	struct sv name, value;

	if (at < 0)
		return NULL;
	name = sv_trim((struct sv){ part.p, (size_t)at });
	value = sv_trim((struct sv){ part.p + at + 1, part.n - (size_t)at - 1 });
	if (!sv_is(name, key) || word_not_available(value) || sv_starts(value, "Linuxversion") ||
	    value.n > 100)
		return NULL;
	return text_clean(value);
}

int amd_smi_version_read(struct sv text, struct amd_smi_version *ret, struct err *err)
{
	struct amd_smi_version v CLEANUP(amd_smi_version_release) = { 0 };
	struct str clean CLEANUP(str_release) = { 0 };
	struct sv line, part;

	str_init(&clean, 64 * KIB);
	while (!v.tool && sv_line(&text, &line)) {
		struct sv rest = line_clean(line, &clean);
		char **to[] = { &v.tool, &v.library, &v.rocm, &v.driver };
		static const char *const keys[] = { "AMDSMI Tool", "AMDSMI Library version",
						    "ROCm version", "amdgpu version" };

		while (sv_split(&rest, '|', &part))
			for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
				if (!*to[i])
					*to[i] = part_of(part, keys[i]);
	}
	if (!v.tool)
		return bail(err, ERR_PARSE, "no line 'AMDSMI Tool'");
	*ret = v;
	v = (struct amd_smi_version){ 0 };
	return 0;
}

void amd_smi_version_release(struct amd_smi_version *v)
{
	free(v->tool);
	free(v->library);
	free(v->rocm);
	free(v->driver);
	*v = (struct amd_smi_version){ 0 };
}
