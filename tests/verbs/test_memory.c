/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what a QP takes: entries of shadow CQs, and memory of ours. */
#include "rig.h"

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define K4 4096u

/* ASan's blocks are from malloc(), and TSan needs mmap() for itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define POOLED 0
#else
#define POOLED 1
#endif

/* The shim's pools get their memory from mmap(); the fake does not use it. */
static bool no_memory;
static unsigned refused;

#if POOLED
__attribute__((visibility("default")))
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (no_memory && (flags & MAP_ANONYMOUS)) {
		refused++;
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset); // NOLINT
}
#endif

/* Copies of deferred WRs: of a size that no pool has memory for yet. */
static void open_deferring(struct rig *r, uint32_t depth)
{
	rig_open(r, (struct rig_conf){ .max_send_wr = depth, .max_send_sge = 6 });
	fake_seen_clear();
	fake_hold(true);
}

static void finish(struct rig *r, int completions)
{
	struct ibv_wc done[16];

	rig_poll_stepping(r->scq, completions, done);
	for (int i = 0; i < completions; i++)
		assert_true(done[i].wr_id == (uint64_t)i && !done[i].status);
	rig_poll_nothing(r->scq);
	assert_memory_equal(r->src, r->dst, 4 * K4);
	fake_hold(false);
	rig_close(r);
}

static void without_memory_to_wait_wrs_go_to_the_device(void **state)
{
	struct rig r;

	if (!rig_is("gated") || !POOLED)
		skip();
	open_deferring(&r, 101);
	no_memory = true;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * K4, K4, IBV_SEND_SIGNALED),
				 0);
	assert_int_equal(fake_pending(), 4);
	assert_true(refused > 0);
	no_memory = false;
	for (unsigned i = 4; i < 8; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 4);
	finish(&r, 8);
}

static void without_memory_to_wait_a_long_wr_is_not_split(void **state)
{
	struct rig r;

	if (!rig_is("gated") || !POOLED)
		skip();
	open_deferring(&r, 20);
	no_memory = true;
	assert_int_equal(rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, 4 * K4, IBV_SEND_SIGNALED), 0);
	no_memory = false;
	assert_int_equal(fake_pending(), 1);
	assert_int_equal(fake_seen(0).length, 4 * K4);
	finish(&r, 1);
}

/* Posts at an open gate do not allocate memory, and neither do posts of a QP in mode observe. */
static void only_wrs_that_wait_need_memory(void **state)
{
	struct rig r;

	if (!rig_is("open") && !rig_is("observe"))
		skip();
	open_deferring(&r, 10);
	no_memory = true;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * K4, K4, IBV_SEND_SIGNALED),
				 0);
	no_memory = false;
	assert_int_equal(refused, 0);
	finish(&r, 4);
}

/* QPs of depth 300 on one CQ of 128: many more WQEs are in flight than the CQ has entries. */
enum { BUSY = 12, DEEP = 300, DONE = BUSY * DEEP };

static int shadow_entries(struct ibv_qp **qp, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		if (!i || fake_send_cq(qp[i]) != fake_send_cq(qp[i - 1]))
			sum += fake_send_cq(qp[i])->cqe;
	return sum;
}

static void shadows_have_entries_for_wqes_in_flight_only(void **state)
{
	struct ibv_qp *qp[BUSY], *first;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = DEEP, .cqe = 128 });
	first = r.a;
	for (unsigned i = 0; i < BUSY; i++) {
		qp[i] = rig_qp(&r, r.scq, r.rcq);
		rig_to_rts(&r, qp[i], r.b->qp_num);
	}
	if (!rig_is("observe"))
		assert_true(shadow_entries(qp, BUSY) < BUSY * DEEP);
	fake_hold(true);
	for (unsigned k = 0; k < DEEP; k++)
		for (unsigned i = 0; i < BUSY; i++) {
			r.a = qp[i];
			assert_int_equal(rig_post(&r, 1, k % 8 == 5 ? IBV_WR_LOCAL_INV : IBV_WR_RDMA_WRITE,
						  0, 8, k + 1 < DEEP ? 0 : IBV_SEND_SIGNALED), 0);
		}
	/* Each of them completes if its QP fails. */
	for (unsigned i = 0; i < BUSY; i++)
		assert_int_equal(rig_state(qp[i], IBV_QPS_ERR), 0);
	fake_hold(false);
	for (unsigned i = 0, spins = 0; i < DONE && rig_keep_waiting(&spins);) {
		struct ibv_wc wc[16];
		const int n = ibv_poll_cq(r.scq, 16, wc);

		assert_true(n >= 0);
		i += (unsigned)n;
		spins = n ? 0 : spins;
		assert_true(i < DONE || spins == 0);
	}
	assert_int_equal(fake_counts().overruns, 0);
	for (unsigned i = 0; i < BUSY; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	r.a = first;
	rig_close(&r);
}

