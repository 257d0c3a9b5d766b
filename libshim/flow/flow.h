/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FLOW_H
#define CCS_FLOW_H
/*
 * One queue pair's send side under control, without verbs, clock or locks.
 *
 * The caller accepts work requests, asks which segment may be handed to the
 * device now, and reports completions; time comes in as an argument (ns, any
 * monotonic origin). All calls on one flow are serialised by the caller.
 *
 *   accept -> [send queue] -> next: gate open? -> [segments in flight] -> complete
 *
 * A WR is a work request of the application, a segment is one WQE handed to
 * the device. Both are numbered from 0 in order; slot = number modulo the ring.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ccshim/stats.h>

#include "base/hist.h"
#include "cc/cc.h"

enum ccs_wr_flag {
	CCS_WR_SPLIT = 1 << 0,   /* may be handed over in segments */
	CCS_WR_READ = 1 << 1,    /* occupies an outstanding-READ (or atomic) slot */
	CCS_WR_VISIBLE = 1 << 2, /* its success is owed to the application */
	CCS_WR_RECV = 1 << 3,    /* consumes a receive: an RNR wait may hide in its RTT */
	CCS_WR_URGENT = 1 << 4,  /* for the caller: cannot be handed over later */
};

struct ccs_wr {
	uint64_t len;
	uint32_t flags;
	bool reported;           /* a failure of it was delivered */
	uint64_t id;             /* these two are the caller's own */
	const void *source;
};

struct ccs_seg {
	uint64_t wr;             /* number of its WR */
	uint64_t offset, len;    /* bytes within the WR */
	uint64_t post_ns;        /* when it was handed over; of a timed one */
	uint64_t depart_ns;      /* when a NIC at line rate has sent its last byte; 0: not timed */
	uint32_t flags;          /* of its WR */
	bool first, last;        /* of its WR */
	bool signal;             /* ask the device for a completion */
};

enum ccs_flow_state {
	CCS_FLOW_RUN,
	CCS_FLOW_HOLD,           /* send queue drained state: emit nothing */
	CCS_FLOW_FLUSH,          /* the QP failed: emit all, the device flushes it */
};

/* Sees each thing that a flow's algorithm is told, within the call; keeps nothing of it. */
struct ccs_flow;
struct ccs_told;
typedef void ccs_flow_sink(const struct ccs_flow *f, const struct ccs_told *told);

/* What the user gave; 0 = automatic. */
struct ccs_flow_config {
	double line_rate;        /* bit/s, never 0 */
	double max_rate;         /* bit/s, INFINITY: no cap of the rate */
	double base_rtt_us;
	double noise_us;                 /* p95 of what hosts add to the RTT */
	double look_us;          /* what a look at the clock takes */
	int64_t epoch_ns;        /* UTC less the flow's clock */
	double segment;          /* bytes */
	double cap;              /* bytes outstanding */
	bool split, enforce;
	uint64_t seed;           /* of the pacing jitter */
	ccs_flow_sink *sink;     /* NULL: nobody looks on */
};

struct ccs_flow_stats {
	uint64_t bytes, wrs, segments;   /* completed with success */
	uint64_t samples;                /* RTT samples fed to the algorithm */
	uint64_t hidden;                 /* completions the application did not ask for */
	uint64_t deferred;               /* WRs that had to wait */
	uint64_t gated_ns;               /* time with a WR waiting at the gate */
	uint32_t cnps, losses;           /* heard of */
	uint32_t unrecorded;             /* RTTs that there was no memory for a histogram of */
	uint32_t qp_num;                 /* whose they are: the caller's, for probes */
	double min_rate, max_rate;       /* bit/s */
};

/* What is known of the links on the path now. */
struct ccs_telemetry {
	struct ccs_cc_hop hops[CCS_CC_MAX_HOPS];
	unsigned nhops;
	uint32_t path;                   /* names the path */
	unsigned flows;                  /* active at the bottleneck; 0: unknown */
	uint64_t covers_ns;              /* all of it is of then or later; 0: unknown */
	double advised_rate;             /* bit/s, to each flow; 0: none is advised */
};

/*
 * A host may have 100 000 of these: what is only needed under way is allocated then. What
 * each segment meets at an open gate comes first, in few cache lines.
 */
struct ccs_flow {
	/* Send queue: [wr_tail, wr_next) handed over, [wr_next, wr_head) waiting. */
	uint64_t wr_tail, wr_next, wr_head;
	uint64_t next_offset;            /* bytes of wr_next already handed over */
	uint32_t wr_mask, wr_limit;      /* ring size - 1, entries used of it */

