/* SPDX-License-Identifier: BSD-2-Clause */
/* Telemetry between agents: a receiver's report of its port, and the rates that it advises. */
#include "agent/telemetry/telemetry.h"
#include "telemetry.h"

static void empty_file(const struct bench *b, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/class/net/lo/%s", b->r->dir, name);
	assert_int_equal(truncate(path, 0), 0);
}

static uint64_t echoes(const struct bench *b)
{
	return b->r->agent[NP]->totals.echoes_sent;
}

/* -- the receiver's own record ------------------------------------------------------- */

RIG_TEST(received_bytes_are_reported)
{
	struct ccs_path_telemetry first, t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	first = seen(&b);
	run(&b, 5, 1 << 1, 100000);
	t = seen(&b);
	assert_int_equal(t.nhops, 1);
	assert_int_equal(t.flows, 1);
	assert_true(t.hops[0].capacity == 1e9);
	assert_int_equal(t.hops[0].tx_bytes, b.rx_bytes);
	assert_int_equal(t.hops[0].ts_ns - first.hops[0].ts_ns, 5 * MS);
	assert_int_equal(t.hops[0].tx_bytes - first.hops[0].tx_bytes, 5 * 100000);
	assert_int_equal(t.path, first.path);
	assert_int_equal(t.updated_ns, b.r->now_ns);
	/* Its clock is ours here: the sample was taken now, and is said to be a little older. */
	assert_in_range(b.r->now_ns - t.covers_ns, 0, MS);
	assert_int_equal(rig_path(&b.c, 1)->flags, CCS_PEER_TELEMETRY | CCS_PEER_ADVICE);
	assert_int_equal(b.r->nsaid, 0);
	end(&b);
}

/* The flow is about to send, so its slot is read often: without telemetry it may begin too fast. */
RIG_TEST(a_new_flow_has_telemetry_within_a_millisecond)
{
	struct bench b;

	begin(&b, state, false);
	run(&b, 3, 0, 100000);
	assert_int_equal(b.r->agent[NP]->peers.peer[0].subscription.flows, 0);
	atomic_fetch_add(&b.c.shm->slot[1].sent, 4096);
	b.r->now_ns += MS / 2;
	rig_settle(b.r);
	rig_settle(b.r);
	assert_int_equal(b.r->agent[NP]->peers.peer[0].subscription.flows, 1);
	assert_int_equal(seen(&b).nhops, 1);
	assert_int_equal(seen(&b).flows, 1);
	end(&b);
}

/* An idle flow costs little: its slot is read rarely once it is no longer new. */
RIG_TEST(idle_flows_are_looked_at_rarely)
{
	const struct ccs_agent *a;
	unsigned looks = 0;
	struct bench b;

	begin(&b, state, false);
	a = b.r->agent[RP];
	rig_pass(b.r, 200);
	for (unsigned i = 0; i < 1000; i++) {
		b.r->now_ns += MS / 10;
		looks += a->due.demand_ns <= b.r->now_ns;
		rig_settle(b.r);
	}
	assert_in_range(looks, 40, 51);
	end(&b);
}

/* A HELLO that has waited in a queue does not make records appear older. */
RIG_TEST(a_late_hello_makes_no_record_older)
{
	struct ccs_wire_message m = { .header.type = CCS_WIRE_HELLO };
	const struct ccs_agent *rp, *np;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	rp = b.r->agent[RP];
	np = b.r->agent[NP];
	m.header.incarnation = np->peers.peer[0].incarnation;
	m.header.echo = rp->peers.peer[0].incarnation;
	m.header.sequence = np->peers.peer[0].received.highest + 1;
	m.hello = (struct ccs_wire_hello){ .lease_ms = 3000, .requested = CCS_PEER_TELEMETRY, .flows = 1,
					   .period_us = 1000, .clock_ns = b.r->now_ns - 16 * MS };
	rig_forge_message(b.r, b.r->address[RP], NP, &m);
	assert_int_equal(np->totals.refused[CCS_REFUSED_REPLAYED], 0);
	run(&b, 2, 1 << 1, 100000);
	assert_in_range(b.r->now_ns - seen(&b).covers_ns, 0, MS);
	m.header.sequence++;
	m.hello.clock_ns = 0; /* it no longer sends its clock */
	rig_forge_message(b.r, b.r->address[RP], NP, &m);
	run(&b, 2, 1 << 1, 100000);
	assert_int_equal(seen(&b).covers_ns, 0);
	end(&b);
}

