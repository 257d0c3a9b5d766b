/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/events.h"
#include "agent/host/core.h"
#include "agent/agent.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"
#include "input.h"
#include "sockets.h"

enum { CLIENTS = 4, SLOTS = 70, STEPS = 400 };

#define CHECK(x) do { if (!(x)) fail(#x, __LINE__); } while (0)

static void fail(const char *what, int line)
{
	fprintf(stderr, "tests/fuzz/agent.c:%d: not so: %s\n", line, what);
	abort();
}

/* -- the agent, and those around it ------------------------------------------------------ */

struct world {
	struct ccs_agent *agent;
	uint64_t now_ns;
	char socket[64];
	char sysfs[64];                  /* where lo's counter is */
	int counter;
	uint64_t bytes;                  /* that it shows, but when it starts over */
	int client[CLIENTS];             /* its connection, or -1 */
};

static struct world world;

/* Hours after an input all its effects have expired. A counter of ns lasts for only 584 years. */
#define HOUR_NS 3600000000000
#define LATEST_NS (1ull << 62)

static uint64_t now(void *arg)
{
	return ((struct world *)arg)->now_ns;
}

static struct ccs_address address(unsigned last)
{
	const uint8_t bytes[4] = { 127, 0, 0, (uint8_t)last };

	return ccs_address_of_v4(bytes);
}

static struct ccs_shm *shared;

/* Made once: regions are large, and their contents do not matter. */
static int page(void)
{
	static int fd = -1;
	struct ccs_shm *p;

	if (fd >= 0)
		return fd;
	fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(ftruncate(fd, sizeof(*p)) == 0);
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	p->magic = CCS_SHM_MAGIC;
	p->version = CCS_SHM_VERSION;
	p->slots = CCS_SHM_SLOTS;
	p->paths = CCS_SHM_PATHS;
	ccs_shm_touch(p, 0, sizeof(*p));
	shared = p;
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
	return fd;
}

