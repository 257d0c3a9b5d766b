/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_HWCLOCK_H
#define CCS_HWCLOCK_H
/*
 * Conversion of a device's free-running clock to host time. A poll bounds the time at which a
 * completion was created: not before its request was posted or the queue was last found empty, not
 * after the poll. Each completion thus bounds host - device from both sides. The tightest recent
 * bounds, applied to a completion's ticks, give its time much more precisely than its poll.
 */
#include <stdbool.h>
#include <stdint.h>

/* Bounds become looser by 200 ppm of their age. A query costs about 1 us; with this
 * interval it keeps them within 2 us. */
#define CCS_HWCLOCK_QUERY_NS 5000000ull

/* Host times between which an event occurred; earliest 0: unknown. */
struct ccs_span {
	uint64_t earliest_ns, latest_ns;
};

struct ccs_hwclock {
	uint64_t khz, mask;
	bool running;
	bool broken;                     /* its bounds contradict each other: do not use it */
	bool doubtful;                   /* an event contradicted them since the last query */
	unsigned conflicts;              /* bounds that contradicted the known ones, lately */
	uint64_t conflict_ns;            /* time of the last conflict */
	int64_t ticks;                   /* latest ticks, unwrapped, relative to the first */
	uint64_t raw, host_ns;           /* the same before unwrapping, and their host time */
	uint64_t queried_ns;
	uint64_t aged_ns;                /* time up to which the bounds include drift */
	int64_t least, most;             /* upper and lower bound of host - device, ns */
};

/* khz: ticks per ms; mask: the valid bits of the ticks. False: the parameters are invalid. */
bool ccs_hwclock_init(struct ccs_hwclock *c, uint64_t khz, uint64_t mask);

/* Whether it is time to query the clock, for a tighter bound than completions give. */
bool ccs_hwclock_wants(const struct ccs_hwclock *c, uint64_t now_ns);

/* An event occurred at these ticks, within that span. */
void ccs_hwclock_learn(struct ccs_hwclock *c, uint64_t ticks, const struct ccs_span *span);

/* The same; *span is narrowed to the best known bounds, and never widened. It stays as it is if the
 * event contradicts them. */
void ccs_hwclock_map(struct ccs_hwclock *c, uint64_t ticks, struct ccs_span *span);

/* The device's ticks at a host time: not before the latest known ticks, and, according to the
 * bounds, not ahead of the device. 0: unknown. */
uint64_t ccs_hwclock_ticks(const struct ccs_hwclock *c, uint64_t now_ns);

#endif
