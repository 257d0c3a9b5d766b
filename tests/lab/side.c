/* SPDX-License-Identifier: BSD-2-Clause */
#include "side.h"

#include <string.h>

enum { PORT = 1, GID_INDEX = 1 };

void side_open(struct side *s, const char *name, size_t memory)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	check(list, "no devices");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	check(list[i], "%s: no such device", name);
	s->ctx = ibv_open_device(list[i]);
	check(s->ctx, "%s", name);
	ibv_free_device_list(list);
	check(!ibv_query_gid(s->ctx, PORT, GID_INDEX, &s->gid), "%s", name);
	s->pd = ibv_alloc_pd(s->ctx);
	s->memory = calloc(1, memory);
	check(s->pd && s->memory, "%s", name);
	s->mr = ibv_reg_mr(s->pd, s->memory, memory,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	check(s->mr, "%s", name);
}

void side_make(struct side *s, const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = *cap };

	s->channel = ibv_create_comp_channel(s->ctx);
	s->scq = ibv_create_cq(s->ctx, (int)cap->max_send_wr, NULL, s->channel, 0);
	s->rcq = ibv_create_cq(s->ctx, (int)cap->max_recv_wr, NULL, s->channel, 0);
	check(s->channel && s->scq && s->rcq, "completion queues");
	init.send_cq = s->scq;
	init.recv_cq = s->rcq;
	s->qp = ibv_create_qp(s->pd, &init);
	check(s->qp, "a queue pair");
}

void side_connect(struct side *s, const struct side *peer)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = PORT };

	a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
			    IBV_ACCESS_REMOTE_ATOMIC;
	check(!ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
						IBV_QP_ACCESS_FLAGS), "to INIT");
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = peer->qp->qp_num;
	a.max_dest_rd_atomic = 4;
	a.min_rnr_timer = 12;
	a.ah_attr.is_global = 1;
	a.ah_attr.grh.dgid = peer->gid;
	a.ah_attr.grh.sgid_index = GID_INDEX;
	a.ah_attr.grh.hop_limit = 64;
	a.ah_attr.port_num = PORT;
	check(!ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	      "to RTR");
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	a.max_rd_atomic = 4;
	check(!ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

void side_sleep(struct side *s)
{
	struct ibv_cq *which;
	void *cq_context;

	check(!ibv_get_cq_event(s->channel, &which, &cq_context), "waiting");
	ibv_ack_cq_events(which, 1);
}

void side_unmake(struct side *s)
{
	check(!ibv_destroy_qp(s->qp) && !ibv_destroy_cq(s->scq) && !ibv_destroy_cq(s->rcq) &&
	      !ibv_destroy_comp_channel(s->channel), "taking down");
}

void side_close(struct side *s)
{
	check(!ibv_dereg_mr(s->mr) && !ibv_dealloc_pd(s->pd) && !ibv_close_device(s->ctx),
	      "closing");
	free(s->memory);
}
