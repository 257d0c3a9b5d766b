/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The user ABI of irdma: what its two files share. */
#ifndef RXE_IRDMA_H
#define RXE_IRDMA_H

#include <linux/bitfield.h>
#include <rdma/irdma-abi.h>

#include "rxe_abi.h"
/* The layout of WQEs, CQEs and shadow areas, and the limits of the E810. */
#include "../../hw/irdma/defs.h"
#include "../../hw/irdma/user.h"

void rxe_irdma_overlay(struct ib_device *dev);

int irdma_abi_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs);
int irdma_abi_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int irdma_abi_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int irdma_abi_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			struct ib_udata *udata);
int irdma_abi_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_udata *udata);
int irdma_abi_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

#endif
