/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The option `impair`: each failure is compared with the same failure of the bare device, in all that
 * the application sees. The bare device's process writes what it saw to files, the others read them.
 */
#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

#include "../unit/seed.h"

enum { WRS = 8, RECEIVES = 3 };

static const struct kind {
	const char *name;
	enum ibv_wc_status status;       /* 0: all are flushed */
} kinds[] = {
	{ "retry", IBV_WC_RETRY_EXC_ERR },
	{ "rnr", IBV_WC_RNR_RETRY_EXC_ERR },
	{ "access", IBV_WC_REM_ACCESS_ERR },
	{ "invalid", IBV_WC_REM_INV_REQ_ERR },
	{ "operation", IBV_WC_REM_OP_ERR },
	{ "flush", 0 },
	{ "fatal", 0 },
};

static char seen[1 << 16];

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	const size_t at = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + at, sizeof(seen) - at, fmt, ap);
	va_end(ap);
}

static bool is_bare(void)
{
	return strncmp(rig_mode_now->name, "bare", 4) == 0;
}

static bool is_signalled(unsigned i)
{
	return i % 3 == 2;
}

static void note_completions(const struct rig *r, const char *what, struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[WRS + RECEIVES];

	rig_poll(cq, n, wc);
	for (int i = 0; i < n; i++)
		note("%s: %llu status %d vendor_err %#x of %s\n", what,
		     (unsigned long long)wc[i].wr_id, wc[i].status, wc[i].vendor_err,
		     wc[i].qp_num == r->a->qp_num ? "a" : "b");
	rig_poll_nothing(cq);
}

static void note_state(const char *name, struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	note("state of %s: %d, %d\n", name, attr.qp_state, qp->state);
}

/* Events that can be read without waiting. */
static void note_events(const struct rig *r)
{
	struct pollfd fd = { .fd = r->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&fd, 1, 0) > 0) {
		assert_int_equal(ibv_get_async_event(r->ctx, &event), 0);
		note("event %d of %s\n", event.event_type,
		     event.event_type >= IBV_EVENT_PORT_ACTIVE && event.event_type <= IBV_EVENT_PORT_ERR
		     ? event.element.port_num == 1 ? "port 1" : "another port"
		     : event.element.qp == r->a ? "a" : "another QP");
		ibv_ack_async_event(&event);
	}
}

/* WRs of all kinds; few are signalled. */
static void post(struct rig *r, unsigned i)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ };

	note("post %u: %d\n", i, rig_post(r, i, opcodes[i % 3], i * 16384, i % 2 ? 64 : 16384,
					  is_signalled(i) ? IBV_SEND_SIGNALED : 0));
}

/* WR k fails. The connection is number 3 * k + 2 of the process, and 3 * k + 3 after the reset. */
static void fail_wr(const struct kind *kind, unsigned k)
{
	unsigned before = 0;
	struct rig r;
	struct ibv_recv_wr recv = { 0 }, *bad;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 16 });
	note("-- %s %u\n", kind->name, k);
	for (unsigned i = 0; i < WRS; i++)
		assert_int_equal(rig_recv(&r, 100 + i, i * 16384, 16384), 0);
	for (recv.wr_id = 50; recv.wr_id < 50 + RECEIVES; recv.wr_id++)
		assert_int_equal(ibv_post_recv(r.a, &recv, &bad), 0);
	if (is_bare() && kind->status)
		fake_fail_cqe(k, kind->status);
	for (unsigned i = 0; i < WRS; i++) {
		if (is_bare() && !kind->status && i == k) {
			fake_fail_qp(r.a);
			if (strcmp(kind->name, "fatal") == 0)
				fake_async_event(r.a, IBV_EVENT_QP_FATAL);
		}
		post(&r, i);
		before += i < k && is_signalled(i);
	}
	note_completions(&r, "send", r.scq, (int)(before + WRS - k));
	note_completions(&r, "receive", r.rcq, (int)(RECEIVES + (k + 1) / 3));
	note_state("a", r.a);
	note_state("b", r.b);
	note_events(&r);
	post(&r, WRS);
	note_completions(&r, "send in the error state", r.scq, 1);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	rig_to_rts(&r, r.a, r.b->qp_num);
	post(&r, 2);
	note_completions(&r, "send after a reset", r.scq, 1);
	note("data: %d\n", memcmp(r.src, r.dst, 16384) != 0);
	rig_close(&r);
}

