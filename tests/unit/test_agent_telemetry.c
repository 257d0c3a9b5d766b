/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Telemetry between agents: host RP sends, host NP receives, by an interface whose counters
 * are files here; a switch is played by the test.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/telemetry/ports.h"
#include "agentrig.h"
#include "seed.h"

enum { RP, NP };

#define SWITCH "127.0.0.3"
#define GBIT 1000000000ull
#define MS 1000000ull

struct bench {
	struct rig *r;
	struct rig_client c;
	uint64_t rx_bytes;
	struct ccs_agent_capacity capacity;
	const char *switches[1];
	int fake_switch;                 /* its socket, or -1 */
	uint64_t sequence;
};

static void put_file(const struct bench *b, const char *name, uint64_t value)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/class/net/lo/%s", b->r->dir, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%llu\n", (unsigned long long)value);
	fclose(f);
}

static void empty_file(const struct bench *b, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/class/net/lo/%s", b->r->dir, name);
	assert_int_equal(truncate(path, 0), 0);
}

static void remove_files(const struct bench *b)
{
	static const char *const all[] = { "class/net/lo/statistics/rx_bytes", "class/net/lo/speed",
		"class/net/lo/statistics", "class/net/lo", "class/net", "class" };
	char path[256];

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->r->dir, all[i]);
		remove(path);
	}
}

static int open_switch(const struct rig *r)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(r->port) };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	inet_pton(AF_INET, SWITCH, &in.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

/* A receiver with an interface of 1 Gb/s, and a client with one flow towards it, in slot 1. */
static void begin(struct bench *b, void **state, bool with_switch)
{
	struct rig *r = *state;

	*b = (struct bench){ .r = r, .capacity = { "lo", GBIT }, .switches = { SWITCH },
			     .fake_switch = with_switch ? open_switch(r) : -1 };
	put_file(b, "statistics/rx_bytes", 0);
	rig_stop(r, NP);
	r->config[NP].sysfs = r->dir;
	r->config[NP].capacities = &b->capacity;
	r->config[NP].ncapacities = 1;
	r->config[NP].switches = b->switches;
	r->config[NP].nswitches = with_switch;
	rig_start(r, NP);
	b->c = rig_client(r, RP);
	b->c.shm->slot[1].period_us = 1000;
	assert_int_equal(rig_add(r, &b->c, RP, 1, 1), 0);
}

static void end(struct bench *b)
{
	rig_hang_up(&b->c);
	remove_files(b);
	if (b->fake_switch >= 0)
		close(b->fake_switch);
}

/* Each flow in `slots` sends, and so many bytes come in each ms. */
static void run(struct bench *b, unsigned ms, unsigned slots, uint64_t bytes)
{
	for (unsigned i = 0; i < ms; i++) {
		b->r->now_ns += MS;
		for (unsigned slot = 1; slot < 32; slot++)
			if (slots >> slot & 1)
				atomic_fetch_add(&b->c.shm->slot[slot].sent, 4096);
		b->rx_bytes += bytes;
		put_file(b, "statistics/rx_bytes", b->rx_bytes);
		rig_settle(b->r); /* what is due is sent */
		rig_settle(b->r); /* and arrives */
	}
}

static struct ccs_path_telemetry seen(const struct bench *b)
{
	struct ccs_path_telemetry t;

	assert_true(ccs_shm_path_read(rig_path(&b->c, 1), &t));
	return t;
}

static uint64_t echoes(const struct bench *b)
{
	return b->r->agent[NP]->totals.echoes_sent;
}

/* -- the receiver's own record ------------------------------------------------------- */

static void received_bytes_are_reported(void **state)
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

/* It is about to send, so it is looked at often: without telemetry it may begin too fast. */
static void a_new_flow_has_telemetry_within_a_millisecond(void **state)
{
	struct bench b;

	begin(&b, state, false);
	run(&b, 3, 0, 100000);
	assert_int_equal(b.r->agent[NP]->peers.peer[0].peer_flows, 0);
	atomic_fetch_add(&b.c.shm->slot[1].sent, 4096);
	b.r->now_ns += MS / 2;
	rig_settle(b.r);
	rig_settle(b.r);
	assert_int_equal(b.r->agent[NP]->peers.peer[0].peer_flows, 1);
	assert_int_equal(seen(&b).nhops, 1);
	assert_int_equal(seen(&b).flows, 1);
	end(&b);
}

/* An idle flow does not cost much: it is looked at rarely once it is not new any more. */
static void idle_flows_are_looked_at_rarely(void **state)
{
	const struct ccs_agent *a;
	unsigned looks = 0;
	struct bench b;

	begin(&b, state, false);
	a = b.r->agent[RP];
	rig_pass(b.r, 200);
	for (unsigned i = 0; i < 1000; i++) {
		b.r->now_ns += MS / 10;
		looks += a->demand_ns <= b.r->now_ns;
		rig_settle(b.r);
	}
	assert_in_range(looks, 40, 51);
	end(&b);
}

/* A HELLO that has waited in a queue makes nothing look older than it is. */
static void a_late_hello_makes_no_record_older(void **state)
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
	m.header.sequence = np->peers.peer[0].highest_sequence + 1;
	m.hello = (struct ccs_wire_hello){ .lease_ms = 3000, .requested = CCS_PEER_TELEMETRY, .flows = 1,
					   .period_us = 1000, .clock_ns = b.r->now_ns - 16 * MS };
	rig_forge_message(b.r, b.r->address[RP], NP, &m);
	assert_int_equal(np->totals.refused[CCS_REFUSED_REPLAYED], 0);
	run(&b, 2, 1 << 1, 100000);
	assert_in_range(b.r->now_ns - seen(&b).covers_ns, 0, MS);
	m.header.sequence++;
	m.hello.clock_ns = 0; /* it does not tell any more */
	rig_forge_message(b.r, b.r->address[RP], NP, &m);
	run(&b, 2, 1 << 1, 100000);
	assert_int_equal(seen(&b).covers_ns, 0);
	end(&b);
}

