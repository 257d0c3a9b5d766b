/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An explicit-state search of the agents' handshake: HELLO, HELLO_ACK, CNP and ADVICE. Its
 * transition function is the agents' own code (libshim/agent/net), of which only the sockets are
 * replaced. Two honest agents share a key. The attacker has the network and not the key: it records
 * each message and delivers it once, never, late, repeatedly and in any order, also to its sender.
 * Agents restart, with a later incarnation or within the same 4.3 s; the time jumps.
 *
 * RP has a flow towards NP; NP has one towards RP, except in its last incarnation in one of the
 * searches, in which it only receives. Checked in each state:
 *  - a CNP or ADVICE counts at most once, only at the incarnation of RP that it was sent to, and
 *    only from the newest incarnation of NP from which RP has accepted anything;
 *  - a message that is not authenticated with the key changes nothing but a counter;
 *  - when the attacker stops, RP gets a lease again, and CNPs count.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "test.h"

#include "agent/events.h"
#include "agent/host/core.h"
#include "agent/host/siphash.h"
#include "agent/net/net.h"
#include "agent/telemetry/telemetry.h"

enum { RP, NP, HOSTS, POOL = 24, QPN = 7, VISITED = 1 << 23,
       MESSAGE = CCS_WIRE_HEADER + 48 + CCS_WIRE_TAG };

struct message {
	uint8_t from, type, counted;
	uint8_t answered;                /* by this incarnation, as an unverified HELLO */
	uint8_t of[HOSTS];               /* the incarnations of both when it was sent, from 1 */
	uint16_t len;
	uint64_t hash;                   /* of all but what changes */
	uint8_t data[MESSAGE];
};

/* What changes besides the agents. */
struct state {
	uint64_t now_ns;
	uint8_t incarnation[HOSTS], restarts, pauses, slowing;
	uint8_t newest;                  /* incarnation of NP that RP has accepted a message of */
	unsigned np_flows;               /* NP has a flow in incarnations before this one */
	unsigned npool;
	struct message pool[POOL];
};

/* All that changes, without pointers, so that it can be restored. */
struct saved {
	struct state state;
	struct ccs_agent agent[HOSTS];
	struct ccs_peer peer[HOSTS];     /* the first entry of the table, the only one */
};

static const uint64_t key[2] = { 0x1234, 0x5678 };
static struct ccs_agent *agent[HOSTS];
static struct ccs_shm *region;
static int region_fd;
static struct state now;
static bool pool_full;
static const char *violation;

/* -- the agents without sockets -------------------------------------------------------- */

static uint64_t model_time(void *arg)
{
	(void)arg;
	return now.now_ns;
}

static int select_key(void *arg, const struct ccs_address *peer)
{
	(void)arg;
	(void)peer;
	return 0;
}

static void tag(void *arg, const struct ccs_address *peer, uint8_t id, const void *message,
		size_t len, uint8_t t[CCS_WIRE_TAG])
{
	uint64_t word[(MESSAGE + 7) / 8] = { 0 }, hash;

	(void)arg;
	(void)peer;
	(void)id;
	memcpy(word, message, len);
	hash = ccs_siphash(key, word, (len + 7) / 8);
	memset(t, 0, CCS_WIRE_TAG);
	memcpy(t, &hash, sizeof(hash));
}

static bool check_tag(void *arg, const struct ccs_address *peer, uint8_t id, const void *message,
		      size_t len, const uint8_t t[CCS_WIRE_TAG])
{
	uint8_t right[CCS_WIRE_TAG];

	if (len > MESSAGE)
		return false;
	tag(arg, peer, id, message, len, right);
	return memcmp(right, t, sizeof(right)) == 0;
}

static const struct ccs_agent_auth auth = { NULL, select_key, tag, check_tag };

static struct ccs_ends ends_of(unsigned host)
{
	const struct ccs_address a[HOSTS] = { ccs_address_of_v4("\1\0\0\1"),
					      ccs_address_of_v4("\1\0\0\2") };

	return (struct ccs_ends){ .local = a[host], .remote = a[!host] };
}

static uint64_t hash_bytes(const void *data, size_t len, uint64_t hash)
{
	const uint8_t *p = data;
	uint64_t word = 0;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, p, len);
	return ccs_mix(hash ^ word);
}

/* The search sends many HELLOs at one time, in different histories. */
bool __wrap_ccs_hello_limit_claim(struct ccs_agent *a, const struct ccs_address *remote);
bool __wrap_ccs_hello_limit_claim(struct ccs_agent *a, const struct ccs_address *remote)
{
	(void)a;
	(void)remote;
	return true;
}

