/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests creation, refusal, queries and destruction of objects, and which QPs are uncontrolled
 * (hazards 5, 8, 12, 21, 24).
 */
#include "rig.h"

#define K4 4096u

static struct ibv_wc wc[64];

/* A controlled QP has a shadow CQ as its send CQ. */
static bool controlled(const struct ibv_qp *qp, const struct ibv_cq *scq)
{
	return fake_send_cq(qp) != scq;
}

static void queries_return_the_applications_attributes(void **state)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_qp_init_attr init = { 0 };
	struct rig r;

	for (int sig_all = 0; sig_all < 2; sig_all++) {
		rig_open(&r, (struct rig_conf){ .max_send_wr = 11, .sig_all = sig_all });
		assert_true(controlled(r.a, r.scq));
		assert_true(fake_depth(r.a) > 11);
		assert_true(rig_cap.max_send_wr >= 11);
		assert_int_equal(rig_cap.max_send_sge, 4);
		assert_true(rig_cap.max_inline_data >= 64);
		assert_int_equal(ibv_query_qp(r.a, &attr, IBV_QP_CAP | IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, IBV_QPS_RTS);
		assert_int_equal(attr.cap.max_send_wr, rig_cap.max_send_wr);
		assert_int_equal(init.cap.max_send_wr, rig_cap.max_send_wr);
		assert_int_equal(init.cap.max_inline_data, rig_cap.max_inline_data);
		assert_int_equal(init.sq_sig_all, sig_all);
		assert_ptr_equal(r.a->send_cq, r.scq);
		assert_ptr_equal(init.send_cq, r.scq);
		assert_ptr_equal(init.recv_cq, r.rcq);
		assert_ptr_equal(init.qp_context, &r);
		assert_ptr_equal(r.a->qp_context, &r);
		rig_close(&r);
	}
}

/* Only the capacities of the init attributes are updated; all else stays as it was. */
static void create_qp_leaves_the_init_attributes_unchanged(void **state)
{
	struct ibv_qp_init_attr attr, before, queried;
	struct ibv_qp_attr qp_attr;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	memset(&attr, 0, sizeof(attr));
	attr.send_cq = r.scq;
	attr.recv_cq = r.rcq;
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 5; /* as 1 */
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = 5, .max_recv_wr = 6, .max_send_sge = 1,
					.max_recv_sge = 1 };
	before = attr;
	qp = ibv_create_qp(r.pd, &attr);
	assert_non_null(qp);
	assert_true(attr.cap.max_recv_wr >= 6);
	attr.cap = before.cap;
	assert_memory_equal(&attr, &before, sizeof(attr));
	assert_int_equal(ibv_query_qp(qp, &qp_attr, IBV_QP_STATE, &queried), 0);
	assert_int_equal(queried.sq_sig_all, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_close(&r);
}

/* If the device refuses the larger queue, the QP is created with the application's depth. */
static void a_qp_gets_the_applications_depth_where_the_larger_one_is_refused(void **state)
{
	struct rig_conf conf = { .max_send_wr = 8 };
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, conf);
	fake_limit_depth(8);
	qp = rig_qp(&r, r.scq, r.rcq);
	assert_non_null(qp);
	assert_true(controlled(qp, r.scq));
	assert_int_equal(fake_depth(qp), 8);
	rig_to_rts(&r, qp, r.b->qp_num);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = qp;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * 10 * K4, 10 * K4,
					  IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 8, wc);
	for (unsigned i = 0; i < 8; i++)
		assert_true(wc[i].wr_id == i && wc[i].status == IBV_WC_SUCCESS);
	assert_memory_equal(r.src, r.dst, 80 * K4);
	rig_close(&r);
}

static void depths_that_the_device_refuses_are_refused_with_einval(void **state)
{
	static const uint32_t depths[] = { 9, (1u << 14) + 1, UINT32_MAX - 100, UINT32_MAX };
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 8 });
	for (unsigned i = 0; i < 4; i++) {
		fake_limit_depth(i ? UINT32_MAX : 8);
		r.conf.max_send_wr = depths[i];
		errno = 0;
		assert_null(rig_qp(&r, r.scq, r.rcq));
		assert_int_equal(errno, EINVAL);
	}
	r.conf.max_send_wr = 8;
	rig_close(&r);
}

