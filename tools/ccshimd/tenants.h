/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIMD_TENANTS_H
#define CCSHIMD_TENANTS_H
/* The tenants of the configuration file, for the agent. */
#include "agent/agent.h"
#include "config/tenant.h"

struct tenants {
	const char *file;
	bool named;              /* by an option */
	bool has_key;
	char host[64];
	double port;             /* capacity of the fastest, bit/s; 0: unknown */
	struct ccs_tenants now, read;
};

/* Set the agent's callbacks; file: NULL: the system's file. Call before privileges are dropped. */
void tenants_open(struct tenants *t, const char *file, struct ccs_agent_config *config);

#endif
