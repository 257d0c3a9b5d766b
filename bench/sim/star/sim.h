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
 * With ack_bytes an acknowledgement waits in the receiver's NIC for the data of the receiver's queue
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

/*
 * The pattern of senders and receivers. Each port of a host runs at `rate`; in an incast only
 * the receivers' do.
 */
enum sim_pattern {
	SIM_INCAST,              /* all to as many hosts as `ports` */
	SIM_RING,                /* host i to host i + 1 */
	SIM_PERMUTATION,         /* host i to the opposite host: an even number sends in pairs */
	SIM_ALL_TO_ALL,          /* flow by flow to the next host, the next but one... */
};

enum sim_op {
	SIM_WRITE,               /* may be split by the flow layer */
	SIM_SEND,                /* may not be split: a message is one segment */
	SIM_READ,                /* split like a WRITE; its data take the flow's direction */
};

enum sim_telemetry {
	SIM_BLIND,
	SIM_INT, /* the port's record, taken when the segment's last packet leaves */
	SIM_ECHO,                /* the receiver's byte counter and clock; no queue length */
};

/* Flows that come later, and leave. */
struct sim_guests {
	unsigned n;
	double join_us, leave_us;
};

/* SIM_BARE: the start and the pace of flows. */
struct sim_bare {
	double first_rate;       /* flow 0's; 0: start_rate */
	double start_rate;       /* 0: the algorithm's choice */
	bool fixed_release;      /* as in TIMELY, see fabric/driver_plain.c */
	double jitter;           /* gaps vary by this share */
};

/* The first flows, which SIM_SHIM holds down to this rate each. */
struct sim_limited {
	unsigned flows;
	double rate;
};

/* The ports' rate from from_us to until_us; 0: unchanged. */
struct sim_slow {
	double rate, from_us, until_us;
};

struct sim_nic {
	double rate;             /* default: the ports' */
	/*
	 * packets of a queue pair in the NIC's FIFO; default 1: its QPs take turns. Soft-RoCE
	 * has up to 64 in the interface's queue
	 */
	unsigned depth;
	unsigned unacked;        /* packets of a queue pair that may be unacknowledged; long
				    messages are acknowledged every half of it. Default: any;
				    Soft-RoCE 128 */
};

/* The path as the algorithm knows it. */
struct sim_path {
	double base_us;          /* default: the base RTT of the network (SIM_SHIM: learned) */
	double noise_us;
	double bottleneck;       /* bit/s, the path's bottleneck_rate; default: unknown */
};

/* Zero means absent, or the default named. */
struct sim_conf {
	const char *cc;          /* "NAME[:param=value,...]" */
	enum sim_driver driver;
	enum sim_telemetry telemetry;

	unsigned flows;          /* that stay from start to end */
	struct sim_guests guests;
	struct sim_bare bare;
	struct sim_limited limited;
	double start_spread_us;  /* flows start uniformly within this */
	unsigned rivals;         /* more flows, SIM_PLAIN all the time */
	bool victim;             /* one more host writes 64 bytes at a time to the first receiver */

	enum sim_op op;
	uint32_t message;        /* bytes; SIM_SHIM: default 64 segments, SIM_PLAIN: 1 MB */
	unsigned depth;          /* messages outstanding; SIM_PLAIN: by default of 1 MB, 2 to 128 */
	unsigned max_reads;      /* outstanding; default 16 */
	unsigned entries;        /* SIM_SHIM: the application's send queue; the device's has 31
				    or more. Default: as many as are needed */

	enum sim_pattern pattern;
	double rate;             /* rate of a port */
	struct sim_slow slow;
	unsigned ports;          /* SIM_INCAST: default 1; flow i uses port i modulo this */
	struct sim_nic nic;
	unsigned hosts;          /* default: one per flow; flow i is on host i modulo this */
	double base_us;          /* RTT without any serialisation */
	double far_us;           /* RTT of senders with odd numbers; default: base_us */
	uint32_t ack_bytes;      /* acknowledgements, NAKs and READ requests; 0: no length */
	double loss;             /* share of data packets that the links lose */
	double rto_us;           /* retransmission timeout without progress; default 4 ms */
	uint32_t mtu;            /* default: a segment is a packet */
	uint32_t segment;        /* bytes; SIM_SHIM with a message: default of the flow layer */
	struct ccs_red red;      /* marks by the queue in bytes that a packet leaves */
	double cnp_us;           /* notification point: least time between CNPs; 0: none */
	uint64_t limit;          /* of the queue in bytes; 0: lossless */
	struct fab_agents agents; /* record_us > 0 or present: the hosts have some */
	bool count_flows;        /* acknowledgements have the number of flows, without agents */
	struct fab_noise noise;
	double poll_us;          /* SIM_SHIM: interval at which owners poll; 0: at once */

	struct sim_path path;
	uint64_t max_inflight;   /* bytes outstanding; SIM_SHIM: default as it likes */

	double warm_us, end_us;  /* results are of the time between */
	double bin_us;           /* series; default: a hundredth of end_us */
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

/* Aborts with a message if a configuration makes no sense. */
void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result);

#endif
