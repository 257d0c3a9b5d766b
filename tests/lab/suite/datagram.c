/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of unreliable connections and datagrams. */
#include "suite.h"

static void uc_sends_arrive(void)
{
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UC);
	for (unsigned i = 0; i < 40; i++) {
		uint32_t len = i & 2 ? 5000 : 60;
		struct ibv_wc wc;

		fill(source(), len, i);
		recv_ok(&p.b, 500 + i, 0, 8192);
		POST(&p, .id = i, .opcode = i & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, .len = len,
		     .imm = i, .flags = IBV_SEND_SIGNALED | (i & 2 ? 0 : IBV_SEND_INLINE));
		done(&p.a, i, IBV_WC_SEND);
		wc = received(&p.b, 500 + i, len);
		require(!(i & 1) == !(wc.wc_flags & IBV_WC_WITH_IMM), "flags %x", wc.wc_flags);
		require(!(i & 1) || be32toh(wc.imm_data) == i, "immediate");
		require(is_filled(inbox(), len, i), "SEND %u", i);
	}
	pair_drop(&p);
}

static void uc_writes_arrive(void)
{
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UC);
	memset(target(), 0, MIB);
	fill(source(), 100000, 1);
	recv_ok(&p.b, 9, 0, 64);
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 100000);
	POST(&p, .id = 2, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 3000, .to = 200000, .imm = 4,
	     SIGNALED);
	done(&p.a, 2, IBV_WC_RDMA_WRITE);
	received(&p.b, 9, 3000);
	require(is_filled(target(), 100000, 1), "WRITE");
	require(is_filled(target() + 200000, 3000, 1), "WRITE_WITH_IMM");
	pair_drop(&p);
}

static void uc_completes_without_a_receive(void)
{
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UC);
	POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 100, SIGNALED);
	done(&p.a, 1, IBV_WC_SEND);
	recv_ok(&p.b, 9, 0, 64);
	nap_us(20000);
	POST(&p, .id = 2, .opcode = IBV_WR_SEND, .len = 50, SIGNALED);
	done(&p.a, 2, IBV_WC_SEND);
	received(&p.b, 9, 50);
	pair_drop(&p);
}

static void ud_has_a_grh(void)
{
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UD);
	for (unsigned i = 0; i < 40; i++) {
		uint32_t len = i & 2 ? 900 : 60;
		struct ibv_wc wc;

		memset(inbox(), 0xee, 2048);
		fill(source(), len, i);
		recv_ok(&p.b, 500 + i, 0, 2048);
		POST(&p, .id = i, .opcode = i & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, .len = len,
		     .imm = i, .flags = IBV_SEND_SIGNALED | (i & 2 ? 0 : IBV_SEND_INLINE));
		done(&p.a, i, IBV_WC_SEND);
		wc = received(&p.b, 500 + i, len + GRH_LEN);
		require(wc.wc_flags & IBV_WC_GRH, "no IBV_WC_GRH: %x", wc.wc_flags);
		require(wc.src_qp == p.a.qp->qp_num, "src_qp %u", wc.src_qp);
		require(!(i & 1) || be32toh(wc.imm_data) == i, "immediate");
		require(is_filled(inbox() + GRH_LEN, len, i), "datagram %u", i);
	}
	/* RoCE v2 over IPv4: the IP header is in the second half. */
	require(inbox()[20] == 0x45, "IPv4 header: %02x", inbox()[20]);
	require(!memcmp(inbox() + 32, hosts[0].gid.raw + 12, 4), "source address");
	require(!memcmp(inbox() + 36, hosts[1].gid.raw + 12, 4), "destination address");
	pair_drop(&p);
}

static void ud_list_arrives_in_order(void)
{
	static struct request r[16];
	struct ibv_send_wr *bad;
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UD);
	fill(source(), 1000, 1);
	for (unsigned i = 0; i < 16; i++) {
		recv_ok(&p.b, i, i * 2048, 2048);
		build(&r[i], &p.a, &p.b, &(struct op){ .id = i, .opcode = IBV_WR_SEND,
			.len = 10 + i * 40, .pieces = 1 + i % 4, SIGNALED });
		r[i].wr.next = i < 15 ? &r[i + 1].wr : NULL;
	}
	require(!ibv_post_send(p.a.qp, &r[0].wr, &bad), "posting");
	for (unsigned i = 0; i < 16; i++) {
		done(&p.a, i, IBV_WC_SEND);
		received(&p.b, i, 10 + i * 40 + GRH_LEN);
		require(is_filled(inbox() + i * 2048 + GRH_LEN, 10 + i * 40, 1), "datagram %u", i);
	}
	pair_drop(&p);
}

static void ud_wrong_qkey_is_dropped(void)
{
	struct ibv_send_wr *bad;
	struct request r;
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UD);
	recv_ok(&p.b, 9, 0, 2048);
	build(&r, &p.a, &p.b, &(struct op){ .id = 1, .opcode = IBV_WR_SEND, .len = 50, SIGNALED });
	r.wr.wr.ud.remote_qkey = QKEY + 1;
	require(!ibv_post_send(p.a.qp, &r.wr, &bad), "posting");
	done(&p.a, 1, IBV_WC_SEND);
	require(!count_wcs(&p.b, 20), "a datagram with a wrong Q_Key was received");
	POST(&p, .id = 2, .opcode = IBV_WR_SEND, .len = 60, SIGNALED);
	done(&p.a, 2, IBV_WC_SEND);
	received(&p.b, 9, 60 + GRH_LEN);
	pair_drop(&p);
}

static void ud_reaches_several(void)
{
	struct pair p, q;

	PAIR(&p, .type = IBV_QPT_UD);
	PAIR(&q, .type = IBV_QPT_UD);
	for (unsigned i = 0; i < 12; i++) {
		struct end *to = i & 1 ? &q.b : &p.b;

		recv_ok(to, i, 0, 2048);
		post_ok(&p.a, to, &(struct op){ .id = i, .opcode = IBV_WR_SEND, .len = i * 10,
						SIGNALED });
		done(&p.a, i, IBV_WC_SEND);
		received(to, i, i * 10 + GRH_LEN);
	}
	pair_drop(&q);
	pair_drop(&p);
}

const struct check datagram_checks[] = {
	{ "uc_send", "SENDs on UC arrive whole", uc_sends_arrive },
	{ "uc_write", "WRITEs on UC arrive whole", uc_writes_arrive },
	{ "uc_no_receive", "a SEND on UC completes although the peer has no receive",
	  uc_completes_without_a_receive },
	{ "ud_send", "datagrams arrive behind a GRH, with the sender's QP number", ud_has_a_grh },
	{ "ud_list", "a list of datagrams completes in order", ud_list_arrives_in_order },
	{ "ud_qkey", "a datagram with a wrong Q_Key is dropped", ud_wrong_qkey_is_dropped },
	{ "ud_several", "a UD QP reaches several peers", ud_reaches_several },
	{},
};
