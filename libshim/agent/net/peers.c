/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/net/net.h"

#include "agent/host/core.h"

enum { BUCKETS = 4096, WINDOW = 64 };

int ccs_peers_open(struct ccs_agent *a,
		   void (*evicted)(struct ccs_agent *a, struct ccs_peer *p))
{
	struct ccs_peers *ps = &a->peers;

	ps->evicted = evicted;
	ps->hello_due_ns = UINT64_MAX;
	ps->peer = calloc(CCS_SHM_PATHS, sizeof(*ps->peer));
	ps->unused = calloc(CCS_SHM_PATHS, sizeof(*ps->unused));
	if (!ps->peer || !ps->unused || ccs_index_init(&ps->index, BUCKETS, a->salt))
		return -1;
	while (ps->nunused < CCS_SHM_PATHS) {
		ps->unused[ps->nunused] = CCS_SHM_PATHS - 1 - ps->nunused;
		ps->nunused++;
	}
	return 0;
}

void ccs_peers_close(struct ccs_agent *a)
{
	free(a->peers.index.bucket);
	free(a->peers.peer);
	free(a->peers.unused);
}

static uint64_t hash_of(const struct ccs_peers *ps, const struct ccs_ends *ends)
{
	uint64_t w[4], hash = ps->index.salt;

	memcpy(w, &ends->local, sizeof(ends->local));
	memcpy(w + 2, &ends->remote, sizeof(ends->remote));
	for (unsigned i = 0; i < 4; i++)
		hash = ccs_mix(hash ^ w[i]);
	return hash;
}

struct ccs_peer *ccs_peer_find(const struct ccs_agent *a, const struct ccs_ends *ends)
{
	const uint64_t hash = hash_of(&a->peers, ends);
	struct ccs_hash_node *l = NULL;

	while ((l = ccs_index_next(&a->peers.index, l, hash))) {
		struct ccs_peer *p = (struct ccs_peer *)l;

		if (ccs_address_equal(&p->ends.local, &ends->local) &&
		    ccs_address_equal(&p->ends.remote, &ends->remote))
			return p;
	}
	return NULL;
}

bool ccs_peer_wanted(const struct ccs_peer *p, uint64_t now_ns)
{
	return p->flows || now_ns < p->relay.until_ns;
}

bool ccs_peer_leased(const struct ccs_peer *p, uint64_t now_ns)
{
	return now_ns < p->lease_ns;
}

/* Networks whose hashes are equal count as one. The hash is salted, so this is chance. */
static uint32_t network_of(const struct ccs_agent *a, const struct ccs_address *remote)
{
	return (uint32_t)(ccs_address_hash(remote, ccs_address_network_bits(remote), a->salt) %
			  CCS_AGENT_NETWORKS);
}

void ccs_peer_set_flowless(struct ccs_agent *a, const struct ccs_peer *p, bool is_flowless)
{
	uint16_t *of_network = &a->peers.network_flowless[p->network];

	*of_network = (uint16_t)(*of_network + (is_flowless ? 1 : -1));
	a->peers.flowless += is_flowless ? 1u : -1u;
}

static void evict(struct ccs_agent *a, struct ccs_peer *p)
{
	struct ccs_peers *ps = &a->peers;

	ps->evicted(a, p);
	ccs_peer_set_flowless(a, p, false);
	ccs_index_remove(&p->link);
	ps->unused[ps->nunused++] = p->index;
	if (p->inbound.path)
		ps->unused[ps->nunused++] = p->inbound.path - 1;
	p->serial = 0;
	while (ps->high && !ps->peer[ps->high - 1].serial)
		ps->high--;
}

/* No flow sends to the peer or READs from it, and the last HELLO about it was sent. */
static bool is_unneeded(const struct ccs_peer *p, uint64_t now_ns)
{
	return !p->hello.pending && !p->inbound.request.active && !p->inbound.reported && !ccs_peer_wanted(p, now_ns);
}

/* Evict the peers that do not serve this host and are not served by it. */
static void evict_unused(struct ccs_agent *a, uint64_t now_ns)
{
	struct ccs_peers *ps = &a->peers;

	for (uint32_t i = ps->high; i-- > 0;) {
		struct ccs_peer *p = &ps->peer[i];

		if (p->serial && is_unneeded(p, now_ns) && !ccs_peer_leased(p, now_ns))
			evict(a, p);
	}
}

uint32_t ccs_peer_record(struct ccs_agent *a)
{
	struct ccs_peers *ps = &a->peers;

	return ps->nunused ? 1 + ps->unused[--ps->nunused] : 0;
}

/* Sequence numbers start at the time, so that they continue to rise if an evicted peer returns. */
struct ccs_peer *ccs_peer_get(struct ccs_agent *a, const struct ccs_ends *ends)
{
	struct ccs_peer *p = ccs_peer_find(a, ends);
	struct ccs_peers *ps = &a->peers;
	const uint64_t now_ns = ccs_agent_now(a);

	if (p)
		return p;
	if (!ps->nunused)
		evict_unused(a, now_ns);
	if (!ps->nunused) {
		ccs_agent_warn(a, CCS_AGENT_WARN_PEERS,
			      "more than %d peers: flows to further ones get no feedback",
			      CCS_SHM_PATHS);
		return NULL;
	}
	p = &ps->peer[ps->unused[--ps->nunused]];
	*p = (struct ccs_peer){
		.ends = *ends, .serial = ++ps->serial, .sequence = now_ns,
		.index = (uint32_t)(p - ps->peer), .network = network_of(a, &ends->remote),
		.asked_ns = now_ns,
	};
	ccs_peer_set_flowless(a, p, true);
	if (ps->high <= p->index)
		ps->high = p->index + 1;
	ccs_index_add(&ps->index, &p->link, hash_of(ps, ends));
	return p;
}

