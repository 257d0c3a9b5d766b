/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_FIGURES_H
#define CCFABRIC_FIGURES_H
/* The figures by which runs of one scenario are compared. NAN: unknown. */
#include "bench/ccbench/scenario/figures.h"
#include "bench/sim/fabric/fabric.h"

struct fab_figures {
	double utilisation;      /* busiest port, while operations or other flows run */
	double jain;             /* of other flows' bytes; without such, of hosts' received bytes */
	struct spread operations; /* their times, us */
	double queue_p99, queue_mean;  /* bytes, of the port with the longest mean queue */
	double pauses, drops;
};

struct fab_figures fab_figures(const struct fab_conf *conf, const struct fab_result *r);

#endif
