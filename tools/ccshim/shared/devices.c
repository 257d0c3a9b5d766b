/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries an RDMA device, and checks whether it can be controlled. */
#include "devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/provider.h"

static const char *transport_name(const struct ibv_device *ibdev, const struct device *dev)
{
	switch (ibdev->transport_type) {
	case IBV_TRANSPORT_IB:
		return dev->ports && dev->port[0].link_layer == IBV_LINK_LAYER_ETHERNET
		       ? "RoCE" : "InfiniBand";
	case IBV_TRANSPORT_IWARP:
		return "iWARP";
	case IBV_TRANSPORT_USNIC:
	case IBV_TRANSPORT_USNIC_UDP:
		return "usNIC";
	default:
		return "unspecified";
	}
}

static int query_ports(struct ibv_context *context, struct device *dev)
{
	struct ibv_device_attr attr;
	int error = ibv_query_device(context, &attr);

	if (error)
		return error;
	dev->ports = attr.phys_port_cnt < DEVICE_PORTS ? attr.phys_port_cnt : DEVICE_PORTS;
	snprintf(dev->firmware, sizeof(dev->firmware), "%.63s", attr.fw_ver);
	for (unsigned i = 0; i < dev->ports && !error; i++)
		error = ibv_query_port(context, (uint8_t)(i + 1), &dev->port[i]);
	return error;
}

/* Timestamps of a clock whose frequency is not stated are no times (irdma). */
static int has_timestamps(struct ibv_context *context)
{
	struct ibv_device_attr_ex attr = { 0 };

	if (ibv_query_device_ex(context, NULL, &attr))
		return -1;
	return attr.completion_timestamp_mask && attr.hca_core_clock;
}

void device_query(struct ibv_device *ibdev, struct device *dev)
{
	struct ibv_context *context;

	memset(dev, 0, sizeof(*dev));
	dev->hw_timestamps = -1;
	dev->name = ibv_get_device_name(ibdev);
	errno = 0;
	context = ibv_open_device(ibdev);
	if (!context) {
		dev->error = errno ? errno : ENODEV;
	} else {
		dev->error = query_ports(context, dev);
		dev->hw_timestamps = has_timestamps(context);
		provider_name(context, dev->provider, sizeof(dev->provider));
		ibv_close_device(context);
	}
	dev->transport = transport_name(ibdev, dev);
}

static bool is_active(const struct device *dev)
{
	for (unsigned i = 0; i < dev->ports; i++)
		if (dev->port[i].state == IBV_PORT_ACTIVE)
			return true;
	return false;
}

const char *device_obstacle(const struct device *dev, char *buf, size_t len)
{
	if (dev->error) {
		snprintf(buf, len, "it cannot be opened: %s", strerror(dev->error));
		return buf;
	}
	if (strcmp(dev->transport, "RoCE") != 0 && strcmp(dev->transport, "InfiniBand") != 0) {
		snprintf(buf, len, "its transport (%s) has no RC queue pairs to control",
			 dev->transport);
		return buf;
	}
	return is_active(dev) ? NULL : "no port is active";
}
