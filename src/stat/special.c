/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

/* Continued fraction of the incomplete beta function, modified Lentz. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 10000; m++) {
		double m2 = 2.0 * m;
		double e = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
		double delta;

		d = 1 + e * d;
		c = 1 + e / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		e = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
		d = 1 + e * d;
		c = 1 + e / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		delta = d * c;
		h *= delta;
		if (fabs(delta - 1) < 1e-16)
			break;
	}
	return h;
}

double ln_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

double ln_beta(double a, double b)
{
	return ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
}

double ibeta(double a, double b, double x)
{
	double front;

	if (isnan(x) || !(a > 0) || !(b > 0))
		return NAN;
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(a * log(x) + b * log1p(-x) - ln_beta(a, b));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ibeta_inv(double a, double b, double p)
{
	double lo = 0, hi = 1, x = 0.5;

	if (p <= 0)
		return 0;
	if (p >= 1)
		return 1;
	for (int i = 0; i < 200 && hi - lo > 0; i++) {
		double f = ibeta(a, b, x) - p;
		double slope = exp((a - 1) * log(x) + (b - 1) * log1p(-x) - ln_beta(a, b));
		double next;

		if (f > 0)
			hi = x;
		else
			lo = x;
		next = x - f / slope;
		if (!(next > lo && next < hi))
			next = lo + (hi - lo) / 2;
		if (fabs(next - x) <= 1e-16 * fabs(next))
			return next;
		x = next;
	}
	return x;
}

double norm_cdf(double z)
{
	return 0.5 * erfc(-z / sqrt(2));
}

/* AS 241 (Wichura 1988), routine PPND16. */
/* clang-format off */
static double as241(double p)
{
	double q = p - 0.5, r, x;

	if (fabs(q) <= 0.425) {
		r = 0.180625 - q * q;
		return q *
		       (((((((2509.0809287301226727 * r + 33430.575583588128105) * r +
			     67265.770927008700853) * r + 45921.953931549871457) * r +
			   13731.693765509461125) * r + 1971.5909503065514427) * r +
			 133.14166789178437745) * r + 3.387132872796366608) /
		       (((((((5226.495278852545925 * r + 28729.085735721942674) * r +
			     39307.89580009271061) * r + 21213.794301586595867) * r +
			   5394.1960214247511077) * r + 687.1870074920579083) * r +
			 42.313330701600911252) * r + 1.0);
	}
	r = sqrt(-log(q < 0 ? p : 1 - p));
	if (r <= 5) {
		r -= 1.6;
		x = (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r +
			  0.24178072517745061177) * r + 1.27045825245236838258) * r +
			3.64784832476320460504) * r + 5.7694972214606914055) * r +
		      4.6303378461565452959) * r + 1.42343711074968357734) /
		    (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r +
			  0.0151986665636164571966) * r + 0.14810397642748007459) * r +
			0.68976733498510000455) * r + 1.6763848301838038494) * r +
		      2.05319162663775882187) * r + 1.0);
	} else {
		r -= 5;
		x = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r +
			  0.0012426609473880784386) * r + 0.026532189526576123093) * r +
			0.29656057182850489123) * r + 1.7848265399172913358) * r +
		      5.4637849111641143699) * r + 6.6579046435011037772) /
		    (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r +
			  1.8463183175100546818e-5) * r + 7.868691311456132591e-4) * r +
			0.0148753612908506148525) * r + 0.13692988092273580531) * r +
		      0.59983220655588793769) * r + 1.0);
	}
	return q < 0 ? -x : x;
}
/* clang-format on */

double norm_quantile(double p)
{
	double x, e;

	if (!(p > 0 && p < 1))
		return p <= 0 ? -INFINITY : p >= 1 ? INFINITY : NAN;
	x = as241(p);
	e = norm_cdf(x) - p;
	return x - e * sqrt(2 * M_PI) * exp(x * x / 2);
}

double t_upper(double t, double df)
{
	double tail;

	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(t))
		return t > 0 ? 0 : 1;
	tail = 0.5 * ibeta(df / 2, 0.5, df / (df + t * t));
	return t > 0 ? tail : 1 - tail;
}

