/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion on the path of data that a host READs: host READER has the flows, the other host only
 * responds.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/telemetry/telemetry.h"
#include "agentrig.h"
#include "feedback/registrations.h"
#include "tree.h"

enum { READER, RESPONDER };

#define GBIT 1000000000ull
#define MS 1000000ull

/* The reader's agent reports to its clients that it watches for marks. */
static struct rig_client open_reader(struct rig *r)
{
	r->agent[READER]->config.capture = true;
	return rig_client(r, READER);
}

static void close_reader(struct rig *r, struct rig_client *c)
{
	rig_hang_up(c);
	rig_settle(r);
	assert_int_equal(r->agent[READER]->flows.n, 0);
	r->agent[READER]->config.capture = false;
}

RIG_TEST(a_mark_on_an_answer_is_a_cnp_for_the_reader)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);

	assert_int_equal(rig_add(r, &c, READER, 1, 7), 0);
	assert_int_equal(rig_add(r, &c, READER, 2, 8), 0);
	assert_int_equal(c.shm->slot[7].inbound_flags, CCS_PEER_NP);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	assert_int_equal(rig_cnps(&c, 7), 1);
	assert_int_equal(rig_cnps(&c, 8), 0);
	rig_settle(r);
	assert_int_equal(r->agent[READER]->totals.cnps_inbound, 1);
	assert_int_equal(r->agent[READER]->totals.cnps_sent, 0);
	assert_int_equal(r->agent[READER]->totals.ce_unasked, 0);
	close_reader(r, &c);
}

RIG_TEST(the_responder_needs_no_agent)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);

	rig_stop(r, RESPONDER);
	assert_int_equal(rig_add(r, &c, READER, 1, 7), 0);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	assert_int_equal(rig_cnps(&c, 7), 1);
	close_reader(r, &c);
}

RIG_TEST(a_reader_gets_one_cnp_an_interval)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);

	rig_add(r, &c, READER, 1, 1);
	rig_add(r, &c, READER, 2, 2);
	for (int us = 0; us < 200; us++) {
		rig_mark_own(r, READER, RIG_ANSWER, 1);
		if (us == 10)
			rig_mark_own(r, READER, RIG_ANSWER, 2);
		r->now_ns += 1000;
	}
	assert_int_equal(rig_cnps(&c, 1), 4);
	assert_int_equal(rig_cnps(&c, 2), 1);
	assert_int_equal(r->agent[READER]->totals.cnps_inbound, 5);
	close_reader(r, &c);
}

/* A flow from each end between the same two QPs. */
static void add_both_ends(struct rig *r, struct rig_client *reader, struct rig_client *responder)
{
	struct ccs_ipc_add m = rig_flow(r, RESPONDER, 1, 0);

	rig_add(r, reader, READER, 1, 0);
	m.local_qpn = 0x201;
	m.peer_qpn = 0x101;
	assert_int_equal(rig_request(r, responder->fd, &m, sizeof(m)), 0);
	rig_settle(r);
}

/* The peer's WRITEs and the answers to our READs come to one QP, each of another flow. */
RIG_TEST(one_qp_that_reads_and_is_written_to)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r), d = rig_client(r, RESPONDER);

	add_both_ends(r, &c, &d);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	rig_mark_own(r, READER, RIG_WRITE, 1);   /* in the same interval */
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	assert_int_equal(rig_cnps(&d, 0), 1);
	assert_int_equal(r->agent[READER]->totals.cnps_inbound, 1);
	assert_int_equal(r->agent[READER]->totals.cnps_sent, 1);
	rig_hang_up(&d);
	close_reader(r, &c);
}

/* To slow a flow does not help a way that it sends no data on. */
RIG_TEST(requests_and_acknowledgements_are_no_data)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r), d = rig_client(r, RESPONDER);

	add_both_ends(r, &c, &d);
	rig_mark_own(r, READER, RIG_READ, 1);
	rig_mark_own(r, READER, RIG_ACK, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0) + rig_cnps(&d, 0), 0);
	assert_int_equal(r->agent[READER]->totals.ce_unasked, 2);
	rig_hang_up(&d);
	close_reader(r, &c);
}