/* The QP uses the device's full depth, which leaves no entries for splitting. */
static void a_qp_can_have_the_devices_full_depth(void **state)
{
	struct ibv_device_attr attr;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(ibv_query_device(r.ctx, &attr), 0);
	r.conf.max_send_wr = (uint32_t)attr.max_qp_wr;
	qp = rig_qp(&r, r.scq, r.rcq);
	assert_non_null(qp);
	assert_true(rig_cap.max_send_wr >= (uint32_t)attr.max_qp_wr);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_close(&r);
}

/*
 * If the shim cannot create a shadow CQ the QP is uncontrolled, and traffic flows as the device
 * carries it.
 */
static void a_qp_without_a_shadow_cq_is_uncontrolled(void **state)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	cq = ibv_create_cq(r.ctx, 16, NULL, NULL, 0);
	fake_refuse_cqs(ENOMEM);
	qp = rig_qp(&r, cq, cq);
	fake_refuse_cqs(0);
	assert_non_null(qp);
	assert_false(controlled(qp, cq));
	rig_to_rts(&r, qp, r.b->qp_num);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = qp;
	fake_seen_clear();
	assert_int_equal(rig_post(&r, 99, IBV_WR_RDMA_WRITE, 0, 10 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_seen_count(), 1);
	assert_int_equal(fake_seen(0).wr_id, 99);
	rig_poll(cq, 1, wc);
	assert_true(wc->wr_id == 99 && wc->status == IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	r.a = NULL;
	assert_int_equal(ibv_destroy_cq(cq), 0);
	rig_close(&r);
}

/*
 * The shadow CQ of a controlled QP stands for the application's CQ when another QP is created
 * with it.
 */
static void the_shadow_cq_of_a_qp_can_be_used_to_create_another(void **state)
{
	struct ibv_qp *qp;
	struct rig r;

	for (int uc = 0; uc < 2; uc++) {
		rig_open(&r, (struct rig_conf){ .one_cq = true });
		r.conf.type = uc ? IBV_QPT_UC : IBV_QPT_RC;
		qp = rig_qp(&r, fake_send_cq(r.a), fake_send_cq(r.a));
		assert_non_null(qp);
		assert_int_equal(controlled(qp, r.scq), !uc);
		rig_to_rts(&r, qp, qp->qp_num);
		assert_int_equal(ibv_destroy_qp(r.a), 0);
		assert_int_equal(ibv_destroy_qp(r.b), 0);
		r.a = r.b = qp;
		assert_int_equal(rig_recv(&r, 1, 0, K4), 0);
		assert_int_equal(rig_post(&r, 2, IBV_WR_SEND, 0, K4, IBV_SEND_SIGNALED), 0);
		rig_poll(r.scq, 2, wc);
		assert_int_equal(wc[0].wr_id + wc[1].wr_id, 3);
		r.b = NULL;
		rig_close(&r);
	}
}

static void a_cq_with_qps_is_busy(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	errno = 0;
	assert_int_equal(ibv_destroy_cq(r.scq), EBUSY);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(ibv_destroy_cq(r.rcq), EBUSY);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 9 * K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 1, wc);
	rig_close(&r); /* the shadow CQs are destroyed too: rig_close counts CQs */
}

static void a_refused_destroy_changes_nothing(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	fake_hold(true);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 9 * K4, IBV_SEND_SIGNALED), 0);
	fake_fail_destroy_qp(0, EBUSY);
	assert_int_equal(ibv_destroy_qp(r.a), EBUSY);
	rig_poll_stepping(r.scq, 1, wc);
	assert_true(wc->wr_id == 1 && wc->status == IBV_WC_SUCCESS);
	rig_close(&r);
}

/* -- a QP at the address of one that another thread is destroying -------------------- */

enum { TRIES = 64 };

struct reuse {
	struct rig *rig;
	const struct ibv_qp *destroyed;
	struct ibv_qp *made[TRIES];
	int n;
	bool found;
};

