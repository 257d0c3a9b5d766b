/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PLAN_NETWORK_H
#define CCS_TOOLS_PLAN_NETWORK_H
/* A network of switches with names, from --clos TORSxAGGREGATES[xCORES] or --topology FILE. */
#include <stdbool.h>

#include "fabric/cbd.h"

struct plan;

enum { PLAN_NAME_LEN = 16, PLAN_LINKS_MAX = 4096 };

struct plan_network {
	struct ccs_cbd_net net;
	struct ccs_cbd_link *link;
	unsigned *tier;
	char (*name)[PLAN_NAME_LEN]; /* by switch */
};

/* False after a message. */
bool plan_read_network(struct plan *p, struct plan_network *n);
void plan_free_network(struct plan_network *n);

#endif