/* Write the transcript of the first process, or compare it with that. */
static void end_transcript(bool first, const char *name)
{
	const char *dir = getenv("IMPAIR_OUT");
	static char others[sizeof(seen)];
	const char *profile = getenv("FAKERDMA_PROFILE");
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", dir ? dir : ".", name, profile ? profile : "mlx5");
	f = fopen(path, first ? "w" : "r");
	assert_non_null(f);
	if (first)
		fputs(seen, f);
	else
		others[fread(others, 1, sizeof(others) - 1, f)] = '\0';
	fclose(f);
	if (!first)
		assert_string_equal(seen, others);
	seen[0] = '\0';
}

static void a_failure_is_reported_as_by_the_device(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!is_bare() && strncmp(rig_mode_now->name, kinds[i].name, strlen(kinds[i].name)) != 0)
			continue;
		for (unsigned k = 0; k < WRS; k++)
			fail_wr(&kinds[i], k);
		end_transcript(is_bare(), kinds[i].name);
	}
}


/* A queue pair of one thread: other threads must not change which of its WRs fails. */
struct stream {
	const struct rig *rig;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	uint64_t seed, posted, next;     /* numbers of WRs */
	bool due[1 << 12];               /* the WR has a completion to come */
	char failure[64];
};

enum { STREAMS = 6, LISTS = 300 };

static uint64_t random_below(struct stream *s, uint64_t n)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (s->seed >> 33) % n;
}

/* Each WR has one completion, in order, except an unsignalled success. */
static void account(struct stream *s, const struct ibv_wc *wc)
{
	while (!s->due[s->next] && s->next < wc->wr_id)
		s->next++;
	if (s->next++ != wc->wr_id || !!*s->failure != (wc->status == IBV_WC_WR_FLUSH_ERR))
		fail_msg("completion of %llu with status %d, not of %llu, after failure '%s'",
			 (unsigned long long)wc->wr_id, wc->status, (unsigned long long)s->next - 1,
			 s->failure);
	if (!wc->status || *s->failure)
		return;
	snprintf(s->failure, sizeof(s->failure), "%llu with status %d", (unsigned long long)wc->wr_id,
		 wc->status);
	for (uint64_t i = s->next; i < s->posted; i++)
		s->due[i] = true; /* it is flushed */
}

static void drain_stream(struct stream *s)
{
	unsigned spins = 0;
	struct ibv_wc wc[4];
	int n;

	while (s->next < s->posted) {
		n = ibv_poll_cq(s->cq, 4, wc);
		assert_true(n > 0 || rig_keep_waiting(&spins));
		for (int i = 0; i < n; i++)
			account(s, &wc[i]);
	}
}

/* Post a list, whose last WR is signalled. */
static void post_some(struct stream *s)
{
	const unsigned n = 1 + (unsigned)random_below(s, 8);
	struct ibv_send_wr wr[8], *bad;
	struct ibv_sge sge[8];

	for (unsigned i = 0; i < n; i++) {
		const uint64_t id = s->posted++;

		s->due[id] = *s->failure || i + 1 == n || random_below(s, 2);
		wr[i] = rig_wr(s->rig, &sge[i], id,
			       random_below(s, 2) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			       4096 * random_below(s, 8), 1 + (uint32_t)random_below(s, 20000),
			       i + 1 == n || s->due[id] ? IBV_SEND_SIGNALED : 0);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	assert_int_equal(ibv_post_send(s->qp, wr, &bad), 0);
}

static void *run_stream(void *arg)
{
	struct stream *s = arg;

	for (int i = 0; i < LISTS; i++) {
		post_some(s);
		if (random_below(s, 2) || s->posted - s->next > 16 || i + 1 == LISTS)
			drain_stream(s);
	}
	return NULL;
}

/* The seed is fixed, and printed, so that all modes do the same. */
static void random_failures_lose_and_repeat_no_completion(void **state)
{
	static struct stream s[STREAMS];
	pthread_t thread[STREAMS];
	uint64_t seed = strtoull(getenv("CCS_SEED"), NULL, 0);
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 32, .cqe = 400 });
	for (unsigned i = 0; i < STREAMS; i++) {
		s[i] = (struct stream){ .rig = &r, .cq = rig_cq(&r, 64), .seed = seed + i };
		s[i].qp = rig_qp(&r, s[i].cq, s[i].cq);
		rig_to_rts(&r, s[i].qp, r.b->qp_num);
	}
	for (unsigned i = 0; i < STREAMS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run_stream, &s[i]), 0);
	for (unsigned i = 0; i < STREAMS; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		note("%u: %s of %llu\n", i, s[i].failure, (unsigned long long)s[i].posted);
		assert_int_equal(ibv_destroy_qp(s[i].qp), 0);
		assert_int_equal(ibv_destroy_cq(s[i].cq), 0);
	}
	rig_close(&r);
	assert_non_null(strstr(seen, "status"));
	end_transcript(strcmp(rig_mode_now->name, "random") == 0, "random");
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time, s, from the post of n WRs of 16 KiB to their last completion. */
static double transfer_s(struct rig *r, unsigned n)
{
	const double begun = now_s();
	struct ibv_wc wc[64];

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, i * 16384, 16384, IBV_SEND_SIGNALED),
				 0);
	rig_poll(r->scq, (int)n, wc);
	for (unsigned i = 0; i < n; i++)
		assert_true(wc[i].wr_id == i && !wc[i].status);
	return now_s() - begun;
}

