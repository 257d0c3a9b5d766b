/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_FEEDBACK_H
#define CCS_QP_FEEDBACK_H
/* Congestion feedback of the host agent for a QP. */
#include "preload/object/qp_record.h"

struct ccs_options;
struct ccs_policy;

void ccs_qp_feedback_setup(const struct ccs_options *o);
/* Derive the policy's feedback_needs, fallback and no_ports from its options and cc. */
void ccs_qp_feedback_prepare(struct ccs_policy *p);
/* The algorithm that the QP must use now, by its policy and the feedback that it gets. */
const struct ccs_cc_spec *ccs_qp_feedback_algorithm(const struct qp *qp);
/* The device has accepted these attributes, and the policy is chosen: register with the agent if
 * they name the path. */
void ccs_qp_feedback_attach(struct qp *qp, const struct ibv_qp_attr *attr, int mask);
void ccs_qp_feedback_detach(struct qp *qp);
void ccs_qp_feedback_update(struct qp *qp, uint64_t *now_ns);
uint32_t ccs_qp_feedback_cnps(const struct qp *qp); /* that arrived, processed or not */
const char *ccs_qp_feedback_state(const struct qp *qp);
/* Bytes sent under the fallback. To be accounted before the flow gets another algorithm. */
uint64_t ccs_qp_feedback_fallback_bytes(const struct qp *qp);
void ccs_qp_feedback_account(struct qp *qp);

/* The limit of the rate: the option's, or its tenant's cap. */
double ccs_qp_feedback_max_rate(const struct qp *qp);
/* Its tenant's cap that is in force, bit/s; 0: no cap is. */
uint64_t ccs_qp_feedback_cap(const struct qp *qp);

/* Process new feedback before the gate is checked; qp->lock is held. */
static inline void ccs_qp_feedback_poll(struct qp *qp, uint64_t *now_ns)
{
	if (__builtin_expect(qp->has_feedback, 0))
		ccs_qp_feedback_update(qp, now_ns);
}

/* Read a new record of telemetry into the flow. qp->feedback has telemetry and a slot; qp->lock is held. */
void ccs_qp_telemetry_read(struct qp *qp, uint64_t *now_ns);
/* Set the algorithm's start rate for a flow that has not sent yet and is not counted. */
void ccs_qp_telemetry_start(struct qp *qp, uint64_t *now_ns);
/* The same for a flow that began without telemetry and is counted already. */
void ccs_qp_telemetry_share(struct qp *qp, uint64_t *now_ns);
/* The period at which the flow wants telemetry, us. */
uint32_t ccs_qp_telemetry_period_us(const struct ccs_flow *f);

#endif
