/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes a program of eight bytes per step. A step depends only on earlier posts and waits, never
 * on completions polled so far, so both runs execute the same program. Any bytes are a program,
 * also a program with steps removed.
 */
#include <string.h>

#include "mailbox.h"
#include "virtual.h"
#include "world.h"

struct step {
	uint8_t op, end, n, how;
	uint32_t seed;
};

static void ensure_queue_space(struct end *e, unsigned n)
{
	if (e->posted - e->synced + n + 1 > e->depth)
		quiesce(e);
}

enum {
	ARM_WAIT = 5000, /* naps: a flow may be at its least rate, 10 kb/s */
	LONG_NS = 10000000, OVERSIZED = 0x48000000
};

static unsigned list_len(const struct end *e, uint8_t n)
{
	return 1 + n % (e->depth - 1 < 8 ? e->depth - 1 : 8);
}

/* The end that may post: while one end of a pair has failed, only that end. */
static struct end *chosen(uint8_t end)
{
	struct end *e = &w.end[end % ENDS];

	return is_down(e->peer) ? e->peer : e;
}

static void op_post(struct end *e, const struct step *s)
{
	const unsigned n = list_len(e, s->n);
	struct list l;

	ensure_queue_space(e, n);
	list_random(e, &l, n, s->seed);
	list_submit(e, &l, s->how & 1);
}

static void op_poll(const struct step *s)
{
	const int n = 1 + s->n % 16;
	const unsigned cq = s->end % w.cqs;
	const int got = poll_some(cq, n, s->how & 1);

	trace_step("poll %d of CQ %u: %d", n, cq, got);
	for (unsigned i = 0; i < ENDS; i++)
		if (is_down(&w.end[i])) { /* posted WRs are flushed, held or not */
			/* Another QP's completion may have come first: then RESET removes its. */
			drain();
			return;
		}
	if (got < n && w.held && poll_some(cq, 1, s->how & 1))
		violation(NULL, "a poll left something behind");
}

static void op_pass(const struct step *s)
{
	trace_step("%llu ns pass", 1ull << s->n % 21);
	virtual_pass(1ull << s->n % 21);
}

static void op_hold(const struct step *s)
{
	if (s->how & 3 || !w.held) {
		hold(!w.held);
		trace_step(w.held ? "hold" : "release");
		return;
	}
	step(1 + s->n % 8);
}

/* All later WRs fail. No outstanding WR has begun, or its result is undefined. */
static void op_err(struct end *e, const struct step *s)
{
	quiesce_peer(e);
	if (s->how & 1)
		quiesce(e);
	if (is_down(e))
		return;
	trace_step("%c to ERR", 'A' + (int)e->place);
	e->cut = e->posted != e->synced && !e->held_since;
	append(&e->calls, "err: %d\n", to_state(e, IBV_QPS_ERR));
	e->doomed = e->held_since ? e->synced : e->posted;
	e->paused = false;
}

static void op_pause(struct end *e)
{
	unsigned pauses;

	if (is_down(e))
		return;
	e->paused = !e->paused;
	e->pauses += e->paused;
	trace_step("%c to %s", 'A' + (int)e->place, e->paused ? "SQD" : "RTS");
	read_async_events();
	pauses = e->pauses;
	append(&e->calls, "%d\n", to_state(e, e->paused ? IBV_QPS_SQD : IBV_QPS_RTS));
	if (!e->paused || e->posted != e->synced)
		return;
	read_async_events(); /* no WR is outstanding, so it is drained at once */
	append(&e->calls, "drained: %u\n", pauses - e->pauses);
}

