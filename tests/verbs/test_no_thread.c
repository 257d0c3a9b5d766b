/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests a process that cannot create threads: WRs that would have to wait are posted unpaced,
 * so that an application that sleeps on events still gets all of its completions.
 */
#include "rig.h"

#include <pthread.h>

#define K4 4096u

static unsigned attempts;
static size_t stack;

__attribute__((visibility("default")))
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg)
{
	(void)thread, (void)main, (void)arg;
	attempts++;
	pthread_attr_getstacksize(attr, &stack);
	return EAGAIN;
}

/* The event of the last WR arrives without a poll before it. */
static void traffic(struct rig *r, struct ibv_qp *qp)
{
	struct ibv_wc wc[1];
	struct ibv_cq *cq;
	void *context;

	r->a = qp;
	memset(r->dst, 0, 10 * K4);
	assert_int_equal(ibv_req_notify_cq(r->scq, 0), 0);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, 0, 10 * K4,
					  i == 7 ? IBV_SEND_SIGNALED : 0), 0);
	assert_int_equal(fake_pending(), 0);
	assert_int_equal(ibv_get_cq_event(r->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	rig_poll(r->scq, 1, wc);
	assert_true(wc->wr_id == 7 && wc->status == IBV_WC_SUCCESS);
	assert_memory_equal(r->src, r->dst, 10 * K4);
	rig_poll_nothing(r->scq);
}

static void event_driven_traffic_completes_without_a_pacer_thread(void **state)
{
	struct rig r;
	struct ibv_qp *first, *second;

	rig_open(&r, (struct rig_conf){ .channel = true });
	first = r.a;
	traffic(&r, first);
	traffic(&r, first);
	second = rig_qp(&r, r.scq, r.rcq);
	rig_to_rts(&r, second, r.b->qp_num);
	traffic(&r, second);
	assert_int_equal(attempts, 1); /* and one warning */
	assert_in_range(stack, 1, 4 << 20); /* which mlockall() locks; the default is 8 MB */
	r.a = first;
	assert_int_equal(ibv_destroy_qp(second), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_driven_traffic_completes_without_a_pacer_thread),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=fixed:rate=1m", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", "CCSHIM_LOG_LEVEL=error", NULL);
	return cmocka_run_group_tests_name("no thread", tests, NULL, NULL);
}
