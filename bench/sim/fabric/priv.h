/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_PRIV_H
#define BENCH_SIM_PRIV_H
/* The simulator's state, and the functions that its files share. */
#include "bench/common/rng.h"
#include "cc/dcqcn_np.h"
#include "flow/control_state.h"
#include "bench/sim/core/event.h"
#include "fabric.h"
#include "fabric/marking.h"
#include "fabric/mmu.h"
#include "posts.h"
#include "ranges.h"

#define NEVER UINT64_MAX
enum { CONTROL = FAB_PRIORITIES, QUEUES };  /* PAUSE frames go before all priorities */

/* Kinds of events; the number of a port, a flow or a packet is above them. CHANGE has 0 for a change of
 * the network, or a number of the scenario's. The functions for them
 * are in sim.c, and get this number, or 0. */
enum event {
	ARRIVE, FREE, DUE, TIMER, TIMEOUT, START, CHANGE, WATCH, RECORD, WARM, PAUSED, SHAPED, CREDITS, HELD,
	ANNOUNCE,
};

enum { KIND_BITS = EVENT_KIND_BITS };

/* Those up to ASK go from the sender to the receiver. */
enum kind { DATA, HELLO, ASK, ACK, NAK, CNP, PAUSE, ADVICE, CREDIT, REQUEST };

/* A cache line. */
struct packet {
	_Alignas(64) uint64_t sent; /* by the source; of an acknowledgement, its packet's */
	/* first byte; of acknowledgements, the next that is expected; of advice, bit/s; of credit,
	 * the bytes that may be sent */
	uint64_t seq;
	uint64_t sack;           /* of acknowledgements: first byte of the packet */
	uint64_t next_at;        /* on a line: when the last bit of `next` arrives */
	uint32_t next;           /* the next in a queue or on a line, or 0 */
	uint32_t flow;
	uint32_t port;           /* by which it came into the switch */
	uint32_t record;         /* telemetry, or 0 */
	uint32_t len;            /* bytes on the line */
	uint32_t payload;        /* bytes of the flow; of advice, the number of flows */
	uint8_t kind, priority, ttl, dscp;
	bool ect;                /* can be marked; if not, it is dropped instead */
	bool ce;                 /* of PAUSE: XOFF */
	bool asks;               /* for an acknowledgement */
};

struct sim;

struct record {
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	unsigned n;
	uint32_t next;
};

struct fifo {
	uint32_t first, last;    /* flows */
};

/* Lengths of a queue over time; a bucket is an eighth of a doubling. */
enum { LEVELS = 8 * 40 };

/* A priority's queue. */
struct queue_stats {
	struct ccs_red red;
	uint64_t drops, marks;
	uint64_t watched_at;     /* when it was last not paused; during a storm, paused */
};

/* Members of a port that not every packet needs. */
struct port_stats {
	struct queue_stats queue[FAB_PRIORITIES];
	struct ccs_polled_queue average[FAB_PRIORITIES];
	uint64_t pauses, paused_at, paused_ps, drops, marks;
	double deficit[FAB_PRIORITIES]; /* bytes */
	unsigned turn;           /* the queue whose turn it is */
	uint64_t shaped[FAB_PRIORITIES]; /* the queue's cap allows no packet before */
	uint64_t received;       /* bytes of data, by the host at the link's end */
	uint64_t warm_tx;        /* tx_bytes when the measurement began */
	uint64_t watched_tx;     /* tx_bytes at the last search for deadlocks */
};

struct queue {
	uint64_t area;           /* bytes * (ps >> 10), modulo 2^64 */
	uint32_t first, last;    /* packets */
	uint32_t waiting, max;   /* bytes */
};

/* One direction of a link: the sender's queues, its transmitter, and the line. A packet that does
 * not wait needs the first cache line alone; one that waits, also the second and its queue's. */
