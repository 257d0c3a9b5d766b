/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the shim survives a failure of each of its allocations: the object that the
 * application asked for is created and works, controlled or not.
 */
#include "rig.h"

#define K4 4096u

/* The program's allocator takes precedence over the C library's, also for preloaded objects. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define CAN_FAIL true

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
__attribute__((visibility("default"))) void *malloc(size_t size);
__attribute__((visibility("default"))) void *calloc(size_t n, size_t size);

static _Thread_local int countdown; /* allocations until one fails; 0: all succeed */

static bool fails(void)
{
	return countdown && --countdown == 0;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}
#else
#define CAN_FAIL false
static int countdown;
#endif

static struct ibv_wc wc[64];

static void use_qp(struct rig *r, struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_qp *a = r->a;

	rig_to_rts(r, qp, r->b->qp_num);
	r->a = qp;
	memset(r->dst, 0, 10 * K4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, 0, 10 * K4,
					  i == 3 ? IBV_SEND_SIGNALED : 0), 0);
	rig_poll(cq, 1, wc);
	assert_true(wc->wr_id == 3 && wc->status == IBV_WC_SUCCESS);
	assert_memory_equal(r->src, r->dst, 10 * K4);
	rig_poll_nothing(cq);
	r->a = a;
}

static void each_failed_allocation_leaves_a_working_qp(void **state)
{
	unsigned controlled = 0, passed = 0;
	bool reached = true;
	struct rig r;

	if (!CAN_FAIL)
		skip();
	rig_open(&r, (struct rig_conf){ .max_send_wr = 8 }); /* a deeper queue is tried first */
	for (int k = 1; reached; k++) {
		struct ibv_cq *cq = ibv_create_cq(r.ctx, 64, NULL, NULL, 0);
		struct ibv_qp *qp;

		countdown = k;
		qp = rig_qp(&r, cq, cq);
		reached = !countdown;
		countdown = 0;
		if (!qp)
			fail_msg("no QP when allocation %d fails", k);
		controlled += fake_send_cq(qp) != cq;
		passed += fake_send_cq(qp) == cq;
		use_qp(&r, qp, cq);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
	/* If the device has no memory for a shadow CQ, a smaller one is tried. */
	assert_true(controlled >= 5 && passed >= 2);
	rig_close(&r);
}

static void each_failed_allocation_leaves_a_working_cq(void **state)
{
	bool reached = true;
	unsigned refused = 0;
	struct rig r;

	if (!CAN_FAIL)
		skip();
	rig_open(&r, (struct rig_conf){ 0 });
	for (int k = 1; reached; k++) {
		struct ibv_cq *cq;
		struct ibv_qp *qp;

		countdown = k;
		cq = ibv_create_cq(r.ctx, 64, NULL, NULL, 0);
		reached = !countdown;
		countdown = 0;
		if (!cq) { /* the device could not allocate memory */
			refused++;
			continue;
		}
		qp = rig_qp(&r, cq, cq);
		assert_non_null(qp);
		use_qp(&r, qp, cq);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
	assert_true(refused <= 2); /* the two allocations of the fake provider */
	rig_close(&r);
}

static void each_failed_allocation_leaves_a_working_context(void **state)
{
	struct ibv_device **list;
	bool reached = true;
	unsigned opened = 0;

	if (!CAN_FAIL)
		skip();
	list = ibv_get_device_list(NULL);
	for (int k = 1; reached; k++) {
		struct ibv_context *ctx;
		struct ibv_pd *pd;

		countdown = k;
		ctx = ibv_open_device(list[0]);
		reached = !countdown;
		countdown = 0;
		if (!ctx)
			continue;
		opened++;
		pd = ibv_alloc_pd(ctx);
		assert_non_null(pd);
		ibv_dealloc_pd(pd);
		assert_int_equal(ibv_close_device(ctx), 0);
	}
	assert_true(opened >= 2);
	ibv_free_device_list(list);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failed_allocation_leaves_a_working_qp),
		cmocka_unit_test(each_failed_allocation_leaves_a_working_cq),
		cmocka_unit_test(each_failed_allocation_leaves_a_working_context),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", "CCSHIM_LOG_LEVEL=error", NULL);
	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
