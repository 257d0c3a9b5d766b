/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_NIC_CNPS_H
#define CCS_AGENT_NIC_CNPS_H
/* CNPs that NICs handle in hardware, for clients' flows. */
#include "agent/host/priv.h"

void ccs_nic_cnps_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_nic_cnps_detach(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Read the NICs' counters and deliver new CNPs. */
void ccs_nic_cnps_poll(struct ccs_agent *a, uint64_t now_ns);
/* Update which flows have readable counters. */
void ccs_nic_cnps_tick(struct ccs_agent *a, uint64_t now_ns);

#endif
