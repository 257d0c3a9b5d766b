/* SPDX-License-Identifier: BSD-2-Clause */
/* Impaired QPs; see impair.h. */
#include "preload/datapath/impair.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "config/impair.h"
#include "observe/log.h"
#include "preload/control/policy.h"
#include "preload/cq/cq.h"
#include "preload/datapath/async.h"
#include "preload/object/clock.h"
#include "preload/object/provider.h"
#include "preload/object/real.h"
#include "preload/report/recorder.h"

struct impairment {
	struct ccs_impair conf;
	const char *items;               /* from which conf is; NULL: not connected yet */
	unsigned nth;                    /* connection of the process; 0: not connected, or not impaired */
	uint64_t since_ns, first;        /* time of that, and the number of its first WR */
	uint32_t done;                   /* bit i: rule i, which happens once, has happened */
	bool failed;
	enum ibv_wc_status status;       /* the failed WR's, until it is delivered; 0: as a flush */
	uint32_t vendor_err;
	uint64_t last_due_ns;
	uint64_t due_ns[];               /* by entry of the queue: when the WR may leave */
};

static atomic_bool port_down;            /* for all impaired QPs */

/* vendor_err as ConnectX adapters report it. Others have no code, or one that is not known. */
static const struct failure {
	enum ibv_wc_status status;
	uint8_t mlx5;
} failures[CCS_IMPAIR_COUNT] = {
	[CCS_IMPAIR_RETRY] = { IBV_WC_RETRY_EXC_ERR, 0x81 },
	[CCS_IMPAIR_RNR] = { IBV_WC_RNR_RETRY_EXC_ERR, 0x87 },
	[CCS_IMPAIR_ACCESS] = { IBV_WC_REM_ACCESS_ERR, 0x88 },
	[CCS_IMPAIR_INVALID] = { IBV_WC_REM_INV_REQ_ERR, 0x8a },
	[CCS_IMPAIR_OPERATION] = { IBV_WC_REM_OP_ERR, 0x89 },
	[CCS_IMPAIR_FLUSH] = { IBV_WC_WR_FLUSH_ERR, CCS_MLX5_FLUSHED },
	[CCS_IMPAIR_FATAL] = { IBV_WC_WR_FLUSH_ERR, CCS_MLX5_FLUSHED },
	[CCS_IMPAIR_PORT] = { IBV_WC_RETRY_EXC_ERR, 0x81 },
};

static uint64_t ns(double us)
{
	return (uint64_t)(1e3 * us);
}

/*
 * A number from 0 to 1 for request n of the connection. It depends on these and on the seed only, so
 * that other threads do not change it.
 */
static double draw(const struct impairment *im, uint64_t n, unsigned use)
{
	const uint64_t stream = ccs_mix(im->conf.seed * 0x9e3779b97f4a7c15ull + im->nth);

	return (double)(ccs_mix(stream + n * 0xd1342543de82ef95ull + use) >> 11) * 0x1p-53;
}

static bool needs_request(const struct ccs_impair_rule *r)
{
	return r->when != CCS_IMPAIR_TIME || r->kind < CCS_IMPAIR_FLUSH;
}

/* When the next WR may leave. */
static uint64_t release_ns(const struct qp *qp)
{
	return qp->failure.impair->due_ns[qp->flow.wr_next & qp->flow.queue.wr_mask];
}

static bool is_due(const struct qp *qp, unsigned i, uint64_t now_ns)
{
	const struct impairment *im = qp->failure.impair;
	const struct ccs_impair_rule *r = &im->conf.rule[i];
	const uint64_t n = qp->flow.wr_next - im->first;

	if (im->done & 1u << i)
		return false;
	if (needs_request(r) && (!ccs_flow_waiting(&qp->flow) || release_ns(qp) > now_ns))
		return false;
	if (r->when == CCS_IMPAIR_TIME)
		return now_ns >= im->since_ns + ns(r->value);
	return r->when == CCS_IMPAIR_CHANCE ? draw(im, n, 1 + i) < r->value : (double)n == r->value;
}

/* The first rule that is due: at the next WR, if that may leave, or without one; or -1. */
static int due_rule(const struct qp *qp, uint64_t now_ns)
{
	for (unsigned i = 0; i < qp->failure.impair->conf.rules && !qp->flow.next_offset; i++)
		if (is_due(qp, i, now_ns))
			return (int)i;
	return -1;
}

