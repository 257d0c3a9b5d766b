/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REAL_H
#define CCS_REAL_H
/*
 * The interposed verbs, each with name, version node of rdma-core, result and arguments. The table
 * of real functions and its resolver are generated from this list. libccshim.map repeats the nodes
 * for the linker, and a test compares the two.
 */
#include <infiniband/verbs.h>

/* Marks a definition that is exported. */
#define HOOK __attribute__((visibility("default")))

#define CCS_HOOKS(X) \
	X(ibv_open_device, "IBVERBS_1.1", struct ibv_context *, (struct ibv_device *)) \
	X(ibv_import_device, "IBVERBS_1.10", struct ibv_context *, (int)) \
	X(ibv_close_device, "IBVERBS_1.1", int, (struct ibv_context *)) \
	X(ibv_dealloc_pd, "IBVERBS_1.1", int, (struct ibv_pd *)) \
	X(ibv_reg_mr, "IBVERBS_1.1", struct ibv_mr *, (struct ibv_pd *, void *, size_t, int)) \
	X(ibv_reg_mr_iova, "IBVERBS_1.7", struct ibv_mr *, \
	  (struct ibv_pd *, void *, size_t, uint64_t, int)) \
	X(ibv_reg_mr_iova2, "IBVERBS_1.8", struct ibv_mr *, \
	  (struct ibv_pd *, void *, size_t, uint64_t, unsigned int)) \
	X(ibv_reg_dmabuf_mr, "IBVERBS_1.12", struct ibv_mr *, \
	  (struct ibv_pd *, uint64_t, size_t, uint64_t, int, int)) \
	X(ibv_rereg_mr, "IBVERBS_1.1", int, \
	  (struct ibv_mr *, int, struct ibv_pd *, void *, size_t, int)) \
	X(ibv_dereg_mr, "IBVERBS_1.1", int, (struct ibv_mr *)) \
	X(ibv_create_cq, "IBVERBS_1.1", struct ibv_cq *, \
	  (struct ibv_context *, int, void *, struct ibv_comp_channel *, int)) \
	X(ibv_resize_cq, "IBVERBS_1.1", int, (struct ibv_cq *, int)) \
	X(ibv_destroy_cq, "IBVERBS_1.1", int, (struct ibv_cq *)) \
	X(ibv_get_cq_event, "IBVERBS_1.1", int, \
	  (struct ibv_comp_channel *, struct ibv_cq **, void **)) \
	X(ibv_ack_cq_events, "IBVERBS_1.1", void, (struct ibv_cq *, unsigned int)) \
	X(ibv_get_async_event, "IBVERBS_1.1", int, \
	  (struct ibv_context *, struct ibv_async_event *)) \
	X(ibv_ack_async_event, "IBVERBS_1.1", void, (struct ibv_async_event *)) \
	X(ibv_create_qp, "IBVERBS_1.1", struct ibv_qp *, \
	  (struct ibv_pd *, struct ibv_qp_init_attr *)) \
	X(ibv_modify_qp, "IBVERBS_1.1", int, (struct ibv_qp *, struct ibv_qp_attr *, int)) \
	X(ibv_query_qp, "IBVERBS_1.1", int, \
	  (struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *)) \
	X(ibv_destroy_qp, "IBVERBS_1.1", int, (struct ibv_qp *))

/* Verbs that the shim calls and does not interpose. */
#define CCS_CALLED(X) \
	X(ibv_alloc_pd, "IBVERBS_1.1", struct ibv_pd *, (struct ibv_context *)) \
	X(ibv_create_srq, "IBVERBS_1.1", struct ibv_srq *, \
	  (struct ibv_pd *, struct ibv_srq_init_attr *)) \
	X(ibv_destroy_srq, "IBVERBS_1.1", int, (struct ibv_srq *)) \
	X(ibv_qp_to_qp_ex, "IBVERBS_1.6", struct ibv_qp_ex *, (struct ibv_qp *)) \
	X(ibv_query_device, "IBVERBS_1.1", int, (struct ibv_context *, struct ibv_device_attr *)) \
	X(ibv_query_gid, "IBVERBS_1.1", int, \
	  (struct ibv_context *, uint8_t, int, union ibv_gid *)) \
	X(ibv_query_port, "IBVERBS_1.1", int, \
	  (struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *))

#define CCS_REAL_MEMBER(name, version, result, args) result (*name) args;
struct ccs_real {
	CCS_HOOKS(CCS_REAL_MEMBER)
	CCS_CALLED(CCS_REAL_MEMBER)
};
#undef CCS_REAL_MEMBER

/* Resolved on first use; a function that this libibverbs lacks stays NULL. */
const struct ccs_real *ccs_real(void);

/* The real dlopen(), not our hook. */
typedef void *ccs_dlopen(const char *file, int mode);
ccs_dlopen *ccs_real_dlopen(void);

/* As ibv_query_port(), which is inline and calls the symbol. */
int ccs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);

#endif
