/* SPDX-License-Identifier: BSD-2-Clause */
/* The batch between ibv_wr_start() and ibv_wr_complete(): its lock and its space. */
#include "preload/object/wr_batch.h"

#include "preload/object/shim.h"

/* Its address identifies a thread. */
static _Thread_local char self;

static struct wr_batch *batch_of(const struct qp *qp)
{
	return ccs_forked() ? NULL : qp->wr_batch;
}

static bool is_mine(struct wr_batch *b)
{
	return atomic_load_explicit(&b->owner, memory_order_relaxed) == &self;
}

static void take(struct wr_batch *b)
{
	ccs_lock(&b->lock);
	atomic_store_explicit(&b->owner, &self, memory_order_relaxed);
}

void ccs_wr_batch_continue(struct wr_batch *b)
{
	if (!is_mine(b))
		atomic_store_explicit(&b->owner, &self, memory_order_relaxed);
}

void ccs_wr_batch_lock(const struct qp *qp)
{
	struct wr_batch *b = batch_of(qp);

	if (b && is_mine(b) && b->modifying)
		b->depth++;
	else if (b)
		take(b);
}

void ccs_wr_batch_unlock(const struct qp *qp)
{
	struct wr_batch *b = batch_of(qp);

	if (!b)
		return;
	if (b->depth) {
		b->depth--;
		return;
	}
	atomic_store_explicit(&b->owner, NULL, memory_order_relaxed);
	ccs_unlock(&b->lock);
}

void ccs_wr_batch_lock_to_modify(const struct qp *qp)
{
	struct wr_batch *b = batch_of(qp);

	if (!b)
		return;
	if (is_mine(b))
		b->depth++;
	else
		take(b);
	b->modifying++;
}

void ccs_wr_batch_unlock_modified(const struct qp *qp)
{
	struct wr_batch *b = batch_of(qp);

	if (!b)
		return;
	b->modifying--;
	ccs_wr_batch_unlock(qp);
}

void ccs_wr_batch_update_space(const struct qp *qp)
{
	if (qp->wr_batch)
		qp->wr_batch->space = qp->flow.queue.wr_limit -
				    (uint32_t)(qp->flow.wr_head - qp->flow.wr_tail);
}