/* Replaces the function of udp.c: the linker wraps it. */
void __wrap_ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends,
			 struct ccs_wire_message *m);
void __wrap_ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends,
			 struct ccs_wire_message *m)
{
	uint8_t data[CCS_WIRE_MAX + CCS_WIRE_TAG];
	struct message *to = &now.pool[now.npool];
	size_t len = ccs_wire_encode(m, data);

	if (now.npool == POOL) {
		pool_full = true;
		return;
	}
	tag(NULL, &ends->remote, 0, data, len, data + len);
	len += CCS_WIRE_TAG;
	assert_true(len <= MESSAGE);
	now.npool++;
	*to = (struct message){
		.from = a == agent[NP], .type = m->header.type, .len = (uint16_t)len,
		.of = { now.incarnation[RP], now.incarnation[NP] },
	};
	memcpy(to->data, data, len);
	to->hash = hash_bytes(to, sizeof(*to), 2);
}

static struct ccs_peer *peer_of(unsigned host)
{
	return &agent[host]->peers.peer[0];
}

static void open_agent(unsigned host)
{
	struct ccs_agent *a = calloc(1, sizeof(*a));
	char err[64];

	a->config = ccs_agent_defaults();
	a->config.now = model_time;
	a->config.auth = &auth;
	a->epoll = a->stop.fd = a->netlink.fd = -1;
	a->listener.source.fd = a->refused.fd = -1;
	a->client = calloc(CCS_AGENT_CLIENTS, sizeof(*a->client));
	a->user = calloc(CCS_AGENT_USERS, sizeof(*a->user));
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		a->client[i].source.fd = -1;
	assert_int_equal(ccs_peers_open(a, ccs_subscribers_remove_peer), 0);
	assert_int_equal(ccs_index_init(&a->flows.by_peer, 16, 1), 0);
	assert_int_equal(ccs_index_init(&a->flows.by_qp, 16, 1), 0);
	assert_int_equal(ccs_index_init(&a->flows.by_reader, 16, 1), 0);
	assert_int_equal(ccs_index_init(&a->flows.by_slot, 16, 1), 0);
	assert_int_equal(ccs_ports_open(a, err, sizeof(err)), 0);
	assert_int_equal(ccs_relay_open(a, err, sizeof(err)), 0);
	agent[host] = a;
}

/* RP's flow, which its agent gets from a client after each start: the object stays the same. */
static void add_flow(struct ccs_client *c)
{
	const struct ccs_ends ends = ends_of(RP);
	struct ccs_ipc_add m = { .device = "m", .port = 1, .local_qpn = QPN, .peer_qpn = QPN };

	memcpy(m.local_gid, ends.local.b, 16);
	memcpy(m.peer_gid, ends.remote.b, 16);
	*c = (struct ccs_client){
		.source.fd = -1, .user = agent[RP]->user, .hello_done = true, .shm = region,
		.shm_fd = region_fd,
	};
	c->paths = calloc(CCS_SHM_PATHS, sizeof(*c->paths));
	assert_int_equal(ccs_agent_flow_add(agent[RP], c, &m), 0);
}

static bool wants(unsigned host)
{
	return host == RP || now.incarnation[NP] < now.np_flows;
}

/* An agent that starts has a later incarnation, other secrets, and no peers. */
static void restart(unsigned host)
{
	const struct ccs_ends ends = ends_of(host);
	struct ccs_agent *a = agent[host];
	struct ccs_peer *p = peer_of(host);

	p->flows = 0;
	p->lease_ns = 0;
	if (p->serial)
		ccs_peers_tick(a, now.now_ns);
	assert_int_equal(p->serial, 0);
	now.incarnation[host]++;
	a->incarnation = 1700000000000000000 + now.now_ns;
	a->key[0] = now.incarnation[host];
	a->key[1] = host;
	a->peers.serial = 0;             /* flows are found by it */
	if (!wants(host))
		return;
	p = ccs_peer_get(a, &ends);
	p->flows = 1;
	ccs_send_hello(a, p);
}

static void close_agent(unsigned host)
{
	free(agent[host]->client[0].first);
	free(agent[host]->client[0].paths);
	ccs_agent_close(agent[host]);
}

