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

		for (size_t i = 0; i < n; i++)
			looks[i] = (unsigned)json_integer_value(json_array_get(IN("looks"), i));
		CHECK(sequential_counts(m, looks, spend, n, json_number_value(IN("alpha")), got,
					cum));
		for (size_t i = 0; i < n; i++) {
			CHECK_INT(got[i], json_integer_value(json_array_get(OUT("c"), i)));
			VECTOR_NEAR(&vec, cum[i],
				    json_array_get(OUT("cumulative_false_accept"), i));
			VECTOR_NEAR(&vec, got[i] < 0 ? 0 : mw_cdf((unsigned)got[i], looks[i], m),
				    json_array_get(OUT("nominal"), i));
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

static void autocorrelations(void)
{
	EACH("autocorrelation")
	{
		size_t n;
		double *v = vector_array(IN("x"), &n);

		VECTOR_NEAR(&vec, autocorrelation(v, n), OUT("r1"));
		VECTOR_NEAR(&vec, effective_size(v, n), OUT("ess"));
		free(v);
	}
}

static void order_statistics(void)
{
	EACH("order_statistic_bounds")
	{
		double p = json_number_value(IN("p")), conf = json_number_value(IN("confidence"));
		unsigned n = (unsigned)json_integer_value(IN("n"));

		if (IN("over_limit")) {
			CHECK_INT(requests_needed((unsigned)json_integer_value(IN("over_limit")), p,
						  conf),
				  json_integer_value(OUT("min_requests")));
			continue;
		}
		/* null reads as 0, as does "not available" */
		CHECK_INT(quantile_upper_rank(n, p, conf), json_integer_value(OUT("upper_rank")));
		CHECK_INT(quantile_lower_rank(n, p, conf), json_integer_value(OUT("lower_rank")));
	}
}

static void t_tests(void)
{
	EACH("ttests")
	{
		size_t n, m;
		double *a = vector_array(IN("a"), &n), *b = vector_array(IN("b"), &m), lo, hi, p;
		const json_t *tost = OUT("tost_5pct");
		struct t_test w, q;

		t_welch(a, n, b, m, &w);
		t_pooled(a, n, b, m, &q);
		p = t_tost(&w, log(1.05), &lo, &hi);
		VECTOR_NEAR(&vec, w.diff, OUT("diff"));
		VECTOR_NEAR(&vec, w.se, OUT("se_welch"));
		VECTOR_NEAR(&vec, w.df, OUT("df_welch"));
		VECTOR_NEAR(&vec, w.t, OUT("t_welch"));
		VECTOR_NEAR(&vec, w.p_greater, OUT("p_welch_greater"));
		VECTOR_NEAR(&vec, q.se, OUT("se_pooled"));
		VECTOR_NEAR(&vec, q.df, OUT("df_pooled"));
		VECTOR_NEAR(&vec, q.t, OUT("t_pooled"));
		VECTOR_NEAR(&vec, q.p_greater, OUT("p_pooled_greater"));
		VECTOR_NEAR(&vec, lo, json_object_get(tost, "p_lower"));
		VECTOR_NEAR(&vec, hi, json_object_get(tost, "p_upper"));
		VECTOR_NEAR(&vec, p, json_object_get(tost, "p"));
		free(a);
		free(b);
	}
}

static void generator(const json_t *c)
{
	uint64_t seed = (uint64_t)json_integer_value(IN("seed"));
	struct rng a = { seed }, b = { seed }, d = { seed };
	char text[32];
	size_t i;
	json_t *x;

	json_array_foreach(OUT("first8"), i, x)
	{
		snprintf(text, sizeof(text), "%llu", (unsigned long long)rng_next(&a));
		CHECK_STR(text, json_string_value(x));
	}
	json_array_foreach(OUT("index10_first20"), i, x)
		CHECK_INT(rng_below(&b, 10), json_integer_value(x));
	json_array_foreach(OUT("u01_first4"), i, x) VECTOR_NEAR(&vec, rng_unit(&d), x);
}

static double mean_of(const void *arg, const size_t *pick, size_t n)
{
	const double *v = arg;
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[pick[i]];
	return s / (double)n;
}

static double hd95_of(const void *arg, const size_t *pick, size_t n)
{
	const double *v = arg;
	double x[200];

	for (size_t i = 0; i < n; i++)
		x[i] = v[pick[i]];
	sort_doubles(x, n);
	return quantile_hd(x, n, 0.95);
}

static void bootstraps(void)
{
	EACH("bootstrap")
	{
		const char *name = json_string_value(json_object_get(c, "name"));
		struct bootstrap b;
		bool mean_wanted;
		double *v;
		size_t n;

		if (strcmp(name, "generator") == 0) {
			generator(c);
			continue;
		}
		mean_wanted = strcmp(json_string_value(IN("statistic")), "mean") == 0;
		v = vector_array(IN("values"), &n);
		CHECK(n <= 200);
		bootstrap_bca(mean_wanted ? mean_of : hd95_of, v, n,
			      (unsigned)json_integer_value(IN("replicates")),
			      (uint64_t)json_integer_value(IN("seed")),
			      json_number_value(IN("confidence")), &b);
		VECTOR_NEAR(&vec, b.theta, OUT("theta"));
		VECTOR_NEAR(&vec, b.z0, OUT("z0"));
		VECTOR_NEAR(&vec, b.a, OUT("a"));
		VECTOR_NEAR(&vec, b.lo, OUT("lo"));
		VECTOR_NEAR(&vec, b.hi, OUT("hi"));
		VECTOR_NEAR(&vec, b.least, OUT("rep_min"));
		VECTOR_NEAR(&vec, b.most, OUT("rep_max"));
		free(v);
	}
}

static void signed_ranks(void)
{
	EACH("signed_rank")
	{
		size_t n;
		double *d = vector_array(IN("d"), &n);
		struct signed_rank r;

		signed_rank(d, n, &r);
		VECTOR_NEAR(&vec, r.w, OUT("W"));
		VECTOR_NEAR(&vec, r.p_greater, OUT("p_greater"));
		VECTOR_NEAR(&vec, r.p_less, OUT("p_less"));
		free(d);
	}
}

static void plans(void)
{
	EACH("planning")
	{
		struct plan_look got[STAT_MAX_LOOKS];
		unsigned looks[STAT_MAX_LOOKS], more;
		int counts[STAT_MAX_LOOKS];
		size_t n = json_array_size(IN("looks"));
		bool rejects = false;

		for (size_t k = 0; k < n; k++) {
			looks[k] = (unsigned)json_integer_value(json_array_get(IN("looks"), k));
			counts[k] = (int)json_integer_value(json_array_get(IN("c"), k));
		}
		plan_looks((unsigned)json_integer_value(IN("m_bank")), looks, counts, n,
			   json_number_value(IN("sigma")),
			   (unsigned)json_integer_value(IN("gating_metrics")),
			   json_number_value(IN("alpha_reject")), json_number_value(IN("rho")),
			   got);
		for (size_t k = 0; k < n; k++) {
			const json_t *x = json_array_get(OUT("looks"), k);

			CHECK_INT(got[k].look, json_integer_value(json_object_get(x, "look")));
			CHECK_INT(got[k].claim, !json_is_null(json_object_get(x, "h")));
			if (!got[k].claim)
				continue;
			VECTOR_NEAR(&vec, got[k].nominal, json_object_get(x, "nominal"));
			VECTOR_NEAR(&vec, got[k].h, json_object_get(x, "h"));
			VECTOR_NEAR(&vec, got[k].h_reject, json_object_get(x, "h_reject"));
		}
		more = plan_more(got, n, json_number_value(IN("estimate")),
				 json_number_value(IN("margin")),
				 (unsigned)json_integer_value(IN("runs_done")), &rejects);
		CHECK_INT(more, json_integer_value(json_object_get(OUT("advice"), "run_more")));
		if (more)
			CHECK_STR(rejects ? "reject" : "accept",
				  json_string_value(json_object_get(OUT("advice"), "toward")));
	}
}

static void paired_items(void)
{
	EACH("paired_binary")
	{
		unsigned n = (unsigned)json_integer_value(IN("items"));
		unsigned b = (unsigned)json_integer_value(IN("base_only_right"));
		unsigned now = (unsigned)json_integer_value(IN("cand_only_right"));
		double z = norm_quantile(0.99);

		if (OUT("items_needed")) {
			CHECK_INT(items_needed(json_number_value(IN("discordance")),
					       json_number_value(IN("margin")),
					       json_number_value(IN("alpha")),
					       json_number_value(IN("beta"))),
				  json_integer_value(OUT("items_needed")));
			continue;
		}
		VECTOR_NEAR(&vec, ((double)now - b) / n, OUT("diff"));
		VECTOR_NEAR(&vec, tango_z(n, b, now, 0.01), OUT("tango_z_minus_1pp"));
		VECTOR_NEAR(&vec, tango_z(n, b, now, 0.02), OUT("tango_z_minus_2pp"));
		VECTOR_NEAR(&vec, tango_lower(n, b, now, 0.99), OUT("tango_lower_99"));
		VECTOR_NEAR(&vec, mcnemar_exact(b, now), OUT("mcnemar_exact_two_sided"));
		CHECK_INT(tango_z(n, b, now, 0.01) > z, json_is_true(OUT("accept_at_1pp")));
		CHECK_INT(tango_z(n, b, now, 0.02) > z, json_is_true(OUT("accept_at_2pp")));
	}
}

static struct text *texts_of(const json_t *list, size_t *ret_n)
{
	struct text *t = calloc(json_array_size(list) + 1, sizeof(*t));

	*ret_n = json_array_size(list);
	for (size_t i = 0; i < *ret_n; i++) {
		const json_t *tokens = json_array_get(list, i);
		int64_t *v = calloc(json_array_size(tokens) + 1, sizeof(*v));

		t[i].n = json_array_size(tokens);
		for (size_t k = 0; k < t[i].n; k++)
			v[k] = json_integer_value(json_array_get(tokens, k));
		t[i].token = v;
	}
	return t;
}

static void texts_free(const struct text *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)t[i].token);
	free((void *)t);
}

