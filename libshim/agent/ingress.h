/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_INGRESS_H
#define CCS_AGENT_INGRESS_H
/*
 * A receiver's port: bytes that came in, from sysfs, by descriptors that stay open. What an
 * RDMA NIC receives past the kernel its netdev does not count, but the port counter
 * port_rcv_data does, in 4 bytes; drivers without hardware of their own have none, and then
 * the netdev counts all.
 */
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum { CCS_INGRESS_PORTS = 4 };          /* RDMA ports of one netdev */

struct ccs_ingress {
	int netdev, rdma[CCS_INGRESS_PORTS]; /* -1: none */
};

/* 0 or an errno. sysfs: "/sys". */
int ccs_ingress_open(struct ccs_ingress *in, const char *sysfs, const char *interface);
void ccs_ingress_close(struct ccs_ingress *in);

/* Since whenever. False: the port is gone. */
bool ccs_ingress_read(const struct ccs_ingress *in, uint64_t *bytes);

#endif
