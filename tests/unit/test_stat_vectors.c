/* SPDX-License-Identifier: Apache-2.0 */
/* The building blocks against the vectors beside the checkout. */
#include "stat/stat.h"

#include "vectors.h"

#define IN(k)  json_object_get(json_object_get(c, "in"), k)
#define OUT(k) json_object_get(json_object_get(c, "out"), k)

static struct vectors vec;
#define EACH(name)                                                                                 \
	size_t at;                                                                                 \
	json_t *c;                                                                                 \
	vectors_load(name, &vec);                                                                  \
	json_array_foreach(vec.cases, at, c)

static void quantiles(void)
{
	EACH("quantiles")
	{
		size_t n;
		double *v = vector_array(IN("values"), &n), p = json_number_value(IN("p"));

		sort_doubles(v, n);
		VECTOR_NEAR(&vec, quantile_nearest(v, n, p), OUT("nearest_rank"));
		VECTOR_NEAR(&vec, quantile_sorted(v, n, p), OUT("type7"));
		VECTOR_NEAR(&vec, quantile_hd(v, n, p), OUT("harrell_davis"));
		free(v);
	}
}

static void summaries(void)
{
	EACH("summaries")
	{
		size_t n;
		double *v = vector_array(IN("values"), &n);

		VECTOR_NEAR(&vec, mean(v, n), OUT("mean"));
		VECTOR_NEAR(&vec, stdev(v, n), OUT("sd"));
		VECTOR_NEAR(&vec, median(v, n), OUT("median"));
		VECTOR_NEAR(&vec, mad(v, n), OUT("mad"));
		for (size_t i = 0; i < n; i++)
			v[i] = log(v[i]);
		VECTOR_NEAR(&vec, exp(mean(v, n)), OUT("geomean"));
		VECTOR_NEAR(&vec, stdev(v, n), OUT("log_sd"));
		VECTOR_NEAR(&vec, 1.4826 * mad(v, n), OUT("log_mad_sigma"));
		free(v);
	}
}

static void mann_whitney(void)
{
	EACH("mannwhitney_exact")
	{
		unsigned n = (unsigned)json_integer_value(IN("n_cand"));
		unsigned m = (unsigned)json_integer_value(IN("m_bank"));
		size_t i;
		json_t *row;

		json_array_foreach(OUT("rows"), i, row)
		{
			unsigned u = (unsigned)json_integer_value(json_object_get(row, "u"));
			char text[32];

			snprintf(text, sizeof(text), "%lld", (long long)mw_count_le(u, n, m));
			CHECK_STR(text, json_string_value(json_object_get(row, "count_le")));
			VECTOR_NEAR(&vec, mw_cdf(u, n, m), json_object_get(row, "p_le"));
		}
	}
}

static void shifts(void)
{
	EACH("hodges_lehmann")
	{
		size_t m, n;
		double *bank = vector_array(IN("bank"), &m), *cand = vector_array(IN("cand"), &n);
		bool higher = strcmp(json_string_value(IN("direction")), "higher") == 0;
		bool logs = strcmp(json_string_value(IN("scale")), "log") == 0;
		struct shift s;

		for (size_t i = 0; i < m; i++)
			bank[i] = (higher ? -1 : 1) * (logs ? log(bank[i]) : bank[i]);
		for (size_t i = 0; i < n; i++)
			if (!isinf(cand[i]))
				cand[i] = (higher ? -1 : 1) * (logs ? log(cand[i]) : cand[i]);
		shift_of(bank, m, cand, n, (int)json_integer_value(IN("c")), &s);
		VECTOR_NEAR(&vec, s.shift, OUT("shift"));
		VECTOR_NEAR(&vec, s.lcb, OUT("lcb"));
		VECTOR_NEAR(&vec, s.ucb, OUT("ucb"));
		CHECK_INT(s.u_le_0, json_integer_value(OUT("u_le_0")));
		VECTOR_NEAR(&vec, s.p_worse, OUT("p_worse"));
		free(bank);
		free(cand);
	}
}

static void sequential_tables(void)
{
	EACH("sequential_table")
	{
		unsigned m = (unsigned)json_integer_value(IN("m_bank")), looks[STAT_MAX_LOOKS];
		size_t n = json_array_size(IN("looks")), k;
		double *spend = vector_array(IN("spend"), &k), cum[STAT_MAX_LOOKS];
		int got[STAT_MAX_LOOKS];

		if (m > 8 && json_integer_value(json_array_get(IN("looks"), n - 1)) > 8)
			continue; /* seconds each: the slow suite makes these */
		for (size_t i = 0; i < n; i++)
			looks[i] = (unsigned)json_integer_value(json_array_get(IN("looks"), i));
		sequential_counts(m, looks, spend, n, json_number_value(IN("alpha")), got, cum);
		for (size_t i = 0; i < n; i++) {
			CHECK_INT(got[i], json_integer_value(json_array_get(OUT("c"), i)));
			VECTOR_NEAR(&vec, cum[i],
				    json_array_get(OUT("cumulative_false_accept"), i));
		}
		free(spend);
	}
}

static void holms(void)
{
	EACH("holm")
	{
		size_t n;
		double *p = vector_array(IN("p"), &n), *got = calloc(n + 1, sizeof(*got));

		holm(p, n, got);
		for (size_t i = 0; i < n; i++)
			VECTOR_NEAR(&vec, got[i], json_array_get(OUT("adjusted"), i));
		free(p);
		free(got);
	}
}

static void components(void)
{
	EACH("variance_components")
	{
		struct variance_components vc;
		double v[1000];
		size_t group[1000], n = 0, g, i;
		json_t *list, *x;

		json_array_foreach(IN("groups"), g, list) json_array_foreach(list, i, x)
		{
			v[n] = json_number_value(x);
			group[n++] = g;
		}
		variance_components(v, group, n, json_array_size(IN("groups")), &vc);
		VECTOR_NEAR(&vec, vc.msb, OUT("msb"));
		VECTOR_NEAR(&vec, vc.n0, OUT("n0"));
		VECTOR_NEAR(&vec, vc.var_between, OUT("var_session"));
		VECTOR_NEAR(&vec, vc.icc, OUT("icc"));
		VECTOR_NEAR(&vec, vc.f, OUT("F"));
		VECTOR_NEAR(&vec, vc.p, OUT("p"));
	}
}

static void proportions(void)
{
	EACH("proportions")
	{
		unsigned x = (unsigned)json_integer_value(IN("x")),
			 n = (unsigned)json_integer_value(IN("n"));
		double lo, hi;

		if (!OUT("cp_lower_95_one_sided"))
			continue;
		wilson(x, n, 0.95, &lo, &hi);
		VECTOR_NEAR(&vec, cp_lower(x, n, 0.95), OUT("cp_lower_95_one_sided"));
		VECTOR_NEAR(&vec, cp_upper(x, n, 0.95), OUT("cp_upper_95_one_sided"));
		VECTOR_NEAR(&vec, lo, OUT("wilson_lo_95"));
		VECTOR_NEAR(&vec, hi, OUT("wilson_hi_95"));
	}
}

static void tolerance(void)
{
	EACH("tolerance_factor")
	VECTOR_NEAR(&vec,
		    tolerance_factor((unsigned)json_integer_value(IN("n")),
				     json_number_value(IN("coverage")),
				     json_number_value(IN("confidence"))),
		    OUT("k"));
}

TEST_MAIN(TEST(quantiles), TEST(summaries), TEST(mann_whitney), TEST(shifts),
	  TEST(sequential_tables), TEST(holms), TEST(components), TEST(proportions),
	  TEST(tolerance))
