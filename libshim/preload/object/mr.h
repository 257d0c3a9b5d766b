/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_MR_H
#define CCS_MR_H
/*
 * Records of memory regions. The device checks a whole request before it begins, but checks the
 * segments of a split request one by one. So only a request whose memory is known to be valid is
 * split. Thread-safe.
 */
#include "preload/object/shim.h"

/* A region was registered; its first byte has the address iova for the device. */
void ccs_mr_add(const struct ibv_mr *mr, uint64_t iova, unsigned int access);
/* The verbs ibv_dereg_mr() and ibv_rereg_mr(). */
int ccs_mr_dereg(struct ibv_mr *mr);
int ccs_mr_rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access);

/*
 * Whether each SGE of a WRITE or READ is within a region that allows it. Only regions that were
 * registered through the exported functions are known.
 */
bool ccs_mr_covers(const struct ctx *ctx, const struct ibv_send_wr *wr);

#endif
