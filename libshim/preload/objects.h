/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_OBJECTS_H
#define CCS_OBJECTS_H
/*
 * Records of libibverbs objects. Lock order: cq.lock, then qp.lock; the pacer thread's lock is
 * innermost. A QP's record lives while references to it exist: the application's until
 * ibv_destroy_qp, and the pacer thread's while it processes the QP.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"
#include "base/timer_wheel.h"
#include "config/match.h"
#include "feedback/hwclock.h"
#include "feedback/shm.h"
#include "flow/flow.h"

/* Why a QP is left uncontrolled, as reports name it. */
#define CCS_PASS_REASONS(X) \
	X(NOT_RC, "not-rc") \
	X(IWARP, "iwarp") \
	X(NO_SEND_QUEUE, "no-send-queue") \
	X(CREATE_QP_EX, "create-qp-ex") \
	X(SEND_OPS, "send-ops") \
	X(PARENT_DOMAIN, "parent-domain") \
	X(UNKNOWN_CQ, "unknown-cq") \
	X(CQ_FEATURES, "cq-features") \
	X(SHADOW_CQ, "no-shadow-cq") \
	X(NO_MEMORY, "no-memory") \
	X(NO_THREAD, "no-thread") \
	X(REFUSED, "device-refused") \
	X(DIRECT, "direct-verbs") \
	X(BYPASS, "bypassed")
#define CCS_PASS_MEMBER(id, text) CCS_PASS_##id,
enum ccs_pass { CCS_PASS_REASONS(CCS_PASS_MEMBER) CCS_PASS_COUNT };
#undef CCS_PASS_MEMBER
extern const char *const ccs_pass_names[];

struct ctx {
	struct ibv_context *context;
	struct ibv_context_ops real;     /* the provider's */
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *,
					      struct ibv_parent_domain_init_attr *);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);
	int (*query_rt_values)(struct ibv_context *, struct ibv_values_ex *);
	int (*modify_cq)(struct ibv_cq *, struct ibv_modify_cq_attr *);
	const struct ccs_provider *provider;
	bool has_timestamps;             /* the device timestamps completions, by this clock */
	struct ccs_hwclock clock;        /* initial value of each CQ's clock */
	uint32_t max_qp_wr, max_cqe;
	uint32_t max_message;            /* bytes; longer ones are the device's to refuse */
	bool iwarp;
	bool syscalls;                   /* posting is a system call: a software device */
	bool atomics;                    /* the device has them */
	bool ignores_in_error;           /* WQEs that are posted in ERR: no completion */
	bool doubles_rings;              /* and grants all entries: ccs_qp_bare_depth() */
	bool reuses_silently;            /* entries of unsignalled WQEs, without a completion */
	int too_large;                   /* its error for too many SGEs or too much inline data */
	int batch_too_large;             /* the same with ibv_wr_*, and for too many WRs */
	char device[IBV_SYSFS_NAME_MAX];
	uint32_t number;                 /* not that of any other */
	atomic_int refs;                 /* its owner and each tracked CQ */
};

/* Of a shadow CQ. Posts of its QPs have more to do with any of them. */
enum {
	CCS_SHADOW_RESTS = 1,            /* no QP has WQEs in flight: do not poll it */
	CCS_SHADOW_COUNTED = 2,          /* another one exists: `busy` says the same at any time */
};

/* A shadow CQ: our send CQ for QPs that the application created on one of its own. The bell's CQ is
 * one of size 0. */
struct shadow {
	struct ibv_cq *cq;
	struct ibv_cq_ex *ex;            /* the same, if it is an extended one */
	uint64_t empty_ns;               /* with timestamps: it was seen empty after this time */
	unsigned errors;                 /* failed polls */
	uint32_t empty, rest_after;      /* polls in a row that found nothing; so many: rest */
	atomic_uint watch;               /* CCS_SHADOW_* */
	atomic_uint busy;                /* QPs with WQEs in flight, or failing */
	uint32_t size;                   /* entries */
	atomic_uint used;                /* those reserved for QPs; only release needs cq->lock */
	atomic_uint unacked;             /* events returned and not acknowledged yet */
	struct shadow *next;
};

/* The fields of an extended CQ's completion that struct ibv_wc does not have. */
struct wc_more {
	uint64_t completion_ts, completion_wallclock_ns;
	struct ibv_wc_tm_info tm_info;
	uint32_t flow_tag;
	uint16_t cvlan;
};

