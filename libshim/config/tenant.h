/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONFIG_TENANT_H
#define CCS_CONFIG_TENANT_H
/*
 * Tenants, which the host agent reads from the system's configuration file:
 *
 *	[tenant training]
 *	match = job:4711
 *	weight = 4
 *
 * match is job:ID, cgroup:GLOB, uid:NUMBER or app:GLOB. A process that several match belongs to the
 * first of these kinds. A job is the same tenant on all hosts, all others belong to their host.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CCS_TENANTS_MOST = 64 };

/* In the order of precedence. */
enum ccs_tenant_kind { CCS_TENANT_JOB, CCS_TENANT_CGROUP, CCS_TENANT_UID, CCS_TENANT_APP, CCS_TENANT_KINDS };

struct ccs_tenant {
	char name[64];
	enum ccs_tenant_kind kind;
	char pattern[128];               /* "": not set yet */
	double weight;                   /* 1 by default; 0: not set yet */
	char where[256];                 /* "FILE:LINE" of its header */
};

struct ccs_tenants {
	struct ccs_tenant tenant[CCS_TENANTS_MOST];
	unsigned n;
};

/* Report a mistake, as a sentence with its place. */
typedef void ccs_tenant_complain(void *arg, const char *sentence);

/* Read the tenants of a file, which need not exist. Returns the number of mistakes: *t is not usable
 * then. */
unsigned ccs_tenants_read(struct ccs_tenants *t, const char *path, ccs_tenant_complain *complain,
			  void *arg);

/* The index of the tenant of a process, or -1. uid: its user. */
int ccs_tenants_of(const struct ccs_tenants *t, pid_t pid, uid_t uid);

/* Its identity among the agents of all hosts, never 0. */
uint64_t ccs_tenant_identity(const struct ccs_tenant *t, const char *host);

#endif
