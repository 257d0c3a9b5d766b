/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a request for an event gives one event, of a completion that can be polled. */
#include "rig.h"

#include <poll.h>

enum { SHORT = 3000, K4 = 4096, LONG = 60 * K4, OTHERS = 8 };

static struct ibv_wc wc[8];

static bool event_comes(const struct rig *r, int ms)
{
	struct pollfd p = { .fd = r->channel->fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static void take_event_of(const struct rig *r, const struct ibv_cq *expected)
{
	struct ibv_cq *cq;
	void *context;

	assert_true(event_comes(r, -1));
	assert_int_equal(ibv_get_cq_event(r->channel, &cq, &context), 0);
	assert_ptr_equal(cq, expected);
	ibv_ack_cq_events(cq, 1);
}

static void take_event(const struct rig *r)
{
	take_event_of(r, r->scq);
}

static void wait_until_done(void)
{
	unsigned spins = 0;

	while (fake_pending())
		assert_true(rig_keep_waiting(&spins));
}

/* On Soft-RoCE a send may have completed while its queue was armed: LIMITS of libccshim(7). */
static void no_event_comes(const struct rig *r)
{
	wait_until_done();
	for (; event_comes(r, 5); take_event(r))
		assert_true(rig_is("rxe"));
}

static void arm(const struct rig *r)
{
	assert_int_equal(ibv_req_notify_cq(r->scq, 0), 0);
}

static int post(struct rig *r, uint64_t id, uint32_t length)
{
	return rig_post(r, id, IBV_WR_RDMA_WRITE, 0, length, IBV_SEND_SIGNALED);
}

static void open_rig(struct rig *r)
{
	rig_open(r, (struct rig_conf){ .channel = true });
}

/* Long WRITEs: no event is of a segment that is not the last. */
static void each_event_has_a_completion(void **state)
{
	struct rig r;

	open_rig(&r);
	for (uint64_t i = 0; i < 100; i++) {
		arm(&r);
		assert_int_equal(post(&r, i, i % 3 ? LONG : K4), 0);
		take_event(&r);
		assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 1);
		assert_true(wc->wr_id == i && wc->status == IBV_WC_SUCCESS);
	}
	assert_false(event_comes(&r, 20));
	rig_close(&r);
}

/* Also if the completion is polled first, the request made before it gives an event. */
static void an_event_comes_for_a_completion_that_was_polled(void **state)
{
	struct rig r;

	open_rig(&r);
	for (uint64_t i = 0; i < 20; i++) {
		arm(&r);
		assert_int_equal(post(&r, i, i % 2 ? LONG : K4), 0);
		rig_poll(r.scq, 1, wc);
		take_event(&r);
		assert_false(event_comes(&r, 0));
	}
	rig_close(&r);
}

static void arming_while_segments_are_in_flight_loses_no_event(void **state)
{
	struct rig r;

	open_rig(&r);
	for (uint64_t i = 0; i < 20; i++) {
		fake_hold(true);
		assert_int_equal(post(&r, i, LONG), 0);
		if (rig_is("mlx5") || rig_is("rxe"))
			fake_step((unsigned)i % 4 + 1); /* segments, without the last */
		arm(&r);
		fake_hold(false);
		take_event(&r);
		rig_poll(r.scq, 1, wc);
		assert_int_equal(wc->wr_id, i);
	}
	rig_close(&r);
}

/* The first event is read when the second request has been made, and then comes another QP. */
static void a_request_outlives_the_event_of_the_one_before(void **state)
{
	struct ibv_qp *first, *late;
	struct rig r;

	open_rig(&r);
	arm(&r);
	assert_int_equal(post(&r, 1, K4), 0);
	rig_poll(r.scq, 1, wc);
	arm(&r);
	take_event(&r);
	first = r.a;
	late = rig_qp(&r, r.scq, r.rcq);
	rig_to_rts(&r, late, r.b->qp_num);
	r.a = late;
	assert_int_equal(post(&r, 2, LONG), 0);
	take_event(&r);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 2);
	assert_int_equal(ibv_destroy_qp(late), 0);
	r.a = first;
	rig_close(&r);
}

