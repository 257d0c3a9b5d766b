/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHM_PATH_H
#define CCS_SHM_PATH_H
/*
 * Telemetry of the path to a peer host, in the shared region's record of that peer: written by the
 * agent, read by flows without a lock or a system call.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ccshim/cc.h"

/* hops, nhops, path and flows have the format of struct ccs_cc_ack. */
struct ccs_path_telemetry {
	uint64_t updated_ns;             /* when it was received, CLOCK_MONOTONIC; 0: never */
	uint64_t covers_ns;              /* no record was taken before that; 0: unknown */
	uint32_t path;                   /* identifies the links; records of two paths are unrelated */
	uint16_t flows;                  /* active at the receiver; 0: unknown */
	uint16_t nhops;                  /* 0: only flows is known */
	uint32_t link[CCS_CC_MAX_HOPS];  /* identifier of each link */
	uint32_t spare;
	struct ccs_cc_hop hops[CCS_CC_MAX_HOPS]; /* nearest to the sender first */
	double advised_rate;             /* bit/s, for each flow on this path; 0: no advice */
};

enum { CCS_TELEMETRY_WORDS = sizeof(struct ccs_path_telemetry) / sizeof(uint64_t) };

/* Capabilities of a peer host, as its agent states them, or requests to it. */
enum ccs_peer_flag {
	CCS_PEER_NP = 1 << 0,            /* captures marked packets and sends CNPs */
	CCS_PEER_TELEMETRY = 1 << 1,     /* sends telemetry */
	CCS_PEER_PORTS = 1 << 2,         /* which includes switch ports; or, as a switch, sends them */
	CCS_PEER_ADVICE = 1 << 3,        /* advises a rate */
	CCS_PEER_RECORDS = CCS_PEER_TELEMETRY | CCS_PEER_ADVICE, /* need records of links */
};

/* The record of a peer host. version is odd while telemetry is being written. */
struct ccs_shm_path {
	_Atomic uint32_t version;
	_Atomic uint32_t flags;          /* enum ccs_peer_flag */
	_Atomic uint64_t last_seen_ns;   /* its agent last replied; 0: never */
	_Atomic uint64_t telemetry[CCS_TELEMETRY_WORDS]; /* a struct ccs_path_telemetry */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct ccs_shm_path) == 256, "four lines");

/* One writer at a time. */
void ccs_shm_path_write(struct ccs_shm_path *p, const struct ccs_path_telemetry *t);

/*
 * False, and *t undefined, while the record is being written or if it is invalid: read it again
 * later. A valid record has at most CCS_CC_MAX_HOPS hops with valid capacities.
 */
bool ccs_shm_path_read(const struct ccs_shm_path *p, struct ccs_path_telemetry *t);

#endif
