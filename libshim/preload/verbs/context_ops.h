/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONTEXT_OPS_H
#define CCS_CONTEXT_OPS_H
/* Replacement of a context's public functions by ours. */
#include <infiniband/verbs.h>

void ccs_context_attach(struct ibv_context *context);
/* The application is about to close the device. */
void ccs_context_detach(struct ibv_context *context);

#endif
