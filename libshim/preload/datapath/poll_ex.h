/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POLL_EX_H
#define CCS_POLL_EX_H
/* Polling for the poll batches of extended CQs. The functions take cq->lock. */
#include "preload/object/qp_record.h"

/*
 * The oldest ready completion. *spinning: whether the application polls in a loop; *empty_ns:
 * when the CQ was empty, or CCS_TIME_UNKNOWN. Returns 0, ENOENT, or EINVAL: the CQ has failed.
 */
int ccs_cq_pop(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
	       uint64_t *empty_ns);
bool ccs_cq_has_ready(struct cq *cq);
/* Poll the shadow CQs again, and queue the batch's current completion, which `read` reads, after
 * the ready completions. False: the shadow CQs had no completion, or the queue is full. */
bool ccs_cq_queue_current(struct cq *cq, enum ibv_wc_status status,
			  void (*read)(struct cq *cq, struct ibv_wc *wc, struct wc_more *more));

#endif
