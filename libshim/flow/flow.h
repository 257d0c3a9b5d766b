/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FLOW_H
#define CCS_FLOW_H
/*
 * A flow: the send side of one queue pair under congestion control, without verbs, clock or locks.
 *
 * The caller accepts work requests, asks which segment may be handed to the device now, and
 * reports completions. Time is an argument (ns, any monotonic origin). The caller serialises all
 * calls on one flow.
 *
 *   accept -> [send queue] -> next: gate open? -> [segments in flight] -> complete
 *
 * A WR is a work request of the application, a segment is one WQE handed to the device. Both are
 * numbered from 0 in order; their entry in the ring is the number modulo the ring's size. The
 * gate is the decision whether a segment may leave: the window and pacing.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ccshim/stats.h>

#include "cc/cap.h"
#include "cc/cc.h"
#include "flow/base_rtt.h"
#include "flow/control_state.h"
#include "flow/pacing.h"
#include "flow/rtt_outlier.h"
#include "flow/slow_start.h"

enum ccs_wr_flag {
	CCS_WR_SPLIT = 1 << 0,    /* may be handed over in segments */
	CCS_WR_READ = 1 << 1,     /* counts as an outstanding READ (or atomic) */
	CCS_WR_SIGNALED = 1 << 2, /* the application asked for a completion on success */
	CCS_WR_RECV = 1 << 3,     /* consumes a receive: its RTT may include an RNR wait */
	CCS_WR_NO_DEFER = 1 << 4, /* for the caller: it does not wait for the gate */
	CCS_WR_WHOLE = 1 << 5,    /* in a segment: a whole signalled WR, not timed */
	CCS_WR_IN_RUN = 1 << 6,   /* in a segment: a whole WR whose entry is not filled (run.h) */
	CCS_WR_IMM = 1 << 7,      /* for the caller: it carries immediate data */
};

struct ccs_wr {
	uint64_t len;
	uint32_t flags;
	bool reported;           /* a failure of it was delivered */
	uint64_t id;             /* this and source belong to the caller, who sets them at once */
	const void *source;
};

struct ccs_seg {
	uint64_t wr;             /* number of its WR */
	uint64_t offset, len;    /* bytes within the WR */
	union {
		uint64_t post_ns; /* when it was handed over; only if it is timed */
		uint64_t id;      /* of its WR; only with CCS_WR_WHOLE */
	};
	uint64_t depart_ns;      /* when a NIC at line rate has sent its last byte; 0: not timed */
	uint32_t flags;          /* of its WR */
	bool first, last;        /* of its WR */
	bool signal;             /* ask the device for a completion */
	bool internal;           /* and the application does not get it */
};

enum ccs_flow_state {
	CCS_FLOW_RUN,
	CCS_FLOW_SQD,            /* send queue drained state: emit nothing */
	CCS_FLOW_FLUSH,          /* the QP failed: emit all, the device flushes it */
};

/* Called with each event that the flow's algorithm gets; must not keep pointers into it. */
struct ccs_flow;
struct ccs_cc_event;
typedef void ccs_flow_sink(const struct ccs_flow *f, const struct ccs_cc_event *event);

/* The user's settings; 0: automatic. */
struct ccs_flow_config {
	double line_rate;        /* bit/s, never 0 */
	double max_rate;         /* bit/s, INFINITY: no limit */
	double base_rtt_us;
	double rtt_jitter_us;    /* p95 of what hosts add to the RTT */
	double clock_cost_us;    /* what reading the clock takes */
	int64_t epoch_ns;        /* UTC less the flow's clock */
	double segment;          /* bytes */
	double max_inflight;     /* bytes outstanding */
	bool split, enforce;
	uint64_t seed;           /* the pacing jitter's */
	ccs_flow_sink *sink;     /* NULL: none */
};

