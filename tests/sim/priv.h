/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SIM_PRIV_H
#define CCS_TESTS_SIM_PRIV_H
/* Between the simulator's files. Time is in ps: at 100 Gb/s a byte takes 80. */
#include "base/hist.h"
#include "cc/cc.h"
#include "cc/dcqcn_np.h"
#include "flow/flow.h"
#include "flow/pacer.h"
#include "sim.h"

#define PS_PER_US 1000000ull
#define NEVER UINT64_MAX

struct sim;
struct sim_flow;

struct packet {
	struct sim_flow *flow;
	uint64_t segment;        /* its index among the flow's */
	uint32_t index, len;     /* within the segment */
	bool ce;
};

struct event {
	uint64_t at, order;      /* events of one time fire in the order they were set */
	void (*fire)(struct sim *s, const struct event *e);
	void *who;
	struct packet packet;
};

struct segment {
	uint64_t number;         /* the driver's name for it */
	uint64_t posted;
	uint32_t len, packets;
	struct ccs_cc_hop hop;
};

struct nic {
	struct sim_flow *first, *last; /* that have something to send */
	bool busy;
};

struct port {
	struct packet *queue;    /* ring: [tail, head) */
	uint64_t tail, head, mask;
	uint64_t bytes;          /* waiting */
	struct packet sending;
	bool busy;
	uint64_t tx_bytes;
	uint64_t stamp_tx, stamp_ns, stamp_queue; /* INT of the packet being sent */
	struct ccs_cc_hop read, told; /* by agents: newest, and newest that senders know of */
};

struct sim_flow {
	unsigned index;
	bool live, stays;        /* has data; was there from start to end */
	struct nic *nic;
	struct port *port;
	struct sim_flow *nic_next;
	bool on_nic;

	struct segment *seg;     /* ring: [tail, head) unacknowledged */
	uint64_t tail, head, mask;
	uint64_t tx_segment, rx_segment; /* next to send, next expected */
	uint32_t tx_packet, rx_packet;
	bool nak_sent;
	uint64_t rto_tail;       /* tail at the last look */
	uint64_t acked_at;       /* acks of a flow stay in order */
	struct ccs_dcqcn_np np;

	uint64_t wake_at;        /* of the one event that counts */
	uint64_t delivered;      /* bytes, in order */
	uint64_t at_warm, at_bin;

	struct ccs_cc cc;        /* SIM_BARE */
	uint64_t sent, acked;
	uint64_t paced_at, due_at; /* last release, next one */
	double due_rate;         /* that due_at was computed for */

	struct ccs_flow flow;    /* SIM_SHIM */
	struct ccs_timer timer;
	struct ccs_telemetry telemetry;
	uint64_t arrived;        /* segments completed, also what the owner has not looked at */
	bool will_look;
};

struct driver {
	void (*start)(struct sim *s, struct sim_flow *f);
	void (*wake)(struct sim *s, struct sim_flow *f);
	void (*ack)(struct sim *s, struct sim_flow *f, const struct segment *seg, double noise_us);
	void (*cnp)(struct sim *s, struct sim_flow *f);
	void (*loss)(struct sim *s, struct sim_flow *f);
	void (*stop)(struct sim_flow *f);
};

extern const struct driver sim_bare, sim_shim;

struct sim {
	const struct sim_conf *conf;
	const struct driver *driver;
	struct ccs_cc_spec spec;
	uint64_t now, order, random;
	uint64_t wire1, wire2, back; /* NIC to port, port to receiver, receiver to sender */

	struct event *heap;
	unsigned events, heap_room;

	unsigned total, live;
	struct sim_flow *flow;
	struct nic *nic;
	struct port *port;
	struct ccs_pacer *wheel;
	uint64_t wheel_at;

	struct ccs_hist rtt, queue;
	struct sim_result *result;
};

/* event.c */
void sim_at(struct sim *s, uint64_t at, void (*fire)(struct sim *, const struct event *),
	    void *who, const struct packet *p);
bool sim_pop(struct sim *s, struct event *e);
double sim_draw(struct sim *s);   /* [0, 1) */
void *sim_grown(void *ring, uint64_t tail, uint64_t head, uint64_t *mask, size_t size);

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

/* port.c */
void sim_arrive(struct sim *s, const struct event *e);
/* Every record_us from now on. */
void sim_read_port(struct sim *s, const struct event *e);
/* What a segment's acknowledgement, or an agent by then, tells; 0 links if nothing does. */
unsigned sim_telemetry(const struct sim *s, const struct sim_flow *f, const struct segment *seg,
		       struct ccs_cc_hop *hop);

/* host.c */
void sim_post(struct sim *s, struct sim_flow *f, uint32_t len, uint64_t number);
void sim_receive(struct sim *s, const struct packet *p, uint64_t at);
void sim_watch_losses(struct sim *s, struct sim_flow *f);
double sim_nic_rate(const struct sim *s);

/* measure.c */
void sim_measure_start(struct sim *s);
void sim_measure_end(struct sim *s);
void sim_measure_rtt(struct sim *s, double us);

/* driver helpers: one pending wake-up per flow */
void sim_wake_at(struct sim *s, struct sim_flow *f, uint64_t at);

#endif
