/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_FABRIC_H
#define BENCH_SIM_FABRIC_H
/*
 * A deterministic packet simulator of a lossless or lossy Ethernet fabric: hosts whose flows are
 * controlled by libshim/cc, switches whose buffers, marks and pauses libshim/fabric decides. One
 * configuration and one seed give one result. Time is in ps.
 *
 *   flow: rate, window -> NIC: round robin -> link -> switch: MMU, queue, RED, INT -> ... -> receiver
 *     ^                                                                                    |
 *     +------------------------------ acknowledgements and CNPs, as packets ---------------+
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "cc/cc.h"
#include "cc/shares.h"
#include "fabric/marking.h"
#include "fabric/qos.h"
#include "flows.h"
#include "routes.h"
#include "topology.h"

enum { FAB_TENANTS = 33, /* number 0: flows without a tenant */
       FAB_PRIORITIES = 8, FAB_TTL = 64, FAB_CNP_DSCP = 48 };
#define FAB_PS_PER_US 1e6

/* Sizes on the line in bytes, with preamble and gap where they count. */
struct fab_wire {
	uint32_t payload;        /* bytes in a full packet */
	uint32_t header, ack, cnp, pause;
	uint32_t gap;            /* part of each, preamble and gap, that switches do not store */
	uint32_t data_telemetry, ack_telemetry; /* more, if the algorithm needs telemetry */
	uint32_t tx_unit, queue_unit; /* bytes in which telemetry counts; at least 1 */
	bool count_received;     /* telemetry counts bytes as they come into the queue, not as they leave */
	bool whole_ns;           /* times of transmission are truncated to ns */
	bool whole_rtt;          /* RTTs include the packet's own transmission by the NIC */
	bool late_rates;         /* a rate applies from the next packet on; without telemetry only */
	bool mark_acks;          /* acknowledgements carry marks, instead of CNPs */
};

/* A switch's buffer; see fabric/mmu.h. */
struct fab_buffer {
	double bytes;            /* buffer of a switch; INFINITY: without drops and PAUSE frames */
	double cell;             /* bytes */
	bool pfc;                /* without, queues are lossy */
	double alpha;            /* of a priority group, for ports of alpha_rate */
	double alpha_rate;       /* bit/s; alpha is proportional to the rate; 0: equal for all ports */
	double queue_alpha;      /* of lossy priorities: their groups, and their queues; 0: as alpha,
				  * and unlimited */
	double guarantee;        /* bytes of each priority group */
	double headroom;         /* bytes of each lossless group; NAN: as follows */
	double headroom_us;      /* headroom as the data received in this time; NAN: as computed */
	double hysteresis;       /* bytes */
	double t0_us;            /* from a PAUSE frame's arrival to its effect; part of the headroom */
};

/* Marks. kmin and kmax are for ports of `rate`, and proportional to the rate of other ports. */
struct fab_marking {
	struct ccs_red red;      /* bytes; pmax 0: no marks */
	double rate;             /* 0: the same at all ports */
	bool always;             /* each packet draws a random number, also below kmin */
	double poll_us, weight;  /* interval and weight of the polled average; 0: the queue itself */
};

/* How late hosts are, independently for each acknowledgement. Whole segments keep their order. */
struct fab_noise {
	double uniform_us;       /* uniform from 0 to this */
	double exp_us;           /* exponential with this mean */
	double burst_share;      /* share that also gets uniform 0 to burst_us */
	double burst_us;
	double stall_every_us;   /* interval of stalls, from 0; 0: never */
	double stall_us;         /* time without acknowledgements */
};

