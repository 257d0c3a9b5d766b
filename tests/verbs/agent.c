/* SPDX-License-Identifier: BSD-2-Clause */
/* A host agent for tests; see agent.h. */
#include "agent.h"

#include "../unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 16, TICK_MS = 5, MESSAGES = 64 };

struct client {
	int fd;                          /* 0: none */
	struct ccs_shm *region;
	struct ccs_ipc_add *flow;      /* CCS_SHM_SLOTS; type 0: unused */
};

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	struct agent_config config;
	struct agent_counts counts;
	int fd;
	bool stop;
	struct client client[CLIENTS];
} agent = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct ccs_shm *map_region(struct msghdr *msg)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct ccs_shm *region;
	int fd;

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return NULL;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	region = mmap(NULL, sizeof(*region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region == MAP_FAILED || fcntl(fd, F_GET_SEALS) != seals ||
	    lseek(fd, 0, SEEK_END) != sizeof(*region) || region->magic != CCS_SHM_MAGIC ||
	    region->version != CCS_SHM_VERSION)
		region = NULL;
	close(fd);
	return region;
}

static void send_result(const struct client *c, uint32_t slot, int error)
{
	const struct ccs_ipc_result r = {
		.type = CCS_IPC_RESULT, .error = error, .slot = slot,
		.version = CCS_IPC_VERSION,
	};

	if (!agent.config.silent && send(c->fd, &r, sizeof(r), MSG_NOSIGNAL) != sizeof(r))
		agent.counts.wrong += errno != EPIPE; /* the client closed the connection */
}

static uint32_t peer_flags(void)
{
	if (agent.config.no_feedback)
		return 0;
	return CCS_PEER_NP | CCS_PEER_RECORDS | (agent.config.ports ? CCS_PEER_PORTS : 0);
}

/* The first record describes the path to the peer, the second the path from it. */
static void write_telemetry(struct ccs_shm_path *path, uint32_t link)
{
	const struct ccs_path_telemetry t = {
		.updated_ns = now_ns(), .path = 1, .nhops = 1, .link = { link },
		.flows = agent.config.idle ? 0 : 3,
		.advised_rate = agent.config.advised,
		.hops = { { .ts_ns = agent.config.huge_step ? 2 : 1, .capacity = 10e9,
			    .tx_bytes = agent.config.huge_step ? UINT64_MAX : 0 } },
	};

	ccs_shm_path_write(path, &t);
}

static void write_inbound(struct ccs_slot *slot)
{
	const uint32_t flags = CCS_PEER_NP | CCS_PEER_RECORDS;

	atomic_store(&slot->inbound_flags, agent.config.inbound ? flags : 0);
	atomic_store(&slot->inbound, agent.config.inbound ? 2 : 0);
}

static void update_region(struct client *c)
{
	struct ccs_shm_path *path = &c->region->path[0];

	agent.counts.updates++;
	atomic_store(&path->flags, peer_flags());
	if (agent.config.telemetry)
		write_telemetry(path, 77);
	if (agent.config.telemetry && agent.config.inbound)
		write_telemetry(path + 1, 78);
	for (uint32_t i = 0; i < CCS_SHM_SLOTS; i++)
		if (c->flow[i].type)
			write_inbound(&c->region->slot[i]);
	if (!agent.config.peer_silent)
		atomic_store(&path->last_seen_ns, now_ns());
	if (!agent.config.no_heartbeat)
		atomic_store(&c->region->heartbeat_ns, now_ns());
}

static void add_flow(struct client *c, const struct ccs_ipc_add *m)
{
	agent.counts.adds++;
	if (m->slot >= CCS_SHM_SLOTS || c->flow[m->slot].type) {
		agent.counts.wrong++;
		send_result(c, m->slot, EEXIST);
		return;
	}
	if (!agent.config.refuses_flows) {
		c->flow[m->slot] = *m;
		agent.counts.flows++;
		atomic_store(&c->region->slot[m->slot].path, 1);
	}
	if (agent.config.malformed)
		send(c->fd, "what?", 5, MSG_NOSIGNAL);
	else
		send_result(c, m->slot, agent.config.refuses_flows);
}

static void remove_flow(struct client *c, uint32_t slot)
{
	agent.counts.removes++;
	if (slot >= CCS_SHM_SLOTS || !c->flow[slot].type) {
		agent.counts.wrong++;
		return;
	}
	c->flow[slot].type = 0;
	agent.counts.flows--;
	atomic_store(&c->region->slot[slot].path, 0);
}

static void drop_client(struct client *c)
{
	for (uint32_t i = 0; c->flow && i < CCS_SHM_SLOTS; i++)
		agent.counts.flows -= c->flow[i].type != 0;
	close(c->fd);
	free(c->flow);
	c->flow = NULL;
	c->fd = 0; /* the shared region stays: a test may read it */
}

