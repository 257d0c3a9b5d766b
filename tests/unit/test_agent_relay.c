/* SPDX-License-Identifier: BSD-2-Clause */
/* Telemetry between agents: what others may report, and records of switches. */
#include <errno.h>

#include "seed.h"
#include "telemetry.h"

/* -- what others may say --------------------------------------------------------------- */

/* An ECHO as from the receiver's agent; its sequence number is `ahead` of the newest. */
static struct ccs_wire_message forged(const struct bench *b, uint64_t ahead)
{
	const struct ccs_agent *np = b->r->agent[NP], *rp = b->r->agent[RP];

	return (struct ccs_wire_message){
		.header = { .type = CCS_WIRE_ECHO, .incarnation = rp->peers.peer[0].incarnation,
			    .echo = np->peers.peer[0].incarnation,
			    .sequence = rp->peers.peer[0].received.highest + ahead },
		.echo = { .n = 1, .flows = 3, .record = { {
			.link = 9, .kind = CCS_RECORD_RECEIVER, .ts_ns = ahead, .capacity = GBIT } } },
	};
}

RIG_TEST(late_echoes_are_ignored)
{
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	m = forged(&b, 10);
	rig_forge_message(b.r, b.r->address[NP], RP, &m);
	assert_int_equal(seen(&b).hops[0].ts_ns, 10);
	m.header.sequence -= 5;
	m.echo.record[0].ts_ns = 5;
	rig_forge_message(b.r, b.r->address[NP], RP, &m);
	assert_int_equal(seen(&b).hops[0].ts_ns, 10);
	assert_int_equal(b.r->agent[RP]->totals.refused[CCS_REFUSED_REPLAYED], 0);
	end(&b);
}

RIG_TEST(only_the_peer_is_believed)
{
	struct ccs_path_telemetry before;
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	before = seen(&b);
	m = forged(&b, 10);
	rig_forge_message(b.r, "127.0.0.9", RP, &m); /* another host */
	m.header.incarnation--;
	rig_forge_message(b.r, b.r->address[NP], RP, &m); /* an earlier life */
	m = forged(&b, 10);
	m.header.echo--;
	rig_forge_message(b.r, b.r->address[NP], RP, &m); /* an echo of an earlier incarnation */
	m.header = forged(&b, 10).header;
	m.header.type = CCS_WIRE_RECORDS; /* it is no switch of ours */
	m.records = (struct ccs_wire_records){ .n = 0 };
	rig_forge_message(b.r, b.r->address[NP], RP, &m);
	assert_memory_equal(&before, &(struct ccs_path_telemetry[1]){ seen(&b) }, sizeof(before));
	assert_int_equal(b.r->agent[RP]->totals.refused[CCS_REFUSED_PEER], 1);
	assert_int_equal(b.r->agent[RP]->totals.refused[CCS_REFUSED_INCARNATION], 3);
	end(&b);
}

/* For any records, the region has at most as many hops as fit, and no time later than now. */
RIG_TEST(any_records_are_survived)
{
	struct ccs_wire_message m;
	struct ccs_path_telemetry t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 20, 1 << 1, 100000);
	seed_start("any_records_are_survived");
	for (unsigned i = 1; i <= 200; i++) {
		m = forged(&b, i);
		m.echo.n = (uint16_t)(1 + seed_below(CCS_RECORDS));
		m.echo.flows = (uint32_t)seed_next();
		for (unsigned k = 0; k < m.echo.n; k++)
			m.echo.record[k] = (struct ccs_record){
				.link = (uint32_t)seed_next() | 1, .hop = (uint16_t)seed_next(),
				.kind = (uint16_t)seed_below(4), .ts_ns = seed_next(),
				.tx_bytes = seed_next(), .qlen_bytes = seed_next(),
				.capacity = 1 + seed_below(CCS_RECORD_CAPACITY_MOST),
				.covers_ns = seed_next() >> seed_below(64),
			};
		rig_forge_message(b.r, b.r->address[NP], RP, &m);
		t = seen(&b);
		assert_int_equal(t.nhops, m.echo.n);
		assert_true(t.covers_ns <= b.r->now_ns);
	}
	end(&b);
}

/* -- records of switches --------------------------------------------------------------- */

/* The last request of the receiver's agent to the switch; false if it sent no request. */
static bool asked(const struct bench *b, struct ccs_wire_message *m)
{
	uint8_t buf[CCS_WIRE_MAX];
	bool any = false;
	ssize_t n;

	while ((n = recv(b->fake_switch, buf, sizeof(buf), 0)) > 0) {
		assert_int_equal(ccs_wire_decode(buf, (size_t)n, m), CCS_WIRE_OK);
		any = true;
	}
	return any;
}

