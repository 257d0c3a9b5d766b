/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator's configuration of a scenario: Soft-RoCE's hosts, host agents, and the duration. */
#include <math.h>
#include <string.h>

#include "bench/sim/core/agent.h"
#include "cc/minmax.h"
#include "grid.h"

#define ACK_BYTES 80            /* with its headers */
#define SOFT_RATE 25e9          /* of hosts with Soft-RoCE, and of the lab; others have hardware */
#define SOFT_DEPTH 64           /* its packets of a queue pair in its interface's queue */
#define SOFT_UNACKED 128        /* most unacknowledged packets of Soft-RoCE */
#define NOISE_US 1.0            /* mean delay that hosts always add */
#define CNP_US 50.0
#define ROUNDS 600              /* a round: a segment of each flow, and the base RTT */
#define PACKETS_MOST 1.2e6      /* packets of a run with at least a fourth of the rounds */
#define WARM 3                  /* a third of the run */

#define RECORDS 60              /* least number of records of a run */

static unsigned grid_flows(const struct scenario *s)
{
	return s->hosts * s->qps;
}

unsigned grid_per_port(const struct scenario *s)
{
	return (s->pattern == SIM_INCAST ? grid_flows(s) : s->qps) + s->joins + s->rivals;
}

/* Whether the algorithm needs records of links, or rates that agents derive from them. */
bool grid_needs_records(const struct ccs_cc_spec *spec)
{
	return spec->ops->needs & ~(unsigned)(CCS_NEEDS_RTT | CCS_NEEDS_CNP | CCS_NEEDS_ECT);
}

/* As the flow layer derives it for the NIC (flow/limits.c), or the unsplit message. */
double grid_segment(const struct scenario *s)
{
	const double fit = exp2(floor(log2(s->nic * 8 / 8e6)));
	const double segment = ccs_min(ccs_max(fit, 4096), 65536);

	return s->op == FAB_SEND ? ccs_max(segment, s->message) : segment;
}

const char *grid_forbidden(const struct scenario *s)
{
	const double least = s->op == FAB_SEND ? s->message : ccs_min(s->message, GRID_MTU);

	if (s->queue > 0 && grid_per_port(s) * least > s->queue)
		return s->op == FAB_SEND ? "a message of each flow exceeds the queue"
					 : "a packet of each flow exceeds the queue";
	return NULL;
}

/* The time in which what each flow does can reach all others. */
static double round_us(const struct scenario *s)
{
	return ccs_max(s->rtt, s->far) + 8e6 * grid_per_port(s) * grid_segment(s) / s->rate;
}

unsigned grid_depth(const struct scenario *s)
{
	const double depth = ccs_min(ccs_max((1u << 20) / s->message, 2), 128);

	return (unsigned)(s->entries ? ccs_min(depth, s->entries) : depth);
}

/* Without control, the queue holds all outstanding data: the time in which it builds up. */
static double fill_us(const struct scenario *s)
{
	const double bytes = (double)grid_per_port(s) * grid_depth(s) * s->message;

	return 8e6 * (s->queue > 0 ? ccs_min(bytes, s->queue) : bytes) / s->rate;
}

/* Of peers of one flow or more each. */
static double record_us(const struct scenario *s)
{
	const double peers = s->pattern == SIM_INCAST ? s->hosts + s->joins
						      : ccs_min(s->hosts - 1, s->qps);

	return agent_period_us(8e6 * AGENT_MESSAGE / s->rate, peers);
}

static double length_us(const struct scenario *s, bool none)
{
	const double ports = s->pattern == SIM_INCAST ? 1 : s->hosts;
	const double packet = ccs_min(s->message, GRID_MTU);
	const double most_us = PACKETS_MOST * 8e6 * packet / (s->rate * ports);
	const double least_us = ccs_max(ROUNDS / 4 * round_us(s), RECORDS * record_us(s));
	const double us = ccs_max(ccs_min(ROUNDS * round_us(s), most_us), least_us);

	return none ? ccs_max(us, 2 * WARM * fill_us(s)) : us;
}

/*
 * What agents provide to those that ask for it: marks in a band above what one segment of
 * each of a few flows makes, and the records of a switch, or of receivers.
 */
static void give_signals(struct sim_conf *conf, const struct scenario *s, const struct contender *c)
{
	const unsigned needs = c->spec.ops->needs;
	const double few = 5 * grid_segment(s);

	if (needs & CCS_NEEDS_CNP) {
		conf->net.marking.red.kmin = ccs_max(few, s->rate * s->rtt / 8e6);
		conf->net.marking.red.kmax = 4 * conf->net.marking.red.kmin;
		if (s->queue > 0 && conf->net.marking.red.kmax > s->queue) {
			conf->net.marking.red.kmax = s->queue;
			conf->net.marking.red.kmin = conf->net.marking.red.kmax / 4;
		}
		conf->net.marking.red.pmax = 1;
		conf->net.cnp_us = CNP_US;
	}
	if (grid_needs_records(&c->spec)) {
		conf->telemetry = strstr(c->cc, "echo") ? SIM_ECHO : SIM_INT;
		conf->net.agents.present = true;
		conf->net.agents.advise = needs & CCS_NEEDS_ADVICE;
	}
}

static void give_changes(struct sim_conf *conf, const struct scenario *s)
{
	conf->guests.n = s->joins;
	if (s->joins) {
		conf->guests.join_us = conf->end_us / 3;
		conf->guests.leave_us = 2 * conf->end_us / 3;
		conf->warm_us = conf->end_us / 6;
	}
	if (s->slow > 0) {
		conf->slow.rate = s->slow;
		conf->slow.from_us = conf->end_us / 3;
		conf->slow.until_us = 2 * conf->end_us / 3;
		conf->warm_us = conf->end_us / 6;
	}
}

struct sim_conf grid_conf(const struct scenario *s, const struct contender *c, double length)
{
	const bool none = strcmp(c->cc, "none") == 0, soft = s->nic <= SOFT_RATE;
	const double end_us = length * length_us(s, none);
	struct sim_conf conf = {
		.cc = c->cc, .driver = none ? SIM_PLAIN : SIM_SHIM,
		.flows = grid_flows(s), .rivals = s->rivals, .victim = true,
		.hosts = s->pattern == SIM_INCAST ? s->hosts + s->joins + s->rivals : s->hosts,
		.pattern = s->pattern, .op = s->op, .message = s->message, .depth = grid_depth(s),
		.rate = s->rate, .nic_rate = s->nic, .base_us = s->rtt, .far_us = s->far,
		.start_spread_us = round_us(s) / 4, .end_us = end_us, .warm_us = end_us / WARM,
		.net = {
			.host = { .noise = { .exp_us = NOISE_US, .uniform_us = s->jitter },
				  .depth = soft ? SOFT_DEPTH : 1, .unacked = soft ? SOFT_UNACKED : 0 },
			.wire = { .payload = GRID_MTU, .ack = ACK_BYTES }, .layer.entries = s->entries,
			.limit = (uint64_t)s->queue, .loss = s->loss,
			.rto_us = ccs_max(4e3, 4 * (s->rtt + fill_us(s))),
		},
	};

	give_signals(&conf, s, c);
	give_changes(&conf, s);
	return conf;
}
