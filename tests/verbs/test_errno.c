/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that no verb that succeeds changes errno, including the first verb of a process (which
 * reads the configuration), one that had to wait and one that needed a second attempt. The same
 * program on the bare device shows that the device does not change it either.
 */
#include "rig.h"

#define K4 4096u

enum { MARK = 4711 };

/* Make a call, check that errno is unchanged, and return the call's result. */
#define QUIET(call) \
	__extension__({ \
		errno = MARK; \
		const __auto_type result_ = (call); \
		if (errno != MARK) \
			fail_msg("%s: errno is %d (%s)", #call, errno, strerror(errno)); \
		result_; \
	})
#define SUCCEEDS(call) assert_int_equal(QUIET(call), 0)

static struct ibv_qp_init_attr_ex attr_of(struct rig *r)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = r->scq, .recv_cq = r->rcq, .qp_type = IBV_QPT_RC, .pd = r->pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4,
			 .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
}

static struct ibv_qp *create_qp(struct rig *r, bool ex)
{
	struct ibv_qp_init_attr_ex attr = attr_of(r);
	struct ibv_qp *qp = ex ? QUIET(ibv_create_qp_ex(r->ctx, &attr))
			       : QUIET(ibv_create_qp(r->pd, (struct ibv_qp_init_attr *)&attr));

	assert_non_null(qp);
	return qp;
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);
}

