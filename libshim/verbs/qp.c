/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: which are controlled, with what behind them, and their states. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "runtime/trace.h"
#include "verbs/real.h"
#include "verbs/shim.h"
#include "verbs/wr.h"

enum { EXTRA_SEGMENTS = 128 };   /* device queue beyond the application's, for splitting */

/* What the application asks for: ex is NULL if by ibv_create_qp, else attr begins it. */
struct request {
	struct ctx *ctx;
	struct ibv_pd *pd;
	struct ibv_qp_init_attr *attr;
	struct ibv_qp_init_attr_ex *ex;
};

/* Bits of comp_mask and create_flags whose meaning we know, and that do not matter here. */
enum {
	EX_KNOWN = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	FLAGS_KNOWN = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_PCI_WRITE_END_PADDING,
};

static bool has(const struct ibv_qp_init_attr_ex *ex, uint32_t bit)
{
	return ex && (ex->comp_mask & bit);
}

static bool ex_understood(const struct ibv_qp_init_attr_ex *ex)
{
	return !ex || (has(ex, IBV_QP_INIT_ATTR_PD) && !(ex->comp_mask & ~(uint32_t)EX_KNOWN) &&
		       !(has(ex, IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
			 (ex->create_flags & ~(uint32_t)FLAGS_KNOWN)));
}

/* Either controlled (cq set) or the reason why not. */
static bool controllable(const struct request *rq, struct cq **cq, enum ccs_pass *reason)
{
	const struct ibv_qp_init_attr *attr = rq->attr;
	const struct domain *domain = ccs_domain_find(rq->pd);
	struct ctx *ctx = rq->ctx;

	*cq = attr->send_cq ? ccs_cq_find(attr->send_cq) : NULL;
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_XRC_SEND)
		*reason = CCS_PASS_NOT_RC;
	else if (!ex_understood(rq->ex))
		*reason = CCS_PASS_CREATE_QP_EX;
	else if (has(rq->ex, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
		 (rq->ex->send_ops_flags & ~ccs_session_ops))
		*reason = CCS_PASS_SEND_OPS;
	else if (ctx->iwarp)
		*reason = CCS_PASS_IWARP;
	else if (!attr->cap.max_send_wr)
		*reason = CCS_PASS_NO_SEND_QUEUE;
	else if (domain && !ccs_domain_avoidable(domain))
		*reason = CCS_PASS_PARENT_DOMAIN;
	else if (!*cq)
		*reason = CCS_PASS_UNKNOWN_CQ;
	else if ((*cq)->strange)
		*reason = CCS_PASS_CQ_FEATURES;
	else if (atomic_load(&(*cq)->direct))
		*reason = CCS_PASS_DIRECT;
	else
		return true;
	return false;
}

/* As the header's inline decides. */
static struct ibv_qp *create(const struct request *rq, struct ibv_qp_init_attr_ex *attr)
{
	return rq->ex ? rq->ctx->create_qp_ex(rq->ctx->context, attr)
		      : ccs_real()->ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
}

/* The real QP: on the shadow CQ, unsignalled unless asked, with room for segments. */
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
		.pd = ccs_domain_plain(rq->pd),
	};
	struct ibv_qp *qp;

	/* What an older header's structure may end before. */
	if (has(rq->ex, IBV_QP_INIT_ATTR_CREATE_FLAGS))
		attr.create_flags = rq->ex->create_flags;
	if (has(rq->ex, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		attr.send_ops_flags = rq->ex->send_ops_flags;
	attr.cap.max_send_wr = depth;
	qp = create(rq, &attr);
	*cap = attr.cap;
	return qp;
}

static int alloc_slots(struct qp *qp)
{
	const size_t n = (size_t)qp->flow.wr_mask + 1, sges = ccs_max_sge(qp);

	qp->slot = ccs_pool_calloc(n, sizeof(*qp->slot));
	qp->slot_sge = ccs_pool_calloc(n * sges, sizeof(*qp->slot_sge));
	qp->slot_inline = ccs_pool_calloc(n, qp->cap.max_inline_data);
	qp->scratch = ccs_pool_calloc(CCS_BATCH * sges, sizeof(*qp->scratch));
	return qp->slot && qp->slot_sge && qp->slot_inline && qp->scratch ? 0 : -1;
}

static void free_slots(struct qp *qp)
{
	const size_t n = (size_t)qp->flow.wr_mask + 1, sges = ccs_max_sge(qp);

	ccs_pool_free(qp->slot, n, sizeof(*qp->slot));
	ccs_pool_free(qp->slot_sge, n * sges, sizeof(*qp->slot_sge));
	ccs_pool_free(qp->slot_inline, n, qp->cap.max_inline_data);
	ccs_pool_free(qp->scratch, CCS_BATCH * sges, sizeof(*qp->scratch));
}

void ccs_qp_put(struct qp *qp)
{
	if (atomic_fetch_sub(&qp->refs, 1) != 1)
		return;
	if (qp->cq)
		ccs_cq_put(qp->cq);
	ccs_flow_destroy(&qp->flow);
	ccs_session_close(qp);
	free_slots(qp);
	free(qp->hearing.links);
	ccs_pool_free(qp, 1, sizeof(*qp));
}

static void trace(const struct ccs_flow *f, const struct ccs_told *told)
{
	const struct qp *qp = (const struct qp *)(const void *)((const char *)f -
								offsetof(struct qp, flow));

	ccs_trace_put(qp->qp_num, f->cc.ops, told);
}

static double line_rate_of(const struct qp *qp)
{
	return ccs_context_line_rate(qp->ctx, qp->port, qp->policy->options.line_rate);
}

static void configure_flow(const struct qp *qp, double line_rate, struct ccs_flow_config *conf)
{
	const struct ccs_options *o = &qp->policy->options;

	*conf = (struct ccs_flow_config){
		.line_rate = line_rate,
		.max_rate = o->max_rate,
		.base_rtt_us = o->base_rtt,
		.noise_us = o->noise,
		.look_us = ccs_shim()->look_us,
		.epoch_ns = ccs_epoch_ns(),
		.segment = o->segment,
		.cap = o->cap,
		.split = o->split,
		.enforce = o->mode == CCS_MODE_ENFORCE,
		.sink = ccs_trace_on ? trace : NULL,
		.seed = 0x9e3779b97f4a7c15ull * (qp->real->qp_num + 1ull),
	};
}

/* From now on that policy holds; qp->lock is held. The port's rate is asked for if it is not
 * known from the flow. */
static void adopt(struct qp *qp, const struct ccs_policy *policy, uint64_t now_ns)
{
	const double given = policy->options.line_rate;
	const bool known = !given && !qp->policy->options.line_rate;
	struct ccs_flow_config conf;

	ccs_policy_use(policy);
	ccs_signals_count(qp);
	qp->policy = policy;
	qp->split_imm = policy->options.split_imm;
	configure_flow(qp, known ? qp->flow.cc.path.line_rate
				 : ccs_context_line_rate(qp->ctx, qp->port, given), &conf);
	ccs_flow_configure(&qp->flow, &conf, ccs_signals_choice(qp), now_ns);
}

void ccs_qp_adopt(struct qp *qp, const struct ccs_policy *policy)
{
	uint64_t now_ns = ccs_now_ns();

	ccs_lock(&qp->lock);
	if (!qp->dead && policy != qp->policy) {
		adopt(qp, policy, now_ns);
		ccs_post_pump(qp, &now_ns);
		ccs_publish(qp, now_ns);
	}
	ccs_qp_leave(qp);
}

/* Everything that may fail, before anybody can see the record. */
static struct qp *make_record(struct ibv_qp *real, const struct request *rq, struct cq *cq,
			      struct shadow *s, const struct ibv_qp_cap *cap)
{
	const struct ibv_qp_init_attr *attr = rq->attr;
	struct qp *qp = ccs_pool_calloc(1, sizeof(*qp));
	struct ccs_flow_config conf;

	if (!qp)
		return NULL;
	atomic_store(&qp->refs, 1);
	qp->real = real;
	qp->qp_num = real->qp_num;
	qp->flow.stats.qp_num = real->qp_num;
	qp->ctx = cq->ctx;
	qp->syscalls = cq->ctx->syscalls;
	qp->cq = cq;
	atomic_fetch_add(&cq->refs, 1);
	qp->shadow = s;
	qp->port = 1;
	qp->publish_ns = UINT64_MAX;
	qp->sq_sig_all = attr->sq_sig_all;
	qp->state = IBV_QPS_RESET;
	qp->cap = *cap;
	qp->cap.max_send_wr = attr->cap.max_send_wr;
	qp->policy = ccs_policy_general();
	ccs_policy_use(qp->policy);
	qp->split_imm = qp->policy->options.split_imm;
	configure_flow(qp, line_rate_of(qp), &conf);
	if (ccs_flow_init(&qp->flow, &conf, ccs_signals_choice(qp), attr->cap.max_send_wr,
			  cap->max_send_wr, ccs_now_ns()) ||
	    alloc_slots(qp) ||
	    (has(rq->ex, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) && ccs_session_open(qp)) ||
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
	ccs_session_room(qp);
	ccs_session_install(qp);
	return qp;
}

static struct ibv_qp *pass(const struct request *rq, enum ccs_pass reason)
{
	struct ibv_qp *qp = rq->ex ? rq->ctx->create_qp_ex(rq->ctx->context, rq->ex)
				   : ccs_real()->ibv_create_qp(rq->pd, rq->attr);

	if (qp)
		ccs_shim_pass(reason, qp);
	return qp;
}

static uint32_t device_depth(const struct ctx *ctx, uint32_t wanted)
{
	/* Beyond its limit the device shall refuse, natively; near it, what there is. */
	if (wanted > ctx->max_qp_wr)
		return wanted;
	return ctx->max_qp_wr - wanted < EXTRA_SEGMENTS ? ctx->max_qp_wr : wanted + EXTRA_SEGMENTS;
}

/* NULL: *reason is why not. */
static struct ibv_qp *create_on_shadow(const struct request *rq, struct cq *cq, struct shadow *s,
				       uint32_t depth, enum ccs_pass *reason)
{
	struct ibv_qp_cap cap;
	struct ibv_qp *real = create_real(rq, s, depth, &cap);
	struct qp *qp;

	if (!real && depth > rq->attr->cap.max_send_wr)
		real = create_real(rq, s, rq->attr->cap.max_send_wr, &cap);
	if (!real)
		return NULL;
	/* The shadow promised `depth` entries: never have more in flight, whatever it granted. */
	if (cap.max_send_wr > depth)
		cap.max_send_wr = depth;
	qp = make_record(real, rq, cq, s, &cap);
	if (!qp) {
		ccs_real()->ibv_destroy_qp(real);
		*reason = CCS_PASS_NO_MEMORY;
		return NULL;
	}
	rq->attr->cap = qp->cap;
	ccs_domain_enter(qp, rq->pd);
	ccs_report_add(qp);
	ccs_publish_begin(qp);
	return real;
}

static struct ibv_qp *control(const struct request *rq)
{
	struct ibv_qp *real;
	enum ccs_pass reason;
	struct shadow *s;
	struct cq *cq;
	uint32_t depth;

	if (!controllable(rq, &cq, &reason))
		return pass(rq, reason);
	depth = device_depth(cq->ctx, rq->attr->cap.max_send_wr);
	s = ccs_cq_attach(cq, depth);
	if (!s)
		return pass(rq, CCS_PASS_SHADOW_CQ);
	reason = CCS_PASS_REFUSED;
	real = create_on_shadow(rq, cq, s, depth, &reason);
	if (real)
		return real;
	ccs_cq_release(cq, s, depth);
	return pass(rq, reason);
}

/* A CQ may be named by another QP's send_cq, which is one of ours. */
static struct ibv_cq *apps_own(struct ibv_cq *ibcq)
{
	const struct cq *cq = ibcq ? ccs_cq_find(ibcq) : NULL;

	return cq ? cq->app : ibcq;
}

static struct ibv_qp *create_named(const struct request *rq)
{
	struct ibv_cq *const send_cq = rq->attr->send_cq, *const recv_cq = rq->attr->recv_cq;
	struct ibv_qp *qp;

	rq->attr->send_cq = apps_own(send_cq);
	rq->attr->recv_cq = apps_own(recv_cq);
	qp = control(rq);
	rq->attr->send_cq = send_cq;
	rq->attr->recv_cq = recv_cq;
	return qp;
}

struct ibv_qp *ccs_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct request rq = { ccs_context_find(pd->context), pd, attr, NULL };

	if (ccs_shim()->off || ccs_forked() || !rq.ctx)
		return ccs_real()->ibv_create_qp(pd, attr);
	return create_named(&rq);
}

struct ibv_qp *ccs_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *ex)
{
	const struct request rq = {
		.ctx = ccs_context_find(context),
		.pd = has(ex, IBV_QP_INIT_ATTR_PD) ? ex->pd : NULL,
		.attr = (struct ibv_qp_init_attr *)ex, /* which it begins with */
		.ex = ex,
	};

