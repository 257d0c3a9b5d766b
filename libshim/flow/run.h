/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FLOW_RUN_H
#define CCS_FLOW_RUN_H
/*
 * The fast path of a flow. A budget of WRs and bytes may leave without reading the clock: as many
 * as the window and pacing permit before the next timed WR. It is granted when a WR needs it, and
 * feedback revokes it (hand_over.c). Within the budget, consecutive WRs of one kind form a run:
 * each leaves as one segment, and one call accounts for the run. A lone WR is a run of one. WRs
 * that may not be deferred, that must be timed, or that do not fit go through ccs_flow_accept() and
 * ccs_flow_hand_over().
 *
 *   if (f->budget.wrs || ccs_flow_grant(f, len))
 *           ccs_flow_run_begin(f, single, &run);
 *   while (n < ccs_flow_run_limit(f, kind) && ccs_flow_run_fits(f, &run, len, kind))
 *           ccs_flow_run_add(f, &run, len, flags, kind, id);
 *   ccs_flow_run_end(f, &run, n, kind);
 *
 * The entries of a run's WRs are filled only when they are needed: if a segment is taken back, or
 * fails. Completions of whole signalled WRs, with the unsignalled WRs before them, form runs in the
 * same way.
 */
#include "flow/flow.h"

enum ccs_flow_run_kind {
	CCS_RUN_SIGNALED,        /* signalled SENDs and WRITEs */
	CCS_RUN_UNSIGNALLED,     /* unsignalled SENDs and WRITEs */
	CCS_RUN_READ,            /* signalled READs and atomics */
};

struct ccs_flow_run {
	uint64_t wr, seg;        /* numbers of the next WR and of its segment */
	uint64_t bytes;          /* sum of the lengths */
};

/* single: the run will not have a second WR. */
static inline void ccs_flow_run_begin(struct ccs_flow *f, bool single, struct ccs_flow_run *run)
{
	if (single) {
		ccs_flow_next_entry(f);
	} else {
		if (f->seg_head == f->seg_tail)
			f->seg_base = (uint32_t)f->seg_head;
		ccs_flow_use_ring(f);
	}
	*run = (struct ccs_flow_run){ f->wr_head, f->seg_head, 0 };
}

/* Without a budget: grant one, if no WR waits and the next, of that length, need not be timed. */
bool ccs_flow_grant(struct ccs_flow *f, uint64_t len);

/* ccs_flow_run_limit() of the kinds other than CCS_RUN_SIGNALED. */
unsigned ccs_flow_run_other_limit(const struct ccs_flow *f, enum ccs_flow_run_kind kind);
/* Whether an unsignalled run of that length may leave without asking for a completion. */
bool ccs_flow_run_needs_no_signal(const struct ccs_flow *f, uint64_t bytes);

/* The number of WRs that may be in a run now. The budget is 0 while a WR waits. */
static inline unsigned ccs_flow_run_limit(const struct ccs_flow *f, enum ccs_flow_run_kind kind)
{
	return kind == CCS_RUN_SIGNALED ? f->budget.wrs : ccs_flow_run_other_limit(f, kind);
}

static inline bool ccs_flow_run_fits(const struct ccs_flow *f, const struct ccs_flow_run *run,
				     uint64_t len, enum ccs_flow_run_kind kind)
{
	return run->bytes + len <= f->budget.bytes &&
	       (kind != CCS_RUN_UNSIGNALLED || ccs_flow_run_needs_no_signal(f, run->bytes + len));
}