/* The QP must be registered, and connected to the host that the packet is from. */
RIG_TEST(answers_to_other_queue_pairs_are_no_cnps)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);
	struct ccs_ipc_add m = rig_flow(r, READER, 1, 0);

	m.peer_gid[15] = 9;                      /* connected to another host */
	assert_int_equal(rig_request(r, c.fd, &m, sizeof(m)), 0);
	assert_int_equal(rig_add(r, &c, READER, 2, 1), 0);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	rig_mark_own(r, READER, RIG_ANSWER, 3);
	rig_mark(r, READER, 2);                  /* a WRITE, and to the peer's QPN */
	assert_int_equal(rig_cnps(&c, 0) + rig_cnps(&c, 1), 0);
	assert_int_equal(r->agent[READER]->totals.ce_unasked, 3);
	rig_mark_own(r, READER, RIG_ANSWER, 2);
	assert_int_equal(rig_cnps(&c, 1), 1);
	assert_int_equal(send(c.fd, &(struct ccs_ipc_remove){ CCS_IPC_REMOVE, 1 }, 8, 0), 8);
	rig_settle(r);
	r->now_ns += 1000000;
	rig_mark_own(r, READER, RIG_ANSWER, 2);
	assert_int_equal(rig_cnps(&c, 1), 1);
	assert_int_equal(c.shm->slot[1].inbound_flags, 0);
	close_reader(r, &c);
}

RIG_TEST(the_slot_states_whether_marks_are_seen)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, READER);

	assert_int_equal(rig_add(r, &c, READER, 1, 0), 0);
	assert_int_equal(c.shm->slot[0].inbound_flags, 0);
	rig_hang_up(&c);
}

/* -- telemetry ---------------------------------------------------------------------- */

static struct ccs_agent_capacity capacity;

static void put_file(const struct rig *r, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/class/%s", r->dir, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_bytes(const struct rig *r, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)bytes);
	put_file(r, "net/lo/statistics/rx_bytes", text);
}

/* The reader's data come in by an interface of that rate; 0: it is unknown. */
static int setup_measured(void **state, double rate)
{
	static char sysfs[128];
	struct rig *r;

	if (rig_setup(state))
		return -1;
	r = *state;
	snprintf(sysfs, sizeof(sysfs), "%s/sys", r->dir);
	put_bytes(r, 0);
	put_file(r, "infiniband/fake0/ports/1/gid_attrs/ndevs/0", "lo\n");
	rig_stop(r, READER);
	capacity = (struct ccs_agent_capacity){ "lo", rate };
	r->config[READER].sysfs = sysfs;
	r->config[READER].capacities = &capacity;
	r->config[READER].ncapacities = rate > 0;
	rig_start(r, READER);
	return 0;
}

static int setup_gbit(void **state)
{
	return setup_measured(state, GBIT);
}

static int setup_unknown(void **state)
{
	return setup_measured(state, 0);
}

static int teardown_measured(void **state)
{
	const struct rig *r = *state;

	if (tree_remove(r->config[READER].sysfs))
		return -1;
	return rig_teardown(state);
}

/* A client whose flows 1 to n, in slots of these numbers, want telemetry every ms. */
static struct rig_client open_readers(struct rig *r, unsigned n)
{
	struct rig_client c = rig_client(r, READER);

	for (unsigned i = 1; i <= n; i++) {
		c.shm->slot[i].requested = CCS_PEER_TELEMETRY;
		c.shm->slot[i].period_us = 1000;
		assert_int_equal(rig_add(r, &c, READER, i, i), 0);
	}
	return c;
}

