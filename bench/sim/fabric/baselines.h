/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_BASELINES_H
#define BENCH_SIM_BASELINES_H
/*
 * Algorithms to compare with, beside those of libshim/cc: TCP (driver_tcp.h), receivers' credits as in EQDS
 * (driver_credit.c), and a window as Ultra Ethernet's NSCC has (driver_nscc.c). Of these only the name, the
 * parameters and what they need are defined; a driver for each does the rest.
 */
#include "cc/cc.h"

struct driver;

extern const struct ccs_cc_ops fab_reno, fab_dctcp, fab_eqds, fab_nscc;

/* The driver of such an algorithm; NULL: it is one of libshim/cc. */
const struct driver *fab_baseline(const struct ccs_cc_spec *spec);

/* As ccs_cc_parse, for these as well. False with a sentence in err. */
bool fab_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t len);

/* The value of a parameter: as given, or the default. */
double fab_param(const struct ccs_cc_spec *spec, unsigned i);

#endif
