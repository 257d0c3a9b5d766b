/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CTX_H
#define CCS_CTX_H
/* Record of a device context. */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "feedback/hwclock.h"
#include "preload/object/provider.h"

struct ctx {
	struct ibv_context *context;
	struct ibv_context_ops real;     /* the provider's */
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *,
					      struct ibv_parent_domain_init_attr *);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);
	int (*query_rt_values)(struct ibv_context *, struct ibv_values_ex *);
	int (*modify_cq)(struct ibv_cq *, struct ibv_modify_cq_attr *);
	const struct ccs_provider *provider; /* its differences from others */
	bool has_timestamps;             /* the device timestamps completions, by this clock */
	struct ccs_hwclock clock;        /* initial value of the clock of a CQ */
	uint32_t max_qp_wr, max_cqe;
	uint32_t max_message;            /* bytes; the device refuses longer messages */
	bool iwarp;
	bool atomics;                    /* the device has them */
	atomic_bool binds;               /* has had a memory window of type 1 */
	char device[IBV_SYSFS_NAME_MAX];
	uint32_t number;                 /* unique in the process */
	atomic_int refs;                 /* its owner and each tracked CQ */
};

void ccs_context_put(struct ctx *ctx);
/* The line rate of a port: as configured, or if that is 0 as the port reports it. */
double ccs_context_line_rate(const struct ctx *ctx, uint8_t port, double configured);

#endif
