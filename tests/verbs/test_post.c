/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests posting and polling as the application sees it, while everything beyond one segment of
 * 4 KiB waits in the shim (hazards 1-3, 5-10 of the design).
 */
#include "rig.h"

#define K4 4096u

static struct ibv_wc wc[256];

/* Only one segment is in flight: later WRs wait until it has been carried out. */
static void open_held(struct rig *r, struct rig_conf conf)
{
	rig_open(r, conf);
	fake_hold(true);
}

static void completions_have_all_fields_of_the_applications_wr(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 0xdeadbeefcafef00dull, IBV_WR_RDMA_WRITE, 0, 3 * K4,
				  IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 1, wc);
	assert_true(wc->wr_id == 0xdeadbeefcafef00dull);
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc->qp_num, r.a->qp_num);
	assert_int_equal(wc->byte_len, 3 * K4);
	assert_memory_equal(r.src, r.dst, 3 * K4);

	memset(r.src, 0, 5 * K4);
	rig_post(&r, 2, IBV_WR_RDMA_READ, 0, 3 * K4 + 5, IBV_SEND_SIGNALED);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc->byte_len, 3 * K4 + 5);
	assert_memory_equal(r.src, r.dst, 3 * K4);
	assert_int_equal(r.src[5 * K4 - 1], 0);

	rig_post(&r, 3, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, IBV_SEND_SIGNALED);
	rig_post(&r, 4, IBV_WR_ATOMIC_CMP_AND_SWP, 64, 8, IBV_SEND_SIGNALED);
	rig_poll(r.scq, 2, wc);
	assert_int_equal(wc[0].opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(wc[0].byte_len, 8);
	assert_int_equal(wc[1].opcode, IBV_WC_COMP_SWAP);
	assert_true(wc[0].wr_id == 3 && wc[1].wr_id == 4);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

static void sends_arrive_whole_and_with_immediate_data(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .one_cq = true });
	assert_int_equal(rig_recv(&r, 71, 0, 100000), 0);
	assert_int_equal(rig_recv(&r, 72, 200000, 1000), 0);
	assert_int_equal(rig_post(&r, 1, IBV_WR_SEND, 0, 100000, IBV_SEND_SIGNALED), 0);
	wr = rig_wr(&r, &sge, 2, IBV_WR_SEND_WITH_IMM, 200000, 1000, IBV_SEND_SIGNALED);
	wr.imm_data = 0x12345678;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	rig_poll(r.scq, 4, wc);
	for (int i = 0, sends = 0, recvs = 0; i < 4; i++) {
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		if (wc[i].opcode == IBV_WC_SEND) {
			assert_int_equal(wc[i].wr_id, ++sends);
		} else {
			assert_int_equal(wc[i].opcode, IBV_WC_RECV);
			assert_int_equal(wc[i].wr_id, 71 + recvs++);
			assert_int_equal(wc[i].byte_len, recvs == 1 ? 100000 : 1000);
			assert_int_equal(wc[i].qp_num, r.b->qp_num);
			if (recvs == 2) {
				assert_true(wc[i].wc_flags & IBV_WC_WITH_IMM);
				assert_int_equal(wc[i].imm_data, 0x12345678);
			}
		}
	}
	assert_memory_equal(r.src, r.dst, 100000);
	assert_memory_equal(r.src + 200000, r.dst + 200000, 1000);
	rig_close(&r);
}

/* WRs of any size complete in posting order, and only the signalled ones. */
static void signalled_wrs_complete_in_posting_order(void **state)
{
	static const uint32_t sizes[] = { 1, K4, 10 * K4, 0, 64, 3 * K4 + 1, 8, 2 * K4 };
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 64 });
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 32; i++)
			assert_int_equal(rig_post(&r, i, i % 5 ? IBV_WR_RDMA_WRITE
							       : IBV_WR_RDMA_READ, i * 6 * K4,
						  sizes[i % 8],
						  i % 4 == 3 ? IBV_SEND_SIGNALED : 0), 0);
		rig_poll(r.scq, 8, wc);
		for (unsigned i = 0; i < 8; i++) {
			assert_int_equal(wc[i].wr_id, 4 * i + 3);
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		}
	}
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

