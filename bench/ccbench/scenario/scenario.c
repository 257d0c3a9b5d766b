/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "opts.h"
#include "bench/common/collectives.h"
#include "bench/common/rng.h"

#define WR_SIZE (256u << 10)   /* WRs of larger messages of a distribution */
#define SLICE 250000000ll      /* ns for which an empty path is measured */
#define CLAIM_INTERVAL 50000000ll /* ns; agents forget a flow after 100 ms */

/* A stream of random numbers that no host and no flow has. */
enum { STREAM_PERMUTATION = 1 << 21 };

static int add(struct flow_list *l, struct flow_spec f)
{
	if (!CCS_GROW(l->v, l->n))
		return -1;
	f.stream = l->streams;
	l->streams += (unsigned)flow_has_arrivals(&f);
	l->v[l->n++] = f;
	return 0;
}

/* The flow that the options speak of. */
static struct flow_spec traffic(const struct opts *o, unsigned src, unsigned dst)
{
	return (struct flow_spec){
		.src = src, .dst = dst, .op = o->op, .class = CLASS_BULK, .pool = o->qp_pool,
		.arrival = o->load > 0 ? ARRIVE_POISSON : ARRIVE_BACKLOGGED,
		.sizes = o->sizes, .depth = o->depth, .size = o->size,
		.wr_size = o->sizes == SIZES_FIXED ? o->size : WR_SIZE,
		.messages = o->iterations, .stop = FLOW_FOREVER,
	};
}

/* That on each QP of its two hosts. */
static int parallel(const struct opts *o, struct flow_list *l, struct flow_spec f)
{
	const unsigned qps = f.pool ? f.pool : o->qps;

	for (f.qp = 0; f.qp < qps; f.qp++)
		if (add(l, f))
			return -1;
	return 0;
}

/* One small write at a time. */
static struct flow_spec pinger(const struct opts *o, unsigned src, unsigned dst)
{
	return (struct flow_spec){
		.src = src, .dst = dst, .op = OP_WRITE, .class = CLASS_LATENCY,
		.arrival = ARRIVE_PINGPONG, .sizes = SIZES_FIXED, .depth = 1,
		.size = o->victim.size, .wr_size = o->victim.size,
		.interval = o->victim.interval, .stop = FLOW_FOREVER,
	};
}

static int senders(const struct opts *o, struct flow_list *l)
{
	for (unsigned host = 1; host <= o->senders; host++)
		if (parallel(o, l, traffic(o, host, 0)))
			return -1;
	return 0;
}

static int incast(const struct opts *o, struct flow_list *l)
{
	if (senders(o, l))
		return -1;
	return o->victim.wanted ? add(l, pinger(o, o->senders + 1, 0)) : 0;
}

/* Small messages use the hosts of the large messages, so they share the interface as well. */
static int victim(const struct opts *o, struct flow_list *l)
{
	if (senders(o, l))
		return -1;
	for (unsigned host = 1; host <= o->senders; host++)
		if (add(l, pinger(o, host, 0)))
			return -1;
	return 0;
}

static int mice(const struct opts *o, struct flow_list *l)
{
	struct opts elephants = *o;
	struct flow_spec f;

	elephants.sizes = SIZES_FIXED;
	elephants.load = 0;
	elephants.qp_pool = 0;
	if (senders(&elephants, l))
		return -1;
	elephants.qps = 1; /* the next flows are mice */
	for (unsigned host = 1; host <= o->senders; host++) {
		f = traffic(o, host, 0);
		f.class = CLASS_LATENCY;
		f.messages = 0;
		if (parallel(&elephants, l, f))
			return -1;
	}
	return 0;
}

static bool mice_defaults(struct opts *o)
{
	if (!(o->load > 0))
		o->load = 0.1;
	if (o->sizes == SIZES_FIXED)
		o->sizes = SIZES_HADOOP;
	return true;
}

/* The first sender has an elephant; messages of the others cross it at random. */
static int elephant(const struct opts *o, struct flow_list *l)
{
	struct opts first = *o;

	first.sizes = SIZES_FIXED;
	first.load = 0;
	first.qp_pool = 0;
	first.senders = 1;
	if (senders(&first, l))
		return -1;
	for (unsigned host = 2; host <= o->senders; host++)
		if (parallel(o, l, traffic(o, host, 0)))
			return -1;
	return 0;
}

