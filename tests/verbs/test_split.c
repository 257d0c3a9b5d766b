/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests what the device receives of a WR that is split, and which WRs are never split (hazards
 * 3, 18, 19).
 */
#include "rig.h"

#define K4 4096u

static struct ibv_wc wc[16];
static struct fake_wqe_seen seen[512];

/*
 * Check that the segments of one WR are in order, without gaps, and not too long. Returns their
 * number.
 */
static size_t check_segments(const struct rig *r, size_t first, enum ibv_wr_opcode opcode,
			     uint64_t remote, uint64_t len)
{
	const size_t all = rig_seen_of(r->a, seen, 512);
	size_t n = 0;

	for (uint64_t at = 0; at < len; n++) {
		assert_true(first + n < all);
		assert_int_equal(seen[first + n].opcode, opcode);
		assert_true(seen[first + n].remote_addr == remote + at);
		assert_true(seen[first + n].length <= K4 && seen[first + n].length > 0);
		assert_true(seen[first + n].num_sge <= 4);
		at += seen[first + n].length;
		assert_true(at <= len);
	}
	return n;
}

static void scatter(struct rig *r, struct ibv_sge *sge, const uint32_t *len, const uint32_t *at)
{
	for (int i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)r->src + at[i], .length = len[i],
					   .lkey = r->smr->lkey };
}

static const uint32_t lens[] = { 5000, 1, 9000, 4095 }, places[] = { 300000, 77, 100001, 50000 };

static void a_split_write_gathers_from_all_its_sges(void **state)
{
	const uint32_t total = 5000 + 1 + 9000 + 4095;
	struct ibv_sge sge[4];
	struct ibv_send_wr wr, *bad;
	unsigned char *to;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	wr = rig_wr(&r, sge, 5, IBV_WR_RDMA_WRITE, 64, 0, IBV_SEND_SIGNALED);
	scatter(&r, sge, lens, places);
	wr.num_sge = 4;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->byte_len, total);
	assert_int_equal(check_segments(&r, 0, IBV_WR_RDMA_WRITE, (uintptr_t)r.dst + 64, total), 5);
	to = r.dst + 64;
	for (int i = 0; i < 4; to += lens[i++])
		assert_memory_equal(to, r.src + places[i], lens[i]);
	assert_int_equal(to[0], 0);
	rig_close(&r);
}

static void a_split_read_scatters_to_all_its_sges(void **state)
{
	const uint32_t total = 5000 + 1 + 9000 + 4095;
	struct ibv_sge sge[4];
	struct ibv_send_wr wr, *bad;
	unsigned char *from;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	memcpy(r.dst, r.src + 500000, 30000);
	wr = rig_wr(&r, sge, 5, IBV_WR_RDMA_READ, 64, 0, IBV_SEND_SIGNALED);
	scatter(&r, sge, lens, places);
	wr.num_sge = 4;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->byte_len, total);
	check_segments(&r, 0, IBV_WR_RDMA_READ, (uintptr_t)r.dst + 64, total);
	from = r.dst + 64;
	for (int i = 0; i < 4; from += lens[i++])
		assert_memory_equal(from, r.src + places[i], lens[i]);
	rig_close(&r);
}

/* The device refuses such a request before any effect, which it could not do for a part of it. */
static void check_unsplit(struct rig *r, enum ibv_wr_opcode opcode, struct ibv_sge *sge)
{
	const size_t first = rig_seen_of(r->a, seen, 512);
	struct ibv_send_wr wr, *bad;
	struct ibv_sge unused;

	wr = rig_wr(r, &unused, 5, opcode, 64, 0, IBV_SEND_SIGNALED);
	wr.sg_list = sge;
	wr.num_sge = 2;
	assert_int_equal(ibv_post_send(r->a, &wr, &bad), 0);
	rig_poll(r->scq, 1, wc);
	assert_int_equal(wc->status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(rig_seen_of(r->a, seen, 512), first + 1);
	assert_int_equal(seen[first].length, sge[0].length + sge[1].length);
	for (unsigned i = 0; i < 20000; i++)
		assert_int_equal(r->dst[64 + i], 0);
}

/* An address, a length, or a region that does not allow it; of the last of two SGEs. */
static void data_outside_a_region_is_not_split(void **state)
{
	struct ibv_mr *mr;
	struct rig r;

	for (int what = 0; what < 5; what++) {
		struct ibv_sge sge[2];

		rig_open(&r, (struct rig_conf){ 0 });
		mr = ibv_reg_mr(r.pd, r.src + 20000, 10000, what == 3 ? 0 : IBV_ACCESS_LOCAL_WRITE);
		sge[0] = (struct ibv_sge){ (uintptr_t)r.src, 10000, r.smr->lkey };
		sge[1] = (struct ibv_sge){ (uintptr_t)mr->addr, 10000, mr->lkey };
		if (what == 0)
			sge[1].addr--;
		if (what == 1)
			sge[1].length++;
		if (what == 2)
			assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
						      mr->addr, 9999, 0), 0);
		if (what == 4)
			assert_int_equal(ibv_dereg_mr(mr), 0);
		sge[1].lkey = what == 2 ? mr->lkey : sge[1].lkey;
		check_unsplit(&r, what == 3 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, sge);
		if (what != 4)
			ibv_dereg_mr(mr);
		rig_close(&r);
	}
}

