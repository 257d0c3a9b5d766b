/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests queue maps and the wait of a CNP. */
#include "test.h"

#include <math.h>

#include "fabric/qos.h"

TEST(rules_match_port_and_dscp)
{
	const struct ccs_qos q = { .rule = { { 4791, 48, 6 }, { 4791, 46, 5 }, { 4793, 48, 6 } },
				   .rules = 3, .remark = 0, .other = 2 };
	unsigned dscp = 48;

	assert_int_equal(ccs_qos_edge(&q, 4791, &dscp), 6);
	assert_int_equal(ccs_qos_edge(&q, 4793, &dscp), 6);
	assert_int_equal(dscp, 48);
	assert_int_equal(ccs_qos_edge(&q, 53, &dscp), 2);
	assert_int_equal(dscp, 0);
	dscp = 46;
	assert_int_equal(ccs_qos_edge(&q, 4791, &dscp), 5);
	assert_int_equal(ccs_qos_edge(&q, 4793, &dscp), 2);
}

TEST(a_cnp_waits_for_a_frame_at_each_hop)
{
	static const struct { double mtu, us; } rows[] = { { 1024, 0.53 }, { 4096, 2.01 }, { 9216, 4.46 } };

	for (unsigned i = 0; i < 3; i++) {
		const double frame = rows[i].mtu + 82;
		const double us = ccs_qos_wait_us(frame, 25e9) + 2 * ccs_qos_wait_us(frame, 100e9);

		assert_true(fabs(us - rows[i].us) < 0.5e-2);
	}
}

TEST(cnps_of_a_thousand_flows_take_gigabits)
{
	assert_true(fabs(ccs_qos_cnp_bps(1000, 74, 50) - 11.84e9) < 1);
}
