/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of shared receive queues. */
#include "suite.h"

#include <errno.h>
#include <poll.h>

/* Several connections whose receiving ends share an SRQ and a CQ. */
enum { QPS = 4 };

struct fan {
	struct end from[QPS], to[QPS];
	struct ibv_srq *srq;
};

static void fan_make(struct fan *f, uint32_t wrs)
{
	struct shape shape = { .type = IBV_QPT_RC };

	f->srq = srq_make(&hosts[1], wrs);
	for (int i = 0; i < QPS; i++) {
		shape.srq = NULL;
		shape.cq = i ? f->from[0].cq : NULL;
		end_make(&f->from[i], &hosts[0], &shape);
		shape.srq = f->srq;
		shape.cq = i ? f->to[0].cq : NULL;
		end_make(&f->to[i], &hosts[1], &shape);
		end_connect(&f->from[i], &f->to[i]);
		end_connect(&f->to[i], &f->from[i]);
	}
}

static void fan_drop(struct fan *f)
{
	for (int i = QPS; i--;) {
		end_drop(&f->from[i]);
		end_drop(&f->to[i]);
	}
	require(!ibv_destroy_srq(f->srq), "destroying an SRQ");
}

static void receives_are_consumed_in_order(void)
{
	struct fan f;

	fan_make(&f, 50);
	for (unsigned i = 0; i < 40; i++)
		recv_ok(&f.to[0], 100 + i, i * 4096, 4096);
	for (unsigned i = 0; i < 40; i++) {
		fill(source(), 3000, i);
		post_ok(&f.from[i % QPS], &f.to[i % QPS], &(struct op){
			.id = i, .opcode = IBV_WR_SEND, .len = 20 + i * 70, SIGNALED });
		done(&f.from[i % QPS], i, IBV_WC_SEND);
		received(&f.to[i % QPS], 100 + i, 20 + i * 70);
		require(is_filled(inbox() + i * 4096, 20 + i * 70, i), "SEND %u", i);
	}
	fan_drop(&f);
}

/* All QPs at once: each receive is used once, and completions name their QP. */
static void several_qps_share_receives(void)
{
	unsigned used[64] = { 0 }, of_qp[QPS] = { 0 };
	struct ibv_wc wc;
	struct fan f;

	fan_make(&f, 64);
	for (unsigned i = 0; i < 64; i++)
		recv_ok(&f.to[0], i, i * 4096, 4096);
	for (unsigned i = 0; i < 64; i++)
		post_ok(&f.from[i % QPS], &f.to[i % QPS], &(struct op){
			.id = i, .opcode = IBV_WR_SEND_WITH_IMM, .len = 3000, .imm = i });
	for (unsigned i = 0, q; i < 64; i++) {
		next_wc(&f.to[0], &wc);
		require(!wc.status && wc.wr_id < 64 && !used[wc.wr_id]++, "receive %lu: %s",
			(unsigned long)wc.wr_id, ibv_wc_status_str(wc.status));
		for (q = 0; q < QPS && f.to[q].qp->qp_num != wc.qp_num; q++)
			;
		require(q < QPS, "QP %u", wc.qp_num);
		require(be32toh(wc.imm_data) == q + QPS * of_qp[q], "QP %u: message %u", q,
			be32toh(wc.imm_data));
		of_qp[q]++;
	}
	fan_drop(&f);
}

static void srq_wraps(void)
{
	struct fan f;

	fan_make(&f, 10);
	for (unsigned i = 0; i < 200; i++) {
		if (i % 10 == 0)
			for (unsigned j = 0; j < 10; j++)
				recv_ok(&f.to[0], i + j, j * 1024, 1024);
		post_ok(&f.from[i % QPS], &f.to[i % QPS], &(struct op){
			.id = i, .opcode = IBV_WR_SEND, .len = i + 1, SIGNALED });
		done(&f.from[i % QPS], i, IBV_WC_SEND);
		received(&f.to[i % QPS], i, i + 1);
	}
	fan_drop(&f);
}

/* Whether the device has an event of that kind, within ms; it is acknowledged. */
static bool is_async_event(struct ibv_context *ctx, enum ibv_event_type type, unsigned ms)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	bool found = false;

	while (!found && poll(&fd, 1, (int)ms) == 1) {
		require(!ibv_get_async_event(ctx, &event), "an event: %s", strerror(errno));
		found = event.event_type == type;
		ibv_ack_async_event(&event);
	}
	return found;
}

