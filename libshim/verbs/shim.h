/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHIM_H
#define CCS_SHIM_H
/* The process: options, the registry of records, passes, life and death. */
#include <errno.h>

#include "runtime/match.h"
#include "runtime/options.h"
#include "runtime/stats.h"
#include "verbs/objects.h"
#include "verbs/ptrmap.h"

struct ccs_shim {
	struct ccs_options options;      /* of the process, whatever its QPs */
	double look_us;                  /* what a look at the clock takes here */
	bool off;                        /* mode off, or refused configuration */
	atomic_bool forked;              /* we are a child: verbs are the parent's */
	struct ccs_ptrmap contexts, cqs, qps, parent_domains;
	atomic_uint_fast64_t passes[CCS_PASS_COUNT];
};

extern _Atomic(struct ccs_shim *) ccs_shim_ready; /* NULL: not set up yet */
struct ccs_shim *ccs_shim_setup(void);

/* Reads the configuration on first use. Never NULL. */
static inline struct ccs_shim *ccs_shim(void)
{
	struct ccs_shim *shim = atomic_load_explicit(&ccs_shim_ready, memory_order_acquire);

	return shim ? shim : ccs_shim_setup();
}

/* Any lock of ours may be held by a thread that this process does not have: take none. */
static inline bool ccs_forked(void)
{
	return atomic_load_explicit(&ccs_shim()->forked, memory_order_relaxed);
}

/* Whether anything is to be controlled here. Safe from a plug-in that ccs_shim() loads. */
bool ccs_shim_on(void);

/* policy.c: what holds for a QP. Read only, but for what makes it. */
struct ccs_policy {
	struct ccs_options options;      /* those of a QP; mode off: nothing is done */
	struct ccs_options asked;        /* the same before it was seen that they cannot be */
	struct ccs_cc_spec cc;           /* what the user chose */
	struct ccs_cc_spec no_ports;     /* cc where only the receiver tells of its link */
	struct ccs_cc_spec stand_in;     /* while signals that cc needs do not come */
	bool automatic;                  /* cc is what he left open: no agent is no trouble */
	unsigned listens;                /* to an agent, for these CCS_NEEDS_* of cc */
	unsigned undelivered;            /* CCS_NEEDS_* of it that nothing here delivers */
	struct ccs_policy *next;
};

/* Reads the configuration: the process's options, and whether any of its QPs is controlled. */
bool ccs_policy_setup(struct ccs_options *options);
const struct ccs_policy *ccs_policy_general(void);  /* while nothing is known of a QP's peer */
const struct ccs_policy *ccs_policy_of(const struct ccs_who *who);
unsigned ccs_policy_generation(void);               /* another one: they may be others */
/* A QP has it from now on: says once what nothing here delivers to it. */
void ccs_policy_use(const struct ccs_policy *p);
unsigned ccs_policy_undelivered(void);              /* of all that were used */

/* For requests. The lock is outside of a QP's; the others are called with it. */
void ccs_policy_lock(void);
void ccs_policy_unlock(void);
void ccs_policy_options(const struct ccs_who *who, struct ccs_options *o); /* NULL: any QP's */
const struct ccs_policy *ccs_policy_for(const struct ccs_options *o);      /* NULL: no memory */
/* New rules before all others, or none: 0, or -1: no memory. */
struct ccs_setting;
int ccs_policy_amend(const struct ccs_setting *settings, unsigned n);

/* control.c: what `ccshim set` asks for, by an odd number. No lock of ours is held. */
void ccs_control_take(struct ccs_stats_mailbox *box, uint64_t asked);

static inline void ccs_control_look(void)
{
	struct ccs_stats_header *page = ccs_stats_page();
	uint64_t asked;

	if (!page)
		return;
	asked = __atomic_load_n(&page->mailbox.request_gen, __ATOMIC_RELAXED);
	if (__builtin_expect(asked & 1, 0))
		ccs_control_take(&page->mailbox, asked);
}

/* What goes by uncontrolled and is no QP that we know. */
void ccs_shim_count(enum ccs_pass reason);
/* A QP goes by uncontrolled: count it, say so at level info. */
void ccs_shim_pass(enum ccs_pass reason, const struct ibv_qp *qp);

uint64_t ccs_now_ns(void);
/* UTC less that clock. Both follow NTP, so it changes only when UTC is stepped. */
int64_t ccs_epoch_ns(void);

/*
 * errno is the application's: a verb that succeeds leaves it as it was, whatever was tried on
 * the way. One that fails leaves what the device did.
 */
