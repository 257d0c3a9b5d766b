/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TRACE_H
#define CCS_TRACE_H
/*
 * The trace (options trace and trace_size): what live algorithms are told and
 * what they decide, in the format of ccshim-replay(1).
 *
 * Events go into a ring; a thread of its own writes them out. Traffic never waits
 * for it: what finds the ring full is lost, counted and said in the file. All of
 * it but setup and finish may be called from any thread, under any lock.
 */
#include <stdbool.h>

#include "cc/told.h"

/* Once per process: opens the file and starts the thread, or says why not. head goes to the
 * first line. */
void ccs_trace_setup(const char *file, double most_bytes, const char *head);

extern bool ccs_trace_on; /* there is one; written by setup only */

void ccs_trace_put(uint32_t qp, const struct ccs_cc_ops *ops, const struct ccs_told *told);

/* Write what is there, and no more after that. */
void ccs_trace_finish(void);

/* In a child after fork, which writes nothing. */
void ccs_trace_forget(void);

#endif
