/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_EX_H
#define CCS_QP_EX_H
/* Posting by ibv_wr_*: our builders and setters in a QP's struct ibv_qp_ex. */
#include "preload/object/qp_record.h"

extern const uint64_t ccs_qp_ex_send_ops;  /* IBV_QP_EX_WITH_* that a controlled QP may have */
int ccs_qp_ex_open(struct qp *qp);         /* 0, or -1: no memory */
/* Replace the functions, or replace them again after the provider has set them. */
void ccs_qp_ex_install(const struct qp *qp);

#endif
