/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting. A lone WR at an open gate is a run of one (flow/run.h), which ccs_post() hands to the
 * device at once. All other posts go through post_any(): WRs that need not wait form runs and leave
 * in doorbells of CCS_BATCH WQEs; the rest is accepted, goes through the gate (emit.c), and is
 * copied if it must wait.
 */
#include "preload/datapath/post.h"

#include <errno.h>
#include <pthread.h>

#include "base/probe.h"
#include "flow/run.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/accept.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/wr.h"
#include "preload/object/shim.h"
#include "preload/report/publish.h"

/* Before RTS librxe returns the error of its doorbell, a system call, but queues the WRs that fit. */
static int full_error(const struct qp *qp)
{
	return qp->syscalls && qp->state < IBV_QPS_RTS ? (errno = EINVAL) : ENOMEM;
}

static inline uint64_t list_length(const struct ibv_send_wr *wr)
{
	uint64_t n = 0;

	for (; wr; wr = wr->next)
		n++;
	return n;
}

/* Accept WRs while there is space; returns the first WR left. *flags has the flags of all. */
static struct ibv_send_wr *accept_list(struct qp *qp, struct ibv_send_wr *wr, uint32_t *flags)
{
	for (*flags = 0; wr && !ccs_flow_full(&qp->flow); wr = wr->next)
		*flags |= ccs_accept(qp, wr, ccs_wr_flags(qp, wr));
	return wr;
}

/* The n-th WR of a list. */
static struct ibv_send_wr *nth_wr(struct ibv_send_wr *wr, uint64_t n)
{
	while (n--)
		wr = wr->next;
	return wr;
}

/*
 * Copy the WRs that are deferred, as they must outlive the call. Returns the first that cannot
 * be, and why in *rc; or wr_head.
 */
static uint64_t copy_deferred(struct qp *qp, uint64_t first, int *rc)
{
	struct ccs_flow *f = &qp->flow;
	uint64_t n = first > f->wr_next ? first : f->wr_next;

	for (; n < f->wr_head; n++) {
		const int refusal = ccs_wr_keep(qp, n);

		if (refusal) {
			*rc = refusal;
			return n;
		}
		f->stats.deferred++;
	}
	return n;
}

/* The device has refused WRs of this call, whose entries may be without a source. */
static void set_sources(struct ccs_flow *f, uint64_t first, const struct ibv_send_wr *wr)
{
	for (uint64_t n = first; n < f->wr_head; n++, wr = wr->next)
		if (n >= f->wr_next)
			ccs_flow_wr(f, n)->source = wr;
}

/* The device's error codes; or the codes that it would return, if it did not get the WR. */
static int resolve_post_result(struct qp *qp, const struct ccs_post_outcome *o, struct ibv_send_wr *wr,
			       struct ibv_send_wr **bad)
{
	struct ccs_flow *f = &qp->flow;
	/* The device has the WRs despite its error. */
	const bool kept = o->device && o->refused == UINT64_MAX;
	struct ibv_send_wr *left = o->left;
	int rc = left ? full_error(qp) : 0;
	uint64_t n;

	if (o->device && !kept && o->refused >= o->first && f->next_offset == 0 &&
	    !ccs_accept_can_defer(qp, o->device, o->refused)) {
		left = nth_wr(wr, o->refused - o->first);
		rc = o->device;
		ccs_flow_unaccept(f, o->refused);
	} else if (o->device && !kept && !ccs_emit_is_full(qp, o->device, o->refused)) {
		ccs_emit_fail(qp, o->device);
	}
	n = copy_deferred(qp, o->first, &rc);
	if (n < f->wr_head) {
		left = nth_wr(wr, n - o->first);
		ccs_flow_unaccept(f, n);
	}
	if (kept) {
		left = o->left;
		rc = o->device;
	}
	if (rc)
		*bad = left;
	return rc;
}

