/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_DEVICES_H
#define CCS_TOOLS_DEVICES_H
/* Queries an RDMA device. */
#include <infiniband/verbs.h>
#include <stdbool.h>

struct device {
	const char *name;
	const char *transport;     /* "RoCE", "InfiniBand", "iWARP", ... */
	int error;                 /* errno if it cannot be opened or queried */
	unsigned ports;
	int hw_timestamps;         /* of completions; -1 unknown */
	char firmware[64];
	char provider[32];         /* "libmlx5"; "": unknown */
	struct ibv_port_attr port[8]; /* the first ports; [0] is port 1 */
};

#define DEVICE_PORTS (sizeof(((struct device *)0)->port) / sizeof(struct ibv_port_attr))

void device_query(struct ibv_device *ibdev, struct device *dev);

/* Why the shim cannot control its queue pairs, or NULL. May point into buf. */
const char *device_obstacle(const struct device *dev, char *buf, size_t len);

#endif