/* The same, where the first event is of a receive, and no QP sends on that CQ before. */
static void a_request_outlives_the_event_of_a_receive(void **state)
{
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_qp *from, *to, *late;
	struct ibv_cq *other;
	struct rig r;

	open_rig(&r);
	other = ibv_create_cq(r.ctx, 16, NULL, NULL, 0);
	from = rig_qp(&r, other, other);
	to = rig_qp(&r, other, r.rcq);
	rig_to_rts(&r, from, to->qp_num);
	rig_to_rts(&r, to, from->qp_num);
	assert_int_equal(ibv_req_notify_cq(r.rcq, 0), 0);
	assert_int_equal(ibv_post_recv(to, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(from, &wr, &bad), 0);
	rig_poll(r.rcq, 1, wc);
	assert_int_equal(ibv_req_notify_cq(r.rcq, 0), 0);
	take_event_of(&r, r.rcq);
	late = rig_qp(&r, r.rcq, other);
	rig_to_rts(&r, late, r.b->qp_num);
	wr.opcode = IBV_WR_RDMA_WRITE; /* of no bytes */
	assert_int_equal(ibv_post_send(late, &wr, &bad), 0);
	take_event_of(&r, r.rcq);
	rig_poll(r.rcq, 1, wc);
	assert_int_equal(wc->qp_num, late->qp_num);
	assert_int_equal(ibv_destroy_qp(late), 0);
	assert_int_equal(ibv_destroy_qp(from), 0);
	assert_int_equal(ibv_destroy_qp(to), 0);
	assert_int_equal(ibv_destroy_cq(other), 0);
	rig_close(&r);
}

/* A QP whose sends complete in another CQ of the device than r->a's. */
static struct ibv_qp *another_shadow(struct rig *r, struct ibv_qp **others, unsigned *n)
{
	for (*n = 0; *n < OTHERS; ++*n) {
		others[*n] = rig_qp(r, r->scq, r->rcq);
		rig_to_rts(r, others[*n], r->b->qp_num);
		if (fake_send_cq(others[*n]) != fake_send_cq(r->a))
			return others[(*n)++];
	}
	return others[*n - 1];
}

/* Its events come until it can be polled. */
static void request_gives_completion(struct rig *r, uint64_t id)
{
	while (!ibv_poll_cq(r->scq, 8, wc))
		take_event(r);
	assert_int_equal(wc->wr_id, id);
}

/*
 * The request gives the event of this WRITE, whatever was raised before it: events without a
 * completion do not end it.
 */
static void request_outlives_events(struct rig *r, uint64_t id)
{
	fake_hold(true);
	assert_int_equal(post(r, id, LONG), 0);
	while (event_comes(r, 20)) {
		take_event(r);
		assert_int_equal(ibv_poll_cq(r->scq, 8, wc), 0);
	}
	fake_hold(false);
	request_gives_completion(r, id);
}

/* Sends complete in two CQs of the device, so there may be an event more than requested. */
static void a_request_outlives_an_event_without_a_completion(void **state)
{
	struct ibv_qp *others[OTHERS], *second, *first;
	unsigned n;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .channel = true, .max_send_wr = 64, .cqe = 64 });
	first = r.a;
	second = another_shadow(&r, others, &n);
	fake_hold(true);
	arm(&r);
	assert_int_equal(post(&r, 1, K4), 0);
	r.a = second;
	assert_int_equal(post(&r, 2, K4), 0);
	fake_hold(false);
	wait_until_done();
	take_event(&r);
	rig_poll(r.scq, 2, wc);
	arm(&r);
	request_outlives_events(&r, 3);
	r.a = first;
	while (n)
		assert_int_equal(ibv_destroy_qp(others[--n]), 0);
	rig_close(&r);
}

/*
 * The shim measures each of them, in mode enforce. In mode observe one frees entries of the queue,
 * which raises an event: LIMITS of libccshim(7).
 */