static inline bool is_signalled(const struct qp *qp, const struct ibv_send_wr *wr)
{
	return qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED);
}

/* Not inlined, so that the loop over a run needs fewer registers. */
static __attribute__((noinline, pure)) uint64_t sum_of_sges(const struct qp *qp,
							    const struct ibv_send_wr *wr)
{
	return ccs_wr_len(qp, wr);
}

/* Whether a WR of that opcode may be in a run of that kind. The device refuses unknown atomics. */
static inline bool is_of_kind(const struct qp *qp, enum ibv_wr_opcode opcode,
			      enum ccs_flow_run_kind kind)
{
	const uint32_t flags = ccs_opcode_flags(opcode) & (CCS_WR_READ | CCS_WR_NO_DEFER);

	return flags == (kind == CCS_RUN_READ ? CCS_WR_READ : 0) &&
	       (kind != CCS_RUN_READ || opcode == IBV_WR_RDMA_READ || qp->ctx->atomics);
}

/* The length of a WR of a known opcode. */
static inline uint64_t run_len(const struct qp *qp, const struct ibv_send_wr *wr)
{
	return __builtin_expect(wr->num_sge == 1, 1) ? wr->sg_list->length : sum_of_sges(qp, wr);
}

/*
 * Accept WRs that may leave at once as a run of at most `most`, and build their WQEs. Returns the
 * first WR that cannot be in this run. *wqe becomes the end of the WQEs.
 */
static inline __attribute__((always_inline)) struct ibv_send_wr *
accept_run(struct qp *qp, struct ibv_send_wr *wr, enum ccs_flow_run_kind kind,
	   struct ibv_send_wr **wqe, unsigned most)
{
	struct ccs_flow *f = &qp->flow;
	const unsigned limit = ccs_flow_run_limit(f, kind);
	const unsigned all = qp->sq_sig_all ? IBV_SEND_SIGNALED : 0;
	const uint64_t token = ccs_token(qp, 0);
	struct ibv_send_wr *out = *wqe, *const end = out + (most < limit ? most : limit);
	struct ccs_flow_run run;
	uint64_t len, number;

	ccs_flow_run_begin(f, false, &run);
	for (; wr && out < end; wr = wr->next, out++) {
		const bool signal = (wr->send_flags | all) & IBV_SEND_SIGNALED;

		if (signal != (kind != CCS_RUN_UNSIGNALLED) || !is_of_kind(qp, wr->opcode, kind))
			break;
		len = run_len(qp, wr);
		if (!ccs_flow_run_fits(f, &run, len, kind))
			break;
		number = (uint32_t)run.seg;
		ccs_flow_run_add(f, &run, len, ccs_opcode_flags(wr->opcode), kind, wr->wr_id);
		CCS_READ_AGAIN(wr);
		ccs_wr_build_whole(wr, kind != CCS_RUN_UNSIGNALLED, kind == CCS_RUN_READ,
				   token | number, out);
		out->next = out + 1;
	}
	if (out == *wqe)
		return wr;
	ccs_flow_run_end(f, &run, (unsigned)(out - *wqe), kind);
	*wqe = out;
	return wr;
}

/* A run of another kind, which is rarer: not inlined. */
static __attribute__((noinline)) struct ibv_send_wr *
accept_other_run(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **wqe, unsigned most)
{
	return accept_run(qp, wr, is_signalled(qp, wr) ? CCS_RUN_READ : CCS_RUN_UNSIGNALLED, wqe,
			  most);
}

/* Whether the WR may be in a run. */
static inline bool has_budget(struct qp *qp, const struct ibv_send_wr *wr)
{
	return qp->flow.budget.wrs || ccs_flow_grant(&qp->flow, ccs_wr_len(qp, wr));
}

/*
 * Fill a doorbell of CCS_BATCH WQEs with WRs that need not wait. Returns the end of its WQEs. The
 * last accepted WR may have to wait for the gate, or for its other segments. *left: the first WR
 * that is not accepted. runs: a WR may be in a run.
 */
