/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_STAR_H
#define BENCH_SIM_STAR_H
/*
 * A scenario of bench/sim/fabric: flows without end, from hosts to one switch and from there to
 * receivers, whose ports are the bottlenecks. A configuration and a seed give one result.
 *
 *   driver -> NIC (round robin) -> link -> port: queue, RED, telemetry -> link -> receiver
 *     ^                                                                      |
 *     +---------------- acknowledgements and CNPs: half the base RTT --------+
 *
 * With wire.ack an acknowledgement waits in the receiver's NIC for the data of the receiver's queue
 * pairs, and at the sender's port; without, it overtakes them. A READ's request takes this way, and
 * the arrival of its data completes it.
 *
 * Packets have no headers, and receivers take no time. Rates are in bit/s, times in us.
 */
#include "bench/sim/fabric/fabric.h"

/* The driver between the algorithm and the NIC. */
enum sim_driver {
	SIM_BARE,                /* a pacer and a window, as in the papers' simulations */
	SIM_SHIM,                /* libshim/flow and its timing wheel, as in the preload */
	SIM_PLAIN,               /* no algorithm: messages go to the NIC when they are posted */
};

/* Each port of a host runs at `rate`; in an incast only the receivers' do. */
enum sim_pattern {
	SIM_INCAST,              /* all to as many hosts as `ports` */
	SIM_RING,                /* host i to host i + 1 */
	SIM_PERMUTATION,         /* host i to the opposite host: an even number sends in pairs */
	SIM_ALL_TO_ALL,          /* flow by flow to the next host, the next but one... */
};

enum sim_telemetry {
	SIM_BLIND,
	SIM_INT,                 /* the port's record, taken when the segment's last packet leaves */
	SIM_ECHO,                /* the receiver's byte counter and clock; no queue length */
};

/* Zero means absent, or the default named. */
struct sim_conf {
	const char *cc;          /* "NAME[:param=value,...]" */
	enum sim_driver driver;
	enum sim_telemetry telemetry;

	unsigned flows;          /* that stay from start to end */
	struct {
		unsigned n;
		double join_us, leave_us;
	} guests;                /* flows that come later, and leave */
	struct {
		unsigned flows;
		double rate;
	} limited;               /* the first flows, which SIM_SHIM holds down to this rate each */
	double first_rate;       /* SIM_BARE: at which flow 0 starts; default: start_rate */
	double start_rate;       /* SIM_BARE: at which flows start; default: the algorithm's choice */
	double start_spread_us;  /* flows start uniformly within this */
	unsigned rivals;         /* more flows, SIM_PLAIN all the time */
	bool victim;             /* one more host writes 64 bytes at a time to the first receiver */

	enum fab_verb op;
	uint32_t message;        /* bytes; SIM_SHIM: default 64 segments, SIM_PLAIN: 1 MB */
	unsigned depth;          /* messages outstanding; SIM_PLAIN: by default of 1 MB, 2 to 128 */

	enum sim_pattern pattern;
	double rate, nic_rate;   /* of a port, of a host's NIC; nic_rate: default rate */
	struct {
		double rate, from_us, until_us;
	} slow;                  /* the ports' rate between these times */
	unsigned ports;          /* SIM_INCAST: default 1; flow i uses port i modulo this */
	unsigned hosts;          /* default: one per flow; flow i is on host i modulo this */
	double base_us;          /* RTT without any serialisation */
	double far_us;           /* RTT of senders with odd numbers; default: base_us */

	double warm_us, end_us;  /* results are of the time between */
	double bin_us;           /* series; default: a hundredth of end_us */

	/*
	 * The members that are not derived: of `host` (depth: 1), `agents`, `layer` (reads: 16, entries of
	 * the send queue: enough), `loss`, `limit`, `marking.red`, `cnp_us`, `rto_us`, `base_rtt_us` (SIM_SHIM:
	 * learned), `wire.payload` (a segment), `wire.ack` (0: acknowledgements have no length).
	 */
	struct fab_conf net;
};

enum { SIM_BINS = 2048 };

struct sim_bin {
	double util, jain, queue;
};

struct sim_result {
	double util;             /* delivered payload by capacity */
	double own_util;         /* the same without the rivals' and the victim's */
	double jain;             /* of the goodput of flows that were active throughout */
	double rtt_avg, rtt_p50, rtt_p99; /* us, as measured by flows: without the own segment */
	double q_avg, q_p50, q_p95, q_p99; /* bytes waiting, sampled in equal steps of time */
	double victim_p50, victim_p99; /* us, from a write's post to its completion */
	uint64_t victims;        /* samples: one per base RTT that its writes took */
	double join_us, leave_us;  /* until Jain and utilisation are >= 0.9; INFINITY: never */
	uint64_t packets, marks, drops, cnps;
	uint64_t late_drops;     /* after warm_us */
	uint64_t lost;           /* by the links */
	unsigned at_floor, at_limit; /* SIM_SHIM: flows without control at the end */
	unsigned bins;
	struct sim_bin bin[SIM_BINS];
};

/* Aborts with a message if `cc` is wrong. */
void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result);

#endif