static uint64_t stumble_ns;

/* A CPU that is taken away at each look at the clock. */
static uint64_t stumbling(void *arg)
{
	return ((struct rig *)arg)->now_ns += stumble_ns;
}

/* What is known to within e has an interval of 20 e at least: rates are off by 5 % at most. */
static void samples_of_an_uncertain_time_are_not_used(void **state)
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

static void silence_while_nothing_moves(void **state)
{
	struct bench b;
	uint64_t before;

	begin(&b, state, false);
	run(&b, 20, 0, 100000); /* nobody sends */
	assert_int_equal(echoes(&b), 0);
	run(&b, 20, 1 << 1, 100000);
	assert_in_range(echoes(&b), 5, 20);
	run(&b, 2, 1 << 1, 0);
	before = echoes(&b);
	run(&b, 20, 1 << 1, 0); /* nothing arrives */
	assert_int_equal(echoes(&b), before);
	run(&b, 130, 0, 100000); /* idle for more than 100 ms */
	before = echoes(&b);
	run(&b, 20, 0, 100000);
	assert_int_equal(echoes(&b), before);
	assert_int_equal(b.r->agent[NP]->nports, 0);
	end(&b);
}

static void period_and_share_of_the_link_are_kept(void **state)
{
	struct bench b;
	uint64_t before;

	begin(&b, state, false);
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

static void all_senders_flows_are_counted(void **state)
{
	struct rig_client other;
	struct bench b;

	begin(&b, state, false);
	other = rig_client(b.r, RP);
	for (unsigned n = 2; n <= 4; n++) {
		b.c.shm->slot[n].period_us = 1000;
		assert_int_equal(rig_add(b.r, &b.c, RP, n, n), 0);
	}
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
static void a_claim_of_many_flows_counts_as_a_limited_number(void **state)
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
		.hello = { .lease_ms = 3000, .requested = np->peers.peer[0].peer_requests,
			   .period_us = 1000, .flows = UINT32_MAX },
	};
	rig_forge_message(b.r, b.r->address[RP], NP, &m);
	assert_int_equal(ccs_port_flows(&np->port[0]), 4096);
	end(&b);
}

static void who_has_left_is_not_counted(void **state)
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

/* It is said once, and measured again when it is back. */
static void a_port_may_vanish_and_come_back(void **state)
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
static void newcomers_hear_the_number_at_once(void **state)
{
	struct rig_client other;
	struct ccs_path_telemetry t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	other = rig_client(b.r, RP);
	other.shm->slot[7].period_us = 1000;
	assert_int_equal(rig_add(b.r, &other, RP, 7, 7), 0);
	rig_settle(b.r);
	assert_true(ccs_shm_path_read(rig_path(&other, 7), &t));
	assert_int_equal(t.flows, 1);
	assert_int_equal(t.nhops, 1);
	rig_hang_up(&other);
	end(&b);
}