	/* Segments in flight: [seg_tail, seg_head). */
	uint64_t seg_tail, seg_head;
	struct ccs_seg *seg;             /* the ring; that of the WRs is before it, backwards */
	uint32_t seg_mask, seg_limit;
	uint32_t wr_base, seg_base;      /* the rings begin with it: where they were empty last */
	uint64_t inflight;               /* bytes */
	uint64_t sent;                   /* bytes handed over since ever */
	uint64_t unsignalled_bytes;
	uint32_t unsignalled;            /* segments since the last signalled one */
	uint32_t timed;                  /* in flight, whose completion's time is wanted */
	uint32_t timed_sent;             /* lower half of `sent` when one was timed last */
	uint32_t segment;                /* bytes */
	uint32_t reads;                  /* outstanding READs and atomics */
	uint16_t max_reads;
	uint16_t calm_bytes;             /* that may pass without another look at the flow */
	double window;                   /* bytes; the cap after slow start */
	uint64_t gated_since_ns;         /* 0: nothing is waiting */
	double pending_bytes;            /* acknowledged since the last update */
	enum ccs_flow_state state : 8;
	bool split : 1, enforce : 1;
	bool base_given : 1, segment_given : 1, cap_given : 1;
	bool ramping : 1;                /* slow start */
	bool late : 1;                   /* so was the last RTT */
	bool paced : 1;                  /* a segment waits for its time, and for nothing else */
	bool followed : 1;               /* the algorithm or a sink wants to hear of each segment */
	uint8_t draining : 5;            /* samples left to wait for the queue of the start to go */
	uint8_t recv_count : 2;          /* of recv_ns, modulo 4 */
	uint8_t base_samples : 4;        /* of the first few */
	uint8_t vague : 4;               /* and of those first that told nothing of the path */
	uint8_t untimed;                 /* segments since the last timed one, up to 255 */
	uint8_t calm_wrs;                /* the same, as so many WRs */
	uint16_t look_ns;                /* what one at the clock takes, up to 65 us */
	double max_rate;                 /* bit/s, the user's cap */
	struct ccs_flow_stats stats;
	struct ccs_cc cc;                /* with the path, as far as it is known */

	/* Gate. */
	uint64_t cap;                    /* bytes outstanding */
	double start_rate;               /* bit/s: the least delivered in an RTT of slow start */
	double paced_at_ns, paced_bytes; /* logical release of the last segment, and its charge */
	double gate_rate;                /* bit/s: what the charge is paid at */
	float phase;                     /* bytes: what jitter has put releases off by */
	float believed_us;               /* the last RTT that was no host's doing; 0: none */
	uint64_t random;
	uint64_t nic_free_ns;            /* when the modelled NIC is idle again */

	/* The algorithm's ear. */
	uint64_t origin_ns;              /* of its time */
	int64_t epoch_ns;                /* UTC less the flow's clock */
	uint64_t told_ns;                /* time of the last event that it heard of */
	ccs_flow_sink *sink;             /* NULL: nobody looks on */
	const struct ccs_telemetry *telemetry; /* the latest, its source's; NULL: none */
	uint64_t read;                   /* bytes of `sent` that are READs: they come in */

	/* RTT. */
	uint32_t message;                /* bytes: the longest unsplit one of the recent past */
	uint32_t shorter, longest;       /* timed segments in a row that are shorter; of these */
	double base_min_us[2];           /* minimum of this and of the previous window */
	float base_full_us[2];           /* the same of whole segments */
	uint64_t base_window_ns;
	float loss_us;                   /* an RTT of this much holds a retransmission timeout */
	uint32_t late_next;              /* the next segment, when the first of late RTTs was seen */
	uint64_t lost_ns;                /* when the last one was seen */
	uint32_t recv_ns[4];             /* last RTTs of WRs that consume a receive */
	uint64_t updated_ns;
	struct ccs_hist *rtt;            /* ns; NULL before the first sample */
	struct ccs_stats_rtt *shown;     /* the same for others to look at; NULL: nobody can */
};

_Static_assert(sizeof(struct ccs_flow) <= 1280, "an idle flow is meant to fit 20 cache lines");

/*
 * Set up a zeroed flow for an application queue of wr_limit and a device queue
 * of seg_limit entries. spec outlives it. Allocates the two rings: 0, or -1
 * without memory. Later on only the first RTT sample allocates, its histogram.
 */
int ccs_flow_init(struct ccs_flow *f, const struct ccs_flow_config *conf,
		  const struct ccs_cc_spec *spec, uint32_t wr_limit, uint32_t seg_limit,
		  uint64_t now_ns);
void ccs_flow_destroy(struct ccs_flow *f);

/*
 * Other settings and another algorithm from now on (seed and sink stay), at the rate that the
 * flow has as far as that is one for it; what is queued, in flight and paced stays, and what was
 * learnt of the path unless it is another's. A flow that has sent nothing begins anew. spec
 * outlives it. Call ccs_flow_next or ccs_flow_wait again: the gate may be another.
 */
