/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_OBJECTS_H
#define CCS_OBJECTS_H
/*
 * Our records of libibverbs objects. Lock order: cq.lock, then qp.lock; the
 * pacer's own lock is innermost. A QP record lives while somebody holds a
 * reference: its owner until ibv_destroy_qp, the helper while it works on it.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"
#include "flow/flow.h"
#include "flow/pacer.h"
#include "runtime/match.h"
#include "signal/hwclock.h"
#include "signal/slot.h"

/* Why a QP is left alone, as reports name it. */
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
	struct ibv_context_ops real;     /* the provider's own */
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *,
					      struct ibv_parent_domain_init_attr *);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);
	int (*query_rt_values)(struct ibv_context *, struct ibv_values_ex *);
	int (*modify_cq)(struct ibv_cq *, struct ibv_modify_cq_attr *);
	bool stamps;                     /* the device stamps completions, by this clock */
	struct ccs_hwclock clock;        /* what each CQ's starts as */
	uint32_t max_qp_wr, max_cqe;
	bool iwarp;
	bool syscalls;                   /* to post to it is one: a software device */
	char device[IBV_SYSFS_NAME_MAX];
	atomic_int refs;                 /* its owner and each tracked CQ */
};

/* A send CQ of our own, behind one of the application's. */
struct shadow {
	struct ibv_cq *cq;
	struct ibv_cq_ex *ex;            /* the same, if it is an extended one */
	uint64_t empty_ns;               /* if it stamps: it was seen empty after that */
	unsigned errors;                 /* and its polls that failed */
	uint32_t size, used;             /* entries; used: promised to QPs */
	atomic_uint unacked;             /* events given out and not acknowledged */
	struct shadow *next;
};

/* What a completion of an extended CQ has besides a struct ibv_wc. */
struct wc_more {
	uint64_t completion_ts, completion_wallclock_ns;
	struct ibv_wc_tm_info tm_info;
	uint32_t flow_tag;
	uint16_t cvlan;
};

enum { CCS_BATCH = 16 };                 /* WQEs a doorbell, completions a poll */

/* What a poll of a shadow brought. */
struct arrivals {
	struct ibv_wc wc[CCS_BATCH];
	struct wc_more more[CCS_BATCH];
	int n;
	bool stamped;                    /* by the device, in more */
	uint64_t empty_ns;               /* when there was nothing before them */
};

struct cqex; /* the application's side of an extended CQ; cqex.c */

struct cq {
	struct ibv_cq *app;
	struct cqex *ex;                 /* NULL: a plain one */
	uint64_t wc_flags;               /* that it was asked for */
	bool strange;                    /* it has features that we do not know */
	struct ctx *ctx;
	struct ibv_comp_channel *channel;
	void *cq_context;
	int comp_vector;
	atomic_int refs;                 /* its owner and each controlled QP */
	atomic_bool broken;              /* a QP of it is, and has more to complete */
	atomic_bool direct;              /* its ring is read by direct verbs */
	atomic_int armed;                /* 1 + solicited_only of a request that no event answered */
	atomic_uint unacked;             /* of the application's own CQ */
	atomic_int timed;                /* QPs with segments in flight whose RTT is taken */
	atomic_uint async_owed;          /* errors told of a shadow, acknowledged to it already */
	_Atomic(struct shadow *) shadows;
	struct ccs_lock lock;            /* of all that follows */
	bool closing;                    /* shadows are being destroyed */
	unsigned qps;
	struct ibv_modify_cq_attr moderation; /* attr_mask 0: none */
	struct ibv_wc *ready;            /* completions owed, oldest first */
	struct wc_more *ready_more;      /* of each; NULL: a plain CQ */
	uint32_t ready_head, ready_tail, ready_mask;
	struct ibv_wc *out;              /* of the poll that is going on: filled before the ring */
	int out_room;
	uint64_t polled_ns;              /* now, for what a poll of a shadow leads to; or unknown */
	uint64_t looked_ns;              /* the shadows were seen empty after that */
	struct ccs_hwclock clock;        /* of the shadows' timestamps */
	unsigned idle_polls;             /* empty in a row: a spinning application */
	bool woken;                      /* by an event, so completions are fresh */
	unsigned polls;                  /* since the application's own CQ was asked */
	int failed;                      /* what the last look into the shadows returned, if < 0 */
};

