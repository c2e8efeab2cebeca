/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static void agrees_with_published_tables(void)
{
	CHECK_NEAR(norm_quantile(0.975), 1.959963984540054, 1e-14);
	CHECK_NEAR(norm_quantile(1e-10), -6.361340902404056, 1e-11);
	CHECK_NEAR(norm_cdf(1), 0.8413447460685429, 1e-15);
	CHECK_NEAR(t_quantile(0.975, 4), 2.7764451051977987, 1e-11);
	CHECK_NEAR(t_quantile(0.99, 9), 2.821437925025808, 1e-11);
	CHECK_NEAR(t_cdf(2.0, 10), 0.9633059826146299, 1e-12);
	CHECK_NEAR(f_upper(4.256494729093748, 2, 9), 0.05, 1e-10);
	CHECK_NEAR(ibeta(2, 3, 0.4), 0.5248, 1e-14); /* closed form: 1 - sum of binomials */
}

static void inverts_itself(void)
{
	for (int a = 1; a <= 30; a += 7)
		for (int b = 1; b <= 30; b += 7)
			for (double p = 0.001; p < 1; p += 0.111)
				CHECK_NEAR(ibeta(a, b, ibeta_inv(a, b, p)), p, 1e-11);
	CHECK_NEAR(norm_cdf(norm_quantile(0.123)), 0.123, 1e-15);
	CHECK(isinf(norm_quantile(0)) && isinf(t_quantile(1, 5)));
}

static void tails_are_exact_far_out(void)
{
	/* 1 - t_cdf would be 0 here. Cauchy: P(T > t) = atan(1/t)/pi. */
	CHECK_NEAR(t_upper(1e6, 1), atan(1e-6) / M_PI, 1e-20);
	CHECK_NEAR(t_quantile(0.5 + 1e-6, 3), 1e-6 / 0.36755259694786137, 1e-14);
	CHECK(t_upper(INFINITY, 4) == 0 && t_upper(-INFINITY, 4) == 1);
	CHECK(isnan(t_upper(NAN, 4)) && isnan(t_quantile(NAN, 4)) && isnan(t_quantile(0.5, 0)));
	CHECK(f_upper(INFINITY, 2, 3) == 0 && f_upper(-1, 2, 3) == 1 && isnan(f_upper(NAN, 2, 3)));
	/* Two degrees of freedom have a closed form: t = (2p-1)/sqrt(2p(1-p)). */
	for (double p = 0.05; p < 1; p += 0.09)
		CHECK_NEAR(t_quantile(p, 2), (2 * p - 1) / sqrt(2 * p * (1 - p)), 1e-12);
}

static void binomials_by_counting(void)
{
	CHECK_NEAR(binom_cdf(2, 5, 0.5), 0.5, 1e-15);
	CHECK_NEAR(binom_cdf(0, 3, 0.2), 0.512, 1e-15);
	CHECK(binom_cdf(-1, 3, 0.2) == 0 && binom_cdf(3, 3, 0.2) == 1);
	CHECK_NEAR(binom_cdf(1, 3, 0), 1, 0);
	CHECK_NEAR(binom_cdf(1, 3, 1), 0, 0);
	CHECK(isnan(binom_cdf(1, 3, 1.5)));
}

/* Noncentral t: delta 0 is Student's; t = 0 is P(Z < -delta) for any df; one degree of freedom
 * with Owen's T left aside, the symmetry P(T <= t; d) = 1 - P(T <= -t; -d). */
static void noncentral_t_by_its_identities(void)
{
	for (int df = 1; df <= 60; df += 7) {
		CHECK_NEAR(nct_cdf(1.3, df, 0), t_cdf(1.3, df), 1e-12);
		CHECK_NEAR(nct_cdf(-4, df, 0), t_cdf(-4, df), 1e-12);
		CHECK_NEAR(nct_cdf(0, df, 1.5), norm_cdf(-1.5), 1e-12);
		CHECK_NEAR(nct_cdf(2.5, df, 1), 1 - nct_cdf(-2.5, df, -1), 1e-12);
	}
	CHECK_NEAR(nct_cdf(3.1, 5000, 1), norm_cdf(2.1), 2e-3);
}

TEST_MAIN(TEST(agrees_with_published_tables), TEST(inverts_itself), TEST(tails_are_exact_far_out),
	  TEST(binomials_by_counting), TEST(noncentral_t_by_its_identities))
