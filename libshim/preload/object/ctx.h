/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CTX_H
#define CCS_CTX_H
/* Record of a device context. */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "feedback/hwclock.h"

struct ccs_provider;

struct ctx {
	struct ibv_context *context;
	struct ibv_context_ops real;     /* the provider's */
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *,
					      struct ibv_parent_domain_init_attr *);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);
	int (*query_rt_values)(struct ibv_context *, struct ibv_values_ex *);
	int (*modify_cq)(struct ibv_cq *, struct ibv_modify_cq_attr *);
	const struct ccs_provider *provider;
	bool has_timestamps;             /* the device timestamps completions, by this clock */
	struct ccs_hwclock clock;        /* initial value of each CQ's clock */
	uint32_t max_qp_wr, max_cqe;
	uint32_t max_message;            /* bytes; longer ones are the device's to refuse */
	bool iwarp;
	bool syscalls;                   /* posting is a system call: a software device */
	bool atomics;                    /* the device has them */
	bool ignores_in_error;           /* WQEs that are posted in ERR: no completion */
	bool doubles_rings;              /* and grants all entries: ccs_qp_bare_depth() */
	bool reuses_silently;            /* entries of unsignalled WQEs, without a completion */
	int too_large;                   /* its error for too many SGEs or too much inline data */
	int batch_too_large;             /* the same with ibv_wr_*, and for too many WRs */
	char device[IBV_SYSFS_NAME_MAX];
	uint32_t number;                 /* not that of any other */
	atomic_int refs;                 /* its owner and each tracked CQ */
};

#endif
