/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PUBLISH_H
#define CCS_PUBLISH_H
/* The QPs' entries of the statistics file. The QP's lock is held unless noted. */
#include "observe/stats.h"
#include "preload/object/qp_record.h"

struct ccs_stats_header *ccs_publish_file(void); /* created on first use, or NULL. No lock */
/* The QP has changed its state. It gets its entry when it is connected: many QPs never are. */
void ccs_publish_state(struct qp *qp, uint64_t now_ns);
void ccs_publish_end(struct qp *qp);
void ccs_publish(struct qp *qp, uint64_t now_ns);
/* Fill *out with the QP's statistics, for the report too. */
void ccs_publish_collect(const struct qp *qp, uint64_t now_ns, struct ccs_stats_qp *out);

/* Prefetch the line that ccs_publish_idle() writes. Without an entry, this has no effect. */
static inline void ccs_publish_prefetch(const struct qp *qp)
{
	const uintptr_t slot = (uintptr_t)qp->stats;

	__builtin_prefetch((const void *)(slot + offsetof(struct ccs_stats_slot, live)), 1);
}

/* Publish if it is due. Never due while the time is unknown. */
static inline void ccs_publish_due(struct qp *qp, uint64_t now_ns)
{
	_Static_assert(CCS_TIME_UNKNOWN + 1 == 0, "never due");
	if (__builtin_expect(now_ns + 1 > qp->publish_ns, 0))
		ccs_publish(qp, now_ns);
}

/* If no WR is outstanding, the next event may be far away: store the counters, one cache line. */
static inline void ccs_publish_idle(const struct qp *qp)
{
	const struct ccs_flow *f = &qp->flow;
	struct ccs_stats_slot *slot = qp->stats;

	if (!slot || f->seg_tail != f->seg_head)
		return;
	ccs_stats_set(&slot->live.idle, 1);
	ccs_stats_set(&slot->live.posts, f->wr_head);
	ccs_stats_set(&slot->live.completions, f->stats.wrs);
	ccs_stats_set(&slot->live.segments, f->stats.segments);
	ccs_stats_set(&slot->live.bytes, f->stats.bytes);
	ccs_stats_set(&slot->live.sent, f->sent);
	ccs_stats_set(&slot->live.internal_completions, f->stats.internal_completions);
	ccs_stats_set(&slot->live.gated_ns, f->stats.gated_ns);
}

#endif
