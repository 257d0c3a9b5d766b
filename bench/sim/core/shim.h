/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_SHIM_H
#define BENCH_SIM_SHIM_H
/*
 * A flow behind libshim/flow, as in the preload: an application posts messages, and the flow layer
 * hands segments of them to the simulated NIC. Times without a unit are in ps.
 */
#include "flow/flow.h"

struct shim {
	struct ccs_flow flow;
	struct ccs_telemetry telemetry; /* the newest */
	uint64_t message;        /* bytes; 0: one message for all that are ready */
	uint64_t ready;          /* bytes that the application has to send, of all messages so far */
	uint64_t waiting;        /* messages that it posts before the first one is sent */
	unsigned depth;          /* messages that it has outstanding */
	uint32_t flags;          /* of each: enum ccs_wr_flag */
	uint64_t accepted, completed; /* bytes */
};

/* The library's clock is never 0. */
static inline uint64_t shim_ns(uint64_t at)
{
	return at / 1000 + 1000;
}

/* The program ends if there is no memory. depth: the application's queue; device: the NIC's. */
void shim_init(struct shim *h, const struct ccs_flow_config *conf, const struct ccs_cc_spec *spec,
	       unsigned depth, unsigned device, uint64_t now);

/* The next segment, if one may be sent now, or NULL. */
const struct ccs_seg *shim_next(struct shim *h, uint64_t now);

/* The segments of this number of bytes have arrived, between the times in `done`. polled: an owner
 * finds their completions at once. */
void shim_complete(struct shim *h, uint64_t bytes, struct ccs_done done, bool polled);

/* Telemetry for the next event of the flow, which the caller changes. */
static inline struct ccs_telemetry *shim_telemetry(struct shim *h)
{
	h->flow.events.telemetry = &h->telemetry;
	return &h->telemetry;
}

#endif
