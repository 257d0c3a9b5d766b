/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PURGE_H
#define CCS_PURGE_H
/*
 * Some providers remove a QP's completions from its CQs when the QP is destroyed or reset. The shim
 * then also removes the completions that it has polled and not delivered yet.
 */
#include "preload/object/qp_record.h"

struct ccs_purge {
	struct cq *cq[2];                /* CQs of receives and sends; NULL: unknown, or the same */
	uint32_t head[2];                /* ready.head of each before the provider's call */
};

/* Before the provider's call; reset: it resets the QP, otherwise it destroys it. Takes locks. */
void ccs_purge_begin(struct ccs_purge *p, const struct ibv_qp *qp, bool reset);
/* After its success. owner: CCS_NO_OWNER if the QP is uncontrolled. */
void ccs_purge_end(struct ccs_purge *p, uint32_t qp_num, uint32_t owner);

/* The verbs on a QP without a record. */
int ccs_purge_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int ccs_purge_destroy(struct ibv_qp *qp);

#endif
