/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CHECK_NIC_H
#define CCS_TOOLS_CHECK_NIC_H
/*
 * What a network interface says of its priorities: data center bridging by netlink, statistics by
 * ioctl. Under a root other than "", both are read from files instead, as they were recorded:
 * ROOT/nic/INTERFACE/dcb has lines "pfc PRIORITY" and "dscp DSCP PRIORITY", statistics has lines
 * "NAME: VALUE" as `ethtool -S` prints them, and so has statistics.later for the second reading.
 */
#include <stdbool.h>
#include <stdint.h>

enum { NIC_PRIORITIES = 8, NIC_DSCPS = 64 };

struct nic_dcb {
	unsigned pfc;                      /* a bit for each priority that has it */
	bool trusts_dscp;                  /* some DSCPs have priorities of their own */
	signed char priority[NIC_DSCPS];   /* of each DSCP; -1: not given */
};

/* False: the driver says nothing of it. */
bool nic_read_dcb(const char *root, const char *interface, struct nic_dcb *d);

/* Counters of one priority; UINT64_MAX: there is none of that name. */
struct nic_pauses {
	uint64_t received, sent, discarded;
};

/* later: of the second of two readings. False: there are no statistics. */
bool nic_read_pauses(const char *root, const char *interface, unsigned priority, bool later,
		     struct nic_pauses *p);

/* Call handle() for each statistic of the driver; later as above. False: there are none. */
typedef void nic_statistic(void *arg, const char *name, uint64_t value);

bool nic_read_statistics(const char *root, const char *interface, bool later, nic_statistic *handle,
			 void *arg);
/* Of a file with lines "NAME: VALUE" in ROOT/nic/INTERFACE. */
bool nic_read_recorded(const char *root, const char *interface, const char *file,
		       nic_statistic *handle, void *arg);

/* The number in a file below sysfs/class/net/INTERFACE; -1: there is none. */
long nic_read_number(const char *sysfs, const char *interface, const char *file);

#endif
