/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs on a CQ other than polling. */
#include "preload/verbs/verbs.h"

#include <errno.h>

#include "preload/cq/cq.h"
#include "preload/cq/notify.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/drain.h"
#include "preload/object/memlock.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

HOOK struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				  struct ibv_comp_channel *channel, int comp_vector)
{
	const struct ccs_saved saved = ccs_save();
	struct ibv_cq *cq = ccs_real()->ibv_create_cq(context, cqe, cq_context, channel,
						      comp_vector);
	struct cq *ours = cq ? ccs_cq_new(cq, channel, cq_context, comp_vector) : NULL;

	if (ours)
		ccs_cq_track(ours);
	return ccs_made(saved, cq);
}

/*
 * Shadow CQs hold the channel, so they are destroyed first; without QPs they have no use. The real
 * call waits until events are acknowledged. Our records map these acknowledgements, so the records
 * are kept, and no lock is held.
 */
static int destroy_shadows(struct cq *cq)
{
	ccs_notify_close(cq);
	for (struct shadow *s = atomic_load(&cq->shadows); s; s = s->next) {
		const int rc = s->cq ? ccs_real()->ibv_destroy_cq(s->cq) : 0;

		if (rc)
			return rc;
		if (s->cq) {
			ccs_ptrmap_del(&ccs_shim()->cqs, s->cq, cq);
			if (s->size)
				ccs_memlock_release(s->size);
		}
		s->cq = NULL;
		s->ex = NULL;
		s->size = 0;
	}
	return 0;
}

/* A QP that only receives there, or is uncontrolled, still uses it. */
static void reopen(struct cq *cq)
{
	const int err = errno;

	ccs_lock(&cq->lock);
	cq->closing = false;
	ccs_cq_update_fast(cq);
	ccs_notify_reopen(cq);
	ccs_unlock(&cq->lock);
	errno = err;
}

/* Polls and the pacer thread do not use the shadow CQs after this. */
static bool close_unless_busy(struct cq *cq)
{
	bool busy;

	ccs_lock(&cq->lock);
	busy = cq->qps;
	cq->closing = !busy;
	ccs_cq_update_fast(cq);
	ccs_unlock(&cq->lock);
	return !busy;
}

static int destroy_cq(struct cq *cq)
{
	int rc;

	if (ccs_forked())
		return ccs_real()->ibv_destroy_cq(cq->app);
	if (!close_unless_busy(cq)) /* as the kernel would, which ties these QPs to the shadow CQ */
		return errno = EBUSY;
	rc = destroy_shadows(cq);
	if (!rc)
		rc = ccs_real()->ibv_destroy_cq(cq->app);
	if (rc) {
		reopen(cq);
		return rc;
	}
	ccs_ptrmap_del(&ccs_shim()->cqs, cq->app, cq);
	ccs_cq_put(cq);
	return 0;
}

HOOK int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	const struct ccs_saved saved = ccs_save();
	struct cq *cq = ccs_cq_find(ibcq);

	return ccs_done(saved, cq ? destroy_cq(cq) : ccs_real()->ibv_destroy_cq(ibcq));
}

int ccs_cq_notify(struct cq *cq, int solicited_only)
{
	const int rc = cq->ctx->real.req_notify_cq(cq->app, solicited_only);

	if (!rc && cq->channel && !ccs_forked()) {
		ccs_lock(&cq->lock);
		ccs_drain_arm(cq, solicited_only);
		ccs_unlock(&cq->lock);
	}
	return rc;
}

/* Whether more completions are ready than it would hold. */
static bool is_too_small(struct cq *cq, int cqe)
{
	bool small;

	if (ccs_cq_is_plain(cq) || cqe <= 0)
		return false;
	ccs_lock(&cq->lock);
	ccs_drain(cq, true);
	small = (uint32_t)cqe < ccs_cq_ready_count(cq);
	ccs_unlock(&cq->lock);
	return small;
}

/*
 * Ready completions count as entries of the application's CQ, so it cannot become smaller than
 * their number. In this case the device gets a request for the current size, so that a device
 * without ibv_resize_cq() returns its error.
 *
 * The ready completions and the entries of the CQ together may exceed the new size, which a device
 * would refuse. The shim cannot count the entries without polling them. No completion is lost or
 * reordered: ready completions stay in the shim's ring.
 *
 * The provider may write ibv_cq.cqe at this time in another thread, so it is not read.
 */
static int resize_cq(struct cq *cq, int cqe)
{
	const bool small = is_too_small(cq, cqe);
	const int rc = ccs_real()->ibv_resize_cq(cq->app, small ? atomic_load(&cq->cqe) : cqe);

	if (small && !rc)
		return EINVAL;
	if (!rc)
		atomic_store(&cq->cqe, cqe);
	if (!rc && !ccs_cq_is_plain(cq)) {
		ccs_lock(&cq->lock);
		ccs_cq_resize_ready(cq); /* without memory, completions stay in the shadow CQs */
		ccs_unlock(&cq->lock);
	}
	return rc;
}

HOOK int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	const struct ccs_saved saved = ccs_save();
	struct cq *cq = ccs_cq_find(ibcq);

	return ccs_done(saved, cq ? resize_cq(cq, cqe) : ccs_real()->ibv_resize_cq(ibcq, cqe));
}

int ccs_cq_modify(struct cq *cq, struct ibv_modify_cq_attr *attr)
{
	const int rc = cq->ctx->modify_cq(cq->app, attr);

	if (rc || !(attr->attr_mask & IBV_CQ_ATTR_MODERATE) ||
	    ccs_forked())
		return rc;
	ccs_lock(&cq->lock);
	cq->moderation = *attr;
	for (struct shadow *s = atomic_load(&cq->shadows); s && !cq->closing; s = s->next)
		ccs_shadow_moderate(cq, s->size ? s->cq : NULL);
	if (atomic_load(&cq->shadows))
		ccs_shadow_moderate(cq, cq->app);
	ccs_unlock(&cq->lock);
	return 0;
}