/* Attributes that may change in RTS, or in SQD, where the path may as well. */
static void op_modify(struct end *e, const struct step *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = e->paused ? IBV_QPS_SQD : IBV_QPS_RTS, .min_rnr_timer = s->n % 32,
		.max_rd_atomic = (uint8_t)(1 + s->seed % 4),
		.ah_attr = { .is_global = 1, .port_num = 1, .sl = s->n % 8,
			     .grh.traffic_class = (uint8_t)(s->seed >> 8) },
	};
	const int path = e->paused && s->how & 2 ? IBV_QP_AV | IBV_QP_MAX_QP_RD_ATOMIC : 0;
	struct ibv_qp_init_attr init;
	int rc;

	if (is_down(e))
		return;
	ibv_query_gid(w.ctx, 1, 1, &attr.ah_attr.grh.dgid);
	rc = CALL(ibv_modify_qp(e->qp, &attr, path | IBV_QP_MIN_RNR_TIMER |
				(s->how & 1 ? IBV_QP_STATE : 0)));
	trace_step("%c: attributes, %s path", 'A' + (int)e->place, path ? "also the" : "not the");
	read_async_events();
	ibv_query_qp(e->qp, &attr, IBV_QP_AV, &init);
	append(&e->calls, "modify: %d, timer %u, %u READs, class %#x, SL %u\n", rc, attr.min_rnr_timer,
	       attr.max_rd_atomic, attr.ah_attr.grh.traffic_class, attr.ah_attr.sl);
}

/* One WR in the middle of a list fails. */
static void op_fail(struct end *e, const struct step *s)
{
	static const uint8_t status[] = { IBV_WC_REM_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR,
					  IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_PROT_ERR,
					  IBV_WC_REM_OP_ERR, IBV_WC_REM_INV_REQ_ERR };
	const uint32_t key = FAKE_KEY_FAILS + status[s->how / 2 % 6];
	const unsigned n = list_len(e, s->n), k = s->seed % n;
	struct list l;

	quiesce_peer(e);
	ensure_queue_space(e, n);
	if (e->paused || is_down(e))
		return;
	list_random(e, &l, n, s->seed);
	if (wr_is_local(&l.wr[k]) || l.wr[k].opcode == IBV_WR_SEND ||
	    l.wr[k].opcode == IBV_WR_SEND_WITH_IMM || l.wr[k].opcode == IBV_WR_SEND_WITH_INV) {
		l.wr[k].opcode = IBV_WR_RDMA_WRITE;
		l.wr[k].wr.rdma.remote_addr = (uintptr_t)e->peer->remote;
		l.wr[k].wr.rdma.rkey = w.mr->rkey;
	}
	if (l.wr[k].num_sge && !(l.wr[k].send_flags & IBV_SEND_INLINE) && s->how & 16 &&
	    l.sge[k][l.wr[k].num_sge - 1].length) {
		l.sge[k][l.wr[k].num_sge - 1].lkey = key;
	} else if (l.wr[k].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		 l.wr[k].opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		l.wr[k].wr.atomic.rkey = key;
	} else {
		l.wr[k].wr.rdma.rkey = key;
	}
	if (fake_profile()->takes_any_opcode && s->how & 32)
		l.wr[k].opcode = IBV_WR_ATOMIC_WRITE;
	trace_step("%c's WR %u will fail with %u", 'A' + (int)e->place, e->posted + k, key & 0xff);
	list_submit(e, &l, s->how & 1 && l.wr[k].opcode != IBV_WR_ATOMIC_WRITE);
	e->doomed = e->posted;
}

static void op_refused(struct end *e, const struct step *s)
{
	struct list l;

	ensure_queue_space(e, 3);
	if (e->depth < 4)
		return;
	list_plain(e, &l, 3, s->n & 1 ? IBV_SEND_SIGNALED : 0);
	if (s->n & 2)
		list_random(e, &l, 3, s->seed);
	l.wr[1].opcode = IBV_WR_RDMA_WRITE;
	l.wr[1].num_sge = 1;
	l.wr[1].sg_list = l.sge[1];
	l.sge[1][0].length = 8;
	switch (e->tight ? 0 : s->how % 5) {
	case 3:
		l.wr[1].opcode = IBV_WR_BIND_MW;
		l.wr[1].bind_mw.mw = w.mw;
		l.wr[1].num_sge = fake_profile()->binds_without_sge ? 1 : SGES + 1;
		break;
	case 4:
		l.wr[1].opcode = IBV_WR_LOCAL_INV;
		l.wr[1].num_sge = SGES + 1;
		break;
	case 0:
		l.wr[1].num_sge = (int)w.sges + 1;
		break;
	case 1:
		if (fake_profile()->takes_any_opcode)
			return;
		l.wr[1].opcode = IBV_WR_TSO;
		break;
	default:
		l.wr[1].send_flags |= IBV_SEND_INLINE;
		l.sge[1][0].length = 4 * INLINE; /* more than the device grants */
		break;
	}
	if (!w.atomics && !e->tight && s->how & 16) {
		l.wr[1].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		l.wr[1].send_flags &= ~(unsigned)IBV_SEND_INLINE;
		l.wr[1].num_sge = 1;
	}
	list_submit(e, &l, false);
}

