/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONFIG_TENANT_H
#define CCS_CONFIG_TENANT_H
/*
 * Tenants, which the host agent reads from the system's configuration file:
 *
 *	[tenant training]
 *	match = job:4711
 *	weight = 4
 *	cap = 80g
 *
 * The terms are weight, cap, guarantee, class and floor (struct ccs_terms).
 * match is job:ID, cgroup:GLOB, uid:NUMBER or app:GLOB. A process that several match belongs to the
 * first of these kinds. A job is the same tenant on all hosts, all others belong to their host.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cc/shares.h"

enum { CCS_TENANTS_MOST = 64 };

/* In the order of precedence. */
enum ccs_tenant_kind { CCS_TENANT_JOB, CCS_TENANT_CGROUP, CCS_TENANT_UID, CCS_TENANT_APP, CCS_TENANT_KINDS };

struct ccs_tenant {
	char name[64];
	enum ccs_tenant_kind kind;
	char pattern[128];               /* "": not set yet */
	struct ccs_terms terms;
	unsigned set;                    /* enum ccs_term: given in the file */
	char where[256];                 /* "FILE:LINE" of its header */
};

struct ccs_tenants {
	struct ccs_tenant tenant[CCS_TENANTS_MOST];
	unsigned n;
};

/* The terms of a tenant whose section gives no terms. */
#define CCS_TERMS_DEFAULT ((struct ccs_terms){ .weight = 1 })

/*
 * Parse the value of a term: weight, cap and guarantee (rates, or none), class (foreground or
 * background) or floor (a percentage). Sets its member of *t and its bit of *set; ccs_terms_set()
 * checks it. 0; ENOENT if there is no such term; EINVAL with a text.
 */
int ccs_term_parse(const char *name, const char *value, struct ccs_terms *t, unsigned *set, char *err,
		   size_t len);

/* Report a mistake, as a sentence with its place. */
typedef void ccs_tenant_complain(void *arg, const char *sentence);

/* Read the tenants of a file, which need not exist. Returns the number of mistakes: *t is not usable
 * then. */
unsigned ccs_tenants_read(struct ccs_tenants *t, const char *path, ccs_tenant_complain *complain,
			  void *arg);

/* Guarantees need a port of that capacity, bit/s, at least. The number of mistakes. */
unsigned ccs_tenants_check_guarantees(const struct ccs_tenants *t, double capacity,
				      ccs_tenant_complain *complain, void *arg);

/* The index of the tenant of a process, or -1. uid: its user. */
int ccs_tenants_of(const struct ccs_tenants *t, pid_t pid, uid_t uid);

/* By the text of its /proc/PID/cgroup and the name of its program. */
int ccs_tenants_match(const struct ccs_tenants *t, const char *cgroups, const char *app, uid_t uid);

/* Its identity among the agents of all hosts, never 0. */
uint64_t ccs_tenant_identity(const struct ccs_tenant *t, const char *host);

#endif
