/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that the preload exports, under rdma-core's version nodes. Each hook looks up the
 * object's record and calls the function that handles it. Objects without a record, such as a
 * provider's own, go to the real function.
 */
#include "preload/cq/cq.h"
#include "preload/cq/purge.h"
#include "preload/datapath/qp.h"
#include "preload/object/mr.h"
#include "preload/object/parent_domain.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/verbs/context_ops.h"
#include "preload/verbs/cq_verbs.h"
#include "preload/verbs/event.h"
#include "preload/verbs/open.h"
#include "preload/verbs/qp_create.h"
#include "preload/verbs/qp_verbs.h"

HOOK struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_made(saved, ccs_open_device(device));
}

HOOK struct ibv_context *ibv_import_device(int cmd_fd)
{
	const struct ccs_saved saved = ccs_save();
	struct ibv_context *context;

	ccs_open_begin();
	context = ccs_real()->ibv_import_device(cmd_fd);
	if (context)
		ccs_context_attach(context);
	return ccs_made(saved, context);
}

HOOK int ibv_close_device(struct ibv_context *context)
{
	const struct ccs_saved saved = ccs_save();

	ccs_context_detach(context);
	return ccs_done(saved, ccs_real()->ibv_close_device(context));
}

HOOK int ibv_dealloc_pd(struct ibv_pd *pd)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_done(saved, ccs_parent_domain_dealloc(pd));
}

static struct ibv_mr *registered(struct ccs_saved saved, struct ibv_mr *mr, uint64_t iova,
				 unsigned int access)
{
	if (mr)
		ccs_mr_add(mr, iova, access);
	return ccs_made(saved, mr);
}

/* The header's macros of these names choose a variant by arguments; these are the symbols. */
#undef ibv_reg_mr
HOOK struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const struct ccs_saved saved = ccs_save();

	return registered(saved, ccs_real()->ibv_reg_mr(pd, addr, length, access),
			  (uintptr_t)addr, (unsigned int)access);
}

#undef ibv_reg_mr_iova
HOOK struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				    int access)
{
	const struct ccs_saved saved = ccs_save();

	return registered(saved, ccs_real()->ibv_reg_mr_iova(pd, addr, length, iova, access), iova,
			  (unsigned int)access);
}

HOOK struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				     unsigned int access)
{
	const struct ccs_saved saved = ccs_save();

	return registered(saved, ccs_real()->ibv_reg_mr_iova2(pd, addr, length, iova, access),
			  iova, access);
}

/* Programs look it up, to see whether it exists: a libibverbs without it supports no dma-buf. */
HOOK struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				      uint64_t iova, int fd, int access)
{
	struct ccs_saved saved;

	if (!ccs_real()->ibv_reg_dmabuf_mr) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	saved = ccs_save();
	return registered(saved, ccs_real()->ibv_reg_dmabuf_mr(pd, offset, length, iova, fd,
							       access),
			  iova, (unsigned int)access);
}

HOOK int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		      int access)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_done(saved, ccs_mr_rereg(mr, flags, pd, addr, length, access));
}

HOOK int ibv_dereg_mr(struct ibv_mr *mr)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_done(saved, ccs_mr_dereg(mr));
}

/* As above. */
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

HOOK int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	const struct ccs_saved saved = ccs_save();
	struct cq *cq = ccs_cq_find(ibcq);

	return ccs_done(saved, cq ? ccs_cq_resize(cq, cqe) : ccs_real()->ibv_resize_cq(ibcq, cqe));
}

HOOK int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	const struct ccs_saved saved = ccs_save();
	struct cq *cq = ccs_cq_find(ibcq);

	return ccs_done(saved, cq ? ccs_cq_destroy(cq) : ccs_real()->ibv_destroy_cq(ibcq));
}

HOOK int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	return ccs_event_get(channel, cq, cq_context);
}

HOOK void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	ccs_event_ack(cq, nevents);
}

HOOK int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const int rc = ccs_real()->ibv_get_async_event(context, event);

	if (!rc)
		ccs_event_map_async(event);
	return rc;
}

HOOK void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (!ccs_event_unmap_async(event))
		ccs_real()->ibv_ack_async_event(event);
}

HOOK struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_made(saved, ccs_qp_create(pd, attr));
}

HOOK int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	const struct ccs_saved saved = ccs_save();
	struct qp *qp = ccs_qp_find(ibqp);

	return ccs_done(saved, qp ? ccs_qp_modify(qp, attr, mask)
				  : ccs_purge_modify(ibqp, attr, mask));
}

HOOK int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_qp_init_attr *init)
{
	struct qp *qp = ccs_qp_find(ibqp);

	return qp ? ccs_qp_query(qp, attr, mask, init)
		  : ccs_real()->ibv_query_qp(ibqp, attr, mask, init);
}

HOOK int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	const struct ccs_saved saved = ccs_save();
	struct qp *qp = ccs_qp_find(ibqp);

	return ccs_done(saved, qp ? ccs_qp_destroy(qp) : ccs_purge_destroy(ibqp));
}
