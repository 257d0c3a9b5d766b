/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POLL_H
#define CCS_POLL_H
/* Polling of completion queues. */
#include "preload/objects.h"

/* ibv_poll_cq() of a CQ with a record. */
int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc);
/* Poll all shadow CQs until they are empty, deliver the completions, and emit what becomes due.
 * cq->lock is held. */
void ccs_cq_drain(struct cq *cq);
/* The application's request for an event. cq->lock is held. */
void ccs_cq_arm(struct cq *cq, bool solicited_only);
/* It gets an event of that shadow CQ; NULL: of its own CQ. cq->lock is held. */
void ccs_cq_take_event(struct cq *cq, const struct shadow *s);

/*
 * For the poll batches of extended CQs; these take cq->lock. The oldest ready completion.
 * *spinning: whether the application polls in a loop; *empty_ns: when there was none, or
 * CCS_TIME_UNKNOWN. Returns 0, ENOENT, or EINVAL: the CQ has failed.
 */
int ccs_cq_pop(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
	       uint64_t *empty_ns);
bool ccs_cq_has_ready(struct cq *cq);
/* Queue the batch's current completion behind those that are ready after the shadow CQs were
 * polled again. False: none is ready, or there is no space for it. */
bool ccs_cq_queue_current(struct cq *cq, struct ibv_cq_ex *ex);

#endif