static void sq_sig_all_completes_every_wr(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .sig_all = true });
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, i * K4, 0), 0);
	rig_poll(r.scq, 10, wc);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(wc[i].wr_id, i);
	rig_close(&r);
}

/* The application's CQ of one entry receives one completion for any number of segments. */
static void a_cq_of_one_entry_is_enough_for_a_split_wr(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cqe = 1, .max_send_wr = 1 });
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 50 * K4,
					  IBV_SEND_SIGNALED), 0);
		rig_poll(r.scq, 1, wc);
		assert_int_equal(wc->wr_id, i);
	}
	assert_int_equal(r.scq->cqe, 1);
	rig_close(&r);
}

/* Returns whether the device has written the data. No lock protects it. */
__attribute__((no_sanitize("thread")))
static bool arrived(const struct rig *r, size_t len)
{
	const volatile unsigned char *dst = r->dst;

	for (size_t i = 0; i < len; i++)
		if (dst[i] != r->src[i])
			return false;
	return true;
}

/* The peer may wait for later WRs, and the application for the peer. */
static void unpolled_completions_block_no_later_write(void **state)
{
	unsigned spins = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cqe = 64, .max_send_wr = 80 });
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * 9 * K4, 9 * K4, 0), 0);
	while (!arrived(&r, 16 * 9 * K4)) {
		assert_int_equal(ibv_poll_cq(r.rcq, 1, wc), 0);
		assert_true(rig_keep_waiting(&spins));
	}
	rig_poll(r.scq, 64, wc);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(wc[i].wr_id, i);
	rig_close(&r);
}

/*
 * A poll for many returns all completions: fewer than asked for means that the CQ is empty
 * (hazard 10).
 */
static void a_poll_returns_all_available_completions(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 200, .cqe = 200 });
	for (unsigned i = 0; i < 150; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 1, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_poll_cq(r.scq, 256, wc), 150);
	for (unsigned i = 0; i < 150; i++)
		assert_int_equal(wc[i].wr_id, i);
	assert_int_equal(ibv_poll_cq(r.scq, 256, wc), 0);
	rig_close(&r);
}