static void switch_sends(struct bench *b, struct ccs_wire_message *m)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(b->r->port) };
	uint8_t buf[CCS_WIRE_MAX];
	struct ccs_ends ends = { .ifindex = 0 };
	size_t len;

	ccs_address_parse(b->r->address[NP], &ends.local);
	ccs_address_parse(SWITCH, &ends.remote);
	m->header.incarnation = 77;
	m->header.echo = ccs_agent_incarnation(b->r->agent[NP], &ends);
	m->header.sequence = ++b->sequence;
	len = ccs_wire_encode(m, buf);
	inet_pton(AF_INET, b->r->address[NP], &to.sin_addr);
	assert_int_equal(sendto(b->fake_switch, buf, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	rig_settle(b->r);
}

/* Answers what it was asked, as an agent that gives records does. */
static void switch_answers(struct bench *b, const struct ccs_wire_message *hello)
{
	struct ccs_wire_message ack = {
		.header.type = CCS_WIRE_HELLO_ACK,
		.hello_ack = { .of = hello->header.sequence, .capabilities = CCS_PEER_PORTS,
			       .lease_ms = 3000 },
	};

	switch_sends(b, &ack);
}

static void switch_reports(struct bench *b, uint32_t link, uint16_t hop, uint64_t tx, const char *from)
{
	struct ccs_prefix prefix = { .bits = 0 };
	struct ccs_wire_message m = {
		.header.type = CCS_WIRE_RECORDS,
		.records = { .n = 1, .record = { {
			.link = link, .hop = hop, .kind = CCS_RECORD_PORT, .ts_ns = b->r->now_ns * 3,
			.tx_bytes = tx, .qlen_bytes = 1000, .capacity = 200000000,
			.covers_ns = b->r->now_ns } } },
	};

	if (from)
		assert_int_equal(ccs_prefix_parse(from, &prefix), 0);
	m.records.bits = (uint8_t)prefix.bits;
	memcpy(m.records.prefix, prefix.address.b, 16);
	switch_sends(b, &m);
}

RIG_TEST(records_of_switches_go_on_to_senders)
{
	struct ccs_wire_message m;
	struct ccs_path_telemetry t;
	uint64_t since;
	struct bench b;

	begin(&b, state, true);
	run(&b, 30, 1 << 1, 100000);
	assert_true(asked(&b, &m)); /* which has not answered yet */
	switch_answers(&b, &m);
	run(&b, 1, 1 << 1, 100000);
	since = b.r->now_ns;
	switch_reports(&b, 21, 1, 5555, "127.0.0.0/8");
	switch_reports(&b, 22, 2, 6666, NULL);
	switch_reports(&b, 23, 3, 7777, "10.0.0.0/8"); /* no sender of ours */
	run(&b, 2, 1 << 1, 100000);
	t = seen(&b);
	assert_int_equal(t.nhops, 3);
	assert_int_equal(t.link[0], 22); /* nearest to the sender first */
	assert_int_equal(t.link[1], 21);
	assert_int_equal(t.hops[0].tx_bytes, 6666);
	assert_int_equal(t.hops[1].qlen_bytes, 1000);
	assert_int_equal(t.hops[1].ts_ns, since * 3);
	assert_true(t.hops[1].capacity == 200e6);
	assert_in_range(b.rx_bytes - t.hops[2].tx_bytes, 0, 100000); /* when the switch answered */
	assert_in_range(since - t.covers_ns, 0, MS);
	assert_true(rig_path(&b.c, 1)->flags & CCS_PEER_PORTS);
	end(&b);
}

/* A switch is asked for a record every 8 ms, and answers: the next is due in 8 ms. */
static void begin_in_step(struct bench *b, void **state)
{
	struct ccs_wire_message m;

	begin(b, state, true);
	b->c.shm->slot[1].requested = CCS_PEER_TELEMETRY;
	b->c.shm->slot[1].period_us = 8000;
	run(b, 46, 1 << 1, 100000);
	assert_true(asked(b, &m));
	switch_answers(b, &m);
}

/* It is read, and sent on. */
static void settle_port(struct bench *b)
{
	rig_settle(b->r);
	rig_settle(b->r);
}

/* Each echo is of the time of the switch's record, once it has found into step. */
RIG_TEST(counters_are_read_when_a_switch_reports)
{
	struct bench b;

	begin_in_step(&b, state);
	for (unsigned i = 0; i < 6; i++) {
		run(&b, 8, 1 << 1, 100000);
		switch_reports(&b, 21, 1, 5555 + i, NULL);
		settle_port(&b);
		assert_true(i < 2 || seen(&b).hops[0].tx_bytes == 5555 + i);
		assert_true(i < 2 || seen(&b).hops[1].tx_bytes == b.rx_bytes);
	}
	run(&b, 13, 1 << 1, 100000); /* it does not wait for missing records */
	assert_true(b.rx_bytes - seen(&b).hops[1].tx_bytes <= 300000);
	end(&b);
}

/* A port further away, 1 ms before the other end of this host's link: it waits for that. */
RIG_TEST(what_came_in_is_of_the_time_of_the_nearest_port)
{
	struct bench b;

	begin_in_step(&b, state);
	for (unsigned i = 0; i < 6; i++) {
		run(&b, 7, 1 << 1, 100000);
		switch_reports(&b, 22, 2, 6666 + i, NULL);
		run(&b, 1, 1 << 1, 100000);
		switch_reports(&b, 21, 1, 5555 + i, NULL);
		settle_port(&b);
		assert_true(i < 2 || seen(&b).hops[0].tx_bytes == 6666 + i);
		assert_true(i < 2 || seen(&b).hops[1].tx_bytes == 5555 + i);
		assert_true(i < 2 || seen(&b).hops[2].tx_bytes == b.rx_bytes);
	}
	end(&b);
}

RIG_TEST(switches_are_asked_as_senders_want)
{
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, true);
	run(&b, 4, 1 << 1, 100000); /* and it is not asked again yet */
	assert_true(asked(&b, &m));
	assert_int_equal(m.hello.flows, 0); /* before it sent */
	switch_answers(&b, &m);
	assert_true(asked(&b, &m)); /* the change is sent at once */
	assert_int_equal(m.hello.flows, 1);
	switch_answers(&b, &m);
	run(&b, 1100, 1 << 1, 100000);
	assert_true(asked(&b, &m));
	assert_int_equal(m.header.type, CCS_WIRE_HELLO);
	assert_int_equal(m.hello.requested, CCS_PEER_PORTS);
	assert_int_equal(m.hello.flows, 1);
	assert_int_equal(m.hello.period_us, 1000);
	assert_int_not_equal(m.hello.clock_ns, 0);
	switch_answers(&b, &m);
	run(&b, 130, 0, 100000); /* idle: sent at once */
	assert_true(asked(&b, &m));
	assert_int_equal(m.hello.flows, 0);
	switch_answers(&b, &m);
	rig_hang_up(&b.c);
	rig_pass(b.r, 6000); /* all requests have expired */
	asked(&b, &m);
	rig_pass(b.r, 3000);
	assert_false(asked(&b, &m));
	b.c = rig_client(b.r, RP);
	end(&b);
}

