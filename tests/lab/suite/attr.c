/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the attributes of QPs: what queries return, and transitions that are refused. */
#include "suite.h"

static void query_returns_what_was_set(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct pair p;

	PAIR(&p, .rd_atomic = 4);
	require(!ibv_query_qp(p.a.qp, &a,
			      IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_TIMEOUT |
				      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_ACCESS_FLAGS |
				      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_PORT | IBV_QP_AV,
			      &init), "query");
	require(a.qp_state == IBV_QPS_RTS && p.a.qp->state == IBV_QPS_RTS, "state %d", a.qp_state);
	require(a.path_mtu == IBV_MTU_1024, "path_mtu %d", a.path_mtu);
	require(a.dest_qp_num == p.b.qp->qp_num, "dest_qp_num %u", a.dest_qp_num);
	require(a.timeout == 12 && a.retry_cnt == 3 && a.rnr_retry == 7, "retries");
	require(a.max_rd_atomic == 4, "max_rd_atomic %u", a.max_rd_atomic);
	require(a.port_num == PORT && a.ah_attr.is_global, "port %u", a.port_num);
	require(!memcmp(&a.ah_attr.grh.dgid, &hosts[1].gid, sizeof(hosts[1].gid)), "dgid");
	require(a.ah_attr.grh.hop_limit == 64 && a.ah_attr.grh.sgid_index == 1, "GRH");
	pair_drop(&p);
}

static void query_returns_the_init_attributes(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct pair p;

	PAIR(&p, .sig_all = true);
	require(!ibv_query_qp(p.a.qp, &a, IBV_QP_STATE, &init), "query");
	require(init.send_cq == p.a.cq && init.recv_cq == p.a.cq, "CQs");
	require(init.qp_context == &p.a && init.qp_type == IBV_QPT_RC && !init.srq, "type");
	fact("sq_sig_all", "%d", init.sq_sig_all);
	require(p.a.qp->qp_context == &p.a && p.a.qp->pd == hosts[0].pd &&
		p.a.qp->context == hosts[0].ctx && p.a.qp->qp_type == IBV_QPT_RC,
		"members of struct ibv_qp");
	require(p.a.qp->recv_cq == p.a.cq, "recv_cq");
	fact("send_cq_as_given", "%d", p.a.qp->send_cq == p.a.cq);
	pair_drop(&p);
}

static void init_attributes_are_left_alone(void)
{
	struct ibv_cq *cq = ibv_create_cq(hosts[0].ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .qp_context = &attr, .send_cq = cq, .recv_cq = cq,
					 .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { 8, 8, 2, 2, 16 } };
	struct ibv_qp *qp;

	require(cq, "no CQ");
	qp = ibv_create_qp(hosts[0].pd, &attr);
	require(qp, "no QP");
	require(attr.send_cq == cq && attr.recv_cq == cq, "CQs");
	require(attr.qp_context == &attr && attr.qp_type == IBV_QPT_RC && attr.sq_sig_all == 1 &&
		!attr.srq, "members other than cap");
	require(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq), "destroying");
}

/* Each is refused, and leaves the state as it was. */
static void wrong_transitions_are_refused(void)
{
	static const struct {
		const char *name;
		enum ibv_qp_state state;
		int mask;
	} wrong[] = {
		{ "reset_to_rts", IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN },
		{ "reset_to_rtr", IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_DEST_QPN },
		{ "init_without_port", IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX },
		{ "init_with_qkey", IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			IBV_QP_ACCESS_FLAGS | IBV_QP_QKEY },
	};
	struct end e;

	end_make(&e, &hosts[0], &(struct shape){ 0 });
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ibv_qp_attr attr = { .qp_state = wrong[i].state, .port_num = PORT };
		int error = ibv_modify_qp(e.qp, &attr, wrong[i].mask);

		require(error, "%s is accepted", wrong[i].name);
		fact(wrong[i].name, "%s", strerror(error));
		require(end_state(&e) == IBV_QPS_RESET, "%s: state %d", wrong[i].name,
			end_state(&e));
	}
	end_drop(&e);
}

static void refused_modify_leaves_traffic(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct pair p;
	int error;

	PAIR(&p);
	for (unsigned i = 0; i < 10; i++)
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 4000, SIGNALED);
	error = ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE);
	require(error, "RTS to RTR is accepted");
	fact("error", "%s", strerror(error));
	for (unsigned i = 0; i < 10; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

/* Providers check the state, or do not; the shim must not change the answer. */
static void posting_before_rts(void)
{
	struct end a, b;
	int error;

	end_make(&a, &hosts[0], &(struct shape){ 0 });
	end_make(&b, &hosts[1], &(struct shape){ 0 });
	error = post(&a, &b, &(struct op){ .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 64,
					   SIGNALED });
	fact("reset_send", "%s", strerror(error));
	error = try_recv(&a, 1, 0, 64);
	fact("reset_recv", "%s", strerror(error));
	require(!end_modify(&a, IBV_QPS_RESET), "to RESET");
	end_drop(&a);
	end_drop(&b);
}

/* ccshim limits rates; an application may ask the device to. */
static void rate_limit(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1000000 };
	struct pair p;
	int error;

	PAIR(&p);
	error = ibv_modify_qp_rate_limit(p.a.qp, &attr);
	fact("error", "%s", strerror(error));
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

static void device_attributes(void)
{
	const struct ibv_device_attr *d = &hosts[0].attr;
	struct ibv_port_attr port;

	fact("max_qp", "%d", d->max_qp);
	fact("max_qp_wr", "%d", d->max_qp_wr);
	fact("max_sge", "%d", d->max_sge);
	fact("max_cq", "%d", d->max_cq);
	fact("max_cqe", "%d", d->max_cqe);
	fact("max_srq_wr", "%d", d->max_srq_wr);
	fact("max_qp_rd_atom", "%d", d->max_qp_rd_atom);
	fact("max_mw", "%d", d->max_mw);
	fact("flags", "%x", d->device_cap_flags);
	require(!ibv_query_port(hosts[0].ctx, PORT, &port), "query");
	require(port.state == IBV_PORT_ACTIVE, "port state %d", port.state);
	fact("max_msg_sz", "%u", port.max_msg_sz);
	fact("gid_tbl_len", "%d", port.gid_tbl_len);
}

const struct check attr_checks[] = {
	{ "attr_query", "ibv_query_qp returns what was set", query_returns_what_was_set },
	{ "attr_init", "ibv_query_qp returns the init attributes",
	  query_returns_the_init_attributes },
	{ "attr_untouched", "ibv_create_qp changes no init attribute but cap",
	  init_attributes_are_left_alone },
	{ "attr_transitions", "wrong transitions are refused and change nothing",
	  wrong_transitions_are_refused },
	{ "attr_refused", "a refused ibv_modify_qp does not disturb traffic",
	  refused_modify_leaves_traffic },
	{ "attr_early", "requests posted before RTS are refused or dropped by RESET",
	  posting_before_rts },
	{ "attr_rate_limit", "ibv_modify_qp_rate_limit does not disturb traffic", rate_limit },
	{ "attr_device", "the device and its port can be queried", device_attributes },
	{},
};