/* The application may reuse the list, the SGEs and inline data as soon as the call returns. */
static void the_wr_list_may_be_overwritten_after_posting(void **state)
{
	struct ibv_sge sge[4];
	struct ibv_send_wr wr[4], *bad;
	unsigned char inlined[16];
	struct rig r;

	open_held(&r, (struct rig_conf){ 0 });
	memset(inlined, 0x5a, sizeof(inlined));
	for (unsigned i = 0; i < 4; i++) {
		wr[i] = rig_wr(&r, &sge[i], 10 + i, IBV_WR_RDMA_WRITE, i * 4 * K4, 2 * K4 + i,
			       i == 3 ? IBV_SEND_SIGNALED : 0);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	wr[2].send_flags = IBV_SEND_INLINE;
	sge[2] = (struct ibv_sge){ .addr = (uintptr_t)inlined, .length = sizeof(inlined) };
	assert_int_equal(ibv_post_send(r.a, wr, &bad), 0);
	memset(wr, 0xff, sizeof(wr));
	memset(sge, 0xff, sizeof(sge));
	memset(inlined, 0xff, sizeof(inlined));
	rig_poll_stepping(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 13);
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_memory_equal(r.src, r.dst, 2 * K4);
	assert_memory_equal(r.src + 4 * K4, r.dst + 4 * K4, 2 * K4 + 1);
	assert_memory_equal(r.src + 12 * K4, r.dst + 12 * K4, 2 * K4 + 3);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(r.dst[8 * K4 + i], 0x5a);
	rig_close(&r);
}

/* The inline data is in several SGEs, without a key, and is deferred. */
static void deferred_inline_data_is_copied_from_all_its_sges(void **state)
{
	struct fake_wqe_seen seen[8];
	struct ibv_sge sge[3];
	struct ibv_send_wr wr, *bad;
	char one[] = "con", two[] = "gest", three[] = "ion";
	struct rig r;

	open_held(&r, (struct rig_conf){ 0 });
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, K4, 0);
	wr = rig_wr(&r, sge, 2, IBV_WR_RDMA_WRITE, 2 * K4, 0, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	sge[0] = (struct ibv_sge){ .addr = (uintptr_t)one, .length = 3 };
	sge[1] = (struct ibv_sge){ .addr = (uintptr_t)two, .length = 4 };
	sge[2] = (struct ibv_sge){ .addr = (uintptr_t)three, .length = 3 };
	wr.num_sge = 3;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	assert_int_equal(fake_pending(), 1);
	one[0] = two[0] = three[0] = 'x';
	rig_poll_stepping(r.scq, 1, wc);
	assert_memory_equal(r.dst + 2 * K4, "congestion", 10);
	assert_int_equal(rig_seen_of(r.a, seen, 8), 2);
	assert_true(seen[1].send_flags & IBV_SEND_INLINE);
	assert_int_equal(seen[1].length, 10);
	rig_close(&r);
}

/* Posting fails with ENOMEM at exactly max_send_wr; bad_wr is the first WR not accepted. */
static void a_qp_accepts_exactly_max_send_wr(void **state)
{
	struct ibv_sge sge[64];
	struct ibv_send_wr wr[64], *bad = NULL;
	struct rig r;
	unsigned n;

	open_held(&r, (struct rig_conf){ .max_send_wr = 10 });
	n = rig_cap.max_send_wr;
	assert_in_range(n, 10, 50);
	for (unsigned i = 0; i < n + 14; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, i * 4 * K4, 2 * K4,
			       IBV_SEND_SIGNALED);
		wr[i].next = i < n + 13 ? &wr[i + 1] : NULL;
	}
	wr[3].next = NULL;
	assert_int_equal(ibv_post_send(r.a, wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(ibv_post_send(r.a, &wr[4], &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[n]);
	assert_int_equal(ibv_post_send(r.a, &wr[n], &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[n]);
	rig_poll_stepping(r.scq, (int)n, wc);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(wc[i].wr_id, i);
	assert_int_equal(ibv_post_send(r.a, &wr[14], &bad), 0);
	rig_poll_stepping(r.scq, (int)n, wc);
	assert_int_equal(wc[n - 1].wr_id, n + 13);
	rig_close(&r);
}

/*
 * An application that signals some WRs but does not poll in between can continue to post: the
 * shim frees the slots.
 */
static void posting_continues_without_polling_while_some_wrs_are_signalled(void **state)
{
	struct rig r;
	unsigned spins = 0;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 4 });
	for (unsigned i = 0; i < 400; i++) {
		int rc;

		while ((rc = rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, i % 100,
				      i % 3 == 2 ? IBV_SEND_SIGNALED : 0)) == ENOMEM) {
			if (ibv_poll_cq(r.scq, 1, wc) == 1) /* pending completions come in order */
				assert_int_equal(wc->wr_id % 3, 2);
			if (!rig_keep_waiting(&spins))
				fail_msg("stuck at %u", i);
		}
		assert_int_equal(rc, 0);
	}
	rig_close(&r);
}

static void refused_wrs_return_the_devices_code(void **state)
{
	struct ibv_sge sge[6], *many = sge;
	struct ibv_send_wr wr[3], *bad = NULL;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 3; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(r.a, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 0);
	rig_poll_nothing(r.scq);

	/* more SGEs than the QP supports, long enough to be split */
	for (unsigned i = 0; i < 6; i++)
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)r.src, .length = 700,
					   .lkey = r.smr->lkey };
	wr[0].sg_list = many;
	wr[0].num_sge = 6;
	wr[0].next = NULL;
	assert_int_equal(ibv_post_send(r.a, wr, &bad), fake_profile()->too_large);
	assert_ptr_equal(bad, wr);
	sge[0].length = 3 * K4;
	assert_int_equal(ibv_post_send(r.a, wr, &bad), fake_profile()->too_large);

	/* inline beyond what the QP was created for */
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, rig_cap.max_inline_data + 1,
				  IBV_SEND_INLINE), fake_profile()->too_large);
	assert_int_equal(rig_post(&r, 9, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 9);
	rig_close(&r);
}

