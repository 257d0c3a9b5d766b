/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_REACH_H
#define CCS_TESTS_REACH_H
/*
 * The ways in which programs reach libibverbs, each with the same traffic: eight WRITEs of 12
 * KB on one of two connected QPs. For reach.bats.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#undef ibv_query_port
#undef ibv_reg_mr

/* The functions that NCCL requires, in its order, with these versions. */
#define REACH_VERBS(X) \
	X(ibv_get_device_list, "IBVERBS_1.1") X(ibv_free_device_list, "IBVERBS_1.1") \
	X(ibv_get_device_name, "IBVERBS_1.1") X(ibv_open_device, "IBVERBS_1.1") \
	X(ibv_close_device, "IBVERBS_1.1") X(ibv_get_async_event, "IBVERBS_1.1") \
	X(ibv_ack_async_event, "IBVERBS_1.1") X(ibv_query_device, "IBVERBS_1.1") \
	X(ibv_query_port, "IBVERBS_1.1") X(ibv_query_gid, "IBVERBS_1.1") \
	X(ibv_query_qp, "IBVERBS_1.1") X(ibv_alloc_pd, "IBVERBS_1.1") \
	X(ibv_dealloc_pd, "IBVERBS_1.1") X(ibv_reg_mr, "IBVERBS_1.1") \
	X(ibv_dereg_mr, "IBVERBS_1.1") X(ibv_create_cq, "IBVERBS_1.1") \
	X(ibv_destroy_cq, "IBVERBS_1.1") X(ibv_create_qp, "IBVERBS_1.1") \
	X(ibv_modify_qp, "IBVERBS_1.1") X(ibv_destroy_qp, "IBVERBS_1.1") \
	X(ibv_fork_init, "IBVERBS_1.1") X(ibv_event_type_str, "IBVERBS_1.1")
/* The functions that are optional for NCCL. */
#define REACH_LATER_VERBS(X) \
	X(ibv_reg_mr_iova2, "IBVERBS_1.8") X(ibv_query_ece, "IBVERBS_1.10") \
	X(ibv_set_ece, "IBVERBS_1.10") X(ibv_reg_dmabuf_mr, "IBVERBS_1.12")

#define REACH_MEMBER(name, version) __typeof__(name) *name;
struct reach_verbs { REACH_VERBS(REACH_MEMBER) REACH_LATER_VERBS(REACH_MEMBER) };
#undef REACH_MEMBER

#define REACH_TRY(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		return -1; \
	} \
} while (0)

/* Returns 0, or -1 if a handle that is set lacks a function. */
static inline int reach_look_up(struct reach_verbs *v, const char *file, void **handle)
{
	*handle = dlopen(file, RTLD_NOW);
	if (!*handle)
		return -1;
	REACH_TRY(!dlerror());
#define LOOK_UP(name, version) *(void **)&v->name = dlvsym(*handle, #name, version);
	REACH_VERBS(LOOK_UP)
	REACH_LATER_VERBS(LOOK_UP)
#undef LOOK_UP
#define IS_THERE(name, version) REACH_TRY(v->name);
	REACH_VERBS(IS_THERE)
#undef IS_THERE
	return 0;
}

/* In this order; the first library that opens is used. */
static inline int reach_as_nccl(struct reach_verbs *v, void **handle)
{
	if (reach_look_up(v, "libibverbs.so", handle) == 0)
		return 0;
	return *handle ? -1 : reach_look_up(v, "libibverbs.so.1", handle);
}

struct reach_rig {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *a, *b;
	char *memory;
};

enum { REACH_BYTES = 3 * 4096, REACH_WRITES = 8 };

static inline struct ibv_qp *reach_qp(const struct reach_verbs *v, const struct reach_rig *r)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = r->cq, .recv_cq = r->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return v->ibv_create_qp(r->pd, &attr);
}

static inline int reach_connect(const struct reach_verbs *v, const struct reach_rig *r,
				struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR, .dest_qp_num = dest,
				   .path_mtu = IBV_MTU_4096, .max_dest_rd_atomic = 1,
				   .ah_attr = { .is_global = 1, .port_num = 1 } };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				   .rnr_retry = 7, .max_rd_atomic = 1 };

	REACH_TRY(v->ibv_query_gid(r->context, 1, 1, &rtr.ah_attr.grh.dgid) == 0);
	REACH_TRY(v->ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				   IBV_QP_ACCESS_FLAGS) == 0);
	REACH_TRY(v->ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0);
	REACH_TRY(v->ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				   IBV_QP_MAX_QP_RD_ATOMIC) == 0);
	return 0;
}

static inline int reach_open(const struct reach_verbs *v, struct reach_rig *r)
{
	struct ibv_device **list = v->ibv_get_device_list(NULL);

	REACH_TRY(list && list[0]);
	r->context = v->ibv_open_device(list[0]);
	v->ibv_free_device_list(list);
	REACH_TRY(r->context);
	r->pd = v->ibv_alloc_pd(r->context);
	r->cq = v->ibv_create_cq(r->context, 64, NULL, NULL, 0);
	r->memory = calloc(2, REACH_BYTES);
	REACH_TRY(r->pd && r->cq && r->memory);
	r->mr = v->ibv_reg_mr(r->pd, r->memory, 2 * REACH_BYTES,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	REACH_TRY(r->mr);
	return 0;
}

static inline int reach_write(const struct reach_rig *r)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->memory, .length = REACH_BYTES,
			       .lkey = r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc = { 0 }; /* MemorySanitizer does not see the device write it */
	int got = 0, some;

	wr.wr.rdma.remote_addr = (uintptr_t)r->memory + REACH_BYTES;
	wr.wr.rdma.rkey = r->mr->rkey;
	for (int i = 0; i < REACH_WRITES; i++)
		REACH_TRY(ibv_post_send(r->a, &wr, &bad) == 0);
	while (got < REACH_WRITES) {
		some = ibv_poll_cq(r->cq, 1, &wc);
		REACH_TRY(some >= 0 && (!some || wc.status == IBV_WC_SUCCESS));
		got += some;
	}
	return 0;
}

static inline int reach_close(const struct reach_verbs *v, struct reach_rig *r)
{
	REACH_TRY(v->ibv_destroy_qp(r->a) == 0 && v->ibv_destroy_qp(r->b) == 0);
	REACH_TRY(v->ibv_destroy_cq(r->cq) == 0 && v->ibv_dereg_mr(r->mr) == 0);
	REACH_TRY(v->ibv_dealloc_pd(r->pd) == 0 && v->ibv_close_device(r->context) == 0);
	free(r->memory);
	return 0;
}

/* The handle is closed during traffic: the functions in a context's table must stay valid. */
static inline int reach_traffic(const struct reach_verbs *v, void *handle)
{
	struct reach_rig r = { 0 };

	REACH_TRY(reach_open(v, &r) == 0);
	r.a = reach_qp(v, &r);
	r.b = reach_qp(v, &r);
	REACH_TRY(r.a && r.b && reach_connect(v, &r, r.a, r.b->qp_num) == 0 &&
		  reach_connect(v, &r, r.b, r.a->qp_num) == 0);
	if (handle)
		dlclose(handle);
	REACH_TRY(reach_write(&r) == 0);
	return reach_close(v, &r);
}

#endif