	return ccs_forked() ? rq.ctx->create_qp_ex(context, ex) : create_named(&rq);
}

/* What the flow must know of the new state, after the device has taken it. */
static void enter_state(struct qp *qp, const struct ibv_qp_attr *attr)
{
	qp->state = attr->qp_state;
	switch (attr->qp_state) {
	case IBV_QPS_RESET:
		qp->who = (struct ccs_who){ 0 };
		ccs_flow_reset(&qp->flow);
		qp->broken = false;
		break;
	case IBV_QPS_RTS:
		if (qp->flow.state == CCS_FLOW_HOLD)
			qp->flow.state = CCS_FLOW_RUN;
		break;
	case IBV_QPS_ERR:
		ccs_flow_fail(&qp->flow);
		break;
	default:
		break;
	}
}

static void learn_attr(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_PORT) && attr->port_num != qp->port) {
		qp->port = attr->port_num;
		ccs_flow_set_line(&qp->flow, line_rate_of(qp), ccs_now_ns());
	}
	if (mask & IBV_QP_DEST_QPN)
		qp->peer_qpn = attr->dest_qp_num;
	if ((mask & IBV_QP_AV) && attr->ah_attr.is_global)
		memcpy(qp->peer_gid, attr->ah_attr.grh.dgid.raw, sizeof(qp->peer_gid));
	/* READs beyond what the peer lets be outstanding would stall the queue behind them. */
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic)
		qp->flow.max_reads = attr->max_rd_atomic;
	/* Half of the local ACK timeout, 4.096 us * 2^timeout (IBTA 9.7.6.1.3); 0 is none. */
	if (mask & IBV_QP_TIMEOUT)
		qp->flow.loss_us = attr->timeout ? 2.048f * (float)(1ull << (attr->timeout & 31)) : 0;
}

