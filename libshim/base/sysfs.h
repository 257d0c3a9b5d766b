/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_SYSFS_H
#define CCS_BASE_SYSFS_H
/* RDMA devices and network interfaces in sysfs ("/sys", or where a test has one). */
#include <net/if.h>
#include <stdbool.h>

/* A file below class/ : its descriptor, to be closed; -1 and errno. */
int ccs_sysfs_open(const char *sysfs, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The interface that an Ethernet port is on; false: it tells none. */
bool ccs_sysfs_netdev(const char *sysfs, const char *device, unsigned port,
		      char name[IF_NAMESIZE + 1]);

/* Of an interface's link, bit/s; 0: nobody knows. Blocks while the driver asks its hardware. */
double ccs_sysfs_speed(const char *sysfs, const char *interface);

/*
 * Whether a port's interface is there and tells no speed, as virtio's and bridges do: to its
 * RDMA device the kernel says 1 Gbit/s for that (ib_get_eth_speed()). Blocks as above.
 */
bool ccs_sysfs_speed_is_guess(const char *sysfs, const char *device, unsigned port);

/* A port's rate by its attributes, bit/s; 0 where that is such a guess. */
double ccs_sysfs_rate(const char *sysfs, const char *device, unsigned port, double rate);

#endif
