/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_QDISC_H
#define BENCH_QDISC_H
/* Reads the counters of one Linux network device's queueing disciplines. */
#include <stddef.h>

#include "agent/host/netlink.h"
#include "tools/common/qdisc_stats.h"

#define QDISC_CHAIN 8

struct qdisc {
	struct ccs_netlink netlink;
	int ifindex;
	uint32_t handle[QDISC_CHAIN]; /* handles of qdiscs that mark, except the root */
	unsigned marking;
	char kind[64];                /* for people, such as "tbf+red" */
};

/* In the calling thread's network namespace. 0, or -1 with a sentence in err. */
int qdisc_open(struct qdisc *q, const char *device, char *err, size_t errlen);

/* 0 or an errno. */
int qdisc_read(struct qdisc *q, struct qdisc_stats *s);

void qdisc_close(struct qdisc *q);

#endif
