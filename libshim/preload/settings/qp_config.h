/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_CONFIG_H
#define CCS_QP_CONFIG_H
/* Configuration of a QP's flow by its policy. */
#include "preload/object/qp_record.h"

struct ccs_policy;

double ccs_qp_line_rate(const struct qp *qp);
void ccs_qp_flow_config(const struct qp *qp, double line_rate, struct ccs_flow_config *conf);
/* Give the QP that policy. qp->lock is held. */
void ccs_qp_apply_policy(struct qp *qp, const struct ccs_policy *policy, uint64_t now_ns);
/* The same for a running QP; takes the lock. */
void ccs_qp_change_policy(struct qp *qp, const struct ccs_policy *policy);

#endif
