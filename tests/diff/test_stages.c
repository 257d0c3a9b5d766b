/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a QP whose peer sends no more CNPs returns to the line rate by DCQCN's stages, at
 * the times that the paper's equations give (3.1, Fig. 7): from the slot's counter to the rate
 * in force, in virtual time.
 */
#include "../verbs/rig.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "feedback/shm.h"
#include "virtual.h"

#define LINE 10e9
#define AI 40e6
#define HAI 400e6

enum { PERIOD_NS = 55000, F = 5, BYTES = 256, CNPS = 6 };

/* The paper's reaction point; alpha stays 1. */
struct rp {
	double rate, target;
	unsigned t, bc;                  /* expiries of the timer and of the byte counter */
};

static void cut(struct rp *p)
{
	*p = (struct rp){ .target = p->rate, .rate = p->rate / 2 };
}

static void increase(struct rp *p)
{
	const unsigned most = p->t > p->bc ? p->t : p->bc, least = p->t < p->bc ? p->t : p->bc;

	if (most >= F)
		p->target += least > F ? HAI * (least - F + 1) : AI;
	if (p->target > LINE)
		p->target = LINE;
	p->rate = (p->target + p->rate) / 2;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void pass_until(uint64_t when)
{
	const uint64_t now = now_ns();

	assert_true(now <= when);
	virtual_pass(when - now);
}

/* The byte counter expires once, if it is on: its WR is sent within the call. */
static void send_one(struct rig *r)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, BYTES, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_poll_cq(r->scq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* A CNP for both QPs; only the sender reads its slot. */
static void congest(void)
{
	for (unsigned i = 0; i < 2; i++)
		atomic_fetch_add(&virtual_region()->slot[i].cnps, 1);
}

static const struct ccs_slot *slot_of_sender(void)
{
	const struct ccs_slot *slot = virtual_region()->slot;

	return slot + (atomic_load(&slot->rate) == (uint64_t)LINE);
}

static void expect_rate(const struct ccs_slot *slot, double rate)
{
	const double is = (double)atomic_load(&slot->rate);

	if (is > rate || is < rate - 2) /* whole bit/s */
		fail_msg("%.0f bit/s, not %.0f", is, rate);
}

/* The slot's values are from before the last WR: publish them again without sending a byte. */
static void poll_feedback(struct rig *r)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, 2, IBV_WR_RDMA_WRITE, 0, 0, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_poll_cq(r->scq, 1, &wc), 1);
}

static void rate_recovers_by_the_papers_stages_at_their_times(void **state)
{
	struct rp rp = { .rate = LINE };
	unsigned additive = 0, hyper = 0, k;
	const struct ccs_slot *slot;
	uint64_t cut_ns = 0;
	struct rig r;

	virtual_start();
	rig_open(&r, (struct rig_conf){ 0 });
	send_one(&r);
	poll_feedback(&r);
	expect_rate(&virtual_region()->slot[0], LINE);
	/* A CNP has no effect before the first acknowledgement after a cut. */
	for (k = 0; k < CNPS; k++) {
		if (k) {
			virtual_pass(PERIOD_NS / 2);
			send_one(&r);
			rp.bc++;
			increase(&rp);
		}
		congest();
		cut(&rp);
		cut_ns = now_ns();
		poll_feedback(&r);
	}
	slot = slot_of_sender();
	expect_rate(slot, rp.rate);
	for (k = 1; rp.rate < LINE - 1; k++) {
		assert_true(k < 1000);
		pass_until(cut_ns + (2 * k - 1) * PERIOD_NS / 2);
		poll_feedback(&r);
		expect_rate(slot, rp.rate); /* no event in between */
		pass_until(cut_ns + (4 * k + 1) * PERIOD_NS / 4);
		rp.t++;
		increase(&rp);
		poll_feedback(&r);
		poll_feedback(&r);
		expect_rate(slot, rp.rate);
		send_one(&r);
		rp.bc++;
		increase(&rp);
		poll_feedback(&r);
		expect_rate(slot, rp.rate);
		additive += rp.t >= F && rp.bc <= F;
		hyper += rp.bc > F;
	}
	printf("# %u periods: %u of fast recovery, %u additive, %u hyper\n", k - 1,
	       k - 1 - additive - hyper, additive, hyper);
	assert_int_equal(additive, 1);
	assert_true(hyper > 1);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = NULL;
	rig_close(&r);
	virtual_stop();
}

/* The agent does not answer: the algorithm uses what is in the slots. */
static int listen_silently(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 4);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_recovers_by_the_papers_stages_at_their_times),
	};
	static char path[100], agent[120];
	int rc;

	(void)argc;
	snprintf(path, sizeof(path), "/tmp/test_stages.%d", (int)getpid());
	snprintf(agent, sizeof(agent), "CCSHIM_AGENT=%s", path);
	rig_exec(argv, agent, "CCSHIM_SEGMENT=4k", "CCSHIM_BASE_RTT=20us",
		 "CCSHIM_CC=dcqcn:alpha_timer=1000s,rate_timer=55us,byte_counter=256,f=5,"
		 "rate_ai=40m,rate_hai=400m,min_rate=1m", NULL);
	rc = listen_silently(path) ||
	     cmocka_run_group_tests_name("stages", tests, NULL, NULL);
	unlink(path);
	return rc;
}
