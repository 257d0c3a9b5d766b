/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_HWCLOCK_H
#define CCS_HWCLOCK_H
/*
 * A device's free-running clock on the host's time line. Whoever polls knows
 * bounds of when a completion was made: not before the queue was last seen
 * empty, not after the poll. Each completion so bounds host - device from both
 * sides; the tightest of the last few ten ms, applied to a completion's ticks,
 * tell its time far better than its own poll does.
 */
#include <stdbool.h>
#include <stdint.h>

/* Two of them remember: a bound is at most three old, 15 us of drift at 100 ppm. */
#define CCS_HWCLOCK_WINDOW_NS 50000000ull

/* Host times that something happened between; earliest 0: unknown. */
struct ccs_span {
	uint64_t earliest_ns, latest_ns;
};

struct ccs_hwclock {
	uint64_t khz, mask;
	bool running;
	bool broken;                     /* it contradicts itself: leave it alone */
	unsigned conflicts;              /* without a whole window between them */
	int64_t ticks;                   /* last ones, unwrapped, from the first */
	uint64_t raw, host_ns;           /* and as they came, and when */
	uint64_t since_ns;               /* start of window 0 */
	int64_t least[2], most[2];       /* upper and lower bound of host - device, ns */
};

/* False if it is no clock: khz ticks per ms, of which only the bits of mask are given. */
bool ccs_hwclock_init(struct ccs_hwclock *c, uint64_t khz, uint64_t mask);

/* Time to learn a better bound than completions have, from a query of the clock. */
bool ccs_hwclock_wants(const struct ccs_hwclock *c, uint64_t now_ns);

/* Something that happened at these ticks within that span. */
void ccs_hwclock_learn(struct ccs_hwclock *c, uint64_t ticks, const struct ccs_span *span);

/* The same, and the span becomes as narrow as is known; never wider than it was. */
void ccs_hwclock_map(struct ccs_hwclock *c, uint64_t ticks, struct ccs_span *span);

/* What it shows at a time of the host's, not before the last ticks that were learnt; as far
 * as is known not ahead of the device. 0: it is not known at all. */
uint64_t ccs_hwclock_ticks(const struct ccs_hwclock *c, uint64_t now_ns);

#endif
