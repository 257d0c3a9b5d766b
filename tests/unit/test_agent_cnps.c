/* SPDX-License-Identifier: BSD-2-Clause */
/* CNPs between agents: leases, renewals, restarts of either side. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agentrig.h"
#include "seed.h"

enum { RP, NP };

/* -- what they are for ---------------------------------------------------------- */

RIG_TEST(ce_mark_causes_a_cnp_in_the_slot)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 7);

	assert_int_equal(rig_path(&c, 7)->last_seen_ns, r->now_ns);
	assert_int_equal(rig_cnps(&c, 7), 0);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 7), 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[RP]->totals.cnps_accepted, 1);
	assert_int_equal(r->nsaid, 0);
	rig_hang_up(&c);
}

RIG_TEST(at_most_one_cnp_per_flow_and_interval)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_add(r, &c, RP, 1, 1);
	rig_add(r, &c, RP, 2, 2);
	rig_settle(r);
	for (int us = 0; us < 200; us++) {
		rig_mark(r, NP, 1);
		rig_mark(r, NP, 1);
		if (us == 10)
			rig_mark(r, NP, 2);
		r->now_ns += 1000;
	}
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 1), 4);
	assert_int_equal(rig_cnps(&c, 2), 1);
	rig_hang_up(&c);
}

/* -- leases and restarts ------------------------------------------------------------ */

RIG_TEST(no_cnp_is_sent_without_a_lease)
{
	struct rig *r = *state;
	struct rig_client c;

	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 1);
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_hang_up(&c);
	rig_pass(r, 2900);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_PEER], 1);
	rig_pass(r, 200);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 2);
	assert_int_equal(r->agent[NP]->peers.high, 0);
	assert_int_equal(r->agent[RP]->peers.high, 0);
}

/* The host is also known for another reason. */
RIG_TEST(lease_expires)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP), d = rig_client(r, NP);

	rig_add(r, &c, RP, 1, 0);
	rig_add(r, &d, NP, 1, 0);
	rig_pass(r, 500);
	rig_hang_up(&c);
	rig_pass(r, 3500);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->peers.high, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 0);
	rig_hang_up(&d);
}

RIG_TEST(lease_is_renewed_while_flows_exist)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_add(r, &c, RP, 1, 0);
	rig_pass(r, 20000);
	assert_in_range(r->now_ns - rig_path(&c, 0)->last_seen_ns, 0, 1100000000);
	/* One for the incarnation, then one a second. */
	assert_in_range(r->agent[RP]->totals.hellos_sent, 19, 23);
	assert_int_equal(c.shm->heartbeat_ns, r->now_ns);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

RIG_TEST(cnps_resume_after_the_np_agent_restarts)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	uint64_t hellos;

	rig_add(r, &c, RP, 1, 0);
	rig_mark(r, NP, 1);
	rig_pass(r, 5000);
	rig_stop(r, NP);
	hellos = r->agent[RP]->totals.hellos_sent;
	rig_pass(r, 1500);
	assert_in_range(r->agent[RP]->totals.hellos_sent - hellos, 3, 4); /* soon again at first */
	rig_pass(r, 3500);
	assert_true(r->now_ns - rig_path(&c, 0)->last_seen_ns > 4000000000);
	rig_start(r, NP);
	rig_pass(r, 8000);
	assert_in_range(r->now_ns - rig_path(&c, 0)->last_seen_ns, 0, 1100000000);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 2);
	rig_hang_up(&c);
}

/* The region outlives the agent, and its counters continue. */
RIG_TEST(cnps_resume_after_the_rp_agent_restarts)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 3);
	char end;

	rig_mark(r, NP, 1);
	rig_settle(r);
	rig_stop(r, RP);
	assert_int_equal(recv(c.fd, &end, 1, 0), 0);
	rig_pass(r, 300);
	rig_start(r, RP);
	close(c.fd);
	c.fd = rig_dial(r, RP);
	assert_int_equal(rig_hello(r, c.fd, c.shm_fd), 0);
	assert_int_equal(rig_add(r, &c, RP, 1, 3), 0);
	rig_settle(r);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 3), 2);
	rig_hang_up(&c);
}

RIG_TEST(np_flag_is_set_if_marks_are_captured)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);

	assert_int_equal(rig_path(&c, 0)->flags, 0);
	r->agent[NP]->config.capture = true;
	rig_pass(r, 1200);
	assert_int_equal(rig_path(&c, 0)->flags, CCS_PEER_NP);
	r->agent[NP]->config.capture = false;
	rig_hang_up(&c);
}

RIG_TEST(both_directions_work_at_once)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, 0), d = rig_client(r, 1);

	rig_add(r, &c, 0, 1, 0);
	rig_add(r, &d, 1, 1, 0);
	rig_pass(r, 3000);
	for (int i = 0; i < 100; i++) {
		rig_mark(r, 1, 1);
		rig_mark(r, 0, 1);
		r->now_ns += 60000;
	}
	rig_pass(r, 1000);
	assert_int_equal(rig_cnps(&c, 0), 100);
	assert_int_equal(rig_cnps(&d, 0), 100);
	for (int i = 0; i < CCS_REFUSALS; i++)
		assert_int_equal(r->agent[0]->totals.refused[i] + r->agent[1]->totals.refused[i], 0);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* Marks come and go with flows, agents and time; each CNP that is sent is received. */