static void limit_event_comes_once(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 5 };
	struct fan f;

	fan_make(&f, 50);
	for (unsigned i = 0; i < 8; i++)
		recv_ok(&f.to[0], i, 0, 4096);
	require(!ibv_modify_srq(f.srq, &attr, IBV_SRQ_LIMIT), "setting the limit");
	require(!ibv_query_srq(f.srq, &attr) && attr.srq_limit == 5, "limit %u", attr.srq_limit);
	for (unsigned i = 0; i < 8; i++) {
		post_ok(&f.from[0], &f.to[0], &(struct op){ .id = i, .opcode = IBV_WR_SEND,
							    .len = 10, SIGNALED });
		done(&f.from[0], i, IBV_WC_SEND);
		received(&f.to[0], i, 10);
		if (i == 2)
			require(!is_async_event(hosts[1].ctx, IBV_EVENT_SRQ_LIMIT_REACHED, 5),
				"an event above the limit");
	}
	require(is_async_event(hosts[1].ctx, IBV_EVENT_SRQ_LIMIT_REACHED, 100), "no event");
	require(!is_async_event(hosts[1].ctx, IBV_EVENT_SRQ_LIMIT_REACHED, 5), "two events");
	require(!ibv_query_srq(f.srq, &attr) && !attr.srq_limit, "the limit remains armed");
	fan_drop(&f);
}

static void full_srq_refuses(void)
{
	struct ibv_srq_attr attr;
	struct fan f;
	unsigned n = 0;
	int error = 0;

	fan_make(&f, 16);
	require(!ibv_query_srq(f.srq, &attr) && attr.max_wr >= 16, "max_wr %u", attr.max_wr);
	while (n < 400 && !error) {
		error = try_recv(&f.to[0], n, 0, 64);
		n += !error;
	}
	require(error && n >= 16, "%u receives are accepted", n);
	fact("error", "%s", strerror(error));
	fact("accepted", "%u", n);
	for (unsigned i = 0; i < 16; i++) {
		post_ok(&f.from[1], &f.to[1], &(struct op){ .id = i, .opcode = IBV_WR_SEND,
							    .len = 10, SIGNALED });
		done(&f.from[1], i, IBV_WC_SEND);
		received(&f.to[1], i, 10);
	}
	fan_drop(&f);
}

static void empty_srq_makes_the_sender_wait(void)
{
	struct fan f;

	fan_make(&f, 16);
	post_ok(&f.from[2], &f.to[2], &(struct op){ .id = 1, .opcode = IBV_WR_SEND, .len = 3000,
						    SIGNALED });
	require(!count_wcs(&f.from[2], 10), "completed without a receive");
	recv_ok(&f.to[0], 7, 0, 4096);
	done(&f.from[2], 1, IBV_WC_SEND);
	received(&f.to[2], 7, 3000);
	fan_drop(&f);
}

static void error_leaves_the_srq_to_others(void)
{
	struct fan f;
	bool last;

	fan_make(&f, 16);
	for (unsigned i = 0; i < 4; i++)
		recv_ok(&f.to[0], i, 0, 4096);
	require(!end_modify(&f.to[0], IBV_QPS_ERR), "to ERR");
	last = is_async_event(hosts[1].ctx, IBV_EVENT_QP_LAST_WQE_REACHED, 50);
	fact("last_wqe_event", "%d", last);
	require(!count_wcs(&f.to[0], 5), "receives of the SRQ were flushed");
	for (unsigned i = 0; i < 4; i++) {
		post_ok(&f.from[1], &f.to[1], &(struct op){ .id = i, .opcode = IBV_WR_SEND,
							    .len = 10, SIGNALED });
		done(&f.from[1], i, IBV_WC_SEND);
		received(&f.to[1], i, 10);
	}
	fan_drop(&f);
}

const struct check srq_checks[] = {
	{ "srq_order", "an SRQ's receives are consumed in the order of posting",
	  receives_are_consumed_in_order },
	{ "srq_several", "QPs that send at once share an SRQ's receives",
	  several_qps_share_receives },
	{ "srq_wrap", "an SRQ wraps many times", srq_wraps },
	{ "srq_limit", "the limit event comes once, below the limit", limit_event_comes_once },
	{ "srq_full", "a full SRQ refuses a receive", full_srq_refuses },
	{ "srq_empty", "a SEND waits for a receive in an empty SRQ",
	  empty_srq_makes_the_sender_wait },
	{ "srq_error", "a QP in ERR leaves the SRQ's receives to others",
	  error_leaves_the_srq_to_others },
	{},
};
