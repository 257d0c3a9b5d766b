/* SPDX-License-Identifier: BSD-2-Clause */
#include "agentrig.h"

#include "agent/events.h"
#include "agent/net/net.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static uint64_t rig_now(void *arg)
{
	return ((struct rig *)arg)->now_ns;
}

static void rig_transmit(void *arg, const char *sentence)
{
	struct rig *r = arg;

	snprintf(r->said, sizeof(r->said), "%s", sentence);
	r->nsaid++;
}

/* A socket connected to itself, and this thread on one CPU. */
static int open_fence(void)
{
	const struct timeval timeout = { .tv_sec = 3600 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&in, len), 0);
	return fd;
}

/*
 * A port that is free at both addresses, and stays free: the kernel does not assign ports of this
 * range to sockets without a port, and another process starts its search elsewhere.
 */
static uint16_t free_port(void)
{
	enum { LOW = 10000, HIGH = 32768 };
	struct sockaddr_in in = { .sin_family = AF_INET };

	for (int port = LOW + getpid() * 64 % (HIGH - LOW); port < HIGH; port++) {
		const int fd = socket(AF_INET, SOCK_DGRAM, 0);
		bool taken;

		in.sin_port = htons((uint16_t)port);
		taken = bind(fd, (struct sockaddr *)&in, sizeof(in));
		close(fd);
		if (!taken)
			return (uint16_t)port;
	}
	fail_msg("no port is free");
	return 0;
}

void rig_start(struct rig *r, int host)
{
	char err[512] = "";

	r->agent[host] = ccs_agent_open(&r->config[host], err, sizeof(err));
	assert_string_equal(err, "");
	assert_non_null(r->agent[host]);
}

void rig_stop(struct rig *r, int host)
{
	if (r->agent[host])
		ccs_agent_close(r->agent[host]);
	r->agent[host] = NULL;
}

int rig_setup(void **state)
{
	static const char *const address[] = { "127.0.0.1", "127.0.0.2" };
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	strcpy(r->dir, "/tmp/ccshim-agent-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	r->port = free_port();
	r->fence = open_fence();
	r->now_ns = 1000000000000;
	for (int i = 0; i < RIG_HOSTS; i++) {
		stpcpy(stpcpy(r->socket[i], r->dir), i ? "/1" : "/0");
		r->address[i] = address[i];
		r->config[i] = ccs_agent_defaults();
		r->config[i].socket = r->socket[i];
		r->config[i].port = r->port;
		r->config[i].capture = false;
		r->config[i].addresses = &r->address[i];
		r->config[i].naddresses = 1;
		r->config[i].warn = rig_transmit;
		r->config[i].now = rig_now;
		r->config[i].warn_arg = r->config[i].now_arg = r;
		rig_start(r, i);
	}
	return 0;
}

int rig_teardown(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < RIG_HOSTS; i++)
		rig_stop(r, i);
	close(r->fence);
	rmdir(r->dir);
	free(r);
	return 0;
}

/*
 * Packets sent over loopback pass through a per-CPU queue. When a packet that is sent later on the
 * same CPU has arrived, all earlier packets have arrived.
 */
static void wait_for_loopback(const struct rig *r)
{
	char fence = 0;

	assert_int_equal(send(r->fence, &fence, 1, 0), 1);
	assert_int_equal(recv(r->fence, &fence, 1, 0), 1);
}

/* One turn of each; whether there was anything to do. */
static bool turn(struct rig *r)
{
	bool busy = false;

	for (int i = 0; i < RIG_HOSTS; i++) {
		struct pollfd p = { .events = POLLIN };

		if (!r->agent[i])
			continue;
		p.fd = r->agent[i]->epoll;
		busy |= poll(&p, 1, 0) > 0;
		ccs_agent_turn(r->agent[i], 0);
	}
	return busy;
}

void rig_settle(struct rig *r)
{
	int turns = 0;

	do {
		wait_for_loopback(r);
		assert_true(turns++ < 100000);
	} while (turn(r));
}

void rig_pass(struct rig *r, unsigned ms)
{
	rig_settle(r);
	for (unsigned t = 0; t < ms; t += 100) {
		r->now_ns += 100000000;
		rig_settle(r);
	}
}

int rig_dial(struct rig *r, int host)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(to.sun_path, r->socket[host]);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