static void what_all_variants_of_reg_mr_registered_is_split(void **state)
{
	const unsigned access = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (int which = 0; which < 4; which++) {
		uint64_t start = (uintptr_t)r.src;
		const size_t first = rig_seen_of(r.a, seen, 512);

		mr = which == 1 ? ibv_reg_mr_iova(r.pd, r.src, 20000, start = 4096, access)
			: which == 2 ? ibv_reg_mr_iova2(r.pd, r.src, 20000, start = 0, access)
				     : ibv_reg_mr(r.pd, r.src, 20000, access);
		if (which == 3)
			assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
						      r.src + 4096, 20000, 0), 0);
		start += which == 3 ? 4096 : 0;
		wr = rig_wr(&r, &sge, 5, IBV_WR_RDMA_WRITE, 64, 0, IBV_SEND_SIGNALED);
		sge = (struct ibv_sge){ start, 20000, mr->lkey };
		assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
		rig_poll(r.scq, 1, wc);
		assert_int_equal(wc->status, IBV_WC_SUCCESS);
		assert_int_equal(check_segments(&r, first, IBV_WR_RDMA_WRITE,
						(uintptr_t)r.dst + 64, 20000), 5);
		ibv_dereg_mr(mr);
	}
	rig_close(&r);
}

/* Combine many segment boundaries with many SGE boundaries. */
static void random_sge_lists_arrive_whole(void **state)
{
	uint32_t x = 99;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned round = 0; round < 300; round++) {
		struct ibv_sge sge[4];
		struct ibv_send_wr wr, *bad;
		uint32_t len[4], at[4], total = 0;
		unsigned char *to = r.dst + 1000;

		for (int i = 0; i < 4; i++) {
			static const uint32_t some[] = { 0, 1, 4095, 4096, 4097, 8192, 12289,
							 20000 };

			x = x * 1664525 + 1013904223;
			len[i] = some[x >> 29];
			at[i] = (x >> 8) % 500000;
			total += len[i];
		}
		memset(r.dst, 0, 100000);
		wr = rig_wr(&r, sge, round, IBV_WR_RDMA_WRITE, 1000, 0, IBV_SEND_SIGNALED);
		scatter(&r, sge, len, at);
		wr.num_sge = 4;
		assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
		rig_poll(r.scq, 1, wc);
		assert_true(wc->wr_id == round && wc->status == IBV_WC_SUCCESS);
		for (int i = 0; i < 4; to += len[i++])
			assert_memory_equal(to, r.src + at[i], len[i]);
		assert_int_equal(to[0], 0);
		assert_int_equal(total, to - (r.dst + 1000));
	}
	rig_close(&r);
}

/*
 * FENCE belongs to the first segment, SOLICITED to the last; SIGNALED is set often enough to
 * notice the end.
 */
static void fence_is_on_the_first_segment_and_solicited_on_the_last(void **state)
{
	size_t n;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 10 * K4 + 9, IBV_SEND_SIGNALED |
				  IBV_SEND_FENCE | IBV_SEND_SOLICITED), 0);
	rig_poll(r.scq, 1, wc);
	n = check_segments(&r, 0, IBV_WR_RDMA_WRITE, (uintptr_t)r.dst, 10 * K4 + 9);
	assert_int_equal(n, 11);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(!!(seen[i].send_flags & IBV_SEND_FENCE), i == 0);
		assert_int_equal(!!(seen[i].send_flags & IBV_SEND_SOLICITED), i == n - 1);
	}
	assert_true(seen[n - 1].send_flags & IBV_SEND_SIGNALED);
	rig_close(&r);
}