/* Flows 1 to n READ for `ms`; in each ms, `more` bytes arrive. */
static void read_for(struct rig *r, const struct rig_client *c, unsigned n, unsigned ms,
		     uint64_t *bytes, uint64_t more)
{
	while (ms--) {
		r->now_ns += MS;
		for (unsigned i = 1; i <= n; i++)
			atomic_fetch_add(&c->shm->slot[i].read, 4096);
		*bytes += more;
		put_bytes(r, *bytes);
		rig_settle(r);
	}
}

static struct ccs_path_telemetry seen(const struct rig_client *c, uint32_t slot)
{
	const struct ccs_shm_path *path = ccs_reg_path(c->shm, &c->shm->slot[slot].inbound);
	struct ccs_path_telemetry t;

	assert_non_null(path);
	assert_true(ccs_shm_path_read(path, &t));
	return t;
}

#define MEASURED(name_) TEST_WITH(name_, setup_gbit, teardown_measured)

MEASURED(a_reader_has_the_record_of_its_own_port)
{
	struct ccs_path_telemetry first, t;
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 2);
	uint64_t bytes = 0;

	rig_stop(r, RESPONDER);                  /* it needs no agent */
	assert_int_equal(c.shm->slot[1].inbound_flags, CCS_PEER_RECORDS);
	assert_int_equal(c.shm->slot[1].inbound, 0);
	read_for(r, &c, 1, 120, &bytes, 100000);
	first = seen(&c, 1);
	read_for(r, &c, 1, 5, &bytes, 100000);
	t = seen(&c, 1);
	assert_int_equal(t.nhops, 1);
	assert_int_equal(t.flows, 1);
	assert_true(t.hops[0].capacity == 1e9);
	assert_int_equal(t.hops[0].tx_bytes, bytes);
	assert_int_equal(t.hops[0].ts_ns - first.hops[0].ts_ns, 5 * MS);
	assert_int_equal(t.hops[0].tx_bytes - first.hops[0].tx_bytes, 5 * 100000);
	assert_int_equal(t.covers_ns, r->now_ns);
	assert_int_equal(c.shm->slot[2].inbound, 0); /* it has no READ */
	assert_int_equal(r->agent[READER]->totals.echoes_sent, 0);
	rig_hang_up(&c);
}

/*
 * The new agent numbers its records again: the slots still have the numbers of the previous agent.
 */
MEASURED(another_agent_begins_with_no_record)
{
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 1);
	uint64_t bytes = 0;

	read_for(r, &c, 1, 10, &bytes, 100000);
	assert_int_equal(seen(&c, 1).nhops, 1);
	close(c.fd);
	rig_stop(r, READER);
	atomic_store(&c.shm->slot[1].inbound, 9); /* as if it had been killed */
	rig_start(r, READER);
	c.fd = rig_dial(r, READER);
	assert_int_equal(rig_hello(r, c.fd, c.shm_fd), 0);
	assert_int_equal(rig_add(r, &c, READER, 1, 1), 0);
	assert_int_equal(c.shm->slot[1].inbound, 0);
	read_for(r, &c, 1, 10, &bytes, 100000);
	assert_int_equal(seen(&c, 1).hops[0].tx_bytes, bytes);
	rig_hang_up(&c);
}

/* Flows whose data arrive at one port share its rate. */
MEASURED(flows_from_both_sides_share_a_port)
{
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 3), writer = rig_client(r, RESPONDER);
	uint64_t bytes = 0;

	writer.shm->slot[0].requested = CCS_PEER_TELEMETRY;
	writer.shm->slot[0].period_us = 1000;
	assert_int_equal(rig_add(r, &writer, RESPONDER, 9, 0), 0);
	for (unsigned i = 0; i < 150; i++) {
		atomic_fetch_add(&writer.shm->slot[0].sent, 4096);
		read_for(r, &c, 3, 1, &bytes, 100000);
	}
	rig_settle(r);
	assert_int_equal(seen(&c, 1).flows, 4);
	assert_int_equal(seen(&c, 3).flows, 4);
	assert_true(atomic_load(&c.shm->slot[1].inbound) != atomic_load(&c.shm->slot[1].path));
	rig_hang_up(&writer);
	rig_hang_up(&c);
}

