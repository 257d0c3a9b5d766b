/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_AGENT_H
#define BENCH_SIM_AGENT_H
/* The messages of host agents, as in libshim/agent/telemetry/sampler.c. */
#include <math.h>

enum {
	AGENT_MESSAGE = 190,     /* bytes on the line */
	AGENT_REPEAT = 8,        /* records after which the same rate is advised again */
	AGENT_RETRY_US = 5000,   /* until a HELLO that was lost is sent again */
};

#define AGENT_CHANGE 0.05    /* of the advised rate, which is sent at once */

/* The interval of an agent's records; message_us is the time of a message on its port. Messages use
 * at most 0.5 % of the port for a peer and 2 % for all. There are at most 50000 per second, and at
 * least 200 us between two. */
static inline double agent_period_us(double message_us, double peers)
{
	return fmax(fmax(message_us / 0.005, message_us * peers / 0.02),
		    fmax(1e6 * peers / 50000.0, 200.0));
}

#endif