RIG_TEST(no_cnp_is_lost_or_duplicated)
{
	enum { FLOWS = 200 };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	uint64_t sum = 0;

	seed_start("no_cnp_is_lost_or_duplicated");
	for (unsigned i = 0; i < FLOWS; i++)
		assert_int_equal(rig_add(r, &c, RP, i, i), 0);
	rig_settle(r);
	for (int i = 0; i < 5000; i++) {
		rig_mark(r, NP, (unsigned)seed_below(FLOWS));
		r->now_ns += seed_below(10000);
		if (i % 100 == 0)
			rig_settle(r);
	}
	rig_settle(r);
	for (unsigned i = 0; i < FLOWS; i++)
		sum += rig_cnps(&c, i);
	assert_true(sum > 1000);
	assert_int_equal(sum, r->agent[NP]->totals.cnps_sent);
	assert_int_equal(sum, r->agent[RP]->totals.cnps_accepted);
	rig_hang_up(&c);
}

/* -- marks for queue pairs that exist -------------------------------------------------- */

/* The kernel's table of queue pairs: one, if any. */
struct table {
	uint32_t qpn;
	int error;                       /* 0: the table can be read */
	unsigned checks;
};

static int check_qp(void *arg, uint32_t qpn, char device[64])
{
	struct table *t = arg;

	t->checks++;
	strcpy(device, "fake0");
	return t->error ? t->error : qpn == t->qpn ? 0 : ENOENT;
}

static struct rig_client start_checked(struct rig *r, struct table *t)
{
	struct rig_client c = rig_client(r, RP);

	r->agent[NP]->config.check_qp = check_qp;
	r->agent[NP]->config.check_arg = t;
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	return c;
}

RIG_TEST(a_mark_for_a_qp_that_does_not_exist_causes_no_cnp)
{
	struct rig *r = *state;
	struct table t = { .qpn = 0x202 };
	struct rig_client c = start_checked(r, &t);

	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 0);
	assert_int_equal(r->agent[NP]->totals.ce_no_qp, 1);
	t.qpn = 0x201;                   /* it is created, and found a little later */
	r->now_ns += 100000000;
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	t.qpn = 0;                       /* it is destroyed */
	r->now_ns += 10000000000;
	rig_settle(r);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	rig_hang_up(&c);
}

RIG_TEST(a_mark_for_a_qp_of_another_peer_causes_no_cnp)
{
	struct rig *r = *state;
	struct table t = { .qpn = 0x201 };
	struct rig_client c = start_checked(r, &t), d = rig_client(r, NP);
	struct ccs_ipc_add m = rig_flow(r, NP, 1, 0);

	m.local_qpn = 0x201;
	m.peer_gid[15] = 3;              /* 127.0.0.3 */
	assert_int_equal(rig_request(r, d.fd, &m, sizeof(m)), 0);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 0);
	assert_int_equal(r->agent[NP]->totals.ce_no_qp, 1);
	m = rig_flow(r, NP, 1, 1);
	m.local_qpn = 0x201;
	assert_int_equal(rig_request(r, d.fd, &m, sizeof(m)), 0);
	r->now_ns += 100000000;
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* Its owner was checked, and no kernel need list it. */
RIG_TEST(a_mark_for_a_registered_qp_needs_no_check)
{
	struct rig *r = *state;
	struct table t = { .qpn = 0 };
	struct rig_client c = start_checked(r, &t), d = rig_client(r, NP);
	struct ccs_ipc_add m = rig_flow(r, NP, 1, 0);
	const struct ccs_ipc_remove gone = { CCS_IPC_REMOVE, 0 };

	m.local_qpn = 0x201;
	assert_int_equal(rig_request(r, d.fd, &m, sizeof(m)), 0);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(t.checks, 0);
	assert_int_equal(send(d.fd, &gone, sizeof(gone), 0), sizeof(gone));
	rig_settle(r);
	r->now_ns += 100000000;
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(t.checks, 1);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

RIG_TEST(marks_count_where_qps_cannot_be_checked)
{
	struct rig *r = *state;
	struct table t = { .error = EPROTONOSUPPORT };
	struct rig_client c = start_checked(r, &t);

	for (int i = 0; i < 3; i++) {
		r->now_ns += 20000000000;
		rig_settle(r);
		rig_mark(r, NP, 1);
	}
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 3);
	assert_int_equal(r->nsaid, 1);
	assert_non_null(strstr(r->said, "marks count without it"));
	rig_hang_up(&c);
}

RIG_TEST(made_up_qp_numbers_cause_a_limited_number_of_checks)
{
	struct rig *r = *state;
	struct table t = { .qpn = 0x201 };
	struct rig_client c = start_checked(r, &t);

	for (unsigned i = 0; i < 1000; i++)
		rig_mark(r, NP, 1);
	assert_int_equal(t.checks, 1);
	for (unsigned i = 0; i < 5000; i++)
		rig_mark(r, NP, 2 + i);
	assert_true(t.checks <= 2001);
	r->now_ns += 1000000;
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 2);
	rig_hang_up(&c);
}