/* Hosts. By default NICs fetch a packet when they can send it, and acknowledge each packet. */
struct fab_hosts {
	struct fab_noise noise;
	/* A segment or message is acknowledged once; then algorithms without the flow layer post whole
	 * segments at their rate, as software does. */
	bool whole_segments;
	unsigned depth;          /* packets of a flow in the NIC's queue, as in Soft-RoCE; 0: none */
	unsigned unacked;        /* packets of a flow that may be unacknowledged; long segments are
				  * acknowledged every half of it; 0: any */
	bool echo;               /* acknowledgements have the receiver's byte counter */
	bool count_flows;        /* and the number of flows to it */
	double poll_us;          /* interval at which the flow layer's owners poll; 0: at once */
	double gap_jitter;       /* of whole segments without the flow layer: gaps vary by this share */
	bool fixed_release;      /* and a higher rate does not bring a release forward (TIMELY 5) */
};

/* Host agents. */
struct fab_agents {
	bool present;            /* receivers' agents send records, instead of telemetry in packets */
	bool advise;             /* and rates */
	double record_us;        /* interval of records, which are all sent; 0: as ccshimd */
	double loss;             /* probability that a message is lost */
	double delay_us;         /* additional delay of a message */
	double count_factor;     /* error in the number of flows; 0: 1 */
	bool of_switch;          /* agents of the switches' ports, which know the queues */
	unsigned tenants;        /* that share ports by their terms; 0: flows are equal */
	struct ccs_terms terms[FAB_TENANTS]; /* of tenant 1, 2... */
};

/* The paths as algorithms know them, and the flow layer's settings; 0: unknown, or the default. */
struct fab_layer {
	uint32_t segment;
	double rtt_jitter_us, bottleneck; /* bottleneck: bit/s */
	unsigned flows;          /* from each host */
	double max_inflight;     /* bytes */
	unsigned reads;          /* outstanding READs */
	unsigned entries, device_entries; /* send queues: the application's, the device's */
	unsigned waiting;        /* messages that the application posts ahead */
	unsigned outstanding;    /* messages */
};

/* A change of the network during a run. */
enum fab_change_kind { FAB_FAIL, FAB_RESTORE, FAB_CONVERGE };

struct fab_change {
	enum fab_change_kind kind;
	uint64_t at;             /* ps */
	unsigned number;         /* link; or node that gets new tables, or FAB_ALL_NODES */
};

#define FAB_ALL_NODES UINT32_MAX

/* A switch's remedy against PAUSE frames without end. */
struct fab_watchdog {
	double detect_us;        /* pause with packets waiting that triggers it; 0: no watchdog */
	double restore_us;       /* time without a pause that ends it */
	bool forward;            /* ignore pauses, instead of dropping what waits */
};

/* How a port chooses among its queues. Those without weight come first, the highest number first;
 * what these leave is shared by weighted deficit round robin. */
struct fab_queue {
	double weight;           /* 0: strict priority */
	double cap;              /* bit/s, or 0 */
};

struct fab_conf {
	const struct topology *topology;
	struct fab_routes *routes;
	const struct fab_flows *flows;
	const struct ccs_cc_spec *spec;
	const struct ccs_cc_spec *priority_spec[FAB_PRIORITIES]; /* of their flows; NULL: spec */
	const struct ccs_cc_spec *tenant_spec; /* of tenants 1, 2..., instead of these; NULL: those */
	bool selective;          /* only lost packets are sent again, instead of go-back-N */
	bool shim;               /* libshim/flow between algorithm and NIC, as in the preload */
	struct fab_hosts host;
	struct fab_agents agents;
	struct fab_layer layer;
	double loss;             /* share of measured flows' data packets that links lose */
	uint64_t limit;          /* bytes in a switch's port; 0: as the buffer permits */
	struct fab_wire wire;
	struct fab_buffer buffer;
	struct fab_marking marking;
	const struct fab_marking *priority_marking[FAB_PRIORITIES]; /* without polling; NULL: marking */
	const struct fab_change *change; /* in the order of their times */
	unsigned changes;
	struct fab_watchdog watchdog;
	unsigned ttl;            /* switches that a packet may pass; default FAB_TTL */
	/* Classes by UDP port and DSCP at a packet's first switch, by DSCP at the others; NULL: the
	 * sender's priority. Data and acknowledgements have data_dscp, CNPs and agents' messages 48. */
	const struct ccs_qos *qos;
	unsigned data_dscp;
	const struct fab_queue *queue; /* per priority; NULL: strict priorities without caps */
	unsigned lossless;       /* set of the priorities that are, with PFC: bits 1 << N */
	unsigned ack_priority, cnp_priority;
	double cnp_us;           /* least time between a flow's CNPs */
	double rto_us;
	double base_rtt_us;      /* given to algorithms; 0: each path's RTT */
	uint32_t segment;        /* bytes that the plain driver paces at once; 0: a packet */
	double segment_rate;     /* bit/s within a segment; 0: the NIC's rate */
	uint64_t warm;           /* ps after the first start until ports are measured */
	bool delays;             /* measure the lossless packets' delays from `warm` on */
	uint64_t seed;
	uint64_t end;            /* ps; UINT64_MAX: when all flows are done, which needs paths for all */
	/* Called about four times a second with the progress so far; may be NULL. */
	void (*progress)(uint64_t now, unsigned done, unsigned flows);
};