struct port {
	_Alignas(64) uint64_t free_at; /* the transmitter is busy before */
	double ps_per_byte;
	uint64_t delay;
	uint64_t tx_bytes;
	uint32_t peer;
	uint32_t bytes;          /* in the queues */
	uint32_t max_bytes;
	uint32_t on_line;        /* the last packet on the line; 0: it is empty */
	uint16_t ready, paused;  /* queues that are not empty, that are paused: a bit each */
	bool due;                /* FREE is set for free_at */
	bool of_host, to_host, down;
	uint8_t marks;           /* priorities that are marked: a bit each */
	uint8_t storm, ignored;  /* priorities on which the watchdog acts; whose pauses it ignores */
	uint32_t node;
	uint64_t changed;        /* when bytes last did, ps */
	double area, *level;     /* bytes * ps; ps at each level */
	struct queue queue[QUEUES];
	uint32_t flows;          /* a host's flows in `sending` */
	struct fifo sending;     /* flows that may send */
};

/* Where the packets of a flow, or the packets that come back, leave the switches of their path: a cache
 * line. A place is for several flows; `of` says whose path it has. */
enum { PATH_HOPS = 7, PATHS = 4096 };

struct path {
	_Alignas(64) uint32_t of; /* 2 * flow + 1, and 1 more if they come back, or 0 */
	struct path_hop {
		uint32_t node, port;
	} hop[PATH_HOPS];
};

enum state { BLOCKED, TIMED, SENDING };

struct flow {
	const struct fab_flow_spec *spec;
	const struct driver *driver;
	union {                  /* the driver's, while the flow is active */
		void *control;
		struct shim_state *shim;
		struct tcp *tcp;
		struct eqds *eqds;
		struct nscc *nscc;
		struct messages *messages;
		struct plain *plain;
	};
	uint64_t size;           /* bytes; less if it leaves before its end */
	uint64_t handed;         /* bytes that a driver has handed to the NIC, or requested by READs */
	uint64_t posted;         /* bytes that the NIC may send */
	struct posts posts;      /* segments that are not acknowledged, if these are acknowledged whole */
	struct {
		uint32_t queued, unacked; /* packets in the NIC's queue; that are not acknowledged */
		bool feeding;
	} nic;
	uint64_t snd_nxt, snd_una, rcv_nxt;
	/* Selective repeat: what the receiver has beyond rcv_nxt, and has acknowledged; holes
	 * below `resend` are sent again already, until recover_until is acknowledged. */
	struct fab_ranges have, sacked;
	uint64_t resend, recover_until;
	uint64_t lost_end;       /* holes above are not lost yet; NEVER: all are */
	struct {
		uint64_t sum, acks; /* ps */
	} rtt;
	uint64_t una_at_timeout; /* snd_una when progress was last checked */
	uint64_t sent_at;        /* the newest packet, or NEVER */
	uint64_t segment_at;     /* the first packet of its segment, or that was posted */
	uint64_t acked_at;       /* the receiver's newest acknowledgement */
	uint64_t due_at, timer_at; /* of the events that are set, or NEVER */
	uint32_t next;           /* in the NIC's list */
	uint32_t port, port_back; /* the NIC's, and its receiver's on the way back */
	uint32_t src, dst;       /* hosts */
	struct {
		uint32_t next;   /* in its list: flow + 1, or 0 */
		uint32_t port;   /* its port, once it has the announcement */
	} agent;                 /* the receiver's */
	struct fab_key key[2];   /* of its packets, and of packets that come back */
	uint8_t state;
	bool nak_sent;
	bool selective;          /* the receiver keeps what follows a gap */
	bool echoes;             /* acknowledgements carry marks, instead of CNPs */
	bool telemetry;          /* packets carry records */
	bool ect;                /* of its packets */
	uint8_t dscp, ack_priority;
	struct ccs_dcqcn_np np;
	double base_us;
};

