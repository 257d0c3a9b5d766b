/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_AGENTRIG_H
#define CCS_TESTS_AGENTRIG_H
/*
 * Two hosts, 127.0.0.1 and 127.0.0.2, with an agent each, in one thread and in virtual time that
 * the test advances; clients of these agents, and forged messages from any address. The rig
 * requires no privilege.
 */
#include "test.h"

#include "agent/host/core.h"
#include "agent/host/priv.h"
#include "agent/agent.h"

enum { RIG_HOSTS = 2 };

struct rig_client {
	int fd;
	int shm_fd;
	struct ccs_shm *shm;
};

struct rig {
	char dir[64];
	int fence;
	uint16_t port;
	uint64_t now_ns;
	char socket[RIG_HOSTS][96];
	const char *address[RIG_HOSTS];
	struct ccs_agent_config config[RIG_HOSTS];
	struct ccs_agent *agent[RIG_HOSTS];
	char said[512];                  /* the last warning of any agent */
	unsigned nsaid;
};

/* Setup and teardown of a test: *state is the rig. Both agents run. */
int rig_setup(void **state);
int rig_teardown(void **state);
/* A test with a rig, which is *state. */
#define RIG_TEST(name_) TEST_WITH(name_, rig_setup, rig_teardown)

void rig_start(struct rig *r, int host);
void rig_stop(struct rig *r, int host);

/* Deliver messages in flight, and run timers that are due. */
void rig_settle(struct rig *r);
/* Advance the time in steps of the agents' tick. */
void rig_pass(struct rig *r, unsigned ms);

/* A connection without a HELLO; a client with a region; and its end. */
int rig_dial(struct rig *r, int host);
struct rig_client rig_client(struct rig *r, int host);
void rig_hang_up(struct rig_client *c);
/* Set the standing of the host's clients, which depends on the test's capabilities otherwise. */
void rig_set_standing(struct rig *r, int host, enum ccs_standing standing);
/* The client is of that user from now on, with its flows. */
void rig_set_user(struct ccs_agent *a, struct ccs_client *c, uid_t uid);
/* A valid, sealed region. */
int rig_region(struct ccs_shm **page);
/*
 * Send a HELLO with that region, or without a region (-1); rig_hello() returns the error of the
 * reply.
 */
void rig_send_hello(int fd, int shm_fd);
int rig_hello(struct rig *r, int fd, int shm_fd);
/* Send a request; returns the error of the reply. */
int rig_request(struct rig *r, int fd, const void *m, size_t len);
/* A flow from host `from` to the other host, QP 0x100 + n to QP 0x200 + n. */
struct ccs_ipc_add rig_flow(const struct rig *r, int from, unsigned n, uint32_t slot);
int rig_add(struct rig *r, struct rig_client *c, int from, unsigned n, uint32_t slot);
/* A client with that flow; the agents have exchanged HELLOs. */
struct rig_client rig_client_with_flow(struct rig *r, int host, unsigned n, uint32_t slot);

enum rig_opcode { RIG_WRITE = 0x07, RIG_READ = 0x0c, RIG_ANSWER = 0x0e, RIG_ACK = 0x11 };

/* A CE mark at `host` on a packet from the other host to QP 0x200 + n: on data of a WRITE. */
void rig_mark(struct rig *r, int host, unsigned n);
/* The same to QP 0x100 + n, which is at one end of a flow of `host`. */
void rig_mark_own(struct rig *r, int host, enum rig_opcode opcode, unsigned n);

uint64_t rig_cnps(const struct rig_client *c, uint32_t slot);
const struct ccs_shm_path *rig_path(const struct rig_client *c, uint32_t slot);

/* A host's agent receives data from that address and the agents' port. */
void rig_forge(struct rig *r, const char *from, int host, const void *data, size_t len);
/* The same with a message, and both agents handle what follows from it. */
void rig_forge_message(struct rig *r, const char *from, int host, struct ccs_wire_message *m);

#endif
