/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POST_H
#define CCS_POST_H
/* Posting of work requests. */
#include "preload/object/qp_record.h"

/* ibv_post_send() of a QP with a record. */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Post the n WRs that a batch has staged behind the head, all or none; the batch's lock is held.
 * error: of its builders, or 0. */
int ccs_post_staged(struct qp *qp, uint32_t n, int error);
/* Poll for completions unless n more WRs can be queued; the batch's lock is held. */
void ccs_post_reclaim(struct qp *qp, uint32_t n);
int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