static void texts(void)
{
	EACH("text_divergence")
	{
		const json_t *list = IN("prompts"), *sum = OUT("summary");
		struct text_prompt *p = calloc(json_array_size(list) + 1, sizeof(*p));
		struct text_divergence d;
		size_t n = json_array_size(list);

		for (size_t i = 0; i < n; i++) {
			const json_t *one = json_array_get(list, i);
			const json_t *want = json_array_get(OUT("per_prompt"), i);
			struct text_agreement a;

			p[i].base = texts_of(json_object_get(one, "base"), &p[i].n_base);
			p[i].cand = texts_of(json_object_get(one, "cand"), &p[i].n_cand);
			text_agree(&p[i], &a);
			VECTOR_NEAR(&vec, a.self, json_object_get(want, "s_match"));
			VECTOR_NEAR(&vec, a.cross, json_object_get(want, "c_match"));
			VECTOR_NEAR(&vec, a.diverged_self, json_object_get(want, "Ds"));
			VECTOR_NEAR(&vec, a.tokens_self, json_object_get(want, "Ts"));
			VECTOR_NEAR(&vec, a.diverged_cross, json_object_get(want, "Dc"));
			VECTOR_NEAR(&vec, a.tokens_cross, json_object_get(want, "Tc"));
		}
		text_divergence(p, n, &d);
		VECTOR_NEAR(&vec, d.self, json_object_get(sum, "self_match"));
		VECTOR_NEAR(&vec, d.cross, json_object_get(sum, "cross_match"));
		VECTOR_NEAR(&vec, d.drop, json_object_get(sum, "mean_drop"));
		VECTOR_NEAR(&vec, d.se_drop, json_object_get(sum, "se_drop"));
		VECTOR_NEAR(&vec, d.upper99, json_object_get(sum, "upper99"));
		VECTOR_NEAR(&vec, d.rate_self, json_object_get(sum, "hazard_self"));
		VECTOR_NEAR(&vec, d.rate_cross, json_object_get(sum, "hazard_cross"));
		VECTOR_NEAR(&vec, d.log_ratio, json_object_get(sum, "log_ratio"));
		VECTOR_NEAR(&vec, d.se_log_ratio, json_object_get(sum, "se_log_ratio"));
		for (size_t i = 0; i < n; i++) {
			texts_free(p[i].base, p[i].n_base);
			texts_free(p[i].cand, p[i].n_cand);
		}
		free(p);
	}
}

