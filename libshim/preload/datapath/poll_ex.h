/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POLL_EX_H
#define CCS_POLL_EX_H
/* Polling for the poll batches of extended CQs. All of it takes cq->lock. */
#include "preload/object/qp_record.h"

/*
 * The oldest ready completion. *spinning: whether the application polls in a loop; *empty_ns: when
 * there was none, or CCS_TIME_UNKNOWN. Returns 0, ENOENT, or EINVAL: the CQ has failed.
 */
int ccs_cq_pop(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
	       uint64_t *empty_ns);
bool ccs_cq_has_ready(struct cq *cq);
/* Queue the batch's current completion, which `read` reads, behind those that are ready after the
 * shadow CQs were polled again. False: none is ready, or there is no space for it. */
bool ccs_cq_queue_current(struct cq *cq, enum ibv_wc_status status,
			  void (*read)(struct cq *cq, struct ibv_wc *wc, struct wc_more *more));

#endif
