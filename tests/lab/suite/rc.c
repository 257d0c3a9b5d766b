/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of each opcode on reliable connections. */
#include "suite.h"

static void write_places_its_bytes(void)
{
	static const uint32_t lens[] = { 1, 8, 1023, 1024, 1025, 4096, 50001, 300000 };
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		memset(target(), 0, MIB);
		fill(source(), lens[i], i);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = lens[i], .to = 64, SIGNALED);
		done(&p.a, i, IBV_WC_RDMA_WRITE);
		require(is_filled(target() + 64, lens[i], i), "WRITE of %u bytes", lens[i]);
		require(is_zero(target(), 64) && is_zero(target() + 64 + lens[i], 64),
			"WRITE of %u bytes: bytes beside it", lens[i]);
	}
	pair_drop(&p);
}

static void write_of_a_megabyte(void)
{
	struct pair p;

	PAIR(&p);
	memset(target(), 0, MIB);
	fill(source(), MIB, 3);
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = MIB, SIGNALED);
	POST(&p, .id = 2, .opcode = IBV_WR_RDMA_READ, .len = MIB, SIGNALED);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	done(&p.a, 2, IBV_WC_RDMA_READ);
	require(is_filled(target(), MIB, 3), "WRITE");
	require(is_filled(local(), MIB, 3), "READ");
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

/* Pieces of which none ends where a segment may end. */
static void long_requests_of_several_pieces(void)
{
	enum { LEN = 100001 };
	struct pair p;

	PAIR(&p);
	for (unsigned n = 1; n <= 4; n++) {
		memset(target(), 0, LEN + 64);
		memset(local(), 0, LEN + 64);
		fill(source(), LEN, n);
		POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = LEN, .pieces = n);
		POST(&p, .id = 2, .opcode = IBV_WR_RDMA_READ, .len = LEN, .pieces = n, SIGNALED);
		done(&p.a, 2, IBV_WC_RDMA_READ);
		require(is_filled(target(), LEN, n) && is_zero(target() + LEN, 64), "WRITE");
		require(is_filled(local(), LEN, n) && is_zero(local() + LEN, 64), "READ");
	}
	require(!count_wcs(&p.a, 5), "a completion of an unsignaled WRITE");
	pair_drop(&p);
}

static void write_imm_consumes_a_receive(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	memset(target(), 0, MIB);
	memset(inbox(), 0, 64);
	fill(source(), 20000, 5);
	recv_ok(&p.b, 10, 0, 64);
	recv_ok(&p.b, 11, 0, 64);
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 20000, .imm = 0xabcd1234,
	     SIGNALED);
	POST(&p, .id = 2, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = 7, SIGNALED);
	next_wc(&p.a, &wc);
	require(!wc.status && wc.wr_id == 1 && wc.opcode == IBV_WC_RDMA_WRITE, "WR %lu: %d",
		(unsigned long)wc.wr_id, wc.status);
	fact("sent_flags", "%#x", wc.wc_flags);
	done(&p.a, 2, IBV_WC_RDMA_WRITE);
	wc = received(&p.b, 10, 20000);
	require(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "opcode %d", wc.opcode);
	require(wc.wc_flags & IBV_WC_WITH_IMM && be32toh(wc.imm_data) == 0xabcd1234, "immediate");
	wc = received(&p.b, 11, 0);
	require(be32toh(wc.imm_data) == 7, "immediate of an empty WRITE");
	require(is_filled(target(), 20000, 5), "bytes of the WRITE");
	require(is_zero(inbox(), 64), "the receive's buffer was written to");
	pair_drop(&p);
}

static void send_arrives_whole(void)
{
	static const uint32_t lens[] = { 1, 32, 33, 64, 1024, 3000, 4096, 60000 };
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		memset(inbox(), 0, 65536);
		fill(source(), lens[i], i);
		recv_ok(&p.b, 100 + i, 0, 65536);
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = lens[i], SIGNALED);
		done(&p.a, i, IBV_WC_SEND);
		wc = received(&p.b, 100 + i, lens[i]);
		require(!(wc.wc_flags & IBV_WC_WITH_IMM), "an immediate that was not sent");
		require(is_filled(inbox(), lens[i], i), "SEND of %u bytes", lens[i]);
		require(is_zero(inbox() + lens[i], 64), "bytes beside the SEND");
	}
	pair_drop(&p);
}