static bool has_lost_port(const struct qp *qp)
{
	return atomic_load_explicit(&port_down, memory_order_relaxed) && !qp->flow.next_offset &&
	       ccs_flow_waiting(&qp->flow);
}

static bool is_active(const struct qp *qp)
{
	return qp->failure.impair->nth && !qp->failure.impair->failed && qp->state == IBV_QPS_RTS && !qp->dead &&
	       qp->flow.state == CCS_FLOW_RUN;
}

void ccs_impair_accept(struct qp *qp, uint64_t number)
{
	struct impairment *im = qp->failure.impair;
	const double vary = 2 * draw(im, number - im->first, 0) - 1;
	const double delay_us = im->conf.delay_us + im->conf.jitter_us * vary;
	const uint64_t due_ns = ccs_now_ns() + ns(delay_us > 0 ? delay_us : 0);

	if (due_ns > im->last_due_ns)
		im->last_due_ns = due_ns; /* in order */
	im->due_ns[number & qp->flow.queue.wr_mask] = im->last_due_ns;
}

bool ccs_impair_holds(struct qp *qp, uint64_t *now_ns)
{
	return is_active(qp) && (release_ns(qp) > ccs_now(now_ns) || has_lost_port(qp) ||
				 due_rule(qp, *now_ns) >= 0);
}

/* As the device reports the failure of a WR. */
static struct ibv_wc failure_of(const struct qp *qp, enum ccs_impair_kind kind)
{
	const struct ccs_provider *provider = qp->ctx->provider;

	if (kind == CCS_IMPAIR_PORT && provider->flushes_without_port)
		kind = CCS_IMPAIR_FLUSH;
	return (struct ibv_wc){ .status = failures[kind].status,
				.vendor_err = provider->has_mlx5_codes ? failures[kind].mlx5 : 0 };
}

/*
 * The device flushes the receives, and raises its events of the error state. A poll that finds such a
 * receive must find that the QP is broken, so that the failed WR comes first.
 */
static void move_to_error(struct qp *qp, enum ccs_impair_kind kind)
{
	static const uint8_t events[CCS_IMPAIR_COUNT] = {
		[CCS_IMPAIR_FATAL] = IBV_EVENT_QP_FATAL + 1, [CCS_IMPAIR_PORT] = IBV_EVENT_PORT_ERR + 1,
	};
	const struct ibv_wc wc = failure_of(qp, kind);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	qp->failure.impair->failed = true;
	qp->failure.impair->status = wc.status == IBV_WC_WR_FLUSH_ERR ? 0 : wc.status;
	qp->failure.impair->vendor_err = wc.vendor_err;
	ccs_recorder_failed(qp, &wc, events[kind]);
	ccs_qp_fail(qp);
	ccs_broken_add(qp);
	ccs_real()->ibv_modify_qp(qp->real, &attr, IBV_QP_STATE);
	if (kind == CCS_IMPAIR_FATAL)
		ccs_async_raise(qp, IBV_EVENT_QP_FATAL);
}

bool ccs_impair_fail(struct qp *qp, uint64_t now_ns)
{
	struct impairment *im = qp->failure.impair;
	const bool ready = is_active(qp) && qp->flow.seg_tail == qp->flow.seg_head;
	const int i = ready ? due_rule(qp, now_ns) : -1;
	const struct ccs_impair_rule *r = i < 0 ? NULL : &im->conf.rule[i];
	const struct ccs_saved saved = ccs_save();

	if (r) {
		im->done |= (r->when != CCS_IMPAIR_CHANCE || r->kind == CCS_IMPAIR_PORT) << i;
		if (r->kind != CCS_IMPAIR_PORT)
			move_to_error(qp, r->kind);
		else if (!atomic_exchange(&port_down, true))
			ccs_async_raise(qp, IBV_EVENT_PORT_ERR);
	}
	if (ready && !im->failed && has_lost_port(qp) && release_ns(qp) <= now_ns)
		move_to_error(qp, CCS_IMPAIR_PORT);
	ccs_done(saved, 0);
	return ready && im->failed;
}

/* The time of the next failure that needs no WR; UINT64_MAX: no such. */
static uint64_t next_event_ns(const struct impairment *im)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < im->conf.rules; i++) {
		const uint64_t at_ns = im->since_ns + ns(im->conf.rule[i].value);

		if (!needs_request(&im->conf.rule[i]) && !(im->done & 1u << i) && at_ns < next)
			next = at_ns;
	}
	return next;
}