static void a_restarted_receiver_has_another_link(void **state)
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

static void counters_that_start_over_are_another_link(void **state)
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

static void unknown_speed_is_warned_about_once(void **state)
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

/* -- what others may say --------------------------------------------------------------- */

/* As the receiver's agent would, at any distance from what it sends itself. */
static struct ccs_wire_message forged(const struct bench *b, uint64_t ahead)
{
	const struct ccs_agent *np = b->r->agent[NP], *rp = b->r->agent[RP];

	return (struct ccs_wire_message){
		.header = { .type = CCS_WIRE_ECHO, .incarnation = rp->peers.peer[0].incarnation,
			    .echo = np->peers.peer[0].incarnation,
			    .sequence = rp->peers.peer[0].highest_sequence + ahead },
		.echo = { .n = 1, .flows = 3, .record = { {
			.link = 9, .kind = CCS_RECORD_RECEIVER, .ts_ns = ahead, .capacity = GBIT } } },
	};
}

static void late_echoes_are_ignored(void **state)
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

static void only_the_peer_is_believed(void **state)
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
	rig_forge_message(b.r, b.r->address[NP], RP, &m); /* who does not hear us */
	m.header = forged(&b, 10).header;
	m.header.type = CCS_WIRE_RECORDS; /* it is no switch of ours */
	m.records = (struct ccs_wire_records){ .n = 0 };
	rig_forge_message(b.r, b.r->address[NP], RP, &m);
	assert_memory_equal(&before, &(struct ccs_path_telemetry[1]){ seen(&b) }, sizeof(before));
	assert_int_equal(b.r->agent[RP]->totals.refused[CCS_REFUSED_PEER], 1);
	assert_int_equal(b.r->agent[RP]->totals.refused[CCS_REFUSED_INCARNATION], 3);
	end(&b);
}

/* Whatever records say, a page says no more than there is room for, and no later than now. */
static void any_records_are_survived(void **state)
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

/* What the receiver's agent asked the switch last; false: nothing. */
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

static void switch_tells(struct bench *b, uint32_t link, uint16_t hop, uint64_t tx, const char *from)
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

static void records_of_switches_go_on_to_senders(void **state)
{
	struct ccs_wire_message m;
	struct ccs_path_telemetry t;
	uint64_t since;
	struct bench b;

	begin(&b, state, true);
	run(&b, 30, 1 << 1, 100000);
	assert_true(asked(&b, &m)); /* which does not hear us yet */
	switch_answers(&b, &m);
	run(&b, 1, 1 << 1, 100000);
	since = b.r->now_ns;
	switch_tells(&b, 21, 1, 5555, "127.0.0.0/8");
	switch_tells(&b, 22, 2, 6666, NULL);
	switch_tells(&b, 23, 3, 7777, "10.0.0.0/8"); /* no sender of ours */
	run(&b, 2, 1 << 1, 100000);
	t = seen(&b);
	assert_int_equal(t.nhops, 3);
	assert_int_equal(t.link[0], 22); /* nearest to the sender first */
	assert_int_equal(t.link[1], 21);
	assert_int_equal(t.hops[0].tx_bytes, 6666);
	assert_int_equal(t.hops[1].qlen_bytes, 1000);
	assert_int_equal(t.hops[1].ts_ns, since * 3);
	assert_true(t.hops[1].capacity == 200e6);
	assert_in_range(b.rx_bytes - t.hops[2].tx_bytes, 0, 100000); /* when the switch told */
	assert_in_range(since - t.covers_ns, 0, MS);
	assert_true(rig_path(&b.c, 1)->flags & CCS_PEER_PORTS);
	end(&b);
}

/* A switch is asked for a record every 8 ms, and gives them: the next one is due in 8 ms. */
static void begin_in_step(struct bench *b, void **state)
{
	struct ccs_wire_message m;

	begin(b, state, true);
	b->c.shm->slot[1].period_us = 8000;
	run(b, 46, 1 << 1, 100000);
	assert_true(asked(b, &m));
	switch_answers(b, &m);
}

