/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue as the application sees it: its depth, when it is full, and which WRs it refuses
 * with which error. All as without the shim, whatever the gate.
 */
#include "rig.h"

#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool defers(void)
{
	return strncmp(rig_mode_now->name, "bare", 4) != 0 &&
	       strncmp(rig_mode_now->name, "observe", 7) != 0;
}

static bool is_irdma(void)
{
	return strstr(rig_mode_now->name, "irdma");
}

/*
 * Where the device reuses the entries of unsignalled WQEs silently, an application need not signal
 * or poll at all; on other devices its queue stays full. The shim knows the latter of mlx5 only.
 */
static void a_sender_that_signals_nothing_passes_where_it_passes_bare(void **state)
{
	enum { MANY = 700 };
	struct rig r;

	for (uint32_t depth = 1; depth <= 300; depth += depth < 12 ? 1 : 13) {
		unsigned n = 0;
		int error = 0;

		rig_open(&r, (struct rig_conf){ .max_send_wr = depth });
		for (; n < MANY && !error; n += !error)
			error = rig_post(&r, n, IBV_WR_RDMA_WRITE, 0, 8, 0);
		if (fake_profile()->reuses_silently)
			assert_int_equal(n, MANY);
		else
			assert_true(n >= depth && (error == ENOMEM || is_irdma()));
		rig_poll_nothing(r.scq);
		rig_close(&r);
	}
}

/*
 * Also if all WRs have completed, an entry is free when the application has polled the completion
 * of its WR or of a later one, except where the device reuses entries silently: an application that
 * posts until the queue is full counts on these entries. The shim implements this for mlx5 only.
 */
static void an_entry_is_free_when_its_completion_is_polled(void **state)
{
	struct ibv_wc wc[4];
	unsigned spins = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 8, .one_cq = true });
	if (fake_profile()->reuses_silently || is_irdma()) {
		rig_close(&r);
		skip();
	}
	for (unsigned i = 0; i < rig_cap.max_send_wr; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 64,
					  i % 2 ? IBV_SEND_SIGNALED : 0), 0);
	while (fake_pending())
		assert_true(rig_keep_waiting(&spins));
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(rig_post(&r, 99, IBV_WR_RDMA_WRITE, 0, 64, 0), ENOMEM);
		assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 1);
		assert_int_equal(wc->wr_id, 2 * i + 1);
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(rig_post(&r, 99, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	}
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	rig_to_rts(&r, r.a, r.b->qp_num);
	for (unsigned i = 0; i < rig_cap.max_send_wr; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
	assert_int_equal(rig_post(&r, 99, IBV_WR_RDMA_WRITE, 0, 64, 0), ENOMEM);
	rig_close(&r);
}

static void post_before_rts(bool resume_by_post)
{
	const int refusal = fake_profile()->not_rts;
	struct ibv_wc wc[8];
	struct rig r;
	int n = 0;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 4 });
	fake_resume_by_post(resume_by_post);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 9000,
					  i == 1 ? 0 : IBV_SEND_SIGNALED), refusal);
	rig_to_rts(&r, r.a, r.b->qp_num);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 9000, IBV_SEND_SIGNALED), 0);
	if (!refusal || fake_profile()->keeps_early) {
		rig_poll(r.scq, 2, wc);
		assert_int_equal(wc[n++].wr_id, 0);
		assert_int_equal(wc[n++].wr_id, 2);
	}
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 3);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/*
 * Some devices queue it, and carry it out in RTS; some do so when they get the next WR. librxe
 * queues it with an error.
 */
static void a_wr_before_rts_is_refused_or_completes(void **state)
{
	post_before_rts(false);
	post_before_rts(true);
}

/*
 * librxe's doorbell fails, and it names the first WR that did not fit. WRs that fit are carried out
 * in RTS, beginning when a WR is posted, even if it is refused.
 */