static inline int ccs_done(int saved, int rc)
{
	if (!rc)
		errno = saved;
	return rc;
}

static inline void *ccs_made(int saved, void *object)
{
	if (object)
		errno = saved;
	return object;
}

/* The time of what is going on: looked up when it is first asked for. */
static inline uint64_t ccs_now(uint64_t *now_ns)
{
	if (*now_ns == CCS_TIME_UNKNOWN)
		*now_ns = ccs_now_ns();
	return *now_ns;
}

/* Registry: gives qp->id, finds the QP of a token's id if it completes at that CQ,
 * forgets it. The caller of find, next and remove holds the CQ's lock. */
int ccs_registry_add(struct qp *qp);
struct qp *ccs_registry_find(const struct cq *cq, uint32_t id);
/* The first QP of that CQ in a slot >= *slot, which moves behind it; NULL at the end. */
struct qp *ccs_registry_next(const struct cq *cq, uint32_t *slot);
void ccs_registry_remove(struct qp *qp);
/* The same for a device's QPs (NULL: any's), without a lock, and with a reference to be put. */
struct qp *ccs_registry_grab(const struct ctx *ctx, uint32_t *slot);

/* open.c */
void ccs_open_begin(void);  /* before any device is opened */
struct ibv_context *ccs_open_device(struct ibv_device *device);

/* context.c */
void ccs_context_attach(struct ibv_context *context);
void ccs_context_detach(struct ibv_context *context);
struct ctx *ccs_context_find(struct ibv_context *context);
void ccs_context_put(struct ctx *ctx);
/* As its owner gives it, or 0: as the port says. */
double ccs_context_line_rate(const struct ctx *ctx, uint8_t port, double given);

/* domain.c: parent domains with a thread domain */
struct domain;
struct ibv_pd *ccs_domain_alloc(struct ctx *ctx, struct ibv_parent_domain_init_attr *attr);
int ccs_domain_dealloc(struct ibv_pd *pd);
struct domain *ccs_domain_find(const struct ibv_pd *pd);  /* NULL: any other domain */
bool ccs_domain_avoidable(const struct domain *d);        /* false: QPs in it have to pass */
struct ibv_pd *ccs_domain_plain(struct ibv_pd *pd);       /* where a controlled QP is made */
void ccs_domain_enter(struct qp *qp, const struct ibv_pd *pd);
void ccs_domain_leave(const struct qp *qp);
/* Whether the application looks at the QP, or the provider, which is about to destroy it. */
void ccs_domain_show(const struct qp *qp, bool parent);

/* cq.c */
static inline struct cq *ccs_cq_find(struct ibv_cq *cq)
{
	return ccs_ptrmap_get(&ccs_shim()->cqs, cq);
}

/* NULL without memory, or of a device that is not controlled. */
struct cq *ccs_cq_new(struct ibv_cq *cq, struct ibv_comp_channel *channel, void *cq_context,
		      int comp_vector);
/* From now on it can be found; false: it is gone, without memory. */
bool ccs_cq_track(struct cq *cq);
int ccs_cq_destroy(struct cq *cq);
void ccs_cq_not_followed(void);  /* says so, once */
void ccs_cq_put(struct cq *cq);
struct shadow *ccs_cq_attach(struct cq *cq, uint32_t entries);
void ccs_cq_release(struct cq *cq, struct shadow *s, uint32_t entries);
/* Poll the shadows dry, deliver, emit what becomes due. cq->lock is held. */
void ccs_cq_drain(struct cq *cq);
/* Owe the application one more, a copy of *wc: where it is. cq->lock is held and there is room. */
struct ibv_wc *ccs_cq_push(struct cq *cq, const struct ibv_wc *wc, const struct wc_more *more);
uint32_t ccs_cq_room(const struct cq *cq);
/* The oldest completion that is owed; whether the application is spinning; when there was none,
 * or unknown. 0, ENOENT, or EINVAL: the CQ has failed. */
int ccs_cq_take(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
		uint64_t *empty_ns);
bool ccs_cq_owes(struct cq *cq);
/* The session's current completion is owed, too, behind what is owed after another look at the
 * shadows; false: nothing is, or there is no room for it. */
bool ccs_cq_put_behind(struct cq *cq, struct ibv_cq_ex *ex);
int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc);
int ccs_cq_notify(struct cq *cq, int solicited_only);
int ccs_cq_resize(struct cq *cq, int cqe);
int ccs_cq_modify(struct cq *cq, struct ibv_modify_cq_attr *attr);

