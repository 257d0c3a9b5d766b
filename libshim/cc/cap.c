/* SPDX-License-Identifier: BSD-2-Clause */
/* Divides a tenant's cap among its flows. */
#include "cc/cap.h"

#include <math.h>
#include <stdbool.h>

#include "cc/minmax.h"

#define RESERVE 0.02         /* share of the cap that idle flows keep */
#define BEGINNERS 32         /* new flows that share it until the next division */
#define USED 0.9             /* share of its limit above which a flow uses it */
#define ROOM 1.25            /* limit of a flow that does not, relative to its rate */
#define SEGMENTS 16          /* time of a measurement, segments at the limit */
#define SEGMENTS_IDLE 4      /* the same without data */
#define LONGEST_NS 1e8       /* longest time of a measurement */
#define SEGMENT 65536.0      /* default */
#define ROUNDS 16

void ccs_cap_begin(struct ccs_cap_flow *f, double cap, uint64_t bytes, uint64_t now_ns)
{
	*f = (struct ccs_cap_flow){
		.limit = RESERVE * cap / BEGINNERS, .bytes = bytes, .since_ns = now_ns,
	};
}

/*
 * A flow of long segments pauses between them, so its use is known after some of them. One segment counts
 * if the flow was idle.
 */
void ccs_cap_measure(struct ccs_cap_flow *f, uint64_t bytes, double segment, uint64_t now_ns)
{
	const double ns = (double)(now_ns - f->since_ns), sent = 8 * (double)(bytes - f->bytes);
	const double more = 8 * (segment > 0 ? segment : SEGMENT), most = USED * f->limit * ns / 1e9;
	const double enough_ns = ccs_min(1e9 * (sent > 0 ? SEGMENTS : SEGMENTS_IDLE) * more / f->limit,
					 LONGEST_NS);

	const bool full = sent >= most + (f->demand > 0 ? more : 0);

	if (!(ns > 0) || (!full && ns < enough_ns))
		return;
	f->demand = full || (sent > 0 && sent + more >= most) ? INFINITY : ROOM * 1e9 * sent / ns;
	f->bytes = bytes;
	f->since_ns = now_ns;
}

/* Each round adds flows that need less than an equal part of the rest: the rest rises. */
void ccs_cap_divide(struct ccs_cap_flow *const *flow, unsigned n, double cap)
{
	const double idle = RESERVE * cap / n;
	double level = cap / n, next = level, left = cap;
	unsigned more = n;

	for (unsigned round = 0; more && round < ROUNDS && (next > level || !round); round++) {
		level = next;
		left = cap;
		more = 0;
		for (unsigned i = 0; i < n; i++)
			if (flow[i]->demand + idle <= level)
				left -= flow[i]->demand + idle;
			else
				more++;
		next = more ? left / more : level;
	}
	for (unsigned i = 0; i < n; i++) {
		flow[i]->before = flow[i]->limit;
		flow[i]->limit = more ? ccs_min(flow[i]->demand + idle, next)
				      : flow[i]->demand + idle + left / n;
	}
}
