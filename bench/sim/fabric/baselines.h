/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_BASELINES_H
#define BENCH_SIM_BASELINES_H
/*
 * Algorithms to compare with, beside the algorithms of libshim/cc: TCP (driver_tcp.c), which is
 * Reno, whose packets switches drop where they would mark others, and DCTCP; receivers' credits as
 * in EQDS (driver_credit.c); and a window as Ultra Ethernet's NSCC has (driver_nscc.c). The
 * algorithms have a name, parameters and needs; a driver for each does the rest.
 */
#include <math.h>

#include "cc/cc.h"

struct driver;

extern const struct ccs_cc_ops fab_reno, fab_dctcp, fab_eqds, fab_nscc;

/* The driver of such an algorithm; NULL: it is one of libshim/cc. */
const struct driver *fab_baseline(const struct ccs_cc_spec *spec);

/* As ccs_cc_parse, for these as well. False with a sentence in err. */
bool fab_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t len);

/* The value of a parameter: as given, or the default. */
static inline double fab_param(const struct ccs_cc_spec *spec, unsigned i)
{
	return isnan(spec->given[i]) ? spec->ops->params[i].def : spec->given[i];
}

#endif
