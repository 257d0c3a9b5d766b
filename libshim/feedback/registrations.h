/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REGISTRATIONS_H
#define CCS_REGISTRATIONS_H
/*
 * Registrations of this process's flows with the host agent. Each flow that needs congestion
 * feedback owns one slot of the shared region; this table records, per slot, what has been sent
 * to the agent, what it replied, and from that the status of the flow's feedback. No clock,
 * socket or lock: the caller provides them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "feedback/shm.h"

/* A queue pair by its device, and the connection by its ends; IPv4 as ::ffff:a.b.c.d. */
struct ccs_feedback_flow {
	char device[64];
	uint32_t port;
	uint32_t local_qpn, peer_qpn;
	uint8_t local_gid[16], peer_gid[16];
	uint32_t requested;              /* enum ccs_peer_flag that its algorithm needs */
	uint32_t period_us;              /* requested telemetry period; 0: not requested */
};

enum ccs_reg_state {
	CCS_REG_FREE,
	CCS_REG_NEW,                     /* not yet sent to an agent */
	CCS_REG_REQUESTED,               /* ADD sent, no reply yet */
	CCS_REG_ACCEPTED,
	CCS_REG_REFUSED,
	CCS_REG_REMOVING,                /* the flow is gone; REMOVE not yet sent */
};

struct ccs_registration {
	struct ccs_feedback_flow flow;
	uint64_t since_ns;               /* when it entered this state */
	uint32_t next;                   /* next slot in its list */
	uint32_t replies_due;            /* requests for this slot without a reply */
	struct ccs_progress {
		uint64_t bytes;          /* of its slot, at the last update */
		uint64_t since_ns;       /* at every update since then they had changed; 0: idle */
	} sends, reads;
	uint8_t state;                   /* enum ccs_reg_state */
	bool queued;
	bool add_sent;                   /* to this agent */
	bool refused;                    /* by the last reply */
};

struct ccs_reg_list {                    /* oldest first */
	uint32_t first, last, count;
};

struct ccs_registrations {
	struct ccs_shm *shm;
	struct ccs_registration *entry;  /* CCS_SHM_SLOTS */
	uint32_t top;                    /* slots that have ever been used */
	uint32_t flows;                  /* slots in use by a flow */
	struct ccs_reg_list unused, todo;

	/* The agent. */
	bool attempted;                  /* to connect, at least once */
	bool connected;
	bool process_refused;            /* the last agent refused the process's HELLO */
	uint64_t changed_ns;             /* when it connected or was lost; 0: never connected */
	uint32_t replies_due;
	bool last_update_late;
};

/* The region must be all zero. 0, or -1 if out of memory. */
int ccs_reg_init(struct ccs_registrations *r, struct ccs_shm *shm);

/* Allocate a slot; NULL if all are in use. Slots freed most recently are reused last. */
struct ccs_slot *ccs_reg_add(struct ccs_registrations *r, const struct ccs_feedback_flow *flow,
			     uint64_t now_ns);
/* The flow is gone and no longer reads its slot. */
void ccs_reg_remove(struct ccs_registrations *r, const struct ccs_slot *slot, uint64_t now_ns);

/* A new agent is connected, which knows no flows yet. / The connection is lost, or could not be
 * made. */
void ccs_reg_agent_connected(struct ccs_registrations *r, uint64_t now_ns);
void ccs_reg_agent_lost(struct ccs_registrations *r, uint64_t now_ns);

/* The next request to send: ADD or REMOVE for *slot. False: the queue is empty. */
bool ccs_reg_next_request(struct ccs_registrations *r, uint32_t *slot, bool *add);
/* That request has been sent; the flow may have been removed since. */
void ccs_reg_request_sent(struct ccs_registrations *r, bool add, uint64_t now_ns);
/* Handle a reply (0 or an errno). -1: no request was outstanding for that slot. */
int ccs_reg_reply(struct ccs_registrations *r, uint32_t slot, int error, uint64_t now_ns);

/* The record that a slot's `path` or `inbound` refers to; NULL if absent. */
const struct ccs_shm_path *ccs_reg_path(const struct ccs_shm *shm, const _Atomic uint32_t *index);

/*
 * True if this update, due at due_ns (UINT64_MAX: not scheduled), runs more than 0.5 s late, so
 * that its timeouts must not be trusted: the host was stalled, and the agent may have been too.
 * Update at the next time instead. Never true twice in a row.
 */
bool ccs_reg_update_late(struct ccs_registrations *r, uint64_t due_ns, uint64_t now_ns);

/* Update both statuses of up to n slots starting at `slot`. Returns the slot to continue with, or
 * 0 at the end of the table. */
uint32_t ccs_reg_update_status(struct ccs_registrations *r, uint32_t slot, uint32_t n,
			       uint64_t now_ns);

#endif
