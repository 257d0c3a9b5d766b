/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PLAN_QOS_H
#define CCS_TOOLS_PLAN_QOS_H
/* The input and results of ccshim plan qos, which its output formats share. */
#include <stdbool.h>
#include <stdio.h>

#include "fabric/marking.h"
#include "fabric/qos.h"

struct plan;

struct qos {
	struct ccs_qos map;
	const char *dev;
	double rate_bps, cap_bps, mtu;
	unsigned first;                /* the queue with strict priority */
	unsigned lossless;             /* set of the queues with PFC and ECN */
	double weight[CCS_QOS_QUEUES]; /* by queue; 0: not used */
	struct ccs_red red;            /* bytes */
	double wait_us, latency_us;    /* delay of a CNP: waiting for frames in service; upper bound */
	double flows, cnps_bps;
};

/* Refuse values that the tc program refuses. */
void qos_check_tc(struct plan *p, const struct qos *q);
/* Commands for a port of a Linux switch, which match as at the edge or as inside. */
void qos_print_tc(FILE *f, const struct qos *q, bool edge);

#endif