static void sends_immediates_inline_data_and_atomics_are_not_split(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_inline = 200 });
	rig_recv(&r, 1, 0, 100000);
	rig_recv(&r, 2, 0, 100000);
	assert_int_equal(rig_post(&r, 1, IBV_WR_SEND, 0, 100000, IBV_SEND_SIGNALED), 0);
	wr = rig_wr(&r, &sge, 2, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100000, IBV_SEND_SIGNALED);
	wr.imm_data = 4711;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 0, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rig_post(&r, 4, IBV_WR_RDMA_WRITE, 0, 200, IBV_SEND_SIGNALED |
				  IBV_SEND_INLINE), 0);
	assert_int_equal(rig_post(&r, 5, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 5, wc);
	for (int i = 0; i < 5; i++)
		assert_true(wc[i].wr_id == (uint64_t)i + 1 && wc[i].status == IBV_WC_SUCCESS);
	assert_int_equal(rig_seen_of(r.a, seen, 512), 5);
	assert_true(seen[0].length == 100000 && seen[1].length == 100000);
	assert_int_equal(seen[1].imm, 4711);
	assert_int_equal(seen[2].length, 0);
	assert_true(seen[3].send_flags & IBV_SEND_INLINE);
	rig_poll(r.rcq, 2, wc);
	assert_int_equal(wc[1].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc[1].byte_len, 100000);
	assert_int_equal(wc[1].imm_data, 4711);
	rig_close(&r);
}

/* More outstanding READs than the peer supports would stall the rest of the queue. */
static void reads_outstanding_are_bounded(void **state)
{
	struct rig r;
	unsigned spins = 0, most = 0;

	rig_open(&r, (struct rig_conf){ .max_rd_atomic = 3 });
	fake_hold(true);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_READ, 0, 40 * K4, IBV_SEND_SIGNALED), 0);
	while (ibv_poll_cq(r.scq, 1, wc) == 0) {
		const unsigned pending = fake_pending();

		assert_true(pending <= 3);
		most = pending > most ? pending : most;
		fake_step(1);
		if (!rig_keep_waiting(&spins))
			fail_msg("stuck");
	}
	assert_int_equal(most, 3);
	rig_close(&r);
}

/* Small unsignalled READs and atomics do not block each other when only one may be outstanding. */
static void unsignalled_reads_make_progress_at_max_rd_atomic_1(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_rd_atomic = 1 });
	for (int i = 0; i < 10; i++)
		assert_int_equal(rig_post(&r, (uint64_t)i, i % 2 ? IBV_WR_RDMA_READ
					  : IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8,
					  i == 9 ? IBV_SEND_SIGNALED : 0), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 9);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/* An application's first WRs are often a small unsignalled one and a large one. */
static void a_large_wr_behind_a_small_unsignalled_one_completes(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 100, 0), 0);
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 100 * K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 2);
	rig_close(&r);
}

static void post_1(struct rig *r, unsigned n, unsigned int flags)
{
	while (n--)
		assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, 1, flags), 0);
}

/*
 * Fewer completions than asked for mean that the CQ is empty: an application that armed it
 * sleeps then. Where entries are reused silently, each 128th WQE of a queue of 511 is signalled at
 * least. So there are an internal completion, 63 that are reported, others that are internal, and
 * one that is reported.
 */
static void a_poll_does_not_stop_at_hidden_completions(void **state)
{
	struct ibv_wc many[64];
	struct rig r;

	if (!rig_is("rxe"))
		skip();
	rig_open(&r, (struct rig_conf){ .max_send_wr = 500, .cqe = 64 });
	fake_hold(true);
	post_1(&r, 128, 0);
	post_1(&r, 63, IBV_SEND_SIGNALED);
	post_1(&r, 128, 0);
	post_1(&r, 1, IBV_SEND_SIGNALED);
	assert_int_equal(fake_step(512), 320);
	assert_true(fake_cqes(fake_send_cq(r.a)) >= 66);
	assert_int_equal(ibv_poll_cq(r.scq, 64, many), 64);
	fake_hold(false);
	rig_close(&r);
}