static void expect_least(double seconds, double least)
{
	if (seconds < least)
		fail_msg("%g s, and not %g s or more", seconds, least);
}

/* The time is a lower bound: load can only make it longer. Connection 2. */
static void requests_leave_after_the_delay(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	expect_least(transfer_s(&r, 8), .020);
	rig_close(&r);
}

/* Connection 4. A destruction that the device refuses does not prevent it. */
static void an_idle_queue_pair_fails_at_its_time(void **state)
{
	struct ibv_recv_wr recv = { .wr_id = 50 }, *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(ibv_post_recv(r.a, &recv, &bad), 0);
	fake_fail_destroy_qp(0, EBUSY);
	assert_int_equal(ibv_destroy_qp(r.a), EBUSY);
	note_completions(&r, "receive", r.rcq, 1);
	note_state("a", r.a);
	rig_close(&r);
	assert_string_equal(seen, "receive: 50 status 5 vendor_err 0 of a\nstate of a: 6, 6\n");
	seen[0] = '\0';
}

static void post_batch(struct rig *r, unsigned n)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(r->a);

	ibv_wr_start(ex);
	for (unsigned i = 0; i < n; i++) {
		ex->wr_id = i;
		ex->wr_flags = 0;
		ibv_wr_rdma_write(ex, r->dmr->rkey, (uintptr_t)r->dst);
		ibv_wr_set_sge(ex, r->smr->lkey, (uintptr_t)r->src, 64);
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
}

/* Its requests are unsignalled; the third fails. Connection 6. */
static void a_sleeping_application_gets_the_event(void **state)
{
	struct ibv_cq *cq;
	struct ibv_wc wc[8];
	void *context;
	struct rig r;
	int got = 0;

	rig_open(&r, (struct rig_conf){ .channel = true, .ex = true });
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	post_batch(&r, 5);
	while (got < 3) {
		assert_int_equal(ibv_get_cq_event(r.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		got += ibv_poll_cq(cq, 8 - got, wc + got);
	}
	assert_int_equal(got, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 2 + i);
		assert_int_equal(wc[i].status, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR);
	}
	rig_close(&r);
}

/* Connection 8 is not selected, 9 is. */
static void a_queue_pair_is_a_new_connection_after_a_reset(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_true(transfer_s(&r, 1) > 0);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	rig_to_rts(&r, r.a, r.b->qp_num);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	note_completions(&r, "send", r.scq, 1);
	rig_close(&r);
	assert_string_equal(seen, "send: 1 status 10 vendor_err 0x88 of a\n");
	seen[0] = '\0';
}

/* Connection 12, with a shared receive queue, whose receives stay in it. */
static void a_queue_pair_with_an_srq_raises_its_event(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 16, 1, 1, 1, 0 } };
	struct ibv_qp *first;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	first = r.a;
	attr.send_cq = r.scq;
	attr.recv_cq = r.rcq;
	attr.srq = ibv_create_srq(r.pd, &srq_attr);
	r.a = attr.srq ? ibv_create_qp(r.pd, &attr) : NULL;
	assert_non_null(r.a);
	rig_to_rts(&r, r.a, r.b->qp_num);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	note_completions(&r, "send", r.scq, 2);
	rig_poll_nothing(r.rcq);
	note_events(&r);
	assert_string_equal(seen, "send: 1 status 13 vendor_err 0x87 of a\nsend: 2 status 5 vendor_err 0xf9 of a\n"
				  "event 16 of a\n");
	seen[0] = '\0';
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	assert_int_equal(ibv_destroy_srq(attr.srq), 0);
	r.a = first;
	rig_close(&r);
}