uint64_t ccs_impair_due(struct qp *qp, uint64_t now_ns, uint64_t flow_due, uint64_t next_poll)
{
	const struct impairment *im = qp->failure.impair;
	const bool waits = ccs_flow_waiting(&qp->flow);
	uint64_t due = waits && flow_due > next_poll && !qp->flow.paced ? next_poll : flow_due, event;
	int i;

	if (!is_active(qp))
		return due;
	i = due_rule(qp, now_ns);
	event = next_event_ns(im);
	if (waits && release_ns(qp) > now_ns && i < 0)
		due = release_ns(qp);
	else if (has_lost_port(qp) || i >= 0)
		return next_poll; /* the WQEs in flight must complete before */
	if (event <= now_ns)
		event = next_poll; /* another failure comes first */
	return event != UINT64_MAX && (!due || event < due) ? event : due;
}

bool ccs_impair_has_status(const struct qp *qp)
{
	return qp->failure.impair->status;
}

void ccs_impair_status(struct qp *qp, struct ibv_wc *wc)
{
	struct impairment *im = qp->failure.impair;

	wc->status = im->status ? im->status : IBV_WC_WR_FLUSH_ERR;
	wc->vendor_err = im->status ? im->vendor_err : qp->failure.vendor_err;
	im->status = 0;
}

static void set_impaired(struct qp *qp, bool impaired)
{
	qp->impaired = qp->flow.user.signals_all = impaired;
	qp->special = impaired || qp->syscalls || qp->wr_batch;
}

static bool is_wanted(const struct qp *qp)
{
	const struct ccs_options *o = &qp->policy->options;

	return qp->failure.impair && *o->impair && o->mode == CCS_MODE_ENFORCE;
}

/* Begin with the items of its policy. */
static void begin(struct qp *qp, uint64_t now_ns)
{
	struct impairment *im = qp->failure.impair;
	const struct ccs_address peer = ccs_address_of(qp->peer.gid);
	char err[8];

	im->nth = qp->failure.connection;
	im->since_ns = now_ns;
	im->first = qp->flow.wr_head;
	im->done = 0;
	im->items = qp->policy->options.impair;
	im->last_due_ns = 0;
	memset(im->due_ns, 0, (qp->flow.queue.wr_mask + 1ull) * sizeof(*im->due_ns));
	ccs_impair_parse(im->items, ccs_address_is_unicast(&peer) ? &peer : NULL, im->nth,
			 &im->conf, err, sizeof(err));
	set_impaired(qp, im->conf.delay_us > 0 || im->conf.jitter_us > 0 || im->conf.rules);
	if (next_event_ns(im) != UINT64_MAX)
		qp->scheduled = true; /* so that the next pump sets the timer */
}

void ccs_impair_connect(struct qp *qp, uint64_t now_ns)
{
	static atomic_uint connections;

	qp->failure.connection = 1 + atomic_fetch_add(&connections, 1);
	if (is_wanted(qp))
		begin(qp, now_ns);
}

void ccs_impair_reset(struct qp *qp)
{
	struct impairment *im = qp->failure.impair;

	if (!im)
		return;
	im->nth = 0;
	im->failed = false;
	im->status = 0;
	im->items = NULL;
	set_impaired(qp, is_wanted(qp));
}

void ccs_impair_configure(struct qp *qp)
{
	const struct ccs_options *o = &qp->policy->options;
	struct impairment *im = qp->failure.impair;

	if (!im && *o->impair && o->mode == CCS_MODE_ENFORCE) {
		im = calloc(1, sizeof(*im) + (qp->flow.queue.wr_mask + 1ull) * sizeof(*im->due_ns));
		if (!im)
			ccs_log_once(CCS_LOG_WARN, "no memory to impair a queue pair: it is not impaired");
		qp->failure.impair = im;
	}
	if (!im || (is_wanted(qp) && im->items && strcmp(im->items, o->impair) == 0))
		return; /* or another option has changed */
	im->items = NULL;
	set_impaired(qp, is_wanted(qp));
	if (qp->impaired && qp->state == IBV_QPS_RTS)
		begin(qp, ccs_now_ns());
}
