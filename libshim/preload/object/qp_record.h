/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_RECORD_H
#define CCS_QP_RECORD_H
/*
 * Record of a queue pair. Lock order: cq.lock, then qp.lock; the pacer thread's lock is innermost.
 * A record lives while references to it exist: the application's until ibv_destroy_qp, and the
 * pacer thread's while it processes the QP.
 */
#include "base/timer_wheel.h"
#include "config/match.h"
#include "feedback/shm.h"
#include "flow/flow.h"
#include "preload/object/cq_record.h"

/* Telemetry of the links on a QP's path. */
struct qp_telemetry {
	struct ccs_telemetry now;        /* as the flow's algorithm gets it */
	uint64_t updated_ns;             /* arrival of the last record; 0: none yet */
	uint32_t name[CCS_CC_MAX_HOPS];
	double rate[CCS_CC_MAX_HOPS];    /* bit/s since the record before; 0: not known */
	bool ports;                      /* records of switches are included */
	bool fresh;                      /* a record arrived since feedback was last missing */
	uint64_t floor_ns;               /* advised far below a fair share since; 0: it is not */
	bool outdone;                    /* for long enough to be reported */
	const struct ccs_shm_path *path; /* read last, at this version */
	uint32_t version;
};

/* A QP's congestion feedback from the host agent. */
struct feedback {
	struct ccs_slot *slot;           /* NULL: none */
	struct qp_telemetry *telemetry;  /* NULL: not needed */
	uint64_t cnps;                   /* of slot->cnps, processed */
	double rate;                     /* bit/s, last stored in the slot */
	uint64_t sent;                   /* bytes, last stored in the slot */
	uint64_t direction_sent, direction_read; /* the flow's at the last check of its direction */
	bool direction_known;            /* it has sent or READ data */
	bool inbound;                    /* most of its data are READ: they come from the peer */
	uint16_t feedback_needs;         /* CCS_NEEDS_* that it was connected for */
	uint32_t peer_qpn;
	uint32_t switches;               /* changes between the algorithm and its fallback */
	enum ccs_feedback_status status; /* the last one that was processed */
	uint64_t fallback, accounted;    /* bytes sent under the fallback, of `accounted` */
};

/* What posting and completing access comes first, up to the flow's statistics. */
struct qp {
	struct ibv_qp *real;
	struct ctx *ctx;
	struct cq *cq;
	struct shadow *shadow;
	struct ccs_stats_slot *stats;    /* its entry of the statistics file; NULL: none */
	uint32_t id;                     /* registry entry and generation, for tokens */
	struct ccs_lock lock;            /* guards what follows, up to prev, but for wr_batch */
	bool scheduled : 1;              /* timer may be set */
	bool broken : 1;                 /* failed: the shim completes what the device does not */
	bool has_feedback : 1;           /* feedback.slot is set */
	bool resumed : 1;                /* in RTS, since the application posted last */
	bool early : 1;                  /* not in RTS since it was created or reset */
	bool special : 1;                /* posts are system calls, or batches of ibv_wr_* */
	bool notifies : 1;               /* its CQ has a channel */
	bool busy : 1, mixed : 1, silent : 1, failing : 1; /* counted in its CQ */
	bool silent_long : 1;            /* up to silent_end: the device raises the event */
	bool looks_soon : 1;             /* silent: its timer is not a longer one */
	bool counted : 1;                /* in shadow->busy */
	bool may_split : 1;              /* created with entries for segments */
	bool flush_seen : 1;             /* broken: the device has flushed a WQE */
	bool in_broken : 1;              /* it is in cq->broken, or being destroyed */
	bool sq_sig_all;
	bool timed;                      /* counted in cq->timed */
	bool dead;
	bool split_imm;                  /* of its policy */
	enum ibv_qp_state state : 8;
	bool syscalls;                   /* of its device */
	struct ccs_flow flow;
	struct wr_batch *wr_batch;       /* NULL: created without ibv_wr_* */
	uint64_t publish_ns;             /* when to update its statistics; UINT64_MAX: never */
	uint32_t qp_num;                 /* for the last report, when `real` is gone */
	uint32_t flush_vendor_err;       /* broken: of the device's flushed WQEs */
	bool marker_posted;              /* broken: behind all WQEs there is one of ours */
	uint8_t port;
	uint8_t class_given, class_sent; /* traffic class: the application's, the device's */
	struct feedback feedback;
	uint64_t created_ns;
	struct ibv_qp_cap cap;           /* as returned to the application */
	uint32_t reserved;               /* entries of the shadow CQ */
	struct ibv_send_wr *copy;        /* deferred WRs, and more (wr.h); NULL: none was yet */
	const struct ccs_policy *policy; /* in force */
	struct ccs_match_subject who;    /* what is known of its connection */
	struct qp *prev, *next;          /* list of all live QPs, for reports */
	struct parent_domain *domain;    /* that the application created it in; NULL: none */
	uint32_t held_end;               /* behind the last segment that the gate held back */
	uint16_t held_us;                /* for so long, up to UINT16_MAX */
	uint32_t silent_end;             /* behind the last segment, when it was seen silent */
	uint64_t silent_ns;              /* it was seen silent first, with that end */
	uint32_t peer_qpn;
	uint8_t peer_gid[16];            /* zeroes: unknown */
	atomic_int refs;
	struct ccs_timer timer;          /* in the pacer thread's wheel */
	uint64_t flushed_ns;             /* broken: when nothing in flight completes any more */
	struct qp *next_broken;          /* in cq->broken */
};

_Static_assert(sizeof(struct qp) <= 1792, "the pools have blocks of this size");
_Static_assert(offsetof(struct qp, flow.stats.samples) <= 4 * 64,
	       "a post and its poll touch four cache lines, with thousands of QPs");

#endif
