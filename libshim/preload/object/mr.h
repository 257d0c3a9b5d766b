/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_MR_H
#define CCS_MR_H
/*
 * Memory regions, as far as splitting needs them: the device checks a whole request before it
 * begins, but each segment on its own. All functions are thread-safe.
 */
#include "preload/object/shim.h"

/* A region was registered; its first byte has the address iova for the device. */
void ccs_mr_add(const struct ibv_mr *mr, uint64_t iova, unsigned int access);
/* As the verbs. */
int ccs_mr_dereg(struct ibv_mr *mr);
int ccs_mr_rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access);

/*
 * Whether each SGE of a WRITE or READ is within a region that allows it. Regions that were made by
 * other functions than those that the preload exports are not known.
 */
bool ccs_mr_covers(const struct ctx *ctx, const struct ibv_send_wr *wr);

#endif
