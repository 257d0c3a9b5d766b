/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_IMPAIR_H
#define CCS_IMPAIR_H
/*
 * Impaired QPs: the option `impair` delays their WRs and lets some fail. Their WRs form no runs. A WR
 * that fails is not posted: when the WQEs before it have completed, the QP is moved to the error
 * state, and the shim completes the waiting WRs as for any failed QP, the first with the wanted
 * status. qp->lock is held in all functions.
 */
#include "preload/datapath/qp.h"

/* Apply its policy. */
void ccs_impair_configure(struct qp *qp);

/*
 * The QP has entered RTS for the first time: it is the next connection of the process, and times and
 * requests count from now on. Or it was reset.
 */
void ccs_impair_connect(struct qp *qp, uint64_t now_ns);
void ccs_impair_reset(struct qp *qp);

/* WR `number` was accepted. */
void ccs_impair_accept(struct qp *qp, uint64_t number);
/* Whether the next WR that waits must not be posted now. */
bool ccs_impair_holds(struct qp *qp, uint64_t *now_ns);
/* If a failure is due and no WQE is in flight any more, fail the QP. Returns whether it was. */
bool ccs_impair_fail(struct qp *qp, uint64_t now_ns);
/*
 * When to call ccs_impair_holds() or ccs_impair_fail() again. flow_due: as ccs_flow_wait();
 * next_poll: the time of the next poll, if a completion is waited for.
 */
uint64_t ccs_impair_due(struct qp *qp, uint64_t now_ns, uint64_t flow_due, uint64_t next_poll);
/* Whether a WR has failed, not as a flush, and is not completed yet: it is the QP's next. */
bool ccs_impair_has_status(const struct qp *qp);
/* Set the status of the QP's next WR that the shim completes. */
void ccs_impair_status(struct qp *qp, struct ibv_wc *wc);

#endif
