/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests ibv_resize_cq while completions wait outside the application's CQ. */
#include "rig.h"

#define K4 4096u

enum { WRS = 12 };

static struct ibv_wc wc[64];

static bool bare(void)
{
	return rig_is("bare");
}

/* The bytes posted to the device, whole or in segments. */
static uint64_t bytes_seen(void)
{
	uint64_t bytes = 0;

	for (size_t i = 0, n = fake_seen_count(); i < n; i++)
		bytes += fake_seen(i).length;
	return bytes;
}

/* Complete n WRs without polling them. */
static void do_unseen(struct rig *r, enum ibv_wr_opcode opcode, unsigned n)
{
	unsigned spins = 0;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(rig_post(r, i, opcode, 2 * i * K4, 2 * K4, IBV_SEND_SIGNALED), 0);
	while (bytes_seen() < 2 * n * K4 || fake_pending())
		assert_true(rig_keep_waiting(&spins));
}

static void assert_all_come(struct rig *r, int n)
{
	rig_poll(r->scq, n, wc);
	for (int i = 0; i < n; i++)
		assert_true(wc[i].wr_id == (uint64_t)i && wc[i].status == IBV_WC_SUCCESS);
	rig_poll_nothing(r->scq);
}

static void a_cq_cannot_shrink_below_its_pending_completions(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cqe = 32 });
	do_unseen(&r, IBV_WR_RDMA_WRITE, WRS);
	assert_int_equal(ibv_resize_cq(r.scq, WRS - 1), EINVAL);
	assert_int_equal(r.scq->cqe, 32);
	assert_int_equal(ibv_resize_cq(r.scq, WRS), 0);
	assert_int_equal(r.scq->cqe, WRS);
	assert_all_come(&r, WRS);
	assert_int_equal(ibv_resize_cq(r.scq, 1), 0);
	rig_close(&r);
}

static void a_device_without_resize_returns_eopnotsupp(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cqe = 32 });
	do_unseen(&r, IBV_WR_RDMA_WRITE, WRS);
	fake_fail_resize_cq(0, EOPNOTSUPP);
	assert_int_equal(ibv_resize_cq(r.scq, WRS - 1), EOPNOTSUPP);
	fake_fail_resize_cq(0, EOPNOTSUPP);
	assert_int_equal(ibv_resize_cq(r.scq, 64), EOPNOTSUPP);
	assert_int_equal(r.scq->cqe, 32);
	assert_int_equal(ibv_resize_cq(r.scq, 0), EINVAL);
	assert_int_equal(ibv_resize_cq(r.scq, -1), EINVAL);
	assert_int_equal(ibv_resize_cq(r.scq, 1 << 30), EINVAL);
	assert_all_come(&r, WRS);
	rig_close(&r);
}

static void an_enlarged_cq_holds_more_completions(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cqe = 2, .max_send_wr = 16 });
	assert_int_equal(ibv_resize_cq(r.scq, 100), 0);
	assert_int_equal(r.scq->cqe, 100);
	do_unseen(&r, IBV_WR_RDMA_WRITE, 16);
	assert_all_come(&r, 16);
	rig_close(&r);
}

/*
 * Pending completions and those in the CQ together exceed the new size: the worst case is that
 * the device grants it.
 */
static void no_completion_is_lost_where_a_smaller_cq_is_granted(void **state)
{
	enum { EACH = 4, SIZE = EACH + 1 };
	unsigned sends = 0, receives = 0;
	struct rig r;
	int rc;

	rig_open(&r, (struct rig_conf){ .cqe = 32, .one_cq = true });
	for (unsigned i = 0; i < SIZE; i++)
		assert_int_equal(rig_recv(&r, 100 + i, 2 * i * K4, 2 * K4), 0);
	do_unseen(&r, IBV_WR_SEND, EACH);
	rc = ibv_resize_cq(r.scq, SIZE);
	assert_true(rc == EINVAL || (rc == 0 && !bare()));
	if (!rc) /* the CQ itself can hold one more */
		assert_int_equal(rig_post(&r, EACH, IBV_WR_SEND, 0, 8, 0), 0);
	rig_poll(r.scq, 2 * EACH + !rc, wc);
	for (int i = 0; i < 2 * EACH + !rc; i++) {
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		if (wc[i].wr_id >= 100)
			assert_int_equal(wc[i].wr_id, 100 + receives++);
		else
			assert_int_equal(wc[i].wr_id, sends++);
	}
	assert_int_equal(sends, EACH);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cq_cannot_shrink_below_its_pending_completions),
		cmocka_unit_test(a_device_without_resize_returns_eopnotsupp),
		cmocka_unit_test(an_enlarged_cq_holds_more_completions),
		cmocka_unit_test(no_completion_is_lost_where_a_smaller_cq_is_granted),
	};

	return rig_run_modes(argc, argv, "resize", tests, sizeof(tests) / sizeof(*tests));
}
