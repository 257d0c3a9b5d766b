/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests one process with several contexts: two of one device, one of another, and one that was
 * imported. Each has separate extended CQs, and each CQ has waiting WRs.
 */
#include "rig.h"

#include <unistd.h>

#define K4 4096u

enum { CONTEXTS = 4, EACH = 6, LEN = 3 * K4 };

static struct rig rig[CONTEXTS];
static unsigned seen[CONTEXTS];
static struct ibv_cq_init_attr_ex cq_ex = { .wc_flags = IBV_WC_STANDARD_FLAGS };

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx[CONTEXTS];

	assert_true(list && list[0] && list[1]);
	ctx[0] = ibv_open_device(list[0]);
	ctx[1] = ibv_open_device(list[0]);
	ctx[2] = ibv_open_device(list[1]);
	assert_non_null(ctx[0]);
	ctx[3] = ibv_import_device(dup(ctx[0]->cmd_fd));
	ibv_free_device_list(list);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		assert_non_null(ctx[i]);
		rig_open(&rig[i], (struct rig_conf){ .ctx = ctx[i], .cq_ex = &cq_ex,
						     .channel = true });
		assert_int_equal(fake_send_cq(rig[i].a) == rig[i].scq, rig_is("bare"));
	}
}

static void post_all(void)
{
	for (unsigned k = 0; k < EACH; k++)
		for (unsigned i = 0; i < CONTEXTS; i++)
			assert_int_equal(rig_post(&rig[i], 100 * i + k, IBV_WR_RDMA_WRITE, k * LEN,
						  LEN, IBV_SEND_SIGNALED), 0);
}

/* Poll all available completions, with the batch of each CQ inside the previous CQ's batch. */
static void poll_from(unsigned i)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)rig[i].scq;

	if (ibv_start_poll(cq, &attr)) {
		if (i + 1 < CONTEXTS)
			poll_from(i + 1);
		return;
	}
	do {
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
		assert_int_equal(cq->wr_id, 100 * i + seen[i]);
		assert_int_equal(ibv_wc_read_qp_num(cq), rig[i].a->qp_num);
		seen[i]++;
		if (i + 1 < CONTEXTS)
			poll_from(i + 1);
	} while (!ibv_next_poll(cq));
	ibv_end_poll(cq);
}

static void each_context_gets_its_own_completions(void **state)
{
	unsigned spins = 0;

	open_all();
	fake_hold(true);
	post_all();
	fake_hold(false);
	for (unsigned done = 0; done < CONTEXTS * EACH;) {
		poll_from(0);
		done = seen[0] + seen[1] + seen[2] + seen[3];
		assert_true(done == CONTEXTS * EACH || rig_keep_waiting(&spins));
	}
	for (unsigned i = 0; i < CONTEXTS; i++) {
		assert_int_equal(seen[i], EACH);
		assert_memory_equal(rig[i].dst, rig[i].src, EACH * LEN);
	}
	for (unsigned i = CONTEXTS; i--;)
		rig_close(&rig[i]);
}

/* The other contexts continue, and the QPs of the closed context are not accessed. */
static void closing_one_context_leaves_the_others_traffic(void **state)
{
	struct ibv_wc wc[EACH];

	open_all();
	fake_hold(true);
	post_all();
	rig_close(&rig[3]); /* the same device as two of the others */
	fake_hold(false);
	for (unsigned i = 0; i < 3; i++) {
		rig_poll(rig[i].scq, EACH, wc);
		assert_true(wc[EACH - 1].wr_id == 100 * i + EACH - 1 && !wc[EACH - 1].status);
		assert_memory_equal(rig[i].dst, rig[i].src, EACH * LEN);
	}
	for (unsigned i = 3; i--;)
		rig_close(&rig[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_context_gets_its_own_completions),
		cmocka_unit_test(closing_one_context_leaves_the_others_traffic),
	};

	return rig_run_modes(argc, argv, "contexts", tests, sizeof(tests) / sizeof(*tests));
}
