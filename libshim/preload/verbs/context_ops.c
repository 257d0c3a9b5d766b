/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path is inlined into applications and calls the functions in the context's public
 * table. They are replaced in place, once per open. Providers use their private table and never
 * see ours.
 */
#include "preload/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>

#include "observe/log.h"
#include "preload/cq/cq.h"
#include "preload/datapath/poll.h"
#include "preload/datapath/post.h"
#include "preload/datapath/qp.h"
#include "preload/object/parent_domain.h"
#include "preload/object/provider.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/registry.h"
#include "preload/object/shim.h"

/* Not inlined, so that the hooks save no registers. In a child, maps are hidden from the hooks. */
static __attribute__((noinline)) int post_by_lookup(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
						    struct ibv_send_wr **bad)
{
	struct qp *qp = ccs_qp_find(ibqp);

	return qp && !ccs_forked() ? ccs_post(qp, wr, bad)
				   : ccs_context_find(ibqp->context)->real.post_send(ibqp, wr, bad);
}

static int hook_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct qp *qp = ccs_ptrmap_get_first(&ccs_shim()->qps, ibqp);

	return __builtin_expect(!!qp, 1) ? ccs_post(qp, wr, bad) : post_by_lookup(ibqp, wr, bad);
}

static __attribute__((noinline)) int poll_by_lookup(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct cq *cq = ccs_cq_find(ibcq);

	return cq && !ccs_forked() ? ccs_cq_poll(cq, n, wc)
				   : ccs_context_find(ibcq->context)->real.poll_cq(ibcq, n, wc);
}

static int hook_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct cq *cq = ccs_ptrmap_get_first(&ccs_shim()->cqs, ibcq);

	return __builtin_expect(!!cq, 1) ? ccs_cq_poll(cq, n, wc) : poll_by_lookup(ibcq, n, wc);
}

static int hook_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct cq *cq = ccs_cq_find(ibcq);

	return cq ? ccs_cq_notify(cq, solicited_only)
		  : ccs_context_find(ibcq->context)->real.req_notify_cq(ibcq, solicited_only);
}

static int hook_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct qp *qp = ccs_qp_find(ibqp);

	return qp ? ccs_post_bind_mw(qp, mw, bind)
		  : ccs_context_find(ibqp->context)->real.bind_mw(ibqp, mw, bind);
}

static struct ibv_mw *hook_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ctx *ctx = ccs_context_find(pd->context);

	if (type == IBV_MW_TYPE_1)
		atomic_store(&ctx->binds, true);
	return ctx->real.alloc_mw(pd, type);
}

static struct ibv_qp *hook_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_made(saved, ccs_qp_create_ex(context, attr));
}

static struct ibv_pd *hook_alloc_parent_domain(struct ibv_context *context,
					       struct ibv_parent_domain_init_attr *attr)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_made(saved, ccs_parent_domain_alloc(ccs_context_find(context), attr));
}

static struct ibv_cq_ex *hook_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	const struct ccs_saved saved = ccs_save();

	return ccs_made(saved, ccs_cq_ex_create(ccs_context_find(context), attr));
}

static int hook_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	const struct ccs_saved saved = ccs_save();
	struct cq *cq = ccs_cq_find(ibcq);

	return ccs_done(saved, cq ? ccs_cq_modify(cq, attr)
				  : ccs_context_find(ibcq->context)->modify_cq(ibcq, attr));
}

/* Use completion timestamps if the device has them in a form that maps to time. */
static void init_clock(struct ctx *ctx)
{
	struct ibv_device_attr_ex attr = { 0 };
	struct verbs_context *vctx = verbs_get_ctx_op(ctx->context, create_cq_ex);

	if (!vctx || !verbs_get_ctx_op(ctx->context, query_device_ex) ||
	    vctx->query_device_ex(ctx->context, NULL, &attr, sizeof(attr)) ||
	    !ccs_hwclock_init(&ctx->clock, attr.hca_core_clock, attr.completion_timestamp_mask))
		return;
	ctx->has_timestamps = true;
	if (verbs_get_ctx_op(ctx->context, query_rt_values))
		ctx->query_rt_values = vctx->query_rt_values;
}

