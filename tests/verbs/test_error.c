/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests failures and state changes while WRs wait in the shim (hazards 9, 11): one segment of 4
 * KiB is in flight, the rest is deferred.
 */
#include "rig.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define K4 4096u
#define SECOND 1000000000ull

static struct ibv_wc wc[64];

static void expect(const struct ibv_wc *w, uint64_t wr_id, enum ibv_wc_status status)
{
	if (w->wr_id != wr_id || w->status != status)
		fail_msg("wr_id %llu with status %d, not %llu with %d",
			 (unsigned long long)w->wr_id, w->status, (unsigned long long)wr_id,
			 status);
}

/* Nothing leaves the device before the test lets it. */
static void open_held(struct rig *r)
{
	rig_open(r, (struct rig_conf){ 0 });
	fake_hold(true);
}

static void poll_flushed(struct rig *r, unsigned first, unsigned n)
{
	rig_poll(r->scq, (int)n, wc);
	for (unsigned i = 0; i < n; i++)
		expect(&wc[i], first + i, IBV_WC_WR_FLUSH_ERR);
}

/* Post n WRs of two segments each; every third is signalled. */
static void post_many(struct rig *r, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, i * 2 * K4, 2 * K4,
					  i % 3 == 2 ? IBV_SEND_SIGNALED : 0), 0);
}

static void check_qp_works_after_reset(struct rig *r)
{
	assert_int_equal(rig_state(r->a, IBV_QPS_RESET), 0);
	rig_to_rts(r, r->a, r->b->qp_num);
	fake_hold(false);
	assert_int_equal(rig_post(r, 555, IBV_WR_RDMA_WRITE, 0, 9 * K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, wc);
	expect(wc, 555, IBV_WC_SUCCESS);
	rig_poll_nothing(r->scq);
}

static void close_after_reset(struct rig *r)
{
	rig_poll_nothing(r->scq);
	check_qp_works_after_reset(r);
	rig_close(r);
}

/*
 * If the k-th segment fails, its WR is reported once, earlier WRs succeed, and later WRs are
 * flushed.
 */
static void a_failed_segment_is_reported_once_and_flushes_later_wrs(void **state)
{
	for (unsigned k = 0; k < 8; k++) {
		const unsigned failing = k / 2;
		struct rig r;
		int n = 0;

		open_held(&r);
		fake_fail_cqe(k, IBV_WC_RETRY_EXC_ERR);
		post_many(&r, 0, 4);
		rig_poll_stepping(r.scq, (failing > 2 ? 1 : 0) + 4 - (int)failing, wc);
		if (failing > 2)
			expect(&wc[n++], 2, IBV_WC_SUCCESS);
		expect(&wc[n++], failing, IBV_WC_RETRY_EXC_ERR);
		for (unsigned i = failing + 1; i < 4; i++)
			expect(&wc[n++], i, IBV_WC_WR_FLUSH_ERR);
		close_after_reset(&r);
	}
}

/* Later segments of the failing WR are already in flight. */
static void segments_in_flight_behind_a_failed_one_are_not_reported(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 8 });
	fake_hold(false);
	/* warm up, so that the window reaches max_inflight */
	for (int i = 0; i < 20; i++) {
		rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8 * K4, IBV_SEND_SIGNALED);
		rig_poll(r.scq, 1, wc);
	}
	fake_hold(true);
	rig_post(&r, 7, IBV_WR_RDMA_WRITE, 0, 30 * K4, 0);
	rig_post(&r, 8, IBV_WR_RDMA_WRITE, 0, K4, 0);
	fake_fail_cqe(1, IBV_WC_REM_ACCESS_ERR);
	rig_poll_stepping(r.scq, 2, wc);
	expect(&wc[0], 7, IBV_WC_REM_ACCESS_ERR);
	expect(&wc[1], 8, IBV_WC_WR_FLUSH_ERR);
	close_after_reset(&r);
}

/* A real protection error: half of the WR lies beyond the registered memory. */
static void memory_errors_keep_the_devices_status(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, RIG_BUF - 3 * K4, 6 * K4, 0), 0);
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 6 * K4, 0), 0);
	rig_poll(r.scq, 2, wc);
	assert_true(wc[0].wr_id == 1 && (wc[0].status == IBV_WC_REM_ACCESS_ERR ||
					 wc[0].status == IBV_WC_LOC_PROT_ERR));
	expect(&wc[1], 2, IBV_WC_WR_FLUSH_ERR);
	close_after_reset(&r);
}

