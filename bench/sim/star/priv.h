/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_STAR_PRIV_H
#define BENCH_SIM_STAR_PRIV_H
/* A star as a scenario of bench/sim/fabric: its network, its flows, its changes and measurements. */
#include "base/hist.h"
#include "bench/sim/fabric/priv.h"
#include "sim.h"

/* A flow of the network. */
struct star_flow {
	struct flow *flow;
	bool stays;              /* from start to end */
	bool apart;              /* a rival or the victim, whose statistics are separate */
	bool left;
	uint64_t start;          /* ps */
	uint64_t at_warm, at_bin; /* bytes received */
};

struct star {
	struct sim net;          /* the first member */
	const struct sim_conf *conf;
	struct topology topology;
	struct fab_routes routes;
	struct fab_flows flows;
	struct fab_conf network;
	struct fab_result outcome;
	struct ccs_cc_spec spec;

	unsigned total;          /* flows, without the victim, which is the last */
	unsigned sources;        /* hosts that send */
	unsigned ports;          /* that are measured */
	unsigned hosts;
	struct star_flow *flow;  /* by id */

	struct ccs_hist rtt, queue, victim;
	struct sim_result *result;
};

/* Changes of the scenario; above them, a flow. */
enum star_change { STAR_LEAVE = 1, STAR_SLOW, STAR_FAST, STAR_WARM, STAR_SAMPLE, STAR_BIN };
enum { STAR_BITS = 3 };

static inline void star_at(struct star *s, double us, enum star_change change, unsigned flow)
{
	set_event(&s->net, ps_of(us), CHANGE, flow << STAR_BITS | change);
}

static inline double star_nic_rate(const struct sim_conf *c)
{
	return c->nic_rate > 0 ? c->nic_rate : c->rate;
}

/* place.c: the configuration of the network, and a port to a host that receives data */
void star_place(struct star *s, uint64_t seed);
struct port *star_port(const struct star *s, unsigned i);

/* measure.c */
void star_warm(struct star *s);
void star_sample(struct star *s);
void star_bin(struct star *s);
void star_measure_rtt(struct sim *net, const struct flow *f, const struct post *post);
void star_measure_end(struct star *s);

#endif
