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

TEST_MAIN(TEST(agrees_with_published_tables), TEST(inverts_itself))
