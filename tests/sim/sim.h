/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SIM_H
#define CCS_TESTS_SIM_H
/*
 * A closed loop in virtual time: flows with data without end, each behind its
 * host's NIC, meet in one bottleneck; receivers acknowledge each segment; the
 * algorithm under test answers. Deterministic: a configuration and a seed give
 * one result, to the last bit.
 *
 *   driver -> NIC (round robin) -> wire -> port: queue, RED, telemetry -> wire -> receiver
 *     ^                                                                      |
 *     +---------------- completion, CNP: half the base RTT ------------------+
 *
 * Payload only: no headers, no time at the receiver. Rates in bit/s, times in us.
 */
#include <stdbool.h>
#include <stdint.h>

/* What stands between the algorithm and the NIC. */
enum sim_driver {
	SIM_BARE,                /* a pacer and a window, as in the papers' simulations */
	SIM_SHIM,                /* libshim/flow and its timing wheel, as in the preload */
};

enum sim_telemetry {
	SIM_BLIND,
	SIM_INT,                 /* the port's record, taken as the segment's last packet leaves */
	SIM_ECHO,                /* the receiver's byte counter and clock; no queue length */
};

/* Additions to an RTT, independent per segment. */
struct sim_noise {
	double uniform_us;       /* uniform from 0 to this */
	double exp_us;           /* exponential with this mean */
	double burst_share;      /* of segments that in addition get uniform 0 to burst_us */
	double burst_us;
	bool on_sample;          /* falsifies the measurement only; else completions come later */
};

/*
 * Every `every_us` the receivers' host has no time for `stall_us`: what it would have
 * acknowledged meanwhile it acknowledges at once after that.
 */
struct sim_stalls {
	double every_us, stall_us;
};

/* Zero means absent, or the default named. */
struct sim_conf {
	const char *cc;          /* "NAME[:param=value,...]" */
	enum sim_driver driver;
	enum sim_telemetry telemetry;

	unsigned flows;          /* that stay from start to end */
	unsigned guests;         /* more of them, from join_us to leave_us */
	double join_us, leave_us;
	double first_rate;       /* SIM_BARE: flow 0 starts at this rate, */
	double start_rate;       /* and the others at this one; 0: as the algorithm likes */
	double start_spread_us;  /* flows start uniformly within this */

	double rate;             /* of a port */
	unsigned ports;          /* default 1; flow i uses port i modulo this */
	double nic_rate;         /* default: rate */
	unsigned hosts;          /* default: one per flow; flow i is on host i modulo this */
	double base_us;          /* RTT without any serialisation */
	uint32_t mtu;            /* default: a segment is a packet */
	uint32_t segment;        /* bytes */
	double kmin, kmax, pmax; /* RED on the queue in bytes that a packet leaves */
	uint64_t limit;          /* of the queue in bytes; 0: lossless */
	double record_us;        /* host agents: the port is read so often, its record the newest
				    that senders have; 0: each segment has its own */
	double cnp_us;           /* notification point: least time between CNPs; 0: none */
	struct sim_noise noise;
	struct sim_stalls stalls;
	double look_us;          /* SIM_SHIM: owners look for completions so often; 0: at once */

	double path_base_us;     /* told to the algorithm; default: base_us (SIM_SHIM: it learns) */
	double path_noise_us;
	unsigned path_flows;     /* default: flows per host */
	bool tell_flows;         /* acks name the number of active flows */
	uint64_t cap;            /* bytes outstanding; SIM_SHIM: default as it likes */
	bool lazy_pacer;         /* SIM_BARE: as in TIMELY, see bare.c */
	double pace_jitter;      /* SIM_BARE: gaps vary by this share */

	double warm_us, end_us;  /* figures are of the time between */
	double bin_us;           /* series; default: a hundredth of end_us */
};

enum { SIM_BINS = 2048 };

struct sim_bin {
	double util, jain, queue;
};

struct sim_result {
	double util;             /* delivered payload by capacity */
	double jain;             /* of what flows that were there throughout have got */
	double rtt_avg, rtt_p50, rtt_p99; /* us, as flows measure it: without the own segment */
	double q_avg, q_p50, q_p95, q_p99; /* bytes waiting, sampled in equal steps of time */
	double join_us, leave_us;  /* from there until Jain, utilisation are >= 0.9; INFINITY: never */
	uint64_t packets, marks, drops, cnps;
	unsigned bins;
	struct sim_bin bin[SIM_BINS];
};

/* Aborts with a sentence on a configuration that makes no sense. */
void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result);

#endif
