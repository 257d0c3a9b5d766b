/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a thread with a pending cancellation is not cancelled within verbs, which have no
 * cancellation point without the shim: a lock would never be released.
 */
#include "rig.h"

#include <pthread.h>

enum { K4 = 4096 };

static struct rig r;
static bool returned;

/* Only verbs that open and close files may be cancellation points. */
static void *use_verbs(void *arg)
{
	struct ibv_qp *qp;

	pthread_cancel(pthread_self());
	fake_hold(true);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 3 * K4, IBV_SEND_SIGNALED),
				 0);
	}
	qp = rig_qp(&r, r.scq, r.rcq);
	assert_non_null(qp);
	rig_to_rts(&r, qp, r.b->qp_num);
	assert_int_equal(ibv_resize_cq(r.scq, 200), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0); /* some of it waits: this lingers */
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	fake_hold(false);
	returned = true;
	pthread_testcancel();
	return arg;
}

static void a_cancellation_waits_until_verbs_return(void **state)
{
	pthread_t thread;
	void *result;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* as in test_threads.c */
#endif
	rig_open(&r, (struct rig_conf){ .channel = true });
	assert_int_equal(pthread_create(&thread, NULL, use_verbs, NULL), 0);
	pthread_join(thread, &result);
	assert_true(returned);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cancellation_waits_until_verbs_return),
	};

	return rig_run_modes(argc, argv, "cancel", tests, sizeof(tests) / sizeof(*tests));
}
