/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_FLOW_NEXT_H
#define CCS_TESTS_FLOW_NEXT_H
/* The next segment of a flow, for tests in which the time is always known. */
#include "flow/flow.h"

/* The next segment; NULL if it must wait. *number becomes the newest segment's number. */
static inline const struct ccs_seg *flow_next(struct ccs_flow *f, uint64_t now_ns, uint64_t *number)
{
	const struct ccs_seg *seg = ccs_flow_next(f, &now_ns, NULL);

	*number = ccs_flow_newest(f);
	return seg;
}

#endif
