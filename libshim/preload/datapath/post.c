/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting: accept the application's WRs, and hand those that need not wait to the device at once.
 */
#include "preload/datapath/post.h"

#include <errno.h>
#include <pthread.h>

#include "base/probe.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/accept.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/wr.h"
#include "preload/object/shim.h"
#include "preload/report/publish.h"

/* Of librxe, the doorbell's error before RTS: it queues what fits nevertheless. */
static int full_error(const struct qp *qp)
{
	return qp->syscalls && qp->state < IBV_QPS_RTS ? EINVAL : ENOMEM;
}

static inline uint64_t list_length(const struct ibv_send_wr *wr, uint64_t most)
{
	uint64_t n = 0;

	for (; wr && n < most; wr = wr->next)
		n++;
	return n;
}

/* Accept WRs while there is space; returns the first one left. *flags has the flags of all. */
static struct ibv_send_wr *accept_list(struct qp *qp, struct ibv_send_wr *wr, uint32_t *flags)
{
	for (*flags = 0; wr && !ccs_flow_full(&qp->flow); wr = wr->next)
		*flags |= ccs_accept(qp, wr);
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
		const int refusal = ccs_flow_wr(f, n)->flags & CCS_WR_NO_DEFER ? ENOMEM
									     : ccs_wr_keep(qp, n);

		if (refusal) {
			*rc = refusal;
			return n;
		}
		f->stats.deferred++;
	}
	return n;
}

/* The outcome of a call whose first WR has the number `first`. */
struct outcome {
	uint64_t first, refused;         /* refused: if device is not 0, by ccs_emit() */
	struct ibv_send_wr *left;        /* the first that there was no space for; or NULL */
	int device;                      /* its error code */
};

/* The device has refused WRs of this call, whose entries may be without a source. */
static void set_sources(struct ccs_flow *f, uint64_t first, const struct ibv_send_wr *wr)
{
	for (uint64_t n = first; n < f->wr_head; n++, wr = wr->next)
		if (n >= f->wr_next)
			ccs_flow_wr(f, n)->source = wr;
}

/* The device's error codes, or its usual ones where the WR did not get there. */
static int resolve_post_result(struct qp *qp, const struct outcome *o, struct ibv_send_wr *wr,
			       struct ibv_send_wr **bad)
{
	struct ccs_flow *f = &qp->flow;
	/* The device has the WRs despite its error. */
	const bool kept = o->device && o->refused == UINT64_MAX;
	struct ibv_send_wr *left = o->left;
	int rc = left ? full_error(qp) : 0;
	uint64_t n;

	if (o->device && !kept)
		set_sources(f, o->first, wr);
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

/* Accept a WR and build the WQE of its first segment, the n-th. False: it has to wait. */
static __attribute__((noinline)) bool
build_timed(struct qp *qp, const struct ibv_send_wr *wr, struct ibv_send_wr *wqe, int n,
	    uint64_t *now_ns)
{
	const struct ccs_seg *seg;

	if (ccs_flow_wants_entries(&qp->flow, CCS_BATCH))
		ccs_qp_add_entries(qp);
	ccs_accept(qp, wr);
	if (ccs_emit_next(qp, now_ns, &seg) != CCS_NEXT_SEGMENT)
		return false;
	ccs_wr_build(qp, seg, ccs_token(qp, ccs_flow_newest(&qp->flow)), wqe, (uint32_t)n);
	return true;
}

/*
 * The usual WR is signalled, has one SGE, and is no READ. If it is short, it needs no CCS_WR_SPLIT.
 * Its flags, or 0: it is another one.
 */
static inline uint32_t flags_of_usual(const struct qp *qp, const struct ibv_send_wr *wr)
{
	const uint32_t flags = ccs_opcode_flags(wr->opcode);

	if ((flags & (CCS_WR_READ | CCS_WR_NO_DEFER)) || wr->num_sge != 1 ||
	    !(qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED)))
		return 0;
	return (flags & (CCS_WR_RECV | CCS_WR_IMM)) | CCS_WR_SIGNALED;
}

/*
 * Accept usual WRs that may leave at once, at most `most`, and build their WQEs. Returns the first
 * that is another one, or may have to wait.
 */