static bool elephant_defaults(struct opts *o)
{
	if (!(o->load > 0))
		o->load = 0.1;
	return true;
}

/* One after the other comes, and goes: the first to come is the last to go. */
static int joinleave(const struct opts *o, struct flow_list *l)
{
	int64_t step = o->duration / (2 * (int64_t)o->senders);

	if (senders(o, l))
		return -1;
	for (unsigned i = 0; i < l->n; i++) {
		l->v[i].start = (l->v[i].src - 1) * step;
		l->v[i].stop = o->duration - l->v[i].start;
	}
	return 0;
}

/* All begin together, and go one after the other. */
static int leave(const struct opts *o, struct flow_list *l)
{
	if (senders(o, l))
		return -1;
	for (unsigned i = 0; i < l->n; i++)
		l->v[i].stop = o->duration * l->v[i].src / (int64_t)o->senders;
	return 0;
}

/* Sattolo's shuffle: one cycle through all hosts, so that no host sends to itself. */
static int permutation(const struct opts *o, struct flow_list *l)
{
	struct rng rng = rng_of(o->seed, STREAM_PERMUTATION);
	unsigned to[MAX_HOSTS], i, k, swap;

	for (i = 0; i < o->hosts; i++)
		to[i] = i;
	for (i = o->hosts - 1; i > 0; i--) {
		k = (unsigned)(rng_next(&rng) % i);
		swap = to[i];
		to[i] = to[k];
		to[k] = swap;
	}
	for (i = 0; i < o->hosts; i++)
		if (parallel(o, l, traffic(o, i, to[i])))
			return -1;
	return 0;
}

static int alltoall(const struct opts *o, struct flow_list *l)
{
	for (unsigned i = 0; i < o->hosts; i++)
		for (unsigned k = 0; k < o->hosts; k++)
			if (i != k && parallel(o, l, traffic(o, i, k)))
				return -1;
	return 0;
}

/* Steps of one group: on each of the QPs, which share the data, and in each operation. */
static int add_steps(const struct opts *o, struct flow_list *l, const struct steps *steps,
		     struct flow_spec f)
{
	const unsigned base = l->n;

	for (unsigned i = 0; i < steps->n; i++) {
		const struct step *s = &steps->v[i];

		f.src = s->src;
		f.dst = s->dst;
		f.arrival = ARRIVE_STEPS;
		f.sizes = SIZES_FIXED;
		f.size = f.wr_size = s->size;
		f.depth = default_depth(s->size);
		f.per_operation = s->messages;
		f.messages = o->iterations * s->messages;
		f.lag = s->lag;
		f.timed = s->lag || !s->after[0];
		for (unsigned k = 0; k < 2; k++)
			f.after[k] = s->after[k] ? base + s->after[k] : 0;
		if (add(l, f))
			return -1;
	}
	return steps->failed ? -1 : 0;
}

static int collective(const struct opts *o, struct flow_list *l)
{
	struct flow_spec f = traffic(o, 0, 0);
	struct steps steps = { 0 };
	int ret = 0;

	f.group = 1;
	f.interval = o->collective.pause;
	collective_steps(&steps, o->collective.kind, o->hosts, o->size / o->qps, 0);
	for (f.qp = 0; f.qp < o->qps && !ret; f.qp++)
		ret = add_steps(o, l, &steps, f);
	steps_free(&steps);
	return ret;
}

static bool collective_fits(struct opts *o)
{
	struct steps steps = { 0 };
	const bool fits = collective_steps(&steps, o->collective.kind, o->hosts, o->size / o->qps, 0);

	steps_free(&steps);
	return fits && o->op != OP_READ && !(o->load > 0);
}

/* Host i to the host as far in the other half; the last two have the victim. */
static int trunk(const struct opts *o, struct flow_list *l)
{
	const unsigned half = o->hosts / 2, pairs = half - o->victim.wanted;

	for (unsigned i = 0; i < pairs; i++)
		if (parallel(o, l, traffic(o, half + i, i)))
			return -1;
	return o->victim.wanted ? add(l, pinger(o, half + pairs, pairs)) : 0;
}

