/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An agent that is made once, without sockets, and emptied after each input. Messages are passed to
 * the functions that the loop calls; what the agent sends goes nowhere (the linker wraps
 * ccs_udp_send() and send()).
 */
#include "parsers.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/events.h"
#include "agent/host/core.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"
#include "input.h"

enum { CLIENTS = 3, HOSTS = 3, STEPS = 64, CLIENT_SLOTS = 70 };

uint64_t fuzz_processed;

static struct ccs_agent *agent;
static struct ccs_shm *region;
static int region_fd;
static uint64_t now_ns;

void __wrap_ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends,
			 struct ccs_wire_message *m);
void __wrap_ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends,
			 struct ccs_wire_message *m)
{
	uint8_t data[CCS_WIRE_MAX];

	(void)ends;
	FUZZ_CHECK(a == agent && ccs_wire_encode(m, data) <= sizeof(data));
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	(void)data;
	(void)flags;
	FUZZ_CHECK(fd == -1 && len);
	return (ssize_t)len;
}

static uint64_t fuzz_time(void *arg)
{
	(void)arg;
	return now_ns;
}

static struct ccs_address address(unsigned last)
{
	const uint8_t bytes[4] = { 127, 0, 0, (uint8_t)last };

	return ccs_address_of_v4(bytes);
}

/* As a process passes it: the agent accepts no flow whose memory is not allocated. */
static void open_region(void)
{
	region_fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(region_fd >= 0 && !ftruncate(region_fd, sizeof(*region)));
	region = mmap(NULL, sizeof(*region), PROT_READ | PROT_WRITE, MAP_SHARED, region_fd, 0);
	FUZZ_CHECK(region != MAP_FAILED);
	region->magic = CCS_SHM_MAGIC;
	ccs_shm_touch(region, 0, sizeof(*region));
}

static void open_agent(void)
{
	static const char *const switches[] = { "127.0.0.4" };
	struct ccs_agent *a = calloc(1, sizeof(*a));
	char err[256];

	agent = a;
	open_region();
	a->config = ccs_agent_defaults();
	a->config.now = fuzz_time;
	a->config.switches = switches;
	a->config.nswitches = 1;
	a->counters.sysfs = "/nonexistent";
	a->epoll = a->stop.fd = a->netlink.fd = -1;
	a->listener.source.fd = a->refused.fd = -1;
	a->client = calloc(CCS_AGENT_CLIENTS, sizeof(*a->client));
	a->user = calloc(CCS_AGENT_USERS, sizeof(*a->user));
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		a->client[i].source.fd = -1;
	FUZZ_CHECK(!ccs_peers_open(a, ccs_subscribers_remove_peer) && !ccs_np_open(a) &&
		   !ccs_index_init(&a->flows.by_peer, 64, 1) &&
		   !ccs_index_init(&a->flows.by_qp, 64, 1) &&
		   !ccs_index_init(&a->flows.by_reader, 64, 1) &&
		   !ccs_index_init(&a->flows.by_slot, 64, 1) &&
		   !ccs_ports_open(a, err, sizeof(err)));
	for (unsigned i = 0; i < CLIENTS; i++)
		a->client[i].paths = calloc(CCS_SHM_PATHS, sizeof(uint32_t));
}

/* Two processes have a region; the third has sent no request yet. Each is a different user. */
static void reset(void)
{
	char err[256];

	if (!agent)
		open_agent();
	now_ns = 1000000000000;
	agent->incarnation = 77;
	free(agent->hello_limit);
	FUZZ_CHECK(!ccs_hello_limit_open(agent));
	free(agent->relayed);
	FUZZ_CHECK(!ccs_relay_open(agent, err, sizeof(err)));
	memset(&agent->totals, 0, sizeof(agent->totals));
	memset(agent->user, 0, CCS_AGENT_USERS * sizeof(*agent->user));
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct ccs_client *c = &agent->client[i];

		c->uid = i;
		c->user = ccs_user_of(agent, i);
		c->user->clients = 1;
		c->shm = i < 2 ? region : NULL;
		c->shm_fd = region_fd;
		c->punched = false;
		c->hello_done = i < 2;
	}
}

