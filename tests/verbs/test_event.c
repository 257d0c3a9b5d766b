/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests completion channels, applications that sleep on them, and the pacer thread (hazard 13). */
#include "rig.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define K4 4096u

static struct ibv_wc wc[64];
static struct ibv_cq_init_attr_ex *cq_ex; /* the kind of CQ */

static int plain_cqs(void **state)
{
	cq_ex = NULL;
	return 0;
}

static int extended_cqs(void **state)
{
	static struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_STANDARD_FLAGS };

	cq_ex = &attr;
	return 0;
}

/* Sleep on the channel as an application does. */
static void sleep_for_event(struct rig *r)
{
	struct pollfd p = { .fd = r->channel->fd, .events = POLLIN };
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(ibv_get_cq_event(r->channel, &cq, &context), 0);
	assert_true(cq == r->scq || cq == r->rcq);
	assert_ptr_equal(context, r);
}

static bool event_is_there(struct rig *r)
{
	struct pollfd p = { .fd = r->channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Poll with a batch if the CQ is extended, otherwise with ibv_poll_cq. */
static int poll_some(struct rig *r, int n)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)(void *)r->scq;
	struct ibv_poll_cq_attr attr = { 0 };
	int got = 0;

	if (!cq_ex)
		return ibv_poll_cq(r->scq, n, wc);
	if (ibv_start_poll(ex, &attr))
		return 0;
	do {
		wc[got].wr_id = ex->wr_id;
		wc[got++].status = ex->status;
	} while (got < n && !ibv_next_poll(ex));
	ibv_end_poll(ex);
	return got;
}

/* Arm, poll until empty, sleep; acknowledge now and then. Collects n completions. */
static void gather_sleeping(struct rig *r, int n)
{
	unsigned unacked = 0;

	for (int got = 0; got < n;) {
		int some;

		assert_int_equal(ibv_req_notify_cq(r->scq, 0), 0);
		while ((some = poll_some(r, 64)) > 0)
			for (int i = 0; i < some; i++, got++) {
				assert_int_equal(wc[i].wr_id, got);
				assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			}
		if (got < n) {
			sleep_for_event(r);
			if (++unacked % 3 == 0)
				ibv_ack_cq_events(r->scq, 3);
		}
	}
	if (unacked % 3)
		ibv_ack_cq_events(r->scq, unacked % 3);
}

static void event_driven_writes_with_deferred_wrs_complete(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true, .one_cq = true });
	for (int round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 4 * K4,
						  IBV_SEND_SIGNALED), 0);
		gather_sleeping(&r, 10);
	}
	rig_close(&r);
}

/*
 * Programs that are about to exit do this: the pacer thread must not access objects that they have
 * not destroyed.
 */
static void nothing_is_posted_after_its_device_is_closed(void **state)
{
	static struct rig r;
	uint64_t doorbells;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex });
	fake_hold(true);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 4 * K4,
					  IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_close_device(r.ctx), 0);
	doorbells = fake_doorbells();
	fake_step(1);
	rig_until_others_sleep();
	assert_int_equal(fake_doorbells(), doorbells);
	fake_reset();
}

/* The application may write cq_context, and an event carries its value at that time. */
static void an_event_carries_the_current_cq_context(void **state)
{
	struct ibv_cq *cq;
	struct rig r;
	void *context;
	int other;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true, .one_cq = true });
	r.scq->cq_context = &other;
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_get_cq_event(r.channel, &cq, &context), 0);
	assert_ptr_equal(context, &other);
	ibv_ack_cq_events(cq, 1);
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
}

static void event_driven_reads_complete_on_a_slow_link(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true, .one_cq = true });
	fake_link(50, 10e9);
	for (int round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_READ, 0, 4 * K4,
						  IBV_SEND_SIGNALED), 0);
		gather_sleeping(&r, 10);
	}
	rig_close(&r);
}

/* rping's order: the CQ is armed before there is a QP. */
static void a_cq_armed_before_its_qp_exists_raises_its_event(void **state)
{
	struct ibv_qp *qp;
	struct ibv_cq *cq, *keep;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true, .one_cq = true });
	keep = r.scq;
	cq = rig_cq(&r, 16);
	assert_non_null(cq);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	qp = rig_qp(&r, cq, cq);
	assert_non_null(qp);
	rig_to_rts(&r, qp, r.b->qp_num);
	{
		struct ibv_qp *a = r.a;

		r.a = qp;
		assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
		r.scq = cq;
		sleep_for_event(&r);
		r.a = a;
		r.scq = keep;
	}
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_poll_cq(cq, 1, wc), 1);
	assert_int_equal(wc->wr_id, 3);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	rig_close(&r);
}

