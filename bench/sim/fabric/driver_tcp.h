/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_TCP_H
#define BENCH_SIM_TCP_H
/*
 * TCP as a baseline, beside the algorithms of libshim/cc: Reno, whose packets switches drop where
 * they would mark others, and DCTCP. Of these algorithms only the name, the parameters and what
 * they need are defined; the driver in driver_tcp.c does the rest.
 */
#include "baselines.h"

bool fab_is_tcp(const struct ccs_cc_spec *spec);

#endif
