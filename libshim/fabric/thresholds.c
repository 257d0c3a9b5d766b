/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/thresholds.h"

double ccs_thresholds_rest(const struct ccs_thresholds *t)
{
	return t->buffer - t->priorities * t->ports * t->flight;
}

double ccs_thresholds_pfc_static(const struct ccs_thresholds *t)
{
	return ccs_thresholds_rest(t) / (t->priorities * t->ports);
}

double ccs_thresholds_pfc_dynamic(const struct ccs_thresholds *t, double used)
{
	return t->beta * (ccs_thresholds_rest(t) - used) / t->priorities;
}

double ccs_thresholds_ecn_static(const struct ccs_thresholds *t)
{
	return ccs_thresholds_pfc_static(t) / t->ports;
}

/* n * t = t_PFC(s) and s = per_port * n * t, solved for t. */
double ccs_thresholds_ecn_dynamic(const struct ccs_thresholds *t, double per_port)
{
	return t->beta * ccs_thresholds_rest(t) /
	       (t->ports * (t->priorities + t->beta * per_port));
}
