/* SPDX-License-Identifier: BSD-2-Clause */
/* Creation of queue pairs: which are controlled, and on which shadow CQ. */
#include <stdlib.h>

#include "base/pool.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/cq/cq.h"
#include "preload/datapath/impair.h"
#include "preload/object/clock.h"
#include "preload/object/parent_domain.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/registry.h"
#include "preload/object/shim.h"
#include "preload/object/wr_batch.h"
#include "preload/report/publish.h"
#include "preload/report/report.h"
#include "preload/settings/qp_config.h"
#include "preload/verbs/verbs.h"

/* A request of the application. ibv_create_qp: ex is NULL; ibv_create_qp_ex: attr begins ex. */
struct request {
	struct ctx *ctx;
	struct ibv_pd *pd;
	struct ibv_qp_init_attr *attr;
	struct ibv_qp_init_attr_ex *ex;
};

enum {
	FIRST_LEAST = 8, FIRST_MOST = 32, /* entries of a shadow CQ that a new QP reserves */
	OURS = 1,                        /* one more, for the marker of a QP that has failed */
};

/* Bits of comp_mask and create_flags that are known not to matter here. */
enum {
	EX_KNOWN = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	FLAGS_KNOWN = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_PCI_WRITE_END_PADDING,
};

static bool has_bit(const struct ibv_qp_init_attr_ex *ex, uint32_t bit)
{
	return ex && (ex->comp_mask & bit);
}

