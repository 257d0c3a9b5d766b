/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/net/net.h"

#include "agent/host/core.h"

/* HELLOs answered per second. */
#define RATE 2000.0
#define BURST 500.0

enum { LEVELS = 3, BUCKETS = 4096 };

struct ccs_bucket {
	double tokens;
	uint64_t filled_ns;
};

/*
 * Prefixes whose hashes are equal share a bucket, so the table is bounded and does not evict
 * entries. The hash is salted: an attacker cannot choose addresses that share the bucket of another
 * host. All addresses together have RATE, which suffices to empty 32 buckets of the last
 * level.
 */
struct ccs_hello_limit {
	struct ccs_bucket bucket[LEVELS][BUCKETS];
};

int ccs_hello_limit_open(struct ccs_agent *a)
{
	a->hello_limit = calloc(1, sizeof(*a->hello_limit));
	return a->hello_limit ? 0 : -1;
}

/* Length of the prefix at that level, and its part of RATE and BURST. A host may use all addresses
 * of an IPv6 /64, which other hosts may share; in link-local networks it has one address. */
static unsigned prefix_bits(unsigned level, const struct ccs_address *remote, double *part)
{
	const bool single = ccs_address_is_v4(remote) || ccs_address_is_link_local(remote);
	const double parts[LEVELS] = { 1, 1 / 4.0, single ? 1 / 32.0 : 1 / 8.0 };

	*part = parts[level];
	if (level == 0)
		return 0;
	if (level == 1)
		return ccs_address_network_bits(remote);
	return single ? 128 : 64;
}

static void refill(struct ccs_bucket *b, double part, uint64_t now_ns)
{
	b->tokens += (double)(now_ns - b->filled_ns) / 1e9 * RATE * part;
	if (b->tokens > BURST * part)
		b->tokens = BURST * part;
	b->filled_ns = now_ns;
}

static struct ccs_bucket *refill_bucket(struct ccs_agent *a, unsigned level,
					const struct ccs_address *remote)
{
	double part;
	const unsigned bits = prefix_bits(level, remote, &part);
	const uint64_t hash = ccs_address_hash(remote, bits, a->salt);
	struct ccs_bucket *b = &a->hello_limit->bucket[level][hash % BUCKETS];

	refill(b, part, ccs_agent_now(a));
	return b;
}

bool ccs_hello_limit_claim(struct ccs_agent *a, const struct ccs_address *remote)
{
	struct ccs_bucket *b[LEVELS];

	for (unsigned i = 0; i < LEVELS; i++) {
		b[i] = refill_bucket(a, i, remote);
		if (b[i]->tokens < 1)
			return false;
	}
	for (unsigned i = 0; i < LEVELS; i++)
		b[i]->tokens -= 1;
	return true;
}