/* Other WRs wait, so that the shim does not ask the device at once. */
static void malformed_wrs_are_refused_while_others_wait(void **state)
{
	struct ibv_sge sge[6];
	struct ibv_send_wr wr, *bad = NULL;
	struct rig r;

	open_held(&r, (struct rig_conf){ 0 });
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 4 * K4, IBV_SEND_SIGNALED);
	wr = rig_wr(&r, sge, 2, IBV_WR_RDMA_WRITE, 0, 8, 0);
	wr.num_sge = 6;
	for (unsigned i = 0; i < 6; i++)
		sge[i] = sge[0];
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), fake_profile()->too_large);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, rig_cap.max_inline_data + 1,
				  IBV_SEND_INLINE), fake_profile()->too_large);
	wr.num_sge = 1;
	wr.opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), EINVAL);
	assert_int_equal(rig_post(&r, 4, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	rig_poll_stepping(r.scq, 2, wc);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].wr_id, 4);
	assert_int_equal(wc[1].status, IBV_WC_SUCCESS);
	rig_close(&r);
}

/* The device must be asked at once, as it may refuse them; a late refusal would fail the QP. */
static void atomics_are_refused_while_others_wait_where_the_device_has_none(void **state)
{
	struct rig r;

	fake_atomics(false);
	rig_open(&r, (struct rig_conf){ .ctx = rig_device() });
	fake_atomics(false); /* rig_open() has reset it */
	fake_hold(true);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 4 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rig_post(&r, 2, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, IBV_SEND_SIGNALED),
			 EOPNOTSUPP);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	rig_poll_stepping(r.scq, 2, wc);
	assert_true(wc[0].wr_id == 1 && wc[0].status == IBV_WC_SUCCESS);
	assert_true(wc[1].wr_id == 3 && wc[1].status == IBV_WC_SUCCESS);
	rig_close(&r);
}

static void posting_before_rts_returns_the_devices_code(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad = NULL;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	wr = rig_wr(&r, &sge, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), fake_profile()->not_rts);
	assert_ptr_equal(bad, fake_profile()->keeps_early ? NULL : &wr);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/* The application gets the device's refusal of a WR in the middle of a list unchanged. */
static void a_refusal_within_a_list_returns_its_code_and_bad_wr(void **state)
{
	static const int codes[] = { ENOMEM, EINVAL, -EINVAL, -ENOMEM };
	struct ibv_sge sge[6];
	struct ibv_send_wr wr[6], *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned c = 0; c < 4; c++)
		for (unsigned at = 0; at < 6; at++) {
			for (unsigned i = 0; i < 6; i++) {
				wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 8,
					       IBV_SEND_SIGNALED);
				wr[i].next = i < 5 ? &wr[i + 1] : NULL;
			}
			bad = NULL;
			errno = 0;
			fake_fail_post(at, codes[c], FAKE_BAD_WR);
			assert_int_equal(ibv_post_send(r.a, wr, &bad), codes[c]);
			assert_ptr_equal(bad, &wr[at]);
			assert_int_equal(errno, abs(codes[c]));
			rig_poll(r.scq, (int)at, wc);
			for (unsigned i = 0; i < at; i++)
				assert_int_equal(wc[i].wr_id, i);
			rig_poll_nothing(r.scq);
			assert_int_equal(ibv_post_send(r.a, &wr[at], &bad), 0);
			rig_poll(r.scq, 6 - (int)at, wc);
		}
	rig_close(&r);
}