/* One that the process could still cut. */
static int wrong_page(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("wrong", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

/* A descriptor to pass, or -1. */
static int some_page(struct input *in)
{
	const unsigned which = take_below(in, 16);

	return which == 0 ? wrong_page() : which == 1 ? -1 : page();
}

/* An interface by which data come in, as much of it as there is. */
static void make_sysfs(struct world *w)
{
	static const char *const parts[] = { "", "/class", "/class/net", "/class/net/lo",
		"/class/net/lo/statistics", "/class/net/lo/statistics/rx_bytes" };
	char path[128];

	snprintf(w->sysfs, sizeof(w->sysfs), "/tmp/ccshim-fuzz-%d.sys", (int)getpid());
	for (unsigned i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s%s", w->sysfs, parts[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s%s", w->sysfs, parts[5]);
	w->counter = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(w->counter >= 0);
}

static void remove_sysfs(const struct world *w)
{
	static const char *const parts[] = { "/class/net/lo/statistics/rx_bytes",
		"/class/net/lo/statistics", "/class/net/lo", "/class/net", "/class", "" };
	char path[128];

	close(w->counter);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s%s", w->sysfs, parts[i]);
		remove(path);
	}
}

static void count(const struct world *w, uint64_t bytes)
{
	char text[24];
	const int len = snprintf(text, sizeof(text), "%020llu", (unsigned long long)bytes);

	CHECK(pwrite(w->counter, text, (size_t)len, 0) == len);
}

static void open_world(struct world *w)
{
	static const struct ccs_agent_capacity capacity[] = { { "lo", 1e9 } };
	static const char *const own[] = { "127.0.0.1" }, *const switches[] = { "127.0.0.4" };
	struct ccs_agent_config config = ccs_agent_defaults();
	char err[512];

	/* One that no other test uses: its messages go to hosts that do not exist. */
	*w = (struct world){ .now_ns = 1000000000000 };
	snprintf(w->socket, sizeof(w->socket), "/tmp/ccshim-fuzz-%d", (int)getpid());
	memset(w->client, -1, sizeof(w->client));
	make_sysfs(w);
	count(w, 0);
	config.socket = w->socket;
	config.capture = false;
	config.addresses = own;
	config.naddresses = 1;
	config.now = now;
	config.now_arg = w;
	config.sysfs = w->sysfs;
	config.capacities = capacity;
	config.ncapacities = 1;
	config.switches = switches;
	config.nswitches = 1;
	for (unsigned port = 20000 + (unsigned)getpid() % 20000; !w->agent; port++) {
		config.port = (uint16_t)port;
		w->agent = ccs_agent_open(&config, err, sizeof(err));
		CHECK(w->agent || errno == EADDRINUSE);
	}
	w->agent->incarnation = 77;
	memset(w->agent->key, 0, sizeof(w->agent->key));
}

static void close_world(void)
{
	struct world *w = &world;
	char lock[sizeof(*w)];

	if (!w->agent)
		return;
	ccs_agent_close(w->agent);
	w->agent = NULL;
	remove_sysfs(w);
	snprintf(lock, sizeof(lock), "%s.lock", w->socket);
	unlink(lock);
}

/* -- what must hold ------------------------------------------------------------------------ */

static void check_client(const struct ccs_agent *a, const struct ccs_client *c)
{
	uint32_t flows = 0, paths = 0;

	for (struct ccs_agent_flow *const *at = &c->first; *at; at = &(*at)->next) {
		const struct ccs_agent_flow *f = *at;

		flows++;
		CHECK(f->at == at && f->client == c && c->shm && c->hello_done);
		CHECK(f->slot < CCS_SHM_SLOTS && ccs_agent_flow_find(a, c, f->slot) == f);
		CHECK(f->peer->serial && f->peer == &a->peers.peer[f->peer->index]);
	}
	CHECK(flows == c->flows);
	for (uint32_t i = 0; c->paths && i < CCS_SHM_PATHS; i++)
		paths += c->paths[i];
	CHECK(paths == flows);
}

/* Each subscriber of a port exists, once. */
static void check_port(const struct ccs_agent *a, const struct ccs_port *port)
{
	for (unsigned i = 0; i < port->nsubs; i++) {
		const struct ccs_peer *p = port->sub[i].peer;

		CHECK(p->serial && p == &a->peers.peer[p->index] && p->ingress == port);
		for (unsigned k = 0; k < i; k++)
			CHECK(port->sub[k].peer != p);
	}
	CHECK(port->ifindex || !port->nsubs);
}

static void check_agent(const struct ccs_agent *a)
{
	uint32_t flows = 0, peers_flows = 0, peers = 0, flowless = 0;
	unsigned clients = 0;

	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++) {
		if (a->client[i].source.fd < 0)
			continue;
		clients++;
		check_client(a, &a->client[i]);
		flows += a->client[i].flows;
	}
	for (uint32_t i = 0; i < a->peers.high; i++) {
		const struct ccs_peer *p = &a->peers.peer[i];

		if (!p->serial)
			continue;
		CHECK(ccs_peer_find(a, &p->ends) == p);
		peers++;
		peers_flows += p->flows;
		flowless += !p->flows;
	}
	for (unsigned i = 0; i < CCS_AGENT_PORTS; i++)
		check_port(a, &a->port[i]);
	CHECK(clients == a->nclients);
	CHECK(flows == a->flows.n && peers_flows == flows);
	CHECK(peers + a->peers.nunused == CCS_SHM_PATHS);
	CHECK(flowless == a->peers.flowless);
	CHECK(a->totals.cnps_accepted <= a->totals.cnps_received);
}

/* -- steps ----------------------------------------------------------------------------------- */

static struct ccs_ends take_ends(struct input *in)
{
	struct ccs_ends ends = { .local = address(1), .remote = address(2 + take_below(in, 3)) };

	ends.arrived = take_below(in, 8) ? 1 : 0;
	return ends;
}

static void arrive(struct world *w, const struct ccs_ends *ends, const void *data, size_t len)
{
	fuzz_datagram(ends, w->agent->config.port, data, len);
	ccs_agent_turn(w->agent, 0);
}

static void raw_message(struct world *w, struct input *in)
{
	uint8_t data[256];
	const size_t len = take_below(in, 256);
	struct ccs_ends ends;

	take(in, data, len);
	ends = take_ends(in);
	arrive(w, &ends, data, len);
}

