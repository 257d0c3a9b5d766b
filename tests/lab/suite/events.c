/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of completion events. */
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

static void send_one(struct pair *p, uint64_t id, unsigned flags)
{
	recv_ok(&p->b, 100 + id, 0, 8192);
	POST(p, .id = id, .opcode = IBV_WR_SEND, .len = 100, .flags = IBV_SEND_SIGNALED | flags);
	done(&p->a, id, IBV_WC_SEND);
}

static void event_after_arming(void)
{
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 10; i++) {
		arm(&p.b, false);
		require(!is_event(&p.b, 0), "an event without a completion");
		send_one(&p, i, 0);
		require(is_event(&p.b, 2000), "no event");
		received(&p.b, 100 + i, 100);
	}
	pair_drop(&p);
}

static void no_event_without_arming(void)
{
	struct pair p;

	PAIR(&p);
	send_one(&p, 1, 0);
	require(!is_event(&p.b, 20) && !is_event(&p.a, 0), "an event of a CQ that is not armed");
	received(&p.b, 101, 100);
	pair_drop(&p);
}

static void one_event_for_each_arming(void)
{
	unsigned extra = 0;
	struct pair p;

	PAIR(&p);
	arm(&p.b, false);
	for (unsigned i = 0; i < 5; i++)
		send_one(&p, i, 0);
	require(is_event(&p.b, 2000), "no event");
	while (is_event(&p.b, 20))
		extra++;
	require(!extra, "%u more events", extra);
	for (unsigned i = 0; i < 5; i++)
		received(&p.b, 100 + i, 100);
	arm(&p.b, false);
	send_one(&p, 9, 0);
	require(is_event(&p.b, 2000), "no event after arming again");
	received(&p.b, 109, 100);
	pair_drop(&p);
}

/* Verbs promise no event for completions that are in the CQ already. */
static void late_arming(void)
{
	struct pair p;
	bool event;

	PAIR(&p);
	send_one(&p, 1, 0);
	nap_us(20000);
	arm(&p.b, false);
	event = is_event(&p.b, 100);
	fact("receive", "%d", event);
	received(&p.b, 101, 100);
	POST(&p, .id = 2, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	nap_us(50000);
	arm(&p.a, false);
	event = is_event(&p.a, 100);
	fact("send", "%d", event);
	done(&p.a, 2, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

/* What applications do: arm, poll once more, sleep. */
static void sleeping_receiver_misses_nothing(void)
{
	unsigned sent = 0, got = 0, events = 0;
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 24; i++)
		recv_ok(&p.b, i, 0, 8192);
	while (got < 24) {
		arm(&p.b, false);
		while (sent < 24 && sent < got + 3)
			POST(&p, .id = sent++, .opcode = IBV_WR_SEND, .len = 3000);
		if (!ibv_poll_cq(p.b.cq, 1, &wc)) {
			require(is_event(&p.b, 5000), "no event after %u receives", got);
			events++;
			continue;
		}
		do
			require(!wc.status && wc.wr_id == got++, "WR %lu", (unsigned long)wc.wr_id);
		while (ibv_poll_cq(p.b.cq, 1, &wc) == 1);
	}
	require(events <= 48, "%u events for 24 receives", events);
	pair_drop(&p);
}

/*
 * Long requests. After each event the sender arms the CQ and polls once more. In real time on a busy
 * host a request may have completed by the first poll, and then no event is waited for.
 */
static void sleeping_sender_misses_nothing(void)
{
	unsigned events = 0;
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 5; i++) {
		arm(&p.a, false);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 300000, SIGNALED);
		while (!ibv_poll_cq(p.a.cq, 1, &wc)) {
			require(is_event(&p.a, 5000), "no event");
			events++;
			arm(&p.a, false);
		}
		require(!wc.status && wc.wr_id == i, "WR %lu", (unsigned long)wc.wr_id);
	}
	fact("empty_events", "%s", events > 10 ? "some" : "none");
	pair_drop(&p);
}

static void solicited_only(void)
{
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 6; i++) {
		arm(&p.b, true);
		send_one(&p, 1, 0);
		require(!is_event(&p.b, 5), "an event of an unsolicited SEND");
		send_one(&p, 2, IBV_SEND_SOLICITED);
		require(is_event(&p.b, 2000), "no event of a solicited SEND");
		received(&p.b, 101, 100);
		received(&p.b, 102, 100);
	}
	pair_drop(&p);
}

static void solicited_write_imm(void)
{
	struct pair p;

	PAIR(&p);
	arm(&p.b, true);
	recv_ok(&p.b, 1, 0, 64);
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 20000,
	     .flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	require(is_event(&p.b, 2000), "no event");
	received(&p.b, 1, 20000);
	pair_drop(&p);
}