/* What a QP knows of the links on its path, by telemetry. */
struct links {
	struct ccs_telemetry now;        /* the flow's */
	uint64_t updated_ns;             /* when it came; 0: never */
	uint32_t name[CCS_CC_MAX_HOPS];
	double rate[CCS_CC_MAX_HOPS];    /* bit/s, since the record before; 0: not known */
	bool ports;                      /* with records of switches */
	bool fresh;                      /* since signals were good for nothing last */
	uint64_t floor_ns;               /* the advised rate is far below a fair share since; 0: no */
	bool outdone;                    /* for long enough to be no accident */
	const struct ccs_path *path;     /* read last, when it had that version */
	uint32_t version;
};

/* What a QP hears of an agent's signals. */
struct hearing {
	struct ccs_slot *slot;           /* NULL: nothing */
	struct links *links;             /* NULL: no telemetry is wanted */
	uint64_t cnps;                   /* of slot->cnps, heard already */
	double rate;                     /* bit/s, as told there */
	uint64_t sent;                   /* bytes, the same */
	uint64_t way_sent, way_read;     /* the flow's, when its direction was looked at last */
	bool way_known;                  /* it has sent or READ something */
	bool inbound;                    /* most of its bytes are READ: they come from the peer */
	uint32_t peer_qpn;
	unsigned listens;                /* CCS_NEEDS_* that it was connected for */
	uint32_t switches;               /* to another algorithm and back */
	uint64_t fallback, counted;      /* bytes that the fallback carried, of the first `counted` */
	enum ccs_verdict verdict;        /* the last one that was acted upon */
};

/* What a post and a completion touch comes first, up to the middle of the flow. */
struct qp {
	struct ibv_qp *real;
	struct ctx *ctx;
	struct cq *cq;
	struct session *session;         /* of ibv_wr_*; NULL: without. Not under lock */
	uint32_t id;                     /* registry slot and generation, for tokens */
	uint32_t qp_num;                 /* real is gone before its last report */
	struct ccs_lock lock;            /* of what follows, up to prev */
	bool dead, scheduled;            /* scheduled: timer may be set */
	bool timed;                      /* cq->timed counts it */
	bool sq_sig_all;
	bool broken;                     /* the device refused a WR that had waited */
	bool nudged;                     /* then: an event is on its way */
	bool split_imm;                  /* of its policy */
	bool hears;                      /* hearing.slot is set */
	uint8_t port;
	uint8_t class_given, class_sent; /* traffic class: the application's, the device's */
	enum ibv_qp_state state : 8;
	bool syscalls;                   /* of its device */
	struct ccs_stats_slot *stats;    /* in which its figures are shown; NULL: nowhere */
	uint64_t publish_ns;             /* they are due then; UINT64_MAX: never */
	struct ibv_qp_cap cap;           /* as the application was told */
	struct ccs_flow flow;
	struct hearing hearing;
	struct ibv_send_wr *slot;        /* flow.wr_mask + 1: copies of WRs that wait */
	struct ibv_sge *slot_sge;        /* cap.max_send_sge each */
	unsigned char *slot_inline;      /* cap.max_inline_data each */
	struct ibv_sge *scratch;         /* CCS_BATCH * cap.max_send_sge */
	const struct ccs_policy *policy; /* what holds for it */
	struct ccs_who who;              /* what is known of its connection */
	struct qp *prev, *next;          /* of all live ones, for reports */
	struct domain *domain;           /* of a thread, in which it only seems to be; or NULL */
	struct shadow *shadow;
	uint64_t created_ns;
	uint32_t peer_qpn;
	uint8_t peer_gid[16];            /* zeroes: unknown */
	struct ccs_timer timer;          /* of the pacer */
	atomic_int refs;
};

_Static_assert(offsetof(struct qp, flow.cc.path.segment) <= 7 * 64, "seven cache lines, of thousands");

#endif
