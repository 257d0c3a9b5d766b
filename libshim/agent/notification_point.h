/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_NOTIFICATION_POINT_H
#define CCS_AGENT_NOTIFICATION_POINT_H
/* DCQCN's notification point: from CE marks to CNPs. */
#include "agent/host/priv.h"

int ccs_np_open(struct ccs_agent *a);
/* A packet with a CE mark arrived for QP qpn of this host. opcode: InfiniBand, 9.2.1. */
void ccs_np_mark(struct ccs_agent *a, const struct ccs_ends *ends, uint8_t opcode, uint32_t qpn);

#endif
