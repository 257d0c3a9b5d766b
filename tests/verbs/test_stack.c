/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the shim needs little of an application thread's stack: threads may have only
 * PTHREAD_STACK_MIN, which the library itself and the dynamic linker use in part.
 */
#include "rig.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

/* The fake needs up to 7.5 KB, most of it for the dynamic linker. */
enum { STACK = 256 << 10, LIMIT = 12 << 10, PAINT = 0xa5, K4 = 4096 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true /* frames are larger */
#else
#define SANITIZED false
#endif

static struct rig r;
static struct ibv_qp *qp;

/* The first use of verbs in the process: the shim reads its configuration. */
static void *open_device(void *arg)
{
	rig_open(&r, (struct rig_conf){ 0 });
	return arg;
}

static void *create(void *arg)
{
	qp = rig_qp(&r, r.scq, r.rcq);
	rig_to_rts(&r, qp, r.b->qp_num);
	return arg;
}

static void *post_list(void *arg)
{
	struct ibv_send_wr wr[3], *bad;
	struct ibv_sge sge[3];

	for (unsigned i = 0; i < 3; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 40 * K4, IBV_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	return ibv_post_send(qp, wr, &bad) ? NULL : arg;
}

static void *poll_all(void *arg)
{
	struct ibv_wc wc;

	for (unsigned got = 0; got < 3;)
		got += ibv_poll_cq(r.scq, 1, &wc) > 0;
	return arg;
}

static void *destroy(void *arg)
{
	return ibv_destroy_qp(qp) ? NULL : arg;
}

static size_t unused(const unsigned char *stack)
{
	size_t n = 0;

	while (n < STACK && stack[n] == PAINT)
		n++;
	return n;
}

/* The bytes of its stack that a thread uses in the call. */
static size_t used_by(void *(*call)(void *))
{
	unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	void *result;
	size_t used;

	assert_ptr_not_equal(stack, MAP_FAILED);
	memset(stack, PAINT, STACK);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, stack, STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, call, &r), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
	used = STACK - unused(stack);
	pthread_attr_destroy(&attr);
	munmap(stack, STACK);
	return used;
}

static void *nothing(void *arg)
{
	return arg;
}

/* In a thread with PTHREAD_STACK_MIN, where an overflow ends the process. */
static void *in_small_thread(void *arg)
{
	return open_device(arg) && create(arg) && post_list(arg) && poll_all(arg) &&
	       destroy(arg) ? arg : NULL;
}

static void a_thread_with_the_least_stack_works(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *result;

	(void)state;
	if (SANITIZED)
		skip();
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN), 0);
	assert_int_equal(pthread_create(&thread, &attr, in_small_thread, &r), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
	rig_close(&r);
}

static void calls_need_little_stack(void **state)
{
	static const struct {
		const char *name;
		void *(*call)(void *);
	} calls[] = { { "create", create }, { "post", post_list }, { "poll", poll_all },
		      { "destroy", destroy } };
	size_t own, used;

	(void)state;
	if (SANITIZED)
		skip();
	own = used_by(nothing);
	used = used_by(open_device);
	print_message("open: %zu bytes of stack\n", used - own);
	assert_true(used - own <= LIMIT);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 4; i++) {
			used = used_by(calls[i].call);
			print_message("%s: %zu bytes of stack\n", calls[i].name, used - own);
			assert_true(used - own <= LIMIT);
		}
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_with_the_least_stack_works),
		cmocka_unit_test(calls_need_little_stack),
	};

	return rig_run_modes(argc, argv, "stack", tests, sizeof(tests) / sizeof(*tests));
}
