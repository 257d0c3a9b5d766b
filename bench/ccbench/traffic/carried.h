/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_CARRIED_H
#define BENCH_CARRIED_H
/* What a run's messages take of links: payload with all headers, of every class. */
#include "run.h"

/*
 * Bytes on the wire of what completed in [from, to), as a Linux queue counts them: each byte
 * once, however often it was sent. In between bytes count as curve.h has it.
 */
double carried_bytes(const struct run *r, int64_t from, int64_t to);

/* The rates of all interfaces that are sent to, bit/s; only the first host's is the bottleneck. */
double carried_most_bps(const struct run *r);

/*
 * The share of the bytes through the bottleneck that were no message's: sent again, lost on the
 * way to a host or of another program. Of the run from its start, when nothing is under way, to
 * its end; or until the last message was through, if what is under way at the end blurs it more
 * than the longer time does. NAN where both are more than a tenth, without a sampler, and where
 * the first host sends, whose acknowledgements come through the bottleneck as well.
 */
double carried_retransmitted(const struct run *r);

#endif
