/* SPDX-License-Identifier: BSD-2-Clause */
/* Users who make the agent work for them; the work is counted, in virtual time. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentrig.h"

enum { RP, NP };
enum { USER = 4242, OTHER = 4243 };
enum { BUDGET = 262144, CONNECTION = 33 /* with its end */, REQUESTS_PER_S = 5000 };

/* The clients' entries are allocated from the end of the table. */
static struct ccs_client *entry(const struct rig *r, unsigned n)
{
	return &r->agent[RP]->client[CCS_AGENT_CLIENTS - 1 - n];
}

static struct rig_client client_of(struct rig *r, unsigned n, uid_t uid)
{
	struct rig_client c = rig_client(r, RP);

	rig_set_user(r->agent[RP], entry(r, n), uid);
	entry(r, n)->standing = CCS_STANDING_USER;
	return c;
}

static unsigned count_replies(int fd)
{
	struct ccs_ipc_result result;
	unsigned n = 0;

	while (recv(fd, &result, sizeof(result), MSG_DONTWAIT) > 0)
		n++;
	return n;
}

static void send_requests(int fd, unsigned n)
{
	const uint32_t unknown = 99;

	while (n--)
		assert_int_equal(send(fd, &unknown, sizeof(unknown), 0), sizeof(unknown));
}

