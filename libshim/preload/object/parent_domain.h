/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PARENT_DOMAIN_H
#define CCS_PARENT_DOMAIN_H
/* Parent domains with a thread domain. */
#include "preload/object/qp_record.h"

struct ibv_pd *ccs_parent_domain_alloc(struct ctx *ctx, struct ibv_parent_domain_init_attr *attr);
int ccs_parent_domain_dealloc(struct ibv_pd *pd);
/* False: its QPs cannot be created elsewhere and are left uncontrolled. */
bool ccs_parent_domain_is_avoidable(const struct ibv_pd *pd);
struct ibv_pd *ccs_parent_domain_plain(struct ibv_pd *pd); /* where a controlled QP is created */
void ccs_parent_domain_enter(struct qp *qp, const struct ibv_pd *pd);
void ccs_parent_domain_leave(const struct qp *qp);
/* Set the QP's pd: the parent for the application, the plain domain for a provider that is about
 * to destroy the QP. */
void ccs_parent_domain_set_pd(const struct qp *qp, bool parent);

#endif