static inline __attribute__((always_inline)) struct ibv_send_wr *
fill_usual(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **wqe, unsigned most)
{
	struct ccs_flow *f = &qp->flow;
	const unsigned limit = ccs_flow_run_limit(f);
	struct ibv_send_wr *out = *wqe, *const end = out + (most < limit ? most : limit);
	struct ccs_flow_run run;

	ccs_flow_begin_run(f, &run);
	for (; wr && out < end; wr = wr->next) {
		const uint32_t flags = flags_of_usual(qp, wr);
		uint32_t len;

		if (!flags)
			break;
		len = wr->sg_list->length;
		if (!ccs_flow_run_fits(f, &run, len))
			break;
		ccs_wr_build_whole(wr, true, ccs_token(qp, run.seg), out);
		ccs_flow_run_add(f, &run, len, flags, wr->wr_id);
		out->next = out + 1;
		out++;
	}
	if (out == *wqe)
		return wr;
	ccs_flow_end_run(f, &run);
	*wqe = out;
	return wr;
}

/* The same for one WR. False: it is another one, or may have to wait. */
static inline __attribute__((always_inline)) bool
build_usual(struct qp *qp, const struct ibv_send_wr *wr, struct ibv_send_wr *wqe)
{
	const uint32_t flags = flags_of_usual(qp, wr);
	struct ccs_flow *f = &qp->flow;
	struct ccs_flow_run run;

	if (!flags || !ccs_flow_run_limit(f) || wr->sg_list->length > f->fastpath_bytes)
		return false;
	ccs_flow_begin_run_of_one(f, &run);
	ccs_wr_build_whole(wr, true, ccs_token(qp, run.seg), wqe);
	wqe->next = NULL;
	ccs_flow_run_add(f, &run, wr->sg_list->length, flags, wr->wr_id);
	ccs_flow_end_run(f, &run);
	return true;
}

/* One doorbell's worth of segments. */
struct doorbell {
	struct ibv_send_wr wr[CCS_BATCH];
	uint64_t first;                  /* number of its first segment */
	int n;
};

/*
 * The segments of WRs that need not wait, in a batch. Returns the first WR that is not accepted;
 * the last one that is may have to wait for the gate, or for its other segments.
 */
static inline struct ibv_send_wr *fill_at_once(struct qp *qp, struct ibv_send_wr *wr,
					       struct doorbell *b, uint64_t *now_ns)
{
	struct ccs_flow *f = &qp->flow;
	struct ibv_send_wr *wqe = b->wr;

	b->first = f->seg_head;
	for (; wqe < b->wr + CCS_BATCH && !ccs_flow_waiting(f); wr = wr->next) {
		uint32_t flags;
		const struct ccs_seg *seg;

		wr = fill_usual(qp, wr, &wqe, (unsigned)(b->wr + CCS_BATCH - wqe));
		if (!wr || wqe == b->wr + CCS_BATCH)
			break;
		flags = ccs_wr_flags(qp, wr);
		seg = ccs_flow_post_fast(f, ccs_wr_len(qp, wr), flags, wr->wr_id);
		if (seg) {
			ccs_flow_wr(f, seg->wr)->source = wr;
			ccs_wr_build_whole(wr, seg->signal, ccs_token(qp, ccs_flow_newest(f)), wqe);
		} else if ((flags & CCS_WR_NO_DEFER) || ccs_flow_full(f)) {
			break;
		} else if (!build_timed(qp, wr, wqe, (int)(wqe - b->wr), now_ns)) {
			wr = wr->next;
			break;
		}
		wqe->next = wqe + 1;
		wqe++;
	}
	b->n = (int)(wqe - b->wr);
	if (b->n)
		wqe[-1].next = NULL;
	return wr;
}

/* Post WRs as they are accepted, while none must wait: as ccs_emit(); o->left as fill_at_once(). */
static inline int post_at_once(struct qp *qp, struct outcome *o, uint64_t *now_ns)
{
	struct doorbell b;

	if (qp->flow.state != CCS_FLOW_RUN || qp->state < IBV_QPS_RTS || qp->resumed)
		return 0;
	do {
		struct ibv_send_wr *bad = NULL;
		int rc;

		o->left = fill_at_once(qp, o->left, &b, now_ns);
		if (!b.n)
			return 0;
		ccs_notify_before_post(qp);
		rc = ccs_emit_to_device(qp, b.wr, &bad);
		if (__builtin_expect(rc, 0)) {
			o->refused = ccs_emit_return(qp, b.first, b.wr, bad);
			return rc;
		}
	} while (o->left && b.n == CCS_BATCH);
	return 0;
}

