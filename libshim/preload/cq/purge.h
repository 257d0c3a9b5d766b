/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PURGE_H
#define CCS_PURGE_H
/*
 * Where the provider removes the completions of a QP from its CQs when the QP is destroyed or
 * reset, those that the shim has polled already, and not delivered yet, are removed too.
 */
#include "preload/object/qp_record.h"

struct ccs_purge {
	struct cq *cq[2];                /* of its receives and sends, each once */
	uint32_t head[2];                /* what was ready when the call began is before these */
};

/* Before the provider's call; `reset`: or else destroy. No lock is held for these. */
void ccs_purge_begin(struct ccs_purge *p, const struct ibv_qp *qp, bool reset);
/* After its success. owner: CCS_NO_OWNER if the QP is uncontrolled. */
void ccs_purge_end(struct ccs_purge *p, uint32_t qp_num, uint32_t owner);

/* The verbs on a QP without a record. */
int ccs_purge_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int ccs_purge_destroy(struct ibv_qp *qp);

#endif