/* It is read, and what was read is told. */
static void settle_port(struct bench *b)
{
	rig_settle(b->r);
	rig_settle(b->r);
}

/* Each echo is of the time of the switch's record, once it has found into step. */
static void what_came_in_is_read_when_a_switch_tells(void **state)
{
	struct bench b;

	begin_in_step(&b, state);
	for (unsigned i = 0; i < 6; i++) {
		run(&b, 8, 1 << 1, 100000);
		switch_tells(&b, 21, 1, 5555 + i, NULL);
		settle_port(&b);
		assert_true(i < 2 || seen(&b).hops[0].tx_bytes == 5555 + i);
		assert_true(i < 2 || seen(&b).hops[1].tx_bytes == b.rx_bytes);
	}
	run(&b, 13, 1 << 1, 100000); /* nor does it wait for what does not come */
	assert_true(b.rx_bytes - seen(&b).hops[1].tx_bytes <= 300000);
	end(&b);
}

/* A port further away, 1 ms before the other end of this host's link: it waits for that. */
static void what_came_in_is_of_the_time_of_the_nearest_port(void **state)
{
	struct bench b;

	begin_in_step(&b, state);
	for (unsigned i = 0; i < 6; i++) {
		run(&b, 7, 1 << 1, 100000);
		switch_tells(&b, 22, 2, 6666 + i, NULL);
		run(&b, 1, 1 << 1, 100000);
		switch_tells(&b, 21, 1, 5555 + i, NULL);
		settle_port(&b);
		assert_true(i < 2 || seen(&b).hops[0].tx_bytes == 6666 + i);
		assert_true(i < 2 || seen(&b).hops[1].tx_bytes == 5555 + i);
		assert_true(i < 2 || seen(&b).hops[2].tx_bytes == b.rx_bytes);
	}
	end(&b);
}

static void switches_are_asked_as_senders_want(void **state)
{
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, true);
	run(&b, 4, 1 << 1, 100000); /* and it is not asked again yet */
	assert_true(asked(&b, &m));
	assert_int_equal(m.hello.flows, 0); /* before it sent */
	switch_answers(&b, &m);
	assert_true(asked(&b, &m)); /* what has changed meanwhile, at once */
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
	run(&b, 130, 0, 100000); /* idle: told at once */
	assert_true(asked(&b, &m));
	assert_int_equal(m.hello.flows, 0);
	switch_answers(&b, &m);
	rig_hang_up(&b.c);
	rig_pass(b.r, 6000); /* nobody wants anything any more */
	asked(&b, &m);
	rig_pass(b.r, 3000);
	assert_false(asked(&b, &m));
	b.c = rig_client(b.r, RP);
	end(&b);
}

static void a_silent_switch_is_left_out(void **state)
{
	struct ccs_wire_message m;
	struct bench b;

	begin(&b, state, true);
	run(&b, 30, 1 << 1, 100000);
	assert_true(asked(&b, &m));
	switch_answers(&b, &m);
	switch_tells(&b, 21, 1, 5555, NULL);
	run(&b, 2, 1 << 1, 100000);
	assert_int_equal(seen(&b).nhops, 2);
	run(&b, 255, 1 << 1, 100000);
	assert_int_equal(seen(&b).nhops, 1);
	assert_false(rig_path(&b.c, 1)->flags & CCS_PEER_PORTS);
	switch_tells(&b, 21, 1, 9999, NULL);
	run(&b, 2, 1 << 1, 100000);
	assert_int_equal(seen(&b).nhops, 2);
	end(&b);
}

static void processes_may_tell_of_links(void **state)
{
	struct ccs_ipc_record m = { .type = CCS_IPC_RECORD, .link = 31, .hop = 1, .ts_ns = 5,
				      .tx_bytes = 6, .qlen_bytes = 7, .capacity = 8 };
	struct rig_client hook;
	struct ccs_path_telemetry t;
	struct bench b;

	begin(&b, state, false);
	run(&b, 30, 1 << 1, 100000);
	hook = rig_client(b.r, NP);
	assert_int_equal(rig_ask(b.r, hook.fd, &m, sizeof(m)), 0);
	run(&b, 2, 1 << 1, 100000);
	t = seen(&b);
	assert_int_equal(t.nhops, 2);
	assert_int_equal(t.link[0], 31);
	assert_int_equal(t.hops[0].qlen_bytes, 7);
	assert_int_equal(t.covers_ns, 0); /* nobody knows */
	m.capacity = 0;
	assert_int_equal(rig_ask(b.r, hook.fd, &m, sizeof(m)), EINVAL);
	m.capacity = 8;
	m.from_bits = 129;
	assert_int_equal(rig_ask(b.r, hook.fd, &m, sizeof(m)), EINVAL);
	rig_hang_up(&hook);
	end(&b);
}