/* Records that are not refused for what they are. */
static void possible(struct ccs_record *r, uint32_t *n)
{
	*n %= CCS_RECORDS + 1;
	for (unsigned i = 0; i < *n; i++) {
		r[i].link |= 1;
		r[i].capacity = 1 + r[i].capacity % CCS_RECORD_CAPACITY_MOST;
	}
}

/* All but right: the fields that decide whether it is believed are from few values. */
static void good_message(struct world *w, struct input *in)
{
	uint8_t data[CCS_WIRE_MAX];
	struct ccs_wire_message m;
	struct ccs_ends ends;
	bool heard, whole;
	size_t len;

	memset(&m, 0, sizeof(m));
	take(in, &m.header, sizeof(m.header));
	take(in, &m.hello, 96); /* the first bytes of any body */
	m.header.tenants = (uint8_t)take_below(in, 4);
	for (unsigned i = 0; i < m.header.tenants; i++)
		m.tenant[i] = (struct ccs_wire_tenant){ .tenant = take_below(in, 4), .weight = take_below(in, 256),
							.flows = take_below(in, 8),
							.advised = take_below(in, 4) * 1000000000ull };
	m.header.type = (uint8_t)(1 + take_below(in, 5));
	m.header.incarnation = (1 + take_below(in, 3)) * (1ull << 32);
	heard = take_below(in, 8);
	m.header.sequence = take_below(in, 128);
	if (m.header.type == CCS_WIRE_CNP)
		m.cnp.qpn %= 8;
	if (m.header.type == CCS_WIRE_HELLO_ACK && take_below(in, 4))
		m.hello_ack.of = w->agent->peers.peer[0].hello.awaited;
	if (m.header.type == CCS_WIRE_HELLO)
		m.hello.requested %= 8;
	if (m.header.type == CCS_WIRE_ECHO)
		possible(m.echo.record, &m.echo.n);
	if (m.header.type == CCS_WIRE_RECORDS) {
		m.records.bits %= 129;
		possible(m.records.record, &m.records.n);
	}
	whole = take_below(in, 16);
	ends = take_ends(in);
	m.header.echo = heard ? ccs_agent_incarnation(w->agent, &ends) : 0;
	len = ccs_wire_encode(&m, data);
	arrive(w, &ends, data, whole ? len : len - len % 7);
}

/* Each is another user's. */
static void connect_or_disconnect(struct world *w, struct input *in)
{
	const unsigned i = take_below(in, CLIENTS);

	if (w->client[i] < 0) {
		w->client[i] = (int)fuzz_connect(i);
	} else {
		fuzz_disconnect((unsigned)w->client[i]);
		w->client[i] = -1;
	}
}

static void raw_request(struct input *in, unsigned connection)
{
	uint8_t data[256];
	const size_t len = take_below(in, 256);

	take(in, data, len);
	fuzz_send(connection, data, len, take_below(in, 4) ? -1 : some_page(in));
}

static void good_request(struct input *in, unsigned connection)
{
	union {
		uint32_t type;
		struct ccs_ipc_hello hello;
		struct ccs_ipc_add add;
		struct ccs_ipc_remove remove;
		struct ccs_ipc_cnp cnp;
		struct ccs_ipc_record record;
	} m = { 0 };
	const struct ccs_address local = address(1), peer = address(2 + take_below(in, 3));
	static const uint32_t types[] = { CCS_IPC_HELLO, CCS_IPC_ADD, CCS_IPC_ADD,
		CCS_IPC_ADD, CCS_IPC_REMOVE, CCS_IPC_CNP, CCS_IPC_RECORD, CCS_IPC_STATUS };

	m.type = types[take_below(in, sizeof(types) / sizeof(*types))];
	switch (m.type) {
	case CCS_IPC_HELLO:
		m.hello.version = CCS_IPC_VERSION;
		break;
	case CCS_IPC_ADD:
		m.add.slot = take_below(in, SLOTS);
		if (shared) {
			shared->slot[m.add.slot].requested = CCS_PEER_TELEMETRY;
			shared->slot[m.add.slot].period_us = take_below(in, 4) * 1000;
			shared->slot[m.add.slot].sent++;
		}
		m.add.device[0] = (char)('a' + take_below(in, 2));
		m.add.local_qpn = take_below(in, 8);
		m.add.peer_qpn = take_below(in, 8);
		memcpy(m.add.local_gid, &local, sizeof(local));
		memcpy(m.add.peer_gid, &peer, sizeof(peer));
		break;
	case CCS_IPC_REMOVE:
		m.remove.slot = take_below(in, SLOTS);
		break;
	case CCS_IPC_CNP:
		m.cnp.device[0] = (char)('a' + take_below(in, 2));
		m.cnp.local_qpn = take_below(in, 8);
		m.cnp.count = take_below(in, 3);
		break;
	case CCS_IPC_RECORD:
		take(in, &m.record, sizeof(m.record));
		m.type = CCS_IPC_RECORD;
		m.record.from_bits %= 130;
	}
	fuzz_send(connection, &m, sizeof(m), m.type == CCS_IPC_HELLO ? some_page(in) : -1);
}

