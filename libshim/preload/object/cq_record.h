/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_RECORD_H
#define CCS_CQ_RECORD_H
/* Records of a completion queue, its shadow CQs and the completions that wait in it. */
#include <pthread.h>

#include "base/lock.h"
#include "preload/object/ctx.h"

struct qp;

/* Flags of a shadow CQ. A post to one of its QPs does more work while any of them is set. */
enum {
	CCS_SHADOW_RESTS = 1,            /* no QP has WQEs in flight: do not poll it */
	CCS_SHADOW_COUNTED = 2,          /* the CQ has several: `busy` counts the QPs of each */
};

/* A shadow CQ: the send CQ that the device gets for QPs that the application created on a CQ. The
 * CQ of the event QP (cq/notify.h) has a record of size 0. */
struct shadow {
	struct ibv_cq *cq;
	struct ibv_cq_ex *ex;            /* the same as an extended CQ; or NULL */
	uint64_t empty_ns;               /* with timestamps: last time before a poll emptied it */
	unsigned errors;                 /* failed polls */
	uint32_t empty;                  /* consecutive polls without a completion */
	uint32_t rest_after;             /* such polls until it rests */
	atomic_uint watch;               /* CCS_SHADOW_* */
	atomic_uint busy;                /* QPs with WQEs in flight, and failed QPs */
	uint32_t size;                   /* entries */
	atomic_uint used;                /* entries reserved for QPs; only release needs cq->lock */
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
	bool has_timestamps;             /* `more` has the device's timestamps */
	uint64_t empty_ns;               /* the CQ was empty after this time */
};

/* A completion that the application has not polled yet. */
struct ready {
	struct ibv_wc wc;
	uint32_t owner;                  /* id of its QP; CCS_NO_OWNER: from the application's CQ */
	uint32_t wr_end;                 /* number after its WR: entries before it become free */
};

#define CCS_NO_OWNER UINT32_MAX

/* Completions that the shim has polled and the application has not: a ring, oldest first. */
struct ready_ring {
	struct ready *entry;
	struct wc_more *more;            /* for each entry; NULL: a plain CQ */
	uint32_t head, tail, mask;
};

/* The source of the event that the application has requested; cq/notify.h explains the states. */
enum ccs_event_source {
	CCS_EVENT_NONE,                  /* undetermined: the shadow CQs are not armed */
	CCS_EVENT_DEVICE,                /* the shadow CQs are armed */
	CCS_EVENT_SHIM,                  /* the event QP has raised it */
	CCS_EVENT_UNDECIDED_APP,         /* an event of the application's own CQ was read */
	CCS_EVENT_UNDECIDED_SHADOW,      /* an event of a shadow CQ was read */
};

/* Events of a CQ with a channel. */
struct cq_events {
	atomic_uint requests;            /* that have had no event: 0, 1, or 2 */
	atomic_bool solicited;           /* all requests are for solicited completions only */
	atomic_uint source;              /* enum ccs_event_source */
	atomic_bool no_cqe_since_arm;    /* no completion since the shadow CQs were armed */
	atomic_bool app_completed;       /* own CQ: a completion was polled since the request */
	bool shadow_completed;           /* shadow CQs: the same; under cq->lock */
	bool must_raise;                 /* raise an event after this drain; under cq->lock */
	atomic_uint busy;                /* QPs with WQEs in flight, and failed QPs */
	atomic_uint has_internal;        /* QPs with a WQE whose completion the shim keeps */
	atomic_uint all_unsignalled;     /* QPs whose WQEs complete only if one fails */
	atomic_uint failing;             /* QPs whose last WRs the shim completes */
	atomic_bool shim_raises_events;  /* there is an event QP, and it works */
	bool event_qp_tried;
	struct ccs_event_qp *event_qp;   /* NULL: not created */
	atomic_uint unacked;             /* events of the application's own CQ */
};

/* How a CQ is polled. */
enum ccs_cq_polls {
	CCS_POLLS_ANY,
	CCS_POLLS_FAST,                  /* shadow CQs, no channel or extended fields; not closing */
	CCS_POLLS_IDLE,                  /* fast, and since then no QP has had a WQE in flight */
};

struct cq_ex; /* the application's side of an extended CQ; cq_ex.c */

struct cq {
	struct ibv_cq *app;
	struct cq_ex *ex;                /* NULL: a plain CQ */
	uint64_t wc_flags;               /* as requested at its creation */
	int (*poll_batch)(struct cq *, int, struct ibv_wc *); /* NULL: only standard fields */
	bool unsupported;                /* created with features that the shim does not know */
	bool one_thread;                 /* the application promised to poll in one thread only */
	_Atomic(enum ccs_cq_polls) kind; /* way in which it is polled */
	struct ctx *ctx;
	struct ibv_comp_channel *channel;
	void *cq_context;
	int comp_vector;
	atomic_int cqe;                  /* as granted at creation, or requested since */
	atomic_int refs;                 /* its owner and each controlled QP */
	_Atomic(struct qp *) broken;     /* QPs that have failed, and have WRs to complete; cq.h */
	atomic_bool direct;              /* direct verbs read its ring */
	struct cq_events events;
	atomic_int timed;                /* QPs with segments in flight whose RTT is measured; +1 if
					  * `broken` has any */
	atomic_uint async_acked;         /* errors of a shadow CQ, already acknowledged to it */
	_Atomic(struct shadow *) shadows;
	struct ccs_lock lock;            /* guards the members up to batch_lock */
	bool closing;                    /* shadow CQs are being destroyed */
	unsigned qps;
	struct ibv_modify_cq_attr moderation; /* attr_mask 0: not set */
	struct qp *last;                 /* QP of the last completion; NULL: unknown */
	struct shadow *recent;           /* the only active one at a recent fast poll; or NULL */
	struct ready_ring ready;
	struct ibv_wc *out;              /* array of the current poll: filled before `ready` */
	int out_space;
	uint64_t polled_ns;              /* time of the last poll of a shadow CQ; or unknown */
	uint64_t empty_ns;               /* last time before a poll emptied the shadow CQs */
	struct ccs_hwclock clock;        /* maps timestamps of the shadow CQs */
	struct {
		struct ibv_wc *wc;
		int n;
	} idle;                          /* arguments of a poll while no WQE is in flight */
	unsigned idle_polls;             /* consecutive empty polls: the application spins */
	bool woken;                      /* an event woke the application: completions are recent */
	int turn, left;                  /* polls from one of the application's own CQ to the next */
	int failed;                      /* result of the last poll of a shadow CQ, if < 0 */
	pthread_mutex_t batch_lock;      /* extended CQ: held during a poll batch */
};

#endif
