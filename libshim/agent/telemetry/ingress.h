/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_INGRESS_H
#define CCS_AGENT_INGRESS_H
/*
 * Bytes received on a receiver's port, from sysfs files that stay open. A netdev does not count
 * what an RDMA NIC receives bypassing the kernel, but the NIC's port counter port_rcv_data does,
 * in units of 4 bytes. Software RDMA drivers have no such counter; there the netdev counts all.
 */
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum { CCS_INGRESS_PORTS = 4 };          /* RDMA ports of one netdev */

struct ccs_ingress {
	int netdev, rdma[CCS_INGRESS_PORTS]; /* -1: not open */
};

/* 0 or an errno. sysfs: "/sys". */
int ccs_ingress_open(struct ccs_ingress *in, const char *sysfs, const char *interface);
void ccs_ingress_close(struct ccs_ingress *in);

/* *bytes: counted from an arbitrary start. False: the port has vanished. */
bool ccs_ingress_read(const struct ccs_ingress *in, uint64_t *bytes);

#endif