static void connect(struct rig *r, struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR, .dest_qp_num = dest,
				   .path_mtu = IBV_MTU_4096, .max_dest_rd_atomic = 16,
				   .ah_attr = { .is_global = 1, .port_num = 1 } };
	const struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 },
		rts = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
			.max_rd_atomic = 4 };

	ibv_query_gid(r->ctx, 1, 1, &rtr.ah_attr.grh.dgid);
	SUCCEEDS(modify(qp, init, IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	SUCCEEDS(modify(qp, rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	SUCCEEDS(modify(qp, rts, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void open_all(struct rig *r, bool ex)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 64, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_device **list = ibv_get_device_list(NULL);

	*r = (struct rig){ 0 };
	r->ctx = QUIET(ibv_open_device(list[0]));
	assert_non_null(r->ctx);
	ibv_free_device_list(list);
	r->pd = ibv_alloc_pd(r->ctx);
	r->channel = ibv_create_comp_channel(r->ctx);
	attr.channel = r->channel;
	r->scq = ex ? ibv_cq_ex_to_cq(QUIET(ibv_create_cq_ex(r->ctx, &attr)))
		    : QUIET(ibv_create_cq(r->ctx, 64, r, r->channel, 0));
	r->rcq = QUIET(ibv_create_cq(r->ctx, 64, NULL, NULL, 0));
	r->src = calloc(1, RIG_BUF);
	r->dst = calloc(1, RIG_BUF);
	r->smr = ibv_reg_mr(r->pd, r->src, RIG_BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	r->dmr = ibv_reg_mr(r->pd, r->dst, RIG_BUF, IBV_ACCESS_LOCAL_WRITE |
			    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	r->a = create_qp(r, ex);
	r->b = create_qp(r, ex);
	connect(r, r->a, r->b->qp_num);
	connect(r, r->b, r->a->qp_num);
}

static void close_all(struct rig *r)
{
	SUCCEEDS(ibv_destroy_qp(r->a));
	SUCCEEDS(ibv_destroy_qp(r->b));
	SUCCEEDS(ibv_destroy_cq(r->scq));
	SUCCEEDS(ibv_destroy_cq(r->rcq));
	ibv_destroy_comp_channel(r->channel);
	ibv_dereg_mr(r->smr);
	ibv_dereg_mr(r->dmr);
	SUCCEEDS(ibv_dealloc_pd(r->pd));
	SUCCEEDS(ibv_close_device(r->ctx));
	free(r->src);
	free(r->dst);
}

/* Poll through the CQ's interface until `n` completions have arrived. */
static void gather(struct rig *r, bool ex, int n)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(void *)r->scq;
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned spins = 0;
	struct ibv_wc wc;

	for (int got = 0; got < n;) {
		int some = ex ? !QUIET(ibv_start_poll(cq, &attr))
			      : QUIET(ibv_poll_cq(r->scq, 1, &wc));

		assert_true(some >= 0);
		if (some && ex) {
			assert_int_equal(cq->status, IBV_WC_SUCCESS);
			while (!QUIET(ibv_next_poll(cq)))
				some++;
			errno = MARK;
			ibv_end_poll(cq);
			assert_int_equal(errno, MARK);
		}
		got += some;
		if (!some && !rig_keep_waiting(&spins))
			fail_msg("%d of %d completions came", got, n);
	}
}

/* With a gate some WRs wait, at first for the pacer thread. */
static void post(struct rig *r)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = r->smr, .addr = (uintptr_t)r->src,
						   .length = K4,
						   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } };
	struct ibv_mw *mw = ibv_alloc_mw(r->pd, IBV_MW_TYPE_1);

	for (unsigned i = 0; i < 4; i++)
		SUCCEEDS(rig_post(r, i, IBV_WR_RDMA_WRITE, 0, 8 * K4, IBV_SEND_SIGNALED));
	SUCCEEDS(ibv_bind_mw(r->a, mw, &bind));
}

static void build(struct rig *r)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(r->a);

	errno = MARK;
	ibv_wr_start(ex);
	for (unsigned i = 0; i < 5; i++) {
		ex->wr_id = i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(ex, r->dmr->rkey, (uintptr_t)r->dst);
		ibv_wr_set_sge(ex, r->smr->lkey, (uintptr_t)r->src, 8 * K4);
	}
	SUCCEEDS(ibv_wr_complete(ex));
}

static void use_events(struct rig *r)
{
	struct ibv_cq *cq;
	void *context;

	SUCCEEDS(ibv_get_cq_event(r->channel, &cq, &context));
	assert_ptr_equal(cq, r->scq);
	errno = MARK;
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(errno, MARK);
}

static void change_states(struct rig *r)
{
	struct ibv_async_event event;

	SUCCEEDS(rig_state(r->a, IBV_QPS_SQD));
	SUCCEEDS(ibv_get_async_event(r->ctx, &event));
	errno = MARK;
	ibv_ack_async_event(&event);
	assert_int_equal(errno, MARK);
	SUCCEEDS(rig_state(r->a, IBV_QPS_RTS));
	SUCCEEDS(rig_state(r->a, IBV_QPS_ERR));
	SUCCEEDS(rig_state(r->b, IBV_QPS_RESET));
}

static void sweep(bool ex)
{
	struct ibv_modify_cq_attr moderation = { .attr_mask = IBV_CQ_ATTR_MODERATE,
						 .moderate = { .cq_count = 1, .cq_period = 1 } };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rig r;

	fake_reset();
	open_all(&r, ex);
	SUCCEEDS(ibv_query_qp(r.a, &attr, IBV_QP_STATE, &init));
	SUCCEEDS(ibv_modify_cq(r.scq, &moderation));
	SUCCEEDS(ibv_req_notify_cq(r.scq, 0));
	if (ex)
		build(&r);
	else
		post(&r);
	gather(&r, ex, 5);
	use_events(&r);
	SUCCEEDS(ibv_resize_cq(r.scq, 200));
	change_states(&r);
	close_all(&r);
}

static void successful_verbs_leave_errno_unchanged(void **state)
{
	sweep(false);
}

static void successful_extended_verbs_leave_errno_unchanged(void **state)
{
	sweep(true);
}

/* The device refuses the larger queue, and its errno is discarded. */
static void a_second_attempt_to_create_a_qp_leaves_errno_unchanged(void **state)
{
	struct rig r;

	fake_reset();
	fake_limit_depth(16);
	open_all(&r, false);
	close_all(&r);
}

/*
 * Before RTS librxe queues WRs, and its doorbell, a system call, fails each time, also when the queue
 * is full. Other refusals come from the library, which leaves errno.
 */
static void a_refused_post_leaves_the_errno_of_the_device(void **state)
{
	const char *profile = getenv("FAKERDMA_PROFILE");
	const bool rxe = profile && strcmp(profile, "rxe") == 0;
	struct rig r;
	int rc = 0;

	rig_open(&r, (struct rig_conf){ 0 });
	fake_hold(true);
	for (unsigned i = 0; i < 200 && !rc; i++) {
		errno = MARK;
		rc = rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 64, 0);
		assert_int_equal(errno, MARK);
	}
	assert_int_equal(rc, ENOMEM);
	fake_hold(false);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	assert_int_equal(modify(r.a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 },
				IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), 0);
	for (unsigned i = 0; i < 200; i++) {
		errno = MARK;
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 64, 0), rxe ? EINVAL : ENOMEM);
		assert_int_equal(errno, rxe ? EINVAL : MARK);
	}
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "bare", { "RIG_BARE=1" } },
		{ "off", { "CCSHIM_MODE=off", "CCSHIM_CONFIG=/dev/null" } },
		{ "observe", { "CCSHIM_MODE=observe", "CCSHIM_LOG_FILE=/nowhere/log" } },
		{ "open", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=1m", "CCSHIM_MAX_INFLIGHT=16m" } },
		{ "gated", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			     "CCSHIM_BASE_RTT=20us" } },
		{ "rxe-bare", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
		{ "rxe", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			   "CCSHIM_BASE_RTT=20us", "FAKERDMA_PROFILE=rxe" } },
		{ "rxe-observe", { "CCSHIM_MODE=observe", "FAKERDMA_PROFILE=rxe" } },
		/*
		 * In this directory no agent can create its socket; as root it would, and leave
		 * it there.
		 */
		{ "feedback", { "CCSHIM_CC=dcqcn",
			       "CCSHIM_AGENT=/dev/null/agent.sock",
			       "CCSHIM_TRACE=/nowhere/trace", "CCSHIM_STATS=n" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(successful_verbs_leave_errno_unchanged),
		cmocka_unit_test(successful_extended_verbs_leave_errno_unchanged),
		cmocka_unit_test(a_second_attempt_to_create_a_qp_leaves_errno_unchanged),
		cmocka_unit_test(a_refused_post_leaves_the_errno_of_the_device),
	};

	return rig_run_in(argc, argv, "errno", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