static int post_list(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		     uint64_t *now_ns)
{
	struct outcome o = { .first = qp->flow.wr_head, .left = wr };
	uint32_t flags;

	o.device = post_at_once(qp, &o, now_ns);
	if (!o.device && !o.left && !ccs_flow_waiting(&qp->flow))
		return 0;
	o.left = accept_list(qp, o.left, &flags);
	if (!o.device)
		o.device = ccs_emit_posted(qp, flags, now_ns, &o.refused);
	/* Without memory for what would have to wait, the gate does not count. */
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
			ccs_accept(qp, wr);
	}
	if (rc)
		*bad = wr;
	return rc;
}

static int post_wrs(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	int rc;

	ccs_qp_feedback_poll(qp, &now_ns);
	if (wr && (wr->next || ccs_flow_full(&qp->flow)))
		ccs_accept_make_room(qp, list_length(wr, qp->flow.wr_limit));
	rc = ccs_emit_is_ours_to_flush(qp) ? post_broken(qp, wr, bad)
					   : post_list(qp, wr, bad, &now_ns);
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

	if (ccs_forked())
		return qp->ctx->real.post_send(qp->real, wr, bad);
	if (syscalls && is_list_refused(wr, bad))
		return EINVAL;
	ccs_accept_lock(qp);
	rc = post_wrs(qp, wr, bad);
	ccs_accept_unlock(qp);
	if (__builtin_expect(syscalls, 0))
		pthread_testcancel(); /* no lock is held here */
	return ccs_posted(saved, rc);
}

/* Not inlined: a usual WR then needs fewer registers. */
static __attribute__((noinline)) void prepare_post(struct qp *qp)
{
	ccs_notify_before_post(qp);
	ccs_qp_wake_shadow(qp);
}

/* The device has answered with rc to the WQE of the usual WR; saved: errno before that. */
static __attribute__((noinline)) int end_usual(struct qp *qp, struct ibv_send_wr *wr, int rc,
					       const struct ibv_send_wr *wqe,
					       const struct ibv_send_wr *bad_wqe,
					       struct ibv_send_wr **bad, int saved)
{
	struct outcome o = { .first = qp->flow.wr_head - 1, .device = rc };
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	if (rc) {
		o.refused = ccs_emit_return(qp, ccs_flow_newest(&qp->flow), wqe, bad_wqe);
		rc = resolve_post_result(qp, &o, wr, bad);
	}
	ccs_emit_schedule(qp, &now_ns);
	ccs_qp_leave(qp);
	return ccs_posted(saved, rc);
}

/* Whether a WR of it cannot be a usual one. */
static inline bool is_unusual(const struct qp *qp)
{
	return qp->scheduled || qp->broken || qp->resumed || qp->early || qp->special;
}

/*
 * Most calls post one WR to an open gate, which takes few instructions here. New feedback is
 * processed with the next completion, or the next WR that is timed.
 */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr wqe, *bad_wqe = NULL;
	const int saved = errno;
	int rc;

	ccs_accept_prefetch(qp);
	if (!wr || wr->next || ccs_forked())
		return post_any(qp, wr, bad);
	ccs_lock(&qp->lock);
	if (is_unusual(qp) || !build_usual(qp, wr, &wqe)) {
		ccs_unlock(&qp->lock);
		return post_any(qp, wr, bad);
	}
	if (__builtin_expect(qp->events.enabled || ccs_shadow_watch(qp->shadow), 0))
		prepare_post(qp);
	ccs_publish_prefetch(qp);
	rc = qp->ctx->real.post_send(qp->real, &wqe, &bad_wqe);
	CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
	if (__builtin_expect(rc || qp->events.enabled, 0))
		return end_usual(qp, wr, rc, &wqe, bad_wqe, bad, saved);
	ccs_unlock(&qp->lock);
	return 0;
}
