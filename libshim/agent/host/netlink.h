/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_NETLINK_H
#define CCS_AGENT_NETLINK_H
/*
 * Netlink requests that the kernel answers before send() returns or, for dumps, within recv().
 * No call blocks. One thread at a time.
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

/* A request under construction. */
struct ccs_netlink_request {
	struct nlmsghdr header;
	char payload[128];
};

void ccs_netlink_begin(struct ccs_netlink *n, struct ccs_netlink_request *r, unsigned type,
		       unsigned flags);
/* Append the family's fixed header, which precedes the attributes. */
void ccs_netlink_put_header(struct ccs_netlink_request *r, const void *header, size_t len);
void ccs_netlink_put_u32(struct ccs_netlink_request *r, unsigned type, uint32_t value);

/* Send a request and call handle() for each reply. 0 or an errno: the kernel's, or EIO for a
 * malformed reply. */
int ccs_netlink_ask(struct ccs_netlink *n, const struct ccs_netlink_request *r,
		    void (*handle)(void *arg, const struct nlmsghdr *h), void *arg);

/* A range of attributes, and one attribute. */
struct ccs_netlink_attrs {
	const char *at, *end;
};

struct ccs_netlink_attr {
	unsigned type;
	const char *data;
	size_t len;
};

/* The attributes of a message, after a header of that length; empty if it is shorter. */
struct ccs_netlink_attrs ccs_netlink_attrs(const struct nlmsghdr *h, size_t header);
struct ccs_netlink_attrs ccs_netlink_nested(const struct ccs_netlink_attr *a);
bool ccs_netlink_next(struct ccs_netlink_attrs *in, struct ccs_netlink_attr *a);
/* Copy the attribute, which may be unaligned, to an object of that size. An attribute that is too
 * short, such as an older kernel's, is extended with zeros. */
void ccs_netlink_copy(const struct ccs_netlink_attr *a, void *to, size_t size);

#endif
