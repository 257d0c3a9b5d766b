/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_IPC_H
#define CCS_IPC_H
/*
 * Messages between the processes of a host and its agent over a UNIX socket (SOCK_SEQPACKET): each
 * message is one packet, one of these structs, in host byte order. Each request except
 * CCS_IPC_REMOVE is answered by a CCS_IPC_RESULT, in order (STATUS: by text, or by a CCS_IPC_RESULT
 * with EAGAIN if the user has requested it too often). The result of a HELLO with a region, and each
 * CCS_IPC_CAPS, has the descriptor of the memory with the caps of the process's tenant, if it has one.
 */
#include <stdint.h>

#define CCS_IPC_SOCKET "/run/ccshim/agent.sock"
#define CCS_IPC_VERSION 1u

enum ccs_ipc_type {
	CCS_IPC_HELLO = 1,               /* first; with the region's descriptor (SCM_RIGHTS), if any */
	CCS_IPC_RESULT,
	CCS_IPC_ADD,                     /* a flow of the sender, in a slot of its region */
	CCS_IPC_REMOVE,
	CCS_IPC_CNP,                     /* feed CNPs of a flow */
	CCS_IPC_RECORD,                  /* feed telemetry of a link */
	CCS_IPC_STATUS,                  /* the reply is one JSON object, as text */
	CCS_IPC_TENANT,                  /* set terms of a tenant */
	CCS_IPC_CAPS,                    /* from the agent: a CCS_IPC_RESULT with another page of caps */
};

struct ccs_ipc_hello {
	uint32_t type, version;
};

struct ccs_ipc_result {
	uint32_t type;
	int32_t error;                   /* 0 or an errno */
	uint32_t slot;                   /* slot of the ADD */
	uint32_t version;                /* the agent's, to a HELLO */
};

/* A queue pair by its device, and the connection by its ends. */
struct ccs_ipc_add {
	uint32_t type, slot;
	char device[64];                 /* rxe_0, mlx5_0 */
	uint32_t port;
	uint32_t local_qpn, peer_qpn;
	uint8_t local_gid[16], peer_gid[16]; /* IPv4 as ::ffff:a.b.c.d */
};

struct ccs_ipc_remove {
	uint32_t type, slot;
};

struct ccs_ipc_cnp {
	uint32_t type;
	char device[64];
	uint32_t local_qpn;
	uint32_t count;                  /* >= 1 */
};

/* A link on the path from senders with that prefix to that address of this host (all zero: any);
 * covers_ns is by CLOCK_MONOTONIC. See feedback/record.h. */
struct ccs_ipc_record {
	uint32_t type;
	uint32_t from_bits;              /* 0 to 128; 0: any */
	uint8_t from[16], to[16];        /* IPv4 as ::ffff:a.b.c.d */
	uint32_t link, hop;
	uint64_t ts_ns, tx_bytes, qlen_bytes, capacity, covers_ns;
};

/* See struct ccs_terms. */
struct ccs_ipc_tenant {
	uint32_t type;
	uint32_t set;                    /* enum ccs_term: which are set */
	char name[64];
	double weight, cap, guarantee, floor;
};

#endif