static void a_full_queue_before_rts_begins_with_a_refused_wr(void **state)
{
	struct ibv_send_wr wr[16], *bad = NULL;
	struct ibv_sge sge[16];
	struct ibv_wc wc[16];
	uint32_t depth;
	struct rig r;

	if (!fake_profile()->keeps_early)
		skip();
	rig_open(&r, (struct rig_conf){ .max_send_wr = 4 });
	depth = rig_cap.max_send_wr;
	assert_true(depth + 2 <= 16);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	for (uint32_t i = 0; i < depth + 2; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED);
		wr[i].next = i < depth + 1 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(ibv_post_send(r.a, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[depth]);
	assert_int_equal(rig_post(&r, 98, IBV_WR_RDMA_WRITE, 0, 64, 0), EINVAL);
	rig_to_rts(&r, r.a, r.b->qp_num);
	rig_poll_nothing(r.scq);
	assert_int_equal(rig_post(&r, 99, IBV_WR_RDMA_WRITE, 0, 64, 0), ENOMEM);
	rig_poll(r.scq, (int)depth, wc);
	for (uint32_t i = 0; i < depth; i++)
		assert_true(wc[i].wr_id == i && wc[i].status == IBV_WC_SUCCESS);
	assert_int_equal(rig_post(&r, 100, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->wr_id, 100);
	rig_close(&r);
}

/* A batch of n WRITEs; returns the result of ibv_wr_complete(). */
static int post_batch(struct rig *r, uint64_t wr_id, uint32_t n)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(r->a);

	ibv_wr_start(ex);
	for (uint32_t i = 0; i < n; i++) {
		ex->wr_id = wr_id + i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(ex, r->dmr->rkey, (uintptr_t)r->dst);
		ibv_wr_set_sge(ex, r->smr->lkey, (uintptr_t)r->src, 9000);
	}
	return ibv_wr_complete(ex);
}

/* libmlx5 checks only the state; librxe checks the space, and queues the WRs. */
static void a_batch_before_rts_is_treated_as_by_the_device(void **state)
{
	const bool kept = fake_profile()->keeps_early;
	struct ibv_wc wc[4];
	struct rig r;

	if (rig_is("gated-irdma"))
		skip(); /* libirdma has no ibv_wr_*() */
	rig_open(&r, (struct rig_conf){ .max_send_wr = 4, .ex = true });
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	assert_int_equal(post_batch(&r, 1, rig_cap.max_send_wr + 1),
			 kept ? fake_profile()->batch_too_large : EINVAL);
	assert_int_equal(post_batch(&r, 10, 2), EINVAL);
	rig_to_rts(&r, r.a, r.b->qp_num);
	rig_poll_nothing(r.scq);
	assert_int_equal(post_batch(&r, 20, 1), 0);
	rig_poll(r.scq, kept ? 3 : 1, wc);
	for (int i = 0; i < (kept ? 3 : 1); i++) {
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[i].wr_id, kept && i < 2 ? 10 + i : 20);
	}
	/* In the error state, but never in RTS. */
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
	assert_int_equal(post_batch(&r, 30, 1), kept ? 0 : EINVAL);
	rig_poll(r.scq, kept, wc);
	rig_poll_nothing(r.scq);
	rig_close(&r);
}

/*
 * WQEs that the device got before SQD open the gate, so one WQE must reach it. The rest of a split
 * WRITE does as well: LIMITS of libccshim(7).
 */
static void a_post_after_sqd_resumes_the_queue(void **state)
{
	struct ibv_wc wc[8];
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_rd_atomic = 1 });
	for (unsigned read = 0; read < 2; read++) {
		fake_resume_by_post(true);
		fake_hold(true);
		for (unsigned i = 0; i < 4; i++) {
			if (i == 3) {
				assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
				assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
				fake_hold(false);
			}
			assert_int_equal(rig_post(&r, i, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
						  0, 9000, IBV_SEND_SIGNALED), 0);
		}
		rig_poll(r.scq, 4, wc);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(wc[i].wr_id, i);
	}
	rig_close(&r);
}

