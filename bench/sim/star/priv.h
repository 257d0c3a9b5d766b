/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_STAR_PRIV_H
#define BENCH_SIM_STAR_PRIV_H
/*
 * Internal structures and functions of the simulator. Time is in ps: at 100 Gb/s a byte takes
 * 80.
 */
#include "bench/common/rng.h"
#include "bench/sim/core/event.h"
#include "bench/sim/core/shim.h"
#include "base/hist.h"
#include "cc/advice.h"
#include "cc/cc.h"
#include "cc/dcqcn_np.h"
#include "base/timer_wheel.h"
#include "sim.h"

#define PS_PER_US 1000000ull
#define NEVER UINT64_MAX
#define SIM_READS 16           /* rdma_cm's and ccbench's default */

struct sim;
struct sim_flow;

/* Kinds of packets other than data from the receiver of the data. */
enum kind { DATA, ACK, NAK, REQUEST };

struct packet {
	struct sim_flow *flow;
	uint64_t segment; /* index within the flow; else the first segment not acknowledged */
	/* within the segment; of returned packets, the first not acknowledged */
	uint32_t index, len;
	uint8_t kind;
	bool ce;
};

struct event {
	uint64_t at;             /* events of equal time fire in the order in which they were set */
	void (*fire)(struct sim *s, const struct event *e);
	void *who;
	struct packet packet;
	uint32_t next;           /* next unused event; 0: none */
};

struct segment {
	uint64_t posted;
	uint64_t first;          /* of its packets, counted from the flow's first */
	uint32_t len, packets;
	struct ccs_cc_hop hop;
};

struct ring {
	struct packet *packet;   /* [tail, head) */
	uint64_t tail, head, mask;
};

struct nic {
	struct ring queue;
	bool busy;
};

struct port {
	double rate;
	unsigned live;           /* flows */
	struct ring queue;
	uint64_t bytes;          /* waiting */
	struct packet sending;
	bool busy;
	uint64_t tx_bytes;
	uint64_t stamp_tx, stamp_ns, stamp_queue; /* INT of the packet being sent */
	struct ccs_cc_hop read, sent; /* by agents: newest, and newest that senders have received */
	struct ccs_advice advice;
	double advised;          /* bit/s, as it was last sent to the senders */
	uint64_t advised_at;
};

struct sim_flow {
	unsigned index;
	bool live, stays;        /* has data; was active from start to end */
	bool apart;              /* a rival or the victim, whose statistics are separate */
	const struct driver *driver;
	enum sim_op op;
	struct nic *nic, *back_nic;      /* of the host that has the data, and of the other host */
	struct port *port, *back_port;   /* to the other host, and back */
	uint64_t wire, back;     /* of the data to the port; of all returned packets */
	uint32_t in_nic;         /* packets in its FIFO */
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

	uint64_t wake_at;        /* sequence number of the valid event */
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

struct driver {
	void (*start)(struct sim *s, struct sim_flow *f);
	void (*ack)(struct sim *s, struct sim_flow *f, const struct segment *seg, double rtt_jitter_us);
	/* NULL: the event makes no difference. */
	void (*wake)(struct sim *s, struct sim_flow *f);
	void (*cnp)(struct sim *s, struct sim_flow *f);
	void (*loss)(struct sim *s, struct sim_flow *f);
	void (*advise)(struct sim *s, struct sim_flow *f);
	void (*stop)(struct sim_flow *f);
};

extern const struct driver sim_bare, sim_shim, sim_plain;

struct sim {
	const struct sim_conf *conf;
	struct ccs_cc_spec spec;
	uint64_t now;
	struct rng random;
	uint64_t wire2, back;    /* port to receiver, receiver to sender */

	struct event_queue pending;
	struct event *event;
	uint32_t events, unused_event; /* length of the array, first unused event */

	unsigned total;          /* flows, without the victim behind them */
	/* hosts that send; ports that are measured; all hosts or ports */
	unsigned sources, ports, ends;
	struct sim_flow *flow;
	struct nic *nic;
	struct port *port;
	struct ccs_timer_wheel *wheel;
	uint64_t wheel_at;

	struct ccs_hist rtt, queue, victim;
	struct sim_result *result;
};

/* event.c */
void sim_at(struct sim *s, uint64_t at, void (*fire)(struct sim *, const struct event *),
	    void *who, const struct packet *p);
bool sim_pop(struct sim *s, struct event *e);
/* Call the driver's wake() at this time or earlier: a flow has one pending wake-up. */
void sim_wake_at(struct sim *s, struct sim_flow *f, uint64_t at);
void *sim_grown(void *ring, uint64_t tail, uint64_t head, uint64_t *mask, size_t size);

static inline void sim_push(struct ring *r, const struct packet *p)
{
	r->packet = sim_grown(r->packet, r->tail, r->head, &r->mask, sizeof(*p));
	r->packet[r->head++ & r->mask] = *p;
}

/* The ring must not be empty. */
static inline struct packet sim_take(struct ring *r)
{
	return r->packet[r->tail++ & r->mask];
}

static inline uint64_t sim_ps(double us)
{
	return (uint64_t)(us * 1e6 + 0.5);
}

static inline double sim_us(uint64_t ps)
{
	return (double)ps / 1e6;
}

/* Serialisation. */
static inline uint64_t sim_ser(uint64_t bytes, double rate)
{
	return (uint64_t)(8e12 * (double)bytes / rate + 0.5);
}

/* place.c: the hosts of a flow's ends */
void sim_place_all(struct sim *s);
void sim_place(struct sim *s, struct sim_flow *f);

/* nic.c */
void sim_feed(struct sim *s, struct sim_flow *f);  /* the flow may have more to send */
void sim_leave(struct sim *s, const struct event *e); /* the packet leaves through e's NIC */
double sim_nic_rate(const struct sim *s);
double sim_rto_us(const struct sim *s);

/* port.c */
void sim_arrive(struct sim *s, const struct event *e);
/* Take a record every record_us from now on. */
void sim_read_port(struct sim *s, const struct event *e);
/*
 * The telemetry in a segment's acknowledgement, or the newest from an agent; 0 links if there
 * is none.
 */
unsigned sim_telemetry(const struct sim *s, const struct sim_flow *f, const struct segment *seg,
		       struct ccs_cc_hop *hop);

/* advice.c */
/* Called when a record of the port was taken. A flow requests advice before it sends. */
void sim_advise(struct sim *s, struct port *port);
void sim_advise_newcomer(struct sim *s, struct sim_flow *f);

/* host.c */
void sim_post(struct sim *s, struct sim_flow *f, uint32_t len);
void sim_receive(struct sim *s, const struct packet *p, uint64_t at);
void sim_return(struct sim *s, const struct event *e); /* a returned packet has arrived */
void sim_watch_losses(struct sim *s, struct sim_flow *f);

/* measure.c */
void sim_measure_start(struct sim *s);
void sim_measure_end(struct sim *s);
void sim_measure_rtt(struct sim *s, const struct sim_flow *f, double us);

#endif