/* A port's queue of a priority. */
struct fab_queue_result {
	double mean, max;        /* bytes that wait */
	uint64_t drops, marks;
};

/* Measured after `warm`. */
struct fab_port_result {
	double queue_mean, queue_p50, queue_p95, queue_p99, queue_max; /* bytes */
	uint64_t pauses;         /* PAUSE frames with XOFF that it received */
	uint64_t paused_ps;
	uint64_t drops, marks, bytes;
	double utilisation;
	struct fab_queue_result queue[FAB_PRIORITIES];
};

struct fab_flow_result {
	uint64_t fct;            /* ps; UINT64_MAX: not done */
	uint64_t ideal;          /* the same in an empty network */
	uint64_t acked;          /* bytes */
	double rtt_us;           /* the mean; NAN: not known */
};

/* An operation of a group of flows. */
struct fab_operation {
	uint64_t start, length;  /* ps */
};

/* Data packets that were dropped. */
struct fab_drops {
	uint64_t ingress, egress, route, ttl, link, watchdog;
	uint64_t red;            /* instead of marks */
	uint64_t lossless;       /* part of these: lossless packets, for lack of buffer */
};

struct fab_result {
	struct fab_flow_result *flow; /* by id */
	struct fab_port_result *port; /* two of each link */
	uint64_t begin, end;     /* first start, last event */
	uint64_t events, hops;   /* hops: packets over links */
	uint64_t acked;          /* bytes of flows */
	uint64_t sent, received, dropped, under_way; /* data packets */
	uint64_t dropped_control; /* acknowledgements, CNPs and agents' messages */
	struct fab_drops drops;  /* the reasons of `dropped` */
	uint64_t storms;         /* times that the watchdog acted */
	uint64_t deadlock_at;    /* ps, when the first was seen, or UINT64_MAX */
	unsigned deadlocked;     /* ports that are in one in the end */
	uint64_t xoff_cells_min, xoff_cells_max; /* that groups held at XOFF, without headroom */
	uint64_t first_pause;    /* ps, or UINT64_MAX */
	uint64_t pauses, resumes, marks, cnps, retransmitted;
	double cnp_us_sum, cnp_us_max; /* time from the receiver to the sender */
	double headroom_max;     /* bytes in use of one priority group */
	unsigned done;           /* flows */
	/* Those that began after `warm` and have ended, or run at the end and are the longest. */
	struct fab_operation *operation;
	unsigned operations;
	struct ccs_hist *delays; /* ns, if conf->delays is */
	double burst_us[FAB_TENANTS]; /* above a tenant's cap, as time at the cap */
};

/* False with a sentence in err if a switch's buffer is less than its ports' guarantees and headroom;
 * then there is no result. */
bool fab_run(const struct fab_conf *conf, struct fab_result *result, char *err, size_t len);
void fab_result_free(struct fab_result *result);

#endif