/* flags: CCS_WR_* of the opcode. */
static inline void ccs_flow_run_add(const struct ccs_flow *f, struct ccs_flow_run *run, uint64_t len,
				    uint32_t flags, enum ccs_flow_run_kind kind, uint64_t id)
{
	struct ccs_seg *seg = ccs_flow_seg(f, run->seg++);
	const bool signal = kind != CCS_RUN_UNSIGNALLED;

	seg->wr = run->wr++;
	seg->offset = 0;
	seg->len = len;
	seg->id = id;
	seg->depart_ns = 0;
	seg->flags = flags | CCS_WR_IN_RUN | (signal ? CCS_WR_SIGNALED | CCS_WR_WHOLE : 0);
	seg->first = seg->last = true;
	seg->signal = signal;
	seg->internal = false;
	run->bytes += len;
}

/* End a run of n WRs, which is at least one. */
static inline void ccs_flow_run_end(struct ccs_flow *f, const struct ccs_flow_run *run, unsigned n,
				    enum ccs_flow_run_kind kind)
{
	const bool signal = kind != CCS_RUN_UNSIGNALLED;

	f->budget.wrs -= (uint8_t)n;
	f->budget.bytes -= (uint16_t)run->bytes;
	f->untimed += (uint8_t)n;
	f->unsignalled = signal ? 0 : f->unsignalled + n;
	f->unsignalled_bytes = signal ? 0 : f->unsignalled_bytes + run->bytes;
	f->inflight += run->bytes;
	f->sent += run->bytes;
	f->wr_next += n;
	f->wr_head += n;
	f->seg_head += n;
	if (kind == CCS_RUN_READ) {
		f->reads.outstanding += n;
		f->reads.bytes += run->bytes;
	}
}

/* A run of completions. */
struct ccs_flow_completed {
	uint64_t seg;            /* number of the oldest segment that is not in the run */
	uint64_t bytes;          /* sum of the lengths */
	uint32_t reads;          /* READs and atomics among them */
};

/* Segment `number` has succeeded: retire the WRs before it if all are unsignalled WRs of runs. */
void ccs_flow_retire_unsignalled(struct ccs_flow *f, uint32_t number);

/* Begin a run with a success of segment `number`; its lower half is enough. */
static inline void ccs_flow_completed_begin(struct ccs_flow *f, uint32_t number,
					    struct ccs_flow_completed *run)
{
	if (__builtin_expect((uint32_t)f->seg_tail != number, 0))
		ccs_flow_retire_unsignalled(f, number);
	*run = (struct ccs_flow_completed){ .seg = f->seg_tail };
}

/*
 * Add a success of segment `number`. The application gets it under the id of the result. NULL: it
 * does not continue the run.
 */
static inline const struct ccs_seg *ccs_flow_completed_add(const struct ccs_flow *f,
							   struct ccs_flow_completed *run,
							   uint32_t number)
{
	const struct ccs_seg *seg = ccs_flow_seg(f, run->seg);

	if ((uint32_t)run->seg != number || run->seg == f->seg_head ||
	    !(seg->flags & CCS_WR_WHOLE))
		return NULL;
	run->bytes += seg->len;
	run->reads += seg->flags / CCS_WR_READ % 2;
	run->seg++;
	return seg;
}

static inline void ccs_flow_end_completed(struct ccs_flow *f, const struct ccs_flow_completed *run)
{
	const uint64_t n = run->seg - f->seg_tail;

	if (!n)
		return;
	f->wr_tail += n; /* each segment is a whole WR */
	f->seg_tail = run->seg;
	f->inflight -= run->bytes;
	if (__builtin_expect(run->reads, 0)) /* in another cache line */
		f->reads.outstanding -= run->reads;
	f->pending_bytes += run->bytes;
	f->stats.segments += n;
	f->stats.wrs += n;
	f->stats.bytes += run->bytes;
}

/* A run of one completion. */
static inline const struct ccs_seg *ccs_flow_complete_whole(struct ccs_flow *f, uint32_t number)
{
	struct ccs_flow_completed run;
	const struct ccs_seg *seg;

	ccs_flow_completed_begin(f, number, &run);
	seg = ccs_flow_completed_add(f, &run, number);
	ccs_flow_end_completed(f, &run);
	return seg;
}

#endif