static void e_values(void)
{
	EACH("evalues")
	{
		const char *name = json_string_value(json_object_get(c, "name"));
		size_t n;

		if (strcmp(name, "beta_binomial") == 0) {
			VECTOR_NEAR(&vec,
				    evalue_beta((unsigned)json_integer_value(IN("successes")),
						(unsigned)json_integer_value(IN("failures")),
						json_number_value(IN("p0"))),
				    OUT("log_e"));
		} else if (strcmp(name, "betting") == 0) {
			double *x = vector_array(IN("x"), &n);
			struct bettor b;

			bettor_init(&b, json_number_value(IN("mu0")), json_number_value(IN("c")));
			for (size_t i = 0; i < n; i++) {
				bettor_add(&b, x[i]);
				VECTOR_NEAR(&vec, b.log_e, json_array_get(OUT("log_e_path"), i));
			}
			free(x);
		} else {
			double *x = vector_array(IN("x"), &n), t;

			CHECK_STR(name, "t_mixture");
			VECTOR_NEAR(&vec, evalue_t(x, n, json_number_value(IN("tau")), &t),
				    OUT("log_e"));
			VECTOR_NEAR(&vec, t, OUT("t"));
			free(x);
		}
	}
}

static void change_points(void)
{
	EACH("change_point")
	{
		size_t n, split;
		double *z = vector_array(IN("z"), &n), most, q[200];

		CHECK(n <= 200);
		change_point(z, n, &split, &most, q);
		CHECK_INT(split, json_integer_value(OUT("split")));
		VECTOR_NEAR(&vec, most, OUT("q"));
		CHECK_INT(json_array_size(OUT("q_by_tau_from_2")), n - 3);
		for (size_t k = 0; k + 3 < n; k++)
			VECTOR_NEAR(&vec, q[k], json_array_get(OUT("q_by_tau_from_2"), k));
		free(z);
	}
}

TEST_MAIN(TEST(quantiles), TEST(summaries), TEST(mann_whitney), TEST(shifts),
	  TEST(sequential_tables), TEST(holms), TEST(components), TEST(proportions),
	  TEST(tolerance), TEST(autocorrelations), TEST(order_statistics), TEST(t_tests),
	  TEST(bootstraps), TEST(signed_ranks), TEST(plans), TEST(paired_items), TEST(texts),
	  TEST(e_values), TEST(change_points))