/* The queue of Linux 6.12's rxe may count as drained only when the device gets a WQE in SQD. */
static void in_sqd_rxe_gets_a_wqe(void **state)
{
	struct ibv_wc wc[4];
	struct rig r;
	size_t seen;

	rig_open(&r, (struct rig_conf){ 0 });
	if (!fake_profile()->clears_bad_wr) { /* not rxe */
		rig_close(&r);
		skip();
	}
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	seen = fake_seen_count();
	assert_int_equal(rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, 9000, IBV_SEND_SIGNALED), 0);
	assert_true(fake_seen_count() > seen);
	rig_poll_nothing(r.scq);
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	fake_hold(true);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 9000, IBV_SEND_SIGNALED), 0);
	seen = fake_seen_count();
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	assert_true(fake_seen_count() >= seen + rig_is("gated-rxe")); /* where one waits */
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	fake_hold(false);
	rig_poll(r.scq, 4, wc);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(wc[i].wr_id, i);
	rig_close(&r);
}

/* The application may use all entries that the device grants by rounding up. */
static void the_devices_depth_is_granted_and_in_force(void **state)
{
	static const uint32_t depths[] = { 1, 4, 10, 16, 23, 64, 100, 129, 300, 1000 };

	if (is_irdma())
		skip(); /* the shim does not know how that rounds up */
	for (unsigned i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		struct ibv_qp_cap bare = { .max_send_wr = depths[i], .max_send_sge = 4,
					   .max_inline_data = 64 };
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;
		struct ibv_sge sge;
		struct ibv_send_wr wr, *bad;
		struct rig r;

		fake_round_up(&bare, IBV_QPT_RC, NULL);
		rig_open(&r, (struct rig_conf){ .max_send_wr = depths[i], .cqe = 4096 });
		assert_int_equal(rig_cap.max_send_wr, bare.max_send_wr);
		assert_int_equal(ibv_query_qp(r.a, &attr, IBV_QP_CAP, &init), 0);
		assert_int_equal(init.cap.max_send_wr, bare.max_send_wr);
		assert_int_equal(attr.cap.max_send_wr, bare.max_send_wr);
		fake_hold(true);
		for (uint32_t n = 0; n < bare.max_send_wr; n++)
			assert_int_equal(rig_post(&r, n, IBV_WR_RDMA_WRITE, 0, 8,
						  IBV_SEND_SIGNALED), 0);
		wr = rig_wr(&r, &sge, 1, IBV_WR_RDMA_WRITE, 0, 8, 0);
		assert_int_equal(ibv_post_send(r.a, &wr, &bad), ENOMEM);
		rig_close(&r);
	}
}

/* No more entries at the device than without the shim, where no WR is ever split. */
static void observing_requests_no_more_entries(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 8 });
	if (defers())
		assert_true(fake_depth(r.a) > 8);
	else
		assert_int_equal(fake_depth(r.a), 8);
	rig_close(&r);
}

/* The clock of a thread that ends a QP: only its naps move it, however long they take. */
static _Thread_local struct timespec lingers_at;
static _Thread_local bool lingers, steps; /* steps: the device carries out WQEs in the naps only */

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!lingers || id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, ts);
	*ts = lingers_at;
	return 0;
}

__attribute__((visibility("default")))
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end)
{
	int (*real)(sem_t *, clockid_t, const struct timespec *);

	if (!lingers) {
		*(void **)&real = dlsym(RTLD_NEXT, "sem_clockwait");
		return real(sem, clock, end);
	}
	if (steps)
		fake_step(16);
	else
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
	lingers_at = *end;
	errno = ETIMEDOUT;
	return -1;
}

static int end_qp(struct rig *r, bool destroy)
{
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &lingers_at);
	lingers = true;
	rc = destroy ? ibv_destroy_qp(r->a) : rig_state(r->a, IBV_QPS_ERR);
	lingers = false;
	if (destroy)
		r->a = NULL;
	return rc;
}

