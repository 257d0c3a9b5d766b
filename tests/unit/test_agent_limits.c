/* SPDX-License-Identifier: BSD-2-Clause */
/* Host agents with many flows and many peers. */
#include <errno.h>
#include <sys/socket.h>

#include "agentrig.h"

enum { RP, NP };

/* -- how much there may be --------------------------------------------------------------- */

static void ten_thousand_flows_of_one_client(void **state)
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
	assert_int_equal(r->agent[RP]->nflows, 0);
}

static void peer_table_overflow_is_refused_and_recovers(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_ipc_add m;
	unsigned i;

	for (i = 0; i < CCS_SHM_PATHS; i++) {
		m = rig_flow(r, RP, i, i);
		m.peer_gid[13] = (uint8_t)(1 + (i >> 8));
		m.peer_gid[14] = (uint8_t)i;
		assert_int_equal(send(c.fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
		assert_int_equal(recv(c.fd, (char[64]){ 0 }, 64, 0), sizeof(struct ccs_ipc_result));
	}
	m = rig_flow(r, RP, i, i);
	assert_int_equal(rig_ask(r, c.fd, &m, sizeof(m)), ENOSPC);
	assert_non_null(strstr(r->said, "peers"));
	rig_hang_up(&c);
	rig_pass(r, 200);
	assert_int_equal(r->agent[RP]->peers.high, 0);
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_hang_up(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ten_thousand_flows_of_one_client),
		TEST(peer_table_overflow_is_refused_and_recovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