/* A driver decides when a flow's bytes go to the NIC. */
struct driver {
	size_t size;             /* of its state of a flow, which is zero before start() */
	bool is_tcp;             /* with recovery and timeouts that the driver does itself */
	bool echoes;             /* needs marks in acknowledgements */
	void (*start)(struct sim *s, struct flow *f);
	/* Data that are posted, or lost and to be sent again; NULL: always. */
	bool (*may_send)(const struct sim *s, const struct flow *f, bool lost);
	/* The time of the next packet; 0: at once. NULL: always at once. */
	uint64_t (*due)(const struct sim *s, const struct flow *f);
	/* A packet leaves; NULL: it makes no difference. */
	void (*sent)(struct sim *s, struct flow *f, uint32_t bytes);
	void (*ack)(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked);
	void (*cnp)(struct sim *s, struct flow *f);
	void (*loss)(struct sim *s, struct flow *f);
	/* NULL: the driver cannot follow advice. */
	void (*advice)(struct sim *s, struct flow *f, const struct packet *k);
	void (*timer)(struct sim *s, struct flow *f);
	void (*stop)(struct flow *f); /* NULL: its state has no memory besides */
	void (*ready)(struct sim *s, struct flow *f); /* flow_ready() has changed */
	/* Data have arrived at the receiver, by this port; NULL: does not matter. */
	void (*received)(struct sim *s, uint32_t port, struct flow *f);
};

/* Bytes of a segment, or of a message that is not split; 0: without flow layer, or the flow is
 * done. */
double flow_segment(const struct flow *f);
/* The flow layer's opinion of its control; CCS_CONTROL_OK without. */
enum ccs_control flow_control(const struct flow *f);

extern const struct driver plain_driver, shim_driver, message_driver, credit_driver, nscc_driver,
			   tcp_driver;

struct sim {
	const struct fab_conf *conf;
	void (*const *handler)(struct sim *s, uint32_t number); /* of events, by enum event */
	/* Called for its changes, and for segments that are acknowledged; may be NULL. */
	struct {
		void (*change)(struct sim *s, uint32_t number);
		void (*acked)(struct sim *s, const struct flow *f, const struct post *post);
	} scenario;
	struct fab_result *result;
	struct event_queue events;
	uint64_t now;
	struct rng random;

	const struct fab_routes **routes; /* in force at each node */
	struct path *path;       /* some that follow from them, by flow */
	struct fab_routes *converged; /* after each change of them */
	unsigned changes, convergences; /* done so far */
	bool *failed;            /* links */

	struct port *port;
	struct port_stats *stats; /* of each port */
	unsigned ports;
	struct flow *flow;
	unsigned started;
	unsigned *live;          /* flows to each node */

	struct packet *packet;
	uint32_t packets, free_packet;
	struct record *record;
	uint32_t records, free_record;

	struct agent **agent;    /* of the receiver at each port, or NULL until then */
	struct {
		double rtt_us;
		struct caps *caps; /* NULL: no tenant has a cap */
	} agents;

	struct order *order;     /* NULL: no flow waits for others */
	struct credits *credits; /* NULL: no receiver has given any yet */

	double slowest;          /* ps per byte, of all ports */
	struct {
		uint64_t hops, moved_at;
	} watched;               /* the last search for deadlocks, the last movement */
	bool over;
	uint64_t measured_from;
	struct ccs_hist *delays; /* NULL: not measured */

	bool has_mmu;
	struct ccs_mmu *mmu;     /* per node */
	struct ccs_mmu_account *group, *queue; /* per port and priority: where it receives, sends */
	uint32_t *cells;         /* of a packet of each length */
	uint64_t headroom_max;   /* cells */
};

static inline struct port_stats *stats_of(const struct sim *s, const struct port *p)
{
	return &s->stats[p - s->port];
}

static inline uint32_t flow_number(const struct sim *s, const struct flow *f)
{
	return (uint32_t)(f - s->flow);
}