static void modify_to_err_flushes_waiting_wrs_in_order(void **state)
{
	struct rig r;

	open_held(&r);
	post_many(&r, 0, 12);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
	poll_flushed(&r, 0, 12);
	/* WRs posted to a failed QP are flushed as well */
	post_many(&r, 20, 16);
	poll_flushed(&r, 20, 16);
	close_after_reset(&r);
}

/* Of irdma: what is posted in ERR gets no completion. Deferred WRs have been posted before. */
static void deferred_wrs_are_flushed_where_the_device_ignores_posts_in_err(void **state)
{
	struct rig r;

	for (unsigned by_wqe = 0; by_wqe < 2; by_wqe++) {
		open_held(&r);
		fake_ignore_in_error(true);
		post_many(&r, 0, 12);
		if (by_wqe)
			fake_fail_cqe(0, IBV_WC_REM_ACCESS_ERR);
		else
			assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
		rig_poll_stepping(r.scq, 12, wc);
		for (unsigned i = 0; i < 12; i++)
			expect(&wc[i], i, by_wqe && !i ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
		close_after_reset(&r);
	}
}

static void post_to(struct rig *r, struct ibv_qp *qp, uint64_t wr_id, unsigned n)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	for (unsigned i = 0; i < n; i++) {
		wr = rig_wr(r, &sge, wr_id + i, IBV_WR_RDMA_WRITE, 0, 8192, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	}
}

/* The next completion of one of the QPs belongs to its next WR, and is flushed. */
static void expect_flushed(const struct ibv_wc *got, struct ibv_qp *const *qp, uint64_t *next, int n)
{
	int i = 0;

	while (i < n && got->qp_num != qp[i]->qp_num)
		i++;
	assert_int_not_equal(i, n);
	expect(got, next[i]++, IBV_WC_WR_FLUSH_ERR);
}

static void a_failed_qp_that_is_destroyed_leaves_the_flushes_of_others(void **state)
{
	enum { QPS = 5, WRS = 12 };
	struct ibv_qp *qp[QPS];
	uint64_t next[QPS];
	struct rig r;

	for (int gone = 0; gone < QPS; gone++) {
		open_held(&r);
		fake_ignore_in_error(true);
		for (int i = 0; i < QPS; i++) {
			qp[i] = rig_qp(&r, r.scq, r.rcq);
			rig_to_rts(&r, qp[i], r.b->qp_num);
			next[i] = 100u * (unsigned)i;
			fake_fail_qp(qp[i]); /* so its flush is waited for */
			post_to(&r, qp[i], next[i], WRS);
		}
		for (int i = 0; i < QPS; i++)
			assert_int_equal(rig_state(qp[i], IBV_QPS_ERR), 0);
		assert_int_equal(ibv_destroy_qp(qp[gone]), 0);
		qp[gone] = qp[QPS - 1];
		next[gone] = next[QPS - 1];
		rig_poll(r.scq, (QPS - 1) * WRS, wc);
		for (int i = 0; i < (QPS - 1) * WRS; i++)
			expect_flushed(&wc[i], qp, next, QPS - 1);
		rig_poll_nothing(r.scq);
		for (int i = 0; i < QPS - 1; i++)
			assert_int_equal(ibv_destroy_qp(qp[i]), 0);
		rig_close(&r);
	}
}

static void poll_ex_stepping(struct rig *r, int n)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)r->scq;
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned spins = 0;

	for (int i = 0; i < n;) {
		fake_step(1);
		if (ibv_start_poll(cq, &attr)) {
			assert_true(rig_keep_waiting(&spins));
			continue;
		}
		wc[i].wr_id = cq->wr_id;
		wc[i++].status = cq->status;
		ibv_end_poll(cq);
	}
}

/*
 * As on a device that has them all. This device never completes the marker, whose completion may be
 * late on rxe.
 */