RIG_TEST(a_switch_that_does_not_reply_is_left_out)
{
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, true);
	run(&b, 30, 1 << 1, 100000);
	assert_true(asked(&b, &m));
	switch_answers(&b, &m);
	switch_reports(&b, 21, 1, 5555, NULL);
	run(&b, 2, 1 << 1, 100000);
	assert_int_equal(seen(&b).nhops, 2);
	run(&b, 255, 1 << 1, 100000);
	assert_int_equal(seen(&b).nhops, 1);
	assert_false(rig_path(&b.c, 1)->flags & CCS_PEER_PORTS);
	switch_reports(&b, 21, 1, 9999, NULL);
	run(&b, 2, 1 << 1, 100000);
	assert_int_equal(seen(&b).nhops, 2);
	end(&b);
}

RIG_TEST(processes_may_report_links)
{
	struct ccs_ipc_record m = { .type = CCS_IPC_RECORD, .link = 31, .hop = 1, .ts_ns = 5,
				      .tx_bytes = 6, .qlen_bytes = 7, .capacity = 8 };
	struct rig_client hook;
	struct ccs_path_telemetry t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	hook = rig_client(b.r, NP);
	rig_set_standing(b.r, NP, CCS_STANDING_USER);
	assert_int_equal(rig_request(b.r, hook.fd, &m, sizeof(m)), EPERM);
	rig_set_standing(b.r, NP, CCS_STANDING_ADMIN);
	assert_int_equal(rig_request(b.r, hook.fd, &m, sizeof(m)), 0);
	run(&b, 2, 1 << 1, 100000);
	t = seen(&b);
	assert_int_equal(t.nhops, 2);
	assert_int_equal(t.link[0], 31);
	assert_int_equal(t.hops[0].qlen_bytes, 7);
	assert_int_equal(t.covers_ns, 0); /* unknown */
	m.capacity = 0;
	assert_int_equal(rig_request(b.r, hook.fd, &m, sizeof(m)), EINVAL);
	m.capacity = 8;
	m.from_bits = 129;
	assert_int_equal(rig_request(b.r, hook.fd, &m, sizeof(m)), EINVAL);
	rig_hang_up(&hook);
	end(&b);
}