struct ccs_flow_stats {
	uint64_t bytes, wrs, segments;   /* completed with success */
	uint64_t internal_completions;   /* completions the application did not ask for */
	uint64_t gated_ns;               /* time with a WR waiting at the gate */
	uint64_t samples;                /* RTT samples fed to the algorithm */
	uint64_t deferred;               /* WRs that had to wait */
	uint32_t cnps, losses;           /* received; detected */
	uint32_t unrecorded;             /* RTTs lost for lack of memory for rtt.stats */
	uint32_t qp_num;                 /* set by the caller, for probes */
	double min_rate, max_rate;       /* bit/s */
};

/* The latest link telemetry of the flow's path. */
struct ccs_telemetry {
	struct ccs_cc_hop hops[CCS_CC_MAX_HOPS];
	unsigned nhops;
	uint32_t path;                   /* identifies the path */
	unsigned flows;                  /* active at the bottleneck; 0: unknown */
	uint64_t covers_ns;              /* no part of it is older than this; 0: unknown */
	double advised_rate;             /* bit/s, to each flow; 0: none is advised */
};

/* A flow's part in its tenant's terms. */
struct ccs_flow_cap {
	struct ccs_cap *shared;          /* with the tenant's other flows; NULL: no cap is in force */
	double rate;                     /* the cap's, bit/s */
	uint64_t at_ns;                  /* when the next segment may leave, if `bytes` is not 0 */
	uint64_t bytes;                  /* reserved for it */
	bool background;                 /* the class of its tenant */
};

/*
 * A host may have 100 000 of these, so memory that only active flows need is allocated when they
 * send. What a WR and its completion need while the gate is open comes first, in three cache lines,
 * up to stats.samples: keep the order, and add others behind `cc`.
 */
struct ccs_flow {
	/* Send queue (send_queue.c). WRs: [wr_tail, wr_next) handed over, [wr_next, wr_head)
	 * waiting. Segments in flight: [seg_tail, seg_head). */
	uint64_t wr_tail, wr_next, wr_head;
	uint64_t seg_tail, seg_head;
	struct ccs_seg *seg;             /* the ring in use: queue.ring, or `first` alone */
	uint32_t seg_mask, seg_base;     /* its size - 1; the number at which it was last empty */
	uint64_t inflight;               /* bytes */

	struct ccs_seg first;            /* a lone segment in flight: in a line that is used anyway */
	uint64_t pending_bytes;          /* acknowledged since the algorithm's last update */
	uint32_t unsignalled;            /* segments since the last signalled segment */
	struct {
		uint16_t bytes;
		uint8_t wrs;             /* 0 while a WR waits, and in other states than RUN */
	} budget;                        /* WRs and bytes that runs may still take (run.h) */

	enum ccs_flow_state state : 8;
	bool paced : 1;                  /* a segment waits for its release time alone */
	bool reuses_silently : 1;        /* the device reuses entries without a completion */
	bool skip_gate : 1;              /* the next segment goes to the device at once */
	bool growable : 1;               /* queue.seg_limit is less than the device's queue */
	bool followed : 1;               /* the algorithm or a sink wants an event per segment */
	bool withholds : 1;              /* queue.withheld is not 0 */
	uint8_t untimed;                 /* segments since the last timed segment, up to 255 */
	uint32_t timed;                  /* timed segments in flight */
	uint64_t unsignalled_bytes;
	uint64_t sent;                   /* bytes handed over in the flow's life */
	struct ccs_flow_stats stats;

