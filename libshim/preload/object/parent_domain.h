/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PARENT_DOMAIN_H
#define CCS_PARENT_DOMAIN_H
/* Parent domains with a thread domain or allocators, whose QPs are uncontrolled. */
#include "preload/object/ctx.h"

struct ibv_pd *ccs_parent_domain_alloc(struct ctx *ctx, struct ibv_parent_domain_init_attr *attr);
int ccs_parent_domain_dealloc(struct ibv_pd *pd);
/* Whether it is such a domain. */
bool ccs_parent_domain_is(const struct ibv_pd *pd);

#endif
