/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_GIDS_H
#define CCS_AGENT_GIDS_H
/* The addresses of this host's RDMA devices: GIDs of RoCE are IP addresses. */
#include "base/address.h"

enum { CCS_GIDS = 256 };

struct ccs_gids {
	struct ccs_address gid[CCS_GIDS];
	unsigned n;
	uint64_t read_ns;                /* 0: not read yet */
};

/*
 * Whether messages to that address are for the network of an RDMA device, or the host has no RDMA
 * device. The devices' GIDs are read from sysfs again for an unknown address, at most once a second.
 */
bool ccs_gids_admit(struct ccs_gids *g, const char *sysfs, const struct ccs_address *address, uint64_t now_ns);

#endif