static void waiting_sends_are_flushed_before_receives(void **state)
{
	static struct ibv_cq_init_attr_ex cq_ex = { .wc_flags = IBV_WC_EX_WITH_QP_NUM };
	struct ibv_recv_wr recv = { .wr_id = 9 }, *bad;
	struct rig r;

	for (unsigned ex = 0; ex < 2; ex++) {
		rig_open(&r, (struct rig_conf){ .one_cq = true, .cq_ex = ex ? &cq_ex : NULL });
		assert_int_equal(ibv_post_recv(r.a, &recv, &bad), 0);
		fake_hold(true);
		fake_ignore_in_error(true);
		post_many(&r, 0, 3);
		fake_fail_cqe(0, IBV_WC_RETRY_EXC_ERR);
		if (ex)
			poll_ex_stepping(&r, 4);
		else
			rig_poll_stepping(r.scq, 4, wc);
		expect(&wc[0], 0, IBV_WC_RETRY_EXC_ERR);
		expect(&wc[1], 1, IBV_WC_WR_FLUSH_ERR);
		expect(&wc[2], 2, IBV_WC_WR_FLUSH_ERR);
		expect(&wc[3], 9, IBV_WC_WR_FLUSH_ERR);
		rig_poll_nothing(r.scq);
		rig_close(&r);
	}
}

/* The first WR succeeded silently, whether or not the device can tell that in ERR. */
static void an_unsignalled_success_before_err_is_not_flushed(void **state)
{
	struct rig r;

	for (unsigned ignore = 0; ignore < 2; ignore++) {
		open_held(&r);
		fake_ignore_in_error(ignore);
		assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, 0), 0);
		assert_int_equal(fake_step(1), 1);
		assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
		post_many(&r, 2, 3);
		assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
		poll_flushed(&r, 2, 3);
		close_after_reset(&r);
	}
}

/* The device was failing when it got a WQE from the shim, which did not know. */
static void a_wqe_that_the_failing_device_ignored_is_flushed(void **state)
{
	struct rig r;

	open_held(&r);
	fake_ignore_in_error(true);
	fake_fail_qp(r.a);
	post_many(&r, 0, 6);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
	poll_flushed(&r, 0, 6);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/* RESET: waiting WRs are dropped silently, earlier completions are still delivered. */
static void reset_drops_waiting_wrs_and_keeps_earlier_completions(void **state)
{
	struct rig r;

	for (unsigned done = 0; done < 6; done++) {
		open_held(&r);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4,
						  IBV_SEND_SIGNALED), 0);
		fake_step(done); /* completions that are not polled before the reset */
		assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
		while (ibv_poll_cq(r.scq, 1, wc) == 1)
			assert_int_equal(wc->status, IBV_WC_SUCCESS);
		assert_int_equal(fake_pending(), 0);
		close_after_reset(&r);
	}
}

/* In SQD no new WR starts and posts are accepted; RTS continues where SQD stopped. */
static void sqd_holds_waiting_wrs_and_rts_resumes_them(void **state)
{
	struct rig r;

	open_held(&r);
	post_many(&r, 0, 3);
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	assert_int_equal(fake_step(100), 1); /* the WR that had begun */
	post_many(&r, 3, 3);
	rig_poll_nothing(r.scq);
	assert_int_equal(fake_pending(), 0);
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	rig_poll_stepping(r.scq, 2, wc);
	expect(&wc[0], 2, IBV_WC_SUCCESS);
	expect(&wc[1], 5, IBV_WC_SUCCESS);
	rig_close(&r);
}

static void a_refused_modify_changes_nothing(void **state)
{
	struct rig r;

	open_held(&r);
	post_many(&r, 0, 3);
	fake_fail_modify_qp(0, EPERM);
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), EPERM);
	fake_fail_modify_qp(0, EPERM);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), EPERM);
	fake_fail_modify_qp(0, EPERM);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), EPERM);
	rig_poll_stepping(r.scq, 1, wc);
	expect(wc, 2, IBV_WC_SUCCESS);
	rig_close(&r);
}

/*
 * If the device refuses a WR that the shim has accepted, the QP fails as if the device had
 * failed it.
 */
static void a_late_refusal_fails_the_qp(void **state)
{
	static const int codes[] = { ENOMEM, EINVAL, -EINVAL };

	for (unsigned c = 0; c < 3; c++) {
		struct rig r;

		open_held(&r);
		assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
		assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, K4, 0), 0);
		assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
		fake_fail_post(0, codes[c], FAKE_BAD_WR);
		errno = 0;
		rig_poll_stepping(r.scq, 3, wc);
		assert_int_equal(errno, 0);
		expect(&wc[0], 1, IBV_WC_SUCCESS);
		expect(&wc[1], 2, IBV_WC_WR_FLUSH_ERR);
		expect(&wc[2], 3, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[1].qp_num, r.a->qp_num);
		post_many(&r, 10, 16);
		poll_flushed(&r, 10, 16);
		close_after_reset(&r);
	}
}

