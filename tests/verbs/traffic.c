/* SPDX-License-Identifier: BSD-2-Clause */
/* Program for report.bats: traffic of known size, and QPs that are uncontrolled for each reason. */
#include "rig.h"

#define K4 4096u

static void create_uncontrolled(struct rig *r)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .flags = 1u << 31,
					       .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS };
	struct ibv_parent_domain_init_attr domain = {
		.pd = r->pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT };
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_qp_init_attr_ex qp_attr = { .send_cq = r->scq, .recv_cq = r->rcq, .pd = r->pd,
					       .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd = r->pd;
	struct ibv_cq *cq;

	r->conf.type = IBV_QPT_UC;
	assert_non_null(rig_qp(r, r->scq, r->rcq));
	r->conf.type = IBV_QPT_UD;
	assert_non_null(rig_qp(r, r->scq, r->rcq));
	r->conf.type = IBV_QPT_RC;
	r->conf.max_send_wr = 0;
	assert_non_null(rig_qp(r, r->scq, r->rcq));
	r->conf.max_send_wr = 16;
	assert_non_null(rig_qp(r, ibv_cq_ex_to_cq(ibv_create_cq_ex(r->ctx, &cq_attr)), r->rcq));
	domain.td = ibv_alloc_td(r->ctx, &td_attr);
	r->pd = ibv_alloc_parent_domain(r->ctx, &domain);
	assert_non_null(rig_qp(r, r->scq, r->rcq));
	r->pd = pd;
	qp_attr.cap.max_send_wr = 4;
	qp_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	qp_attr.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING;
	assert_non_null(ibv_create_qp_ex(r->ctx, &qp_attr));
	cq = ibv_create_cq(r->ctx, 16, NULL, NULL, 0);
	fake_refuse_cqs(ENOMEM);
	assert_non_null(rig_qp(r, cq, cq));
	fake_refuse_cqs(0);
}

int main(int argc, char **argv)
{
	struct ibv_wc wc[8];
	struct rig r;

	if (argc != 2)
		return 2;
	rig_exec(argv, NULL);
	rig_open(&r, (struct rig_conf){ 0 });
	if (strcmp(argv[1], "fork") == 0)
		return 0;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 3 * K4,
					  i % 2 ? IBV_SEND_SIGNALED : 0), 0);
	rig_poll(r.scq, 4, wc);
	create_uncontrolled(&r);
	if (strcmp(argv[1], "destroy") == 0) {
		assert_int_equal(ibv_destroy_qp(r.a), 0);
		assert_int_equal(ibv_destroy_qp(r.b), 0);
	}
	return 0; /* the other objects still exist */
}