static bool is_supported_ex(const struct ibv_qp_init_attr_ex *ex)
{
	return !ex || (has_bit(ex, IBV_QP_INIT_ATTR_PD) && !(ex->comp_mask & ~(uint32_t)EX_KNOWN) &&
		       !(has_bit(ex, IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
			 (ex->create_flags & ~(uint32_t)FLAGS_KNOWN)));
}

/* Sets *cq, or if it is not, *reason. */
static bool is_controllable(const struct request *rq, struct cq **cq, enum ccs_uncontrolled *reason)
{
	const struct ibv_qp_init_attr *attr = rq->attr;
	struct ctx *ctx = rq->ctx;

	/* It may be no CQ, as of an XRC_RECV QP, and the device refuses one of another context. */
	*cq = attr->send_cq ? ccs_cq_find(attr->send_cq) : NULL;
	if (*cq && (*cq)->ctx != ctx)
		*cq = NULL;
	/* Inline data of ibv_wr_* need no SGE; ibv_post_send(), which gets them from us, wants one. */
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_XRC_SEND)
		*reason = CCS_UNCONTROLLED_NOT_RC;
	else if (!is_supported_ex(rq->ex))
		*reason = CCS_UNCONTROLLED_CREATE_QP_EX;
	else if (has_bit(rq->ex, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
		 ((rq->ex->send_ops_flags & ~ccs_qp_ex_send_ops) || !attr->cap.max_send_sge))
		*reason = CCS_UNCONTROLLED_SEND_OPS;
	else if (ctx->iwarp)
		*reason = CCS_UNCONTROLLED_IWARP;
	else if (!attr->cap.max_send_wr)
		*reason = CCS_UNCONTROLLED_NO_SEND_QUEUE;
	else if (!ccs_parent_domain_is_avoidable(rq->pd))
		*reason = CCS_UNCONTROLLED_PARENT_DOMAIN;
	else if (!*cq)
		*reason = CCS_UNCONTROLLED_UNKNOWN_CQ;
	else if ((*cq)->unsupported)
		*reason = CCS_UNCONTROLLED_CQ_FEATURES;
	else if (atomic_load(&(*cq)->direct))
		*reason = CCS_UNCONTROLLED_DIRECT;
	else
		return true;
	return false;
}

/* As the inline functions of verbs.h choose. */
static struct ibv_qp *call_create(const struct request *rq, struct ibv_qp_init_attr_ex *attr)
{
	return rq->ex ? rq->ctx->create_qp_ex(rq->ctx->context, attr)
		      : ccs_real()->ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
}

/* The real QP: on the shadow CQ, unsignalled unless requested, with space for segments. */
static struct ibv_qp *create_real(const struct request *rq, struct shadow *s, uint32_t depth,
				  struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = rq->attr->qp_context,
		.send_cq = s->cq,
		.recv_cq = rq->attr->recv_cq,
		.srq = rq->attr->srq,
		.cap = rq->attr->cap,
		.qp_type = rq->attr->qp_type,
		.comp_mask = rq->ex ? rq->ex->comp_mask : 0,
		.pd = ccs_parent_domain_plain(rq->pd),
	};
	struct ibv_qp *qp;

	/* An application built with an older header has a structure without these members. */
	if (has_bit(rq->ex, IBV_QP_INIT_ATTR_CREATE_FLAGS))
		attr.create_flags = rq->ex->create_flags;
	if (has_bit(rq->ex, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		attr.send_ops_flags = rq->ex->send_ops_flags;
	attr.cap.max_send_wr = depth;
	qp = call_create(rq, &attr);
	*cap = attr.cap;
	return qp;
}

/* cap: as granted by the device. entries: reserved in the shadow CQ. */
static int init_flow(struct qp *qp, const struct ibv_qp_cap *cap, uint32_t entries)
{
	const uint32_t needed = cap->max_send_wr + OURS;
	struct ccs_flow_config conf;

	ccs_qp_flow_config(qp, ccs_qp_line_rate(qp), &conf);
	if (ccs_flow_init(&qp->flow, &conf, ccs_qp_feedback_algorithm(qp), qp->attr.cap.max_send_wr,
			  cap->max_send_wr, ccs_now_ns()))
		return -1;
	qp->reserved = entries < needed ? entries : needed;
	ccs_flow_set_entries(&qp->flow, qp->reserved - OURS);
	return 0;
}

/* Each step that may fail precedes the step that lets ccs_qp_find() find the record. */
static struct qp *make_record(struct ibv_qp *real, const struct request *rq, struct cq *cq,
			      struct shadow *s, uint32_t entries, const struct ibv_qp_cap *cap)
{
	const struct ibv_qp_init_attr *attr = rq->attr;
	struct qp *qp = ccs_pool_calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	atomic_store(&qp->refs, 1);
	qp->real = real;
	qp->qp_num = real->qp_num;
	qp->flow.stats.qp_num = real->qp_num;
	qp->ctx = cq->ctx;
	qp->special = qp->syscalls = cq->ctx->provider->syscalls;
	qp->cq = cq;
	atomic_fetch_add(&cq->refs, 1);
	qp->shadow = s;
	qp->events.enabled = cq->channel;
	qp->attr.port = 1;
	qp->publish_ns = UINT64_MAX;
	qp->shown.created_ns = ccs_now_ns();
	qp->sq_sig_all = attr->sq_sig_all;
	qp->state = IBV_QPS_RESET;
	qp->early = true;
	qp->attr.cap = *cap;
	/* The application gets the same depth as without the shim, if the device grants it. */
	qp->attr.cap.max_send_wr = ccs_qp_bare_depth(rq->ctx, attr->cap.max_send_wr,
						     cap->max_send_wr);
	qp->attr.may_split = ccs_policy_may_split();
	qp->policy = ccs_policy_default();
	ccs_policy_warn_missing_feedback(qp->policy);
	qp->split_imm = qp->policy->options.split_imm;
	if (init_flow(qp, cap, entries) ||
	    (has_bit(rq->ex, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) && ccs_qp_ex_open(qp)) ||
	    ccs_registry_add(qp)) {
		ccs_qp_put(qp);
		return NULL;
	}
	if (ccs_ptrmap_put(&ccs_shim()->qps, real, qp)) {
		ccs_lock(&cq->lock);
		ccs_registry_remove(qp);
		ccs_unlock(&cq->lock);
		ccs_qp_put(qp);
		return NULL;
	}
	qp->flow.reuses_silently = cq->ctx->provider->reuses_silently;
	ccs_impair_configure(qp);
	ccs_wr_batch_update_space(qp);
	ccs_qp_ex_install(qp);
	ccs_qp_set_send_cq(qp, true);
	return qp;
}

static struct ibv_qp *create_uncontrolled(const struct request *rq, enum ccs_uncontrolled reason)
{
	struct ibv_qp *qp = rq->ex ? rq->ctx->create_qp_ex(rq->ctx->context, rq->ex)
				   : ccs_real()->ibv_create_qp(rq->pd, rq->attr);

	if (!qp)
		return NULL;
	ccs_qp_uncontrolled(qp);
	ccs_uncontrolled_qp(reason, qp);
	return qp;
}

/* NULL: *reason says why. */
static struct ibv_qp *create_on_shadow(const struct request *rq, struct cq *cq, struct shadow *s,
				       uint32_t entries, enum ccs_uncontrolled *reason)
{
	const uint32_t depth = ccs_qp_device_depth(cq->ctx, rq->attr->cap.max_send_wr);
	struct ibv_qp_cap cap;
	struct ibv_qp *real = create_real(rq, s, depth, &cap);
	struct qp *qp;

	if (!real && depth > rq->attr->cap.max_send_wr)
		real = create_real(rq, s, rq->attr->cap.max_send_wr, &cap);
	if (!real)
		return NULL;
	qp = make_record(real, rq, cq, s, entries, &cap);
	if (!qp) {
		ccs_real()->ibv_destroy_qp(real);
		*reason = CCS_UNCONTROLLED_NO_MEMORY;
		return NULL;
	}
	ccs_cq_release(cq, s, entries - qp->reserved, false);
	rq->attr->cap = qp->attr.cap;
	ccs_parent_domain_enter(qp, rq->pd);
	ccs_report_add(qp);
	ccs_publish_file();
	return real;
}

/*
 * A QP reserves as many entries of its shadow CQ as it may have whole WRs, or FIRST_MOST, and more
 * when it needs them. A QP in mode observe must never wait for an entry, so it reserves its depth
 * at once.
 */
static uint32_t first_entries(uint32_t wanted, uint32_t most)
{
	const bool waits = ccs_policy_default()->options.mode == CCS_MODE_ENFORCE;
	const uint32_t first = wanted < FIRST_LEAST ? FIRST_LEAST : wanted > FIRST_MOST ? FIRST_MOST : wanted;

	return (waits && most > first ? first : most) + OURS;
}

static struct ibv_qp *create_controlled(const struct request *rq)
{
	const uint32_t wanted = rq->attr->cap.max_send_wr;
	uint32_t most, entries;
	struct ibv_qp *real;
	enum ccs_uncontrolled reason;
	struct shadow *s;
	struct cq *cq;

	if (!is_controllable(rq, &cq, &reason))
		return create_uncontrolled(rq, reason);
	most = ccs_qp_granted_max(cq->ctx, ccs_qp_device_depth(cq->ctx, wanted));
	entries = first_entries(wanted, most);
	/* A depth that the device will refuse must not make us create a huge CQ. */
	s = ccs_cq_attach(cq, entries, wanted > cq->ctx->max_qp_wr ? entries : most + OURS);
	if (!s)
		return create_uncontrolled(rq, CCS_UNCONTROLLED_SHADOW_CQ);
	reason = CCS_UNCONTROLLED_REFUSED;
	real = create_on_shadow(rq, cq, s, entries, &reason);
	if (real)
		return real;
	ccs_cq_release(cq, s, entries, true);
	return create_uncontrolled(rq, reason);
}

/* An application may have taken a CQ from another QP's send_cq, which is a shadow CQ. */
static struct ibv_cq *app_cq(struct ibv_cq *ibcq)
{
	const struct cq *cq = ibcq ? ccs_cq_find(ibcq) : NULL;

	return cq ? cq->app : ibcq;
}

static struct ibv_qp *create_on_app_cqs(const struct request *rq)
{
	struct ibv_cq *const send_cq = rq->attr->send_cq, *const recv_cq = rq->attr->recv_cq;
	struct ibv_qp *qp;

	rq->attr->send_cq = app_cq(send_cq);
	rq->attr->recv_cq = app_cq(recv_cq);
	qp = create_controlled(rq);
	rq->attr->send_cq = send_cq;
	rq->attr->recv_cq = recv_cq;
	return qp;
}

HOOK struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct ccs_saved saved = ccs_save();
	const struct request rq = { ccs_context_find(pd->context), pd, attr, NULL };
	const bool ours = !ccs_shim()->off && !ccs_forked() && rq.ctx;

	return ccs_made(saved, ours ? create_on_app_cqs(&rq)
				    : ccs_real()->ibv_create_qp(pd, attr));
}

struct ibv_qp *ccs_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *ex)
{
	const struct request rq = {
		.ctx = ccs_context_find(context),
		.pd = has_bit(ex, IBV_QP_INIT_ATTR_PD) ? ex->pd : NULL,
		.attr = (struct ibv_qp_init_attr *)ex, /* its first members are the same */
		.ex = ex,
	};

	return ccs_forked() ? rq.ctx->create_qp_ex(context, ex) : create_on_app_cqs(&rq);
}