void ccs_flow_configure(struct ccs_flow *f, const struct ccs_flow_config *conf,
			const struct ccs_cc_spec *spec, uint64_t now_ns);

/* It leaves by a port of that line rate, bit/s: all is learnt anew. */
void ccs_flow_set_line(struct ccs_flow *f, double line_rate, uint64_t now_ns);

/* Forget everything queued and in flight (modify to RESET); the rate stays. */
void ccs_flow_reset(struct ccs_flow *f);

/* Wherever the queue was empty the rings begin anew: a shallow one stays in few lines. */
static inline struct ccs_wr *ccs_flow_wr(const struct ccs_flow *f, uint64_t number)
{
	return (struct ccs_wr *)(void *)f->seg - 1 - (((uint32_t)number - f->wr_base) & f->wr_mask);
}

static inline struct ccs_seg *ccs_flow_seg(const struct ccs_flow *f, uint64_t number)
{
	return &f->seg[((uint32_t)number - f->seg_base) & f->seg_mask];
}

static inline bool ccs_flow_full(const struct ccs_flow *f)
{
	return f->wr_head - f->wr_tail >= f->wr_limit;
}

/* WRs not yet wholly handed to the device. */
static inline uint64_t ccs_flow_waiting(const struct ccs_flow *f)
{
	return f->wr_head - f->wr_next;
}

/* Queue a WR; its number. The flow must not be full. */
uint64_t ccs_flow_accept(struct ccs_flow *f, uint64_t len, uint32_t flags);

/* A look at the clock may cost more than all else that a small WR meets here. */
#define CCS_TIME_UNKNOWN UINT64_MAX
extern const struct ccs_seg ccs_flow_time; /* what ccs_flow_next says to ask for it */

/*
 * The next segment that may go to the device now; it counts as in flight from
 * here on and *number names it. NULL: the gate is closed or nothing waits.
 * Where nothing holds the flow back, the time may be CCS_TIME_UNKNOWN: it is
 * &ccs_flow_time then if this segment needs it, and nothing has happened.
 */
const struct ccs_seg *ccs_flow_next(struct ccs_flow *f, uint64_t now_ns, uint64_t *number);

/*
 * The same as accept and next at once, of one WR that meets nobody, is not split and needs no
 * time: the last segment and the last WR are its. NULL: not so, and nothing has happened.
 */
const struct ccs_seg *ccs_flow_through(struct ccs_flow *f, uint64_t len, uint32_t flags);

/* The device refused segment number `from` and all later ones: take them back. */
void ccs_flow_unsend(struct ccs_flow *f, uint64_t from);

/* Forget WR `from` and all later ones, none of which has a segment in flight. */
void ccs_flow_unaccept(struct ccs_flow *f, uint64_t from);

/*
 * When to call ccs_flow_next again: 0 if nothing waits, UINT64_MAX if only a
 * completion can open the gate, else a time: no later than the algorithm's next
 * timer, if that may open it. Also keeps the gated-time account.
 */
uint64_t ccs_flow_wait(struct ccs_flow *f, uint64_t now_ns);

/* A completion as it was seen: between earliest and latest, ns. */
struct ccs_done {
	uint64_t number;                 /* of the segment */
	bool ok;
	bool lost;                       /* failed because the peer did not answer */
	bool more;                       /* of a later timed one the same look has told */
	uint64_t earliest_ns, latest_ns; /* not read if it is a success and not timed */
};

/* Whether the time of that segment's completion is wanted. */
static inline bool ccs_flow_is_timed(const struct ccs_flow *f, uint64_t number)
{
	return ccs_flow_seg(f, number)->depart_ns;
}

/*
 * Retire everything up to done->number. true if a completion of WR *wr is owed
 * to the application now (at most one per call). Numbers not in flight are
 * stale and ignored. A failure turns the flow to CCS_FLOW_FLUSH.
 */
bool ccs_flow_complete(struct ccs_flow *f, const struct ccs_done *done, uint64_t *wr);

/* The QP fails (or the application moved it to ERR): emit all, ungated. */
void ccs_flow_fail(struct ccs_flow *f);

/*
 * Another algorithm from now on, at the rate that the flow has as far as that is one for it;
 * what is queued, in flight, paced and learnt of the path stays. spec outlives the flow.
 * Call ccs_flow_next or ccs_flow_wait again: the gate may be another.
 */
void ccs_flow_switch(struct ccs_flow *f, const struct ccs_cc_spec *spec, uint64_t now_ns);

/* Go on from this rate, bit/s, learnt elsewhere, if the algorithm can. */
void ccs_flow_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns);

