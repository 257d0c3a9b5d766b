/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_STATUS_H
#define CCS_AGENT_STATUS_H
/* The agent's state as text, for `ccshimd --status`. */
#include "agent/host/priv.h"

/* One JSON object, as that user may see it, allocated by malloc(). NULL: out of memory. */
char *ccs_status_text(struct ccs_agent *a, uid_t viewer, size_t *len);

#endif