static bool trunk_fits(struct opts *o)
{
	return o->hosts % 2 == 0 && o->hosts / 2 > o->victim.wanted;
}

static unsigned claims_hosts(const struct opts *o)
{
	return 2 + o->senders + o->victim.wanted;
}

/* The last host's queue pairs send a byte now and then, often enough for agents to count them. */
static int claims(const struct opts *o, struct flow_list *l)
{
	struct flow_spec f = pinger(o, claims_hosts(o) - 1, 0);

	if (incast(o, l))
		return -1;
	f.class = CLASS_CLAIM;
	f.size = f.wr_size = 1;
	f.interval = CLAIM_INTERVAL;
	for (f.qp = 0; f.qp < o->claims; f.qp++)
		if (add(l, f))
			return -1;
	return 0;
}

/* Bulk messages of each sender, and requests beside them. */
static int kv(const struct opts *o, struct flow_list *l)
{
	struct flow_spec f = { .op = OP_WRITE, .class = CLASS_LATENCY, .stop = FLOW_FOREVER };
	int ret = senders(o, l);

	for (unsigned host = 1; host <= o->senders && !ret; host++) {
		struct steps steps = { 0 };

		request_steps(&steps, host, 0, o->victim.size, o->response);
		f.group = host;
		f.interval = o->victim.interval;
		ret = add_steps(o, l, &steps, f);
		steps_free(&steps);
	}
	return ret;
}

static int tenants(const struct opts *o, struct flow_list *l)
{
	unsigned first = 1;

	for (unsigned i = 0; i < o->tenants.n; first += o->tenants.v[i++].hosts)
		for (unsigned qp = 0; qp < o->tenants.v[i].qps; qp++) {
			const unsigned hosts = o->tenants.v[i].hosts;
			struct flow_spec f = traffic(o, first + qp % hosts, 0);

			f.qp = qp / hosts;
			if (add(l, f))
				return -1;
		}
	return o->victim.wanted ? add(l, pinger(o, o->senders + 1, 0)) : 0;
}

/* The receiver would post READs of all tenants. */
static bool tenants_fit(struct opts *o)
{
	o->qps = 1;
	o->senders = 0;
	for (unsigned i = 0; i < o->tenants.n; i++)
		o->senders += o->tenants.v[i].hosts;
	return o->op != OP_READ && !(o->load > 0) && o->sizes == SIZES_FIXED && !o->qp_pool &&
	       o->senders + 2 <= MAX_HOSTS;
}

unsigned scenario_tenant(const struct opts *o, unsigned host)
{
	unsigned first = 1;

	for (unsigned i = 0; o->kind->tenants && i < o->tenants.n; first += o->tenants.v[i++].hosts)
		if (host >= first && host < first + o->tenants.v[i].hosts)
			return i + 1;
	return 0;
}

static unsigned to_one_hosts(const struct opts *o)
{
	return 1 + o->senders;
}

static unsigned incast_hosts(const struct opts *o)
{
	return 1 + o->senders + o->victim.wanted;
}

static unsigned all_hosts(const struct opts *o)
{
	return o->hosts;
}

static bool reads(struct opts *o)
{
	o->op = OP_READ;
	return true;
}

/* The scenario needs a duration. */
static bool by_time(struct opts *o)
{
	return !o->iterations;
}

