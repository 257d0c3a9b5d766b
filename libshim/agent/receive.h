/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_RECEIVE_H
#define CCS_AGENT_RECEIVE_H
/* Messages from other agents: checks and handling; feedback/wire.h defines them. */
#include "agent/host/priv.h"

void ccs_receive_message(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			 size_t len);

#endif
