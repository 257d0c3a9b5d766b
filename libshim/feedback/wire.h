/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WIRE_H
#define CCS_WIRE_H
/*
 * Messages between host agents, over UDP.
 *
 * A receiver ignores the excess of a body longer than it expects. The packet's addresses identify
 * the two hosts: RoCE packets between the hosts have the same addresses.
 *
 * The echo proves that the sender receives packets at its source address, so that source addresses
 * cannot be forged. A HELLO without the correct echo is answered but has no other effect; the
 * answer states the incarnation, with which the next HELLO succeeds. Any other message without the
 * correct echo is refused, as are messages from before a restart.
 *
 *   RP to NP   HELLO                 flows towards the NP exist; requests CNPs and telemetry
 *   NP to RP   HELLO_ACK             to each HELLO
 *   NP to RP   CNP                   while the lease lasts
 *   NP to RP   ECHO                  while the lease lasts and data arrive
 *   NP to RP   ADVICE                while the lease lasts, when the advised rate changes
 *   NP to CP   HELLO, answered by HELLO_ACK and, while the lease lasts, RECORDS
 *
 * docs/guide/telemetry.md specifies the layout of the messages, and telemetry.
 */
#include <stddef.h>
#include <stdint.h>

#include "feedback/record.h"

#define CCS_WIRE_PORT 4793
#define CCS_WIRE_VERSION 1u

enum { CCS_WIRE_HEADER = 32, CCS_WIRE_TAG = 32, CCS_WIRE_MAX = 1024,
       CCS_WIRE_TENANTS = 16, CCS_WIRE_TENANT = 16,  /* bytes of each */
       CCS_WIRE_TENANT_HELLO = 24 };

enum ccs_wire_type {
	CCS_WIRE_HELLO = 1,
	CCS_WIRE_HELLO_ACK = 2,
	CCS_WIRE_CNP = 3,
	CCS_WIRE_ECHO = 4,               /* telemetry of the path: receiver to sender */
	CCS_WIRE_RECORDS = 5,            /* of ports: switch to receiver */
	CCS_WIRE_ADVICE = 6,             /* a rate: receiver to sender */
};

struct ccs_wire_header {
	uint8_t type;
	uint8_t key;                     /* id of the key of the tag */
	uint8_t tenants;                 /* number of tenants after the body */
	uint64_t incarnation;            /* of the sender */
	uint64_t echo;                   /* the incarnation that the receiver last stated, or 0 */
	uint64_t sequence;               /* rises by one, per incarnation and peer */
};

struct ccs_wire_hello {
	uint32_t lease_ms;               /* duration of the requested lease */
	uint32_t requested;              /* enum ccs_peer_flag */
	uint64_t clock_ns;               /* the sender's clock; 0: not stated */
	uint32_t period_us;              /* of telemetry */
	uint32_t flows;                  /* active now; 0: no telemetry for now */
	uint32_t rtt_us;                 /* between the agents; 0: unknown */
	uint32_t segment;                /* bytes per segment of a flow; 0: unknown */
};

struct ccs_wire_hello_ack {
	uint64_t of;                     /* sequence number of the HELLO that it answers */
	uint32_t capabilities;           /* enum ccs_peer_flag */
	uint32_t lease_ms;               /* granted; 0: repeat HELLO with this incarnation */
	uint32_t flows;                  /* known active flows of all senders */
	uint64_t advised;                /* bit/s, for each flow on the path; 0: no advice */
};

/* Marked packets arrived for a QP of the sender of this message. */
struct ccs_wire_cnp {
	uint32_t qpn;                    /* of that QP */
	uint32_t marked;                 /* since the last CNP for it */
};

/* The newest records; their covers_ns is by the addressee's clock. */
struct ccs_wire_echo {
	uint32_t n;
	uint32_t flows;                  /* active flows of all senders; 0: unknown */
	struct ccs_record record[CCS_RECORDS];
};

/* The newest records of ports on the path from the senders with that prefix. */
struct ccs_wire_records {
	uint32_t n;
	uint32_t bits;                   /* length of the prefix, 0 to 128 */
	uint8_t prefix[16];              /* of senders' addresses, IPv4 as ::ffff:a.b.c.d */
	struct ccs_record record[CCS_RECORDS];
};

/* A change of the advised rate since the last ECHO. */
struct ccs_wire_advice {
	uint64_t advised;                /* bit/s, for each flow on the path */
	uint32_t flows;                  /* as in ECHO */
};

/*
 * A tenant of the sender, after the body of HELLO: its terms and active flows; the other flows of the
 * HELLO have no tenant. After the body of HELLO_ACK, ECHO and ADVICE: the rate for each of its flows,
 * instead of the advised rate of the body.
 */
struct ccs_wire_tenant {
	uint64_t tenant;                 /* its identity */
	uint32_t weight, flows;          /* of HELLO; weight in hundredths */
	uint32_t guarantee;              /* of HELLO: Mb/s; 0: none */
	uint32_t floor;                  /* of HELLO: of a background tenant, 1/10000 of a port; 0: foreground */
	uint64_t advised;                /* of the others, bit/s */
};

struct ccs_wire_message {
	struct ccs_wire_header header;
	struct ccs_wire_tenant tenant[CCS_WIRE_TENANTS];
	union {
		struct ccs_wire_hello hello;
		struct ccs_wire_hello_ack hello_ack;
		struct ccs_wire_cnp cnp;
		struct ccs_wire_echo echo;
		struct ccs_wire_records records;
		struct ccs_wire_advice advice;
	};
};

/* Returns the bytes written to buf (CCS_WIRE_MAX), without a tag; 0 if the type is unknown. */
size_t ccs_wire_encode(struct ccs_wire_message *m, void *buf);

enum ccs_wire_error {
	CCS_WIRE_OK,
	CCS_WIRE_GARBAGE,                /* not a ccshim message, or truncated */
	CCS_WIRE_OTHER_VERSION,
	CCS_WIRE_OTHER_TYPE,             /* from a newer agent */
};

/* len may include a tag, which covers all bytes before it. */
enum ccs_wire_error ccs_wire_decode(const void *buf, size_t len, struct ccs_wire_message *m);

#endif