/*
 * The device's queue is full because it holds segments of the shim; on the bare device the next
 * WR would have fitted. A malformed WR is still refused with the device's code.
 */
static void a_queue_full_of_segments_defers_the_next_wr(void **state)
{
	struct ibv_sge sge[5];
	struct ibv_send_wr wr, *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 20; i++) { /* let the window open */
		rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED);
		rig_poll(r.scq, 1, wc);
	}
	fake_hold(true);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 3);
	fake_fail_post(0, ENOMEM, FAKE_BAD_WR);
	errno = 0;
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 3 * K4, 8, IBV_SEND_SIGNALED), 0);
	assert_int_equal(errno, 0); /* the device's errno is hidden */
	fake_hold(false);
	rig_poll(r.scq, 2, wc);
	assert_true(wc[0].wr_id == 1 && wc[1].wr_id == 2 && !wc[0].status && !wc[1].status);
	fake_hold(true);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED), 0);
	wr = rig_wr(&r, sge, 4, IBV_WR_RDMA_WRITE, 64, 8, IBV_SEND_SIGNALED);
	wr.num_sge = 5;
	fake_fail_post(0, ENOMEM, FAKE_BAD_WR); /* as mlx5 reports it */
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	fake_hold(false);
	rig_poll(r.scq, 1, wc);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/* The same for small WRs that pass an open gate untimed, alone and in a list. */
static void a_queue_full_of_segments_defers_small_wrs(void **state)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr wr[2], *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 20; i++) { /* let the window open */
		rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED);
		rig_poll(r.scq, 1, wc);
	}
	for (unsigned list = 1; list <= 2; list++) {
		fake_hold(true);
		rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED);
		for (unsigned i = 1; i < 4; i++)
			rig_post(&r, i, IBV_WR_RDMA_WRITE, 64 * i, 8, IBV_SEND_SIGNALED);
		for (unsigned i = 0; i < list; i++) {
			wr[i] = rig_wr(&r, &sge[i], 4 + i, IBV_WR_RDMA_WRITE, 512 + 64 * i, 8,
				       IBV_SEND_SIGNALED);
			wr[i].next = i + 1 < list ? &wr[i + 1] : NULL;
		}
		fake_fail_post(list - 1, ENOMEM, FAKE_BAD_WR);
		assert_int_equal(ibv_post_send(r.a, wr, &bad), 0);
		memset(wr, 0xa5, sizeof(wr));
		fake_hold(false);
		rig_poll(r.scq, (int)(4 + list), wc);
		for (unsigned i = 0; i < 4 + list; i++)
			assert_true(wc[i].wr_id == i && !wc[i].status);
	}
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

int main(int argc, char **argv)
{
#define SPLIT "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=64k", \
	"CCSHIM_BASE_RTT=20us"
	static const struct rig_mode modes[] = {
		{ "mlx5", { "FAKERDMA_PROFILE=mlx5", SPLIT } },
		{ "rxe", { "FAKERDMA_PROFILE=rxe", SPLIT } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poll_does_not_stop_at_hidden_completions),
		cmocka_unit_test(a_large_wr_behind_a_small_unsignalled_one_completes),
		cmocka_unit_test(a_split_write_gathers_from_all_its_sges),
		cmocka_unit_test(a_split_read_scatters_to_all_its_sges),
		cmocka_unit_test(data_outside_a_region_is_not_split),
		cmocka_unit_test(what_all_variants_of_reg_mr_registered_is_split),
		cmocka_unit_test(random_sge_lists_arrive_whole),
		cmocka_unit_test(fence_is_on_the_first_segment_and_solicited_on_the_last),
		cmocka_unit_test(sends_immediates_inline_data_and_atomics_are_not_split),
		cmocka_unit_test(reads_outstanding_are_bounded),
		cmocka_unit_test(unsignalled_reads_make_progress_at_max_rd_atomic_1),
		cmocka_unit_test(a_queue_full_of_segments_defers_the_next_wr),
		cmocka_unit_test(a_queue_full_of_segments_defers_small_wrs),
	};

	return rig_run_in(argc, argv, "split", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
