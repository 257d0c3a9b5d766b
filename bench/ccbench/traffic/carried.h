/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_CARRIED_H
#define BENCH_CARRIED_H
/* Load of a run's messages on links: payload with all headers, of every class. */
#include "run.h"

/*
 * Bytes on the wire of the data that completed in [from, to), as a Linux queue counts them, but
 * without retransmissions. Messages are interpolated as in curve.h.
 */
double carried_bytes(const struct run *r, int64_t from, int64_t to);

/* The rates of all interfaces that are sent to, bit/s; only the first host's is the bottleneck. */
double carried_most_bps(const struct run *r);

/*
 * The share of the bottleneck's bytes that do not belong to messages: retransmitted, lost between it
 * and a host, or sent by other programs. It is of the time from the start of the run to the last
 * completion, when no data are in flight. NAN without a sampler, and if the first host sends, since
 * its acknowledgements pass the bottleneck as well.
 */
double carried_retransmitted(const struct run *r);

#endif