/* Between the device's destruction of a QP and the return of the verb, as another thread would. */
static void reuse_the_address(void *arg)
{
	struct reuse *u = arg;
	struct rig *r = u->rig;

	r->conf.type = IBV_QPT_UC;
	while (!u->found && u->n < TRIES) {
		u->made[u->n] = rig_qp(r, r->rcq, r->rcq);
		u->found = u->made[u->n++] == u->destroyed;
	}
	if (!u->found)
		return;
	r->a = u->made[u->n - 1];
	rig_to_rts(r, r->a, r->b->qp_num);
	assert_int_equal(rig_post(r, 77, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r->rcq, 1, wc);
	assert_true(wc->wr_id == 77 && wc->status == IBV_WC_SUCCESS);
}

static void a_qp_at_the_address_of_a_destroyed_one_is_another(void **state)
{
	struct rig r;
	struct reuse u = { .rig = &r };

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(ibv_destroy_qp(r.b), 0);
	r.conf.type = IBV_QPT_UC;
	r.b = rig_qp(&r, r.scq, r.rcq);
	rig_to_rts(&r, r.b, r.b->qp_num);
	u.destroyed = r.a;
	fake_after_destroy(reuse_the_address, &u);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	for (int i = 0; i < u.n; i++)
		assert_int_equal(ibv_destroy_qp(u.made[i]), 0);
	r.a = NULL;
	rig_close(&r);
	if (!u.found)
		skip(); /* malloc() used other memory */
}

/* Post ten WRITEs to a held device, which carries out `done` of them; it holds one at a time. */
static void leave_work(struct rig *r, unsigned done)
{
	fake_hold(true);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(rig_post(r, 1000 + i, IBV_WR_RDMA_WRITE, 0, K4,
					  IBV_SEND_SIGNALED), 0);
	for (unsigned i = 0; i < done; i++) {
		fake_step(1);
		rig_poll(r->scq, 1, wc);
		assert_int_equal(wc->wr_id, 1000 + i);
	}
}

/* Expect the completions left by leave_work(): n successes, and then only flushes. */
static void expect_left(struct rig *r, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		rig_poll(r->scq, 1, wc);
		assert_true(wc->wr_id == 1000 + i && wc->status == IBV_WC_SUCCESS);
	}
	for (uint64_t i = 1000 + first + n; ibv_poll_cq(r->scq, 1, wc); i++)
		assert_true(wc->wr_id == i && wc->status == IBV_WC_WR_FLUSH_ERR);
}

/* Whether the device removes late completions of a destroyed or reset QP. */
static bool cleaned(void)
{
	return fake_profile()->cleans_cqs;
}

/*
 * Deferred WRs are dropped with their QP. Completions that the device has left are not, however
 * late they are, and a new QP of the same number does not get them.
 */
static void a_qp_with_a_reused_number_gets_no_old_completions(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned round = 0; round < 50; round++) {
		const uint32_t num = r.a->qp_num;

		leave_work(&r, round % 3);
		if (round & 4)
			fake_step(1);
		else if (round & 8)
			fake_late(1);
		if ((round & 16) && !cleaned())
			fake_stale_cqe(0);
		assert_int_equal(ibv_destroy_qp(r.a), 0);
		fake_next_qp_num(num);
		r.a = rig_qp(&r, r.scq, r.rcq);
		assert_int_equal(r.a->qp_num, num);
		rig_to_rts(&r, r.a, r.b->qp_num);
		fake_hold(false);
		expect_left(&r, round % 3, (round & 12) && !cleaned());
		assert_int_equal(rig_post(&r, round, IBV_WR_RDMA_WRITE, 0, 3 * K4,
					  IBV_SEND_SIGNALED), 0);
		rig_poll(r.scq, 1, wc);
		assert_true(wc->wr_id == round && wc->status == IBV_WC_SUCCESS);
		rig_poll_nothing(r.scq);
	}
	rig_close(&r);
}