const struct scenario scenarios[] = {
	{ .name = "incast", .what = "N senders to one receiver, with a latency-sensitive victim",
	  .hosts = incast_hosts, .make = incast, .has_victim = true, .to_one = true },
	{ .name = "readincast", .what = "the same, the receiver reading from all",
	  .hosts = incast_hosts, .make = incast, .apply_defaults = reads, .has_victim = true,
	  .to_one = true },
	{ .name = "victim", .what = "a latency class beside a bulk class on every sender",
	  .hosts = to_one_hosts, .make = victim, .to_one = true, .slowdown = true },
	{ .name = "mice", .what = "elephants of every sender, and mice between them",
	  .hosts = to_one_hosts, .make = mice, .apply_defaults = mice_defaults,
	  .elephants = true, .to_one = true, .slowdown = true },
	{ .name = "elephant", .what = "an elephant, and messages of other senders across it",
	  .hosts = to_one_hosts, .make = elephant, .apply_defaults = elephant_defaults,
	  .elephants = true, .to_one = true },
	{ .name = "joinleave", .what = "senders come one by one, and go one by one",
	  .hosts = to_one_hosts, .make = joinleave, .apply_defaults = by_time, .to_one = true },
	{ .name = "leave", .what = "senders begin together and go one by one",
	  .hosts = to_one_hosts, .make = leave, .apply_defaults = by_time, .to_one = true },
	{ .name = "permutation", .what = "every host sends to one and receives from one",
	  .hosts = all_hosts, .make = permutation },
	{ .name = "alltoall", .what = "every host sends to every other",
	  .hosts = all_hosts, .make = alltoall },
	{ .name = "collective", .what = "all-reduces of all hosts, with pauses between them",
	  .hosts = all_hosts, .make = collective, .apply_defaults = collective_fits,
	  .refusal = "an all-reduce needs a power of two of --hosts for halving, a byte of --size for "
		     "each host and QP, and --op write or send without --load",
	  .operations = true, .size = 1 << 20 },
	{ .name = "trunk", .what = "hosts of one half to hosts of the other, over one link",
	  .hosts = all_hosts, .make = trunk, .apply_defaults = trunk_fits, .has_victim = true,
	  .refusal = "a trunk needs an even number of --hosts, four with a victim", .trunk = true },
	{ .name = "claims", .what = "an incast beside queue pairs that send a byte now and then",
	  .hosts = claims_hosts, .make = claims, .has_victim = true, .to_one = true },
	{ .name = "kv", .what = "requests and responses beside bulk messages to one host",
	  .hosts = to_one_hosts, .make = kv, .to_one = true },
	{ .name = "tenants", .what = "jobs with weights and unlike numbers of queue pairs to one host",
	  .hosts = incast_hosts, .make = tenants, .apply_defaults = tenants_fit,
	  .refusal = "tenants always have data to send: without --load, --sizes, --qp-pool and --op read, "
		     "and with at most 254 hosts", .has_victim = true, .to_one = true, .tenants = true },
	{ .name = NULL },
};

const struct scenario *scenario_find(const char *name)
{
	const struct scenario *s;

	for (s = scenarios; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

/* Set the arrival rate for which the busiest end of a link has the requested load, by payload. */
static void set_load(const struct opts *o, struct flow_list *l)
{
	unsigned in[MAX_HOSTS] = { 0 }, out[MAX_HOSTS] = { 0 }, busiest = 1, i;
	double bps;

	for (i = 0; i < l->n; i++) {
		if (l->v[i].arrival != ARRIVE_POISSON || !flow_has_arrivals(&l->v[i]))
			continue;
		if (++in[l->v[i].dst] > busiest)
			busiest = in[l->v[i].dst];
		if (++out[l->v[i].src] > busiest)
			busiest = out[l->v[i].src];
	}
	bps = o->load * o->link.rate_bps / busiest;
	for (i = 0; i < l->n; i++)
		if (l->v[i].arrival == ARRIVE_POISSON)
			l->v[i].interval = (int64_t)(8e9 * sizes_mean(l->v[i].sizes, l->v[i].size) /
						     bps);
}

int scenario_flows(const struct opts *o, struct flow_list *l)
{
	*l = (struct flow_list){ 0 };
	if (o->kind->make(o, l)) {
		free(l->v);
		return -1;
	}
	set_load(o, l);
	return 0;
}

int scenario_unloaded(const struct flow_list *of, struct flow_list *l, int64_t *length)
{
	bool seen[MAX_HOSTS] = { false };
	struct flow_spec f;

	*l = (struct flow_list){ 0 };
	*length = 0;
	for (unsigned i = 0; i < of->n; i++) {
		f = of->v[i];
		if (seen[f.dst])
			continue;
		seen[f.dst] = true;
		f.qp = 0;
		f.pool = 0;
		f.class = CLASS_LATENCY;
		f.arrival = ARRIVE_PINGPONG;
		f.sizes = SIZES_LADDER;
		f.wr_size = WR_SIZE;
		f.depth = 4;
		f.messages = 0;
		f.interval = 0;
		f.start = *length;
		*length += SLICE;
		f.stop = *length - SLICE / 5; /* the last message completes before the next flows start */
		if (add(l, f)) {
			free(l->v);
			return -1;
		}
	}
	return 0;
}