/* In the network with most hosts that only send, the host whose last message is oldest. NULL if no
 * host only sends, or the network of the new host would then have more. */
static struct ccs_peer *find_displaced(struct ccs_agent *a, uint32_t newcomer)
{
	const uint16_t *n = a->peers.network_flowless;
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_peer *oldest = NULL;
	uint32_t largest = 0;

	for (uint32_t i = 1; i < CCS_AGENT_NETWORKS; i++)
		if (n[i] > n[largest])
			largest = i;
	if (n[newcomer] + 1 >= n[largest])
		return NULL;
	for (struct ccs_peer *p = a->peers.peer; p < a->peers.peer + a->peers.high; p++)
		if (p->serial && p->network == largest && is_unneeded(p, now_ns) &&
		    (!oldest || p->asked_ns < oldest->asked_ns))
			oldest = p;
	return oldest;
}

struct ccs_peer *ccs_peer_get_flowless(struct ccs_agent *a, const struct ccs_ends *ends)
{
	struct ccs_peer *p = ccs_peer_find(a, ends), *displaced;

	if (p || a->peers.flowless < CCS_AGENT_FLOWLESS)
		return p ? p : ccs_peer_get(a, ends);
	ccs_agent_warn(a, CCS_AGENT_WARN_PEERS,
		       "more than %d hosts send to this one and get no traffic from it: "
		       "some get no feedback", CCS_AGENT_FLOWLESS);
	displaced = find_displaced(a, network_of(a, &ends->remote));
	if (!displaced)
		return NULL;
	evict(a, displaced);
	return ccs_peer_get(a, ends);
}

bool ccs_peers_used_up(const struct ccs_agent *a, uid_t uid)
{
	const struct ccs_peers *ps = &a->peers;
	unsigned n = 0;

	for (uint32_t i = 0; i < ps->high; i++)
		n += ps->peer[i].serial && ps->peer[i].flows && ps->peer[i].uid == uid;
	return n >= CCS_AGENT_PEERS_PER_UID;
}

uint64_t ccs_peer_clock(const struct ccs_peer *p, uint64_t now_ns)
{
	const int64_t since = (int64_t)(now_ns - p->clock.at_ns);
	const int64_t drift = (since < 0 ? -since : since) >> 13;

	return p->clock.ns && now_ns ? p->clock.ns + (uint64_t)(since - drift) : 0;
}

void ccs_peer_update_clock(struct ccs_peer *p, uint64_t clock_ns, uint64_t now_ns)
{
	if (clock_ns && clock_ns <= ccs_peer_clock(p, now_ns))
		return;
	p->clock.ns = clock_ns;
	p->clock.at_ns = now_ns;
}

void ccs_peer_adopt(struct ccs_peer *p, uint64_t incarnation, uint64_t sequence)
{
	p->incarnation = incarnation;
	p->received.highest = sequence;
	p->received.mask = UINT64_MAX;
	p->telemetry_sequence = p->clock.ns = 0;
}

bool ccs_peer_fresh(struct ccs_peer *p, uint64_t sequence)
{
	uint64_t behind;

	if (sequence > p->received.highest) {
		const uint64_t ahead = sequence - p->received.highest;

		p->received.mask = ahead < WINDOW ? p->received.mask << ahead : 0;
		p->received.mask |= 1;
		p->received.highest = sequence;
		return true;
	}
	behind = p->received.highest - sequence;
	if (behind >= WINDOW || p->received.mask >> behind & 1)
		return false;
	p->received.mask |= 1ull << behind;
	return true;
}

bool ccs_peer_has_forged_number(const struct ccs_peer *p, uint64_t sequence)
{
	return p->received.highest > sequence && p->received.highest - sequence > UINT32_MAX;
}

void ccs_peer_prove(struct ccs_peer *p, uint64_t incarnation, uint64_t sequence)
{
	if (incarnation != p->incarnation || ccs_peer_has_forged_number(p, sequence))
		ccs_peer_adopt(p, incarnation, sequence);
	ccs_peer_fresh(p, sequence);
	if (p->proven != incarnation)
		p->received.mask = UINT64_MAX;
	p->proven = incarnation;
}

static void send_hellos(struct ccs_agent *a, uint64_t now_ns)
{
	struct ccs_peers *ps = &a->peers;

	ps->hello_due_ns = UINT64_MAX;
	for (uint32_t i = 0; i < ps->high; i++) {
		struct ccs_peer *p = &ps->peer[i];

		if (!p->serial || !ccs_peer_wanted(p, now_ns))
			continue;
		if (p->hello.due_ns <= now_ns)
			ccs_send_hello(a, p);
		else if (p->hello.due_ns < ps->hello_due_ns)
			ps->hello_due_ns = p->hello.due_ns;
	}
	/* However many there are, the table is searched this often only. */
	if (ps->hello_due_ns < now_ns + CCS_AGENT_FIRST_RETRY_NS)
		ps->hello_due_ns = now_ns + CCS_AGENT_FIRST_RETRY_NS;
}

void ccs_peers_retry(struct ccs_agent *a, uint64_t now_ns)
{
	if (a->peers.hello_due_ns <= now_ns)
		send_hellos(a, now_ns);
}

void ccs_peers_tick(struct ccs_agent *a, uint64_t now_ns)
{
	send_hellos(a, now_ns);
	evict_unused(a, now_ns);
}
