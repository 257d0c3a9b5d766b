/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_CREATE_H
#define CCS_QP_CREATE_H
/* Creation of queue pairs. */
#include <infiniband/verbs.h>

struct ibv_qp *ccs_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *ccs_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

#endif