	uint64_t next_offset;            /* bytes of wr_next already handed over */
	struct {
		uint32_t wr_mask;        /* size of the ring of WRs - 1 */
		uint32_t wr_limit;       /* WRs that may be in it now */
		struct ccs_seg *ring;    /* the segments' ring; the ring of WRs precedes it, backwards */
		uint32_t seg_limit;      /* entries of the device's queue that may be used now */
		uint32_t wr_base;        /* the number at which the ring of WRs was last empty */
		uint32_t seg_max;        /* entries of the device's queue */
		uint32_t ring_mask;      /* size of the segments' ring - 1 */
		uint16_t withheld;       /* completed WRs that the application has not polled */
	} queue;
	struct {
		uint32_t len;            /* bytes of a segment: on this path, at line rate */
		uint32_t split_len;      /* bytes that WRs are split into: less on a slow flow */
	} segments;
	struct {
		uint64_t bytes;          /* part of `sent` that arrives here */
		uint32_t outstanding;    /* READs and atomics */
		uint16_t max;            /* limit of `outstanding` */
	} reads;
	struct {
		double max_rate;         /* bit/s */
		uint16_t clock_cost_ns;  /* of reading the clock, up to 65 us */
		bool split : 1, enforce : 1;
		bool base_rtt : 1, segment : 1, max_inflight : 1; /* given, not derived */
		bool signals_all : 1;    /* each segment asks for a completion */
	} user;                          /* settings */
	struct ccs_slow_start slow_start; /* its window is max_inflight after slow start */
	struct {
		uint8_t losses;          /* recent losses */
		uint8_t base_samples;    /* samples of the base RTT, up to CCS_RTT_BASE_SAMPLES */
		uint8_t imprecise_samples; /* samples too imprecise for it, up to the same */
	} learned;
	uint32_t internal;               /* segments in flight whose completion is internal */
	uint64_t gated_since_ns;         /* 0: no WR is waiting */
	struct {
		uint64_t ns;             /* its time, or of a timed segment's completion since */
		uint32_t sent;           /* lower half of the flow's `sent` then */
	} last_timed;                    /* timed segment */

	/* The algorithm, with the known properties of the path; called by cc_events.c only. */
	struct ccs_cc cc;

	struct {
		uint64_t max_inflight;   /* bytes outstanding */
		uint64_t nic_free_ns;    /* when the modelled NIC is idle again (rtt.c) */
		double applied_rate;     /* bit/s, after the last event; 0: another is in force */
		struct ccs_pacing pacing;
		uint32_t uncharged;      /* bytes of earlier budgets that pacing has not charged */
		uint16_t granted;        /* budget.bytes when it was granted */
		struct ccs_flow_cap *cap; /* NULL: its tenant never had a cap, or class background */
	} gate;                          /* of hand_over.c */

	struct {
		uint64_t origin_ns;      /* origin of the algorithm's time */
		int64_t epoch_ns;        /* UTC less the flow's clock */
		uint64_t last_ns;        /* time of the last event */
		ccs_flow_sink *sink;     /* NULL: none */
		const struct ccs_telemetry *telemetry; /* the latest, owned by the caller, or NULL */
	} events;                        /* for the algorithm (cc_events.c) */

	struct {
		uint32_t len;            /* bytes of the longest message of the recent past */
		uint32_t shorter;        /* timed segments in a row that were shorter */
		uint32_t longest;        /* the longest of these */
	} message;                       /* unsplit messages (limits.c) */

	struct {
		float loss_us;           /* an RTT this long includes a retransmission timeout */
		float last_us;           /* the last RTT */
		uint64_t lost_ns;        /* time of the last loss */
		uint64_t updated_ns;     /* time of the algorithm's last sample */
		struct ccs_base_rtt base;
		struct ccs_rtt_outlier outlier;
		struct ccs_rnr_filter rnr;
		struct ccs_control_state control;
		struct ccs_stats_rtt *stats; /* the caller's, who sets it; or the flow's; or NULL */
		bool owns_stats;         /* allocated with the first sample */
	} rtt;                           /* RTT samples (rtt.c) */
};

_Static_assert(sizeof(struct ccs_flow) <= 1280, "an idle flow is meant to fit 20 cache lines");
_Static_assert(offsetof(struct ccs_flow, stats.samples) <= 192, "the hot members fit 3 lines");
_Static_assert(offsetof(struct ccs_flow, cc) <= 384, "the gate needs 6 lines");

/*
 * Set up a zeroed flow for an application queue of wr_limit and a device queue of seg_limit
 * entries. spec must outlive the flow. Allocates the two rings: 0, or -1 without memory. After
 * this only the first RTT sample allocates memory, for rtt.stats.
 */