static void send_imm_delivers_the_immediate(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 4; i++) {
		fill(source(), 100, i);
		recv_ok(&p.b, 20 + i, 0, 256);
		POST(&p, .id = i, .opcode = IBV_WR_SEND_WITH_IMM, .len = i * 20, .imm = ~i,
		     SIGNALED);
		done(&p.a, i, IBV_WC_SEND);
		wc = received(&p.b, 20 + i, i * 20);
		require(wc.wc_flags & IBV_WC_WITH_IMM && be32toh(wc.imm_data) == ~i, "immediate %x",
			be32toh(wc.imm_data));
		require(is_filled(inbox(), i * 20, i), "bytes of SEND %u", i);
	}
	pair_drop(&p);
}

static void read_fetches_its_bytes(void)
{
	static const uint32_t lens[] = { 1, 32, 1024, 1025, 20000, 200001 };
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		memset(local(), 0, MIB);
		fill(target() + 128, lens[i], i);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_READ, .len = lens[i], .at = 64, .to = 128,
		     SIGNALED);
		next_wc(&p.a, &wc);
		require(!wc.status && wc.wr_id == i && wc.opcode == IBV_WC_RDMA_READ, "READ %u: %s",
			i, ibv_wc_status_str(wc.status));
		require(wc.byte_len == lens[i], "byte_len %u of a READ of %u", wc.byte_len,
			lens[i]);
		require(is_filled(local() + 64, lens[i], i), "READ of %u", lens[i]);
		require(is_zero(local(), 64) &&
			is_zero(local() + 64 + lens[i], 64), "bytes beside the READ");
	}
	pair_drop(&p);
}

static uint64_t *word(uint8_t *at)
{
	return (uint64_t *)(void *)at;
}

static void cas_swaps_only_if_equal(void)
{
	struct pair p;

	PAIR(&p);
	*word(target()) = 5;
	POST(&p, .id = 1, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .compare_add = 5, .swap = 9,
	     SIGNALED);
	done(&p.a, 1, IBV_WC_COMP_SWAP);
	require(*word(target()) == 9, "not swapped");
	require(*word(local()) == 5, "the old value is not returned");
	POST(&p, .id = 2, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .compare_add = 5, .swap = 1,
	     SIGNALED);
	done(&p.a, 2, IBV_WC_COMP_SWAP);
	require(*word(target()) == 9, "swapped although not equal");
	require(*word(local()) == 9, "the value is not returned");
	pair_drop(&p);
}

static void faa_adds_once(void)
{
	enum { TIMES = 20 };
	struct pair p;

	PAIR(&p);
	*word(target() + 8) = UINT64_MAX - 4;
	for (unsigned i = 0; i < TIMES; i++)
		POST(&p, .id = i, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .to = 8, .at = i * 8,
		     .compare_add = 3, SIGNALED);
	for (unsigned i = 0; i < TIMES; i++) {
		done(&p.a, i, IBV_WC_FETCH_ADD);
		require(*word(local() + i * 8) == UINT64_MAX - 4 + i * 3,
			"value %u: %lx", i, (unsigned long)*word(local() + i * 8));
	}
	require(*word(target() + 8) == TIMES * 3 - 5, "sum");
	pair_drop(&p);
}

static void empty_requests_complete(void)
{
	struct pair p;

	PAIR(&p);
	recv_ok(&p.b, 10, 0, 64);
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, SIGNALED);
	POST(&p, .id = 2, .opcode = IBV_WR_SEND, SIGNALED);
	POST(&p, .id = 3, .opcode = IBV_WR_RDMA_READ, SIGNALED);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	done(&p.a, 2, IBV_WC_SEND);
	done(&p.a, 3, IBV_WC_RDMA_READ);
	received(&p.b, 10, 0);
	pair_drop(&p);
}

/* The buffer changes after the post, when the shim may hold a copy or the device the WQE. */
static void inline_data_are_taken_by_the_post(void)
{
	enum { TIMES = 16 };
	struct pair p;

	PAIR(&p, .inline_len = 64);
	memset(target(), 0, MIB);
	for (unsigned i = 0; i < TIMES; i++) {
		fill(source(), 64, i);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 4 * i + 4, .to = i * 64,
		     .pieces = 1 + i % 4, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE);
		memset(source(), 0xff, 64);
	}
	for (unsigned i = 0; i < TIMES; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	for (unsigned i = 0; i < TIMES; i++)
		require(is_filled(target() + i * 64, 4 * i + 4, i), "inline WRITE %u", i);
	pair_drop(&p);
}