static void errors_are_solicited(void)
{
	struct pair p;

	PAIR(&p);
	recv_ok(&p.b, 1, 0, 64);
	arm(&p.b, true);
	require(!end_modify(&p.b, IBV_QPS_ERR), "to ERR");
	fact("event", "%d", is_event(&p.b, 2000));
	failed(&p.b, 1, IBV_WC_WR_FLUSH_ERR);
	pair_drop(&p);
}

static void get_event_does_not_block_if_asked(void)
{
	struct ibv_cq *cq;
	void *context;
	struct pair p;
	int flags;

	PAIR(&p);
	flags = fcntl(p.b.channel->fd, F_GETFL);
	require(!fcntl(p.b.channel->fd, F_SETFL, flags | O_NONBLOCK), "fcntl");
	arm(&p.b, false);
	require(ibv_get_cq_event(p.b.channel, &cq, &context) == -1 && errno == EAGAIN, "%s",
		strerror(errno));
	send_one(&p, 1, 0);
	nap_us(20000);
	require(!ibv_get_cq_event(p.b.channel, &cq, &context), "%s", strerror(errno));
	require(cq == p.b.cq && context == &p.b, "another CQ's event");
	ibv_ack_cq_events(cq, 1);
	require(ibv_get_cq_event(p.b.channel, &cq, &context) == -1 && errno == EAGAIN, "%s",
		strerror(errno));
	received(&p.b, 101, 100);
	pair_drop(&p);
}

struct acking {
	struct ibv_cq *cq;
	uint64_t acked_ns;
};

static void *ack_later(void *arg)
{
	struct acking *a = arg;

	nap_us(50000);
	a->acked_ns = now_ns();
	ibv_ack_cq_events(a->cq, 1);
	return NULL;
}

static void destroy_waits_for_acknowledgements(void)
{
	struct acking a = { 0 };
	pthread_t thread;
	void *context;
	struct pair p;

	PAIR(&p);
	arm(&p.b, false);
	send_one(&p, 1, 0);
	require(!ibv_get_cq_event(p.b.channel, &a.cq, &context), "%s", strerror(errno));
	received(&p.b, 101, 100);
	require(!pthread_create(&thread, NULL, ack_later, &a), "no thread");
	pair_drop(&p);
	require(a.acked_ns && a.acked_ns <= now_ns(), "destroyed before the acknowledgement");
	pthread_join(thread, NULL);
}

static void channel_of_two_cqs(void)
{
	struct ibv_cq *second, *cq;
	void *context;
	struct pair p;
	struct end q;

	PAIR(&p);
	second = ibv_create_cq(hosts[1].ctx, 16, &second, p.b.channel, 0);
	require(second, "no CQ");
	end_make(&q, &hosts[1], &(struct shape){ .cq = second });
	end_connect(&q, &p.a);
	arm(&p.b, false);
	require(!ibv_req_notify_cq(second, 0), "arming");
	recv_ok(&q, 7, 0, 64);
	require(!end_modify(&q, IBV_QPS_ERR), "to ERR");
	require(!ibv_get_cq_event(p.b.channel, &cq, &context), "%s", strerror(errno));
	require(cq == second && context == &second, "another CQ's event");
	ibv_ack_cq_events(cq, 1);
	require(!is_event(&p.b, 10), "an event of the other CQ");
	send_one(&p, 1, 0);
	require(is_event(&p.b, 2000), "no event of the other CQ");
	received(&p.b, 101, 100);
	end_drop(&q);
	require(!ibv_destroy_cq(second), "destroying a CQ");
	pair_drop(&p);
}

const struct check event_checks[] = {
	{ "ev_arm", "a completion after arming makes an event", event_after_arming },
	{ "ev_unarmed", "a CQ that is not armed makes no event", no_event_without_arming },
	{ "ev_once", "one arming makes one event", one_event_for_each_arming },
	{ "ev_late", "arming a CQ that is not empty is harmless", late_arming },
	{ "ev_receiver", "a receiver that arms, polls and sleeps misses nothing",
	  sleeping_receiver_misses_nothing },
	{ "ev_sender", "a sender that arms, polls and sleeps misses nothing",
	  sleeping_sender_misses_nothing },
	{ "ev_solicited", "solicited_only makes events of solicited SENDs only", solicited_only },
	{ "ev_solicited_imm", "a solicited WRITE_WITH_IMM makes an event", solicited_write_imm },
	{ "ev_solicited_error", "a flushed receive is delivered if solicited events are armed",
	  errors_are_solicited },
	{ "ev_nonblock", "ibv_get_cq_event does not block on an O_NONBLOCK channel",
	  get_event_does_not_block_if_asked },
	{ "ev_ack", "destroying a CQ waits for acknowledgements",
	  destroy_waits_for_acknowledgements },
	{ "ev_channel", "a channel of two CQs names the CQ of each event", channel_of_two_cqs },
	{},
};