RIG_TEST(a_turn_handles_few_requests_of_a_user)
{
	enum { CLIENTS = 8, REQUESTS = 100 };
	struct rig *r = *state;
	struct rig_client c[CLIENTS + 1];
	unsigned of_user = 0, of_other;

	for (unsigned i = 0; i <= CLIENTS; i++)
		c[i] = client_of(r, i, i < CLIENTS ? USER : OTHER);
	for (unsigned i = 0; i <= CLIENTS; i++)
		send_requests(c[i].fd, REQUESTS);
	ccs_agent_turn(r->agent[RP], 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		of_user += count_replies(c[i].fd);
	of_other = count_replies(c[CLIENTS].fd);
	print_message("replies in a turn, of 800 and 100 requests: %u and %u\n", of_user, of_other);
	assert_in_range(of_user, 1, CCS_AGENT_TURN_REQUESTS);
	assert_in_range(of_other, 1, CCS_AGENT_TURN_REQUESTS);
	rig_settle(r);
	for (unsigned i = 0; i < CLIENTS; i++)
		of_user += count_replies(c[i].fd);
	assert_int_equal(of_user, CLIENTS * REQUESTS);
	for (unsigned i = 0; i <= CLIENTS; i++)
		rig_hang_up(&c[i]);
}

/* Flows whose counter of bytes the agent has read since it changed. */
static unsigned count_scanned(const struct ccs_client *c)
{
	unsigned n = 0;

	for (const struct ccs_agent_flow *f = c->first; f; f = f->next)
		n += f->sent == c->shm->slot[f->slot].sent;
	return n;
}

static void change_all(struct ccs_client *c)
{
	for (const struct ccs_agent_flow *f = c->first; f; f = f->next)
		atomic_fetch_add(&c->shm->slot[f->slot].sent, 4096);
}

static void add_idle_flows(struct rig *r, struct rig_client *c, unsigned n, unsigned from)
{
	for (unsigned i = 0; i < n; i++) {
		const struct ccs_ipc_add m = rig_flow(r, RP, from + i, i);
		struct ccs_ipc_result result;

		atomic_store(&c->shm->slot[i].period_us, 1000);
		assert_int_equal(send(c->fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
		assert_int_equal(recv(c->fd, &result, sizeof(result), 0), sizeof(result));
		assert_int_equal(result.error, 0);
	}
}

/* One user has the maximum of flows, and another user has a few. */
RIG_TEST(a_turn_scans_few_flows_of_a_user)
{
	enum { FLOWS = CCS_AGENT_FLOWS_PER_UID / 2, OTHERS = 100 };
	struct rig *r = *state;
	struct rig_client c[3];
	unsigned of_user, of_other;

	for (unsigned i = 0; i < 3; i++)
		c[i] = client_of(r, i, i < 2 ? USER : OTHER);
	for (unsigned i = 0; i < 3; i++)
		add_idle_flows(r, &c[i], i < 2 ? FLOWS : OTHERS, i * FLOWS);
	for (unsigned i = 0; i < 3; i++)
		entry(r, i)->scan.next = NULL;
	for (unsigned i = 0; i < 3; i++)
		change_all(entry(r, i));
	r->now_ns += 10000000000;
	ccs_agent_turn(r->agent[RP], 0);
	of_user = count_scanned(entry(r, 0)) + count_scanned(entry(r, 1));
	of_other = count_scanned(entry(r, 2));
	print_message("flows scanned in a turn, of %d and %d: %u and %u\n", 2 * FLOWS, OTHERS, of_user,
		      of_other);
	assert_in_range(of_user, 1, CCS_AGENT_TURN_FLOWS);
	assert_int_equal(of_other, OTHERS);
	for (unsigned turns = 1; turns < 2 * FLOWS / CCS_AGENT_TURN_FLOWS; turns++)
		ccs_agent_turn(r->agent[RP], 0);
	of_user = count_scanned(entry(r, 0)) + count_scanned(entry(r, 1));
	assert_int_equal(of_user, 2 * FLOWS);
	for (unsigned i = 0; i < 3; i++)
		rig_hang_up(&c[i]);
}

/* The first client has so many flows that a turn scans a part of them. */
static void scan_a_part(struct rig *r, struct rig_client *c, unsigned flows)
{
	add_idle_flows(r, c, flows, 0);
	entry(r, 0)->scan.next = NULL;
	r->now_ns += 10000000000;
	ccs_agent_turn(r->agent[RP], 0);
	assert_non_null(entry(r, 0)->scan.next);
}

RIG_TEST(a_flow_ends_while_a_scan_is_in_progress)
{
	enum { FLOWS = CCS_AGENT_TURN_FLOWS + 10 };
	struct rig *r = *state;
	struct rig_client c = client_of(r, 0, USER);

	scan_a_part(r, &c, FLOWS);
	for (unsigned i = FLOWS; i--;) {
		const struct ccs_ipc_remove m = { .type = CCS_IPC_REMOVE, .slot = i };

		assert_int_equal(send(c.fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
	}
	rig_settle(r);
	assert_int_equal(r->agent[RP]->flows.n, 0);
	assert_int_equal(r->agent[RP]->flows.users, 0);
	rig_hang_up(&c);
}

/* Whenever a scan has to visit two more flows, these end, and two others begin. */
RIG_TEST(ended_flows_do_not_repeat_scans)
{
	enum { FLOWS = CCS_AGENT_TURN_FLOWS + 2 };
	struct rig *r = *state;
	struct rig_client c = client_of(r, 0, USER);

	scan_a_part(r, &c, FLOWS);
	for (uint32_t slot = 2; slot--;) {
		const struct ccs_ipc_remove end = { .type = CCS_IPC_REMOVE, .slot = slot };
		const struct ccs_ipc_add begin = rig_flow(r, RP, FLOWS + slot, FLOWS + slot);

		assert_int_equal(entry(r, 0)->scan.next->slot, slot);
		atomic_store(&c.shm->slot[FLOWS + slot].period_us, 1000);
		assert_int_equal(send(c.fd, &begin, sizeof(begin), 0), sizeof(begin));
		assert_int_equal(send(c.fd, &end, sizeof(end), 0), sizeof(end));
		entry(r, 0)->user->share.flows = 0;
		entry(r, 0)->user->share.turn = r->agent[RP]->turn + 1;
		entry(r, 0)->user->share.requests = 2;
		ccs_agent_turn(r->agent[RP], 0);
	}
	assert_null(entry(r, 0)->scan.next);
	assert_true(entry(r, 0)->scan.due_ns > r->now_ns);
	rig_hang_up(&c);
}

/* The new flow's client has been scanned, and the scan of another ends the round. */
RIG_TEST(a_new_flows_request_outlasts_the_round)
{
	struct rig *r = *state;
	struct rig_client c = client_of(r, 0, USER), d = client_of(r, 1, USER);
	const struct ccs_peer *p;

	assert_int_equal(rig_add(r, &c, RP, 0, 0), 0);
	assert_int_equal(rig_add(r, &d, RP, 1, 0), 0);
	rig_pass(r, 1000);
	p = entry(r, 0)->first->peer;
	for (unsigned i = 0; i < 2; i++) {
		entry(r, i)->scan.done = !i;
		entry(r, i)->scan.began_ns = r->now_ns;
		entry(r, i)->scan.due_ns = r->agent[RP]->due.demand_ns = r->now_ns + 1000000;
	}
	atomic_store(&c.shm->slot[1].period_us, 1000);
	assert_int_equal(rig_add(r, &c, RP, 2, 1), 0);
	assert_int_equal(p->request.period_us, 1000);
	entry(r, 1)->scan.due_ns = r->agent[RP]->due.demand_ns = r->now_ns;
	ccs_agent_turn(r->agent[RP], 0);
	assert_false(entry(r, 1)->scan.done); /* a new round has begun */
	assert_int_equal(p->request.period_us, 1000);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* The time stands still, so only a flow that is added could cause a scan. */
RIG_TEST(a_user_who_adds_flows_causes_no_scans)
{
	enum { FLOWS = 100 };
	struct rig *r = *state;
	struct rig_client c = client_of(r, 0, USER);
	unsigned scans = 0;

	add_idle_flows(r, &c, 1, 0);
	ccs_agent_turn(r->agent[RP], 0);
	for (unsigned i = 1; i <= FLOWS; i++) {
		atomic_store(&c.shm->slot[i].period_us, 1000);
		change_all(entry(r, 0));
		assert_int_equal(rig_add(r, &c, RP, i, i), 0);
		scans += count_scanned(entry(r, 0)) > 1; /* the new flow's counter has not changed */
	}
	print_message("scans caused by %d flows: %u\n", FLOWS, scans);
	assert_in_range(scans, 0, 1);
	rig_hang_up(&c);
}

static struct ccs_user *user_with_budget(struct rig *r, uid_t uid, unsigned left)
{
	struct ccs_user *u = ccs_user_of(r->agent[RP], uid);

	ccs_user_charge(r->agent[RP], u, BUDGET - left);
	return u;
}

RIG_TEST(a_user_without_a_budget_waits_and_others_do_not)
{
	enum { REQUESTS = 100, LEFT = 30 };
	struct rig *r = *state;
	struct rig_client c = client_of(r, 0, USER), d = client_of(r, 1, OTHER);

	user_with_budget(r, USER, LEFT);
	send_requests(c.fd, REQUESTS);
	send_requests(d.fd, REQUESTS);
	rig_settle(r);
	assert_int_equal(count_replies(c.fd), LEFT);
	assert_int_equal(count_replies(d.fd), REQUESTS);
	rig_pass(r, 1000);
	assert_int_equal(count_replies(c.fd), REQUESTS - LEFT);
	entry(r, 0)->standing = CCS_STANDING_ADMIN;
	user_with_budget(r, USER, 0);
	send_requests(c.fd, REQUESTS);
	rig_settle(r);
	assert_int_equal(count_replies(c.fd), REQUESTS);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* Only the effective user counts, which root can change for the connection. */
static bool is_connected(struct rig *r, uid_t uid)
{
	const uid_t own = geteuid();
	int fd, end;
	char byte;

	if (!own)
		assert_int_equal(seteuid(uid), 0);
	fd = rig_dial(r, RP);
	if (!own)
		assert_int_equal(seteuid(own), 0);
	rig_settle(r);
	end = (int)recv(fd, &byte, 1, MSG_DONTWAIT);
	close(fd);
	rig_settle(r);
	return end != 0;
}

RIG_TEST(connections_of_a_user_are_limited_in_time)
{
	enum { FEW = 10, TRIES = 200 };
	struct rig *r = *state;
	const uid_t uid = geteuid() ? geteuid() : USER;
	unsigned n = 0, later = 0;

	assert_int_equal(chmod(r->dir, 0755), 0);
	assert_true(is_connected(r, uid));
	user_with_budget(r, uid, FEW * CONNECTION);
	for (unsigned i = 0; i < TRIES; i++)
		n += is_connected(r, uid);
	if (!geteuid())
		assert_true(is_connected(r, OTHER));
	rig_pass(r, 1000);
	for (unsigned i = 0; i < 2 * TRIES; i++)
		later += is_connected(r, uid);
	print_message("connections: %u of %d, and of %d a second later %u\n", n, TRIES, 2 * TRIES, later);
	assert_in_range(n, 1, FEW);
	assert_in_range(later, REQUESTS_PER_S / CONNECTION - 1, REQUESTS_PER_S / CONNECTION + 1);
	assert_non_null(strstr(r->said, "too many connections"));
}

/* An entry with a debt is not forgotten while one without exists. */
RIG_TEST(a_user_with_a_debt_is_remembered)
{
	struct rig *r = *state;
	struct ccs_user *u = user_with_budget(r, USER, 0);

	assert_false(ccs_user_has_budget(r->agent[RP], u));
	for (uid_t uid = 10000; uid < 10000 + 2 * CCS_AGENT_USERS; uid++)
		assert_true(ccs_user_has_budget(r->agent[RP], ccs_user_of(r->agent[RP], uid)));
	assert_false(ccs_user_has_budget(r->agent[RP], ccs_user_of(r->agent[RP], USER)));
	for (uid_t uid = 10000; uid < 10000 + 2 * CCS_AGENT_USERS; uid++)
		ccs_user_charge(r->agent[RP], ccs_user_of(r->agent[RP], uid), 1);
	assert_false(ccs_user_has_budget(r->agent[RP], ccs_user_of(r->agent[RP], USER)));
}

/* The limit on requests for the status holds when the user has no connection in between. */
RIG_TEST(the_last_status_of_a_user_is_remembered)
{
	struct rig *r = *state;
	const uint64_t next_ns = r->now_ns + CCS_AGENT_STATUS_NS;

	ccs_user_of(r->agent[RP], USER)->status_ns = next_ns;
	for (uid_t uid = 10000; uid < 10000 + 2 * CCS_AGENT_USERS; uid++)
		ccs_user_of(r->agent[RP], uid);
	assert_int_equal(ccs_user_of(r->agent[RP], USER)->status_ns, next_ns);
}
