/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FLOW_SEGMENT_H
#define CCS_FLOW_SEGMENT_H
/* Lengths of segments, private to flow/. */
#include "flow/flow.h"

/* The length that is sent at this rate, bit/s, in a segment's time: a power of two, 4 to 64 KB. */
uint32_t ccs_flow_segment_len(const struct ccs_flow *f, double rate);

/* Whether an advised share of a full port, rather than RTTs, gives the flow its rate. */
bool ccs_flow_has_share(const struct ccs_flow *f);

/* Derive the length of segments that WRs are split into from the flow's rate. */
void ccs_flow_update_split_len(struct ccs_flow *f);

#endif
