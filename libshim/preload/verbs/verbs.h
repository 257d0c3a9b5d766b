/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_VERBS_H
#define CCS_VERBS_H
/* What the files of verbs/ need of each other. */
#include "preload/object/qp_record.h"

/*
 * Whether this process controls anything. Reads the configuration on first use. False in a child,
 * and in a plug-in's constructor, which runs during set-up.
 */
bool ccs_shim_on(void);

/* context_ops.c: replace the public functions of a context by ours. */
void ccs_context_attach(struct ibv_context *context);

/* The rest of these verbs, in the context's table. */
struct ibv_cq_ex *ccs_cq_ex_create(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr);
int ccs_cq_notify(struct cq *cq, int solicited_only);
int ccs_cq_modify(struct cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_qp *ccs_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* The device of this QP is about to be closed: the shim does not use the QP any more. */
void ccs_qp_abandon(struct qp *qp);

/* qp_ex.c: posting by ibv_wr_*, with our builders and setters in a QP's struct ibv_qp_ex. */
extern const uint64_t ccs_qp_ex_send_ops;  /* IBV_QP_EX_WITH_* that a controlled QP may have */
int ccs_qp_ex_open(struct qp *qp);         /* 0, or -1: no memory */
/* Replace the functions, or replace them again after the provider has set them. */
void ccs_qp_ex_install(const struct qp *qp);

#endif
