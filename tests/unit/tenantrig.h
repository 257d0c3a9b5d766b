/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_TENANTRIG_H
#define CCS_TESTS_TENANTRIG_H
/*
 * Tenants of the two hosts of agentrig.h: processes of host RP send to host NP at the rates that they are
 * advised, through a port whose counter is a file.
 */
#include "agentrig.h"

enum { RP, NP, PROCESSES = 4 };

#define GBIT 1000000000ull
#define MS 1000000ull

struct tenants_process {
	struct rig_client c;
	unsigned flows;
	double bits;
};

struct tenants_rig {
	struct rig *r;
	struct tenants_process p[PROCESSES];
	unsigned processes, qps;
	uint64_t rx_bytes, sequence;
	struct ccs_agent_capacity capacity;
	struct ccs_agent_auth auth;
};

/* The tenants of both hosts; the n-th process of RP is of tenant tenants_of[n]. */
extern struct ccs_agent_tenant tenants_list[3];
extern unsigned tenants_n;
extern int tenants_of[PROCESSES];

/* The files of interface lo in the rig's folder, and the bytes that it has received. */
void lo_make(const struct rig *r);
void lo_count(const struct rig *r, uint64_t bytes);
void lo_remove(const struct rig *r);

/* n tenants, t0 and so on, of these weights; process i is of tenant i. */
void tenants_set(unsigned n, const double *weight);
/* Start the agents again with the tenants, and a key if wanted. */
void tenants_begin(struct tenants_rig *b, void **state, bool key);
void tenants_end(struct tenants_rig *b);
void tenants_add_process(struct tenants_rig *b, unsigned flows);
/* All flows send at the advised rates for `ms`; the port is full if these are more than its capacity. */
void tenants_run(struct tenants_rig *b, unsigned ms);
/* The rate that the first flow of the process is advised, bit/s. */
double tenants_advised(const struct tenants_process *p);
/* The part of the process in the data that the last run sent. */
double tenants_share(const struct tenants_rig *b, unsigned process);
void tenants_assert_shares(struct tenants_rig *b, unsigned n, const double *weight, double within);
/* Set terms of a tenant at host NP's agent. 0 or an errno. */
int tenants_set_terms(struct tenants_rig *b, const char *name, unsigned set, struct ccs_terms t);

#endif