/* Leave completions of 7 WRITEs, of which the shim has polled all, and the application one. */
static void leave_polled(struct rig *r)
{
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(rig_post(r, 1000 + i, IBV_WR_RDMA_WRITE, 0, 64,
					  IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, wc);
	assert_int_equal(wc->wr_id, 1000);
}

static void completions_that_the_shim_polled_go_where_the_device_removes_them(void **state)
{
	struct rig r;

	for (int reset = 0; reset < 2; reset++) {
		rig_open(&r, (struct rig_conf){ 0 });
		leave_polled(&r);
		if (reset)
			assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
		else
			assert_int_equal(ibv_destroy_qp(r.a), 0);
		expect_left(&r, 1, cleaned() ? 0 : 6);
		rig_poll_nothing(r.scq);
		if (!reset)
			r.a = NULL;
		rig_close(&r);
	}
}

/* With one CQ for all, ready completions of the other QP stay, whichever QP goes first. */
static void completions_of_other_qps_stay(void **state)
{
	struct rig r;

	for (int first = 0; first < 2; first++) {
		struct ibv_qp **gone;
		unsigned left;

		rig_open(&r, (struct rig_conf){ .one_cq = true });
		gone = first ? &r.b : &r.a;
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(rig_recv(&r, 50 + i, 0, 64), 0);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_SEND, 0, 64,
						  IBV_SEND_SIGNALED), 0);
		rig_poll(r.scq, 1, wc);
		left = !cleaned() ? 11 : wc->qp_num == (*gone)->qp_num ? 6 : 5;
		assert_int_equal(ibv_destroy_qp(*gone), 0);
		*gone = NULL;
		for (unsigned i = 0; i < left; i++)
			rig_poll(r.scq, 1, wc);
		rig_poll_nothing(r.scq);
		rig_close(&r);
	}
}

static void reset_drops_deferred_wrs_and_keeps_completions(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned late = 0; late < 2; late++) {
		leave_work(&r, 1);
		fake_late(late);
		assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
		fake_hold(false);
		expect_left(&r, 1, late && !cleaned());
		rig_poll_nothing(r.scq);
		rig_to_rts(&r, r.a, r.b->qp_num);
	}
	rig_close(&r);
}

/* Every WQE, signalled or not, may be flushed: the shadow CQ needs an entry for each. */
static void shadow_cqs_hold_a_completion_for_every_wqe(void **state)
{
	enum { N = 40, EACH = 100 };
	static struct ibv_qp *qp[N];
	unsigned flushed[N] = { 0 };
	struct ibv_qp *a;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = EACH, .cqe = N * EACH });
	a = r.a;
	fake_hold(true);
	for (int i = 0; i < N; i++) {
		r.a = qp[i] = rig_qp(&r, r.scq, r.rcq);
		rig_to_rts(&r, qp[i], r.b->qp_num);
		for (unsigned k = 0; k < EACH; k++)
			assert_int_equal(rig_post(&r, (uint64_t)i, IBV_WR_RDMA_WRITE, 0, 8, 0), 0);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(rig_state(qp[i], IBV_QPS_ERR), 0);
	assert_int_equal(fake_counts().overruns, 0);
	for (int i = 0; i < N * EACH; i++) {
		rig_poll(r.scq, 1, wc);
		assert_int_equal(wc->status, IBV_WC_WR_FLUSH_ERR);
		flushed[wc->wr_id]++;
	}
	for (int i = 0; i < N; i++) {
		assert_int_equal(flushed[i], EACH);
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	}
	r.a = a;
	rig_close(&r);
}

/* The QPs fill shadow CQs, so that more shadow CQs are created. */
static void shadow_cqs_are_shared_and_reused_by_many_qps(void **state)
{
	enum { N = 120 };
	static struct ibv_qp *qp[N];
	unsigned cqs = 0;
	struct ibv_qp *a;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 100, .cqe = 4000 });
	a = r.a;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++) {
			qp[i] = rig_qp(&r, r.scq, r.rcq);
			assert_true(qp[i] && controlled(qp[i], r.scq));
			rig_to_rts(&r, qp[i], r.b->qp_num);
		}
		for (int k = 0; k < 5; k++)
			for (int i = 0; i < N; i++) {
				r.a = qp[i];
				assert_int_equal(rig_post(&r, (uint64_t)i, IBV_WR_RDMA_WRITE, 0,
							  3 * K4, IBV_SEND_SIGNALED), 0);
			}
		for (int i = 0; i < 5 * N; i++) {
			rig_poll(r.scq, 1, wc);
			assert_int_equal(wc->qp_num, qp[wc->wr_id]->qp_num);
		}
		rig_poll_nothing(r.scq);
		for (int i = 0; i < N; i++)
			assert_int_equal(ibv_destroy_qp(qp[i]), 0);
		if (!cqs)
			cqs = fake_counts().cqs;
		assert_int_equal(fake_counts().cqs, cqs); /* entries of destroyed QPs are reused */
	}
	r.a = a;
	rig_close(&r);
}

