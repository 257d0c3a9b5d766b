/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FLOW_SEGMENT_H
#define CCS_FLOW_SEGMENT_H
/* Lengths of segments, private to flow/. */
#include "flow/flow.h"

/* Bytes: a power of two, 4 to 64 KB, that is sent at that rate, bit/s, in a segment's time. */
uint32_t ccs_flow_segment_len(const struct ccs_flow *f, double rate);

/* The flow's rate may have changed: so may the length of the segments that it splits into. */
void ccs_flow_fit_split(struct ccs_flow *f);

#endif
