/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about a failure, from the statistics of the queue pairs of its process. */
#include "observe/failure.h"

#include <string.h>

#include "base/address.h"

enum { SECOND_NS = 1000000000 };

static uint64_t before(uint64_t now_ns, double us)
{
	const double ns = 1e3 * us;

	return ns < (double)now_ns ? now_ns - (uint64_t)ns : 0;
}

/*
 * The time of the last completion, to about a millisecond; 0: none is known. A moment after an empty queue
 * completes no segment. Segments may have been completed since the newest moment, but not for long.
 */
static uint64_t progress_ns(const struct ccs_failure_qp *qp)
{
	const struct ccs_stats_moment *m = qp->history;
	unsigned n = qp->moments;

	if (n && m[n - 1].segments != (uint32_t)qp->q.segments)
		return m[n - 1].time_ns;
	while (n > 1 && m[n - 1].segments == m[n - 2].segments)
		n--;
	return n && m[n - 1].segments ? m[n - 1].time_ns : 0;
}

/*
 * since_ns: half of the time for which the device has retried the failed request. In the first half others
 * may get answers that were on their way when the path broke.
 */
static enum ccs_condition condition_of(const struct ccs_failure_qp *qp, uint64_t since_ns)
{
	if (qp->q.failed_ns)
		return CCS_QP_FAILED;
	if (progress_ns(qp) >= since_ns)
		return CCS_QP_HEALTHY;
	return qp->q.inflight && qp->moments && qp->history[qp->moments - 1].time_ns < since_ns ? CCS_QP_UNANSWERED
		: CCS_QP_IDLE;
}

bool ccs_failure_read_qp(struct ccs_failure_qp *out, const struct ccs_stats_layout *l,
			 uint64_t history_offset, uint64_t slot)
{
	if (!ccs_stats_read_qp(l, slot, &out->q) || !out->q.created_ns)
		return false;
	out->moments = ccs_stats_read_history(l, history_offset, slot, out->history);
	return true;
}

void ccs_failure_own_facts(struct ccs_failure *f, uint64_t now_ns)
{
	const struct ccs_failure_qp *qp = &f->qp[0];
	const uint64_t progress = progress_ns(qp);
	const uint64_t first_ns = progress > SECOND_NS ? progress - SECOND_NS : 0;
	const struct ccs_stats_moment *first = NULL, *last = NULL;

	f->facts.answered = (double)qp->q.segments;
	if (progress && progress < now_ns)
		f->facts.unanswered_us = (double)(now_ns - progress) / 1e3;
	for (unsigned i = 0; i < qp->moments; i++) {
		const struct ccs_stats_moment *m = &qp->history[i];

		if (m->time_ns < first_ns)
			continue;
		first = first ? first : m;
		last = m;
	}
	for (unsigned i = qp->moments; i-- && qp->history[i].time_ns >= first_ns && f->facts.rtt_moments < 2;) {
		const double rtt_us = qp->history[i].rtt_ns / 1e3;

		if (rtt_us > 0 && (!f->facts.rtt_moments++ || rtt_us < f->facts.rtt_us))
			f->facts.rtt_us = rtt_us;
	}
	if (!last)
		return;
	f->facts.cnps = (uint16_t)(last->cnps - first->cnps);
	f->facts.losses = (uint16_t)(last->losses - first->losses);
	f->facts.past_losses = last->losses;
}

static void count(struct ccs_failure *f, const struct ccs_failure_qp *qp, bool same_peer)
{
	struct ccs_failure_facts *facts = &f->facts;

	switch (qp->condition) {
	case CCS_QP_HEALTHY: ++*(same_peer ? &facts->peer_healthy : &facts->others_healthy); break;
	case CCS_QP_UNANSWERED: ++*(same_peer ? &facts->peer_unanswered : &facts->others_unanswered); break;
	case CCS_QP_FAILED: ++*(same_peer ? &facts->peer_failed : &facts->others_failed); break;
	case CCS_QP_IDLE: facts->peer_idle += same_peer; break;
	}
	facts->peer_answered += same_peer && qp->q.segments;
	if (!same_peer || !qp->moments)
		return;
	facts->past_losses += qp->history[qp->moments - 1].losses;
	facts->peer_losses += (uint16_t)(qp->history[qp->moments - 1].losses - qp->history[0].losses);
}

/* A failure of another time has another cause. */
static bool is_old(const struct ccs_failure_qp *qp, uint64_t now_ns)
{
	return qp->q.failed_ns && qp->q.failed_ns + 60ull * SECOND_NS < now_ns;
}

void ccs_failure_add_others(struct ccs_failure *f, const struct ccs_stats_layout *l, uint64_t history_offset,
			    uint64_t now_ns)
{
	const struct ccs_stats_qp *failed = &f->qp[0].q;
	const uint64_t since_ns = before(now_ns, f->facts.retry_us / 2);
	struct ccs_failure_qp *qp = &f->qp[CCS_FAILURE_QPS];

	if (!ccs_gid_is_set(failed->peer_gid))
		return; /* without a GRH: others may have any peer */
	for (uint64_t i = 0; i < l->slots; i++) {
		bool same;

		if (!ccs_failure_read_qp(qp, l, history_offset, i) || is_old(qp, now_ns) ||
		    (qp->q.lqpn == failed->lqpn && strcmp(qp->q.device, failed->device) == 0))
			continue;
		same = memcmp(qp->q.peer_gid, failed->peer_gid, sizeof(failed->peer_gid)) == 0;
		qp->condition = condition_of(qp, since_ns);
		count(f, qp, same);
		if (same && f->qps < CCS_FAILURE_QPS)
			f->qp[f->qps++] = *qp;
	}
}
