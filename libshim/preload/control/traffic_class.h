/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TRAFFIC_CLASS_H
#define CCS_TRAFFIC_CLASS_H
/* The traffic class of a QP's packets. */
#include "preload/object/qp_record.h"

struct ccs_policy;

/* Call ibv_modify_qp() with a traffic class that lets switches mark packets. */
int ccs_traffic_class_modify(struct qp *qp, const struct ccs_policy *policy,
			     struct ibv_qp_attr *attr, int mask);
/* Put the application's class into the attributes that it queried. */
void ccs_traffic_class_restore(struct qp *qp, struct ibv_qp_attr *attr);

#endif
