/* SPDX-License-Identifier: BSD-2-Clause */
/* Host agents as a whole: leases, CNPs, restarts, and what must not impress them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agentrig.h"
#include "seed.h"

enum { RP, NP };

/* -- what they are for ---------------------------------------------------------- */

static void a_mark_becomes_a_cnp_in_the_slot(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	assert_int_equal(rig_add(r, &c, RP, 1, 7), 0);
	rig_settle(r);
	assert_int_equal(rig_path(&c, 7)->heard_ns, r->now_ns);
	assert_int_equal(rig_cnps(&c, 7), 0);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 7), 1);
	assert_int_equal(c.page->slot[7].cnp_ns, r->now_ns);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[RP]->totals.cnps_accepted, 1);
	assert_int_equal(r->nsaid, 0);
	rig_hang_up(&c);
}

static void one_cnp_a_flow_and_interval(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_mark_becomes_a_cnp_in_the_slot, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(one_cnp_a_flow_and_interval, rig_setup, rig_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