/* cqex.c: start_poll, next_poll, end_poll and what is read in between. */
struct ibv_cq_ex *ccs_cqex_create(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr);
/* No session of another thread from here to there: providers let one at a time poll. */
void ccs_cqex_enter(struct cqex *e);
void ccs_cqex_leave(struct cqex *e);
void ccs_cqex_free(struct cqex *e);

/* shadow.c; cq->lock is held. A new one, in the CQ's list; NULL: the device refused. */
struct shadow *ccs_shadow_new(struct cq *cq, uint32_t entries);
/* At most n <= CCS_BATCH completions. < 0: an error. */
int ccs_shadow_poll(struct cq *cq, struct shadow *s, int n, struct arrivals *a);
/* The current completion of an open session. */
void ccs_shadow_read(struct ibv_cq_ex *ex, struct ibv_wc *wc, struct wc_more *more);
/* When the i-th of them was made, as far as can be told. */
struct ccs_span ccs_shadow_date(struct cq *cq, const struct arrivals *a, int i);
/* What an extended CQ tells of a completion that is made now, by us. */
void ccs_shadow_now(struct cq *cq, struct wc_more *more);
/* The application's moderation, for that CQ. */
int ccs_shadow_moderate(const struct cq *cq, struct ibv_cq *ibcq);