static bool hold(struct qp *qp)
{
	bool was_running;

	ccs_lock(&qp->lock);
	was_running = qp->flow.state == CCS_FLOW_RUN;
	if (was_running)
		qp->flow.state = CCS_FLOW_HOLD;
	ccs_unlock(&qp->lock);
	return was_running;
}

static void unhold(struct qp *qp)
{
	ccs_lock(&qp->lock);
	if (qp->flow.state == CCS_FLOW_HOLD)
		qp->flow.state = CCS_FLOW_RUN;
	ccs_unlock(&qp->lock);
}

/* Stop emitting, or go on. */
static void set_dead(struct qp *qp, bool dead)
{
	const int err = errno; /* of the call that failed, which is the application's */
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	ccs_lock(&qp->lock);
	qp->dead = dead;
	if (dead)
		ccs_helper_cancel(qp);
	else
		ccs_post_pump(qp, &now_ns);
	ccs_qp_leave(qp);
	errno = err;
}

/* From here on nothing is emitted, and what the device has completed is owed. */
static void quiesce(struct qp *qp)
{
	set_dead(qp, true);
	ccs_lock(&qp->cq->lock);
	ccs_cq_drain(qp->cq); /* a provider may purge what is still there (mlx5) */
	ccs_unlock(&qp->cq->lock);
}