/* The CQ is not armed and no verb is called: posted WRs still go out. */
static void waiting_segments_are_posted_without_a_call_of_the_application(void **state)
{
	unsigned spins = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex });
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * 8 * K4, 8 * K4,
					  IBV_SEND_SIGNALED), 0);
	while (fake_seen_count() < 80)
		if (!rig_keep_waiting(&spins))
			fail_msg("only %zu of 80 segments went out", fake_seen_count());
	rig_poll(r.scq, 10, wc);
	assert_int_equal(wc[9].wr_id, 9);
	assert_memory_equal(r.src, r.dst, 80 * K4);
	rig_close(&r);
}

/* One acknowledgement at the end covers events of both the application's and the shadow CQ. */
static void events_may_be_acknowledged_all_at_once(void **state)
{
	unsigned events = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true, .one_cq = true });
	for (unsigned i = 0; i < 12; i++) {
		assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
		if (i % 2) {
			rig_recv(&r, 1, 0, 100);
			rig_post(&r, 1, IBV_WR_SEND, 0, 100, 0);
		} else {
			rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 100, IBV_SEND_SIGNALED);
		}
		sleep_for_event(&r);
		events++;
		rig_poll(r.scq, 1, wc);
		while (event_is_there(&r)) {
			sleep_for_event(&r);
			events++;
		}
	}
	ibv_ack_cq_events(r.scq, events);
	rig_close(&r); /* would wait forever for an event that is not acknowledged */
}

static atomic_bool destroyed;

static void *destroy_cq(void *cq)
{
	assert_int_equal(ibv_destroy_cq(cq), 0);
	atomic_store(&destroyed, true);
	return NULL;
}

/* A CQ is destroyed only after its events were acknowledged, by any thread. */
static void destroy_cq_waits_for_the_acknowledgement_of_its_events(void **state)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp, *a;
	pthread_t thread;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true });
	for (int i = 0; i < 20; i++) {
		struct ibv_cq *keep = r.scq;

		atomic_store(&destroyed, false);
		cq = rig_cq(&r, 16);
		qp = rig_qp(&r, cq, cq);
		rig_to_rts(&r, qp, r.b->qp_num);
		ibv_req_notify_cq(cq, 0);
		a = r.a;
		r.a = qp;
		r.scq = cq;
		rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
		sleep_for_event(&r);
		r.a = a;
		r.scq = keep;
		assert_int_equal(ibv_destroy_qp(qp), 0);
		pthread_create(&thread, NULL, destroy_cq, cq);
		rig_until_others_sleep();
		assert_false(atomic_load(&destroyed));
		ibv_ack_cq_events(cq, 1);
		pthread_join(thread, NULL);
	}
	rig_close(&r);
}

static void solicited_only_reaches_the_device(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex, .channel = true, .one_cq = true });
	ibv_req_notify_cq(r.scq, 1);
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
	rig_poll(r.scq, 1, wc);
	assert_false(event_is_there(&r)); /* the success of a send is not a solicited event */
	rig_recv(&r, 7, 0, 100);
	rig_post(&r, 1, IBV_WR_SEND, 0, 8, IBV_SEND_SOLICITED);
	sleep_for_event(&r);
	ibv_ack_cq_events(r.scq, 1);
	rig_poll(r.scq, 1, wc);
	ibv_req_notify_cq(r.scq, 1);
	fake_fail_cqe(0, IBV_WC_RETRY_EXC_ERR);
	rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 8, 0);
	sleep_for_event(&r); /* its failure is one */
	ibv_ack_cq_events(r.scq, 1);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->status, IBV_WC_RETRY_EXC_ERR);
	rig_close(&r);
}