static void a_request_outlives_unsignalled_sends(void **state)
{
	struct rig r;

	open_rig(&r);
	assert_int_equal(rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, K4, 0), 0);
	arm(&r);
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, 0), 0);
		wait_until_done();
		while (event_comes(&r, 5)) {
			assert_true(rig_is("observe"));
			take_event(&r);
			assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 0);
		}
	}
	request_outlives_events(&r, 9);
	rig_close(&r);
}

static void post_unsignalled(struct rig *r)
{
	assert_int_equal(rig_post(r, 99, IBV_WR_RDMA_WRITE, 0, SHORT, 0), 0);
}

/*
 * The shim measures every second one, in mode enforce. On Soft-RoCE the signalled send before them
 * may have left its queue armed, for one event: LIMITS of libccshim(7).
 */
static void unsignalled_sends_raise_no_event(void **state)
{
	struct rig r;

	open_rig(&r);
	for (uint64_t i = 0; i < 10; i++) {
		unsigned surplus = 0;

		arm(&r);
		for (int n = 0; n < 5; n++) {
			post_unsignalled(&r);
			wait_until_done();
			for (; event_comes(&r, 2); surplus++) {
				take_event(&r);
				assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 0);
			}
		}
		assert_in_range(surplus, 0, i && rig_is("rxe"));
		assert_int_equal(post(&r, i, 64), 0);
		take_event(&r);
		assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 1);
		assert_int_equal(wc->wr_id, i);
		no_event_comes(&r);
	}
	rig_close(&r);
}

/* The request is made while it is in flight, or before; it fails at once, or after a while. */
static void a_failing_unsignalled_send_raises_one_event(void **state)
{
	static const int ms[] = { 0, 5, 50, 1500 };

	for (unsigned i = 0; i < 2 * sizeof(ms) / sizeof(*ms); i++) {
		struct rig r;

		open_rig(&r);
		fake_fail_cqe(0, IBV_WC_REM_ACCESS_ERR);
		fake_hold(true);
		if (i % 2)
			arm(&r);
		post_unsignalled(&r);
		if (!(i % 2))
			arm(&r);
		assert_false(event_comes(&r, ms[i / 2]));
		fake_hold(false);
		take_event(&r);
		assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 1);
		assert_int_equal(wc->status, IBV_WC_REM_ACCESS_ERR);
		assert_false(event_comes(&r, 5));
		rig_close(&r);
	}
}

/* It has failed when the request's signalled send is posted, or that is refused. */
static void a_failure_before_a_signalled_send_raises_an_event(void **state)
{
	for (int i = 0; i < 20; i++) {
		struct rig r;
		int rc;

		open_rig(&r);
		fake_fail_cqe(0, IBV_WC_REM_ACCESS_ERR);
		arm(&r);
		post_unsignalled(&r);
		wait_until_done();
		if (i % 2)
			fake_fail_post(0, ENOMEM, FAKE_BAD_WR);
		rc = post(&r, 7, 64);
		assert_true(!rc || i % 2);
		take_event(&r);
		rig_poll(r.scq, 1, wc);
		assert_int_equal(wc->status, IBV_WC_REM_ACCESS_ERR);
		if (!rc)
			rig_poll(r.scq, 1, wc);
		rig_close(&r);
	}
}

/* The other QP's send was unsignalled, and may still fail. */
static void a_send_of_another_qp_raises_its_event(void **state)
{
	struct ibv_qp *first, *second;
	struct rig r;

	open_rig(&r);
	first = r.a;
	second = rig_qp(&r, r.scq, r.rcq);
	rig_to_rts(&r, second, r.b->qp_num);
	for (uint64_t i = 0; i < 20; i++) {
		r.a = first;
		post_unsignalled(&r);
		if (i % 2)
			wait_until_done();
		arm(&r);
		r.a = second;
		assert_int_equal(post(&r, i, 64), 0);
		request_gives_completion(&r, i);
	}
	r.a = first;
	assert_int_equal(ibv_destroy_qp(second), 0);
	rig_close(&r);
}