static void empty(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct ccs_client *c = &agent->client[i];

		while (c->first)
			ccs_agent_flow_remove(agent, c->first);
		FUZZ_CHECK(!c->flows);
	}
	now_ns += 3600000000000;
	ccs_peers_tick(agent, now_ns);
	FUZZ_CHECK(!agent->flows.n && !agent->peers.high &&
		   agent->peers.nunused == CCS_SHM_PATHS);
	agent->peers.serial = 0;
}

/* -- messages of other agents -------------------------------------------------------------- */

static struct ccs_ends read_ends(struct input *in)
{
	const struct ccs_address remote = address(2 + take_below(in, HOSTS));

	return (struct ccs_ends){ .local = address(1), .remote = remote };
}

static void add_flow(unsigned slot)
{
	const struct ccs_address local = address(1), peer = address(2 + slot % HOSTS);
	struct ccs_ipc_add m = {
		.type = CCS_IPC_ADD, .slot = slot, .device = "a", .port = 1,
		.local_qpn = 1 + slot, .peer_qpn = 1 + slot,
	};

	memcpy(m.local_gid, local.b, 16);
	memcpy(m.peer_gid, peer.b, 16);
	FUZZ_CHECK(ccs_ipc_handle(agent, &agent->client[0], &m, sizeof(m), -1) &&
		   ccs_agent_flow_find(agent, &agent->client[0], slot));
}

static void receive_raw(struct input *in)
{
	uint8_t data[256] = "CCSW\1";
	const struct ccs_ends ends = read_ends(in);
	const unsigned kept = take_below(in, 8), len = take_below(in, 255);

	take(in, data + kept, len > kept ? len - kept : 0);
	ccs_receive_message(agent, &ends, data, len);
	fuzz_processed++;
}

/* With few values of the fields by which messages are refused. */
static void receive_likely(struct input *in)
{
	const struct ccs_ends ends = read_ends(in);
	const struct ccs_peer *p = ccs_peer_find(agent, &ends);
	struct ccs_wire_message m = { 0 };
	uint8_t data[CCS_WIRE_MAX];
	size_t len;

	m.header.type = (uint8_t)(1 + take_below(in, 6));
	take(in, &m.hello, 1 + take_below(in, 160));
	m.header.incarnation = (1 + take_below(in, 3)) * (1ull << 32);
	m.header.sequence = take_below(in, 128);
	m.header.tenants = m.header.sequence % 3;
	for (unsigned i = 0; i < m.header.tenants; i++)
		m.tenant[i] = (struct ccs_wire_tenant){ .tenant = 1 + i, .weight = 100, .flows = i + 1, .advised = 1000000 };
	m.header.echo = take_below(in, 8) ? ccs_agent_incarnation(agent, &ends) : 0;
	if (m.header.type == CCS_WIRE_CNP)
		m.cnp.qpn %= 8;
	if (m.header.type == CCS_WIRE_HELLO_ACK && p && take_below(in, 4))
		m.hello_ack.of = p->hello.awaited;
	if (m.header.type == CCS_WIRE_ECHO)
		m.echo.n %= CCS_RECORDS + 1;
	if (m.header.type == CCS_WIRE_RECORDS) {
		m.records.n %= CCS_RECORDS + 1;
		m.records.bits %= 130;
	}
	len = ccs_wire_encode(&m, data);
	if (!take_below(in, 16))
		len -= len % 7;
	ccs_receive_message(agent, &ends, data, len);
	fuzz_processed++;
}

static void mark(struct input *in)
{
	const struct ccs_ends ends = read_ends(in);
	uint8_t opcode;

	take(in, &opcode, 1);
	ccs_np_mark(agent, &ends, opcode, take_below(in, 8));
}