static void save(struct saved *s)
{
	s->state = now;
	for (unsigned i = 0; i < HOSTS; i++) {
		s->agent[i] = *agent[i];
		s->peer[i] = *peer_of(i);
	}
}

static void restore(const struct saved *s)
{
	now = s->state;
	for (unsigned i = 0; i < HOSTS; i++) {
		struct ccs_index *x = &agent[i]->peers.index;

		if (peer_of(i)->serial)
			x->bucket[peer_of(i)->link.hash & x->mask] = NULL;
		*agent[i] = s->agent[i];
		*peer_of(i) = s->peer[i];
		if (peer_of(i)->serial)
			x->bucket[peer_of(i)->link.hash & x->mask] = &peer_of(i)->link;
	}
}

/* -- what may happen, and what must not ------------------------------------------------- */

static uint64_t counted_by(const struct ccs_agent *a)
{
	return a->totals.cnps_accepted + a->totals.echoes_received;
}

static uint64_t refused_by(const struct ccs_agent *a)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CCS_REFUSALS; i++)
		sum += a->totals.refused[i];
	return sum;
}

/* Whether the message has the receiver's echo: other HELLOs change nothing. */
static bool is_verified(unsigned host, const struct message *m)
{
	const struct ccs_ends ends = ends_of(host);
	struct ccs_wire_message decoded;

	return ccs_wire_decode(m->data, m->len, &decoded) == CCS_WIRE_OK &&
	       decoded.header.echo == ccs_agent_incarnation(agent[host], &ends);
}

static void check_counted(struct message *m)
{
	if (m->counted++)
		violation = "it counts twice";
	else if (m->of[RP] != now.incarnation[RP])
		violation = "it counts at a later incarnation of its receiver";
	else if (m->of[NP] < now.newest)
		violation = "it counts although a later incarnation of its sender is known";
}

static void deliver(unsigned host, unsigned i)
{
	struct message m = now.pool[i];
	struct ccs_agent *a = agent[host];
	const struct ccs_ends ends = ends_of(host);
	const uint64_t counted = counted_by(a), refused = refused_by(a);
	const bool verified = is_verified(host, &m);

	ccs_receive_message(a, &ends, m.data, m.len);
	if (host != RP || m.from != NP)
		return;
	if (counted_by(a) != counted)
		check_counted(&now.pool[i]);
	if (verified && refused_by(a) == refused && m.of[NP] > now.newest)
		now.newest = m.of[NP];
}

static void let_pass(uint64_t ns)
{
	now.now_ns += ns;
	for (unsigned i = 0; i < HOSTS; i++)
		ccs_peers_tick(agent[i], now.now_ns);
}

static bool is_leased(void)
{
	return peer_of(NP)->serial && ccs_peer_leased(peer_of(NP), now.now_ns);
}

/* NP slows RP's flow, alternately by a CNP and by an advised rate. */
static void slow(void)
{
	struct ccs_wire_message advice = {
		.header.type = CCS_WIRE_ADVICE, .advice = { 1000000, 1 },
	};

	if (now.slowing++ % 2 == 0)
		ccs_send_cnp(agent[NP], peer_of(NP), QPN, 1);
	else
		ccs_send_telemetry(agent[NP], peer_of(NP), &advice, &(struct ccs_tenant_list){ 0 });
}

/* A HELLO without the right echo gets an answer each time: one by each incarnation is enough. */
static bool is_answered(unsigned host, struct message *m)
{
	const uint8_t by = m->answered;

	if (m->type != CCS_WIRE_HELLO || is_verified(host, m))
		return false;
	m->answered = now.incarnation[host];
	return m->answered == by;
}

struct bounds {
	unsigned np_flows, depth, restarts, pauses, slowing;
};

enum { RESTART = 0, PAUSE = 2, SLOW = 5, DELIVER = 6, ACTIONS = DELIVER + POOL };

static bool is_possible(unsigned action, const struct bounds *b)
{
	const unsigned i = action - DELIVER;

	if (action < PAUSE)
		return now.restarts < b->restarts;
	if (action < SLOW)
		return now.pauses < b->pauses;
	if (action == SLOW)
		return now.slowing < b->slowing && is_leased();
	return i < now.npool && !is_answered(!now.pool[i].from, &now.pool[i]);
}