/* f->telemetry is new, and advises a rate: it holds from now on, not with the next completion.
 * Call ccs_flow_next or ccs_flow_wait again: the gate may be another. */
void ccs_flow_advise(struct ccs_flow *f, uint64_t now_ns);

/* A congestion notification for this flow has come. */
void ccs_flow_cnp(struct ccs_flow *f, uint64_t now_ns);

/* The rate in force, bit/s: the algorithm's, and the user's cap. No slip of a plug-in stops a
 * flow: what is no rate is none of its own. */
static inline double ccs_flow_rate(const struct ccs_flow *f)
{
	const double rate = f->cc.out.rate;

	return rate > 0 && rate < f->max_rate ? rate : f->max_rate;
}

/* Nothing but RTTs tells of congestion, and each may take from the rate at once. */
static inline bool ccs_flow_lives_on_rtts(const struct ccs_flow *f)
{
	return f->cc.ops->needs == CCS_NEEDS_RTT && !(f->cc.out.window > 0);
}

/* Between the room's files. drive.c: what the algorithm is told. */
void ccs_drive_start(struct ccs_flow *f, const struct ccs_cc_spec *spec,
		     const struct ccs_cc_path *path, uint64_t now_ns);
void ccs_drive_repath(struct ccs_flow *f, const struct ccs_cc_path *path);
void ccs_drive_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns);
void ccs_drive_advance(struct ccs_flow *f, uint64_t now_ns); /* fire the timers that are due */
uint64_t ccs_drive_timer(const struct ccs_flow *f, uint64_t now_ns); /* the next; UINT64_MAX: none */
void ccs_drive_send(struct ccs_flow *f, uint64_t bytes, uint64_t now_ns);
void ccs_drive_ack(struct ccs_flow *f, double rtt_us, double nic_wait_us, double bytes,
		   uint64_t now_ns);
void ccs_drive_loss(struct ccs_flow *f, uint64_t now_ns);

/* gate.c; here is what a segment meets at an open gate. */
/* Nothing slows the flow but the line; see LINE_SHARE in gate.c. */
static inline bool ccs_gate_at_line(const struct ccs_flow *f)
{
	return ccs_flow_rate(f) >= f->cc.path.line_rate;
}

/*
 * Bytes that may be outstanding. After slow start the derived cap holds only algorithms without a
 * window: one of their own knows better what the path takes, where acknowledgements wait.
 */
static inline double ccs_gate_window(const struct ccs_flow *f)
{
	const double own = f->cc.out.window;

	if (own > 0 && !f->ramping && !f->cap_given)
		return own;
	return own > 0 && own < f->window ? own : f->window;
}

/*
 * One segment may always be outstanding: pacing alone slows a flow below that.
 * Nor do bytes count that nobody asked a completion for, if there are no others:
 * nothing would ever open the gate again.
 */
static inline bool ccs_gate_window_open(const struct ccs_flow *f, uint64_t len)
{
	return f->inflight <= f->unsignalled_bytes ||
	       (double)(f->inflight + len) <= ccs_gate_window(f);
}

/* Something was learnt: who posts next has to look. */
static inline void ccs_flow_revoke(struct ccs_flow *f)
{
	f->calm_wrs = 0;
}

void ccs_gate_init(struct ccs_flow *f, uint64_t now_ns);
void ccs_gate_follow(struct ccs_flow *f, uint64_t now_ns); /* the rate may be another */
uint64_t ccs_gate_due(const struct ccs_flow *f, uint64_t now_ns);
void ccs_gate_charge(struct ccs_flow *f, uint64_t len, uint64_t now_ns);
void ccs_gate_charge_small(struct ccs_flow *f, uint64_t now_ns);

/* rtt.c */
void ccs_rtt_init(struct ccs_flow *f, const struct ccs_flow_config *conf,
		  const struct ccs_cc_spec *spec, uint64_t now_ns);
void ccs_rtt_depart(struct ccs_flow *f, struct ccs_seg *seg, uint64_t now_ns);

enum { CCS_RTT_BASE_SAMPLES = 8 };  /* of which the first base RTT is learnt */

/*
 * Nothing holds the flow back or is to be learnt: a sample now and then will do. In slow
 * start, while it has little outstanding: the window is never less than a segment. And of
 * one whose owner looks too rarely to tell an RTT, more samples would not tell either.
 */
static inline bool ccs_rtt_calm(const struct ccs_flow *f)
{
	return (!f->ramping || f->inflight < f->segment / 4) && !f->followed && !f->draining &&
	       f->base_samples + f->vague >= CCS_RTT_BASE_SAMPLES && ccs_gate_at_line(f) &&
	       f->cc.out.timer_us == INFINITY;
}
void ccs_rtt_sample(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done);

#endif
