/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_STAR_PRIV_H
#define BENCH_SIM_STAR_PRIV_H
/*
 * The hosts of the star, on a network of bench/sim/fabric. All packets have priority 0. The number
 * `seq` of a packet is the index of its segment within the flow, and `sack` the index of the packet
 * within the segment. A returned packet has the first segment and packet that are not acknowledged.
 */
#include "base/hist.h"
#include "base/timer_wheel.h"
#include "bench/sim/core/shim.h"
#include "bench/sim/fabric/priv.h"
#include "cc/advice.h"
#include "cc/cc.h"
#include "sim.h"

#define STAR_READS 16          /* default of rdma_cm and ccbench */

struct star;

/* A function to be called at a time. */
struct call {
	void (*function)(struct star *s, void *who);
	void *who;
	uint32_t next;           /* next unused call; 0: none */
};

struct segment {
	uint64_t posted;
	uint64_t first;          /* of its packets, counted from the flow's first */
	uint32_t len, packets;
	struct ccs_cc_hop hop;
};

/* A measured port of the switch, to a host that receives data. */
struct star_port {
	struct port *port;
	unsigned live;           /* flows */
	struct ccs_cc_hop read, sent; /* by agents: newest, and newest that senders have received */
	struct ccs_advice advice;
	double advised;          /* bit/s, as it was last sent to the senders */
	uint64_t advised_at;
};

struct star_flow {
	unsigned index;          /* the number of its flow of the network, too */
	bool live, stays;        /* has data; was active from start to end */
	bool apart;              /* a rival or the victim, whose statistics are separate */
	const struct star_driver *driver;
	enum sim_op op;
	uint32_t nic, back_nic;  /* ports of the host that has the data, and of the other host */
	struct star_port *to;    /* the switch's port to the other host */
	uint64_t wire, back;     /* delay of the data to the switch; of all returned packets */
	uint32_t in_nic;         /* packets in its queue */
	bool feeding;
	uint64_t posted_packets, acked_packets;

	struct segment *seg;     /* ring: [tail, head) unacknowledged */
	uint64_t tail, head, mask;
	uint64_t ready;          /* may be sent up to this one: of a READ once it is requested */
	uint64_t tx_segment, rx_segment; /* next to send, next expected */
	uint32_t tx_packet, rx_packet;
	bool nak_sent;
	uint64_t rto_seen;       /* progress at the last check */
	uint64_t acked_at;       /* acks of a flow stay in order */
	struct ccs_dcqcn_np np;

	uint64_t seen_at;        /* its last packet at the port; 0: none yet */
	double advised;          /* bit/s, in the newest message; 0: none yet */

	uint64_t wake_at;        /* time of the valid call */
	uint64_t delivered;      /* bytes, in order */
	uint64_t at_warm, at_bin;

	struct {                 /* SIM_BARE */
		struct ccs_cc cc;
		uint64_t sent, acked;
		uint64_t paced_at, due_at; /* last release, next one */
		double due_rate; /* the rate that due_at was computed for */
	} bare;

	struct shim shim;        /* SIM_SHIM */
	struct ccs_timer timer;
	struct {
		uint64_t arrived; /* bytes completed, including those not polled yet */
		bool due;        /* the next poll is scheduled */
	} poll;

	uint32_t message;        /* SIM_PLAIN */
	unsigned depth;
};

struct star_driver {
	void (*start)(struct star *s, struct star_flow *f);
	void (*ack)(struct star *s, struct star_flow *f, const struct segment *seg,
		    double rtt_jitter_us);
	/* NULL: the event makes no difference. */
	void (*wake)(struct star *s, struct star_flow *f);
	void (*cnp)(struct star *s, struct star_flow *f);
	void (*loss)(struct star *s, struct star_flow *f);
	void (*advise)(struct star *s, struct star_flow *f);
	void (*stop)(struct star_flow *f);
};

extern const struct star_driver star_bare, star_shim, star_plain;

/* The configuration and the result of a network. */
struct network {
	struct topology topology;
	struct fab_routes routes;
	struct fab_flows flows;
	struct fab_conf conf;
	struct fab_result result;
};

struct star {
	struct sim net;          /* the first member */
	struct network *network;
	const struct sim_conf *conf;
	struct ccs_cc_spec spec;
	uint64_t wire2, back;    /* port to receiver, receiver to sender */

	struct call *call;
	uint32_t calls, unused_call; /* length of the array, first unused call */

	unsigned total;          /* flows, without the victim, which is the last */
	/* hosts that send; ports that are measured; all hosts */
	unsigned sources, ports, hosts;
	struct star_flow *flow;
	struct star_port *port;
	uint64_t *received;      /* bytes, by port of the network */
	struct ccs_timer_wheel *wheel;
	uint64_t wheel_at;

	struct ccs_hist rtt, queue, victim;
	struct sim_result *result;
};

static inline uint64_t star_ps(double us)
{
	return (uint64_t)(us * 1e6 + 0.5);
}

/* Serialisation. */
static inline uint64_t star_ser(uint64_t bytes, double rate)
{
	return (uint64_t)(8e12 * (double)bytes / rate + 0.5);
}

static inline double port_rate(const struct port *p)
{
	return 8e12 / p->ps_per_byte;
}

/* events.c */
extern void (*const star_handler[])(struct sim *net, uint32_t number);
void star_at(struct star *s, uint64_t at, void (*function)(struct star *s, void *who), void *who);
void star_line(struct sim *net, uint32_t port, uint32_t packet);
/* Call the driver's wake() at this time or earlier: a flow has one pending wake-up. */
void star_wake_at(struct star *s, struct star_flow *f, uint64_t at);

/* place.c: the network, and the hosts of the flows' ends */
void star_build(struct star *s);
void star_demolish(struct star *s);

/* agent.c: the agent of a port */
/* Read it every record_us from now on. */
void star_read_port(struct star *s, void *port);
/* The telemetry in a segment's acknowledgement, or the newest from an agent; 0 links if there
 * is none. */
unsigned star_telemetry(const struct star *s, const struct star_flow *f, const struct segment *seg,
			struct ccs_cc_hop *hop);
void star_receive_advice(struct star *s, struct star_flow *f, double rate);
/* A flow requests advice before it sends. */
void star_advise_newcomer(struct star *s, struct star_flow *f);

/* nic.c */
void star_feed(struct star *s, struct star_flow *f);  /* the flow may have more to send */
void star_sent(struct sim *net, uint32_t packet);     /* a packet has left a NIC's FIFO */
double star_nic_rate(const struct star *s);

/* host.c */
void star_post(struct star *s, struct star_flow *f, uint32_t len);
void star_receive(struct sim *net, uint32_t port, uint32_t packet);
bool star_admit(struct sim *net, uint32_t packet);     /* the switch gets it */
void star_send_back(struct sim *net, uint32_t packet); /* to the host that has the data */
void star_return(struct sim *net, uint32_t packet);    /* it has arrived there */
void star_watch_losses(struct star *s, struct star_flow *f);
double star_rto_us(const struct star *s);

/* measure.c */
void star_measure_start(struct star *s);
void star_measure_end(struct star *s);
void star_measure_rtt(struct star *s, const struct star_flow *f, double us);

#endif
