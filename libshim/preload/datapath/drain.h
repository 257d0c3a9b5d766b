/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_DRAIN_H
#define CCS_DRAIN_H
/* Polling of a CQ's shadow CQs. cq->lock is held. */
#include "preload/object/qp_record.h"

/*
 * Poll the shadow CQs, deliver the completions, and emit what becomes due. all: until they are
 * empty; otherwise a batch of each is enough if the caller's array is full then.
 */
void ccs_drain(struct cq *cq, bool all);
/* Deliver the first n completions of a batch. For consecutive completions of one QP, lock it and
 * check its gate once. */
void ccs_drain_deliver(struct cq *cq, struct shadow_batch *a, int n);
/* The CQ has a channel: arm its shadow CQs, or raise an event, if that is due; see notify.h. */
void ccs_drain_notify(struct cq *cq);
/* Many polls of s were empty: omit them until one of its QPs has WQEs in flight. */
void ccs_drain_try_to_rest(struct cq *cq, struct shadow *s);
/* The application requests an event. */
void ccs_drain_arm(struct cq *cq, bool solicited_only);
/* The application gets an event of that shadow CQ; NULL: of the application's CQ. */
void ccs_drain_take_event(struct cq *cq, const struct shadow *s);
/* It has polled, and found a completion or not: whether the last event has ended its request. */
void ccs_drain_end_poll(struct cq *cq, bool found);

#endif
