/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CAPTURE_H
#define CCS_AGENT_CAPTURE_H
/* Capture of CE-marked RoCEv2 packets by packet sockets. Requires CAP_NET_RAW. */
#include "agent/host/priv.h"

int ccs_capture_open(struct ccs_agent *a, char *err, size_t len);
void ccs_capture_close(struct ccs_agent *a);
/* Add the kernel's drops since the last call to the totals. */
void ccs_capture_count(struct ccs_agent *a);

#endif