static void pass_time(struct input *in)
{
	now_ns += (uint64_t)take_below(in, 256) * take_below(in, 256) * 1000000;
	ccs_peers_tick(agent, now_ns);
}

static void check_peers(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < agent->peers.high; i++) {
		const struct ccs_peer *p = &agent->peers.peer[i];

		if (p->serial)
			FUZZ_CHECK(ccs_peer_find(agent, &p->ends) == p);
		n += p->serial != 0;
	}
	FUZZ_CHECK(n + agent->peers.nunused == CCS_SHM_PATHS);
	FUZZ_CHECK(agent->totals.cnps_accepted <= agent->totals.cnps_received);
}

void fuzz_messages(const uint8_t *bytes, size_t len)
{
	struct input in = { bytes, len };

	reset();
	for (unsigned i = 0; i < HOSTS; i++)
		add_flow(i);
	for (unsigned i = 0; in.left && i < STEPS; i++)
		switch (take_below(&in, 8)) {
		case 0: case 1:
			receive_raw(&in);
			break;
		case 2:
			mark(&in);
			break;
		case 3:
			pass_time(&in);
			break;
		default:
			receive_likely(&in);
		}
	check_peers();
	empty();
}

/* -- requests of local processes ----------------------------------------------------------- */

union request {
	uint32_t type;
	struct ccs_ipc_hello hello;
	struct ccs_ipc_add add;
	struct ccs_ipc_remove remove;
	struct ccs_ipc_cnp cnp;
	struct ccs_ipc_record record;
	uint64_t bytes[64];
};

static void make_likely(union request *m, struct input *in)
{
	const struct ccs_address local = address(1), peer = address(2 + take_below(in, HOSTS));

	m->type %= CCS_IPC_STATUS + 2;
	if (m->type == CCS_IPC_HELLO)
		m->hello.version = CCS_IPC_VERSION;
	if (m->type == CCS_IPC_RECORD)
		m->record.from_bits %= 130;
	if (m->type == CCS_IPC_REMOVE)
		m->remove.slot %= CLIENT_SLOTS;
	if (m->type == CCS_IPC_CNP) {
		m->cnp.local_qpn %= 8;
		memcpy(m->cnp.device, "a", 2);
	}
	if (m->type != CCS_IPC_ADD)
		return;
	m->add.slot %= CLIENT_SLOTS;
	m->add.local_qpn %= 8;
	m->add.peer_qpn %= 8;
	memcpy(m->add.device, "a", 2);
	memcpy(m->add.local_gid, local.b, 16);
	memcpy(m->add.peer_gid, peer.b, 16);
}

static void check_client(const struct ccs_client *c)
{
	uint32_t flows = 0;

	for (const struct ccs_agent_flow *f = c->first; f; f = f->next) {
		flows++;
		FUZZ_CHECK(f->client == c && c->shm);
		FUZZ_CHECK(ccs_agent_flow_find(agent, c, f->slot) == f);
	}
	FUZZ_CHECK(flows == c->flows);
}

void fuzz_requests(const uint8_t *bytes, size_t len)
{
	struct input in = { bytes, len };
	uint32_t flows = 0;

	reset();
	for (unsigned i = 0; in.left && i < STEPS; i++, fuzz_processed++) {
		struct ccs_client *c = &agent->client[take_below(&in, CLIENTS)];
		const bool likely = take_below(&in, 8);
		union request m;
		size_t n = take_below(&in, 200);

		take(&in, &m, n);
		memset((char *)&m + n, 0, sizeof(m) - n);
		if (likely)
			make_likely(&m, &in);
		ccs_ipc_handle(agent, c, &m, likely ? sizeof(m) : n, -1);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		check_client(&agent->client[i]);
		flows += agent->client[i].flows;
	}
	FUZZ_CHECK(flows == agent->flows.n);
	check_peers();
	empty();
}