static uint64_t stumble_ns;

/* A CPU that is taken away at each reading of the clock. */
static uint64_t stumbling(void *arg)
{
	return ((struct rig *)arg)->now_ns += stumble_ns;
}

/*
 * The interval is at least 20 times the uncertainty of its ends: rates have an error of at most 5
 * %.
 */
RIG_TEST(samples_of_an_uncertain_time_are_not_used)
{
	struct ccs_path_telemetry last, t;
	struct rig *r = *state;
	unsigned changes = 0;
	struct bench b;

	stumble_ns = 0;
	r->config[NP].now = stumbling;
	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	assert_int_equal(r->agent[NP]->totals.samples_late, 0);
	stumble_ns = 300000;
	last = seen(&b);
	for (unsigned i = 0; i < 40; i++) {
		run(&b, 1, 1 << 1, 100000);
		t = seen(&b);
		if (t.hops[0].ts_ns == last.hops[0].ts_ns)
			continue;
		assert_true(t.hops[0].ts_ns - last.hops[0].ts_ns >= 10 * stumble_ns);
		changes++;
		last = t;
	}
	assert_true(changes > 0);
	assert_true(r->agent[NP]->totals.samples_late > 0);
	stumble_ns = 0;
	end(&b);
}

RIG_TEST(silence_while_nothing_moves)
{
	struct bench b;
	uint64_t before;

	begin(&b, state, false);
	run(&b, 20, 0, 100000); /* no flow sends */
	assert_int_equal(echoes(&b), 0);
	run(&b, 20, 1 << 1, 100000);
	assert_in_range(echoes(&b), 5, 20);
	run(&b, 2, 1 << 1, 0);
	before = echoes(&b);
	run(&b, 20, 1 << 1, 0); /* no data arrives */
	assert_int_equal(echoes(&b), before);
	run(&b, 130, 0, 100000); /* idle for more than 100 ms */
	before = echoes(&b);
	run(&b, 20, 0, 100000);
	assert_int_equal(echoes(&b), before);
	assert_int_equal(b.r->agent[NP]->nports, 0);
	end(&b);
}

RIG_TEST(period_and_share_of_the_link_are_kept)
{
	struct bench b;
	uint64_t before;

	begin(&b, state, false);
	b.c.shm->slot[1].requested = CCS_PEER_TELEMETRY;
	b.c.shm->slot[1].period_us = 5000;
	run(&b, 30, 1 << 1, 1000);
	before = echoes(&b);
	run(&b, 50, 1 << 1, 1000);
	assert_in_range(echoes(&b) - before, 9, 11);
	/* At 10 Mb/s 0.5 % are 50 kb/s: a message of less than 200 bytes in 31 ms. */
	b.capacity.rate = 10e6;
	rig_stop(b.r, NP);
	rig_start(b.r, NP);
	run(&b, 1100, 1 << 1, 1000);
	before = echoes(&b);
	run(&b, 310, 1 << 1, 1000);
	assert_in_range(echoes(&b) - before, 5, 11);
	end(&b);
}

RIG_TEST(all_senders_flows_are_counted)
{
	struct rig_client other;
	struct bench b;

	begin(&b, state, false);
	other = rig_client(b.r, RP);
	for (unsigned n = 2; n <= 4; n++) {
		b.c.shm->slot[n].requested = CCS_PEER_TELEMETRY;
		b.c.shm->slot[n].period_us = 1000;
		assert_int_equal(rig_add(b.r, &b.c, RP, n, n), 0);
	}
	other.shm->slot[7].requested = CCS_PEER_TELEMETRY;
	other.shm->slot[7].period_us = 1000;
	assert_int_equal(rig_add(b.r, &other, RP, 7, 7), 0);
	run(&b, 40, 0x1e, 100000);
	assert_int_equal(seen(&b).flows, 4);
	atomic_fetch_add(&other.shm->slot[7].sent, 1);
	run(&b, 15, 0x1e, 100000);
	assert_int_equal(seen(&b).flows, 5);
	run(&b, 130, 0x06, 100000); /* three fall silent */
	assert_int_equal(seen(&b).flows, 2);
	rig_hang_up(&other);
	run(&b, 20, 0x06, 100000);
	assert_int_equal(seen(&b).flows, 2);
	end(&b);
}