MEASURED(a_port_is_measured_only_while_it_is_read_by)
{
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 1);
	const struct ccs_agent *a = r->agent[READER];
	uint64_t bytes = 0, samples;

	read_for(r, &c, 0, 150, &bytes, 1000);
	assert_int_equal(a->totals.samples, 0);
	read_for(r, &c, 1, 150, &bytes, 1000);
	assert_true(a->totals.samples >= 20);
	read_for(r, &c, 0, 150, &bytes, 1000);   /* a flow without a READ for 0.1 s is idle */
	samples = a->totals.samples;
	read_for(r, &c, 0, 50, &bytes, 1000);
	assert_int_equal(a->totals.samples, samples);
	rig_hang_up(&c);
	rig_pass(r, 4000);
	assert_int_equal(a->peers.high, 0);
	assert_int_equal(a->peers.nunused, CCS_SHM_PATHS); /* its records are free again */
}

TEST_WITH(a_port_of_unknown_speed_gives_nothing, setup_unknown, teardown_measured)
{
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 1);
	uint64_t bytes = 0;

	assert_int_equal(c.shm->slot[1].inbound_flags, 0);
	read_for(r, &c, 1, 150, &bytes, 1000);
	assert_int_equal(seen(&c, 1).nhops, 0);
	assert_non_null(strstr(r->said, "--capacity"));
	put_file(r, "net/lo/speed", "1000\n");   /* now it is known */
	read_for(r, &c, 1, 3000, &bytes, 1000);
	assert_int_equal(c.shm->slot[1].inbound_flags, CCS_PEER_RECORDS);
	assert_int_equal(seen(&c, 1).nhops, 1);
	rig_hang_up(&c);
}

/* Records of a port on the data's path. */
MEASURED(records_from_elsewhere_are_of_the_path)
{
	struct ccs_ipc_record m = { .type = CCS_IPC_RECORD, .link = 7, .hop = 1,
				      .capacity = GBIT };
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 1), hook = rig_client(r, READER);
	uint64_t bytes = 0;

	rig_set_standing(r, READER, CCS_STANDING_ADMIN);
	for (unsigned i = 0; i < 150; i++) {
		m.ts_ns = r->now_ns;
		m.covers_ns = r->now_ns;
		assert_int_equal(rig_request(r, hook.fd, &m, sizeof(m)), 0);
		read_for(r, &c, 1, 1, &bytes, 1000);
	}
	assert_int_equal(seen(&c, 1).nhops, 2);
	assert_int_equal(seen(&c, 1).link[0], 7);
	assert_true(ccs_reg_path(c.shm, &c.shm->slot[1].inbound)->flags & CCS_PEER_PORTS);
	read_for(r, &c, 1, 300, &bytes, 1000);   /* it ceases */
	assert_int_equal(seen(&c, 1).nhops, 1);
	assert_false(ccs_reg_path(c.shm, &c.shm->slot[1].inbound)->flags & CCS_PEER_PORTS);
	rig_hang_up(&hook);
	rig_hang_up(&c);
}

/* -- advice ---------------------------------------------------------------------------- */

/* The same, but they want a rate, and telemetry every 10 ms at most. */
static struct rig_client open_advised(struct rig *r, uint32_t agent, unsigned n)
{
	struct rig_client c = rig_client(r, agent);

	for (unsigned i = 1; i <= n; i++) {
		c.shm->slot[i].requested = CCS_PEER_ADVICE;
		c.shm->slot[i].segment = 4096;
		c.shm->slot[i].period_us = 10000;
		assert_int_equal(rig_add(r, &c, agent, i, i), 0);
	}
	return c;
}

