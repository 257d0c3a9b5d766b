/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TRACE_H
#define CCS_TRACE_H
/*
 * The trace (options trace and trace_size): the events that running algorithms receive
 * and their decisions, in the format of ccshim-replay(1).
 *
 * Events go into a ring, and a separate thread writes them to the file. Traffic never
 * waits for it: events that find the ring full are dropped, and their number is written
 * to the file. All functions except setup and finish may be called from any thread,
 * under any lock.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "cc/event.h"

/* Open the file and start the thread, once per process; logs a failure. head becomes a comment
 * before the rows of this process. */
void ccs_trace_setup(const char *file, double max_bytes, const char *head);

extern bool ccs_trace_on; /* a trace is being written; set by setup only */

void ccs_trace_put(uint32_t qp, const struct ccs_cc_ops *ops, const struct ccs_cc_event *event);

/* The GID of the peer that a queue pair is connected to, as a comment. */
void ccs_trace_peer(uint32_t qp, const uint8_t gid[16]);

void ccs_trace_finish(void);

/* Stop tracing in a child after fork(). */
void ccs_trace_forget(void);

#define CCS_TRACE_HEADER "t_us,event,qp,rtt_us,bytes,ack_seq,snd_nxt,inflight,path,flows," \
			 "hops,covers_us,advised_bps,nic_wait_us,set,rate_bps,window_bytes,clock_us,pid\n"
#define CCS_TRACE_ROW_MAX 1024 /* no line is longer */

/* Write a line with its newline, in a thread with the numeric locale "C". Returns its length. */
size_t ccs_trace_row(char *row, pid_t pid, uint32_t qp, const struct ccs_cc_ops *ops,
		     const struct ccs_cc_event *event);

#endif
