/* SPDX-License-Identifier: BSD-2-Clause */
#include "repeats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct repeats repeats_of(double *v, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		if (!isnan(v[i]))
			v[k++] = v[i];
	if (!k)
		return (struct repeats){ NAN, NAN, NAN };
	qsort(v, k, sizeof(*v), by_value);
	return (struct repeats){ (v[(k - 1) / 2] + v[k / 2]) / 2, v[0], v[k - 1] };
}
