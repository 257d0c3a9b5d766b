/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PATH_H
#define CCS_PATH_H
/*
 * Telemetry of the path to a peer host, in the shared page's record of that peer: written
 * by the agent, read by flows without a lock or a system call.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ccshim/cc.h"

/* Hops are as algorithms want them: hops, nhops, path and flows of struct ccs_cc_ack. */
struct ccs_path_telemetry {
	uint64_t updated_ns;             /* when it came, CLOCK_MONOTONIC; 0: never */
	uint64_t covers_ns;              /* no record was taken before that; 0: unknown */
	uint32_t path;                   /* names the links; records of two paths do not compare */
	uint16_t flows;                  /* active at the receiver; 0: unknown */
	uint16_t nhops;                  /* 0: only flows is known */
	uint32_t link[CCS_CC_MAX_HOPS];  /* names each */
	uint32_t spare;
	struct ccs_cc_hop hops[CCS_CC_MAX_HOPS]; /* nearest to the sender first */
	double advised_rate;             /* bit/s, to each flow on this path; 0: none is advised */
};

enum { CCS_TELEMETRY_WORDS = sizeof(struct ccs_path_telemetry) / sizeof(uint64_t) };

/* Of a peer host, as its agent says. */
enum ccs_peer_flag {
	CCS_PEER_NP = 1 << 0,            /* it watches for marked packets and sends CNPs */
	CCS_PEER_TELEMETRY = 1 << 1,     /* it echoes telemetry */
	CCS_PEER_PORTS = 1 << 2,         /* with records of switches' ports, or as one gives them */
	CCS_PEER_ADVICE = 1 << 3,        /* it advises a rate */
	CCS_PEER_RECORDS = CCS_PEER_TELEMETRY | CCS_PEER_ADVICE, /* what records of links have */
};

/* A peer host. version is odd while telemetry is being written. */
struct ccs_path {
	_Atomic uint32_t version;
	_Atomic uint32_t flags;          /* enum ccs_peer_flag */
	_Atomic uint64_t heard_ns;       /* its agent was last heard; 0: never */
	_Atomic uint64_t telemetry[CCS_TELEMETRY_WORDS]; /* a struct ccs_path_telemetry */
	uint8_t spare[24];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct ccs_path) == 256, "four lines");

/* One writer at a time. */
void ccs_path_write(struct ccs_path *p, const struct ccs_path_telemetry *t);

/*
 * False, and t of no use, while it is being written, or if that is no telemetry: the next look
 * will do. Whatever is read has at most CCS_CC_MAX_HOPS hops, whose capacity is a rate.
 */
bool ccs_path_read(const struct ccs_path *p, struct ccs_path_telemetry *t);

#endif