static inline struct ibv_send_wr *fill_at_once(struct qp *qp, struct ibv_send_wr **left, bool runs,
					       struct ibv_send_wr *begin, uint64_t *now_ns)
{
	struct ibv_send_wr *wr = *left, *wqe = begin, *const end = begin + CCS_BATCH;
	struct ccs_flow *f = &qp->flow;
	uint32_t flags;

	while (wr && wqe < end && !ccs_flow_waiting(f)) {
		const struct ibv_send_wr *first = wqe;

		if (runs && has_budget(qp, wr))
			wr = accept_run(qp, wr, CCS_RUN_SIGNALED, &wqe, (unsigned)(end - wqe));
		if (runs && f->budget.wrs && wr && wqe < end)
			wr = accept_other_run(qp, wr, &wqe, (unsigned)(end - wqe));
		if (wqe != first)
			continue;
		flags = ccs_wr_flags(qp, wr);
		if (ccs_flow_full(f) || (flags & CCS_WR_NO_DEFER))
			break;
		ccs_accept(qp, wr, flags);
		wqe += ccs_emit_build(qp, wqe, (unsigned)(wqe - begin), (unsigned)(end - wqe),
				      now_ns);
		wr = wr->next;
	}
	*left = wr;
	return wqe;
}

/* Post WRs until one must wait. Returns as ccs_emit(); sets o->left as fill_at_once(). */
static inline int post_at_once(struct qp *qp, bool runs, struct ccs_post_outcome *o,
			       uint64_t *now_ns)
{
	struct ibv_send_wr wqe[CCS_BATCH], *end;
	int rc = 0;

	if (qp->flow.state != CCS_FLOW_RUN || qp->state < IBV_QPS_RTS || qp->resumed ||
	    qp->impaired)
		return 0;
	do {
		const uint64_t first = qp->flow.seg_head;

		end = fill_at_once(qp, &o->left, runs, wqe, now_ns);
		if (end == wqe)
			break;
		end[-1].next = NULL;
		rc = ccs_emit_doorbell(qp, first, wqe, &o->refused);
	} while (!rc && o->left && end == wqe + CCS_BATCH);
	return rc;
}

bool ccs_post_accept(struct qp *qp, struct ibv_send_wr *wr, bool runs, struct ccs_post_outcome *o,
		     uint64_t *now_ns)
{
	uint32_t flags;

	*o = (struct ccs_post_outcome){ .first = qp->flow.wr_head, .left = wr };
	o->device = post_at_once(qp, runs, o, now_ns);
	if (!o->device && !o->left && !ccs_flow_waiting(&qp->flow))
		return false;
	o->left = accept_list(qp, o->left, &flags);
	if (!o->device)
		o->device = ccs_emit_posted(qp, flags, now_ns, &o->refused);
	if (o->device && o->refused != UINT64_MAX)
		set_sources(&qp->flow, o->first, wr);
	return true;
}

static int post_list(struct qp *qp, struct ibv_send_wr *wr, bool runs, struct ibv_send_wr **bad,
		     uint64_t *now_ns)
{
	struct ccs_post_outcome o;

	if (!ccs_post_accept(qp, wr, runs, &o, now_ns))
		return 0;
	/* Without memory for WRs that would have to wait, the gate does not count. */
	if (!o.device && ccs_flow_waiting(&qp->flow) && ccs_qp_alloc_copies(qp))
		o.device = ccs_emit_posted(qp, CCS_WR_NO_DEFER, now_ns, &o.refused);
	return resolve_post_result(qp, &o, wr, bad);
}

/* All valid WRs are accepted, and completed by us as flushed. */
static int post_broken(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int rc = 0;

	for (; wr && !rc; wr = rc ? wr : wr->next) {
		rc = ccs_wr_check(qp, wr);
		if (!rc && ccs_flow_full(&qp->flow))
			rc = ENOMEM;
		if (!rc)
			ccs_accept(qp, wr, ccs_wr_flags(qp, wr));
	}
	if (rc)
		*bad = wr;
	return rc;
}

