/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_ARM_H
#define CCS_ARM_H
/* Requests for events. cq->lock is held. */
#include "preload/object/qp_record.h"

/* The application's request for an event. */
void ccs_cq_arm(struct cq *cq, bool solicited_only);
/* The application gets an event of that shadow CQ; NULL: of the application's CQ. */
void ccs_cq_take_event(struct cq *cq, const struct shadow *s);
/* It has polled, and found a completion or not: whether the last event has ended its request. */
void ccs_cq_end_poll(struct cq *cq, bool found);

#endif