static void op_refused_modify(struct end *e, const struct step *s)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_SQD, IBV_QPS_ERR, IBV_QPS_RESET };

	fake_fail_modify_qp(0, EPERM);
	trace_step("%c: modify to %d is refused", 'A' + (int)e->place, states[s->how % 3]);
	append(&e->calls, "refused modify: %d\n", to_state(e, states[s->how % 3]));
}

/* Outstanding WRs are then lost, unless all have completed. */
static bool leave(struct end *e, bool settled)
{
	quiesce_peer(e);
	if (settled)
		quiesce(e);
	e->cut = !w.hung && e->posted != e->synced;
	return !w.hung;
}

/* The QP is destroyed or reset: some devices have removed its completions. */
static void drain_late(struct end *e)
{
	e->gone = true;
	drain();
	if (fake_profile()->cleans_cqs)
		append(&e->calls, "~cleaned %u\n", e->late);
}

static void op_reset(struct end *e, const struct step *s)
{
	struct list l;

	if (!leave(e, s->how & 1))
		return;
	if (s->how & 2)
		late(1 + s->n % 4);
	trace_step("%c to RESET", 'A' + (int)e->place);
	append(&e->calls, "reset: %d\n", to_state(e, IBV_QPS_RESET));
	drain_late(e);
	list_plain(e, &l, 2, 0);
	list_submit(e, &l, false);
	raise_pair(e);
}

static void op_destroy(struct end *e, const struct step *s)
{
	struct ibv_cq *dummy;

	if (!leave(e, s->how & 1))
		return;
	if (s->how & 2) {
		fake_fail_destroy_qp(0, EBUSY);
		append(&e->calls, "busy: %d\n", CALL(ibv_destroy_qp(e->qp)));
	}
	if ((s->how & 5) == 5 && e->posted && !fake_profile()->cleans_cqs) {
		fake_stale_cqe(0);
		e->stale = true;
	}
	trace_step("%c is destroyed%s", 'A' + (int)e->place,
		   e->stale ? ", but for a completion" : "");
	read_cq_events(s->how & 32);
	if (s->how & 64)
		late(1 + s->n % 4);
	append(&e->calls, "destroy: %d\n", CALL(ibv_destroy_qp(e->qp)));
	drain_late(e);
	if (s->how & 8)
		fake_fail_create_cq(0, ENOMEM);
	e->tight = s->how & 16;
	if (e->tight)
		fake_limit_depth(e->depth);
	end_create(e);
	/* a run that needed no CQ here still has the fault pending */
	dummy = ibv_create_cq(w.ctx, 1, NULL, NULL, 0);
	if (dummy)
		ibv_destroy_cq(dummy);
	fake_limit_depth(UINT32_MAX);
	raise_pair(e);
}

/* Arm, poll once more, sleep; repeat for each event without a completion. */
static void sleep_until_done(struct ibv_cq *cq, uint32_t *counter, uint32_t end, bool solicited)
{
	while (!w.hung) {
		arm(cq, solicited);
		drain();
		if ((int32_t)(*counter - end) >= 0 || !sleep_for_event())
			return;
		read_cq_events(false);
	}
}

