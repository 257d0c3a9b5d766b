/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_RECORD_H
#define CCS_CQ_RECORD_H
/* Records of a completion queue, of its shadow CQs, and of the completions that wait in it. */
#include <pthread.h>

#include "base/lock.h"
#include "preload/object/ctx.h"

struct qp;

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

#endif