int ccs_flow_init(struct ccs_flow *f, const struct ccs_flow_config *conf,
		  const struct ccs_cc_spec *spec, uint32_t wr_limit, uint32_t seg_limit,
		  uint64_t now_ns);
void ccs_flow_destroy(struct ccs_flow *f);

/*
 * Use so many entries of the device's queue from now on, never fewer than before: the caller has
 * space for as many completions. Without this call all are used.
 */
void ccs_flow_set_entries(struct ccs_flow *f, uint32_t entries);

/* The application's queue. */
static inline uint32_t ccs_flow_depth(const struct ccs_flow *f)
{
	return f->queue.wr_limit + f->queue.withheld;
}

/*
 * So many unsignalled segments in a row are too many: the last one asks for a completion. Whole
 * WRs are no more than the application's queue holds, and it must ask for completions itself.
 */
static inline uint32_t ccs_flow_signal_distance(const struct ccs_flow *f)
{
	const uint32_t quarter = (f->queue.seg_limit + 3) / 4;

	if (f->queue.seg_limit <= ccs_flow_depth(f))
		return f->growable ? f->queue.seg_limit : UINT32_MAX;
	return quarter > ccs_flow_depth(f) ? quarter : ccs_flow_depth(f) + 1;
}

/* True if more would avoid that one of the next n segments waits, or asks for a completion. */
static inline bool ccs_flow_wants_entries(const struct ccs_flow *f, unsigned n)
{
	return f->growable && (f->seg_head + n - f->seg_tail > f->queue.seg_limit ||
			       f->unsignalled + n >= ccs_flow_signal_distance(f));
}

/*
 * Apply other settings and another algorithm from now on; the seed and the sink stay. The flow
 * keeps its rate as far as the new algorithm can start from one, and all that is queued, in flight
 * and paced. It keeps what it learned of the path unless the line rate changes or a given base
 * RTT is withdrawn. A flow that has sent nothing starts again. spec must outlive the flow. Call
 * ccs_flow_next or ccs_flow_wait afterwards: the gate may have opened.
 */
void ccs_flow_configure(struct ccs_flow *f, const struct ccs_flow_config *conf,
			const struct ccs_cc_spec *spec, uint64_t now_ns);
/* The same with the settings that the flow has. */
void ccs_flow_switch(struct ccs_flow *f, const struct ccs_cc_spec *spec, uint64_t now_ns);

/* The flow uses a port of that line rate, bit/s, from now on: everything is learned again. */
void ccs_flow_set_line(struct ccs_flow *f, double line_rate, uint64_t now_ns);

/*
 * flow.rtt.loss_us of a QP with this local ACK timeout, on a kernel with such ticks: the least time
 * after which a device retransmits. 0: never.
 */
float ccs_flow_loss_us(unsigned timeout, double tick_us);

/* The next WR must go through the gate. */
static inline void ccs_flow_fastpath_revoke(struct ccs_flow *f)
{
	f->budget.wrs = 0;
}

static inline void ccs_flow_set_state(struct ccs_flow *f, enum ccs_flow_state state)
{
	f->state = state;
	ccs_flow_fastpath_revoke(f);
}

/* Forget everything queued and in flight (modify to RESET); the rate stays. */
void ccs_flow_reset(struct ccs_flow *f);

/* The rings start at their beginning whenever they were empty: a shallow queue uses few lines. */
static inline struct ccs_wr *ccs_flow_wr(const struct ccs_flow *f, uint64_t number)
{
	return (struct ccs_wr *)(void *)f->queue.ring - 1 - (((uint32_t)number - f->queue.wr_base) & f->queue.wr_mask);
}

static inline struct ccs_seg *ccs_flow_seg(const struct ccs_flow *f, uint64_t number)
{
	return &f->seg[((uint32_t)number - f->seg_base) & f->seg_mask];
}

static inline bool ccs_flow_full(const struct ccs_flow *f)
{
	return f->wr_head - f->wr_tail >= f->queue.wr_limit;
}

/*
 * Where a device frees entries when the application polls a completion, so do we. withhold: the
 * entries of the newest completed WRs; free: those up to wr_end; free_all: all of completed WRs.
 */