/* One host with a lease cannot make all others believe that the port is shared by 2^32 flows. */
RIG_TEST(a_claim_of_many_flows_counts_as_a_limited_number)
{
	const struct ccs_agent *np, *rp;
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, false);
	rp = b.r->agent[RP];
	np = b.r->agent[NP];
	run(&b, 30, 1 << 1, 100000);
	m = (struct ccs_wire_message){
		.header = {
			.type = CCS_WIRE_HELLO, .incarnation = np->peers.peer[0].incarnation,
			.echo = rp->peers.peer[0].incarnation, .sequence = rp->peers.peer[0].sequence + 1,
		},
		.hello = { .lease_ms = 3000, .requested = np->peers.peer[0].subscription.requested,
			   .period_us = 1000, .flows = UINT32_MAX },
	};
	rig_forge_message(b.r, b.r->address[RP], NP, &m);
	assert_int_equal(ccs_port_flows(&np->port[0]), 4096);
	end(&b);
}

RIG_TEST(flows_that_ended_are_not_counted)
{
	const struct ccs_agent *np;
	struct bench b;

	begin(&b, state, false);
	np = b.r->agent[NP];
	run(&b, 30, 1 << 1, 100000);
	assert_int_equal(ccs_port_flows(&np->port[0]), 1);
	rig_hang_up(&b.c);
	rig_pass(b.r, 200); /* long before the lease ends */
	assert_int_equal(ccs_port_flows(&np->port[0]), 0);
	b.c = rig_client(b.r, RP);
	end(&b);
}

