/* SPDX-License-Identifier: BSD-2-Clause */
/* Host agents with many flows and many peers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/net/net.h"
#include "agentrig.h"

enum { RP, NP };

/* -- how much there may be --------------------------------------------------------------- */

RIG_TEST(ten_thousand_flows_of_one_client)
{
	enum { FLOWS = 10000 };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	for (unsigned i = 0; i < FLOWS; i++) {
		const struct ccs_ipc_add m = rig_flow(r, RP, i, i);
		struct ccs_ipc_result result;

		assert_int_equal(send(c.fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
		assert_int_equal(recv(c.fd, &result, sizeof(result), 0), sizeof(result));
		assert_int_equal(result.error, 0);
		assert_int_equal(result.slot, i);
	}
	rig_settle(r);
	for (unsigned i = 0; i < FLOWS; i++) {
		rig_mark(r, NP, i);
		if (i % 16 == 0)
			rig_settle(r);
	}
	rig_settle(r);
	for (unsigned i = 0; i < FLOWS; i++)
		assert_int_equal(rig_cnps(&c, i), 1);
	rig_hang_up(&c);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->flows.n, 0);
}

static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Memory in KB that clients add to this process, each with a flow in `slot`. */
static long kb_of_clients(struct rig *r, uint32_t slot)
{
	enum { CLIENTS = 32 };
	const long before = resident_kb();
	struct rig_client c[CLIENTS];
	long kb;

	for (unsigned i = 0; i < CLIENTS; i++) {
		c[i] = rig_client(r, RP);
		assert_int_equal(rig_add(r, &c[i], RP, i, slot), 0);
	}
	kb = resident_kb() - before;
	for (unsigned i = 0; i < CLIENTS; i++)
		rig_hang_up(&c[i]);
	rig_settle(r);
	return kb;
}

/* 511 connections of one user, with one queue pair each, took 217 MB. */
RIG_TEST(a_high_slot_takes_no_more_memory_than_a_low_one)
{
	struct rig *r = *state;
	long low, high;

	kb_of_clients(r, 0); /* memory that is allocated once */
	low = kb_of_clients(r, 0);
	high = kb_of_clients(r, CCS_SHM_SLOTS - 1);
	assert_in_range(high - low + 4096, 0, 8192);
}

static void set_user(struct rig *r, uid_t uid)
{
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		rig_set_user(r->agent[RP], &r->agent[RP]->client[i], uid);
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		r->agent[RP]->client[i].standing = uid ? CCS_STANDING_USER : CCS_STANDING_ADMIN;
}

/* Add flow i, to a separate peer. Returns the error. */
static uint32_t add_peer(struct rig *r, const struct rig_client *c, unsigned i)
{
	struct ccs_ipc_add m = rig_flow(r, RP, i, i);
	struct ccs_ipc_result result;

	m.peer_gid[13] = (uint8_t)(1 + (i >> 8));
	m.peer_gid[14] = (uint8_t)i;
	assert_int_equal(send(c->fd, &m, sizeof(m), 0), sizeof(m));
	ccs_agent_turn(r->agent[RP], 0);
	assert_int_equal(recv(c->fd, &result, sizeof(result), 0), sizeof(result));
	return (uint32_t)result.error;
}

RIG_TEST(flows_of_a_user_leave_peers_for_others)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	unsigned i;

	set_user(r, 4242);
	for (i = 0; i < CCS_AGENT_PEERS_PER_UID; i++)
		assert_int_equal(add_peer(r, &c, i), 0);
	assert_int_equal(add_peer(r, &c, i), ENOSPC);
	assert_non_null(strstr(r->said, "user 4242"));
	set_user(r, 4243);
	assert_int_equal(add_peer(r, &c, i), 0);
	rig_hang_up(&c);
}

/* Add flow n of that client, in a separate slot. Returns the error. */
static int add_flow(struct rig *r, const struct rig_client *c, unsigned n)
{
	const struct ccs_ipc_add m = rig_flow(r, RP, n, n % CCS_SHM_SLOTS);
	struct ccs_ipc_result result;

	assert_int_equal(send(c->fd, &m, sizeof(m), 0), sizeof(m));
	ccs_agent_turn(r->agent[RP], 0);
	assert_int_equal(recv(c->fd, &result, sizeof(result), 0), sizeof(result));
	return result.error;
}

