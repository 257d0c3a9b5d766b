/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CHECK_NIC_H
#define CCS_TOOLS_CHECK_NIC_H
/*
 * Reads the priorities of a network interface: data center bridging by netlink, statistics by
 * ioctl. If root is not "", both come from files that were recorded. ROOT/nic/INTERFACE/dcb has
 * lines "pfc PRIORITY" and "dscp DSCP PRIORITY". The file statistics has lines "NAME: VALUE" as
 * `ethtool -S` prints them.
 */
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum { NIC_PRIORITIES = 8, NIC_DSCPS = 64, NIC_MEMBERS = 16 };

struct nic_dcb {
	unsigned pfc;                      /* a bit for each priority that has it */
	bool trusts_dscp;                  /* some DSCPs are mapped to a priority */
	signed char priority[NIC_DSCPS];   /* by DSCP; -1: not given */
};

/* False: the driver does not report it. */
bool nic_read_dcb(const char *root, const char *interface, struct nic_dcb *d);

/* Call handle() for each statistic of the driver. False: they cannot be read. */
typedef void nic_statistic(void *arg, const char *name, uint64_t value);

bool nic_read_statistics(const char *root, const char *interface, nic_statistic *handle, void *arg);
/* Call handle() for each line "NAME: VALUE" of a file in ROOT/nic/INTERFACE. */
bool nic_read_recorded(const char *root, const char *interface, const char *file,
		       nic_statistic *handle, void *arg);

/* The number in a file below sysfs/class/net/INTERFACE; -1 if it cannot be read. */
long nic_read_number(const char *sysfs, const char *interface, const char *file);

/*
 * The interfaces of the hardware below a bond, a VLAN or a bridge, by the links lower_NAME of
 * sysfs. Returns their number; an interface without such links is returned itself.
 */
unsigned nic_hardware(const char *sysfs, const char *interface, char names[NIC_MEMBERS][IF_NAMESIZE + 1]);

#endif