/* The shim looks for failures ever less often, and at last leaves that to the device. */
static void a_sleeping_application_is_seldom_disturbed(void **state)
{
	unsigned before;
	struct rig r;

	open_rig(&r);
	arm(&r);
	post_unsignalled(&r);
	before = fake_polls(fake_send_cq(r.a));
	assert_false(event_comes(&r, 2000));
	assert_in_range(fake_polls(fake_send_cq(r.a)) - before, 0, 60);
	assert_int_equal(post(&r, 1, 64), 0);
	take_event(&r);
	rig_close(&r);
}

static void take_event_of_a_receive_and_a_send(struct rig *r, uint64_t i)
{
	assert_int_equal(rig_recv(r, 100 + i, 0, 64), 0);
	arm(r);
	assert_int_equal(rig_post(r, i, IBV_WR_SEND, 0, 64, IBV_SEND_SIGNALED), 0);
	wait_until_done();
	take_event(r);
}

/* A receive and a send have raised one each, and both were polled with the first. */
static void a_request_outlives_the_event_of_a_polled_receive(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .channel = true, .one_cq = true });
	for (uint64_t i = 0; i < 10; i++) {
		take_event_of_a_receive_and_a_send(&r, i);
		rig_poll(r.scq, 2, wc);
		arm(&r);
		request_outlives_events(&r, 200 + i);
		while (event_comes(&r, 20))
			take_event(&r);
	}
	rig_close(&r);
}

/* The destruction of another QP has already read the completion from the device. */
static void arming_counts_completions_that_are_ready(void **state)
{
	struct ibv_qp *other;
	struct rig r;

	open_rig(&r);
	other = rig_qp(&r, r.scq, r.rcq);
	fake_hold(true);
	assert_int_equal(post(&r, 9, K4), 0);
	assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 0);
	fake_hold(false);
	assert_int_equal(ibv_destroy_qp(other), 0);
	arm(&r);
	assert_int_equal(event_comes(&r, fake_profile()->arms_by_index ? -1 : 50),
			 fake_profile()->arms_by_index);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 9);
	if (fake_profile()->arms_by_index)
		take_event(&r);
	rig_close(&r);
}

static void reconnect(struct rig *r)
{
	r->b = rig_qp(r, r->scq, r->rcq);
	r->a = rig_qp(r, r->scq, r->rcq);
	rig_to_rts(r, r->b, r->a->qp_num);
	rig_to_rts(r, r->a, r->b->qp_num);
}

/* A QP still receives there: the unread event stays, and later events arrive as before. */
static void a_refused_destroy_loses_no_event(void **state)
{
	struct ibv_qp *receiver;
	struct ibv_cq *other;
	struct rig r;

	open_rig(&r);
	other = ibv_create_cq(r.ctx, 16, NULL, NULL, 0);
	receiver = rig_qp(&r, other, r.scq);
	for (uint64_t i = 0; i < 6; i++) {
		arm(&r);
		assert_int_equal(post(&r, i, i % 2 ? LONG : K4), 0);
		assert_true(event_comes(&r, -1));
		rig_poll(r.scq, 1, wc);
		assert_int_equal(ibv_destroy_qp(r.a), 0);
		assert_int_equal(ibv_destroy_qp(r.b), 0);
		assert_int_equal(ibv_destroy_cq(r.scq), EBUSY);
		take_event(&r);
		reconnect(&r);
		no_event_comes(&r);
		arm(&r);
		assert_int_equal(post(&r, i, LONG), 0);
		take_event(&r);
		assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 1);
		no_event_comes(&r);
	}
	assert_int_equal(ibv_destroy_qp(receiver), 0);
	assert_int_equal(ibv_destroy_cq(other), 0);
	rig_close(&r);
}

/*
 * Sends and receives complete in different CQs of the device: LIMITS of libccshim(7). The
 * completions of the first event can be polled, and no more than one event follows it.
 */
