/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_STATUS_H
#define CCS_AGENT_STATUS_H
/* The agent's state as text, for `ccshimd --status`. */
#include "agent/host/priv.h"

/* One JSON object, as that client may see it, allocated by malloc(). NULL: out of memory. */
char *ccs_status_text(struct ccs_agent *a, const struct ccs_client *viewer, size_t *len);

#endif