enum { CCS_BATCH = 16 };                 /* WQEs per doorbell, completions per poll */

/* The completions of one poll of a shadow CQ. */
struct shadow_batch {
	struct ibv_wc *wc;               /* in the application's array, or `own` */
	struct ibv_wc own[CCS_BATCH];
	struct wc_more more[CCS_BATCH];
	int n;
	bool has_timestamps;             /* of the device, in more */
	uint64_t empty_ns;               /* the CQ was empty after this time */
};

/* A completion that is to be delivered. A number may belong to another QP by then. */
struct ready {
	struct ibv_wc wc;
	uint32_t owner;                  /* id of its QP; CCS_NO_OWNER: from the application's CQ */
	uint32_t wr_end;                 /* behind its WR: those before it are free when it is polled */
};

#define CCS_NO_OWNER UINT32_MAX

struct cq_ex; /* the application's side of an extended CQ; cq_ex.c */

struct cq {
	struct ibv_cq *app;
	struct cq_ex *ex;                /* NULL: a plain CQ */
	uint64_t wc_flags;               /* that it was created with */
	bool unsupported;                /* created with features that we do not know */
	bool one_thread;                 /* only one thread polls it, as the application promised */
	atomic_bool usual;               /* shadow CQs, no channel or extended fields; not closing */
	atomic_bool idle;                /* usual, and since then no QP has had a WQE in flight */
	struct ctx *ctx;
	struct ibv_comp_channel *channel;
	void *cq_context;
	int comp_vector;
	atomic_int cqe;                  /* as granted at creation, or requested since */
	atomic_int refs;                 /* its owner and each controlled QP */
	_Atomic(struct qp *) broken;     /* QPs that have failed, and have WRs to complete; broken.h */
	atomic_bool direct;              /* direct verbs read its ring */
	/* Of CQs with a channel; see notify.h */
	atomic_uint armed;               /* requests without an event: 0, 1, or 2 */
	atomic_bool solicited;           /* all of them are for solicited completions only */
	atomic_uint cover;               /* enum ccs_cover */
	atomic_bool quiet;               /* no completion since the shadow CQs were armed */
	atomic_bool received;            /* one of its own was polled since the last request */
	atomic_uint busy;                /* QPs with WQEs in flight, or failing */
	atomic_uint mixed;               /* those with some whose completion only we get */
	atomic_uint silent;              /* those with none that completes unless it fails */
	atomic_uint failing;             /* those whose last WRs we complete */
	atomic_bool lazy;                /* there is a bell */
	bool completed;                  /* a send has since the last request, under the lock */
	bool event_is_own;               /* CCS_COVER_READ: it was of its own CQ; the same */
	bool ring;                       /* raise an event after this drain, under the lock */
	bool bell_tried;
	struct ccs_bell *bell;           /* that raises it; NULL: none */
	atomic_uint unacked;             /* events of the application's own CQ */
	atomic_int timed;                /* QPs with segments in flight whose RTT is measured */
	atomic_uint async_acked;         /* errors of a shadow CQ, already acknowledged to it */
	_Atomic(struct shadow *) shadows;
	struct ccs_lock lock;            /* guards what follows, up to batch_lock */
	bool closing;                    /* shadow CQs are being destroyed */
	unsigned qps;
	struct ibv_modify_cq_attr moderation; /* attr_mask 0: none */
	struct qp *last;                 /* of the last completion; NULL: unknown */
	struct shadow *recent;           /* the only active one at a recent usual poll; or NULL */
	struct ready *ready;             /* completions to be delivered, oldest first */
	struct wc_more *ready_more;      /* of each; NULL: a plain CQ */
	uint32_t ready_head, ready_tail, ready_mask;
	struct ibv_wc *out;              /* array of the current poll: filled before the ring */
	int out_space;
	uint64_t polled_ns;              /* time of the last poll of a shadow CQ; or unknown */
	uint64_t empty_ns;               /* the shadow CQs were seen empty after this time */
	struct ccs_hwclock clock;        /* of the shadow CQs' timestamps */
	unsigned idle_polls;             /* consecutive empty polls: the application spins */
	bool woken;                      /* by an event, so completions are recent */
	unsigned polls;                  /* since the application's own CQ was polled */
	int failed;                      /* result of the last poll of a shadow CQ, if < 0 */
	pthread_mutex_t batch_lock;      /* of an extended CQ: one poll batch at a time */
};

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
