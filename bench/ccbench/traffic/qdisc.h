/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_QDISC_H
#define BENCH_QDISC_H
/* The queue of one Linux network device, read through netlink. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QDISC_CHAIN 8

struct mnl_socket;

/*
 * What the whole qdisc tree of a device has done. Backlog, drops and bytes are the
 * root's: a classful qdisc counts what its children hold and drop, and summing
 * over the tree would count everything twice. Marks are known to the marking qdisc
 * alone, and are summed.
 */
struct qdisc_stats {
	uint64_t backlog, bytes, packets; /* bytes, packets: sent */
	uint64_t drops, marks;
};

struct qdisc {
	struct mnl_socket *nl;
	int ifindex;
	unsigned seq;
	uint32_t handle[QDISC_CHAIN]; /* of the qdiscs that mark, other than the root */
	unsigned marking;
	char kind[64];                /* "tbf+red", for people */
};

/* In the calling thread's network namespace. 0, or -1 with a sentence in err. */
int qdisc_open(struct qdisc *q, const char *device, char *err, size_t errlen);

/* 0, or -1 with errno. */
int qdisc_read(struct qdisc *q, struct qdisc_stats *s);

void qdisc_close(struct qdisc *q);

struct nlmsghdr;

/* Add one RTM_NEWQDISC message: everything of a root, the marks only of the others. Pure. */
void qdisc_count(const struct nlmsghdr *nlh, struct qdisc_stats *s);

#endif
