/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/red.h"

double ccs_red_probability(const struct ccs_red *red, double qlen_bytes)
{
	if (qlen_bytes <= red->kmin)
		return 0;
	if (qlen_bytes > red->kmax)
		return 1;
	return red->pmax * (qlen_bytes - red->kmin) / (red->kmax - red->kmin);
}

bool ccs_red_mark(const struct ccs_red *red, double qlen_bytes, double dice)
{
	return dice < ccs_red_probability(red, qlen_bytes);
}