/* rxe returns an error without bad_wr, although the WQEs are in the ring and complete. */
static void wrs_refused_without_bad_wr_complete_as_on_rxe(void **state)
{
	static struct ibv_sge sge[40];
	static struct ibv_send_wr wr[40], *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 40 });
	for (unsigned i = 0; i < 40; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED);
		wr[i].next = i < 39 ? &wr[i + 1] : NULL;
	}
	bad = wr;
	fake_fail_post(0, EINVAL, FAKE_BAD_NULL);
	assert_int_equal(ibv_post_send(r.a, wr, &bad), EINVAL);
	assert_null(bad);
	memset(wr, 0xff, sizeof(wr));
	memset(sge, 0xff, sizeof(sge));
	rig_poll(r.scq, 40, wc);
	for (unsigned i = 0; i < 40; i++)
		assert_true(wc[i].wr_id == i && wc[i].status == IBV_WC_SUCCESS);
	rig_close(&r);
}

/* One call rings one doorbell if no WR has to wait. */
static void a_list_needs_one_doorbell(void **state)
{
	struct ibv_sge sge[12];
	struct ibv_send_wr wr[12], *bad;
	uint64_t before;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 12; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 16,
			       i == 11 ? IBV_SEND_SIGNALED : 0);
		wr[i].next = i < 11 ? &wr[i + 1] : NULL;
	}
	before = fake_doorbells();
	assert_int_equal(ibv_post_send(r.a, wr, &bad), 0);
	assert_int_equal(fake_doorbells() - before, 1);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 11);
	rig_close(&r);
}

/* ibv_bind_mw's key is valid on return, after all that was queued before it. */
static void bind_mw_is_posted_at_once_after_all_waiting_wrs(void **state)
{
	struct fake_wqe_seen seen[8];
	struct ibv_mw_bind bind = { .wr_id = 77, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;
	uint32_t before;
	struct rig r;

	open_held(&r, (struct rig_conf){ 0 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	before = mw->rkey;
	for (unsigned i = 0; i < 3; i++)
		rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, 0);
	assert_int_equal(fake_pending(), 1);
	assert_int_equal(ibv_bind_mw(r.a, mw, &bind), 0);
	assert_int_not_equal(mw->rkey, before);
	assert_int_equal(rig_seen_of(r.a, seen, 8), 4);
	assert_int_equal(seen[3].opcode, IBV_WR_BIND_MW);
	rig_poll_stepping(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 77);
	assert_int_equal(wc->opcode, IBV_WC_BIND_MW);
	rig_poll_nothing(r.scq);
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completions_have_all_fields_of_the_applications_wr),
		cmocka_unit_test(sends_arrive_whole_and_with_immediate_data),
		cmocka_unit_test(signalled_wrs_complete_in_posting_order),
		cmocka_unit_test(sq_sig_all_completes_every_wr),
		cmocka_unit_test(a_cq_of_one_entry_is_enough_for_a_split_wr),
		cmocka_unit_test(unpolled_completions_block_no_later_write),
		cmocka_unit_test(a_poll_returns_all_available_completions),
		cmocka_unit_test(the_wr_list_may_be_overwritten_after_posting),
		cmocka_unit_test(deferred_inline_data_is_copied_from_all_its_sges),
		cmocka_unit_test(a_qp_accepts_exactly_max_send_wr),
		cmocka_unit_test(posting_continues_without_polling_while_some_wrs_are_signalled),
		cmocka_unit_test(refused_wrs_return_the_devices_code),
		cmocka_unit_test(malformed_wrs_are_refused_while_others_wait),
		cmocka_unit_test(
			atomics_are_refused_while_others_wait_where_the_device_has_none),
		cmocka_unit_test(posting_before_rts_returns_the_devices_code),
		cmocka_unit_test(a_refusal_within_a_list_returns_its_code_and_bad_wr),
		cmocka_unit_test(wrs_refused_without_bad_wr_complete_as_on_rxe),
		cmocka_unit_test(a_list_needs_one_doorbell),
		cmocka_unit_test(bind_mw_is_posted_at_once_after_all_waiting_wrs),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", NULL);
	return cmocka_run_group_tests_name("post", tests, NULL, NULL);
}