static atomic_bool acknowledged;

static void *destroy(void *qp)
{
	assert_int_equal(ibv_destroy_qp(qp), 0);
	return atomic_load(&acknowledged) ? qp : NULL;
}

/* Connection 14. The delay lets a destruction that does not wait be seen. */
static void destruction_waits_until_the_event_is_acknowledged(void **state)
{
	struct ibv_async_event event;
	struct ibv_qp *spare;
	pthread_t thread;
	void *in_order;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	spare = rig_qp(&r, r.scq, r.rcq);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	assert_int_equal(ibv_get_async_event(r.ctx, &event), 0);
	assert_true(event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == r.a);
	assert_int_equal(pthread_create(&thread, NULL, destroy, r.a), 0);
	rig_until_others_sleep();
	atomic_store(&acknowledged, true);
	ibv_ack_async_event(&event);
	assert_int_equal(pthread_join(thread, &in_order), 0);
	assert_non_null(in_order);
	r.a = spare;
	rig_close(&r);
}

/* Connection 16. The device holds them until the queue pair is being destroyed. */
static void delayed_requests_are_sent_before_a_queue_pair_is_destroyed(void **state)
{
	unsigned spins = 0;
	struct ibv_qp *spare;
	pthread_t thread;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	spare = rig_qp(&r, r.scq, r.rcq);
	fake_hold(true);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 16384, 0), 0);
	assert_int_equal(fake_pending(), 0);
	assert_int_equal(pthread_create(&thread, NULL, destroy, r.a), 0);
	while (!fake_pending() && rig_keep_waiting(&spins))
		;
	rig_until_others_sleep();
	fake_step(1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	fake_hold(false);
	assert_memory_equal(r.src, r.dst, 16384);
	r.a = spare;
	rig_close(&r);
}

/* Connection 18. The failure before it waits for the request. */
static void a_queue_pair_fails_at_its_time_while_a_request_is_delayed(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	note_completions(&r, "send", r.scq, 1);
	rig_close(&r);
	assert_string_equal(seen, "send: 1 status 5 vendor_err 0xf9 of a\n");
	seen[0] = '\0';
}

/* Connection 20; the last test, as the port stays down. */
static void requests_fail_after_the_port_is_down(void **state)
{
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	rig_poll(r.scq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	note_events(&r);
	assert_string_equal(seen, "event 10 of port 1\n");
	rig_close(&r);
}

static void until_the_poller_waits(void *arg)
{
	rig_until_others_sleep();
}

static void *post_one(void *arg)
{
	struct rig *r = arg;

	fake_during_modify(until_the_poller_waits, NULL);
	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, 64, 0), 0);
	return NULL;
}

/*
 * While the request fails in one thread, another polls: the device has flushed the receive, has not yet
 * returned from the change of state, and has not begun with requests that are posted afterwards.
 */
static void first_completion(struct rig *r, struct ibv_cq *rcq)
{
	struct ibv_recv_wr recv = { .wr_id = 50 }, *bad;
	struct ibv_qp *first = r->a;
	pthread_t thread;
	struct ibv_wc wc;

	r->a = rig_qp(r, r->scq, rcq);
	rig_to_rts(r, r->a, r->b->qp_num);
	assert_int_equal(ibv_post_recv(r->a, &recv, &bad), 0);
	fake_hold(true);
	assert_int_equal(pthread_create(&thread, NULL, post_one, r), 0);
	while (!ibv_poll_cq(rcq, 1, &wc))
		;
	if (rcq != r->scq) /* its completion is written before, to the other CQ */
		assert_int_equal(ibv_poll_cq(r->scq, 1, &wc), 1);
	note("%llu %d\n", (unsigned long long)wc.wr_id, wc.status);
	assert_string_equal(seen, "1 12\n");
	seen[0] = '\0';
	assert_int_equal(pthread_join(thread, NULL), 0);
	fake_hold(false);
	if (rcq == r->scq)
		rig_poll(rcq, 1, &wc);
	assert_int_equal(ibv_destroy_qp(r->a), 0);
	r->a = first;
}

static void a_request_fails_before_receives_are_flushed(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	first_completion(&r, r.rcq);
	first_completion(&r, r.scq);
	rig_close(&r);
}