static void a_receive_and_a_send_raise_at_most_one_event_each(void **state)
{
	const bool bare = strncmp(rig_mode_now->name, "bare", 4) == 0;
	unsigned surplus = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .channel = true, .one_cq = true });
	for (uint64_t i = 0; i < 20; i++, surplus = 0) {
		take_event_of_a_receive_and_a_send(&r, i);
		assert_int_equal(ibv_poll_cq(r.scq, 8, wc), 2);
		for (; event_comes(&r, 0); surplus++)
			take_event(&r);
		assert_in_range(surplus, 0, bare ? 0 : 1);
	}
	rig_close(&r);
}

/* A send raises no event of a request for solicited completions, and one of the next request. */
static void a_solicited_request_adds_no_event_to_the_next(void **state)
{
	struct rig r;

	open_rig(&r);
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(ibv_req_notify_cq(r.scq, 1), 0);
		assert_int_equal(post(&r, i, K4), 0);
		rig_poll(r.scq, 1, wc);
		assert_false(event_comes(&r, 0));
		arm(&r);
		assert_int_equal(post(&r, i, K4), 0);
		take_event(&r);
		if (i % 2)
			rig_poll(r.scq, 1, wc);
		wait_until_done();
		assert_false(event_comes(&r, 5));
		if (i % 2 == 0)
			rig_poll(r.scq, 1, wc);
	}
	rig_close(&r);
}

/* The device writes meanwhile, without a lock, as it would by DMA. */
__attribute__((no_sanitize("thread"))) static bool has_arrived(const struct rig *r, size_t at)
{
	const volatile char *src = (const char *)r->src + at, *dst = (const char *)r->dst + at;

	for (unsigned i = 0; i < 64; i++)
		if (src[i] != dst[i])
			return false;
	return true;
}

/* Also where a request counts completions that are not polled. */
static void a_solicited_request_counts_no_successful_send(void **state)
{
	const size_t end = 2 * (size_t)LONG - 64;
	struct rig r;

	open_rig(&r);
	for (uint64_t i = 0; i < 10; i++) {
		unsigned spins = 0;

		rig_fill(&r);
		for (uint64_t id = 0; id < 2; id++)
			assert_int_equal(rig_post(&r, id, IBV_WR_RDMA_WRITE, id * LONG, LONG,
						  IBV_SEND_SIGNALED), 0);
		while (!has_arrived(&r, end))
			assert_true(rig_keep_waiting(&spins));
		for (unsigned k = 0; k < 2; k++) {
			assert_int_equal(ibv_req_notify_cq(r.scq, 1), 0);
			assert_false(event_comes(&r, 5));
		}
		rig_poll(r.scq, 2, wc);
	}
	rig_close(&r);
}

static unsigned count_last_wqe_events(struct ibv_context *ctx)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	unsigned n = 0;

	while (poll(&p, 1, 0) == 1 && !ibv_get_async_event(ctx, &event)) {
		n += event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
		ibv_ack_async_event(&event);
	}
	return n;
}

/* Replace a sender by one with an SRQ. */
static struct ibv_srq *open_srq(struct rig *r, bool channel)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 16, 1, 1, 1, 0 } };

	rig_open(r, (struct rig_conf){ .one_cq = true, .channel = channel });
	attr.send_cq = attr.recv_cq = r->scq;
	attr.srq = ibv_create_srq(r->pd, &srq_attr);
	assert_non_null(attr.srq);
	assert_int_equal(ibv_destroy_qp(r->a), 0);
	r->a = ibv_create_qp(r->pd, &attr);
	assert_non_null(r->a);
	assert_int_equal(rig_state(r->b, IBV_QPS_RESET), 0);
	rig_to_rts(r, r->b, r->a->qp_num);
	rig_to_rts(r, r->a, r->b->qp_num);
	return attr.srq;
}

static void close_srq(struct rig *r, struct ibv_srq *srq)
{
	assert_int_equal(ibv_destroy_qp(r->a), 0);
	r->a = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	rig_close(r);
}