RIG_TEST(flows_of_a_user_leave_some_for_others)
{
	enum { CLIENTS = CCS_AGENT_FLOWS_PER_UID / CCS_SHM_SLOTS };
	struct rig *r = *state;
	struct rig_client c[CLIENTS + 1];
	unsigned n = 0;

	for (unsigned i = 0; i <= CLIENTS; i++)
		c[i] = rig_client(r, RP);
	set_user(r, 4242);
	while (n < CCS_AGENT_FLOWS_PER_UID) {
		assert_int_equal(add_flow(r, &c[n / CCS_SHM_SLOTS], n), 0);
		n++;
	}
	assert_int_equal(add_flow(r, &c[CLIENTS], n), ENOSPC);
	assert_non_null(strstr(r->said, "user 4242"));
	rig_set_user(r->agent[RP], &r->agent[RP]->client[CCS_AGENT_CLIENTS - 1 - CLIENTS], 4243);
	assert_int_equal(add_flow(r, &c[CLIENTS], n), 0);
	for (unsigned i = 0; i <= CLIENTS; i++)
		rig_hang_up(&c[i]);
	rig_settle(r);
}

/* -- memory of regions ------------------------------------------------------------------ */

static long kb_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (long)st.st_blocks / 2;
}

static void punch(const struct rig_client *c, size_t from)
{
	const off_t len = (off_t)(sizeof(struct ccs_shm) - from);

	assert_int_equal(fallocate(c->shm_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, len), 0);
}

/* The kernel charges pages to the process that accesses them first. */
RIG_TEST(a_region_that_is_not_allocated_is_refused)
{
	struct rig *r = *state;
	struct rig_client c = { .shm_fd = rig_region(&c.shm), .fd = rig_dial(r, RP) };

	punch(&c, 8192);
	assert_int_equal(rig_hello(r, c.fd, c.shm_fd), EINVAL);
	assert_non_null(strstr(r->said, "has not allocated its memory"));
	ccs_shm_touch(c.shm, 0, offsetof(struct ccs_shm, slot));
	assert_int_equal(fchmod(c.shm_fd, 0600), 0); /* the agent could not check it */
	assert_int_equal(rig_hello(r, c.fd, c.shm_fd), EINVAL);
	assert_int_equal(fchmod(c.shm_fd, 0777), 0);
	assert_int_equal(rig_hello(r, c.fd, c.shm_fd), 0);
	assert_int_equal(kb_of(c.shm_fd), offsetof(struct ccs_shm, slot) / 1024);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), EFAULT); /* its slot is not allocated */
	assert_int_equal(r->agent[RP]->nclients, 0);
	assert_int_equal(kb_of(c.shm_fd), offsetof(struct ccs_shm, slot) / 1024);
	rig_hang_up(&c);
}

/* A region with a flow in each page of slots. */
static struct rig_client client_with_pages(struct rig *r)
{
	struct rig_client c = rig_client(r, RP);

	for (unsigned i = 0; i < 512; i++)
		assert_int_equal(rig_add(r, &c, RP, i, i * 32), 0);
	return c;
}

