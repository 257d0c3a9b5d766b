/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests split_imm=y: WRITE_WITH_IMM becomes WRITEs, and the last segment carries the immediate
 * data.
 */
#include "rig.h"

static void the_last_segment_carries_the_immediate(void **state)
{
	struct fake_wqe_seen seen[16];
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	rig_recv(&r, 9, 0, 1);
	wr = rig_wr(&r, &sge, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 3 * 4096 + 10, IBV_SEND_SIGNALED);
	wr.imm_data = 815;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	rig_poll(r.scq, 1, &wc);
	assert_true(wc.wr_id == 1 && wc.status == IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc.byte_len, 3 * 4096 + 10);
	assert_int_equal(rig_seen_of(r.a, seen, 16), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen[i].opcode, i < 3 ? IBV_WR_RDMA_WRITE
						       : IBV_WR_RDMA_WRITE_WITH_IMM);
	rig_poll(r.rcq, 1, &wc);
	assert_int_equal(wc.imm_data, 815);
	assert_int_equal(wc.byte_len, 10); /* the documented difference */
	assert_memory_equal(r.src, r.dst, 3 * 4096 + 10);
	rig_poll_nothing(r.rcq);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_segment_carries_the_immediate),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_SPLIT_IMM=y",
		 "CCSHIM_BASE_RTT=20us", NULL);
	return cmocka_run_group_tests_name("split_imm", tests, NULL, NULL);
}
