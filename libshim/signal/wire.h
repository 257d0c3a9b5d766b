/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WIRE_H
#define CCS_WIRE_H
/*
 * What host agents say to each other, over UDP. Little-endian, whatever the hosts are:
 *
 *   offset  bytes
 *     0      4    magic "CCSW"
 *     4      1    version
 *     5      1    type
 *     6      2    length of header and body together
 *     8      8    session of the sender: when it started, ns since 1970, but for the lower
 *                  32 bits, which are a secret between these two hosts
 *    16      8    echo: the session of the receiver, as last heard; 0: unknown
 *    24      8    sequence number: rises by one, in each session and towards each peer
 *    32      n    body
 *    32+n   32    authentication of all before it, if the agents share a key
 *
 * A receiver takes a longer body than it knows for a newer one, and reads its part; what
 * a shorter one lacks is 0.
 * Which hosts are meant the packet's own addresses say: those of the RoCE packets.
 *
 * So the echo shows that a sender hears what it is sent: nobody can speak for an address
 * at which he does not receive. A HELLO without the right one is answered, and makes
 * no difference to the receiver; the answer tells the session, so the next one is good.
 * All else without the right one is refused. So are messages of before a restart.
 *
 *   RP to NP   HELLO                 I have flows towards you: tell me of congestion
 *   NP to RP   HELLO_ACK             to each
 *   NP to RP   CNP                   while the lease lasts
 *   NP to RP   ECHO                  the same, while data comes in
 *   NP to RP   ADVICE                the same, when the rate that is advised has changed
 *   NP to CP   HELLO, answered by HELLO_ACK and, while the lease lasts, RECORDS
 *
 * docs/telemetry.md has all of telemetry.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "signal/record.h"

#define CCS_WIRE_PORT 4793
#define CCS_WIRE_VERSION 1u

enum { CCS_WIRE_HEADER = 32, CCS_WIRE_TAG = 32, CCS_WIRE_MAX = 1024 };

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
	uint16_t length;
	uint64_t session, echo, sequence;
};

struct ccs_wire_hello {
	uint32_t lease_ms;               /* until then, unless it is renewed */
	uint32_t wants;                  /* enum ccs_peer_flag */
	uint64_t clock_ns;               /* now, by the sender's clock; 0: it does not tell */
	uint32_t period_us;              /* of telemetry */
	uint32_t flows;                  /* active now; 0: no telemetry for now */
	uint32_t rtt_us;                 /* between the agents; 0: unknown */
	uint32_t segment;                /* bytes that a flow sends at once; 0: unknown */
};

struct ccs_wire_hello_ack {
	uint64_t of;                     /* sequence number of the HELLO that it answers */
	uint32_t gives;                  /* enum ccs_peer_flag */
	uint32_t lease_ms;               /* granted; 0: none, say it again with my session */
	uint32_t flows;                  /* active ones that I hear of, of all senders */
	uint64_t advised;                /* bit/s, to each flow on the path; 0: no advice */
};

/* Marked packets came for this QP of mine. */
struct ccs_wire_cnp {
	uint32_t qpn;                    /* the sender of this message's: where they went */
	uint32_t marked;                 /* since the last CNP for it */
};

/* The newest records; their covers_ns is by the clock of whom they are sent to. */
struct ccs_wire_echo {
	uint16_t n;
	uint32_t flows;                  /* active ones of all senders; 0: unknown */
	struct ccs_record record[CCS_RECORDS];
};

/* The same of ports on the way from those senders. */
struct ccs_wire_records {
	uint16_t n;
	uint8_t bits;                    /* of prefix that count, 0 to 128 */
	uint8_t prefix[16];              /* of senders' addresses, IPv4 as ::ffff:a.b.c.d */
	struct ccs_record record[CCS_RECORDS];
};

/* What ECHO's records advise, newly. */
struct ccs_wire_advice {
	uint64_t advised;                /* bit/s, to each flow on the path */
	uint32_t flows;                  /* as of ECHO */
};

struct ccs_wire_message {
	struct ccs_wire_header header;
	union {
		struct ccs_wire_hello hello;
		struct ccs_wire_hello_ack hello_ack;
		struct ccs_wire_cnp cnp;
		struct ccs_wire_echo echo;
		struct ccs_wire_records records;
		struct ccs_wire_advice advice;
	};
};

/* Bytes written to buf (CCS_WIRE_MAX), without a tag; 0 if the type has no body here.
 * Sets header.length. */
size_t ccs_wire_encode(struct ccs_wire_message *m, void *buf);

enum ccs_wire_error {
	CCS_WIRE_OK,
	CCS_WIRE_GARBAGE,                /* not one of ours, or cut */
	CCS_WIRE_OTHER_VERSION,
	CCS_WIRE_OTHER_TYPE,             /* of a newer agent */
};

/* len may include a tag: what follows header.length is not looked at. */
enum ccs_wire_error ccs_wire_decode(const void *buf, size_t len, struct ccs_wire_message *m);

#endif
