/* SPDX-License-Identifier: BSD-2-Clause */
/* Emission of deferred WRs before the application ends a QP or exits. */
#include "preload/datapath/linger.h"

#include <errno.h>
#include <semaphore.h>

#include "base/clock.h"
#include "preload/control/policy.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/object/registry.h"
#include "preload/object/shim.h"

enum { LINGER_STEP_NS = 50000 };

static uint64_t lock_until_ns;           /* at exit */

/* Time, ns, for which the gate held segments that are in flight now; 0: not held. */
static uint64_t held_in_flight_ns(const struct qp *qp)
{
	const int32_t left = (int32_t)(qp->held.end - (uint32_t)qp->flow.seg_tail);

	if (qp->impaired) /* all were */
		return qp->flow.seg_tail != qp->flow.seg_head ? UINT64_MAX : 0;
	return left > 0 ? 1000ull * qp->held.us : 0;
}

/* Emit deferred WRs, ungated. Returns the time, ns, for which the gate has held the last WRs. */
static uint64_t emit_last(struct qp *qp)
{
	struct ccs_flow *f = &qp->flow;
	uint64_t now_ns = CCS_TIME_UNKNOWN, since_ns = f->gated_since_ns, refused;
	int rc;

	if (qp->dead || qp->broken || f->state != CCS_FLOW_RUN || !qp->policy->options.linger)
		return 0;
	if (!ccs_flow_waiting(f))
		return held_in_flight_ns(qp);
	ccs_flow_set_state(f, CCS_FLOW_FLUSH);
	rc = ccs_emit(qp, &now_ns, &refused);
	ccs_flow_set_state(f, CCS_FLOW_RUN);
	if (rc && !ccs_emit_is_full(qp, rc, refused))
		ccs_emit_fail(qp, rc);
	ccs_emit_schedule(qp, &now_ns);
	if (qp->impaired)
		return held_in_flight_ns(qp);
	return since_ns && since_ns < ccs_now(&now_ns) ? now_ns - since_ns : 0;
}

static bool has_sent_all(struct qp *qp)
{
	bool done;

	ccs_lock(&qp->cq->lock);
	ccs_drain(qp->cq, true);
	ccs_unlock(&qp->cq->lock);
	ccs_lock(&qp->lock);
	done = qp->flow.seg_tail == qp->flow.seg_head || qp->flow.state == CCS_FLOW_FLUSH;
	ccs_qp_leave(qp);
	return done;
}

/* Returns the time at which waiting ends; 0: do not wait. */
static uint64_t begin_to_linger(struct qp *qp)
{
	uint64_t left, most;

	ccs_lock(&qp->lock);
	left = emit_last(qp);
	most = (uint64_t)(1e3 * qp->policy->options.linger);
	ccs_qp_leave(qp);
	return left ? ccs_now_ns() + (left < most ? left : most) : 0;
}

/* By the system call that the pacer thread sleeps with: a sandbox may permit no other. */
static void nap(void)
{
	sem_t never;

	if (!sem_init(&never, 0, 0))
		ccs_clock_sem_wait(&never, ccs_now_ns() + LINGER_STEP_NS);
}

/*
 * Wait for as long as the gate has held the last requests: without the shim they would have left
 * earlier by that time, and a program that ends its QP may rely on it.
 */
void ccs_linger(struct qp *qp)
{
	const int saved = errno;
	const uint64_t end_ns = begin_to_linger(qp);

	/* The clock is read because a signal may cut a nap short. */
	while (end_ns && !has_sent_all(qp) && ccs_now_ns() < end_ns)
		nap();
	errno = saved;
}

static bool is_free(struct ccs_lock *l)
{
	if (!ccs_trylock(l))
		return false;
	ccs_unlock(l);
	return true;
}

static bool are_locks_free(struct qp *qp)
{
	return ccs_registry_is_free() && ccs_pacer_thread_is_free() &&
	       (!qp || (is_free(&qp->cq->lock) && is_free(&qp->lock)));
}

/*
 * exit() may be called by a signal handler, whose thread will never release a lock of ours. Another
 * thread will. qp: NULL for the locks of the process.
 */
static bool may_lock(struct qp *qp)
{
	while (!are_locks_free(qp)) {
		if (ccs_now_ns() >= lock_until_ns)
			return false;
		nap();
	}
	return true;
}

/* Whether `what` is true of all QPs. */
static bool all_qps(bool (*what)(struct qp *qp))
{
	bool yes = true;
	uint32_t entry = 0;
	struct qp *qp;

	while (yes && (qp = ccs_registry_grab(NULL, &entry))) {
		yes = what(qp);
		ccs_qp_put(qp);
	}
	return yes;
}

void ccs_linger_at_exit(void)
{
	uint64_t end_ns = 0, qp_end_ns;
	uint32_t entry = 0;
	struct qp *qp;

	lock_until_ns = ccs_now_ns() + (uint64_t)(1e3 * ccs_shim()->options.linger);
	if (!may_lock(NULL) || !all_qps(may_lock))
		return;
	while ((qp = ccs_registry_grab(NULL, &entry))) {
		qp_end_ns = begin_to_linger(qp);
		end_ns = qp_end_ns > end_ns ? qp_end_ns : end_ns;
		ccs_qp_put(qp);
	}
	while (end_ns && !all_qps(has_sent_all) && ccs_now_ns() < end_ns)
		nap();
	/* Its turn may end with functions of another preload, which is about to end. */
	while (!ccs_pacer_thread_is_asleep() && ccs_now_ns() < lock_until_ns)
		nap();
}
