/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POLL_H
#define CCS_POLL_H
/* Polling of completion queues. */
#include "preload/object/qp_record.h"

enum { CCS_SPINNING = 8 };               /* polls */

/* ibv_poll_cq() of a CQ with a record. */
int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc);

/* Whether the application spins: several polls in a row were empty. */
static inline bool ccs_poll_count_idle(struct cq *cq, bool idle)
{
	cq->idle_polls = idle ? cq->idle_polls + 1 : 0;
	return cq->idle_polls >= CCS_SPINNING;
}

#endif
