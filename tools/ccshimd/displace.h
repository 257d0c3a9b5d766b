/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCSHIMD_DISPLACE_H
#define CCSHIMD_DISPLACE_H
#include "agent/agent.h"

/*
 * As ccs_agent_open(). If the agent at that socket is a thread of another process, its socket's
 * file is removed, upon which it ends: a process that may do that may be the agent.
 */
struct ccs_agent *open_displacing(const struct ccs_agent_config *config, char *err, size_t len);

#endif
