/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_SYSFS_H
#define CCS_BASE_SYSFS_H
/* RDMA devices and network interfaces in sysfs ("/sys", or a directory of a test). */
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open a file below class/. The caller closes the descriptor; -1 and errno on failure. */
int ccs_sysfs_open(const char *sysfs, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Read the beginning of a file as a text. Its length; 0 and errno: it cannot be read, or is empty. */
size_t ccs_read_file(const char *name, char *text, size_t len);

/* Read the first line and close fd. False: fd is -1, or the file is empty. */
bool ccs_sysfs_read_line(int fd, char *line, size_t len);

/* Read the current number from an open file. False: it cannot be read, or is no number. */
bool ccs_sysfs_read_number(int fd, uint64_t *value);

/* The network interface of an Ethernet port; false: the port has no interface. */
bool ccs_sysfs_netdev(const char *sysfs, const char *device, unsigned port,
		      char name[IF_NAMESIZE + 1]);

/* The link speed of an interface, bit/s; 0: unknown. Blocks while the driver asks its hardware. */
double ccs_sysfs_speed(const char *sysfs, const char *interface);

/*
 * True if a port's interface exists and reports no speed, as with virtio and bridges: the
 * kernel then reports 1 Gbit/s for the RDMA device (ib_get_eth_speed()). Blocks as above.
 */
bool ccs_sysfs_speed_is_guess(const char *sysfs, const char *device, unsigned port);

/* A port's rate from its attributes, bit/s; 0 if the rate is such a guess. */
double ccs_sysfs_rate(const char *sysfs, const char *device, unsigned port, double rate);

/* The data rate in bit/s of a port with these attributes (ibv_port_attr's
 * active_speed and active_width); 0 if they are unknown codes. */
double ccs_port_rate(unsigned speed, unsigned width, bool ethernet);

#endif
