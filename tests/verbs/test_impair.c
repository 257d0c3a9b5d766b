/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The option `impair`: each failure is compared with the same failure of the bare device, in all that
 * the application sees. The bare device's process writes what it saw to files, the others read them.
 */
#include "rig.h"

#include <poll.h>
#include <stdarg.h>

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

/* WRs of all kinds, of which few are signalled. */
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
		if (is_bare() && !kind->status && i == k)
			fake_fail_qp(r.a);
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
	note("data: %d\n", memcmp(r.src, r.dst, 16384));
	rig_close(&r);
}

/* Write the transcript, or compare it with the bare device's. */
static void end_transcript(const struct kind *kind)
{
	const char *dir = getenv("IMPAIR_OUT");
	static char bare[sizeof(seen)];
	const char *profile = getenv("FAKERDMA_PROFILE");
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", dir ? dir : ".", kind->name, profile ? profile : "mlx5");
	f = fopen(path, is_bare() ? "w" : "r");
	assert_non_null(f);
	if (is_bare())
		fputs(seen, f);
	else
		bare[fread(bare, 1, sizeof(bare) - 1, f)] = '\0';
	fclose(f);
	if (!is_bare())
		assert_string_equal(seen, bare);
	seen[0] = '\0';
}

static void a_failure_looks_like_the_devices(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!is_bare() && strncmp(rig_mode_now->name, kinds[i].name, strlen(kinds[i].name)) != 0)
			continue;
		for (unsigned k = 0; k < WRS; k++)
			fail_wr(&kinds[i], k);
		end_transcript(&kinds[i]);
	}
}

#define RULES(kind) \
	"CCSHIM_IMPAIR=qp=2," kind ":0,qp=5," kind ":1,qp=8," kind ":2,qp=11," kind ":3,qp=14," kind \
	":4,qp=17," kind ":5,qp=20," kind ":6,qp=23," kind ":7"
#define OPEN "CCSHIM_CC=none", "CCSHIM_SEGMENT=1m", "CCSHIM_MAX_INFLIGHT=16m"
#define GATED "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k", "CCSHIM_BASE_RTT=20us"

static const struct rig_mode modes[] = {
	{ "bare", { "RIG_BARE=1" } },
	{ "bare-rxe", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
	{ "retry", { RULES("retry"), OPEN } },
	{ "retry-gated", { RULES("retry"), GATED } },
	{ "retry-rxe", { RULES("retry"), OPEN, "FAKERDMA_PROFILE=rxe" } },
	{ "rnr", { RULES("rnr"), OPEN } },
	{ "access", { RULES("access"), OPEN } },
	{ "invalid", { RULES("invalid"), OPEN } },
	{ "operation", { RULES("operation"), OPEN } },
	{ "flush", { RULES("flush"), OPEN } },
	{ "flush-rxe", { RULES("flush"), OPEN, "FAKERDMA_PROFILE=rxe" } },
};

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_looks_like_the_devices),
	};
	char dir[] = "/tmp/impair.XXXXXX";

	if (argc < 2 && !getenv("IMPAIR_OUT") && mkdtemp(dir))
		setenv("IMPAIR_OUT", dir, 1);
	return rig_run_in(argc, argv, "impair", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