static inline void ccs_flow_set_withheld(struct ccs_flow *f, uint32_t entries)
{
	f->queue.wr_limit = ccs_flow_depth(f) - entries;
	f->queue.withheld = (uint16_t)entries;
	f->withholds = entries;
}

static inline void ccs_flow_withhold(struct ccs_flow *f, uint64_t entries)
{
	uint64_t left;

	if (!entries || f->queue.withheld + entries > UINT16_MAX)
		return;
	ccs_flow_set_withheld(f, f->queue.withheld + (uint32_t)entries);
	left = f->queue.wr_limit - (f->wr_head - f->wr_tail);
	if (f->budget.wrs > left) /* the budget has counted them as free */
		f->budget.wrs = (uint8_t)left;
}

static inline void ccs_flow_free_polled(struct ccs_flow *f, uint32_t wr_end)
{
	const uint32_t left = (uint32_t)f->wr_tail - wr_end; /* many, if it is from before a reset */

	if (left < f->queue.withheld)
		ccs_flow_set_withheld(f, left);
}

void ccs_flow_free_withheld(struct ccs_flow *f);

static inline void ccs_flow_free_all_polled(struct ccs_flow *f)
{
	if (__builtin_expect(f->withholds, 0))
		ccs_flow_free_withheld(f);
}

/* WRs not yet wholly handed to the device. */
static inline uint64_t ccs_flow_waiting(const struct ccs_flow *f)
{
	return f->wr_head - f->wr_next;
}

/* The number of the segment that was handed over last. */
static inline uint64_t ccs_flow_newest(const struct ccs_flow *f)
{
	return f->seg_head - 1;
}

/* None is in flight: begin with the entry in the flow. */
static inline void ccs_flow_begin_ring(struct ccs_flow *f)
{
	f->seg_base = (uint32_t)f->seg_head;
	f->seg = &f->first;
	f->seg_mask = 0;
}

/* Move what is in flight to the ring of many entries, for more. */
static inline void ccs_flow_use_ring(struct ccs_flow *f)
{
	if (f->seg != &f->first)
		return;
	f->queue.ring[0] = f->first;
	f->seg = f->queue.ring;
	f->seg_mask = f->queue.ring_mask;
}

/* The next free entry of the ring. */
static inline struct ccs_seg *ccs_flow_next_entry(struct ccs_flow *f)
{
	if (f->seg_head == f->seg_tail)
		ccs_flow_begin_ring(f);
	else
		ccs_flow_use_ring(f);
	return ccs_flow_seg(f, f->seg_head);
}

/* Queue a WR and return its number. The flow must not be full. */
uint64_t ccs_flow_accept(struct ccs_flow *f, uint64_t len, uint32_t flags);

/* Reading the clock may cost more than everything else that a small WR needs here. */
#define CCS_TIME_UNKNOWN UINT64_MAX

typedef uint64_t ccs_flow_clock(void);

/*
 * Hand over the segments that may go to the device now, at most `most`. Returns their number: it is
 * less if the gate is closed, or if no other WR is waiting. They are the newest in flight. *now_ns
 * may be CCS_TIME_UNKNOWN: it is read from the clock if it is needed.
 */
unsigned ccs_flow_hand_over(struct ccs_flow *f, unsigned most, uint64_t *now_ns,
			    ccs_flow_clock *clock);

/* Hand over one segment and return it, or NULL. */
static inline const struct ccs_seg *ccs_flow_next(struct ccs_flow *f, uint64_t *now_ns,
						  ccs_flow_clock *clock)
{
	return ccs_flow_hand_over(f, 1, now_ns, clock) ? ccs_flow_seg(f, ccs_flow_newest(f)) : NULL;
}

/* The device refused segment number `from` and all later ones: take them back. */
void ccs_flow_unsend(struct ccs_flow *f, uint64_t from);

/* Forget WR `from` and all later ones, none of which has a segment in flight. */
void ccs_flow_unaccept(struct ccs_flow *f, uint64_t from);

