/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims of a host about its flows: 127.0.0.3 sends only HELLOs to host NP, and host RP has a flow
 * there that sends at the advised rate.
 */
#include <errno.h>
#include <stdio.h>

#include "agent/telemetry/telemetry.h"
#include "tenantrig.h"

#define LIAR "127.0.0.3"

struct bench {
	struct rig *r;
	struct rig_client c;
	uint64_t rx_bytes, sequence;
	double bits;                     /* that the flow was allowed to send */
	struct ccs_agent_capacity capacity;
};

static void begin(struct bench *b, void **state)
{
	struct rig *r = *state;

	*b = (struct bench){ .r = r, .capacity = { "lo", GBIT } };
	lo_make(r);
	rig_stop(r, NP);
	r->config[NP].sysfs = r->dir;
	r->config[NP].capacities = &b->capacity;
	r->config[NP].ncapacities = 1;
	rig_start(r, NP);
	b->c = rig_client(r, RP);
	b->c.shm->slot[1].period_us = 200;
	b->c.shm->slot[1].requested = CCS_PEER_ADVICE;
	b->c.shm->slot[1].segment = 4096;
	assert_int_equal(rig_add(r, &b->c, RP, 1, 1), 0);
}

static void end(struct bench *b)
{
	rig_hang_up(&b->c);
	lo_remove(b->r);
}

static double advised(const struct bench *b)
{
	struct ccs_path_telemetry t;

	assert_true(ccs_shm_path_read(rig_path(&b->c, 1), &t));
	return t.advised_rate;
}

/* The flow sends at the advised rate for `ns`. */
static void run(struct bench *b, uint64_t ns)
{
	enum { STEP_NS = 100000 };

	for (uint64_t done = 0; done < ns; done += STEP_NS) {
		const double bits = advised(b) * STEP_NS / 1e9;

		b->r->now_ns += STEP_NS;
		b->bits += bits;
		b->rx_bytes += (uint64_t)(bits / 8);
		atomic_fetch_add(&b->c.shm->slot[1].sent, 4096);
		lo_count(b->r, b->rx_bytes);
		rig_settle(b->r); /* send what is due */
		rig_settle(b->r); /* and arrives */
	}
}

/* A HELLO of the other host with `flows` flows that send now, and its RTT and segment. */
static void claim_with(struct bench *b, uint32_t flows, uint32_t rtt_us, uint32_t segment)
{
	struct ccs_ends ends = b->r->agent[NP]->peers.peer[0].ends;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = ++b->sequence },
		.hello = { .lease_ms = 3000, .requested = CCS_PEER_ADVICE, .period_us = 1000,
			   .flows = flows, .rtt_us = rtt_us, .segment = segment },
	};

	ccs_address_parse(LIAR, &ends.remote);
	m.header.echo = ccs_agent_incarnation(b->r->agent[NP], &ends);
	rig_forge_message(b->r, LIAR, NP, &m);
}

static void claim(struct bench *b, uint32_t flows)
{
	claim_with(b, flows, 0, 4096);
}

/* The share of the port that the flow was allowed to use while the other host's count alternates. */
static double share_beside(struct bench *b, uint32_t flows, unsigned ms)
{
	b->bits = 0;
	for (unsigned i = 0; i < ms; i++) {
		claim(b, i % 2 ? 0 : flows);
		run(b, MS);
	}
	return b->bits * 1e3 / ms / GBIT;
}

RIG_TEST(a_count_that_goes_up_and_down_takes_no_rate_from_others)
{
	struct bench b;

	begin(&b, state);
	run(&b, 100 * MS);
	assert_float_equal(advised(&b) / GBIT, 0.98, 0.02);
	assert_true(share_beside(&b, 256, 300) > 0.95);
	end(&b);
}

RIG_TEST(absurd_statements_of_one_host_change_no_share)
{
	struct bench b;

	begin(&b, state);
	claim_with(&b, 1, 100000, 1 << 20);
	run(&b, 100 * MS);
	b.bits = 0;
	run(&b, 300 * MS);
	assert_true(b.bits / 300e-3 / GBIT > 0.95);
	end(&b);
}

static uint32_t qps;
static unsigned counts;

/* 0: the kernel does not say. */
static int count_qps(void *arg, uint32_t *n)
{
	(void)arg;
	counts++;
	*n = qps;
	return qps ? 0 : EOPNOTSUPP;
}

static uint32_t claimed(struct bench *b, uint32_t flows)
{
	claim(b, flows);
	b->r->now_ns += 100 * MS;
	return ccs_port_flows(&b->r->agent[NP]->port[0]);
}

RIG_TEST(a_claim_of_more_flows_than_queue_pairs_is_limited)
{
	struct rig *r = *state;
	struct bench b;

	r->config[NP].count_qps = count_qps;
	begin(&b, state);
	run(&b, 10 * MS);
	claim(&b, 0);
	b.r->now_ns += 200 * MS; /* the other flow is idle */
	rig_settle(b.r);
	qps = 5;
	counts = 0;
	assert_int_equal(claimed(&b, 256), 256);
	assert_int_equal(counts, 0);
	assert_int_equal(claimed(&b, 4096), 256);
	qps = 1000;
	assert_int_equal(claimed(&b, 300), 300);
	assert_int_equal(claimed(&b, 4096), 1000);
	qps = 0;
	assert_int_equal(claimed(&b, UINT32_MAX), 4096);
	end(&b);
}

/* Twice they get shares, and do not send. The time in which they have no effect then grows. */
RIG_TEST(flows_that_do_not_send_are_soon_not_believed)
{
	struct bench b;
	unsigned slowed = 0;

	begin(&b, state);
	run(&b, 100 * MS);
	for (unsigned i = 0; i < 20; i++) {
		claim(&b, 9);
		slowed += (double)b.r->agent[NP]->port[0].record.advised < 0.2 * GBIT;
		claim(&b, 0);
		run(&b, 101 * MS);
		assert_float_equal(advised(&b) / GBIT, 0.98, 0.02);
	}
	assert_in_range(slowed, 1, 10);
	end(&b);
}

int main(void)
{
	return test_run(NULL, NULL);
}