/* The sender sleeps until its last WR is done, or the receiver until the message has arrived. */
static void op_sleep(struct end *e, const struct step *s)
{
	const bool solicited = s->how & 2;
	struct list l;

	quiesce(e);
	if (!w.channel || w.held || w.hung || e->depth < 5)
		return;
	read_cq_events(s->how & 4);
	post_receives(e->peer, 4);
	fake_not_ready(0, 0); /* the fake provider retries only when it is called */
	list_random(e, &l, 3, s->seed);
	l.wr[2].send_flags |= IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	if (solicited && l.wr[2].opcode != IBV_WR_SEND) {
		list_plain(e, &l, 1, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
		l.wr[0].opcode = IBV_WR_SEND;
	}
	trace_step("%c sleeps", 'A' + (int)(solicited ? e->peer : e)->place);
	if (solicited)
		arm(e->peer->rcq, true);
	list_submit(e, &l, s->how & 1);
	if (solicited)
		sleep_until_done(e->peer->rcq, &e->peer->received, e->peer->needed, true);
	else
		sleep_until_done(e->scq, &e->reported, e->posted, false);
}

static unsigned index_of(const struct ibv_cq *cq)
{
	unsigned i = 0;

	while (w.cq[i] != cq)
		i++;
	return i;
}

/* Arm without a poll after that: a device that arms with the CQ's index raises an event. */
static void op_late_arm(struct end *e, const struct step *s)
{
	struct list l;

	quiesce(e);
	if (!w.channel || w.held || w.hung || e->depth < 5 || !fake_profile()->arms_by_index)
		return;
	read_cq_events(true);
	list_plain(e, &l, 3, IBV_SEND_SIGNALED);
	list_submit(e, &l, false);
	virtual_pass(1ull << s->n % 25);
	if (s->how & 1)
		poll_some(index_of(e->scq), 1 + s->n % 2, false);
	arm(e->scq, false);
	append(&e->calls, "~late_arm %d\n", wait_for_event(ARM_WAIT));
}

/* The device does not carry out a message beyond its port's limit. */
static void op_oversized(struct end *e)
{
	struct list l;
	int bad, rc;

	quiesce_peer(e);
	quiesce(e);
	if (w.hung || w.held)
		return;
	trace_step("%c posts more than a message may have", 'A' + (int)e->place);
	list_plain(e, &l, 1, IBV_SEND_SIGNALED);
	l.sge[0][0].length = OVERSIZED;
	l.sge[0][0].lkey = 0xdead;
	rc = list_post(e, &l, false, &bad);
	append(&e->calls, "oversized: %d %d\n", rc, bad);
	list_account(e, &l, !rc);
	if (rc || !wait_for(e, e->posted - 1))
		return;
	append(&e->calls, "~oversized %d\n", e->status);
	e->cut = true;
	CALL(ibv_destroy_qp(e->qp)); /* the flow paces as if the message had been sent */
	drain();
	end_create(e);
	raise_pair(e);
}

/* Before RTS a send is refused, or queued by devices that do not check the state. */
static void op_before_rts(struct end *e)
{
	struct list l;
	int bad, rc;
	bool queued;

	quiesce_peer(e);
	quiesce(e);
	if (w.hung || w.held)
		return;
	append(&e->calls, "reset: %d\n", to_state(e, IBV_QPS_RESET));
	trace_step("%c posts before RTS", 'A' + (int)e->place);
	list_plain(e, &l, 1, IBV_SEND_SIGNALED);
	rc = list_post(e, &l, false, &bad);
	append(&e->calls, "before RTS: %d %d\n", rc, bad);
	queued = !rc || fake_profile()->keeps_early;
	list_account(e, &l, queued);
	to_rts(e);
	virtual_pass(LONG_NS);
	drain();
	if (queued)
		append(&e->calls, "~before_rts %d\n", e->reported == e->posted);
	e->cut = true;
	raise_pair(e);
}

/* Post the WRs for which there is space; the record has only the code. */
static void post_most(struct end *e, struct list *l, bool builders)
{
	int bad;
	const int rc = list_post(e, l, builders, &bad);

	append(&e->calls, "post: %d\n", rc);
	list_account(e, l, rc ? bad < 0 ? 0 : (unsigned)bad : l->n);
}

/* A queue is exactly as deep as it was reported to be. */
static void op_overfill(struct end *e, const struct step *s)
{
	struct list l;
	uint32_t first;

	quiesce_peer(e);
	quiesce(e);
	if (w.hung)
		return;
	hold(true);
	trace_step("%c is filled", 'A' + (int)e->place);
	first = e->posted;
	list_plain(e, &l, e->granted + s->n % 4, IBV_SEND_SIGNALED);
	post_most(e, &l, false);
	if (e->posted - first < e->granted) {
		list_plain(e, &l, e->granted - (e->posted - first) + s->n % 2, IBV_SEND_SIGNALED);
		post_most(e, &l, false);
	}
	append(&e->calls, "filled: %d\n", e->posted - first == e->granted);
	list_plain(e, &l, 1, 0);
	post_most(e, &l, s->how & 1);
	hold(false);
	if (s->how & 2 && !fake_profile()->reuses_silently) {
		virtual_pass(LONG_NS); /* it stays full until a completion is polled */
		list_plain(e, &l, 1, 0);
		post_most(e, &l, s->how & 1);
	}
	if (!wait_for(e, e->posted - 1))
		return;
	e->cut = true; /* the number of WRs depends on the granted capabilities */
	raise_pair(e);
}

/*
 * The device refuses a valid WR. The shim reports the refusal if it has asked the device in
 * time, or fails the QP; the record contains neither, and only the checks remain.
 */
static void op_fault(struct end *e, const struct step *s)
{
	static const int codes[] = { ENOMEM, EINVAL, -EINVAL, EIO };
	const unsigned n = list_len(e, s->n), k = s->seed % n;
	const int code = codes[s->how % 4];
	const bool silent = s->how & 4;
	struct list l;
	int bad = -1, rc, later;

	for (unsigned i = 0; i < ENDS; i++)
		quiesce(&w.end[i]); /* a fault may hit any QP */
	if (w.hung || w.held)
		return;
	e->cut = true;
	list_plain(e, &l, n, IBV_SEND_SIGNALED);
	fake_fail_post(k, code, silent ? FAKE_BAD_NULL : FAKE_BAD_WR);
	rc = list_post(e, &l, false, &bad);
	trace_step("%c posts %u, %s refused with %d at %u: %d, %d", 'A' + (int)e->place, n,
	     silent ? "silently" : "and is", code, k, rc, bad);
	if (rc && (rc != code || bad != (silent ? -1 : (int)k)))
		violation(e, "refused with %d at %d, the device said %d at %u", rc, bad, code, k);
	list_account(e, &l, bad >= 0 ? (unsigned)bad : n);
	list_plain(e, &l, 1, IBV_SEND_SIGNALED);
	later = list_post(e, &l, false, &bad);
	/* the WR may have waited, and been posted with this WR */
	if (later && (rc || later != code || bad != (silent ? -1 : 0)))
		violation(e, "and behind that with %d at %d", later, bad);
	list_account(e, &l, !later || silent);
	if (wait_for(e, e->posted - 1))
		raise_pair(e);
}

static void op_query(struct end *e)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	const int rc = CALL(ibv_query_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init));

	if (e->posted != e->synced)
		attr.qp_state = 0; /* it may have failed by now */
	append(&e->calls, "query: %d, state %d, caps %d %u %u %d, %d %d %d\n", rc, attr.qp_state,
	    attr.cap.max_send_wr == e->granted, attr.cap.max_send_sge, attr.cap.max_inline_data,
	    init.cap.max_send_wr == e->granted, init.send_cq == e->scq, init.recv_cq == e->rcq,
	    init.sq_sig_all);
	append(&e->calls, "~send_cq %d\n", e->qp->send_cq == e->scq);
}