/* A WRITE of 8 bytes after more data than the gate permits; then the QP ends, 100 ms later. */
static void the_last_message_arrives_before_the_qp_ends(void **state)
{
	const struct timespec nap = { .tv_nsec = 100000000 };
	struct rig r;

	for (unsigned destroy = 0; destroy < 2; destroy++) {
		rig_open(&r, (struct rig_conf){ 0 });
		r.src[RIG_BUF - 1] = 1;
		fake_link(500, 10e9);
		for (unsigned i = 0; i < 14; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 4096, 0), 0);
		assert_int_equal(rig_post(&r, 14, IBV_WR_RDMA_WRITE, RIG_BUF - 1, 1, 0), 0);
		nanosleep(&nap, NULL);
		while (fake_pending())
			nanosleep(&nap, NULL);
		if (strncmp(rig_mode_now->name, "gated", 5) != 0) /* the fake's thread may be late */
			rig_poll_nothing(r.scq);
		assert_int_equal(end_qp(&r, destroy), 0);
		assert_int_equal(r.dst[RIG_BUF - 1], 1);
		rig_close(&r);
	}
}

/* It has left the gate, late, and the device has not got to it. */
static void a_message_that_was_held_back_arrives_before_the_qp_ends(void **state)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	struct ibv_wc wc;
	struct rig r;

	if (strncmp(rig_mode_now->name, "gated", 5) != 0)
		skip();
	for (unsigned destroy = 0; destroy < 2; destroy++) {
		rig_open(&r, (struct rig_conf){ 0 });
		r.src[RIG_BUF - 1] = 1;
		fake_link(0, 0);
		fake_hold(true);
		assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 4096, 0), 0);
		assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, RIG_BUF - 1, 1, 0), 0);
		assert_int_equal(fake_pending(), 1);
		nanosleep(&nap, NULL);
		assert_int_equal(fake_step(1), 1);
		for (unsigned spins = 0; !fake_pending() && rig_keep_waiting(&spins);)
			assert_int_equal(ibv_poll_cq(r.scq, 1, &wc), 0);
		assert_int_equal(fake_pending(), 1);
		assert_int_equal(r.dst[RIG_BUF - 1], 0);
		steps = true;
		assert_int_equal(end_qp(&r, destroy), 0);
		steps = false;
		fake_hold(false);
		assert_int_equal(r.dst[RIG_BUF - 1], 1);
		rig_close(&r);
	}
}

/* The first WQE fails, and irdma completes no WR that is posted afterwards. */
static void a_sleeping_sender_gets_all_its_flushed_wrs(void **state)
{
	struct pollfd ready = { .events = POLLIN };
	struct ibv_wc wc[16];
	struct ibv_cq *cq;
	struct rig r;
	void *context;
	int n = 0, got;

	rig_open(&r, (struct rig_conf){ .channel = true });
	fake_ignore_in_error(is_irdma());
	ready.fd = r.channel->fd;
	fake_hold(true);
	fake_fail_cqe(0, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 9000, IBV_SEND_SIGNALED), 0);
	fake_hold(false);
	while (n < 12) {
		assert_int_equal(poll(&ready, 1, -1), 1);
		assert_int_equal(ibv_get_cq_event(r.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
		while ((got = ibv_poll_cq(r.scq, 16, wc)) > 0)
			n += got;
		assert_int_equal(got, 0);
	}
	assert_int_equal(n, 12);
	rig_close(&r);
}

static void a_message_that_is_too_long_fails_as_a_whole(void **state)
{
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, (1u << 30) + 1, 0), 0);
	rig_poll(r.scq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(r.dst[0], 0);
	rig_close(&r);
}

#define GATED "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k", \
	"CCSHIM_BASE_RTT=20us", "CCSHIM_LINGER=1s"
#define SPLIT "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=16m"

