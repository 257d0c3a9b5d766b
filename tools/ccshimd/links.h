/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_LINKS_H
#define CCS_TOOLS_CCSHIMD_LINKS_H
/* The options that describe links. The strings that they point to are never freed. */
#include "agent/agent.h"

/* INTERFACE=RATE. 0, or -1 after an error message. */
int parse_capacity(const char *text, struct ccs_agent_capacity *c);

/* PORT[,to=PREFIX][,from=PREFIX][,hop=N][,rate=RATE]. 0, or -1 after an error message. */
int parse_publication(const char *text, struct ccs_agent_publication *p);

#endif
