/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/net/send_error.h"

#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

#include "agent/host/core.h"
#include "base/sysfs.h"

static bool has_address(const struct ifaddrs *i, const struct ccs_address *local)
{
	struct ccs_address address;

	if (!i->ifa_addr)
		return false;
	if (i->ifa_addr->sa_family == AF_INET)
		address = ccs_address_of_v4(&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr);
	else if (i->ifa_addr->sa_family == AF_INET6)
		address = ccs_address_of(&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr);
	else
		return false;
	return ccs_address_equal(&address, local);
}

/* The interface that has the address. False: no interface has it. */
static bool find_by_address(const struct ccs_address *local, char name[IF_NAMESIZE + 1], bool *up)
{
	struct ifaddrs *all, *i;

	if (getifaddrs(&all))
		return false;
	for (i = all; i && !has_address(i, local); i = i->ifa_next)
		;
	if (i) {
		snprintf(name, IF_NAMESIZE + 1, "%s", i->ifa_name);
		*up = (i->ifa_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	}
	freeifaddrs(all);
	return i;
}

/* The interface of the device of a flow with that address: an interface that is down may have lost
 * its addresses. */
static bool find_by_flow(const struct ccs_agent *a, const struct ccs_address *local,
			 char name[IF_NAMESIZE + 1])
{
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		for (const struct ccs_agent_flow *f = a->client[i].first; f; f = f->next)
			if (ccs_address_equal(&f->peer->ends.local, local))
				return ccs_sysfs_netdev(a->counters.sysfs, f->device, f->port, name);
	return false;
}

void ccs_send_error_explain(const struct ccs_agent *a, const struct ccs_ends *ends, char *text, size_t len)
{
	char name[IF_NAMESIZE + 1], remote[INET6_ADDRSTRLEN];
	bool up;

	ccs_address_text(&ends->remote, remote);
	if (!find_by_address(&ends->local, name, &up)) {
		if (find_by_flow(a, &ends->local, name))
			snprintf(text, len, "interface %s has lost that address: set it up (ip link set %s up) "
				 "and add the address (ip address add)", name, name);
		else
			snprintf(text, len, "no interface has that address: set the interface up (ip link set) "
				 "and add the address (ip address add)");
	} else if (!up) {
		snprintf(text, len, "interface %s is down: set it up (ip link set %s up), or connect its cable",
			 name, name);
	} else {
		snprintf(text, len, "interface %s is up: check the route (ip route get %s from that address), "
			 "and firewall rules", name, remote);
	}
}