/*
 * When to call ccs_flow_next again: 0 if no WR is waiting, UINT64_MAX if only a completion can
 * open the gate, else a time, which is no later than the algorithm's next timer if that may open
 * the gate. Also updates the gated time in the statistics.
 */
uint64_t ccs_flow_wait(struct ccs_flow *f, uint64_t now_ns);

/*
 * The time between two polls that find when a completion occurred as exactly as the algorithm needs
 * it (measured_rtt_us() in rtt.c), even if each is late by as much. Without a queue it is at most
 * idle_ns. A long queue needs fewer polls: it is seen in the last RTT and in the age of the oldest
 * segment.
 */
double ccs_flow_poll_ns(const struct ccs_flow *f, double idle_ns, uint64_t now_ns);

/* A completion, which occurred between earliest_ns and latest_ns. */
struct ccs_done {
	uint64_t number;                 /* the segment's */
	bool ok;
	bool lost;                       /* failed because the peer did not answer */
	bool more;                       /* the same poll also returned that of a later timed one */
	uint64_t earliest_ns, latest_ns; /* not read if it is a success and not timed */
};

/* True if the time of that segment's completion is wanted. */
static inline bool ccs_flow_is_timed(const struct ccs_flow *f, uint64_t number)
{
	return ccs_flow_seg(f, number)->depart_ns;
}

/*
 * Retire everything up to done->number. True if a completion of WR *wr is due to be delivered to
 * the application now (at most one per call). Numbers not in flight are stale and ignored. A
 * failure changes the flow's state to CCS_FLOW_FLUSH.
 */
bool ccs_flow_complete(struct ccs_flow *f, const struct ccs_done *done, uint64_t *wr);

/* The device begins only now what it has got, so it says nothing of the path. */
void ccs_flow_untime(struct ccs_flow *f);

/* The QP fails (or the application moved it to ERR): emit all, ungated. */
void ccs_flow_fail(struct ccs_flow *f);

/*
 * Of a failed QP: no completion of what is in flight will come any more. It succeeded without one,
 * or else its WRs are still incomplete. The number ccs_flow_newest() + 1 is not used again.
 */
void ccs_flow_settle(struct ccs_flow *f, bool succeeded);

/* Share a cap of that rate, bit/s, which must outlive the flow, and be in that class. NULL: have no cap.
 * Without memory the cap is not shared. */
void ccs_flow_set_cap(struct ccs_flow *f, struct ccs_cap *cap, double rate, bool background);

/* Set the user's limit of the rate, bit/s. */
void ccs_flow_set_max_rate(struct ccs_flow *f, double max_rate, uint64_t now_ns);

/* Continue from this rate, bit/s, learned elsewhere, if the algorithm can. */
void ccs_flow_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns);

/*
 * f->events.telemetry is new and advises a rate: it applies from now on, not with the next completion.
 * Call ccs_flow_next or ccs_flow_wait afterwards: the gate may have opened.
 */
void ccs_flow_advise(struct ccs_flow *f, uint64_t now_ns);

/* A congestion notification for this flow has arrived. */
void ccs_flow_cnp(struct ccs_flow *f, uint64_t now_ns);

/*
 * The rate in force, bit/s: the algorithm's, at most the user's limit. If a plug-in returns an
 * invalid rate, the limit applies: a faulty plug-in must not stop a flow.
 */
static inline double ccs_flow_rate(const struct ccs_flow *f)
{
	const double rate = f->cc.out.rate;

	return rate > 0 && rate < f->user.max_rate ? rate : f->user.max_rate;
}

/* True if nothing slows the flow but the line. */
static inline bool ccs_flow_at_line_rate(const struct ccs_flow *f)
{
	return ccs_flow_rate(f) >= f->cc.path.line_rate;
}

/* True if RTTs are the algorithm's only feedback, and each may reduce the rate at once. */
static inline bool ccs_flow_uses_rtts_only(const struct ccs_flow *f)
{
	return f->cc.ops->needs == CCS_NEEDS_RTT && !(f->cc.out.window > 0);
}

#endif
