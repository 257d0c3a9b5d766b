/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the differences between the fake provider's profiles. README.md has the sources. */
#include "../verbs/rig.h"

#include <fcntl.h>

static struct ibv_wc wc[16];

static bool is_mlx5(void)
{
	return !rig_is("rxe");
}

static void open_with_completions(struct rig *r, bool one_cq)
{
	rig_open(r, (struct rig_conf){ .channel = true, .one_cq = one_cq });
	assert_int_equal(fcntl(r->channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rig_recv(r, 1, 0, 64), 0);
	assert_int_equal(rig_post(r, 2, IBV_WR_SEND, 0, 64, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rig_post(r, 3, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
}

static void destroy_and_reset_remove_completions_as_on_mlx5(void **state)
{
	struct ibv_qp **qp[2];
	struct rig r;

	for (int i = 0; i < 8; i++) {
		open_with_completions(&r, i & 1);
		qp[0] = &r.a; /* two send completions, one receive completion of the other QP */
		qp[1] = &r.b;
		if (i & 2) {
			assert_int_equal(rig_state(*qp[i / 4], IBV_QPS_RESET), 0);
		} else {
			assert_int_equal(ibv_destroy_qp(*qp[i / 4]), 0);
			*qp[i / 4] = NULL;
		}
		rig_poll(r.scq, is_mlx5() && i < 4 ? 0 : 2, wc);
		rig_poll(r.rcq, is_mlx5() && i >= 4 ? 0 : 1, wc);
		rig_poll_nothing(r.scq);
		rig_close(&r);
	}
}

static bool has_event(const struct rig *r)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(r->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void arming_a_cq_that_is_not_empty_raises_an_event_as_on_mlx5(void **state)
{
	struct rig r;

	open_with_completions(&r, false);
	assert_int_equal(ibv_req_notify_cq(r.scq, 1), 0);
	assert_false(has_event(&r)); /* no completion is solicited */
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	assert_int_equal(has_event(&r), is_mlx5());
	assert_false(has_event(&r));
	rig_poll(r.scq, 2, wc);
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	assert_false(has_event(&r));
	rig_post(&r, 4, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED);
	assert_true(has_event(&r));
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
}

/* The sizes that libmlx5 or rxe computes for an RC QP, with and without ibv_wr_*. */
static void capabilities_are_rounded_up_as_by_the_provider(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 23, .max_recv_wr = 5, .max_send_sge = 3 });
	assert_int_equal(rig_cap.max_send_wr, is_mlx5() ? 8192 / 320 : 31);
	assert_int_equal(rig_cap.max_inline_data, is_mlx5() ? 320 - 192 - 4 : 64);
	assert_int_equal(rig_cap.max_recv_wr, is_mlx5() ? 8 : 5);
	assert_int_equal(rig_cap.max_send_sge, 3);
	assert_int_equal(fake_depth(r.a), 23);
	assert_int_equal(ibv_query_qp(r.a, &attr, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&init.cap, &rig_cap, sizeof(rig_cap));
	fake_hold(true);
	for (uint32_t i = 0; i < rig_cap.max_send_wr; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8, 0), 0);
	assert_int_equal(rig_post(&r, 99, IBV_WR_RDMA_WRITE, 0, 8, 0), ENOMEM);
	rig_close(&r);
	rig_open(&r, (struct rig_conf){ .max_send_wr = 3, .ex = true });
	assert_int_equal(rig_cap.max_send_wr, is_mlx5() ? 4 : 3);
	assert_int_equal(rig_cap.max_inline_data, is_mlx5() ? 128 - 32 - 4 : 64);
	rig_close(&r);
}

static void malformed_wrs_are_refused_with_the_codes_of_the_profile(void **state)
{
	const int too_large = is_mlx5() ? ENOMEM : EINVAL;
	struct ibv_sge sge[5] = { { 0 } };
	struct ibv_send_wr wr, *bad;
	struct ibv_qp_ex *ex;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .ex = true });
	wr = rig_wr(&r, sge, 1, IBV_WR_RDMA_WRITE, 0, 8, 0);
	wr.num_sge = 5;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), too_large);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, rig_cap.max_inline_data + 1,
				  IBV_SEND_INLINE), too_large);
	fake_atomics(false);
	assert_int_equal(rig_post(&r, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0), EOPNOTSUPP);
	ex = ibv_qp_to_qp_ex(r.a);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 5, sge);
	assert_int_equal(ibv_wr_complete(ex), is_mlx5() ? ENOMEM : ENOSPC);
	assert_int_equal(fake_seen_count(), 0);
	assert_int_equal(rig_post(&r, 1, (enum ibv_wr_opcode)99, 0, 8, 0), is_mlx5() ? EINVAL : 0);
	assert_int_equal(fake_seen_count(), is_mlx5() ? 0 : 1);
	rig_close(&r);
}

static void messages_beyond_the_ports_limit_fail_with_a_length_error(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, (1u << 30) + 1, 0), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->status, IBV_WC_LOC_LEN_ERR);
	rig_close(&r);
}

/* libmlx5 before rdma-core 40 queued the WRs; librxe does, and its doorbell fails. */
static void sends_before_rts_are_refused_or_queued(void **state)
{
	const int code = rig_is("mlx5") ? ENOMEM : rig_is("rxe") ? EINVAL : 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	assert_int_equal(rig_recv(&r, 1, 0, 64), 0); /* to b */
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), code);
	rig_to_rts(&r, r.a, r.b->qp_num);
	rig_poll(r.scq, !code, wc);
	rig_poll_nothing(r.scq);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, rig_is("rxe") ? 2 : 1, wc);
	assert_int_equal(wc->wr_id, rig_is("rxe") ? 2 : 3);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct rig_mode profiles[] = {
		{ "mlx5", { "RIG_BARE=1" } }, /* the default */
		{ "mlx5-33", { "RIG_BARE=1", "FAKERDMA_PROFILE=mlx5-33" } },
		{ "rxe", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy_and_reset_remove_completions_as_on_mlx5),
		cmocka_unit_test(arming_a_cq_that_is_not_empty_raises_an_event_as_on_mlx5),
		cmocka_unit_test(capabilities_are_rounded_up_as_by_the_provider),
		cmocka_unit_test(malformed_wrs_are_refused_with_the_codes_of_the_profile),
		cmocka_unit_test(messages_beyond_the_ports_limit_fail_with_a_length_error),
		cmocka_unit_test(sends_before_rts_are_refused_or_queued),
	};

	return rig_run_in(argc, argv, "profile", profiles, 3, tests,
			  sizeof(tests) / sizeof(*tests));
}