/*
 * Nothing that waits may be emitted between the device's reset and ours: the device would
 * refuse it and the QP be failed. No lock of ours is held meanwhile: providers lock the
 * receive CQ, which another thread may have in a session that needs ours (mlx5). What was
 * completed meanwhile stays in the CQ where the provider leaves it there (rxe), so it does
 * here.
 */
static int reset(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int rc;

	quiesce(qp);
	rc = ccs_real()->ibv_modify_qp(qp->real, attr, mask);
	ccs_session_install(qp);
	if (!rc) {
		ccs_lock(&qp->cq->lock);
		ccs_cq_drain(qp->cq);
		ccs_lock(&qp->lock);
		learn_attr(qp, attr, mask);
		enter_state(qp, attr);
		ccs_publish(qp, ccs_now_ns());
		ccs_qp_leave(qp);
		ccs_unlock(&qp->cq->lock);
		ccs_signals_detach(qp);
	}
	set_dead(qp, false);
	return rc;
}

/* What an application's attributes tell of the connection; without a GRH there is no address. */
static struct ccs_who who_is(const struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_ah_attr *ah = &attr->ah_attr;
	struct ccs_who who = {
		.known = CCS_MATCH_APP | CCS_MATCH_DEVICE | CCS_MATCH_PORT | CCS_MATCH_SL,
		.app = program_invocation_short_name,
		.device = qp->ctx->device,
		.port = mask & IBV_QP_PORT ? attr->port_num : qp->port,
		.sl = ah->sl,
	};

	if (ah->is_global) {
		who.known |= CCS_MATCH_PEER | CCS_MATCH_DSCP;
		memcpy(who.peer, ah->grh.dgid.raw, sizeof(who.peer));
		who.dscp = ah->grh.traffic_class >> 2;
	}
	return who;
}

/* The device has taken the path to that peer. Where a request changes the rules meanwhile, its
 * own walk over the QPs may have been before that. */
