/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_VERBS_H
#define CCS_CQ_VERBS_H
/* Verbs on a CQ other than polling. */
#include "preload/object/qp_record.h"

int ccs_cq_destroy(struct cq *cq);
int ccs_cq_notify(struct cq *cq, int solicited_only);
int ccs_cq_resize(struct cq *cq, int cqe);
int ccs_cq_modify(struct cq *cq, struct ibv_modify_cq_attr *attr);

#endif
