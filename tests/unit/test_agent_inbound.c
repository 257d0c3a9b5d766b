/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion on the way of data that a host's own flows READ: host READER has the flows, the
 * other one only answers.
 */
#include "agentrig.h"

enum { READER, RESPONDER };

/* The reader's agent watches for marks, as far as its clients can tell. */
static struct rig_client open_reader(struct rig *r)
{
	r->agent[READER]->config.capture = true;
	return rig_client(r, READER);
}

static void close_reader(struct rig *r, struct rig_client *c)
{
	rig_hang_up(c);
	rig_settle(r);
	assert_int_equal(r->agent[READER]->nflows, 0);
	r->agent[READER]->config.capture = false;
}

static void a_mark_on_an_answer_is_a_cnp_for_the_reader(void **state)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);

	assert_int_equal(rig_add(r, &c, READER, 1, 7), 0);
	assert_int_equal(rig_add(r, &c, READER, 2, 8), 0);
	assert_int_equal(c.page->slot[7].inbound_flags, CCS_PEER_NP);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	assert_int_equal(rig_cnps(&c, 7), 1);
	assert_int_equal(rig_cnps(&c, 8), 0);
	assert_int_equal(c.page->slot[7].cnp_ns, r->now_ns);
	rig_settle(r);
	assert_int_equal(r->agent[READER]->totals.cnps_inbound, 1);
	assert_int_equal(r->agent[READER]->totals.cnps_sent, 0);
	assert_int_equal(r->agent[READER]->totals.ce_unasked, 0);
	close_reader(r, &c);
}

static void the_responder_needs_no_agent(void **state)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);

	rig_stop(r, RESPONDER);
	assert_int_equal(rig_add(r, &c, READER, 1, 7), 0);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	assert_int_equal(rig_cnps(&c, 7), 1);
	close_reader(r, &c);
}

static void a_reader_gets_one_cnp_an_interval(void **state)
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

/* The peer's WRITEs and the answers to our READs come to one QP, each of another flow. */
static void one_qp_that_reads_and_is_written_to(void **state)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r), d = rig_client(r, RESPONDER);
	struct ccs_local_add m = rig_flow(r, RESPONDER, 1, 0);

	rig_add(r, &c, READER, 1, 0);
	m.local_qpn = 0x201;
	m.peer_qpn = 0x101;
	assert_int_equal(rig_ask(r, d.fd, &m, sizeof(m)), 0);
	rig_settle(r);
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
static void requests_and_acknowledgements_are_no_data(void **state)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r), d = rig_client(r, RESPONDER);
	struct ccs_local_add m = rig_flow(r, RESPONDER, 1, 0);

	rig_add(r, &c, READER, 1, 0);
	m.local_qpn = 0x201;
	m.peer_qpn = 0x101;
	assert_int_equal(rig_ask(r, d.fd, &m, sizeof(m)), 0);
	rig_settle(r);
	rig_mark_own(r, READER, RIG_READ, 1);
	rig_mark_own(r, READER, RIG_ACK, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0) + rig_cnps(&d, 0), 0);
	assert_int_equal(r->agent[READER]->totals.ce_unasked, 2);
	rig_hang_up(&d);
	close_reader(r, &c);
}

/* QPNs are a host's: those of another one, or of nobody, are no flow's of ours. */
static void an_answer_to_nobody_is_no_cnp(void **state)
{
	struct rig *r = *state;
	struct rig_client c = open_reader(r);
	struct ccs_local_add m = rig_flow(r, READER, 1, 0);

	m.peer_gid[15] = 9;                      /* connected to another host */
	assert_int_equal(rig_ask(r, c.fd, &m, sizeof(m)), 0);
	assert_int_equal(rig_add(r, &c, READER, 2, 1), 0);
	rig_mark_own(r, READER, RIG_ANSWER, 1);
	rig_mark_own(r, READER, RIG_ANSWER, 3);
	rig_mark(r, READER, 2);                  /* a WRITE, and to the peer's QPN */
	assert_int_equal(rig_cnps(&c, 0) + rig_cnps(&c, 1), 0);
	assert_int_equal(r->agent[READER]->totals.ce_unasked, 3);
	rig_mark_own(r, READER, RIG_ANSWER, 2);
	assert_int_equal(rig_cnps(&c, 1), 1);
	assert_int_equal(send(c.fd, &(struct ccs_local_remove){ CCS_LOCAL_REMOVE, 1 }, 8, 0), 8);
	rig_settle(r);
	r->now_ns += 1000000;
	rig_mark_own(r, READER, RIG_ANSWER, 2);
	assert_int_equal(rig_cnps(&c, 1), 1);
	assert_int_equal(c.page->slot[1].inbound_flags, 0);
	close_reader(r, &c);
}

/* What is not watched for does not come. */
static void who_does_not_watch_says_so(void **state)
{
	static const char *const other[] = { "eth9" };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, READER);

	assert_int_equal(rig_add(r, &c, READER, 1, 0), 0);
	assert_int_equal(c.page->slot[0].inbound_flags, 0);
	rig_hang_up(&c);
	r->agent[READER]->config.interfaces = other;
	r->agent[READER]->config.ninterfaces = 1;
	c = open_reader(r);
	assert_int_equal(rig_add(r, &c, READER, 1, 0), 0);
	assert_int_equal(c.page->slot[0].inbound_flags, 0);
	close_reader(r, &c);
	r->agent[READER]->config.ninterfaces = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_mark_on_an_answer_is_a_cnp_for_the_reader),
		TEST(the_responder_needs_no_agent),
		TEST(a_reader_gets_one_cnp_an_interval),
		TEST(one_qp_that_reads_and_is_written_to),
		TEST(requests_and_acknowledgements_are_no_data),
		TEST(an_answer_to_nobody_is_no_cnp),
		TEST(who_does_not_watch_says_so),
	};

	return cmocka_run_group_tests_name("inbound", tests, NULL, NULL);
}