/* A queue is never resized to fewer entries than may be outstanding. */
static void op_resize(const struct step *s)
{
	struct ibv_cq *cq = w.cq[s->end % w.cqs];
	const int cqe = w.cqe + s->n;

	trace_step("CQ %u gets %d entries", s->end % w.cqs, cqe);
	append(&w.end[0].calls, "resize: %d\n", CALL(ibv_resize_cq(cq, cqe)));
	append(&w.end[0].calls, "%d entries\n", cq->cqe);
}

/* A window over the remote half is bound, used by the peer, and unbound. */
static void op_window(struct end *e, const struct step *s)
{
	struct ibv_mw *mw;
	struct ibv_mw_bind bind = {
		.wr_id = 0, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = w.mr, .addr = (uintptr_t)e->remote, .length = AREA,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	struct list l;
	uint32_t key;
	int rc;

	quiesce(e);
	quiesce(e->peer);
	/* without a deeper queue the shim must refuse WRs that cannot wait, except ibv_bind_mw() */
	if (w.hung || e->depth < 12 || (e->tight && !(s->how & 1)))
		return;
	mw = ibv_alloc_mw(w.pd, s->how & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (!mw)
		return;
	key = mw->rkey;
	trace_step("%c opens a window", 'A' + (int)e->place);
	if (s->how & 4)
		hold(true); /* earlier WRs fill the device's queue */
	list_random(e, &l, 3, ~s->seed);
	list_submit(e, &l, false);
	list_random(e, &l, 1 + s->n % 6, s->seed);
	if (s->how & 1) {
		list_submit(e, &l, false);
		list_plain(e, &l, 1, IBV_SEND_SIGNALED);
		bind.wr_id = l.wr[0].wr_id;
		rc = CALL(ibv_bind_mw(e->qp, mw, &bind));
		append(&e->calls, "bind: %d, %s key\n", rc,
		       mw->rkey != key ? "another" : "the same");
		list_account(e, &l, !rc);
	} else {
		struct ibv_send_wr *wr = &l.wr[l.n - 1];

		memset(wr, 0, offsetof(struct ibv_send_wr, opcode));
		wr->wr_id = wr_id_of(e, e->posted + l.n - 1, false);
		wr->opcode = IBV_WR_BIND_MW;
		wr->send_flags = IBV_SEND_SIGNALED;
		wr->bind_mw.mw = mw;
		wr->bind_mw.rkey = ibv_inc_rkey(key);
		wr->bind_mw.bind_info = bind.bind_info;
		list_submit(e, &l, false);
	}
	if (s->how & 4)
		hold(false);
	quiesce(e);
	list_plain(e->peer, &l, 2, IBV_SEND_SIGNALED);
	l.wr[0].wr.rdma.rkey = mw->rkey;
	list_submit(e->peer, &l, false);
	quiesce(e->peer);
	if (!(s->how & 1)) {
		list_random(e, &l, 1 + s->n % 4, s->seed + 1);
		memset(&l.wr[l.n - 1].opcode, 0, sizeof(l.wr[0].opcode));
		l.wr[l.n - 1].opcode = IBV_WR_LOCAL_INV;
		l.wr[l.n - 1].send_flags = IBV_SEND_SIGNALED;
		l.wr[l.n - 1].num_sge = 0;
		l.wr[l.n - 1].invalidate_rkey = mw->rkey;
		list_submit(e, &l, false);
	}
	quiesce(e);
	ibv_dealloc_mw(mw);
}

/*
 * Change settings for some or all QPs: the next poll applies them; without the shim this step has
 * no effect.
 */
static void op_set(const struct end *e, const struct step *s)
{
	static const char *const settings[] = {
		"mode=off", "mode=observe", "mode=enforce", "mode=enforce", "cc=timely", "cc=swift",
		"cc=dcqcn", "cc=hpcc", "cc=none", "cc=fixed:rate=20m", "max_rate=10m", "max_rate=50m",
		"max_rate=inf", "segment=256\nmax_inflight=256", "segment=1k\nmax_inflight=2k", "segment=auto\nmax_inflight=auto",
		"split=n", "split=y", "base_rtt=20us", "base_rtt=auto", "line_rate=100m",
		"line_rate=auto", "rtt_jitter=1ms", "rtt_jitter=0",
	};
	const unsigned modes = 4, all = sizeof(settings) / sizeof(*settings);
	const char *first = settings[s->n % (s->how & 4 ? modes : all)];
	const char *second = settings[s->seed % all];
	char text[128], whom[32] = "all";

	if (!mailbox_open())
		return;
	if (s->how & 1)
		snprintf(whom, sizeof(whom), "qp %u", e->num);
	else if (s->how & 2)
		strcpy(whom, "new");
	trace_step("for %s: %s, %s", whom, first, second);
	snprintf(text, sizeof(text), "%s\n%s\n%s\n", whom, first, second);
	mailbox_put(text);
}

static void run_step(const struct step *s)
{
	struct end *e = chosen(s->end);

	if (s->op >= 248) {
		op_set(e, s);
		return;
	}
	if (s->op >= 240) {
		(s->op & 4 ? op_late_arm(e, s) : s->op & 2 ? op_oversized(e) : op_before_rts(e));
		return;
	}
	switch (s->op % 28) {
	case 7:
		op_modify(e, s);
		break;
	case 8: case 9:
		op_poll(s);
		break;
	case 10:
		op_pass(s);
		break;
	case 11:
		post_receives(e, s->n % 8);
		break;
	case 12:
		trace_step("quiesce %c", 'A' + (int)e->place);
		quiesce(e);
		break;
	case 13:
		op_hold(s);
		break;
	case 14:
		op_err(e, s);
		break;
	case 15:
		op_pause(e);
		break;
	case 16:
		op_fail(e, s);
		break;
	case 17:
		op_refused(e, s);
		break;
	case 18:
		op_refused_modify(e, s);
		break;
	case 19:
		op_destroy(e, s);
		break;
	case 20:
		op_sleep(e, s);
		break;
	case 21:
		op_overfill(e, s);
		break;
	case 22:
		op_window(e, s);
		break;
	case 23:
		op_fault(e, s);
		break;
	case 24:
		if (s->how & 4)
			op_resize(s);
		else
			op_query(e);
		break;
	case 25:
		trace_step("a message will find no receive, %u times", 1 + s->n % 3);
		fake_not_ready(s->how % 4, 1 + s->n % 3);
		break;
	case 26:
		op_reset(e, s);
		break;
	case 27:
		read_cq_events(s->how & 1);
		break;
	default:
		op_post(e, s);
		break;
	}
}

/* All streams of each QP, one after the other. */
static const struct text *record(void)
{
	static struct text all;

	all.len = 0;
	for (unsigned i = 0; i < ENDS; i++) {
		const struct end *e = &w.end[i];

		append(&all, "== %c\n", 'A' + (int)i);
		for (int k = 0; k < 3; k++) {
			const struct text *t = k == 0 ? &e->calls : k == 1 ? &e->sends : &e->recvs;

			for (size_t at = 0; at < t->len; at += 128)
				append(&all, "%.*s", t->len - at < 128 ? (int)(t->len - at) : 128,
				    t->at + at);
			append(&all, "--\n");
		}
	}
	for (size_t at = 0; at < w.violations.len; at += 128)
		append(&all, "%.*s", w.violations.len - at < 128 ? (int)(w.violations.len - at) : 128,
		    w.violations.at + at);
	return &all;
}

const struct text *run_program(const uint8_t *bytes, size_t len, FILE *trace)
{
	uint8_t head[8] = { 0 };

	memcpy(head, bytes, len < 8 ? len : 8);
	virtual_start();
	w.trace = trace;
	world_open(head);
	for (size_t at = 8; at + 8 <= len && !w.hung; at += 8) {
		struct step s = { bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3], 0 };

		memcpy(&s.seed, bytes + at + 4, 4);
		run_step(&s);
	}
	hold(false);
	for (unsigned i = 0; i < ENDS; i++)
		quiesce(&w.end[i]);
	if (!w.hung && !mailbox_reset(drain))
		violation(NULL, "the settings are not as they were");
	if (!w.hung)
		world_close();
	virtual_stop();
	return record();
}
