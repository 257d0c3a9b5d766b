/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_NETLINK_H
#define CCS_AGENT_NETLINK_H
/*
 * Questions to the kernel over netlink that it answers before send() returns, or, a dump,
 * within recv(): nothing here blocks. One thread at a time.
 */
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ccs_netlink {
	int fd;                          /* -1: closed */
	uint32_t sequence;
};

/* 0 or an errno. */
int ccs_netlink_open(struct ccs_netlink *n, int protocol);
void ccs_netlink_close(struct ccs_netlink *n);

/* A request, while it is being written. */
struct ccs_netlink_request {
	struct nlmsghdr header;
	char room[128];
};

void ccs_netlink_begin(struct ccs_netlink *n, struct ccs_netlink_request *r, unsigned type,
		       unsigned flags);
/* What a family has before its attributes. */
void ccs_netlink_put_header(struct ccs_netlink_request *r, const void *header, size_t len);
void ccs_netlink_put_u32(struct ccs_netlink_request *r, unsigned type, uint32_t value);

/* Gives each answer to take(). 0 or an errno: the kernel's, EIO for a strange answer. */
int ccs_netlink_ask(struct ccs_netlink *n, const struct ccs_netlink_request *r,
		    void (*take)(void *arg, const struct nlmsghdr *h), void *arg);

/* A stretch of attributes, and one of them. */
struct ccs_netlink_attrs {
	const char *at, *end;
};

struct ccs_netlink_attr {
	unsigned type;
	const char *data;
	size_t len;
};

/* Those of a message, after a header of that length; none if it is shorter. */
struct ccs_netlink_attrs ccs_netlink_attrs(const struct nlmsghdr *h, size_t header);
/* Those within an attribute. */
struct ccs_netlink_attrs ccs_netlink_nested(const struct ccs_netlink_attr *a);
bool ccs_netlink_next(struct ccs_netlink_attrs *in, struct ccs_netlink_attr *a);

#endif
