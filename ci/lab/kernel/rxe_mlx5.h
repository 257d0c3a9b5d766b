/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The user ABI of mlx5: what its two files share. */
#ifndef RXE_MLX5_H
#define RXE_MLX5_H

#include "rxe_abi.h"

enum {
	MLX5_ABI_MAX_SQ_DESC = 1024,	/* bytes of the longest send WQE */
	MLX5_ABI_MAX_RQ_DESC = 512,
	MLX5_ABI_MAX_WQES = 1 << 15,
	MLX5_ABI_MAX_CQES = 1 << 18,
};

/* The version of CQEs that contexts get: 1 has the user's index of the QP, 0 its number. */
extern uint rxe_mlx5_cqe_version;
/* Contexts have UARs from the start, as before UARs were objects, of this many registers. */
u32 rxe_mlx5_bfregs(const struct abi_ctx *ctx);

void rxe_mlx5_overlay(struct ib_device *dev);

int mlx5_abi_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs);
int mlx5_abi_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int mlx5_abi_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int mlx5_abi_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			struct ib_udata *udata);
int mlx5_abi_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			enum ib_srq_attr_mask mask, struct ib_udata *udata);
int mlx5_abi_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int mlx5_abi_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		       struct ib_udata *udata);
int mlx5_abi_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata);
int mlx5_abi_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

#endif