/* Soft-RoCE states 8 MB, and carries out longer messages as others do, up to a gigabyte or two. */
static uint32_t max_message(struct ibv_context *context)
{
	const uint32_t least = 1u << 30;
	struct ibv_port_attr attr = { 0 };

	return ccs_query_port(context, 1, &attr) || attr.max_msg_sz < least ? least
									    : attr.max_msg_sz;
}

static void swap_tables(struct ctx *ctx)
{
	struct ibv_context *context = ctx->context;
	struct verbs_context *vctx = verbs_get_ctx(context);

	ctx->real = context->ops;
	context->ops.post_send = hook_post_send;
	context->ops.poll_cq = hook_poll_cq;
	context->ops.req_notify_cq = hook_req_notify_cq;
	context->ops.bind_mw = hook_bind_mw;
	if (context->ops.alloc_mw)
		context->ops.alloc_mw = hook_alloc_mw;
	if (!vctx)
		return;
	if (verbs_get_ctx_op(context, create_qp_ex)) {
		ctx->create_qp_ex = vctx->create_qp_ex;
		vctx->create_qp_ex = hook_create_qp_ex;
	}
	if (verbs_get_ctx_op(context, create_cq_ex)) {
		ctx->create_cq_ex = vctx->create_cq_ex;
		vctx->create_cq_ex = hook_create_cq_ex;
	}
	if (verbs_get_ctx_op(context, modify_cq)) {
		ctx->modify_cq = vctx->modify_cq;
		vctx->modify_cq = hook_modify_cq;
	}
	if (verbs_get_ctx_op(context, alloc_parent_domain)) {
		ctx->alloc_parent_domain = vctx->alloc_parent_domain;
		vctx->alloc_parent_domain = hook_alloc_parent_domain;
	}
}

void ccs_context_attach(struct ibv_context *context)
{
	static atomic_uint contexts;
	struct ccs_shim *shim = ccs_shim();
	struct ibv_device_attr attr = { 0 };
	struct ctx *ctx;

	/* A device that a child opens is not controlled: it cannot use our locks and thread. */
	if (!ccs_shim_on() || context->ops.post_send == hook_post_send)
		return;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx || ccs_real()->ibv_query_device(context, &attr) ||
	    ccs_ptrmap_put(&shim->contexts, context, ctx)) {
		ccs_log_once(CCS_LOG_WARN, "a device is uncontrolled: no memory, or it has no "
			     "attributes");
		free(ctx);
		return;
	}
	ctx->context = context;
	ctx->number = atomic_fetch_add(&contexts, 1);
	atomic_store(&ctx->refs, 1);
	snprintf(ctx->device, sizeof(ctx->device), "%s", context->device->name);
	ctx->max_qp_wr = (uint32_t)attr.max_qp_wr;
	ctx->max_cqe = (uint32_t)attr.max_cqe;
	ctx->max_message = max_message(context);
	ctx->atomics = attr.atomic_cap != IBV_ATOMIC_NONE;
	ctx->iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;
	init_clock(ctx);
	ctx->provider = ccs_provider_find((const void *)context->ops.poll_cq, attr.vendor_id);
	swap_tables(ctx);
}

static void detach(struct ibv_context *context)
{
	struct ctx *ctx = ccs_context_find(context);
	uint32_t slot = 0;
	struct qp *qp;

	if (!ctx || ccs_forked())
		return;
	while ((qp = ccs_registry_grab(ctx, &slot))) { /* the application did not destroy them */
		ccs_qp_abandon(qp);
		ccs_qp_put(qp);
	}
	ccs_ptrmap_del(&ccs_shim()->contexts, context, ctx);
	ccs_context_put(ctx);
}

HOOK int ibv_close_device(struct ibv_context *context)
{
	const struct ccs_saved saved = ccs_save();

	detach(context);
	return ccs_done(saved, ccs_real()->ibv_close_device(context));
}
