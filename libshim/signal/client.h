/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CLIENT_H
#define CCS_CLIENT_H
/*
 * The process's end of the host agent: a thread, ccshim-signal, that tells it which flows
 * there are and judges each ten times a second by what it hears (slot.verdict). It starts
 * with the first flow, all signals blocked, and reconnects by itself for ever. Its
 * descriptors are in a table of its own: the application neither sees nor closes them, nor
 * does a child inherit them.
 *
 * Any thread may attach and detach; neither waits for an agent. Not after fork.
 */
#include "signal/book.h"

struct ccs_client_config {
	char path[108];                  /* of the agent's socket */
	/* Where nobody listens: be the agent. 0, or an errno; after EPERM it is not called
	 * again. NULL: no. In the client's thread. */
	int (*serve)(const char *path);
	void (*end_serving)(void);       /* when the thread ends; NULL: nothing to be done */
};

/* Before any attach, once. */
void ccs_client_setup(const struct ccs_client_config *config);

/* Whether an agent's socket is there, or the thread runs anyway: else it would wait for nothing. */
bool ccs_client_is_of_use(void);

/* NULL: no slot, thread or memory is left. Nothing is said of it here. */
struct ccs_slot *ccs_client_attach(const struct ccs_signal_flow *flow);
/* From then on the slot is somebody else's. NULL: nothing. */
void ccs_client_detach(struct ccs_slot *slot);

/* The record of the path to that slot's peer, or of the one from there; NULL: there is none yet.
 * It stays where it is. */
const struct ccs_path *ccs_client_path(const struct ccs_slot *slot);
const struct ccs_path *ccs_client_inbound(const struct ccs_slot *slot);

/* The process ends, and the thread with it. */
void ccs_client_finish(void);

#endif