static inline void set_event(struct sim *s, uint64_t at, enum event kind, uint32_t number)
{
	event_queue_set(&s->events, at, number << KIND_BITS | kind, 0);
}

static inline uint64_t ps_of(double us)
{
	return (uint64_t)(us * FAB_PS_PER_US);
}

static inline double us_of(uint64_t ps)
{
	return (double)ps / FAB_PS_PER_US;
}

static inline uint64_t after(const struct sim *s, double ps)
{
	return s->conf->wire.whole_ns ? (uint64_t)(ps * 1e-3 + 1e-9) * 1000 : (uint64_t)(ps + 0.5);
}

/* The algorithm of a priority's flows. */
static inline const struct ccs_cc_spec *algorithm_of(const struct sim *s, unsigned priority)
{
	const struct ccs_cc_spec *own = s->conf->priority_spec[priority];

	return own ? own : s->conf->spec;
}

/* True if the flows of the priority need telemetry records in their packets. */
static inline bool wants_telemetry(const struct sim *s, unsigned priority)
{
	return algorithm_of(s, priority)->ops->needs & CCS_NEEDS_TELEMETRY && !s->conf->agents.present;
}

static inline bool is_lossless(const struct sim *s, unsigned priority)
{
	return s->conf->lossless >> priority & 1;
}

/* sim.c: for scenarios that use the state of a run; fab_run() is begin, network_run() and end */
bool fab_begin(struct sim *s, const struct fab_conf *conf, struct fab_result *r, char *err, size_t len);
void fab_end(struct sim *s);

/* network.c */
bool network_init(struct sim *s, const struct fab_conf *conf, struct fab_result *r, char *err,
		  size_t len);
void network_run(struct sim *s);
void network_pause(struct sim *s, uint32_t packet); /* a PAUSE frame takes effect */
void network_finish(struct sim *s);

/* packet.c */
uint32_t new_packet(struct sim *s);
/* A packet without data, which has the length and the priority of a CNP. */
uint32_t new_control(struct sim *s, const struct flow *f, enum kind kind);
void free_packet(struct sim *s, uint32_t i);
uint32_t new_record(struct sim *s);
void free_record(struct sim *s, uint32_t i);

/* port.c */
void port_put(struct sim *s, uint32_t port, uint32_t packet); /* into its queue */
void port_pass(struct sim *s, uint32_t port, uint32_t packet); /* through an idle port */
void port_kick(struct sim *s, uint32_t port); /* there may be something to send */
void port_send(struct sim *s, uint32_t port, uint32_t packet); /* on the idle line */
void port_arrived(struct sim *s, uint32_t port, uint32_t packet); /* it leaves the line */
void port_free(struct sim *s, uint32_t port); /* the transmitter is idle */
void port_pause(struct sim *s, uint32_t port, unsigned priority, bool xoff);
void port_warm(struct sim *s, uint32_t port); /* begin to measure */
void port_finish(struct sim *s, uint32_t port, struct fab_port_result *r);

/* Whether k can leave at once. */
static inline bool port_idle(const struct sim *s, uint32_t port, const struct packet *k)
{
	const struct port *p = &s->port[port];

	return p->free_at <= s->now && !p->ready && !p->due && !p->down &&
	       !((p->paused | p->storm) & 1u << k->priority);
}

/* Drop what waits in a queue, for this reason. */
void port_flush(struct sim *s, uint32_t port, unsigned q, uint64_t *reason);
void drop_packet(struct sim *s, uint32_t port, uint32_t packet, uint64_t *reason);

/* schedule.c; which of these queues sends next; QUEUES: no queue may */
unsigned schedule(struct sim *s, uint32_t port, unsigned ready);

/* From the receiver to the sender. */
static inline bool goes_back(const struct packet *k)
{
	return k->kind > ASK;
}

/* The place of the path of the packet's flow. */
static inline struct path *path_of(const struct sim *s, const struct packet *k)
{
	return &s->path[(2 * k->flow + goes_back(k)) % PATHS];
}

