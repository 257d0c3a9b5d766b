/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SLOT_H
#define CCS_SLOT_H
/*
 * The memory that a process with controlled QPs shares with the host agent: a slot a
 * flow, and a record for each peer host and direction. A flow's bytes go to its peer, or
 * come from there if they are READ: congestion of the way there is reported by the peer's
 * agent, that of the way here ("inbound") by this host's. The process makes the page (a
 * memfd, sealed against shrinking and growing) and hands it to each agent that it connects
 * to, so that it survives all of them; the agent writes signals, the flow reads them without
 * a lock or a system call. Either side takes what the other one writes for untrusted.
 *
 * Times are of CLOCK_MONOTONIC, in ns, which all processes of a host share.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "signal/path.h"

#define CCS_PAGE_MAGIC 0x47505343u       /* "CSPG" */
#define CCS_PAGE_VERSION 1u

enum { CCS_PAGE_SLOTS = 65536, CCS_PAGE_PATHS = 4096 };

/* A flow's. The agent writes the first line, the process the second one. */
struct ccs_slot {
	_Atomic uint64_t cnps;           /* for it so far; goes on from where it stood */
	_Atomic uint64_t cnp_ns;         /* when the last one came */
	_Atomic uint32_t path;           /* 1 + the index of its peer's record; 0: none yet */
	_Atomic uint32_t inbound;        /* the same of the record for data that it READs */
	_Atomic uint32_t inbound_flags;  /* enum ccs_peer_flag that this host has for these data */
	uint8_t agent_spare[36];

	_Atomic uint64_t rate;           /* bit/s in force, for signals that are a whole port's */
	_Atomic uint32_t verdict;        /* enum ccs_verdict, of the process's signal thread */
	_Atomic uint32_t period_us;      /* telemetry is wanted that often; 0: none is */
	_Atomic uint64_t sent;           /* bytes to the peer handed to the device */
	_Atomic uint64_t read;           /* bytes requested by READs, which come from the peer */
	_Atomic uint32_t inbound_verdict; /* as verdict, for the data that it READs */
	_Atomic uint32_t wants;          /* enum ccs_peer_flag; 0: TELEMETRY, if period_us is set */
	_Atomic uint32_t segment;        /* bytes that it sends at once; 0: unknown */
	uint8_t process_spare[20];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct ccs_slot) == 128, "two lines, one for each writer");

struct ccs_page {
	uint32_t magic, version;
	uint32_t slots, paths;           /* CCS_PAGE_SLOTS, CCS_PAGE_PATHS */
	uint8_t spare[48];
	_Atomic uint64_t beat_ns;        /* of the agent: it lives */
	uint8_t reserved[4096 - 72];
	struct ccs_path path[CCS_PAGE_PATHS];
	struct ccs_slot slot[CCS_PAGE_SLOTS];
};

/* An agent writes beat_ns that often; one that is late by this much is not there. */
#define CCS_BEAT_NS 100000000ull
#define CCS_BEAT_LATE_NS 1000000000ull

/* A peer's agent that was not heard for this long is not there: three of its leases' renewals. */
#define CCS_HEARD_LATE_NS 3000000000ull

/* Telemetry of a path that a flow sends on comes much more often than that. */
#define CCS_TELEMETRY_LATE_NS 500000000ull

/* Whether a flow's signals can be relied on. */
enum ccs_verdict {
	CCS_SIGNAL_WAITING,              /* no answer yet, and it is early */
	CCS_SIGNAL_OK,
	CCS_SIGNAL_NO_AGENT,             /* none on this host, or it died */
	CCS_SIGNAL_REFUSED,              /* the agent does not take this flow */
	CCS_SIGNAL_NO_PEER,              /* the peer's agent is silent */
	CCS_SIGNAL_UNABLE,               /* it is there, and cannot give what is needed */
	CCS_SIGNAL_NO_CLIENT,            /* this process cannot listen to an agent */
	CCS_SIGNAL_STALE,                /* it sends, and telemetry does not come */
};

#endif
