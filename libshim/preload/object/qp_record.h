/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_RECORD_H
#define CCS_QP_RECORD_H
/*
 * Record of a queue pair. Lock order: cq.lock, qp.lock, the pacer thread's lock. A record lives
 * while references to it exist: the application has one until ibv_destroy_qp(), and the pacer
 * thread has one while it processes the QP.
 */
#include "base/timer_wheel.h"
#include "config/match.h"
#include "feedback/shm.h"
#include "flow/flow.h"
#include "preload/object/cq_record.h"

/* Telemetry of the links on a QP's path. */
struct qp_telemetry {
	struct ccs_telemetry now;        /* input of the flow's algorithm */
	uint64_t updated_ns;             /* arrival of the last record; 0: no record yet */
	uint32_t name[CCS_CC_MAX_HOPS];
	double rate[CCS_CC_MAX_HOPS];    /* bit/s since the previous record; 0: unknown */
	bool ports;                      /* records of switches are included */
	bool fresh;                      /* a record arrived since feedback was last missing */
	uint64_t floor_ns;               /* advised far below a fair share since; 0: not so */
	bool outdone;                    /* advised so for long enough to be reported */
	const struct ccs_shm_path *path; /* read last */
	uint32_t version;                /* of `path` at that time */
};

/* A QP's congestion feedback from the host agent. */
struct feedback {
	struct ccs_slot *slot;           /* NULL: no feedback */
	struct qp_telemetry *telemetry;  /* NULL: not needed */
	uint64_t cnps;                   /* CNPs of slot->cnps that were processed */
	double rate;                     /* bit/s, last stored in the slot */
	uint64_t sent;                   /* bytes, last stored in the slot */
	uint64_t direction_sent, direction_read; /* flow totals at the last check of direction */
	bool direction_known : 1;        /* it has sent or READ data */
	bool inbound : 1;                /* most of its data come from the peer: READs */
	bool capped : 1;                 /* the slot's limit is in force, or its class */
	uint16_t feedback_needs;         /* CCS_NEEDS_* at its registration with the agent */
	uint32_t peer_qpn;
	uint32_t switches;               /* changes between the algorithm and its fallback */
	enum ccs_feedback_status status; /* as processed last */
	uint64_t accounted;              /* bytes sent that were attributed to an algorithm */
	uint64_t fallback;               /* part of `accounted` that the fallback controlled */
};

/* A QP's part in the events of its CQ. `busy` to `failing`: it is counted in the member of struct
 * cq_events that has the same name. */
struct qp_events {
	bool enabled : 1;                /* its CQ has a channel */
	bool busy : 1, has_internal : 1, all_unsignalled : 1, failing : 1;
	bool unsignalled_long : 1;       /* the device raises events up to unsignalled.end */
	bool polls_soon : 1;             /* the timer for a poll is at its shortest interval */
};

/* A QP that has failed: the shim completes the WRs that the device does not. */
struct qp_failure {
	uint64_t deadline_ns;            /* WQEs without a completion are lost then; 0: not set */
	struct qp *next;                 /* in cq->broken */
	uint32_t vendor_err;             /* vendor_err of flushed WQEs */
	bool flush_seen;                 /* the device has flushed a WQE, or need not */
	bool marker_posted;              /* the newest WQE is the shim's */
	bool listed;                     /* in cq->broken, or being destroyed */
	atomic_bool fatal_given;         /* the application has read IBV_EVENT_QP_FATAL of async.c */
	unsigned connection;             /* its number in the process, from 1 */
	struct impairment *impair;       /* NULL: never impaired (datapath/impair.h) */
	uint64_t failed_ns;              /* time of the first error; 0: it has not failed */
	uint8_t status;                  /* the first error's enum ibv_wc_status */
	uint8_t event;                   /* the first error's enum ibv_event_type + 1, or 0 */
	bool ending;                     /* the application is moving it to ERR */
};

/* Attributes as the application set them. */
struct qp_attr {
	struct ibv_qp_cap cap;           /* as returned to the application */
	struct parent_domain *domain;    /* NULL: not in a parent domain */
	uint8_t port;
	bool may_split;                  /* created with entries for segments */
	uint8_t timeout, retry_cnt, sgid_index;
	uint32_t flow_label;
	uint8_t class_given, class_sent; /* traffic class: the application's, the device's */
};

struct qp_peer {
	struct ccs_match_subject subject; /* for the sections of the configuration */
	uint32_t qpn;
	uint8_t gid[16];                 /* zeroes: unknown */
};

/* The members that posting and completing access come first, up to the flow's statistics. */
struct qp {
	struct ibv_qp *real;
	struct ctx *ctx;
	struct cq *cq;
	struct shadow *shadow;
	struct ccs_stats_slot *stats;    /* its entry of the statistics file, or NULL */
	uint32_t id;                     /* registry entry and generation, for tokens */
	struct ccs_lock lock;            /* guards the members up to prev, except wr_batch */
	bool scheduled : 1;              /* timer may be set */
	bool broken : 1;                 /* has failed; see `failure` */
	bool has_feedback : 1;           /* feedback.slot is set */
	bool resumed : 1;                /* in RTS, since the application posted last */
	bool early : 1;                  /* not in RTS since it was created or reset */
	bool special : 1;                /* posts are system calls, or batches of ibv_wr_*, or impaired */
	bool counted : 1;                /* in shadow->busy */
	bool impaired : 1;               /* by the option `impair` */
	struct qp_events events;
	bool sq_sig_all : 1;
	bool timed;                      /* counted in cq->timed */
	bool dead;
	bool split_imm;                  /* of its policy */
	enum ibv_qp_state state : 8;
	bool syscalls;                   /* of its device */
	struct ccs_flow flow;
	struct wr_batch *wr_batch;       /* NULL: created without ibv_wr_* */
	uint64_t publish_ns;             /* when to update its statistics; UINT64_MAX: never */
	uint32_t qp_num;                 /* for the last report, when `real` is gone */
	struct qp_failure failure;
	struct qp_attr attr;
	struct feedback feedback;
	struct {
		uint64_t created_ns;
		bool counted;            /* in the statistics file; `stats` may be NULL */
	} shown;
	uint32_t reserved;               /* entries of the shadow CQ */
	struct ibv_send_wr *copy;        /* memory for deferred WRs (wr.h); NULL: not allocated */
	const struct ccs_policy *policy; /* in force */
	struct qp_peer peer;
	struct qp *prev, *next;          /* list of all live QPs, for reports */
	struct {
		uint32_t end;            /* number after the last segment that the gate held back */
		uint16_t us;             /* time that it was held back, at most UINT16_MAX */
	} held;
	struct {
		uint32_t end;            /* seg_head when all in flight was found unsignalled */
		uint64_t since_ns;       /* time of that */
	} unsignalled;
	atomic_int refs;
	struct ccs_timer timer;          /* in the pacer thread's wheel */
};

_Static_assert(sizeof(struct qp) <= 1792, "the pools have blocks of this size");
_Static_assert(offsetof(struct qp, flow.stats.samples) <= 4 * 64,
	       "a post and its poll touch four cache lines, with thousands of QPs");

#endif
