/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_COMPLETE_H
#define CCS_COMPLETE_H
/* Translation of the device's completions into the application's. */
#include "preload/object/qp_record.h"

/* Process the i-th completion of a shadow CQ's batch. The locks of qp and its CQ are held. */
void ccs_complete(struct qp *qp, struct shadow_batch *a, int i);
/* The same for the success of a whole untimed WR. False: it is another; no change was made. */
bool ccs_complete_whole(struct qp *qp, const struct shadow_batch *a, int i);
/* Create flush completions for WRs of failed QPs, while there is space. cq->lock is held.
 * empty_ns: each shadow CQ was seen empty after this time; 0: at no known time. */
void ccs_complete_broken(struct cq *cq, uint64_t empty_ns);
/* Flushed receives among these n completions: the WRs of their QPs that waited can go first. */
void ccs_complete_flushed_receives(struct cq *cq, const struct ibv_wc *wc, int n);

#endif