double t_cdf(double t, double df)
{
	return t_upper(-t, df);
}

double t_quantile(double p, double df)
{
	double tail = p < 0.5 ? p : 1 - p, x, t;

	if (isnan(p) || !(df > 0))
		return NAN;
	if (!(p > 0 && p < 1))
		return p <= 0 ? -INFINITY : INFINITY;
	if (p == 0.5)
		return 0;
	/* Near the middle x = df / (df + t^2) is close to 1 and would lose t: solve for 1 - x. */
	if (tail < 0.25) {
		x = ibeta_inv(df / 2, 0.5, 2 * tail);
		t = sqrt(df * (1 - x) / x);
	} else {
		x = ibeta_inv(0.5, df / 2, 1 - 2 * tail);
		t = sqrt(df * x / (1 - x));
	}
	return p < 0.5 ? -t : t;
}

double f_upper(double f, double d1, double d2)
{
	if (isnan(f))
		return NAN;
	if (isinf(f))
		return f > 0 ? 0 : 1;
	return f <= 0 ? 1 : ibeta(d2 / 2, d1 / 2, d2 / (d2 + d1 * f));
}

double binom_cdf(double k, double n, double p)
{
	k = floor(k);
	if (isnan(k) || isnan(n) || !(p >= 0 && p <= 1))
		return NAN;
	if (k < 0)
		return 0;
	if (k >= n)
		return 1;
	return ibeta(n - k, k + 1, 1 - p);
}

/* Gauss-Legendre, 16 points, the positive half (Abramowitz & Stegun, table 25.4). */
static const double gauss_x[] = { 0.095012509837637440185, 0.281603550779258913230,
				  0.458016777657227386342, 0.617876244402643748447,
				  0.755404408355003033895, 0.865631202387831743880,
				  0.944575023073232576078, 0.989400934991649932596 };
static const double gauss_w[] = { 0.189450610455068496285, 0.182603415044923588867,
				  0.169156519395002538189, 0.149595988816576732081,
				  0.124628971255533872052, 0.095158511682492784810,
				  0.062253523938647892863, 0.027152459411754094852 };

struct nct {
	double t, df, delta, ln_scale;
};

/* P(Z <= t s - delta) times the density of s = chi_df / sqrt(df) at s. */
static double nct_slice(const struct nct *k, double s)
{
	if (s <= 0)
		return 0;
	return exp(k->ln_scale + (k->df - 1) * log(s) - k->df * s * s / 2) *
	       norm_cdf(k->t * s - k->delta);
}

static double nct_part(const struct nct *k, double lo, double hi)
{
	const int panels = 32;
	double half = (hi - lo) / panels / 2, sum = 0;

	for (int i = 0; i < panels && half > 0; i++) {
		double mid = lo + (2 * i + 1) * half, part = 0;

		for (size_t j = 0; j < ARRAY_SIZE(gauss_x); j++)
			part += gauss_w[j] * (nct_slice(k, mid - half * gauss_x[j]) +
					      nct_slice(k, mid + half * gauss_x[j]));
		sum += part * half;
	}
	return sum;
}

double nct_cdf(double t, double df, double delta)
{
	/* s has mean near 1 and sd near 1 / sqrt(2 df); 13 of them on either side hold all but
	 * 1e-20 for any df >= 1 (its tails are lighter than the normal's above 1). */
	struct nct k = { t, df, delta, log(2) + df / 2 * log(df / 2) - ln_gamma(df / 2) };
	double reach = 13 / sqrt(2 * df), lo = MAX(0.0, 1 - reach), hi = 1 + reach;
	/* Where the normal part rises from 0 to 1: a few hundredths of the way when t is large. */
	double a = t != 0 ? (delta - 9) / t : lo, b = t != 0 ? (delta + 9) / t : lo;

	if (isnan(t) || isnan(delta) || !(df > 0))
		return NAN;
	a = MIN(MAX(a, lo), hi);
	b = MIN(MAX(b, lo), hi);
	return MIN(nct_part(&k, lo, MIN(a, b)) + nct_part(&k, MIN(a, b), MAX(a, b)) +
			   nct_part(&k, MAX(a, b), hi),
		   1.0);
}
