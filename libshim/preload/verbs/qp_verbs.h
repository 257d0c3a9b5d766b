/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_VERBS_H
#define CCS_QP_VERBS_H
/* Verbs on a QP other than posting. */
#include "preload/object/qp_record.h"

int ccs_qp_modify(struct qp *qp, struct ibv_qp_attr *attr, int mask);
int ccs_qp_query(struct qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
int ccs_qp_destroy(struct qp *qp);
/* The device of this QP is about to be closed: the shim does not use the QP any more. */
void ccs_qp_abandon(struct qp *qp);

#endif