/* event.c */
int ccs_event_get(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void ccs_event_ack(struct ibv_cq *cq, unsigned int n);
void ccs_event_map_async(struct ibv_async_event *event);
bool ccs_event_unmap_async(struct ibv_async_event *event);

/* qp.c */
struct ibv_qp *ccs_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *ccs_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
int ccs_qp_modify(struct qp *qp, struct ibv_qp_attr *attr, int mask);
int ccs_qp_query(struct qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
int ccs_qp_destroy(struct qp *qp);
void ccs_qp_put(struct qp *qp);
/* That policy holds from now on. */
void ccs_qp_adopt(struct qp *qp, const struct ccs_policy *policy);

/* Leave qp->lock after the flow was touched: polls look at the clock while it is of use. */
static inline void ccs_qp_leave(struct qp *qp)
{
	const bool timed = qp->flow.timed;

	if (timed != qp->timed)
		atomic_fetch_add_explicit(&qp->cq->timed, timed ? 1 : -1, memory_order_relaxed);
	qp->timed = timed;
	ccs_unlock(&qp->lock);
}
/* Its device is about to be closed: nothing of ours touches it any more. */
void ccs_qp_abandon(struct qp *qp);

/* signals.c: congestion signals of a host agent, by the QP's slot */
void ccs_signals_setup(const struct ccs_options *o);
void ccs_signals_prepare(struct ccs_policy *p);  /* what follows from its options and cc */
/* The algorithm that a flow has now, by its policy and by what it hears. */
const struct ccs_cc_spec *ccs_signals_choice(const struct qp *qp);
/* The path is known, by attributes that the device has taken, and its policy is chosen; or it is
 * none any more. */
void ccs_signals_attach(struct qp *qp, const struct ibv_qp_attr *attr, int mask);
void ccs_signals_detach(struct qp *qp);
void ccs_signals_look(struct qp *qp, uint64_t *now_ns);
uint32_t ccs_signals_cnps(const struct qp *qp); /* that came, heard or not */
const char *ccs_signals_state(const struct qp *qp);
/* Bytes handed over under the fallback; to be counted before the flow gets another algorithm. */
uint64_t ccs_signals_fallback(const struct qp *qp);
void ccs_signals_count(struct qp *qp);

/* Before the gate is looked at; qp->lock is held. */
static inline void ccs_signals_hear(struct qp *qp, uint64_t *now_ns)
{
	if (__builtin_expect(qp->hears, 0))
		ccs_signals_look(qp, now_ns);
}

/* links.c: telemetry of the QP's path, into its flow */
struct links *ccs_links_new(void);  /* NULL: no memory */
/* Takes what is new. There are links and a slot; qp->lock is held. */
void ccs_links_read(struct qp *qp, uint64_t *now_ns);
/* A flow that has sent nothing yet takes its share beside those that are there. */
void ccs_links_start(struct qp *qp, uint64_t *now_ns);
/* The same for one that has begun without telemetry, and is one of them. */
void ccs_links_share(struct qp *qp, uint64_t *now_ns);
/* How often telemetry is of use to the flow, us. */
uint32_t ccs_links_period_us(const struct ccs_flow *f);

/* Before a completion counts; qp->lock is held. */
static inline void ccs_links_look(struct qp *qp)
{
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	if (__builtin_expect(qp->hears && qp->hearing.links, 0))
		ccs_links_read(qp, &now_ns);
}

/* serve.c: the host agent in this process; in the client's thread only */
int ccs_serve_start(const char *path); /* path outlives it; 0 or an errno */
void ccs_serve_stop(void);
/* What these threads have to say, said by the caller's. Not after fork. */
void ccs_serve_speak(void);

/* tclass.c: ibv_modify_qp, with a traffic class by which the network can tell of
 * congestion; and the application's own again in what it queries. */
int ccs_tclass_modify(struct qp *qp, const struct ccs_policy *policy, struct ibv_qp_attr *attr,
		      int mask);
void ccs_tclass_restore(struct qp *qp, struct ibv_qp_attr *attr);

/* post.c */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Hand over what the gate lets through, and see to the rest. qp->lock is held; the time
 * may be unknown. */
void ccs_post_pump(struct qp *qp, uint64_t *now_ns);
/* n that a session has staged behind the head, all or none; its lock is held. */
int ccs_post_staged(struct qp *qp, uint32_t n);
/* Look for free slots until there are n, or no more; the same. */
void ccs_post_make_room(struct qp *qp, uint32_t n);
int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* session.c: ibv_wr_*. A QP without it has no such lock, and nothing is done. */
extern const uint64_t ccs_session_ops;  /* IBV_QP_EX_WITH_* that a QP may ask for */
int ccs_session_open(struct qp *qp);    /* 0, or -1: no memory */
void ccs_session_close(struct qp *qp);
void ccs_session_install(const struct qp *qp);
void ccs_session_lock(const struct qp *qp);
void ccs_session_unlock(const struct qp *qp);
void ccs_session_room(const struct qp *qp); /* both locks are held */

/* complete.c: the i-th of what a shadow CQ brought. The locks of qp and its CQ are held. */
void ccs_complete(struct qp *qp, struct arrivals *a, int i);
/* Completions for what the device would not take any more, as far as there is room. */
void ccs_complete_broken(struct cq *cq);

/* helper.c: the pacer and its thread */
/* false: there is no thread, so that nothing may wait. */
bool ccs_helper_set(struct qp *qp, uint64_t due_ns, uint64_t now_ns);
void ccs_helper_cancel(struct qp *qp);
extern _Atomic uint64_t ccs_helper_next;  /* when somebody is due; UINT64_MAX: nobody */
void ccs_helper_drive(const struct cq *cq, uint64_t now_ns, bool spinning);

/* After a poll: whoever is due. spinning: the thread may take its time. now_ns: when the CQ's
 * shadows were looked at, or unknown. No lock of ours is held. */
static inline void ccs_helper_polled(const struct cq *cq, uint64_t now_ns, bool spinning)
{
	ccs_control_look();
	if (atomic_load_explicit(&ccs_helper_next, memory_order_relaxed) != UINT64_MAX)
		ccs_helper_drive(cq, now_ns, spinning);
}

/* publish.c: the QP's figures, for other processes to see; its lock is held. */
struct ccs_stats_header *ccs_publish_page(void); /* made when it is first wanted; or NULL */
void ccs_publish_begin(struct qp *qp);           /* takes the lock itself */
void ccs_publish_end(struct qp *qp);
void ccs_publish(struct qp *qp, uint64_t now_ns);
/* What is shown; of a report, too. */
void ccs_publish_collect(const struct qp *qp, uint64_t now_ns, struct ccs_stats_qp *out);

/* If it is time to; of an unknown time nothing is known. */
static inline void ccs_publish_due(struct qp *qp, uint64_t now_ns)
{
	_Static_assert(CCS_TIME_UNKNOWN + 1 == 0, "never due");
	if (__builtin_expect(now_ns + 1 > qp->publish_ns, 0))
		ccs_publish(qp, now_ns);
}

/* Nothing is outstanding: counters of which more may not come for long. A line of stores. */
static inline void ccs_publish_idle(const struct qp *qp)
{
	const struct ccs_flow *f = &qp->flow;

	if (!qp->stats || f->seg_tail != f->seg_head)
		return;
	ccs_stats_put_live(qp->stats, &(struct ccs_stats_live){
		.idle = 1, .posts = f->wr_head, .completions = f->stats.wrs,
		.segments = f->stats.segments, .bytes = f->stats.bytes, .sent = f->sent,
		.hidden = f->stats.hidden, .gated_ns = f->stats.gated_ns,
	});
}

/* report.c */
void ccs_report_add(struct qp *qp);
void ccs_report_remove(struct qp *qp);
void ccs_report_write(void);

#endif