/* The WR is split, and its first segment has already been posted. */
static void a_late_refusal_of_a_second_segment_flushes_its_wr(void **state)
{
	struct rig r;

	open_held(&r);
	post_many(&r, 1, 3);
	fake_fail_post(2, ENOMEM, FAKE_BAD_WR); /* after WR 1's rest and WR 2's first half */
	rig_poll_stepping(r.scq, 2, wc);
	expect(&wc[0], 2, IBV_WC_WR_FLUSH_ERR);
	expect(&wc[1], 3, IBV_WC_WR_FLUSH_ERR);
	close_after_reset(&r);
}

/* The WRs before it are unsignalled and produce no completion. */
static void a_late_refusal_behind_unsignalled_wqes_flushes_the_rest(void **state)
{
	struct rig r;

	open_held(&r);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	for (unsigned i = 2; i < 6; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8, 0), 0);
	assert_int_equal(rig_post(&r, 6, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	fake_fail_post(2, EINVAL, FAKE_BAD_WR);
	rig_poll_stepping(r.scq, 1, wc);
	expect(wc, 1, IBV_WC_SUCCESS);
	for (uint64_t last = 1; last != 6;) {
		rig_poll_stepping(r.scq, 1, wc);
		assert_true(wc->wr_id > last && wc->status == IBV_WC_WR_FLUSH_ERR);
		last = wc->wr_id;
	}
	close_after_reset(&r);
}

static int bind(struct rig *r, struct ibv_mw *mw, uint64_t wr_id)
{
	struct ibv_mw_bind b = { .wr_id = wr_id, .send_flags = IBV_SEND_SIGNALED };

	return ibv_bind_mw(r->a, mw, &b);
}

/*
 * The window's key changes when ibv_bind_mw returns, so the WR goes to the device, which holds
 * it and all WRs before it.
 */
static void bind_mw_in_sqd_waits_in_the_device(void **state)
{
	struct ibv_mw *mw;
	struct rig r;
	uint32_t key;

	rig_open(&r, (struct rig_conf){ 0 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	key = mw->rkey;
	fake_hold(true);
	post_many(&r, 0, 3);
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	assert_int_equal(bind(&r, mw, 3), 0);
	assert_int_not_equal(mw->rkey, key);
	post_many(&r, 4, 2);
	fake_step(1);
	rig_poll_nothing(r.scq);
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	rig_poll_stepping(r.scq, 3, wc);
	expect(&wc[0], 2, IBV_WC_SUCCESS);
	expect(&wc[1], 3, IBV_WC_SUCCESS);
	expect(&wc[2], 5, IBV_WC_SUCCESS);
	rig_poll_nothing(r.scq);
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

/* The device refuses the waiting WR: it, the bind and the next bind are flushed. */
static void bind_mw_behind_a_late_refusal_is_flushed(void **state)
{
	struct ibv_mw *mw;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 4 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	fake_hold(true);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	fake_fail_post(0, EINVAL, FAKE_BAD_WR);
	assert_int_equal(bind(&r, mw, 3), 0);
	assert_int_equal(bind(&r, mw, 4), 0);
	rig_poll_stepping(r.scq, 4, wc);
	for (unsigned i = 0; i < 4; i++)
		expect(&wc[i], i + 1, IBV_WC_WR_FLUSH_ERR);
	rig_poll_nothing(r.scq);
	check_qp_works_after_reset(&r);
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

/* The device's queue is full: waiting WRs are not lost, and are posted without a poll. */
static void a_refused_bind_mw_loses_no_waiting_wr(void **state)
{
	struct ibv_mw *mw;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	fake_hold(true);
	post_many(&r, 0, 3);
	fake_fail_post(2, ENOMEM, FAKE_BAD_WR);
	assert_int_equal(bind(&r, mw, 3), ENOMEM);
	rig_poll_stepping(r.scq, 1, wc);
	expect(wc, 2, IBV_WC_SUCCESS);
	fake_fail_post(0, EINVAL, FAKE_BAD_WR);
	assert_int_equal(bind(&r, mw, 4), EINVAL);
	assert_int_equal(bind(&r, mw, 5), 0);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
	assert_int_equal(bind(&r, mw, 6), 0);
	rig_poll(r.scq, 2, wc);
	expect(&wc[0], 5, IBV_WC_WR_FLUSH_ERR);
	expect(&wc[1], 6, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	assert_int_equal(bind(&r, mw, 7), fake_profile()->not_rts);
	rig_poll_nothing(r.scq);
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

/* The device alone handles the receive side of a controlled QP. */
static void the_device_flushes_receives(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .one_cq = true });
	rig_recv(&r, 31, 0, 10);
	rig_recv(&r, 32, 0, 10);
	assert_int_equal(rig_state(r.b, IBV_QPS_ERR), 0);
	rig_poll(r.rcq, 2, wc);
	expect(&wc[0], 31, IBV_WC_WR_FLUSH_ERR);
	expect(&wc[1], 32, IBV_WC_WR_FLUSH_ERR);
	/* the sender gets an error */
	rig_post(&r, 5, IBV_WR_RDMA_WRITE, 0, 20 * K4, 0);
	rig_poll(r.scq, 1, wc);
	expect(wc, 5, IBV_WC_RETRY_EXC_ERR);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/* Called each time the pacer thread sleeps. */
static atomic_uint naps;

static void count_nap(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	if (strcmp(name, "ccshim-pacer") == 0)
		atomic_fetch_add(&naps, 1);
}

#define COUNTED(name, parameters, arguments) \
	__attribute__((visibility("default"))) int name parameters \
	{ \
		int (*real) parameters; \
		count_nap(); \
		*(void **)&real = dlsym(RTLD_NEXT, #name); \
		return real arguments; \
	}
COUNTED(sem_wait, (sem_t *sem), (sem))
COUNTED(sem_clockwait, (sem_t *sem, clockid_t clock, const struct timespec *until),
	(sem, clock, until))

/* The pacer retries WRs that wait for a completion, but not WRs that SQD holds. */
static void waiting_wrs_are_not_retried_in_sqd(void **state)
{
	const struct timespec patch = { .tv_nsec = 20000000 };
	unsigned before, spins = 0;
	struct rig r;

	open_held(&r);
	post_many(&r, 0, 5);
	before = atomic_load(&naps);
	while (atomic_load(&naps) < before + 5)
		assert_true(rig_keep_waiting(&spins));
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	post_many(&r, 5, 2);
	spins = 0;
	do {
		before = atomic_load(&naps);
		nanosleep(&patch, NULL);
	} while (atomic_load(&naps) != before && ++spins < 500);
	assert_in_range(spins, 0, 499);
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	fake_hold(false);
	rig_poll(r.scq, 2, wc);
	expect(&wc[0], 2, IBV_WC_SUCCESS);
	expect(&wc[1], 5, IBV_WC_SUCCESS);
	rig_close(&r);
}

/* While this is not NULL: the next poll of its shadow CQ by this thread takes long. */
static _Thread_local struct ibv_qp *failing;
static _Thread_local unsigned polls_before;
static _Atomic uint64_t skipped_ns;

static void *fail_qp(void *qp)
{
	assert_int_equal(rig_state(qp, IBV_QPS_ERR), 0);
	return NULL;
}

/* Another thread fails the QP then, and much time passes. */
static void interrupt_poll(void)
{
	struct ibv_qp *qp = failing;
	pthread_t thread;

	failing = NULL;
	assert_int_equal(pthread_create(&thread, NULL, fail_qp, qp), 0);
	pthread_join(thread, NULL);
	atomic_fetch_add(&skipped_ns, SECOND);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	Dl_info who;

	if (failing && dladdr(__builtin_return_address(0), &who) &&
	    strstr(who.dli_fname, "libccshim") && fake_polls(fake_send_cq(failing)) != polls_before)
		interrupt_poll();
	if (syscall(SYS_clock_gettime, id, ts))
		return -1;
	ts->tv_sec += (time_t)(atomic_load(&skipped_ns) / SECOND);
	return 0;
}

/*
 * The last of several shadow CQs, which is polled first, has been found empty before the QP failed.
 * So the WQEs that the device flushes then have not succeeded silently, however long the poll takes.
 */
static void wqes_flushed_during_a_poll_are_not_counted_as_successes(void **state)
{
	enum { MOST = 60, DEPTH = 100 };
	struct ibv_qp *qp[MOST], *first;
	unsigned n = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = DEPTH, .cqe = 1000 });
	first = r.a;
	fake_hold(true);
	do {
		assert_true(n < MOST);
		r.a = qp[n++] = rig_qp(&r, r.scq, r.rcq);
		rig_to_rts(&r, r.a, r.b->qp_num);
		for (unsigned i = 0; i < DEPTH; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8, 0), 0);
	} while (fake_send_cq(r.a) == fake_send_cq(first));
	r.a = first;
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	polls_before = fake_polls(fake_send_cq(qp[n - 1]));
	failing = qp[n - 1];
	assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 0);
	assert_null(failing);
	for (unsigned i = 0; i < DEPTH; i++) {
		rig_poll(r.scq, 1, wc);
		expect(wc, i, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc->qp_num, qp[n - 1]->qp_num);
	}
	fake_hold(false);
	rig_poll(r.scq, 1, wc);
	expect(wc, 1, IBV_WC_SUCCESS);
	while (n)
		assert_int_equal(ibv_destroy_qp(qp[--n]), 0);
	rig_close(&r);
}

/* As with a native CQ, earlier completions are returned before the error. */
static void a_failed_shadow_cq_fails_the_applications_cq(void **state)
{
	static struct ibv_cq_init_attr_ex cq_ex;
	struct ibv_poll_cq_attr attr = { 0 };
	struct rig r;

	for (unsigned ex = 0; ex < 2; ex++) {
		rig_open(&r, (struct rig_conf){ .cq_ex = ex ? &cq_ex : NULL });
		assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
		assert_int_equal(rig_recv(&r, 2, 0, 8), 0);
		fake_break_cq(fake_send_cq(r.a));
		rig_poll(r.scq, 1, wc);
		expect(wc, 1, IBV_WC_SUCCESS);
		for (unsigned i = 0; i < 4; i++)
			assert_true(ibv_poll_cq(r.scq, 1, wc) < 0);
		if (ex)
			assert_int_equal(ibv_start_poll((struct ibv_cq_ex *)r.scq, &attr), EINVAL);
		rig_close(&r);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_segment_is_reported_once_and_flushes_later_wrs),
		cmocka_unit_test(segments_in_flight_behind_a_failed_one_are_not_reported),
		cmocka_unit_test(memory_errors_keep_the_devices_status),
		cmocka_unit_test(modify_to_err_flushes_waiting_wrs_in_order),
		cmocka_unit_test(
			deferred_wrs_are_flushed_where_the_device_ignores_posts_in_err),
		cmocka_unit_test(a_failed_qp_that_is_destroyed_leaves_the_flushes_of_others),
		cmocka_unit_test(waiting_sends_are_flushed_before_receives),
		cmocka_unit_test(an_unsignalled_success_before_err_is_not_flushed),
		cmocka_unit_test(a_wqe_that_the_failing_device_ignored_is_flushed),
		cmocka_unit_test(reset_drops_waiting_wrs_and_keeps_earlier_completions),
		cmocka_unit_test(sqd_holds_waiting_wrs_and_rts_resumes_them),
		cmocka_unit_test(a_refused_modify_changes_nothing),
		cmocka_unit_test(a_late_refusal_fails_the_qp),
		cmocka_unit_test(a_late_refusal_of_a_second_segment_flushes_its_wr),
		cmocka_unit_test(a_late_refusal_behind_unsignalled_wqes_flushes_the_rest),
		cmocka_unit_test(bind_mw_in_sqd_waits_in_the_device),
		cmocka_unit_test(bind_mw_behind_a_late_refusal_is_flushed),
		cmocka_unit_test(a_refused_bind_mw_loses_no_waiting_wr),
		cmocka_unit_test(the_device_flushes_receives),
		cmocka_unit_test(waiting_wrs_are_not_retried_in_sqd),
		cmocka_unit_test(
			wqes_flushed_during_a_poll_are_not_counted_as_successes),
		cmocka_unit_test(a_failed_shadow_cq_fails_the_applications_cq),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", "CCSHIM_LOG_LEVEL=error", NULL);
	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
