/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_AGENT_H
#define BENCH_SIM_AGENT_H
/* The messages of host agents, as in libshim/agent/telemetry/sampler.c. */
#include <math.h>

enum {
	AGENT_MESSAGE = 190,     /* bytes on the line */
	AGENT_REPEAT = 8,        /* records after which the same rate is advised again */
};

#define AGENT_CHANGE 0.05    /* of the advised rate, which is sent at once */

/* The interval of an agent's records, of which each takes its port so long. Messages take at most
 * 0.5 % of the port to a peer, and 2 % to all; they are at most 50000 per second, with 200 us or more
 * between two. */
static inline double agent_period_us(double message_us, double peers)
{
	return fmax(fmax(message_us / 0.005, message_us * peers / 0.02),
		    fmax(1e6 * peers / 50000.0, 200.0));
}

#endif