/* Returns false if no message is available. */
static bool handle_message(struct client *c)
{
	union {
		uint32_t type;
		struct ccs_ipc_hello hello;
		struct ccs_ipc_add add;
		struct ccs_ipc_remove remove;
	} m;
	struct iovec iov = { &m, sizeof(m) };
	_Alignas(struct cmsghdr) char control[64];
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	const ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		drop_client(c);
		return false;
	}
	if (m.type == CCS_IPC_HELLO && n == sizeof(m.hello)) {
		agent.counts.hellos++;
		c->region = map_region(&msg);
		agent.counts.wrong += !c->region;
		send_result(c, 0,
			    agent.config.refuses_hello);
	} else if (c->region && m.type == CCS_IPC_ADD && n == sizeof(m.add)) {
		add_flow(c, &m.add);
	} else if (c->region && m.type == CCS_IPC_REMOVE && n == sizeof(m.remove)) {
		remove_flow(c, m.remove.slot);
	} else {
		agent.counts.wrong++;
	}
	return true;
}

static void accept_one(void)
{
	const int fd = accept4(agent.fd, NULL, NULL, SOCK_CLOEXEC);

	for (unsigned i = 0; fd >= 0 && i < CLIENTS; i++)
		if (!agent.client[i].fd) {
			agent.client[i] = (struct client){
				.fd = fd, .flow = calloc(CCS_SHM_SLOTS, sizeof(struct ccs_ipc_add)),
			};
			return;
		}
	close(fd);
}

static void serve_once(void)
{
	bool more = false;

	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *c = &agent.client[i];

		for (unsigned k = 0; c->fd && k < MESSAGES; k++)
			more = handle_message(c);
		if (c->fd && c->region)
			update_region(c);
	}
	pthread_mutex_unlock(&agent.lock);
	if (!more) {
		struct pollfd p = { .fd = agent.fd, .events = POLLIN };

		if (poll(&p, 1, TICK_MS) > 0) {
			pthread_mutex_lock(&agent.lock);
			accept_one();
			pthread_mutex_unlock(&agent.lock);
		}
	}
	pthread_mutex_lock(&agent.lock);
}

static void *agent_main(void *arg)
{
	pthread_mutex_lock(&agent.lock);
	while (!agent.stop)
		serve_once();
	pthread_mutex_unlock(&agent.lock);
	return arg;
}

void agent_start(const char *path, struct agent_config config)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	pthread_mutex_lock(&agent.lock);
	agent.config = config;
	agent.counts = (struct agent_counts){ 0 };
	agent.stop = false;
	agent.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(agent.fd >= 0);
	assert_int_equal(bind(agent.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(agent.fd, 8), 0);
	assert_int_equal(pthread_create(&agent.thread, NULL, agent_main, NULL), 0);
	pthread_mutex_unlock(&agent.lock);
}

/* A client may call agent_start() as soon as it is dropped: the lock makes it wait. */
void agent_stop(void)
{
	pthread_t thread;

	pthread_mutex_lock(&agent.lock);
	agent.stop = true;
	thread = agent.thread;
	pthread_mutex_unlock(&agent.lock);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&agent.lock);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (agent.client[i].fd)
			drop_client(&agent.client[i]);
	close(agent.fd);
	pthread_mutex_unlock(&agent.lock);
}

void agent_configure(struct agent_config config)
{
	pthread_mutex_lock(&agent.lock);
	agent.config = config;
	pthread_mutex_unlock(&agent.lock);
}

struct agent_counts agent_counts(void)
{
	struct agent_counts c;

	pthread_mutex_lock(&agent.lock);
	c = agent.counts;
	pthread_mutex_unlock(&agent.lock);
	return c;
}

/* The caller holds the lock. */
static struct ccs_slot *find_slot(uint32_t qpn, struct ccs_ipc_add *flow)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *c = &agent.client[i];

		for (uint32_t slot = 0; c->fd && slot < CCS_SHM_SLOTS; slot++) {
			if (!c->flow[slot].type || c->flow[slot].local_qpn != qpn)
				continue;
			*flow = c->flow[slot];
			return &c->region->slot[slot];
		}
	}
	return NULL;
}

bool agent_flow(uint32_t qpn, struct ccs_ipc_add *flow)
{
	bool found;

	pthread_mutex_lock(&agent.lock);
	found = find_slot(qpn, flow);
	pthread_mutex_unlock(&agent.lock);
	return found;
}

struct ccs_slot *agent_slot(uint32_t qpn)
{
	struct ccs_ipc_add flow;
	struct ccs_slot *slot;

	pthread_mutex_lock(&agent.lock);
	slot = find_slot(qpn, &flow);
	pthread_mutex_unlock(&agent.lock);
	return slot;
}

void agent_cnp(uint32_t qpn, unsigned n)
{
	struct ccs_slot *slot = agent_slot(qpn);

	assert_non_null(slot);
	atomic_fetch_add(&slot->cnps, n);
}
