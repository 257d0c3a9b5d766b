/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device contexts: the data path is inlined into applications and goes through
 * the context's public function table, so that table is swapped in place, once
 * per open. Providers use their private one; they never see ours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/portrate.h"
#include "base/sysfs.h"
#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"

#define UNKNOWN_LINE_RATE 10e9 /* of a port that does not tell */

enum { RXE_VENDOR = 0xffffff };

struct ctx *ccs_context_find(struct ibv_context *context)
{
	return ccs_ptrmap_get(&ccs_shim()->contexts, context);
}

static int hook_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct qp *qp = ccs_ptrmap_get(&ccs_shim()->qps, ibqp);

	return qp ? ccs_post(qp, wr, bad)
		  : ccs_context_find(ibqp->context)->real.post_send(ibqp, wr, bad);
}

static int hook_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct cq *cq = ccs_cq_find(ibcq);

	return cq ? ccs_cq_poll(cq, n, wc)
		  : ccs_context_find(ibcq->context)->real.poll_cq(ibcq, n, wc);
}

static int hook_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct cq *cq = ccs_cq_find(ibcq);

	return cq ? ccs_cq_notify(cq, solicited_only)
		  : ccs_context_find(ibcq->context)->real.req_notify_cq(ibcq, solicited_only);
}

static int hook_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct qp *qp = ccs_ptrmap_get(&ccs_shim()->qps, ibqp);

	return qp ? ccs_post_bind_mw(qp, mw, bind)
		  : ccs_context_find(ibqp->context)->real.bind_mw(ibqp, mw, bind);
}

static struct ibv_qp *hook_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	const int saved = errno;

	return ccs_made(saved, ccs_qp_create_ex(context, attr));
}

static struct ibv_pd *hook_alloc_parent_domain(struct ibv_context *context,
					       struct ibv_parent_domain_init_attr *attr)
{
	const int saved = errno;

	return ccs_made(saved, ccs_domain_alloc(ccs_context_find(context), attr));
}

static struct ibv_cq_ex *hook_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	const int saved = errno;

	return ccs_made(saved, ccs_cqex_create(ccs_context_find(context), attr));
}

static int hook_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	const int saved = errno;
	struct cq *cq = ccs_cq_find(ibcq);

	return ccs_done(saved, cq ? ccs_cq_modify(cq, attr)
				  : ccs_context_find(ibcq->context)->modify_cq(ibcq, attr));
}

/* Completion timestamps, if the device has them in a form that maps to time. */
static void find_clock(struct ctx *ctx)
{
	struct ibv_device_attr_ex attr = { 0 };
	struct verbs_context *vctx = verbs_get_ctx_op(ctx->context, create_cq_ex);

	if (!vctx || ibv_query_device_ex(ctx->context, NULL, &attr) ||
	    !ccs_hwclock_init(&ctx->clock, attr.hca_core_clock, attr.completion_timestamp_mask))
		return;
	ctx->stamps = true;
	if (verbs_get_ctx_op(ctx->context, query_rt_values))
		ctx->query_rt_values = vctx->query_rt_values;
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
	struct ccs_shim *shim = ccs_shim();
	struct ibv_device_attr attr = { 0 };
	struct ctx *ctx;

	/* A child's own device is its own: it could not share our locks and thread. */
	if (shim->off || atomic_load(&shim->forked) || context->ops.post_send == hook_post_send)
		return;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx || ibv_query_device(context, &attr) ||
	    ccs_ptrmap_put(&shim->contexts, context, ctx)) {
		ccs_log_once(CCS_LOG_WARN, "a device cannot be controlled: no memory or no attributes");
		free(ctx);
		return;
	}
	ctx->context = context;
	atomic_store(&ctx->refs, 1);
	snprintf(ctx->device, sizeof(ctx->device), "%s", context->device->name);
	ctx->max_qp_wr = (uint32_t)attr.max_qp_wr;
	ctx->max_cqe = (uint32_t)attr.max_cqe;
	ctx->syscalls = attr.vendor_id == RXE_VENDOR;
	ctx->iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;
	find_clock(ctx);
	swap_tables(ctx);
}

void ccs_context_detach(struct ibv_context *context)
{
	struct ctx *ctx = ccs_context_find(context);
	uint32_t slot = 0;
	struct qp *qp;

	if (!ctx || ccs_forked())
		return;
	while ((qp = ccs_registry_grab(ctx, &slot))) { /* the application left them behind */
		ccs_qp_abandon(qp);
		ccs_qp_put(qp);
	}
	ccs_ptrmap_del(&ccs_shim()->contexts, context, ctx);
	ccs_context_put(ctx);
}

void ccs_context_put(struct ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->refs, 1) == 1)
		free(ctx);
}

double ccs_context_line_rate(const struct ctx *ctx, uint8_t port, double given)
{
	struct ibv_port_attr attr = { 0 };
	double rate;

	if (given > 0)
		return given;
	if (ibv_query_port(ctx->context, port, &attr))
		return UNKNOWN_LINE_RATE;
	rate = ccs_port_rate(attr.active_speed, attr.active_width,
			     attr.link_layer == IBV_LINK_LAYER_ETHERNET);
	rate = ccs_sysfs_rate("/sys", ctx->device, port, rate);
	return rate > 0 ? rate : UNKNOWN_LINE_RATE;
}
