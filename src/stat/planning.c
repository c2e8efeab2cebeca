/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

void plan_looks(unsigned m, const unsigned *looks, const int *c, size_t n_looks, double sd,
		unsigned gates, double alpha_reject, double rho, struct plan_look *ret)
{
	double z_reject = norm_quantile(1 - rho * alpha_reject / MAX(gates, 1u));

	for (size_t k = 0; k < n_looks; k++) {
		struct plan_look *x = &ret[k];
		double scale = sd * sqrt(1.0 / m + 1.0 / looks[k]);

		*x = (struct plan_look){ looks[k], c[k] >= 0, NAN, NAN, NAN };
		if (!x->claim)
			continue;
		x->nominal = mw_cdf((unsigned)c[k], looks[k], m);
		x->h = norm_quantile(1 - x->nominal) * scale;
		x->h_reject = z_reject * scale;
	}
}

unsigned plan_more(const struct plan_look *looks, size_t n, double estimate, double margin,
		   unsigned done, bool *ret_rejects)
{
	for (size_t k = 0; k < n; k++) {
		if (looks[k].look <= done || !looks[k].claim || !(estimate + looks[k].h < margin))
			continue;
		*ret_rejects = false;
		return looks[k].look - done;
	}
	for (size_t k = 0; k < n; k++) {
		if (looks[k].look <= done || !looks[k].claim || !(estimate >= margin) ||
		    !(estimate - looks[k].h_reject > 0))
			continue;
		*ret_rejects = true;
		return looks[k].look - done;
	}
	return 0;
}