MEASURED(a_reader_is_advised_the_rate_of_its_own_port)
{
	struct rig *r = *state;
	struct rig_client c = open_advised(r, READER, 1);
	uint64_t bytes = 0;

	rig_stop(r, RESPONDER);                  /* it needs no agent */
	assert_true(c.shm->slot[1].inbound_flags & CCS_PEER_ADVICE);
	read_for(r, &c, 1, 200, &bytes, 121500);
	assert_float_equal(seen(&c, 1).advised_rate / GBIT, 0.98, 0.02);
	assert_true(ccs_reg_path(c.shm, &c.shm->slot[1].inbound)->flags & CCS_PEER_ADVICE);
	assert_int_equal(r->agent[READER]->totals.echoes_sent, 0);
	rig_hang_up(&c);
}

MEASURED(readers_of_telemetry_alone_make_no_port_advise)
{
	struct rig *r = *state;
	struct rig_client c = open_readers(r, 1);
	uint64_t bytes = 0;

	read_for(r, &c, 1, 200, &bytes, 121500);
	assert_true(seen(&c, 1).advised_rate == 0);
	rig_hang_up(&c);
}

MEASURED(a_full_port_bounds_its_readers)
{
	struct rig *r = *state;
	struct rig_client c = open_advised(r, READER, 4);
	uint64_t bytes = 0;

	read_for(r, &c, 1, 200, &bytes, 121500);
	assert_float_equal(seen(&c, 1).advised_rate / 1e9, 1, 0);
	read_for(r, &c, 4, 120, &bytes, 125000);
	assert_true(seen(&c, 1).advised_rate < 0.5e9);
	assert_true(seen(&c, 2).advised_rate == seen(&c, 1).advised_rate);
	assert_int_equal(seen(&c, 1).flows, 4);
	rig_hang_up(&c);
}

MEASURED(a_reader_and_a_sender_share_the_rate_of_a_port)
{
	struct rig *r = *state;
	struct rig_client c = open_advised(r, READER, 1), writer;
	struct ccs_path_telemetry there;
	uint64_t bytes = 0;

	read_for(r, &c, 1, 200, &bytes, 121500);
	writer = open_advised(r, RESPONDER, 1);
	rig_settle(r);
	for (unsigned ms = 0; ms < 100; ms++) {
		atomic_fetch_add(&writer.shm->slot[1].sent, 4096);
		read_for(r, &c, 1, 1, &bytes, 125000);
	}
	assert_true(seen(&c, 1).advised_rate < 0.6e9);
	assert_true(ccs_shm_path_read(ccs_reg_path(writer.shm, &writer.shm->slot[1].path), &there));
	assert_float_equal(there.advised_rate / seen(&c, 1).advised_rate, 1, 0.1);
	rig_hang_up(&writer);
	rig_hang_up(&c);
}

/* -- which networks are served --------------------------------------------------------------- */

MEASURED(without_a_key_only_networks_of_rdma_devices_are_served)
{
	struct rig *r = *state;
	struct ccs_gids g = { .n = 0 };
	const struct ccs_address roce = ccs_address_of_v4("\12\0\0\1"), other = ccs_address_of_v4("\12\0\0\2");
	const char *sysfs = r->config[READER].sysfs;

	assert_true(ccs_gids_admit(&g, sysfs, &other, 1)); /* no device has a GID */
	put_file(r, "infiniband/fake0/ports/1/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	put_file(r, "infiniband/fake0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
	assert_false(ccs_gids_admit(&g, sysfs, &other, 2000000000));
	assert_true(ccs_gids_admit(&g, sysfs, &roce, 2000000001));
	put_file(r, "infiniband/fake0/ports/2/gids/0", "0000:0000:0000:0000:0000:ffff:0a00:0002\n");
	assert_false(ccs_gids_admit(&g, sysfs, &other, 2000000002)); /* it reads once a second */
	assert_true(ccs_gids_admit(&g, sysfs, &other, 3100000000));
}
