/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that posts and polls do not allocate from the C library: a signal handler that posts may
 * have interrupted malloc(), whose lock its thread holds.
 */
#include "rig.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true /* they replace malloc() */
#else
#define SANITIZED false
#endif

static _Thread_local bool counts;
static _Thread_local unsigned allocations;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#pragma GCC visibility push(default)
/* glibc's, which has these names for programs that replace malloc(). */
extern void *__libc_malloc(size_t size), *__libc_calloc(size_t n, size_t size),
	*__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	allocations += counts;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocations += counts;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	allocations += counts;
	return __libc_realloc(p, size);
}
#pragma GCC visibility pop
#endif

static void send_one(struct rig *r, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, wr_id, IBV_WR_RDMA_WRITE, 0, 40 << 10, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, &wc);
	assert_int_equal(wc.wr_id, wr_id);
}

/* The first posts do not allocate either, whatever the size of the copies of WRs that wait. */
static void posts_and_polls_do_not_allocate(void **state)
{
	static const struct rig_conf conf[] = { { 0 }, { .max_send_wr = 512, .max_inline = 200 } };

	if (SANITIZED)
		skip();
	for (unsigned i = 0; i < sizeof(conf) / sizeof(*conf); i++) {
		struct rig r;

		rig_open(&r, conf[i]);
		allocations = 0;
		counts = true;
		for (uint64_t n = 1; n < 200; n++)
			send_one(&r, n);
		counts = false;
		assert_int_equal(allocations, 0);
		rig_close(&r);
	}
}

/* The verdict on the failure is part of the poll. */
static void a_poll_that_finds_a_failure_does_not_allocate(void **state)
{
	struct ibv_wc wc = { 0 };
	struct rig r;

	if (SANITIZED)
		skip();
	rig_open(&r, (struct rig_conf){ 0 });
	send_one(&r, 1);
	fake_fail_cqe(0, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 4 << 10, IBV_SEND_SIGNALED), 0);
	allocations = 0;
	counts = true;
	while (ibv_poll_cq(r.scq, 1, &wc) == 0)
		;
	counts = false;
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(allocations, 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_and_polls_do_not_allocate),
		cmocka_unit_test(a_poll_that_finds_a_failure_does_not_allocate),
	};

	return rig_run_modes(argc, argv, "malloc", tests, sizeof(tests) / sizeof(*tests));
}
