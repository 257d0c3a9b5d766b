/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SEND_ERROR_H
#define CCS_AGENT_SEND_ERROR_H
#include "agent/host/priv.h"

/* Which interface a message could not leave, and the remedy, for a warning that names its source. */
void ccs_send_error_explain(const struct ccs_agent *a, const struct ccs_ends *ends, char *text, size_t len);

#endif
