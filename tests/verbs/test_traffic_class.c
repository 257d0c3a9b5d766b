/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the traffic class: the device gets one that lets switches mark the QP's packets, and the
 * application's queries return the value that it set.
 */
#include "rig.h"

enum { DSCP_46 = 46 << 2, ECT_0 = 2, ECT_1 = 1, AV_BITS = IBV_QP_AV | IBV_QP_PATH_MTU |
       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER };

/* The traffic class that the device gets for the application's. */
static uint8_t expected(uint8_t given)
{
	if (rig_is("ect"))
		return (given & 0xfc) | ECT_0;
	if (rig_is("ect-dscp"))
		return DSCP_46 | ECT_0;
	if (rig_is("dscp"))
		return DSCP_46 | (given & 3);
	return given;
}

static uint8_t queried(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_AV, &init), 0);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 7);
	return attr.ah_attr.grh.traffic_class;
}

static struct ibv_qp_attr rtr(const struct rig *r, uint8_t class)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .dest_qp_num = r->b->qp_num, .path_mtu = IBV_MTU_4096,
		.max_dest_rd_atomic = 16,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .traffic_class = class, .hop_limit = 7, .sgid_index = 1 } },
	};
}

static struct ibv_qp *new_qp(struct rig *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = rig_qp(r, r->scq, r->rcq);

	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				       IBV_QP_ACCESS_FLAGS), 0);
	return qp;
}

static void the_device_gets_dscp_and_ect_and_queries_return_the_applications(void **state)
{
	static const uint8_t classes[] = { 0, 26 << 2, 26 << 2 | ECT_1, DSCP_46 | ECT_0, 255 };
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < sizeof(classes); i++) {
		struct ibv_qp_attr attr = rtr(&r, classes[i]);
		const struct ibv_qp_attr before = attr;
		struct ibv_qp *qp = new_qp(&r);

		assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | AV_BITS), 0);
		assert_memory_equal(&attr, &before, sizeof(attr));
		assert_int_equal(fake_tclass(qp), expected(classes[i]));
		assert_int_equal(queried(qp), classes[i]);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	rig_close(&r);
}

/* A path is changed while the send queue is drained, and a change is refused. */
static void the_traffic_class_follows_a_new_path_in_sqd(void **state)
{
	struct ibv_qp_attr attr;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	attr = rtr(&r, 9 << 2);
	attr.qp_state = IBV_QPS_SQD;
	assert_int_equal(ibv_modify_qp(r.a, &attr, IBV_QP_STATE | IBV_QP_AV), 0);
	assert_int_equal(fake_tclass(r.a), expected(9 << 2));
	assert_int_equal(queried(r.a), 9 << 2);
	attr = rtr(&r, 1 << 2);
	fake_fail_modify_qp(0, EPERM);
	assert_int_equal(ibv_modify_qp(r.a, &attr, IBV_QP_AV), EPERM);
	assert_int_equal(queried(r.a), 9 << 2);
	rig_close(&r);
}

/* Without a GRH the traffic class does not exist, and these bytes are undefined. */
static void no_traffic_class_is_set_without_a_grh(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	qp = new_qp(&r);
	attr = rtr(&r, 0);
	attr.ah_attr.is_global = 0;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | AV_BITS), 0);
	assert_int_equal(fake_tclass(qp), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "bare", { "RIG_BARE=1" } },
		{ "timely", { "CCSHIM_CC=timely" } },
		{ "observe", { "CCSHIM_MODE=observe", "CCSHIM_CC=dcqcn", "CCSHIM_DSCP=46" } },
		{ "ect", { "CCSHIM_CC=dcqcn", "CCSHIM_LOG_LEVEL=error" } },
		{ "ect-dscp", { "CCSHIM_CC=dcqcn", "CCSHIM_DSCP=46", "CCSHIM_LOG_LEVEL=error" } },
		{ "dscp", { "CCSHIM_CC=timely", "CCSHIM_DSCP=46" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_gets_dscp_and_ect_and_queries_return_the_applications),
		cmocka_unit_test(the_traffic_class_follows_a_new_path_in_sqd),
		cmocka_unit_test(no_traffic_class_is_set_without_a_grh),
	};

	return rig_run_in(argc, argv, "traffic class", modes, sizeof(modes) / sizeof(*modes),
			  tests, sizeof(tests) / sizeof(*tests));
}
