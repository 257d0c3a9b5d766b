/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TRACE_ROW_H
#define CCS_TRACE_ROW_H
/* Formats one line of the trace. The calling thread must have the numeric locale "C". */
#include <sys/types.h>

#include "cc/event.h"

#define CCS_TRACE_HEADER "t_us,event,qp,rtt_us,bytes,ack_seq,snd_nxt,inflight,path,flows," \
			 "hops,covers_us,advised_bps,nic_wait_us,set,rate_bps,window_bytes,clock_us,pid\n"
#define CCS_TRACE_ROW_MAX 1024 /* no line is longer */

/* Write a line with its newline. Returns its length. */
size_t ccs_trace_row(char *row, pid_t pid, uint32_t qp, const struct ccs_cc_ops *ops,
		     const struct ccs_cc_event *event);

#endif