static void uc_and_ud_are_uncontrolled(void **state)
{
	struct ibv_qp *ud;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .type = IBV_QPT_UC });
	assert_false(controlled(r.a, r.scq));
	r.conf.type = IBV_QPT_UD;
	ud = rig_qp(&r, r.scq, r.rcq);
	assert_false(controlled(ud, r.scq));
	assert_int_equal(rig_post(&r, 42, IBV_WR_RDMA_WRITE, 0, 10 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_seen_count(), 1);
	assert_int_equal(fake_seen(0).wr_id, 42);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 42);
	assert_int_equal(ibv_destroy_qp(ud), 0);
	rig_close(&r);
}

static void extended_cqs_are_controlled(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16 };
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	cq = ibv_create_cq_ex(r.ctx, &cq_attr);
	assert_non_null(cq);
	qp = rig_qp(&r, ibv_cq_ex_to_cq(cq), r.rcq);
	assert_non_null(qp);
	assert_true(controlled(qp, ibv_cq_ex_to_cq(cq)));
	rig_to_rts(&r, qp, r.b->qp_num);
	ibv_destroy_qp(r.a);
	r.a = qp;
	assert_int_equal(rig_post(&r, 5, IBV_WR_RDMA_WRITE, 0, 9 * K4, IBV_SEND_SIGNALED), 0);
	rig_poll(ibv_cq_ex_to_cq(cq), 1, wc);
	assert_int_equal(wc->wr_id, 5);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	r.a = NULL;
	rig_close(&r);
}

struct thread_domain {
	struct ibv_td *td;
	struct ibv_pd *pd;
};

static struct thread_domain thread_domain(const struct rig *r, uint32_t comp_mask)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = r->pd, .comp_mask = comp_mask };
	struct thread_domain d = { .td = ibv_alloc_td(r->ctx, &td_attr) };

	attr.td = d.td;
	d.pd = ibv_alloc_parent_domain(r->ctx, &attr);
	assert_true(d.td && d.pd);
	return d;
}

static struct ibv_qp *qp_in(struct rig *r, const struct thread_domain *d)
{
	struct ibv_pd *keep = r->pd;
	struct ibv_qp *qp;

	r->pd = d->pd;
	qp = rig_qp(r, r->scq, r->rcq);
	r->pd = keep;
	assert_non_null(qp);
	return qp;
}

static void dealloc_domain(const struct thread_domain *d)
{
	assert_int_equal(ibv_dealloc_pd(d->pd), 0);
	assert_int_equal(ibv_dealloc_td(d->td), 0);
}

/* Most of eight WRITEs wait for the pacer thread, whose posts the device accepts. */
static void helper_posts(struct rig *r, unsigned foreign_posts)
{
	unsigned spins = 0;

	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, 0, 5 * K4, IBV_SEND_SIGNALED), 0);
	while (fake_seen_count() < 40)
		assert_true(rig_keep_waiting(&spins));
	rig_poll(r->scq, 8, wc);
	assert_int_equal(fake_counts().foreign_posts, foreign_posts);
}

/*
 * Only the application's thread uses the thread domain, although the pacer thread posts waiting
 * WRs.
 */