/* -- advice -------------------------------------------------------------------------- */

/* The flow of slot 1 lives on advice alone. */
static void begin_advised(struct bench *b, void **state, bool with_switch)
{
	begin(b, state, with_switch);
	b->c.shm->slot[1].requested = CCS_PEER_ADVICE;
	b->c.shm->slot[1].segment = 4096;
}

static void a_lone_flow_is_advised_nearly_the_line(void **state)
{
	struct bench b;

	begin_advised(&b, state, false);
	run(&b, 60, 1 << 1, 122500);
	assert_float_equal(seen(&b).advised_rate / 1e9, 0.98, 0.02);
	assert_true(rig_path(&b.c, 1)->flags & CCS_PEER_ADVICE);
	end(&b);
}

static void what_comes_beside_the_flow_lowers_its_rate(void **state)
{
	struct bench b;
	double alone;

	begin_advised(&b, state, false);
	run(&b, 60, 1 << 1, 121500);
	alone = seen(&b).advised_rate;
	run(&b, 60, 1 << 1, 125000); /* full, whatever the flow is advised */
	assert_true(seen(&b).advised_rate < 0.6 * alone);
	assert_true(seen(&b).advised_rate > 0.3 * alone); /* its floor: it is the only one counted */
	end(&b);
}

static void a_newcomer_is_advised_with_the_first_answer(void **state)
{
	struct bench b;
	double alone;

	begin_advised(&b, state, false);
	run(&b, 60, 1 << 1, 121500);
	alone = seen(&b).advised_rate;
	b.c.shm->slot[2].requested = CCS_PEER_ADVICE;
	b.c.shm->slot[2].period_us = 1000;
	assert_int_equal(rig_add(b.r, &b.c, RP, 2, 2), 0);
	run(&b, 2, 1 << 1, 121500);
	assert_float_equal(seen(&b).advised_rate / alone, 0.5, 0.05);
	end(&b);
}

static void who_lives_on_telemetry_alone_gets_it_as_ever(void **state)
{
	struct bench b;

	begin(&b, state, false);
	run(&b, 60, 1 << 1, 121500);
	assert_true(seen(&b).advised_rate == 0);
	end(&b);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(received_bytes_are_reported),
		TEST(a_new_flow_has_telemetry_within_a_millisecond),
		TEST(idle_flows_are_looked_at_rarely),
		TEST(a_lone_flow_is_advised_nearly_the_line),
		TEST(what_comes_beside_the_flow_lowers_its_rate),
		TEST(a_newcomer_is_advised_with_the_first_answer),
		TEST(who_lives_on_telemetry_alone_gets_it_as_ever),
		TEST(a_late_hello_makes_no_record_older),
		TEST(samples_of_an_uncertain_time_are_not_used),
		TEST(silence_while_nothing_moves),
		TEST(period_and_share_of_the_link_are_kept),
		TEST(all_senders_flows_are_counted),
		TEST(a_claim_of_many_flows_counts_as_a_limited_number),
		TEST(who_has_left_is_not_counted),
		TEST(a_port_may_vanish_and_come_back),
		TEST(newcomers_hear_the_number_at_once),
		TEST(a_restarted_receiver_has_another_link),
		TEST(counters_that_start_over_are_another_link),
		TEST(unknown_speed_is_warned_about_once),
		TEST(late_echoes_are_ignored),
		TEST(only_the_peer_is_believed),
		TEST(any_records_are_survived),
		TEST(records_of_switches_go_on_to_senders),
		TEST(what_came_in_is_read_when_a_switch_tells),
		TEST(what_came_in_is_of_the_time_of_the_nearest_port),
		TEST(switches_are_asked_as_senders_want),
		TEST(a_silent_switch_is_left_out),
		TEST(processes_may_tell_of_links),
	};

	return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
