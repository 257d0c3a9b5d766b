/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_HELLO_LIMIT_H
#define CCS_AGENT_HELLO_LIMIT_H
/*
 * Limits the work for hosts whose source address may be forged, by token buckets: for all hosts,
 * for each network and for each address, so that one host's flood does not lock out others. A token
 * is spent only if all three buckets have one.
 */
#include "agent/host/priv.h"

/* 0, or -1: out of memory. */
int ccs_hello_limit_open(struct ccs_agent *a);
/* Whether a HELLO of that host may be answered now. */
bool ccs_hello_limit_claim(struct ccs_agent *a, const struct ccs_address *remote);

#endif