#define RULES(kind) \
	"CCSHIM_IMPAIR=qp=2," kind ":0,qp=5," kind ":1,qp=8," kind ":2,qp=11," kind ":3,qp=14," kind \
	":4,qp=17," kind ":5,qp=20," kind ":6,qp=23," kind ":7"
#define OPEN "CCSHIM_CC=none", "CCSHIM_SEGMENT=1m", "CCSHIM_MAX_INFLIGHT=16m"
#define GATED "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k", "CCSHIM_BASE_RTT=20us"

#define RANDOM(seed) "CCSHIM_IMPAIR=seed=" seed ",delay=20us,jitter=20us,retry:.002,rnr:.001,access:1e-3"

static const struct rig_mode modes[] = {
	{ "bare", { "RIG_BARE=1" } },
	{ "bare-rxe", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
	{ "retry", { RULES("retry"), OPEN } },
	{ "retry-gated", { RULES("retry"), GATED } },
	{ "conditions", { "CCSHIM_IMPAIR=qp=2,delay=20ms,qp=4,flush:100ms,qp=6,retry:2,"
			  "qp=9,access,qp=12,rnr:1,qp=14,fatal,qp=16,delay=1000s,qp=18,delay=1000s,retry:0s,flush:2ms,qp=20,delay=0,port", "CCSHIM_LINGER=10s", OPEN } },
	{ "order", { "CCSHIM_IMPAIR=retry:0", OPEN } },
	{ "order-rxe", { "CCSHIM_IMPAIR=retry:0", OPEN, "FAKERDMA_PROFILE=rxe" } },
	{ "random", { RANDOM("7"), OPEN } },
	{ "random-gated", { RANDOM("7"), GATED, "FAKERDMA_PROFILE=mlx5" } },
	{ "retry-rxe", { RULES("retry"), OPEN, "FAKERDMA_PROFILE=rxe" } },
	{ "rnr", { RULES("rnr"), OPEN } },
	{ "access", { RULES("access"), OPEN } },
	{ "invalid", { RULES("invalid"), OPEN } },
	{ "operation", { RULES("operation"), OPEN } },
	{ "flush", { RULES("flush"), OPEN } },
	{ "fatal-rxe", { RULES("fatal"), OPEN, "FAKERDMA_PROFILE=rxe" } },
};

int main(int argc, char **argv)
{
	const struct CMUnitTest compared[] = {
		cmocka_unit_test(a_failure_is_reported_as_by_the_device),
	}, random[] = {
		cmocka_unit_test(random_failures_lose_and_repeat_no_completion),
	}, order[] = {
		cmocka_unit_test(a_request_fails_before_receives_are_flushed),
	}, conditions[] = {
		cmocka_unit_test(requests_leave_after_the_delay),
		cmocka_unit_test(an_idle_queue_pair_fails_at_its_time),
		cmocka_unit_test(a_sleeping_application_gets_the_event),
		cmocka_unit_test(a_queue_pair_is_a_new_connection_after_a_reset),
		cmocka_unit_test(a_queue_pair_with_an_srq_raises_its_event),
		cmocka_unit_test(destruction_waits_until_the_event_is_acknowledged),
		cmocka_unit_test(delayed_requests_are_sent_before_a_queue_pair_is_destroyed),
		cmocka_unit_test(a_queue_pair_fails_at_its_time_while_a_request_is_delayed),
		cmocka_unit_test(requests_fail_after_the_port_is_down),
	};
	const bool has_conditions = argc > 1 && strcmp(argv[1], "conditions") == 0;
	const bool is_random = argc > 1 && strncmp(argv[1], "random", 6) == 0;
	const bool is_order = argc > 1 && strncmp(argv[1], "order", 5) == 0;
	char dir[] = "/tmp/impair.XXXXXX", command[64], seed[32];
	const bool outer = argc < 2 && !getenv("IMPAIR_OUT") && mkdtemp(dir);
	int failed;

	if (outer) {
		setenv("IMPAIR_OUT", dir, 1);
		seed_start("random failures");
		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)seed_state);
		setenv("CCS_SEED", seed, 1);
	}
	failed = rig_run_in(argc, argv, "impair", modes, sizeof(modes) / sizeof(*modes),
			    has_conditions ? conditions : is_random ? random : is_order ? order : compared,
			    has_conditions ? sizeof(conditions) / sizeof(*conditions) : 1);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return outer && system(command) ? 1 : failed;
}