static void thread_domains_are_used_by_the_applications_thread_only(void **state)
{
	const unsigned foreign_posts = fake_counts().foreign_posts;
	struct thread_domain d;
	struct ibv_qp *uc, *keep;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	d = thread_domain(&r, 0);
	keep = r.a;
	r.a = qp_in(&r, &d);
	assert_true(controlled(r.a, r.scq));
	assert_ptr_equal(r.a->pd, d.pd);
	rig_to_rts(&r, r.a, r.b->qp_num);
	r.conf.type = IBV_QPT_UC;
	uc = qp_in(&r, &d); /* uncontrolled, in the same domain */
	r.conf.type = IBV_QPT_RC;
	rig_to_rts(&r, uc, r.b->qp_num);
	fake_seen_clear();
	helper_posts(&r, foreign_posts);

	assert_int_equal(ibv_dealloc_pd(d.pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(uc), 0);
	assert_int_equal(ibv_dealloc_pd(d.pd), EBUSY);
	fake_fail_destroy_qp(0, EAGAIN);
	assert_int_equal(ibv_destroy_qp(r.a), EAGAIN);
	assert_ptr_equal(r.a->pd, d.pd);
	assert_int_equal(ibv_dealloc_pd(d.pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	dealloc_domain(&d);
	r.a = keep;
	rig_close(&r);
}

/* A provider (mlx5) would then take no lock, or abort the process. */
static void mlx5_single_threaded_is_hidden_from_the_provider(void **state)
{
	const unsigned foreign_posts = fake_counts().foreign_posts;
	struct rig r;

	setenv("MLX5_SINGLE_THREADED", "1", 1);
	rig_open(&r, (struct rig_conf){ 0 });
	helper_posts(&r, foreign_posts);
	rig_close(&r);
	unsetenv("MLX5_SINGLE_THREADED");
}

/* The application manages the memory of these QPs. */
static void assert_uncontrolled_in(struct rig *r, const struct thread_domain *d)
{
	struct ibv_qp *qp = qp_in(r, d);

	assert_false(controlled(qp, r->scq));
	assert_int_equal(ibv_dealloc_pd(d->pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_pd(d->pd), 0);
}

static void qps_in_domains_with_allocators_are_uncontrolled(void **state)
{
	const uint32_t allocators = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	struct ibv_parent_domain_init_attr attr = { .comp_mask = allocators };
	struct thread_domain with_td, without = { 0 };
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	with_td = thread_domain(&r, allocators);
	assert_uncontrolled_in(&r, &with_td);
	assert_int_equal(ibv_dealloc_td(with_td.td), 0);
	attr.pd = r.pd;
	without.pd = ibv_alloc_parent_domain(r.ctx, &attr);
	assert_non_null(without.pd);
	assert_uncontrolled_in(&r, &without);
	rig_close(&r);
}

/* The shim's record of a closed device does not affect the next device at that address. */
static void a_reopened_device_is_controlled_again(void **state)
{
	for (int i = 0; i < 50; i++) {
		struct rig r;

		rig_open(&r, (struct rig_conf){ 0 });
		assert_true(controlled(r.a, r.scq));
		rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED);
		rig_poll(r.scq, 1, wc);
		rig_close(&r);
	}
}

#define GATED "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k", \
	"CCSHIM_BASE_RTT=20us"

int main(int argc, char **argv)
{
	static const struct rig_mode profiles[] = {
		{ "mlx5", { GATED } }, { "rxe", { GATED, "FAKERDMA_PROFILE=rxe" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_return_the_applications_attributes),
		cmocka_unit_test(create_qp_leaves_the_init_attributes_unchanged),
		cmocka_unit_test(a_qp_gets_the_applications_depth_where_the_larger_one_is_refused),
		cmocka_unit_test(depths_that_the_device_refuses_are_refused_with_einval),
		cmocka_unit_test(a_qp_can_have_the_devices_full_depth),
		cmocka_unit_test(a_qp_without_a_shadow_cq_is_uncontrolled),
		cmocka_unit_test(the_shadow_cq_of_a_qp_can_be_used_to_create_another),
		cmocka_unit_test(a_cq_with_qps_is_busy),
		cmocka_unit_test(a_refused_destroy_changes_nothing),
		cmocka_unit_test(a_qp_at_the_address_of_a_destroyed_one_is_another),
		cmocka_unit_test(a_qp_with_a_reused_number_gets_no_old_completions),
		cmocka_unit_test(completions_that_the_shim_polled_go_where_the_device_removes_them),
		cmocka_unit_test(completions_of_other_qps_stay),
		cmocka_unit_test(reset_drops_deferred_wrs_and_keeps_completions),
		cmocka_unit_test(shadow_cqs_hold_a_completion_for_every_wqe),
		cmocka_unit_test(shadow_cqs_are_shared_and_reused_by_many_qps),
		cmocka_unit_test(uc_and_ud_are_uncontrolled),
		cmocka_unit_test(extended_cqs_are_controlled),
		cmocka_unit_test(thread_domains_are_used_by_the_applications_thread_only),
		cmocka_unit_test(qps_in_domains_with_allocators_are_uncontrolled),
		cmocka_unit_test(mlx5_single_threaded_is_hidden_from_the_provider),
		cmocka_unit_test(a_reopened_device_is_controlled_again),
	};

	return rig_run_in(argc, argv, "life", profiles, 2, tests, sizeof(tests) / sizeof(*tests));
}