static void connect_to(struct qp *qp, const struct ccs_who *who)
{
	unsigned generation;

	do {
		const struct ccs_policy *policy;

		generation = ccs_policy_generation();
		policy = ccs_policy_of(who);
		ccs_lock(&qp->lock);
		qp->who = *who;
		if (policy != qp->policy)
			adopt(qp, policy, ccs_now_ns());
		qp->hearing.listens = policy->listens;
		ccs_qp_leave(qp);
	} while (generation != ccs_policy_generation());
}

static int modify(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const struct ccs_who who = who_is(qp, attr, mask & IBV_QP_AV ? mask : 0);
	const struct ccs_policy *policy = mask & IBV_QP_AV ? ccs_policy_of(&who) : NULL;
	/* What waits counts as not started, so stop before the device reports drained. */
	const bool held = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_SQD && hold(qp);
	const int rc = ccs_tclass_modify(qp, policy, attr, mask);
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	ccs_session_install(qp);
	if (rc) {
		const int err = errno;

		if (held)
			unhold(qp);
		errno = err;
		return rc;
	}
	if (mask & IBV_QP_AV)
		connect_to(qp, &who);
	ccs_signals_attach(qp, attr, mask);
	ccs_lock(&qp->lock);
	learn_attr(qp, attr, mask);
	if (mask & IBV_QP_STATE)
		enter_state(qp, attr);
	ccs_post_pump(qp, &now_ns);
	ccs_publish(qp, ccs_now(&now_ns));
	ccs_qp_leave(qp);
	return 0;
}

/*
 * A provider may write its own wr_complete on the way (mlx5, to RESET and to RTS): a session that
 * met it there would leave a lock that it never took. So none is open meanwhile, however long the
 * provider takes: who posts to this very QP waits for that, and nobody else, neither polls nor the
 * helper nor other QPs. The lock is recursive, for a provider that calls back. One that waits for
 * a thread in a session of the receive CQ (mlx5, to RESET) can wait for one which there begins to
 * post to the QP that is being reset: nobody does, for nobody could tell whether it is sent.
 */
int ccs_qp_modify(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const bool to_reset = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET;
	const bool writes = to_reset || ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTS);
	int rc;

	if (ccs_forked())
		return ccs_real()->ibv_modify_qp(qp->real, attr, mask);
	if (writes)
		ccs_session_lock(qp);
	rc = to_reset ? reset(qp, attr, mask) : modify(qp, attr, mask);
	if (writes)
		ccs_session_unlock(qp);
	return rc;
}

int ccs_qp_query(struct qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	const int rc = ccs_real()->ibv_query_qp(qp->real, attr, mask, init);

	if (rc || ccs_forked())
		return rc;
	ccs_tclass_restore(qp, attr);
	init->send_cq = qp->cq->app;
	init->sq_sig_all = qp->sq_sig_all;
	init->cap.max_send_wr = qp->cap.max_send_wr;
	attr->cap.max_send_wr = qp->cap.max_send_wr;
	return 0;
}

void ccs_qp_abandon(struct qp *qp)
{
	set_dead(qp, true);
	ccs_signals_detach(qp);
	ccs_lock(&qp->cq->lock);
	qp->cq->closing = true;
	ccs_unlock(&qp->cq->lock);
}

/*
 * The real call waits until events of the QP are acknowledged, by a thread that
 * may poll first: so no lock of ours is held meanwhile. The QP stays in the
 * registry until then, and what came meanwhile is still the application's. What
 * waited goes with it, as a device drops what it has not begun.
 */
int ccs_qp_destroy(struct qp *qp)
{
	struct cq *cq = qp->cq;
	int rc;

	if (ccs_forked())
		return ccs_real()->ibv_destroy_qp(qp->real);
	quiesce(qp);
	ccs_domain_show(qp, false);
	rc = ccs_real()->ibv_destroy_qp(qp->real);
	if (rc) {
		ccs_domain_show(qp, true);
		set_dead(qp, false);
		return rc;
	}
	ccs_ptrmap_del(&ccs_shim()->qps, qp->real, qp);
	ccs_lock(&cq->lock);
	ccs_cq_drain(cq);
	ccs_registry_remove(qp);
	ccs_lock(&qp->lock);
	ccs_report_remove(qp);
	ccs_publish_end(qp);
	qp->flow.timed = 0;
	ccs_qp_leave(qp);
	ccs_unlock(&cq->lock);
	ccs_signals_detach(qp);
	ccs_cq_release(cq, qp->shadow, device_depth(qp->ctx, qp->cap.max_send_wr));
	ccs_domain_leave(qp);
	ccs_qp_put(qp);
	return 0;
}
