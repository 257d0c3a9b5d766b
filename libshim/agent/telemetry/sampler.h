/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SAMPLER_H
#define CCS_AGENT_SAMPLER_H
/* Periodic samples of ports with subscribers, and the messages that report them. */
#include "agent/host/priv.h"

/* When the next sample is due; UINT64_MAX: no port has subscribers. */
uint64_t ccs_sampler_due(const struct ccs_agent *a);
/* Take and report the samples that are due. */
void ccs_sampler_run(struct ccs_agent *a);

#endif