/* Perform a possible action; false if it leads beyond the bounds. */
static bool act(unsigned action)
{
	static const uint64_t pause_ns[] = { 110000000, 1100000000, 5000000000 };

	pool_full = false;
	if (action < PAUSE) {
		now.restarts++;
		restart(action - RESTART);
	} else if (action < SLOW) {
		now.pauses++;
		let_pass(pause_ns[action - PAUSE]);
	} else if (action == SLOW) {
		slow();
	} else {
		deliver(!now.pool[action - DELIVER].from, action - DELIVER);
	}
	return !pool_full;
}

/* -- the search ------------------------------------------------------------------------- */

/* Of what later transitions depend on; the order of the recorded messages does not matter. */
static uint64_t hash_state(void)
{
	const uint64_t rest[] = {
		now.now_ns, now.incarnation[RP], now.incarnation[NP], now.restarts, now.pauses,
		now.slowing, now.newest, agent[RP]->incarnation, agent[NP]->incarnation,
	};
	uint64_t sum = 0;

	for (unsigned i = 0; i < HOSTS; i++) {
		struct ccs_peer p = *peer_of(i);

		if (!p.serial)
			continue;
		memset(&p.link, 0, sizeof(p.link));
		p.cnps_received = p.cnps_sent = 0;
		sum += hash_bytes(&p, sizeof(p), i);
	}
	for (unsigned i = 0; i < now.npool; i++) {
		const struct message *m = &now.pool[i];

		sum += ccs_mix(m->hash ^ m->counted ^ m->answered * 256u);
	}
	return hash_bytes(rest, sizeof(rest), sum);
}

static struct {
	uint64_t *hash;
	uint8_t *depth;                  /* that was left when it was visited */
	unsigned n;
} visited;

/* Whether the state was visited with as many steps left. */
static bool is_visited(uint64_t hash, unsigned left)
{
	for (unsigned i = hash % VISITED;; i = (i + 1) % VISITED) {
		if (visited.hash[i] == hash && visited.depth[i] >= left)
			return true;
		if (visited.hash[i] && visited.hash[i] != hash)
			continue;
		visited.n += !visited.hash[i];
		visited.hash[i] = hash;
		visited.depth[i] = (uint8_t)left;
		assert_true(visited.n < VISITED / 2);
		return false;
	}
}

/* Without the attacker, each message arrives once and in order; what was sent before is lost. */
static void run_honestly(unsigned seconds)
{
	while (seconds--) {
		now.npool = 0;
		let_pass(1000000000);
		for (unsigned i = 0; i < now.npool; i++)
			deliver(!now.pool[i].from, i);
	}
}

/* HELLOs are repeated each 8 s at least. */
static void check_recovery(void)
{
	uint64_t counted;

	run_honestly(10);
	if (!is_leased()) {
		violation = "no lease after the attacker has stopped";
		return;
	}
	counted = counted_by(agent[RP]);
	now.npool = 0;
	now.slowing = 0;
	slow();
	deliver(RP, 0);
	if (counted_by(agent[RP]) == counted && !violation)
		violation = "no CNP counts after the attacker has stopped";
}

/* The best that the attacker can write himself: a CNP with the right numbers, without the key. */
static void check_forgery(void)
{
	const struct ccs_ends ends = ends_of(RP), other = ends_of(NP);
	const uint64_t before = hash_state();
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_CNP, .sequence = UINT64_MAX,
			    .incarnation = ccs_agent_incarnation(agent[NP], &other),
			    .echo = ccs_agent_incarnation(agent[RP], &ends) },
		.cnp = { .qpn = QPN, .marked = 1 },
	};
	uint8_t data[CCS_WIRE_MAX + CCS_WIRE_TAG] = { 0 };
	const uint64_t counted = counted_by(agent[RP]);
	const size_t len = ccs_wire_encode(&m, data);

	ccs_receive_message(agent[RP], &ends, data, len);
	ccs_receive_message(agent[RP], &ends, data, len + CCS_WIRE_TAG);
	if (hash_state() != before || counted_by(agent[RP]) != counted)
		violation = "a forged CNP has an effect";
}

/* What one host sent to the other may at most be answered as if its sender were not known. */
static void check_reflection(void)
{
	const unsigned n = now.npool;

	for (unsigned i = 0; i < n; i++) {
		struct ccs_peer *p = peer_of(now.pool[i].from), before = *p;

		deliver(now.pool[i].from, i);
		before.sequence = p->sequence;
		if (memcmp(p, &before, sizeof(before)) != 0)
			violation = "a message has an effect at its sender";
		now.npool = n;
	}
}

