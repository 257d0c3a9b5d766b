/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHM_H
#define CCS_SHM_H
/*
 * The region that a process with controlled QPs shares with the host agent: one slot per flow, and
 * one record per peer host and direction. A flow's data go to its peer, or come from there if it
 * READs: congestion in the outbound direction is reported by the peer's agent, in the inbound
 * direction by this host's. The process creates the region (a memfd, sealed against shrinking and
 * growing) and passes it to each agent that it connects to, so that it survives agents. The process
 * writes to the records of paths before it connects, and to a slot before it registers the flow: the
 * kernel charges a page to the process that first writes to it, and the agent refuses other pages. The agent
 * writes feedback; the flow reads it without a lock or a system call. Neither side trusts what the
 * other writes.
 *
 * Times are of CLOCK_MONOTONIC, in ns, which all processes of a host share.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "feedback/shm_path.h"

#define CCS_SHM_MAGIC 0x47505343u       /* "CSPG" */
#define CCS_SHM_VERSION 1u

enum { CCS_SHM_SLOTS = 65536, CCS_SHM_PATHS = 4096 };

#define CCS_BACKGROUND (1ull << 63)     /* its tenant is of class background */

/* A flow's slot. The agent writes the first cache line, the process the second one. */
struct ccs_slot {
	_Atomic uint64_t cnps;           /* received; not reset when the slot is reused */
	_Atomic uint32_t path;           /* 1 + index of the peer's record; 0: no record yet */
	_Atomic uint32_t inbound;        /* the same for the record of data that it READs */
	_Atomic uint32_t inbound_flags;  /* enum ccs_peer_flag: feedback available for these data */
	_Atomic uint64_t limit;          /* bit/s, its tenant's cap; 0: no cap. With CCS_BACKGROUND */
	_Atomic uint32_t cap;            /* 1 + its index in the page of CCS_IPC_CAPS; 0: unknown */
	_Alignas(64) _Atomic uint64_t rate; /* bit/s in force, to share CNPs counted per port */
	_Atomic uint32_t status;         /* enum ccs_feedback_status */
	_Atomic uint32_t period_us;      /* wanted period of telemetry; 0: not wanted */
	_Atomic uint64_t sent;           /* bytes to the peer handed to the device */
	_Atomic uint64_t read;           /* bytes requested by READs, which come from the peer */
	_Atomic uint32_t inbound_status; /* the same for the data that it READs */
	_Atomic uint32_t requested;      /* enum ccs_peer_flag */
	_Atomic uint32_t segment;        /* bytes that it sends at once; 0: unknown */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct ccs_slot) == 128, "two lines, one for each writer");

struct ccs_shm {
	uint32_t magic, version;         /* CCS_SHM_MAGIC, CCS_SHM_VERSION */
	uint32_t slots, paths;           /* CCS_SHM_SLOTS, CCS_SHM_PATHS */
	_Atomic uint64_t heartbeat_ns;   /* time of the agent's last heartbeat */
	_Alignas(4096) struct ccs_shm_path path[CCS_SHM_PATHS];
	struct ccs_slot slot[CCS_SHM_SLOTS];
};

/* Have the kernel allocate the pages of these bytes; their contents stay. */
static inline void ccs_shm_touch(struct ccs_shm *shm, size_t from, size_t to)
{
	for (size_t at = from & ~(size_t)4095; at < to; at += 4096)
		atomic_fetch_or_explicit((_Atomic uint8_t *)((uint8_t *)shm + at), 0, memory_order_relaxed);
}

/* Period of heartbeat_ns; an agent whose heartbeat is late by CCS_HEARTBEAT_LATE_NS is dead. */
#define CCS_HEARTBEAT_NS 100000000ull
#define CCS_HEARTBEAT_LATE_NS 1000000000ull

/* A peer's agent that has not replied for this long, three lease renewals, is not responding. */
#define CCS_PEER_SILENT_NS 3000000000ull

/* Telemetry of a path in use arrives much more often than this. */
#define CCS_TELEMETRY_LATE_NS 500000000ull

/* Whether the feedback of a flow is available, and if not, why. */
enum ccs_feedback_status {
	CCS_FEEDBACK_WAITING,            /* no reply yet, within the timeout */
	CCS_FEEDBACK_OK,
	CCS_FEEDBACK_NO_AGENT,           /* no agent on this host, or it died */
	CCS_FEEDBACK_REFUSED,            /* the agent refused this flow */
	CCS_FEEDBACK_NO_PEER,            /* the peer's agent does not respond */
	CCS_FEEDBACK_UNABLE,             /* it responds, but lacks a required capability */
	CCS_FEEDBACK_NO_CLIENT,          /* this process cannot run a client of the agent */
	CCS_FEEDBACK_STALE,              /* the flow sends, but no telemetry arrives */
};

#endif
