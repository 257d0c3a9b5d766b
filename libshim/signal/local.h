/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LOCAL_H
#define CCS_LOCAL_H
/*
 * What processes of one host and its agent say to each other over a UNIX socket
 * (SOCK_SEQPACKET): each message is one packet, one of these structs, in the host's byte
 * order. Each request but CCS_LOCAL_REMOVE is answered by a CCS_LOCAL_RESULT (STATUS: by
 * text), in order.
 */
#include <stdint.h>

#define CCS_LOCAL_SOCKET "/run/ccshim/agent.sock"
#define CCS_LOCAL_VERSION 1u

enum ccs_local_type {
	CCS_LOCAL_HELLO = 1,             /* first; with the page's descriptor (SCM_RIGHTS), if any */
	CCS_LOCAL_RESULT,
	CCS_LOCAL_ADD,                   /* a flow of the caller's, into a slot of its page */
	CCS_LOCAL_REMOVE,
	CCS_LOCAL_CNP,                   /* a hook: congestion of a flow, seen by the caller */
	CCS_LOCAL_RECORD,                /* a hook: telemetry of a link */
	CCS_LOCAL_STATUS,                /* answered by one JSON object, as text */
};

struct ccs_local_hello {
	uint32_t type, version;
};

struct ccs_local_result {
	uint32_t type;
	int32_t error;                   /* 0 or an errno */
	uint32_t slot;                   /* of an ADD */
	uint32_t version;                /* the agent's, to a HELLO */
};

/* A queue pair by its device, and the connection by its ends. */
struct ccs_local_add {
	uint32_t type, slot;
	char device[64];                 /* rxe_0, mlx5_0 */
	uint32_t port;
	uint32_t local_qpn, peer_qpn;
	uint8_t local_gid[16], peer_gid[16]; /* IPv4 as ::ffff:a.b.c.d */
};

struct ccs_local_remove {
	uint32_t type, slot;
};

struct ccs_local_cnp {
	uint32_t type;
	char device[64];
	uint32_t local_qpn;
	uint32_t count;                  /* >= 1 */
};

/* A link, for senders of that prefix and flows to that address of this host, or any (all
 * zero); covers_ns is by CLOCK_MONOTONIC. See signal/record.h. */
struct ccs_local_record {
	uint32_t type;
	uint32_t from_bits;              /* 0 to 128; 0: any */
	uint8_t from[16], to[16];        /* IPv4 as ::ffff:a.b.c.d */
	uint32_t link, hop;
	uint64_t ts_ns, tx_bytes, qlen_bytes, capacity, covers_ns;
};

#endif
