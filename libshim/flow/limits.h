/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FLOW_LIMITS_H
#define CCS_FLOW_LIMITS_H
/* Limits that a flow derives from its settings and its path, private to flow/. */
#include "flow/flow.h"

/*
 * *path is about to become the flow's path: set its segment, and derive the flow's segment size
 * and its limit of outstanding data from it, unless the user gave them.
 */
void ccs_flow_derive_limits(struct ccs_flow *f, struct ccs_cc_path *path);

/* A segment of len bytes is timed; updates the longest message of the recent past. */
void ccs_flow_learn_message(struct ccs_flow *f, uint64_t len);

/* Derive the segment again: the losses of the recent past, or the rate after some, have changed. */
void ccs_flow_update_segment(struct ccs_flow *f);

#endif