/* qp->lock is held. runs: a WR may be in a run. */
static int post_wrs(struct qp *qp, struct ibv_send_wr *wr, bool runs, struct ibv_send_wr **bad)
{
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	int rc;

	ccs_qp_feedback_poll(qp, &now_ns);
	if (wr && qp->flow.wr_head != qp->flow.wr_tail && (wr->next || ccs_flow_full(&qp->flow)))
		ccs_accept_reclaim(qp, list_length(wr));
	rc = ccs_emit_is_ours_to_flush(qp) ? post_broken(qp, wr, bad)
					   : post_list(qp, wr, runs, bad, &now_ns);
	CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
	if (!ccs_emit_is_watched(qp))
		ccs_emit_schedule(qp, &now_ns);
	ccs_publish_due(qp, now_ns);
	ccs_publish_prefetch(qp);
	return rc;
}

/* As librxe, which clears bad_wr in each call. */
static bool is_list_refused(struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (bad)
		*bad = NULL;
	return !bad || !wr;
}

static __attribute__((noinline)) int post_any(struct qp *qp, struct ibv_send_wr *wr,
					      struct ibv_send_wr **bad)
{
	const bool syscalls = qp->syscalls;
	const int saved = errno;
	int rc;

	if (syscalls && is_list_refused(wr, bad))
		return EINVAL;
	ccs_accept_lock(qp);
	rc = post_wrs(qp, wr, true, bad);
	ccs_accept_unlock(qp);
	if (__builtin_expect(syscalls, 0))
		pthread_testcancel(); /* no lock is held here */
	return ccs_posted(saved, rc);
}

/* Post a lone WR that is in no run, and release the lock. */
static __attribute__((noinline)) int post_gated(struct qp *qp, struct ibv_send_wr *wr,
						struct ibv_send_wr **bad)
{
	const int saved = errno, rc = post_wrs(qp, wr, false, bad);

	ccs_qp_leave(qp);
	return ccs_posted(saved, rc);
}

/* Rare, and not inlined so that ccs_post() saves fewer registers. */
static __attribute__((noinline)) void prepare_post(struct qp *qp)
{
	ccs_notify_before_post(qp);
	ccs_qp_wake_shadow(qp);
}

/* A lone WR on its way to the device. All is in memory, so that ccs_post() saves few registers. */
struct lone {
	struct ibv_send_wr wqe, *bad_wqe, *wr, **bad;
	int saved;
};

/* The rest of post_lone() if the device has returned an error, or if the CQ has a channel. */
static __attribute__((noinline)) int end_post(struct qp *qp, int rc, const struct lone *l)
{
	struct ccs_post_outcome o = { .first = qp->flow.wr_head - 1, .device = rc };
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	if (rc) {
		o.refused = ccs_emit_return(qp, ccs_flow_newest(&qp->flow), &l->wqe, l->bad_wqe);
		if (o.refused != UINT64_MAX)
			set_sources(&qp->flow, o.first, l->wr);
		rc = resolve_post_result(qp, &o, l->wr, l->bad);
	}
	ccs_emit_schedule(qp, &now_ns);
	ccs_qp_leave(qp);
	return ccs_posted(l->saved, rc);
}