/* QPs whose depths fit the CQ share its shadow CQ. */
static void many_shallow_qps_use_one_shadow_cq(void **state)
{
	enum { MANY = 150 };
	struct ibv_qp *qp[MANY];
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cqe = 4095 });
	for (unsigned i = 0; i < MANY; i++)
		qp[i] = rig_qp(&r, r.scq, r.rcq);
	assert_int_equal(shadow_entries(qp, MANY), fake_send_cq(r.a)->cqe);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	rig_close(&r);
}

/* A queue of 15 entries has enough for segments. Others may have a ring of 32 at most. */
static void only_a_shallow_queue_is_larger_than_the_application_requests(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_sge = 1 });
	for (uint32_t depth = 4; depth <= 256; depth += 9) {
		struct ibv_qp_init_attr attr = {
			.send_cq = r.scq, .recv_cq = r.rcq, .qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = depth, .max_send_sge = 1 },
		};
		struct ibv_qp *qp = ibv_create_qp(r.pd, &attr);

		assert_non_null(qp);
		assert_true(attr.cap.max_send_wr >= depth);
		assert_true(depth < 15 ? fake_depth(qp) < 32
				       : fake_depth(qp) <= attr.cap.max_send_wr);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	rig_close(&r);
}

static void limit_memlock(rlim_t soft, rlim_t hard)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const struct rlimit limit = { soft, hard };

	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~(unsigned)CAP_TO_MASK(CAP_IPC_LOCK);
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

enum { REGIONS = 256, REGION = 1 << 15, QPS = 12 };

/* How many regions can be registered beside 12 QPs, each with a separate CQ. */
static int regions_beside(enum ibv_qp_type type, unsigned *controlled)
{
	static unsigned char memory[REGION];
	struct rig r, *p = &r;
	struct ibv_mr *mr[REGIONS];
	struct ibv_cq *cq[QPS];
	struct ibv_qp *qp[QPS];
	int n = 0;

	rig_open(p, (struct rig_conf){ .type = type });
	*controlled = 0;
	for (unsigned i = 0; i < QPS; i++) {
		cq[i] = ibv_create_cq(r.ctx, 256, NULL, NULL, 0);
		qp[i] = rig_qp(p, cq[i], cq[i]);
		assert_non_null(qp[i]);
		assert_int_equal(fake_depth(qp[i]), 16);
		*controlled += fake_send_cq(qp[i]) != cq[i];
	}
	while (n < REGIONS && (mr[n] = ibv_reg_mr(r.pd, memory, REGION, 0)))
		n++;
	for (int i = 0; i < n; i++)
		assert_int_equal(ibv_dereg_mr(mr[i]), 0);
	for (unsigned i = 0; i < QPS; i++) {
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
		assert_int_equal(ibv_destroy_cq(cq[i]), 0);
	}
	rig_close(p);
	return n;
}

static void what_is_pinned_for_us_is_not_missing_to_the_application(void **state)
{
	const rlim_t limit = 4 << 20;
	unsigned controlled;
	int bare;

	if (!rig_is("pinned"))
		skip();
	limit_memlock(limit, 2 * limit);
	bare = regions_beside(IBV_QPT_UC, &controlled);
	assert_true(controlled == 0 && bare > 16 && bare < REGIONS);
	assert_true(regions_beside(IBV_QPT_RC, &controlled) >= bare);
	assert_int_equal(controlled, QPS);
}

/* A 64th of the limit, of which the first of these CQs takes 20 KB. */
static void beyond_a_small_share_of_the_limit_qps_are_uncontrolled(void **state)
{
	const rlim_t limit = 4 << 20;
	unsigned controlled;
	int bare;

	if (!rig_is("tight"))
		skip();
	limit_memlock(limit, limit);
	bare = regions_beside(IBV_QPT_UC, &controlled);
	assert_true(regions_beside(IBV_QPT_RC, &controlled) >=
		    bare - (int)(limit / 64 / REGION));
	assert_true(controlled >= 2 && controlled < QPS);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "observe", { "CCSHIM_MODE=observe" } },
		{ "open", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=1m", "CCSHIM_MAX_INFLIGHT=16m" } },
		{ "gated", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			     "CCSHIM_BASE_RTT=20us" } },
		{ "pinned", { "CCSHIM_CC=none", "FAKERDMA_PIN=1" } },
		{ "tight", { "CCSHIM_CC=none", "FAKERDMA_PIN=1" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_to_wait_wrs_go_to_the_device),
		cmocka_unit_test(without_memory_to_wait_a_long_wr_is_not_split),
		cmocka_unit_test(only_wrs_that_wait_need_memory),
		cmocka_unit_test(shadows_have_entries_for_wqes_in_flight_only),
		cmocka_unit_test(many_shallow_qps_use_one_shadow_cq),
		cmocka_unit_test(only_a_shallow_queue_is_larger_than_the_application_requests),
		cmocka_unit_test(what_is_pinned_for_us_is_not_missing_to_the_application),
		cmocka_unit_test(beyond_a_small_share_of_the_limit_qps_are_uncontrolled),
	};

	return rig_run_in(argc, argv, "memory", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
