/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_TCP_H
#define CCFABRIC_TCP_H
/*
 * TCP as a baseline, beside the algorithms of libshim/cc: Reno, whose packets switches drop where
 * they would mark others, and DCTCP. Of these algorithms only the name, the parameters and what
 * they need are defined; the driver in tcp.c does the rest.
 */
#include "cc/cc.h"

extern const struct ccs_cc_ops fab_reno, fab_dctcp;

bool fab_is_tcp(const struct ccs_cc_spec *spec);

/* As ccs_cc_parse, for these two as well. False with a sentence in err. */
bool fab_cc_parse(struct ccs_cc_spec *spec, const char *text, char *err, size_t len);

#endif
