/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONTEXT_H
#define CCS_CONTEXT_H
/* Records of device contexts. */
#include "preload/object/shim.h"

static inline struct ctx *ccs_context_find(struct ibv_context *context)
{
	return ccs_ptrmap_get(&ccs_shim()->contexts, context);
}

void ccs_context_put(struct ctx *ctx);

/* The line rate of a port: as configured, or if that is 0 as the port reports it. */
double ccs_context_line_rate(const struct ctx *ctx, uint8_t port, double configured);

#endif