static void print_action(unsigned action)
{
	static const char *const name[] = { "RP restarts", "NP restarts", "0.11 s pass", "1.1 s pass",
					    "5 s pass", "NP sends a CNP, or advises a rate" };
	static const char *const type[] = { "", "HELLO", "HELLO_ACK", "CNP", "ECHO", "RECORDS",
					    "ADVICE" };
	const unsigned i = action - DELIVER;

	if (action < DELIVER)
		print_message("# %s\n", name[action]);
	else
		print_message("# message %u arrives at %s: %s of incarnation %u\n", i,
			      now.pool[i].from == RP ? "NP" : "RP",
			      type[now.pool[i].type], now.pool[i].of[now.pool[i].from]);
}

/* As before that was fixed: an incarnation counts without an answer of it. */
static bool without_proof;

static bool explore(const struct bounds *b, unsigned left)
{
	struct saved *s = malloc(sizeof(*s));

	save(s);
	if (hash_state() % 32 == 0) {
		check_forgery();
		check_reflection();
		restore(s);
		check_recovery();
		restore(s);
	}
	for (unsigned action = 0; !violation && left && action < ACTIONS; action++) {
		if (without_proof)
			peer_of(RP)->proven = peer_of(RP)->incarnation;
		if (!is_possible(action, b))
			continue;
		if (act(action) && !violation && !is_visited(hash_state(), left - 1))
			explore(b, left - 1);
		restore(s);
		if (violation)
			print_action(action);
	}
	free(s);
	return !violation;
}

/* Whether the properties hold in all states within the bounds; else prints the way, last step
 * first. */
static bool search(const struct bounds *b)
{
	region_fd = memfd_create("model", MFD_CLOEXEC);
	assert_int_equal(ftruncate(region_fd, sizeof(*region)), 0);
	region = mmap(NULL, sizeof(*region), PROT_READ | PROT_WRITE, MAP_SHARED, region_fd, 0);
	assert_ptr_not_equal(region, MAP_FAILED);
	ccs_shm_touch(region, 0, sizeof(*region));
	visited.hash = calloc(VISITED, sizeof(*visited.hash));
	visited.depth = calloc(VISITED, sizeof(*visited.depth));
	visited.n = 0;
	violation = NULL;
	now = (struct state){ .now_ns = 1000000000000, .np_flows = b->np_flows };
	for (unsigned i = 0; i < HOSTS; i++)
		open_agent(i);
	now.incarnation[RP] = 1;
	agent[RP]->key[0] = 1;
	add_flow(&agent[RP]->client[0]);
	restart(NP);
	for (unsigned i = 0; i < now.npool; i++)
		deliver(!now.pool[i].from, i);
	assert_true(is_leased() && !refused_by(agent[RP]) && !refused_by(agent[NP]));
	explore(b, b->depth);
	if (violation)
		print_message("# violated: %s\n", violation);
	print_message("# %u states\n", visited.n);
	for (unsigned i = 0; i < HOSTS; i++)
		close_agent(i);
	free(visited.hash);
	free(visited.depth);
	munmap(region, sizeof(*region));
	close(region_fd);
	return !violation;
}

/* Sanitizers are slower, and TSan finds nothing in one thread. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { FEWER_STEPS = 4 };
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { FEWER_STEPS = 3 };
#else
enum { FEWER_STEPS = 0 };
#endif

/*
 * 9 steps after a first handshake are as many as the two attacks took that were possible once: a
 * recorded HELLO made CNPs of an earlier incarnation count. CCS_DEPTH adds steps.
 */
TEST(nothing_counts_twice_or_late_and_a_lease_returns)
{
	static const struct bounds all[] = {
		{ .np_flows = 3, .depth = 9, .restarts = 1, .pauses = 1, .slowing = 1 },
		{ .np_flows = 2, .depth = 8, .restarts = 1, .pauses = 1, .slowing = 1 },
		{ .np_flows = 3, .depth = 6, .restarts = 2, .pauses = 2, .slowing = 2 },
	};
	const char *more = getenv("CCS_DEPTH");

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct bounds b = all[i];

		b.depth += (more ? (unsigned)atoi(more) : 0) - FEWER_STEPS;
		assert_true(search(&b));
	}
}

TEST(the_search_finds_what_counts_without_proof)
{
	const struct bounds b = {
		.np_flows = 3, .depth = 9, .restarts = 1, .pauses = 1, .slowing = 1,
	};

	if (FEWER_STEPS > 2)
		skip();
	without_proof = true;
	assert_false(search(&b));
	without_proof = false;
}