/* Unsignalled WRITEs that have succeeded leave the shim to find out, without a WQE of its own. */
static void a_failed_qp_with_an_srq_raises_one_last_wqe_event(void **state)
{
	struct rig r;
	struct ibv_srq *srq = open_srq(&r, false);

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	rig_poll_nothing(r.scq);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
	rig_poll_nothing(r.scq);
	assert_int_equal(count_last_wqe_events(r.ctx), 1);
	close_srq(&r, srq);
}

/*
 * A SEND that fills the window fails. WRITEs that wait are flushed as the device does it, with its
 * code and an event.
 */
static void a_failed_qp_with_an_srq_flushes_waiting_requests(void **state)
{
	const uint32_t flushed = fake_profile()->vendor == 0x02c9 ? 0xf9 : 0;

	for (unsigned i = 0; i < 5; i++) {
		struct rig r;
		struct ibv_srq *srq = open_srq(&r, true);

		fake_hold(true);
		fake_fail_cqe(0, IBV_WC_REM_OP_ERR);
		assert_int_equal(rig_post(&r, 0, IBV_WR_SEND, 0, LONG, IBV_SEND_SIGNALED), 0);
		for (uint64_t id = 1; id < 4; id++)
			assert_int_equal(post(&r, id, LONG), 0);
		arm(&r);
		fake_hold(false);
		take_event(&r);
		rig_poll(r.scq, 4, wc);
		assert_int_equal(wc->status, IBV_WC_REM_OP_ERR);
		for (uint64_t id = 0; id < 4; id++) {
			assert_int_equal(wc[id].wr_id, id);
			if (!id)
				continue;
			assert_int_equal(wc[id].status, IBV_WC_WR_FLUSH_ERR);
			assert_int_equal(wc[id].vendor_err, flushed);
		}
		close_srq(&r, srq);
	}
}

int main(int argc, char **argv)
{
#define GATE "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=16k", \
	"CCSHIM_BASE_RTT=20us"
	static const struct rig_mode modes[] = {
		{ "bare-mlx5", { "RIG_BARE=1", "FAKERDMA_PROFILE=mlx5" } },
		{ "bare-rxe", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
		{ "mlx5", { "FAKERDMA_PROFILE=mlx5", GATE } },
		{ "rxe", { "FAKERDMA_PROFILE=rxe", GATE } },
		{ "observe", { "CCSHIM_MODE=observe", "FAKERDMA_PROFILE=rxe" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_has_a_completion),
		cmocka_unit_test(an_event_comes_for_a_completion_that_was_polled),
		cmocka_unit_test(arming_while_segments_are_in_flight_loses_no_event),
		cmocka_unit_test(arming_counts_completions_that_are_ready),
		cmocka_unit_test(a_request_outlives_the_event_of_the_one_before),
		cmocka_unit_test(a_request_outlives_the_event_of_a_receive),
		cmocka_unit_test(a_request_outlives_an_event_without_a_completion),
		cmocka_unit_test(a_request_outlives_unsignalled_sends),
		cmocka_unit_test(unsignalled_sends_raise_no_event),
		cmocka_unit_test(a_failing_unsignalled_send_raises_one_event),
		cmocka_unit_test(a_failure_before_a_signalled_send_raises_an_event),
		cmocka_unit_test(a_send_of_another_qp_raises_its_event),
		cmocka_unit_test(a_sleeping_application_is_seldom_disturbed),
		cmocka_unit_test(a_request_outlives_the_event_of_a_polled_receive),
		cmocka_unit_test(a_refused_destroy_loses_no_event),
		cmocka_unit_test(a_receive_and_a_send_raise_at_most_one_event_each),
		cmocka_unit_test(a_solicited_request_adds_no_event_to_the_next),
		cmocka_unit_test(a_solicited_request_counts_no_successful_send),
		cmocka_unit_test(a_failed_qp_with_an_srq_raises_one_last_wqe_event),
		cmocka_unit_test(a_failed_qp_with_an_srq_flushes_waiting_requests),
	};

	return rig_run_in(argc, argv, "notify", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