int rig_region(struct ccs_shm **page)
{
	const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, sizeof(**page)), 0);
	*page = mmap(NULL, sizeof(**page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(*page, MAP_FAILED);
	(*page)->magic = CCS_SHM_MAGIC;
	(*page)->version = CCS_SHM_VERSION;
	(*page)->slots = CCS_SHM_SLOTS;
	(*page)->paths = CCS_SHM_PATHS;
	ccs_shm_touch(*page, 0, sizeof(**page));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	return fd;
}

static int answer(struct rig *r, int fd)
{
	struct ccs_ipc_result result;

	rig_settle(r);
	if (recv(fd, &result, sizeof(result), MSG_DONTWAIT) != (ssize_t)sizeof(result))
		return -1;
	assert_int_equal(result.type, CCS_IPC_RESULT);
	assert_int_equal(result.version, CCS_IPC_VERSION);
	return result.error;
}

int rig_request(struct rig *r, int fd, const void *m, size_t len)
{
	assert_int_equal(send(fd, m, len, MSG_NOSIGNAL), len);
	return answer(r, fd);
}

void rig_send_hello(int fd, int shm_fd)
{
	struct ccs_ipc_hello m = { CCS_IPC_HELLO, CCS_IPC_VERSION };
	struct iovec iov = { &m, sizeof(m) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (shm_fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &shm_fd, sizeof(int));
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
	}
	assert_int_equal(sendmsg(fd, &h, MSG_NOSIGNAL), sizeof(m));
}

int rig_hello(struct rig *r, int fd, int shm_fd)
{
	rig_send_hello(fd, shm_fd);
	return answer(r, fd);
}

struct rig_client rig_client(struct rig *r, int host)
{
	struct rig_client c;

	c.shm_fd = rig_region(&c.shm);
	c.fd = rig_dial(r, host);
	assert_int_equal(rig_hello(r, c.fd, c.shm_fd), 0);
	return c;
}

void rig_set_standing(struct rig *r, int host, enum ccs_standing standing)
{
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		r->agent[host]->client[i].standing = standing;
}

void rig_set_user(struct ccs_agent *a, struct ccs_client *c, uid_t uid)
{
	struct ccs_user *to = ccs_user_of(a, uid), *from = c->user;

	c->uid = uid;
	if (!from || to == from)
		return;
	c->user = to;
	from->clients--;
	to->clients++;
	a->flows.users += (c->flows && !to->flows) - (c->flows && from->flows == c->flows);
	from->flows -= c->flows;
	to->flows += c->flows;
}

void rig_hang_up(struct rig_client *c)
{
	close(c->fd);
	close(c->shm_fd);
	munmap(c->shm, sizeof(*c->shm));
}

static struct ccs_address address_of(const char *text)
{
	struct ccs_address a;

	assert_int_equal(ccs_address_parse(text, &a), 0);
	return a;
}

struct ccs_ipc_add rig_flow(const struct rig *r, int from, unsigned n, uint32_t slot)
{
	const struct ccs_address local = address_of(r->address[from]);
	const struct ccs_address peer = address_of(r->address[!from]);
	struct ccs_ipc_add m = {
		.type = CCS_IPC_ADD, .slot = slot, .device = "fake0", .port = 1,
		.local_qpn = 0x100 + n, .peer_qpn = 0x200 + n,
	};

	memcpy(m.local_gid, local.b, 16);
	memcpy(m.peer_gid, peer.b, 16);
	return m;
}

int rig_add(struct rig *r, struct rig_client *c, int from, unsigned n, uint32_t slot)
{
	const struct ccs_ipc_add m = rig_flow(r, from, n, slot);

	return rig_request(r, c->fd, &m, sizeof(m));
}

struct rig_client rig_client_with_flow(struct rig *r, int host, unsigned n, uint32_t slot)
{
	struct rig_client c = rig_client(r, host);

	assert_int_equal(rig_add(r, &c, host, n, slot), 0);
	rig_settle(r);
	return c;
}

void rig_mark(struct rig *r, int host, unsigned n)
{
	const struct ccs_ends ends = {
		.local = address_of(r->address[host]), .remote = address_of(r->address[!host]),
	};

	ccs_np_mark(r->agent[host], &ends, RIG_WRITE, 0x200 + n);
	ccs_udp_flush(r->agent[host]);
}

void rig_mark_own(struct rig *r, int host, enum rig_opcode opcode, unsigned n)
{
	const struct ccs_ends ends = {
		.local = address_of(r->address[host]), .remote = address_of(r->address[!host]),
	};

	ccs_np_mark(r->agent[host], &ends, (uint8_t)opcode, 0x100 + n);
	ccs_udp_flush(r->agent[host]);
}

uint64_t rig_cnps(const struct rig_client *c, uint32_t slot)
{
	return atomic_load(&c->shm->slot[slot].cnps);
}

const struct ccs_shm_path *rig_path(const struct rig_client *c, uint32_t slot)
{
	const uint32_t path = atomic_load(&c->shm->slot[slot].path);

	assert_in_range(path, 1, CCS_SHM_PATHS);
	return &c->shm->path[path - 1];
}

void rig_forge(struct rig *r, const char *from, int host, const void *data, size_t len)
{
	const struct ccs_ends ends = {
		.local = address_of(r->address[host]), .remote = address_of(from),
		.arrived = if_nametoindex("lo"),
	};

	r->agent[host]->received(r->agent[host], &ends, data, len);
	ccs_udp_flush(r->agent[host]);
}

void rig_forge_message(struct rig *r, const char *from, int host, struct ccs_wire_message *m)
{
	uint8_t buf[CCS_WIRE_MAX];

	rig_forge(r, from, host, buf, ccs_wire_encode(m, buf));
	rig_settle(r);
}
