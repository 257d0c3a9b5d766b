/* SPDX-License-Identifier: BSD-2-Clause */
/* A flow's first HELLOs: they are repeated soon, not endlessly, and a late answer counts once. */
#include "agentrig.h"

enum { RP, NP };

/* Time passes in steps of a millisecond, as the agents' loops wait for no longer. */
static void pass_ms(struct rig *r, unsigned ms)
{
	while (ms--) {
		r->now_ns += 1000000;
		rig_settle(r);
	}
}

static const struct ccs_peer *peer(const struct rig *r)
{
	return &r->agent[RP]->peers.peer[0];
}

static uint64_t hellos(const struct rig *r)
{
	return r->agent[RP]->totals.hellos_sent;
}

/* NP's agent gets no CPU time; what arrives is kept. */
static struct ccs_agent *suspend_np(struct rig *r)
{
	struct ccs_agent *a = r->agent[NP];

	r->agent[NP] = NULL;
	return a;
}

RIG_TEST(a_lost_first_hello_costs_milliseconds)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_stop(r, NP);
	rig_add(r, &c, RP, 1, 0);
	pass_ms(r, 3);
	rig_start(r, NP);
	assert_int_equal(hellos(r), 1);
	pass_ms(r, 3);
	assert_int_not_equal(rig_path(&c, 0)->last_seen_ns, 0);
	rig_hang_up(&c);
}

RIG_TEST(an_agent_without_cpu_time_costs_no_lease_interval)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_agent *np = suspend_np(r);

	rig_add(r, &c, RP, 1, 0);
	pass_ms(r, 200);
	r->agent[NP] = np;
	pass_ms(r, 1);
	assert_int_not_equal(rig_path(&c, 0)->last_seen_ns, 0);
	rig_hang_up(&c);
}

/* 5 + 10 + … + 640 ms, and then the interval is a second and more. */
RIG_TEST(first_hellos_to_a_host_without_an_agent_are_few)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_stop(r, NP);
	rig_add(r, &c, RP, 1, 0);
	pass_ms(r, 1270);
	assert_int_equal(hellos(r), 8);
	pass_ms(r, 10);
	assert_int_equal(hellos(r), 9);
	pass_ms(r, 980);
	assert_int_equal(hellos(r), 9);
	pass_ms(r, 20);
	assert_int_equal(hellos(r), 10);
	rig_pass(r, 80000);
	assert_in_range(hellos(r), 20, 23);
	assert_int_equal(rig_path(&c, 0)->last_seen_ns, 0);
	rig_hang_up(&c);
}

/* During a lease, an unanswered HELLO is repeated at the lease's interval. */
RIG_TEST(renewals_are_not_repeated_sooner)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	uint64_t before;

	rig_stop(r, NP);
	before = hellos(r);
	rig_pass(r, 1000);
	assert_int_equal(hellos(r), before + 1);
	pass_ms(r, 90);
	assert_int_equal(hellos(r), before + 1);
	pass_ms(r, 1000);
	assert_int_equal(hellos(r), before + 3);
	rig_hang_up(&c);
}

/* The peer's answer to that HELLO, with the incarnation that it had. */
static struct ccs_wire_message answer(const struct rig *r, struct ccs_agent *np)
{
	const struct ccs_ends ends = { .local = peer(r)->ends.remote, .remote = peer(r)->ends.local };

	return (struct ccs_wire_message){
		.header = {
			.type = CCS_WIRE_HELLO_ACK, .sequence = 1,
			.incarnation = ccs_agent_incarnation(np, &ends),
			.echo = ccs_agent_incarnation(r->agent[RP], &peer(r)->ends),
		},
		.hello_ack = { .of = peer(r)->hello.awaited, .lease_ms = 0 },
	};
}

/* The first HELLO's answer takes longer than the HELLO is repeated. */
RIG_TEST(a_late_answer_counts_once)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m;
	struct ccs_agent *np = suspend_np(r);
	uint64_t sent;

	rig_add(r, &c, RP, 1, 0);
	m = answer(r, np);
	pass_ms(r, 16);
	sent = hellos(r);
	assert_int_equal(sent, 3);
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(peer(r)->proven, m.header.incarnation);
	assert_int_equal(r->agent[RP]->totals.answers_late, 1);
	assert_int_equal(hellos(r), sent + 1); /* with that incarnation, for a lease */
	assert_int_equal(peer(r)->rtt_ns, 0); /* not an answer to the last HELLO: no RTT */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_REPLAYED], 1);
	assert_int_equal(hellos(r), sent + 1);
	r->agent[NP] = np;
	rig_hang_up(&c);
}

/* An attacker who delays answers can keep them valid for at most a second. */
RIG_TEST(an_answer_that_is_too_late_is_refused)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m;
	struct ccs_agent *np = suspend_np(r);

	rig_add(r, &c, RP, 1, 0);
	m = answer(r, np);
	pass_ms(r, 1300);
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(peer(r)->proven, 0);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_REPLAYED], 1);
	m.hello_ack.of = peer(r)->hello.awaited + 1; /* not sent yet */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_REPLAYED], 2);
	r->agent[NP] = np;
	rig_hang_up(&c);
}

/* A HELLO is answered by one message, whose size is limited, and answers cause no others. */
RIG_TEST(repeated_hellos_cause_no_more_answers)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_agent *np = suspend_np(r);
	uint64_t sent;

	rig_add(r, &c, RP, 1, 0);
	pass_ms(r, 200);
	sent = hellos(r);
	r->agent[NP] = np;
	rig_settle(r);
	pass_ms(r, 500);
	assert_int_equal(hellos(r), sent + 1);
	assert_int_equal(np->totals.hellos_received, sent + 1);
	assert_int_equal(np->totals.hellos_sent, 0);
	rig_hang_up(&c);
}
