/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_EX_H
#define CCS_CQ_EX_H
/* Extended CQs: ibv_start_poll(), ibv_next_poll(), ibv_end_poll() and the readers. */
#include "preload/object/qp_record.h"

struct ibv_cq_ex *ccs_cq_ex_create(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr);

#endif