static void inline_sends_of_every_length(void)
{
	struct pair p;

	PAIR(&p, .inline_len = 64);
	for (unsigned len = 0; len <= 64; len++) {
		fill(source(), len, len);
		recv_ok(&p.b, 100 + len, 0, 64);
		POST(&p, .id = len, .opcode = IBV_WR_SEND, .len = len,
		     .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE);
		memset(source(), 0, 64);
		done(&p.a, len, IBV_WC_SEND);
		received(&p.b, 100 + len, len);
		require(is_filled(inbox(), len, len), "inline SEND of %u bytes", len);
	}
	pair_drop(&p);
}

/* READ fetches what the fenced SEND, which is posted with it, takes from the same buffer. */
static void fenced_request_waits_for_reads(void)
{
	struct ibv_send_wr *bad;
	struct request send;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 8; i++) {
		memset(local(), 0, 30000);
		fill(target(), 30000, i);
		recv_ok(&p.b, 10 + i, 0, 65536);
		POST(&p, .id = 1, .opcode = IBV_WR_RDMA_READ, .len = 30000, SIGNALED);
		build(&send, &p.a, &p.b, &(struct op){ .id = 2, .opcode = IBV_WR_SEND, .len = 30000,
			.flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE });
		send.sge[0].addr = (uintptr_t)local();
		require(!ibv_post_send(p.a.qp, &send.wr, &bad), "posting");
		done(&p.a, 1, IBV_WC_RDMA_READ);
		done(&p.a, 2, IBV_WC_SEND);
		received(&p.b, 10 + i, 30000);
		require(is_filled(inbox(), 30000, i), "the SEND overtook the READ");
	}
	pair_drop(&p);
}

static void both_directions_at_once(void)
{
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 16; i++) {
		recv_ok(&p.a, 200 + i, i * 8192, 8192);
		recv_ok(&p.b, 300 + i, i * 8192, 8192);
	}
	fill(source(), 8000, 1);
	fill(hosts[1].mem + SOURCE, 8000, 2);
	for (unsigned i = 0; i < 16; i++) {
		post_ok(&p.a, &p.b, &(struct op){ .id = i, .opcode = IBV_WR_SEND, .len = 8000 });
		post_ok(&p.b, &p.a, &(struct op){ .id = i, .opcode = IBV_WR_SEND, .len = 8000 });
	}
	for (unsigned i = 0; i < 16; i++) {
		received(&p.a, 200 + i, 8000);
		received(&p.b, 300 + i, 8000);
		require(is_filled(hosts[0].mem + INBOX + i * 8192, 8000, 2), "to host 0: %u", i);
		require(is_filled(inbox() + i * 8192, 8000, 1), "to host 1: %u", i);
	}
	pair_drop(&p);
}

const struct check rc_checks[] = {
	{ "rc_write", "a WRITE places its bytes and none beside them", write_places_its_bytes },
	{ "rc_megabyte", "a WRITE and a READ of a megabyte complete once each",
	  write_of_a_megabyte },
	{ "rc_pieces", "long WRITEs and READs of several SGEs place their bytes",
	  long_requests_of_several_pieces },
	{ "rc_write_imm", "WRITE_WITH_IMM consumes a receive and delivers the immediate",
	  write_imm_consumes_a_receive },
	{ "rc_send", "a SEND arrives whole, with its length", send_arrives_whole },
	{ "rc_send_imm", "SEND_WITH_IMM delivers the immediate", send_imm_delivers_the_immediate },
	{ "rc_read", "a READ fetches its bytes and no others", read_fetches_its_bytes },
	{ "rc_cas", "compare-and-swap swaps only if equal", cas_swaps_only_if_equal },
	{ "rc_faa", "each fetch-and-add adds once, in order", faa_adds_once },
	{ "rc_empty", "requests without data complete", empty_requests_complete },
	{ "rc_inline", "inline data are those at the time of the post",
	  inline_data_are_taken_by_the_post },
	{ "rc_inline_send", "inline SENDs of every length arrive", inline_sends_of_every_length },
	{ "rc_fence", "a fenced SEND waits for the READ before it",
	  fenced_request_waits_for_reads },
	{ "rc_both_ways", "SENDs in both directions at once arrive", both_directions_at_once },
	{},
};