static int post_other(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* Post a lone WR as a run of one, and release the lock. common: it has one SGE, unless post_other()
 * is to post it; what is rare is not here, so that no call but the device's needs registers. */
static inline __attribute__((always_inline)) int post_lone(struct qp *qp, struct ibv_send_wr *wr,
							   struct ibv_send_wr **bad,
							   enum ccs_flow_run_kind kind, bool common)
{
	struct ccs_flow_run run;
	struct lone l;
	uint64_t len, token;
	int rc;

	if (!is_of_kind(qp, wr->opcode, kind) ||
	    (common ? wr->num_sge != 1 : !ccs_flow_run_limit(&qp->flow, kind)))
		return common ? post_other(qp, wr, bad) : post_gated(qp, wr, bad);
	len = common ? wr->sg_list->length : run_len(qp, wr);
	l.wqe.next = l.bad_wqe = NULL;
	l.wr = wr;
	l.bad = bad;
	ccs_flow_run_begin(&qp->flow, true, &run);
	if (!ccs_flow_run_fits(&qp->flow, &run, len, kind))
		return post_gated(qp, wr, bad);
	token = ccs_token(qp, run.seg);
	ccs_flow_run_add(&qp->flow, &run, len, ccs_opcode_flags(wr->opcode), kind, wr->wr_id);
	CCS_READ_AGAIN(wr);
	ccs_wr_build_whole(wr, kind != CCS_RUN_UNSIGNALLED, kind == CCS_RUN_READ, token, &l.wqe);
	CCS_READ_AGAIN(qp);
	ccs_flow_run_end(&qp->flow, &run, 1, kind);
	if (__builtin_expect(qp->events.enabled || ccs_shadow_watch(qp->shadow), 0))
		prepare_post(qp);
	ccs_publish_prefetch(qp);
	l.saved = errno;
	rc = qp->ctx->real.post_send(qp->real, &l.wqe, &l.bad_wqe);
	CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
	if (__builtin_expect(rc || qp->events.enabled, 0))
		return end_post(qp, rc, &l);
	ccs_unlock_quietly(&qp->lock);
	return ccs_lock_has_sleepers(&qp->lock) ? ccs_lock_wake(&qp->lock) : 0;
}

/* Any WR but a signalled SEND or WRITE of one SGE. */
static __attribute__((noinline)) int post_other(struct qp *qp, struct ibv_send_wr *wr,
						struct ibv_send_wr **bad)
{
	const bool reads = ccs_opcode_flags(wr->opcode) & CCS_WR_READ;

	return post_lone(qp, wr, bad, !is_signalled(qp, wr) ? CCS_RUN_UNSIGNALLED
				      : reads ? CCS_RUN_READ : CCS_RUN_SIGNALED, false);
}

/* With a budget. Not inlined, for its two callers. */
static __attribute__((noinline)) int post_now(struct qp *qp, struct ibv_send_wr *wr,
					      struct ibv_send_wr **bad)
{
	if (__builtin_expect(!is_signalled(qp, wr), 0))
		return post_other(qp, wr, bad);
	return post_lone(qp, wr, bad, CCS_RUN_SIGNALED, true);
}

/* Without a budget. */
static __attribute__((noinline)) int post_granted(struct qp *qp, struct ibv_send_wr *wr,
						  struct ibv_send_wr **bad)
{
	return has_budget(qp, wr) ? post_now(qp, wr, bad) : post_gated(qp, wr, bad);
}

/* The QP's state does not let a WR leave at once. */
static __attribute__((noinline)) int post_slowly(struct qp *qp, struct ibv_send_wr *wr,
						 struct ibv_send_wr **bad)
{
	ccs_unlock(&qp->lock);
	return post_any(qp, wr, bad);
}

/*
 * Most calls post one WR to an open gate: a run of one takes few instructions. New feedback is
 * processed with the next completion, or with the next timed WR.
 */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	ccs_accept_prefetch(qp);
	if (!wr || wr->next || !ccs_trylock(&qp->lock))
		return post_any(qp, wr, bad);
	CCS_READ_AGAIN(qp);
	if (qp->scheduled || qp->broken || qp->resumed || qp->early || qp->special)
		return post_slowly(qp, wr, bad);
	if (!qp->flow.budget.wrs)
		return post_granted(qp, wr, bad);
	return post_now(qp, wr, bad);
}
