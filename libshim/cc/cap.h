/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_CAP_H
#define CCS_CC_CAP_H
/*
 * A tenant's cap at a port of its host, as limits of its flows' rates whose sum is the cap. A flow that
 * uses its limit gets an equal part of the bytes that the others do not use. An idle flow keeps a small
 * limit, so that flows that begin together do not exceed the cap before they are measured.
 *
 * Pure functions; the caller measures all flows of the tenant at the port every few ms.
 */
#include <stdint.h>

struct ccs_cap_flow {
	double limit, before;    /* bit/s, now and before the last division; 0: new */
	double demand;           /* bit/s; INFINITY: it uses its limit */
	uint64_t bytes, since_ns; /* at the begin of the measurement */
};

/* Begin with the limit of an idle flow of this cap. bytes: that the flow has sent or requested. */
void ccs_cap_begin(struct ccs_cap_flow *f, double cap, uint64_t bytes, uint64_t now_ns);

/* segment: bytes that it sends at once; 0: unknown. */
void ccs_cap_measure(struct ccs_cap_flow *f, uint64_t bytes, double segment, uint64_t now_ns);

/* Divide the cap: sets the limits of the flows. */
void ccs_cap_divide(struct ccs_cap_flow *const *flow, unsigned n, double cap);

#endif