/* Soft-RoCE's library refuses it, others let the device do that. */
static void a_misaligned_atomic_is_refused_as_by_the_device(void **state)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc[4];
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 9000, IBV_SEND_SIGNALED), 0);
	wr = rig_wr(&r, &sge, 3, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, IBV_SEND_SIGNALED);
	wr.wr.atomic.remote_addr++;
	if (fake_profile()->checks_atomics) {
		assert_int_equal(ibv_post_send(r.a, &wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr);
		rig_poll(r.scq, 3, wc);
	} else {
		assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
		rig_poll(r.scq, 4, wc);
		assert_int_equal(wc[3].status, IBV_WC_REM_ACCESS_ERR);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	rig_close(&r);
}

/* Whether bad_wr is written without an error, and an empty list refused. */
static void lists_and_bad_wr_are_treated_as_by_the_device(void **state)
{
	bool clears;
	struct ibv_send_wr wr[2], *const unset = &wr[1], *bad;
	struct ibv_sge sge[2];
	struct ibv_wc wc[2];
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	clears = fake_profile()->clears_bad_wr;
	for (unsigned n = 1; n <= 2; n++) {
		for (unsigned i = 0; i < n; i++) {
			wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED);
			wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		}
		bad = unset;
		assert_int_equal(ibv_post_send(r.a, wr, &bad), 0);
		assert_ptr_equal(bad, clears ? NULL : unset);
		rig_poll(r.scq, (int)n, wc);
	}
	bad = unset;
	assert_int_equal(ibv_post_send(r.a, NULL, &bad), clears ? EINVAL : 0);
	assert_ptr_equal(bad, clears ? NULL : unset);
	assert_int_equal(ibv_post_send(r.a, wr, NULL), clears ? EINVAL : 0);
	rig_close(&r);
}

/* The application may post whatever its queue has space for. */
static void keys_are_invalidated_while_segments_fill_the_devices_queue(void **state)
{
	for (uint32_t depth = 2; depth <= 70; depth += 1 + depth / 4) {
		struct ibv_wc wc[128];
		uint32_t n = 1;
		struct rig r;

		rig_open(&r, (struct rig_conf){ .max_send_wr = depth, .cqe = 128 });
		fake_hold(true);
		assert_int_equal(rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, RIG_BUF, IBV_SEND_SIGNALED), 0);
		for (; n < rig_cap.max_send_wr; n++) {
			const int rc = rig_post(&r, n, IBV_WR_LOCAL_INV, 0, 0, IBV_SEND_SIGNALED);

			if (rc)
				fail_msg("LOCAL_INV %u of %u: error %d", n, rig_cap.max_send_wr, rc);
		}
		assert_int_equal(rig_post(&r, n, IBV_WR_LOCAL_INV, 0, 0, IBV_SEND_SIGNALED), ENOMEM);
		rig_poll_stepping(r.scq, (int)n, wc);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(wc[i].wr_id, i);
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		}
		assert_memory_equal(r.dst, r.src, RIG_BUF);
		rig_close(&r);
	}
}

/* Those that wait for an entry get the code that the device would have returned at once. */
static void wrs_are_checked_as_by_the_device_while_segments_fill_its_queue(void **state)
{
	const struct fake_profile *p = fake_profile();
	struct ibv_sge sge[8] = { 0 };
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc[4];
	struct ibv_mw *mw;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 63, .max_send_sge = 2 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
	for (unsigned i = 0; i < 4; i++) { /* the window grows */
		fake_hold(i == 3);
		assert_int_equal(rig_post(&r, 0, IBV_WR_RDMA_WRITE, 0, RIG_BUF, IBV_SEND_SIGNALED), 0);
		if (i < 3)
			rig_poll(r.scq, 1, wc);
	}

	wr = rig_wr(&r, sge, 1, IBV_WR_LOCAL_INV, 0, 0, IBV_SEND_SIGNALED);
	wr.num_sge = (int)rig_cap.max_send_sge + 1;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), p->too_large);
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.length = 0;
	wr.num_sge = p->binds_without_sge ? 1 : (int)rig_cap.max_send_sge + 1;
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), p->binds_without_sge ? EINVAL : p->too_large);

	wr = rig_wr(&r, sge, 1, IBV_WR_ATOMIC_WRITE, 0, 8, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), p->takes_any_opcode ? 0 : EINVAL);
	if (p->takes_any_opcode) {
		rig_poll_stepping(r.scq, 2, wc);
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
		assert_true(wc[1].wr_id == 1 && wc[1].status == IBV_WC_LOC_QP_OP_ERR);
		assert_memory_equal(r.dst, r.src, RIG_BUF);
	}
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

