/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

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

enum { CLIENTS = 16, TICK_MS = 5, LOOKS = 64 };

struct client {
	int fd;                          /* 0: none */
	struct ccs_shm *page;
	struct ccs_ipc_add *flow;      /* CCS_SHM_SLOTS; type 0: none */
};

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	struct agent_manner manner;
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

static struct ccs_shm *map_page(struct msghdr *msg)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct ccs_shm *page;
	int fd;

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return NULL;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || fcntl(fd, F_GET_SEALS) != seals ||
	    lseek(fd, 0, SEEK_END) != sizeof(*page) || page->magic != CCS_SHM_MAGIC ||
	    page->version != CCS_SHM_VERSION)
		page = NULL;
	close(fd);
	return page;
}

static void answer(const struct client *c, uint32_t slot, int error)
{
	const struct ccs_ipc_result r = {
		.type = CCS_IPC_RESULT, .error = error, .slot = slot,
		.version = CCS_IPC_VERSION,
	};

	if (!agent.manner.silent && send(c->fd, &r, sizeof(r), MSG_NOSIGNAL) != sizeof(r))
		agent.counts.wrong += errno != EPIPE; /* it has not waited */
}

static uint32_t flags(void)
{
	if (agent.manner.unable)
		return 0;
	return CCS_PEER_NP | CCS_PEER_RECORDS | (agent.manner.ports ? CCS_PEER_PORTS : 0);
}

/* The first record is of the path to the peer, the second one of that from there. */
static void tell_telemetry(struct ccs_shm_path *path, uint32_t link)
{
	const struct ccs_path_telemetry t = {
		.updated_ns = now_ns(), .path = 1, .nhops = 1, .link = { link },
		.flows = agent.manner.idle ? 0 : 3,
		.advised_rate = agent.manner.advised,
		.hops = { { .ts_ns = agent.manner.leaps ? 2 : 1, .capacity = 10e9,
			    .tx_bytes = agent.manner.leaps ? UINT64_MAX : 0 } },
	};

	ccs_shm_path_write(path, &t);
}

static void tell_inbound(struct ccs_slot *slot)
{
	const uint32_t flags = CCS_PEER_NP | CCS_PEER_RECORDS;

	atomic_store(&slot->inbound_flags, agent.manner.inbound ? flags : 0);
	atomic_store(&slot->inbound, agent.manner.inbound ? 2 : 0);
}

static void tell(struct client *c)
{
	struct ccs_shm_path *path = &c->page->path[0];

	atomic_store(&path->flags, flags());
	if (agent.manner.telemetry)
		tell_telemetry(path, 77);
	if (agent.manner.telemetry && agent.manner.inbound)
		tell_telemetry(path + 1, 78);
	for (uint32_t i = 0; i < CCS_SHM_SLOTS; i++)
		if (c->flow[i].type)
			tell_inbound(&c->page->slot[i]);
	if (!agent.manner.lonely)
		atomic_store(&path->last_seen_ns, now_ns());
	if (!agent.manner.dead)
		atomic_store(&c->page->heartbeat_ns, now_ns());
}

static void add(struct client *c, const struct ccs_ipc_add *m)
{
	agent.counts.adds++;
	if (m->slot >= CCS_SHM_SLOTS || c->flow[m->slot].type) {
		agent.counts.wrong++;
		answer(c, m->slot, EEXIST);
		return;
	}
	if (!agent.manner.refuses_flows) {
		c->flow[m->slot] = *m;
		agent.counts.flows++;
		atomic_store(&c->page->slot[m->slot].path, 1);
	}
	if (agent.manner.garbage)
		send(c->fd, "what?", 5, MSG_NOSIGNAL);
	else
		answer(c, m->slot, agent.manner.refuses_flows);
}

static void take_away(struct client *c, uint32_t slot)
{
	agent.counts.removes++;
	if (slot >= CCS_SHM_SLOTS || !c->flow[slot].type) {
		agent.counts.wrong++;
		return;
	}
	c->flow[slot].type = 0;
	agent.counts.flows--;
	atomic_store(&c->page->slot[slot].path, 0);
}

static void lose(struct client *c)
{
	for (uint32_t i = 0; c->flow && i < CCS_SHM_SLOTS; i++)
		agent.counts.flows -= c->flow[i].type != 0;
	close(c->fd);
	free(c->flow);
	c->flow = NULL;
	c->fd = 0; /* the shared region stays: a test may read it */
}

/* false: nothing there. */
static bool hear(struct client *c)
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
		lose(c);
		return false;
	}
	if (m.type == CCS_IPC_HELLO && n == sizeof(m.hello)) {
		agent.counts.hellos++;
		c->page = map_page(&msg);
		agent.counts.wrong += !c->page;
		answer(c, 0, agent.manner.refuses_hello);
	} else if (c->page && m.type == CCS_IPC_ADD && n == sizeof(m.add)) {
		add(c, &m.add);
	} else if (c->page && m.type == CCS_IPC_REMOVE && n == sizeof(m.remove)) {
		take_away(c, m.remove.slot);
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

static void turn(void)
{
	bool more = false;

	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *c = &agent.client[i];

		for (unsigned k = 0; c->fd && k < LOOKS; k++)
			more = hear(c);
		if (c->fd && c->page)
			tell(c);
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

static void *run(void *arg)
{
	usleep(1000 * agent.manner.late_ms);
	pthread_mutex_lock(&agent.lock);
	while (!agent.stop)
		turn();
	pthread_mutex_unlock(&agent.lock);
	return arg;
}

void agent_start(const char *path, struct agent_manner manner)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	agent.manner = manner;
	agent.counts = (struct agent_counts){ 0 };
	agent.stop = false;
	agent.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(agent.fd >= 0);
	assert_int_equal(bind(agent.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(agent.fd, 8), 0);
	assert_int_equal(pthread_create(&agent.thread, NULL, run, NULL), 0);
}

void agent_stop(void)
{
	pthread_mutex_lock(&agent.lock);
	agent.stop = true;
	pthread_mutex_unlock(&agent.lock);
	pthread_join(agent.thread, NULL);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (agent.client[i].fd)
			lose(&agent.client[i]);
	close(agent.fd);
}

void agent_manner(struct agent_manner manner)
{
	pthread_mutex_lock(&agent.lock);
	agent.manner = manner;
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

/* With the lock held. */
static struct ccs_slot *find(uint32_t qpn, struct ccs_ipc_add *flow)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *c = &agent.client[i];

		for (uint32_t slot = 0; c->fd && slot < CCS_SHM_SLOTS; slot++) {
			if (!c->flow[slot].type || c->flow[slot].local_qpn != qpn)
				continue;
			*flow = c->flow[slot];
			return &c->page->slot[slot];
		}
	}
	return NULL;
}

bool agent_flow(uint32_t qpn, struct ccs_ipc_add *flow)
{
	bool found;

	pthread_mutex_lock(&agent.lock);
	found = find(qpn, flow);
	pthread_mutex_unlock(&agent.lock);
	return found;
}

struct ccs_slot *agent_slot(uint32_t qpn)
{
	struct ccs_ipc_add flow;
	struct ccs_slot *slot;

	pthread_mutex_lock(&agent.lock);
	slot = find(qpn, &flow);
	pthread_mutex_unlock(&agent.lock);
	return slot;
}

void agent_cnp(uint32_t qpn, unsigned n)
{
	struct ccs_slot *slot = agent_slot(qpn);

	assert_non_null(slot);
	atomic_store(&slot->cnp_ns, now_ns());
	atomic_fetch_add(&slot->cnps, n);
}