/* An asynchronous error of the shadow CQ is reported for the application's CQ. */
static void async_errors_name_the_applications_cq(void **state)
{
	struct ibv_async_event event;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex });
	for (int i = 0; i < 3; i++) {
		fake_async_cq_err(i == 1 ? r.scq : fake_send_cq(r.a));
		assert_int_equal(ibv_get_async_event(r.ctx, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
		assert_ptr_equal(event.element.cq, r.scq);
		ibv_ack_async_event(&event);
	}
	fake_async_event(r.a, IBV_EVENT_COMM_EST);
	assert_int_equal(ibv_get_async_event(r.ctx, &event), 0);
	assert_ptr_equal(event.element.qp, r.a);
	ibv_ack_async_event(&event);
	rig_close(&r); /* hangs if an acknowledgement was lost */
}

static void *destroy_qp(void *qp)
{
	assert_int_equal(ibv_destroy_qp(qp), 0);
	atomic_store(&destroyed, true);
	return NULL;
}

/* ibv_destroy_qp waits for the acknowledgement of a thread that polls first. */
static void polling_works_while_destroy_waits_for_an_acknowledgement(void **state)
{
	struct ibv_async_event event;
	pthread_t thread;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = cq_ex });
	fake_async_event(r.a, IBV_EVENT_QP_FATAL);
	assert_int_equal(ibv_get_async_event(r.ctx, &event), 0);
	atomic_store(&destroyed, false);
	pthread_create(&thread, NULL, destroy_qp, r.a);
	rig_until_others_sleep();
	rig_poll_nothing(r.scq);
	assert_false(atomic_load(&destroyed));
	ibv_ack_async_event(&event);
	pthread_join(thread, NULL);
	r.a = NULL;
	rig_close(&r);
}

/* The device refuses a paced WR while the application sleeps. */
static void late_refusal_while_sleeping(void)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .channel = true, .one_cq = true });
	fake_fail_post(1, EINVAL, FAKE_BAD_WR);
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	for (unsigned got = 0; got < 3;) {
		sleep_for_event(&r);
		ibv_ack_cq_events(r.scq, 1);
		assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
		for (; ibv_poll_cq(r.scq, 1, wc); got++) {
			assert_int_equal(wc->wr_id, got);
			assert_int_equal(wc->status, got ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
		}
	}
	/* WRs posted afterwards are also flushed */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, 0), 0);
		sleep_for_event(&r);
		ibv_ack_cq_events(r.scq, 1);
		assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
		assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 1);
		assert_int_equal(wc->status, IBV_WC_WR_FLUSH_ERR);
	}
	rig_close(&r);
}

static void a_late_refusal_wakes_a_sleeping_application(void **state)
{
	char command[4096], exe[2048];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(command, sizeof(command), "env -u LD_PRELOAD -u RIG_AGAIN '%s' paced >&2", exe);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(event_driven_writes_with_deferred_wrs_complete),
		cmocka_unit_test(an_event_carries_the_current_cq_context),
		cmocka_unit_test(nothing_is_posted_after_its_device_is_closed),
		cmocka_unit_test(event_driven_reads_complete_on_a_slow_link),
		cmocka_unit_test(a_cq_armed_before_its_qp_exists_raises_its_event),
		cmocka_unit_test(waiting_segments_are_posted_without_a_call_of_the_application),
		cmocka_unit_test(events_may_be_acknowledged_all_at_once),
		cmocka_unit_test(destroy_cq_waits_for_the_acknowledgement_of_its_events),
		cmocka_unit_test(solicited_only_reaches_the_device),
		cmocka_unit_test(async_errors_name_the_applications_cq),
		cmocka_unit_test(polling_works_while_destroy_waits_for_an_acknowledgement),
		cmocka_unit_test(a_late_refusal_wakes_a_sleeping_application),
	};

	enum { N = sizeof(plain) / sizeof(*plain) };
	struct CMUnitTest tests[2 * N];
	char names[N][80];

	if (argc > 1) {
		rig_exec(argv, "CCSHIM_CC=fixed:rate=1m", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=1m",
			 "CCSHIM_BASE_RTT=20us", "CCSHIM_LOG_LEVEL=error", NULL);
		late_refusal_while_sleeping();
		return 0;
	}
	for (unsigned i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "%s, extended", plain[i].name);
		tests[i] = tests[N + i] = plain[i];
		tests[i].setup_func = plain_cqs;
		tests[N + i].setup_func = extended_cqs;
		tests[N + i].name = names[i];
	}
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", NULL);
	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
