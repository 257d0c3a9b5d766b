/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of shadow CQs for the poll batches of extended CQs. */
#include "preload/datapath/poll_ex.h"

#include <errno.h>

#include "preload/cq/cq.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/complete.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/poll.h"

bool ccs_cq_has_ready(struct cq *cq)
{
	bool ready;

	ccs_lock(&cq->lock);
	ready = ccs_cq_ready_count(cq);
	ccs_unlock(&cq->lock);
	return ready;
}

bool ccs_cq_queue_current(struct cq *cq, enum ibv_wc_status status,
			  void (*read)(struct cq *cq, struct ibv_wc *wc, struct wc_more *more))
{
	struct wc_more more;
	struct ibv_wc wc;
	bool ready;

	if (ccs_cq_is_plain(cq))
		return false;
	ccs_lock(&cq->lock);
	if (status == IBV_WC_WR_FLUSH_ERR) {
		read(cq, &wc, &more);
		ccs_complete_flushed_receives(cq, &wc, 1);
	}
	ccs_cq_drain(cq);
	ready = ccs_cq_ready_count(cq) && ccs_cq_ready_space(cq);
	if (ready) {
		read(cq, &wc, &more);
		ccs_cq_push(cq, &wc, &more, NULL);
	}
	ccs_unlock(&cq->lock);
	return ready;
}

int ccs_cq_pop(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
	       uint64_t *empty_ns)
{
	int rc = 0;

	if (ccs_cq_is_plain(cq))
		return ENOENT;
	ccs_lock(&cq->lock);
	if (!ccs_cq_ready_count(cq))
		ccs_drain_some(cq);
	if (ccs_cq_ready_count(cq))
		*more = cq->ready.more[ccs_cq_pop_one(cq, wc)];
	else
		rc = cq->failed ? EINVAL : ENOENT;
	*spinning = ccs_poll_count_idle(cq, rc);
	*empty_ns = rc ? cq->polled_ns : CCS_TIME_UNKNOWN;
	ccs_unlock(&cq->lock);
	return rc;
}