/* One user has many idle flows, another one flow that starts to send. */
RIG_TEST(idle_flows_of_a_user_do_not_delay_the_telemetry_of_others)
{
	enum { IDLE = 20000 };
	struct rig *r = *state;
	struct rig_client many = rig_client(r, RP), one = rig_client(r, RP);
	struct ccs_agent *rp = r->agent[RP];

	rig_set_user(rp, &rp->client[CCS_AGENT_CLIENTS - 1], 4242); /* the first client */
	rig_set_user(rp, &rp->client[CCS_AGENT_CLIENTS - 2], 4243);
	for (unsigned i = 0; i < IDLE; i++) {
		const struct ccs_ipc_add m = rig_flow(r, RP, 1 + i, i);
		struct ccs_ipc_result result;

		atomic_store(&many.shm->slot[i].period_us, 1000);
		assert_int_equal(send(many.fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
		assert_int_equal(recv(many.fd, &result, sizeof(result), 0), sizeof(result));
		assert_int_equal(result.error, 0);
	}
	atomic_store(&one.shm->slot[0].period_us, 1000);
	assert_int_equal(rig_add(r, &one, RP, IDLE + 1, 0), 0);
	rig_pass(r, 2000);
	for (unsigned n = 1; n <= 100; n++) {
		atomic_fetch_add(&one.shm->slot[0].sent, 4096);
		r->now_ns += 4000000; /* twice the interval of scans */
		rig_settle(r);
		assert_int_equal(rp->peers.peer[0].request.active, 1);
		rig_pass(r, 300);
		assert_int_equal(rp->peers.peer[0].request.active, 0);
	}
	rig_hang_up(&many);
	rig_hang_up(&one);
}

/* It is said once, and measured again when it is back. */
RIG_TEST(a_port_may_vanish_and_come_back)
{
	struct ccs_path_telemetry before;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	before = seen(&b);
	empty_file(&b, "statistics/rx_bytes");
	b.r->now_ns += 2 * MS;
	rig_settle(b.r);
	assert_int_equal(b.r->nsaid, 1);
	assert_non_null(strstr(b.r->said, "no telemetry of lo"));
	run(&b, 1200, 1 << 1, 100000);
	assert_int_equal(seen(&b).updated_ns, b.r->now_ns);
	assert_int_not_equal(seen(&b).path, before.path);
	assert_int_equal(b.r->nsaid, 1);
	end(&b);
}

/* How many share the link, before anything of the new flow's has arrived. */
RIG_TEST(new_flows_get_the_number_at_once)
{
	struct rig_client other;
	struct ccs_path_telemetry t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	other = rig_client(b.r, RP);
	other.shm->slot[7].requested = CCS_PEER_TELEMETRY;
	other.shm->slot[7].period_us = 1000;
	assert_int_equal(rig_add(b.r, &other, RP, 7, 7), 0);
	rig_settle(b.r);
	assert_true(ccs_shm_path_read(rig_path(&other, 7), &t));
	assert_int_equal(t.flows, 1);
	assert_int_equal(t.nhops, 1);
	rig_hang_up(&other);
	end(&b);
}

RIG_TEST(a_restarted_receiver_has_another_link)
{
	struct ccs_path_telemetry before, t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	before = seen(&b);
	rig_stop(b.r, NP);
	run(&b, 5, 1 << 1, 100000);
	assert_memory_equal(&before.hops[0], &(struct ccs_cc_hop[1]){ seen(&b).hops[0] },
			    sizeof(struct ccs_cc_hop));
	rig_start(b.r, NP);
	run(&b, 1200, 1 << 1, 100000);
	t = seen(&b);
	assert_int_equal(t.updated_ns, b.r->now_ns);
	assert_int_not_equal(t.path, before.path);
	end(&b);
}

RIG_TEST(counters_that_start_over_are_another_link)
{
	struct ccs_path_telemetry before;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	before = seen(&b);
	b.rx_bytes = 5;
	run(&b, 3, 1 << 1, 100000);
	assert_int_equal(seen(&b).hops[0].tx_bytes, b.rx_bytes);
	assert_int_not_equal(seen(&b).path, before.path);
	end(&b);
}

RIG_TEST(unknown_speed_is_warned_about_once)
{
	struct bench b;

	begin(&b, state, false);
	b.capacity.interface = "eth9";
	rig_stop(b.r, NP);
	rig_start(b.r, NP);
	run(&b, 1300, 1 << 1, 100000);
	assert_int_equal(echoes(&b), 0);
	assert_int_equal(rig_path(&b.c, 1)->flags, 0);
	assert_int_equal(b.r->nsaid, 1);
	assert_non_null(strstr(b.r->said, "no telemetry of lo, whose speed is unknown"));
	put_file(&b, "speed", 100);
	rig_stop(b.r, NP);
	rig_start(b.r, NP);
	run(&b, 1300, 1 << 1, 100000);
	assert_true(seen(&b).hops[0].capacity == 100e6);
	end(&b);
}

/* -- advice -------------------------------------------------------------------------- */

/* The flow of slot 1 uses only advised rates. */
static void begin_advised(struct bench *b, void **state, bool with_switch)
{
	begin(b, state, with_switch);
	b->c.shm->slot[1].requested = CCS_PEER_ADVICE;
	b->c.shm->slot[1].segment = 4096;
}

RIG_TEST(a_lone_flow_is_advised_nearly_the_line)
{
	struct bench b;

	begin_advised(&b, state, false);
	run(&b, 60, 1 << 1, 122500);
	assert_float_equal(seen(&b).advised_rate / 1e9, 0.98, 0.02);
	assert_true(rig_path(&b.c, 1)->flags & CCS_PEER_ADVICE);
	end(&b);
}

static void add_advised(struct bench *b, uint32_t slot)
{
	b->c.shm->slot[slot].requested = CCS_PEER_ADVICE;
	b->c.shm->slot[slot].period_us = 1000;
	assert_int_equal(rig_add(b->r, &b->c, RP, slot, slot), 0);
}

RIG_TEST(a_full_port_bounds_its_flows)
{
	struct bench b;

	begin_advised(&b, state, false);
	add_advised(&b, 2);
	run(&b, 60, 1 << 1 | 1 << 2, 121500);
	assert_float_equal(seen(&b).advised_rate / 1e9, 1, 0);
	run(&b, 60, 1 << 1 | 1 << 2, 125000);
	assert_true(seen(&b).advised_rate < 0.5e9);
	assert_true(seen(&b).advised_rate > 0.2e9); /* the floor of two flows */
	end(&b);
}

/* It is counted when it sends, not when it connects. */
RIG_TEST(a_newcomer_at_a_port_that_is_not_full_slows_nobody)
{
	struct bench b;

	begin_advised(&b, state, false);
	run(&b, 60, 1 << 1, 121500);
	add_advised(&b, 2);
	run(&b, 2, 1 << 1, 121500);
	assert_int_equal(seen(&b).flows, 1);
	run(&b, 20, 1 << 1 | 1 << 2, 121500);
	assert_int_equal(seen(&b).flows, 2);
	assert_float_equal(seen(&b).advised_rate / 1e9, 1, 0);
	end(&b);
}

RIG_TEST(flows_with_telemetry_alone_get_it_unchanged)
{
	struct bench b;

	begin(&b, state, false);
	run(&b, 60, 1 << 1, 121500);
	assert_true(seen(&b).advised_rate == 0);
	end(&b);
}
