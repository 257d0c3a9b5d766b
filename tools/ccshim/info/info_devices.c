/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim info -d: the RDMA devices, and whether they can be controlled. */
#include <errno.h>
#include <string.h>

#include "base/suggest.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "base/units.h"
#include "info.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/devices.h"
#include "tools/common/terminal.h"

static double port_rate(const struct device *dev, unsigned i)
{
	const struct ibv_port_attr *port = &dev->port[i];

	return ccs_sysfs_rate("/sys", dev->name, i + 1,
			      ccs_port_rate(port->active_speed, port->active_width,
					    port->link_layer == IBV_LINK_LAYER_ETHERNET));
}

static const char *link_name(const struct ibv_port_attr *port)
{
	switch (port->link_layer) {
	case IBV_LINK_LAYER_ETHERNET: return "Ethernet";
	case IBV_LINK_LAYER_INFINIBAND: return "InfiniBand";
	default: return "unspecified";
	}
}

static const char *state_name(const struct ibv_port_attr *port)
{
	static const char *const names[] = { "nop", "down", "init", "armed", "active",
					     "active-defer" };

	return port->state < sizeof(names) / sizeof(*names) ? names[port->state] : "unknown";
}

static const char *yes_no(int value)
{
	return value < 0 ? "unknown" : value ? "yes" : "no";
}

static void print_device(const struct device *dev)
{
	char rate[CCS_UNIT_LEN], buf[128];
	const char *why = device_obstacle(dev, buf, sizeof(buf));

	terminal_print(stdout, "  ", "%s: %s%s%s%s%s", dev->name, dev->transport,
		       *dev->provider ? ", " : "", dev->provider,
		       *dev->firmware ? ", firmware " : "", dev->firmware);
	for (unsigned i = 0; i < dev->ports && !dev->error; i++) {
		const double bps = port_rate(dev, i);

		printf("  port %-9u %s, %s, %s\n", i + 1, state_name(&dev->port[i]),
		       link_name(&dev->port[i]),
		       bps > 0 ? ccs_format_unit(bps, CCS_UNIT_RATE, rate, sizeof(rate))
			       : "rate unknown");
	}
	printf("  hw timestamps  %s\n", yes_no(dev->hw_timestamps));
	terminal_print(stdout, "                 ", "  control        %s%s", why ? "no: " : "yes",
		       why ? why : "");
}

static void write_device(struct ccs_json *j, const struct device *dev)
{
	char buf[128];
	const char *why = device_obstacle(dev, buf, sizeof(buf));

	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", dev->name);
	ccs_json_str(j, "transport", dev->transport);
	ccs_json_str(j, "provider", *dev->provider ? dev->provider : NULL);
	ccs_json_str(j, "firmware", dev->firmware);
	ccs_json_array(j, "ports");
	for (unsigned i = 0; i < dev->ports && !dev->error; i++) {
		ccs_json_object(j, NULL);
		ccs_json_uint(j, "port", i + 1);
		ccs_json_str(j, "state", state_name(&dev->port[i]));
		ccs_json_str(j, "link_layer", link_name(&dev->port[i]));
		ccs_json_num(j, "rate_bps", port_rate(dev, i));
		ccs_json_end(j);
	}
	ccs_json_end(j);
	ccs_json_str(j, "hw_timestamps", yes_no(dev->hw_timestamps));
	ccs_json_bool(j, "controllable", !why);
	ccs_json_str(j, "reason", why);
	ccs_json_end(j);
}

static unsigned list_devices(struct ccs_json *j, struct ibv_device **list, int count, const char *only)
{
	struct device dev;
	unsigned shown = 0;

	for (int i = 0; i < count; i++) {
		if (only && strcmp(only, ibv_get_device_name(list[i])) != 0)
			continue;
		device_query(list[i], &dev);
		shown++;
		if (j)
			write_device(j, &dev);
		else
			print_device(&dev);
	}
	return shown;
}

static int complain_unknown(struct ibv_device **list, int count, const char *only)
{
	struct ccs_suggestion near = ccs_suggest_for(only);
	char names[512] = "", hint[96];

	for (int i = 0; i < count; i++) {
		ccs_append(names, sizeof(names), "%s%s", i ? ", " : "there are ", ibv_get_device_name(list[i]));
		ccs_suggest_offer(&near, ibv_get_device_name(list[i]));
	}
	return tool_refuse("info", "there is no device '%s' (%s)%s", only,
			   count ? names : "this host has no RDMA device", ccs_suggest_hint(&near, hint, sizeof(hint)));
}

int info_devices(struct ccs_json *j, const char *only)
{
	int count = 0, status = EXIT_OK;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (!list && errno != ENOSYS && errno != ENOENT) { /* these: the kernel has no RDMA */
		tool_error("info", "devices cannot be listed: %m");
		return EXIT_FAILED;
	}
	if (j)
		ccs_json_array(j, "devices");
	if (!list_devices(j, list, count, only)) {
		if (only)
			status = complain_unknown(list, count, only);
		else if (!j)
			printf("no RDMA devices\n");
	}
	if (j)
		ccs_json_end(j);
	if (list)
		ibv_free_device_list(list);
	return status;
}
