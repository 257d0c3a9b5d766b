/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_TELEMETRY_H
#define CCS_QP_TELEMETRY_H
/* Telemetry of a QP's path. */
#include "preload/object/qp_record.h"

/* Read a new record into the flow. qp->feedback has telemetry and a slot; qp->lock is held. */
void ccs_qp_telemetry_read(struct qp *qp, uint64_t *now_ns);
/* Set the algorithm's start rate for a flow that has not sent yet and is not counted. */
void ccs_qp_telemetry_start(struct qp *qp, uint64_t *now_ns);
/* The same for a flow that began without telemetry and is counted already. */
void ccs_qp_telemetry_share(struct qp *qp, uint64_t *now_ns);
/* The period at which the flow wants telemetry, us. */
uint32_t ccs_qp_telemetry_period_us(const struct ccs_flow *f);

#endif