/* changes.c */
void changes_init(struct sim *s);
void changes_apply(struct sim *s, uint32_t number); /* apply the changes that are due */
void changes_free(struct sim *s);

/* agent.c; port: by which the receiver's packets reach it */
/* Tenants' caps: the flow's, or NULL; its rate, bit/s, or 0; bytes were handed to the NIC. */
void caps_init(struct sim *s);
struct ccs_cap *caps_of(const struct sim *s, const struct flow *f);
double caps_rate(const struct sim *s, const struct flow *f);
void caps_sent(struct sim *s, const struct flow *f, uint32_t len);
void caps_free(struct sim *s);

void agents_init(struct sim *s);
void agent_join(struct sim *s, uint32_t port, uint32_t flow);
void agent_read(struct sim *s, uint32_t port);
/* A message of an agent has arrived at a sender, and is for all its flows to that agent. */
void agent_message(struct sim *s, const struct packet *k);
void agents_free(struct sim *s);

/* watch.c: deadlocks, and the watchdog against them */
void watch_init(struct sim *s);
void watch(struct sim *s, uint32_t number);

/* switch.c */
bool switch_init(struct sim *s, char *err, size_t len);
void switch_receive(struct sim *s, uint32_t port, uint32_t packet);
/* The port by which packets of the flow leave the node, from the tables, or FAB_NO_PORT; back: packets
 * to its sender. */
uint32_t switch_look_up(const struct sim *s, unsigned node, const struct flow *f, bool back);
void switch_free(struct sim *s);
/* The link by whose port the node receives is back: pause its peer again. */
void switch_restore(struct sim *s, uint32_t port);
void switch_release(struct sim *s, uint32_t port, const struct packet *p);

/* place.c */
void place_flows(struct sim *s);

/* order.c; flow_ready: bytes that the flow's application has posted so far */
void orders_init(struct sim *s);
void order_received(struct sim *s, uint32_t flow);
void order_resume(struct sim *s, uint32_t group); /* after its pause */
uint64_t flow_ready(const struct sim *s, const struct flow *f);
void order_finish(struct sim *s); /* record operations that still run */
void orders_free(struct sim *s);

/* driver_credit.c; port: by which the receiver's, or the sender's, packets reach it */
void credits_give(struct sim *s, uint32_t port);
void credits_receive(struct sim *s, uint32_t port, const struct packet *k);
void credits_free(struct sim *s);

/* host.c */
void send_control(struct sim *s, uint32_t port, const struct flow *f, enum kind kind, uint64_t seq);
bool host_send(struct sim *s, uint32_t port); /* a packet of a flow, if one may send */
void host_receive(struct sim *s, uint32_t port, uint32_t packet);
void host_held(struct sim *s, uint32_t packet); /* it leaves a host that was late */
void flow_start(struct sim *s, struct flow *f);
void flow_announce(struct sim *s, struct flow *f); /* it is about to send */
void flow_due(struct sim *s, uint32_t flow);
void flow_timer(struct sim *s, uint32_t flow);
void flow_timeout(struct sim *s, uint32_t flow);
void flow_stop(struct flow *f); /* frees what its driver has */
void flow_post(struct sim *s, struct flow *f); /* all that its application has posted */
/* A driver hands the next segment to the NIC, and calls flow_update() after the last. */
void flow_hand(struct sim *s, struct flow *f, uint32_t len);
void flow_leave(struct sim *s, struct flow *f); /* it ends with the bytes that the NIC has */
void host_sent(struct sim *s, uint32_t flow); /* a packet has left the NIC's queue */
/* For drivers: something has changed by which the flow may have to wait, or may not any more. */
void flow_update(struct sim *s, struct flow *f);
void flow_set_timer(struct sim *s, struct flow *f, uint64_t at);
bool flow_is_done(const struct flow *f);
struct ccs_cc_path flow_path(const struct sim *s, const struct flow *f);

#endif