/* ibv_bind_mw() has to find an entry at once, whatever is queued before it. */
static void a_window_is_bound_behind_long_messages(void **state)
{
	static const uint32_t depths[] = { 8, 16, 60 };

	for (unsigned d = 0; d < 3; d++) {
		struct ibv_mw_bind bind = { .wr_id = 77, .send_flags = IBV_SEND_SIGNALED };
		struct ibv_wc wc[2];
		struct ibv_mw *mw;
		struct rig r;

		rig_open(&r, (struct rig_conf){ .max_send_wr = depths[d] });
		mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
		assert_non_null(mw);
		fake_hold(true);
		for (unsigned i = 1; i < rig_cap.max_send_wr; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, RIG_BUF,
						  i == 1 ? IBV_SEND_SIGNALED : 0), 0);
		assert_int_equal(ibv_bind_mw(r.a, mw, &bind), 0);
		rig_poll_stepping(r.scq, 2, wc);
		assert_int_equal(wc[0].wr_id, 1);
		assert_int_equal(wc[1].wr_id, 77);
		fake_hold(false);
		ibv_dealloc_mw(mw);
		rig_close(&r);
	}
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "bare-mlx5", { "RIG_BARE=1" } },
		{ "bare-rxe", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
		{ "observe-mlx5", { "CCSHIM_MODE=observe" } },
		{ "observe-rxe", { "CCSHIM_MODE=observe", "FAKERDMA_PROFILE=rxe" } },
		{ "gated-mlx5", { GATED } },
		{ "gated-rxe", { GATED, "FAKERDMA_PROFILE=rxe" } },
		{ "split-mlx5", { SPLIT } },
		{ "split-rxe", { SPLIT, "FAKERDMA_PROFILE=rxe" } },
		{ "open-rxe", { "CCSHIM_CC=none", "FAKERDMA_PROFILE=rxe" } },
		{ "gated-irdma", { GATED, "FAKERDMA_VENDOR=0x8086:0x1592" } },
		{ "gated-mlx5-33", { GATED, "FAKERDMA_PROFILE=mlx5-33" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sender_that_signals_nothing_passes_where_it_passes_bare),
		cmocka_unit_test(an_entry_is_free_when_its_completion_is_polled),
		cmocka_unit_test(a_wr_before_rts_is_refused_or_completes),
		cmocka_unit_test(a_full_queue_before_rts_begins_with_a_refused_wr),
		cmocka_unit_test(a_batch_before_rts_is_treated_as_by_the_device),
		cmocka_unit_test(a_post_after_sqd_resumes_the_queue),
		cmocka_unit_test(in_sqd_rxe_gets_a_wqe),
		cmocka_unit_test(the_devices_depth_is_granted_and_in_force),
		cmocka_unit_test(observing_requests_no_more_entries),
		cmocka_unit_test(the_last_message_arrives_before_the_qp_ends),
		cmocka_unit_test(a_message_that_was_held_back_arrives_before_the_qp_ends),
		cmocka_unit_test(a_sleeping_sender_gets_all_its_flushed_wrs),
		cmocka_unit_test(a_message_that_is_too_long_fails_as_a_whole),
		cmocka_unit_test(lists_and_bad_wr_are_treated_as_by_the_device),
		cmocka_unit_test(keys_are_invalidated_while_segments_fill_the_devices_queue),
		cmocka_unit_test(wrs_are_checked_as_by_the_device_while_segments_fill_its_queue),
		cmocka_unit_test(a_misaligned_atomic_is_refused_as_by_the_device),
		cmocka_unit_test(a_window_is_bound_behind_long_messages),
	};

	return rig_run_in(argc, argv, "send queue", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
