/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_CAP_H
#define CCS_CC_CAP_H
/*
 * A tenant's cap at a port, shared by the tenant's flows in all its processes. A flow reserves the bytes
 * of its next segment and sends them at the time that it gets: reservations follow each other at the
 * rate of the cap, so flows that wait send in turn, and one that sends alone has the whole cap.
 */
#include <stdatomic.h>
#include <stdint.h>

#define CCS_CAP_BURST_NS 200000ull       /* unused time of the cap that flows may make up for */

struct ccs_cap {
	_Alignas(64) _Atomic uint64_t free_ns; /* the reserved bytes have left then */
};

enum { CCS_CAP_PORTS = 64 };             /* a tenant's caps in one page, one per device and port */

/* The time at which these bytes may leave at that rate, bit/s. */
uint64_t ccs_cap_reserve(struct ccs_cap *c, double rate, uint64_t bytes, uint64_t now_ns);

#endif