RIG_TEST(a_region_whose_memory_is_released_is_not_allocated_again)
{
	struct rig *r = *state;
	struct rig_client c = client_with_pages(r), d;

	punch(&c, 0);
	close(c.fd);
	c.fd = rig_dial(r, RP);
	rig_settle(r);
	assert_int_equal(kb_of(c.shm_fd), 0);
	rig_hang_up(&c);

	c = client_with_pages(r);
	punch(&c, 0);
	rig_pass(r, 200);
	assert_int_equal(r->agent[RP]->nclients, 0);
	assert_in_range(kb_of(c.shm_fd), 0, 8);
	assert_non_null(strstr(r->said, "has released memory of its region"));
	d = (struct rig_client){ .shm_fd = rig_region(&d.shm), .fd = rig_dial(r, RP) };
	rig_settle(r);
	rig_set_standing(r, RP, CCS_STANDING_USER);
	assert_int_equal(rig_hello(r, d.fd, d.shm_fd), EINVAL);
	rig_pass(r, 3600000);
	assert_int_equal(rig_hello(r, d.fd, d.shm_fd), 0);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* As root of a container can, which has the user ID of the host's root. */
RIG_TEST(no_process_denies_feedback_to_an_administrator_of_the_same_user)
{
	struct rig *r = *state;
	struct rig_client c = client_with_pages(r), d = rig_client(r, RP), e;
	struct ccs_client *entry = r->agent[RP]->client;
	uint32_t slot = 0;

	rig_set_standing(r, RP, CCS_STANDING_USER);
	while (rig_add(r, &c, RP, 1000, 1 + slot) == 0)
		slot++;
	assert_int_equal(slot, CCS_AGENT_SAME_QP);
	assert_int_equal(rig_add(r, &d, RP, 1000, 0), EBUSY);
	rig_set_standing(r, RP, CCS_STANDING_ADMIN);
	entry[CCS_AGENT_CLIENTS - 1].standing = CCS_STANDING_USER; /* of c */
	assert_int_equal(rig_add(r, &d, RP, 1000, 0), 0);

	punch(&c, 0);
	rig_pass(r, 200);
	assert_non_null(strstr(r->said, "has released memory of its region"));
	e = (struct rig_client){ .shm_fd = rig_region(&e.shm), .fd = rig_dial(r, RP) };
	rig_settle(r);
	rig_set_standing(r, RP, CCS_STANDING_USER);
	assert_int_equal(rig_hello(r, e.fd, e.shm_fd), EINVAL);
	rig_set_standing(r, RP, CCS_STANDING_ADMIN);
	assert_int_equal(rig_hello(r, e.fd, e.shm_fd), 0);
	rig_hang_up(&c);
	rig_hang_up(&d);
	rig_hang_up(&e);
}

/* A CNP or a request of the process may come before the agent notices it. */
RIG_TEST(accesses_to_released_memory_allocate_one_page)
{
	struct rig *r = *state;
	struct rig_client c = client_with_pages(r);
	const struct ccs_ipc_remove m = { CCS_IPC_REMOVE, 32 };

	punch(&c, 0);
	for (unsigned i = 0; i < 512; i++)
		rig_mark(r, NP, i);
	rig_settle(r);
	assert_in_range(kb_of(c.shm_fd), 0, 8);
	send(c.fd, &m, sizeof(m), MSG_NOSIGNAL);
	rig_pass(r, 200);
	assert_in_range(kb_of(c.shm_fd), 0, 8);
	assert_int_equal(r->agent[RP]->nclients, 0);
	rig_hang_up(&c);
}

/* As one remote host with many addresses can make. */
RIG_TEST(hosts_that_send_leave_peers_for_flows_of_this_host)
{
	struct rig *r = *state;
	struct rig_client c;
	struct ccs_ends ends = { .local = ccs_address_of(rig_flow(r, RP, 1, 1).local_gid) };
	for (unsigned i = 0; i < 2 * CCS_AGENT_FLOWLESS; i++) {
		struct ccs_peer *p;

		ends.remote = ccs_address_of(rig_flow(r, RP, 1, 1).peer_gid);
		ends.remote.b[13] = (uint8_t)(1 + (i >> 8));
		ends.remote.b[14] = (uint8_t)i;
		p = ccs_peer_get_flowless(r->agent[RP], &ends);
		if (p)
			p->lease_ns = UINT64_MAX;
		assert_in_range(r->agent[RP]->peers.nunused, CCS_SHM_PATHS - CCS_AGENT_FLOWLESS,
				CCS_SHM_PATHS);
	}
	assert_int_equal(r->agent[RP]->peers.nunused, CCS_SHM_PATHS - CCS_AGENT_FLOWLESS);
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_hang_up(&c);
}

/* The ends of address n of one remote host, which has as many as it needs. */
static struct ccs_ends attacker(const struct rig *r, unsigned n)
{
	const struct ccs_ipc_add m = rig_flow(r, NP, 1, 1);
	struct ccs_ends ends = {
		.local = ccs_address_of(m.local_gid), .remote = ccs_address_of(m.peer_gid),
	};

	ends.remote.b[13] = 9;
	ends.remote.b[14] = (uint8_t)(n / 250);
	ends.remote.b[15] = (uint8_t)(1 + n % 250);
	return ends;
}

static void lease_to_attacker(struct rig *r, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		const struct ccs_ends ends = attacker(r, i);
		struct ccs_peer *p = ccs_peer_get_flowless(r->agent[NP], &ends);

		if (p)
			p->lease_ns = UINT64_MAX;
		r->now_ns++;
	}
}

/* In the largest network, the host that has sent no message for the longest time is replaced. */
RIG_TEST(hosts_of_one_network_leave_places_for_other_networks)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	unsigned gone = 0;

	r->agent[NP]->salt = 1; /* no two networks of the test count as one */
	lease_to_attacker(r, 0, CCS_AGENT_FLOWLESS);
	assert_int_equal(r->agent[NP]->peers.flowless, CCS_AGENT_FLOWLESS);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_settle(r);
	assert_int_not_equal(rig_path(&c, 0)->last_seen_ns, 0);
	for (unsigned i = 0; i < CCS_AGENT_FLOWLESS; i++) {
		const struct ccs_ends ends = attacker(r, i);

		if (ccs_peer_find(r->agent[NP], &ends))
			continue;
		assert_int_equal(i % 250, 0);
		gone++;
	}
	assert_int_equal(gone, 1);
	lease_to_attacker(r, 0, 2 * CCS_AGENT_FLOWLESS);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

RIG_TEST(peer_table_overflow_is_refused_and_recovers)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_ipc_add m;
	unsigned i;

	set_user(r, 0);
	for (i = 0; i < CCS_SHM_PATHS; i++)
		add_peer(r, &c, i);
	m = rig_flow(r, RP, i, i);
	assert_int_equal(rig_request(r, c.fd, &m, sizeof(m)), ENOSPC);
	assert_non_null(strstr(r->said, "peers"));
	rig_hang_up(&c);
	rig_pass(r, 200);
	assert_int_equal(r->agent[RP]->peers.high, 0);
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_hang_up(&c);
}