static void request(struct world *w, struct input *in, void (*what)(struct input *, unsigned))
{
	const unsigned i = take_below(in, CLIENTS);

	if (w->client[i] >= 0)
		what(in, (unsigned)w->client[i]);
}

static void mark(struct world *w, struct input *in)
{
	const struct ccs_ends ends = {
		.local = address(1), .remote = address(2 + take_below(in, 3)),
	};

	const unsigned which = take_below(in, 16);

	/* A WRITE, or an answer to a READ. */
	ccs_np_mark(w->agent, &ends, which & 8 ? 0x0e : 0x07, which & 7);
	ccs_udp_flush(w->agent);
}

static void step(struct world *w, struct input *in)
{
	switch (take_below(in, 8)) {
	case 0:
		raw_message(w, in);
		break;
	case 1: case 2:
		good_message(w, in);
		break;
	case 3:
		request(w, in, raw_request);
		break;
	case 4: case 5:
		request(w, in, good_request);
		break;
	case 6:
		connect_or_disconnect(w, in);
		break;
	case 7:
		mark(w, in);
		w->now_ns += (uint64_t)take_below(in, 256) * take_below(in, 256) * 100000;
		w->bytes += take_below(in, 256) * 10000;
		count(w, take_below(in, 16) ? w->bytes : 0);
	}
	ccs_agent_turn(w->agent, 0);
}

static void begin(struct world *w)
{
	if (w->agent && w->now_ns > LATEST_NS)
		close_world();
	if (!w->agent) {
		static bool registered;

		open_world(w);
		if (!registered)
			atexit(close_world);
		registered = true;
	}
	w->bytes = 0;
	count(w, 0);
	memset(&w->agent->totals, 0, sizeof(w->agent->totals));
}

/* The agent has no more objects than at the start. */
static void end(struct world *w)
{
	const struct ccs_agent *a = w->agent;

	for (unsigned i = 0; i < CLIENTS; i++)
		if (w->client[i] >= 0)
			fuzz_disconnect((unsigned)w->client[i]);
	memset(w->client, -1, sizeof(w->client));
	ccs_agent_turn(w->agent, 0); /* accepts */
	ccs_agent_turn(w->agent, 0);
	check_agent(a);
	CHECK(!a->nclients && !a->flows.n && !a->counters.ports && !fuzz_descriptors());
	for (int i = 0; i < 2; i++) { /* flows that have ended are counted before peers are evicted */
		w->now_ns += HOUR_NS;
		ccs_agent_turn(w->agent, 0);
	}
	CHECK(!a->peers.high && a->peers.nunused == CCS_SHM_PATHS);
	for (unsigned i = 0; i < CCS_AGENT_PORTS; i++)
		CHECK(!a->port[i].nsubs);
}

void fuzz_agent(const uint8_t *bytes, size_t len)
{
	struct input in = { bytes, len };

	begin(&world);
	for (unsigned i = 1; i <= STEPS && in.left; i++) {
		step(&world, &in);
		if (i % 16 == 0)
			check_agent(world.agent);
	}
	end(&world);
}
