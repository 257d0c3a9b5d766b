/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Impaired QPs, see impair.h. Which request fails, and by how much its delay varies, is computed
 * from the seed, the connection's number and the request's number: other threads do not change it.
 */
#include "preload/datapath/impair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "config/impair.h"
#include "observe/log.h"
#include "preload/control/policy.h"
#include "preload/datapath/async.h"
#include "preload/object/clock.h"
#include "preload/object/provider.h"
#include "preload/object/real.h"

struct impairment {
	struct ccs_impair conf;
	unsigned nth;                    /* connection of the process; 0: not connected */
	uint64_t since_ns, first;        /* time of that, and the number of its first WR */
	uint32_t done;                   /* bit i: rule i, which happens once, has happened */
	bool failed;
	enum ibv_wc_status status;       /* of the WR that failed; 0: delivered, or none */
	uint32_t vendor_err;
	const char *items;               /* of the policy in force */
	uint64_t last_due_ns;
	uint64_t due_ns[];               /* of each entry of the queue: when it may leave */
};

static atomic_uint connections;
/* The port, of all impaired QPs: when it went down, and when it is up again. 0: it is up. */
static _Atomic uint64_t down_since_ns, down_until_ns;

/* Codes as ConnectX adapters report them; other devices have no code, or one that is not known. */
static const struct failure {
	enum ibv_wc_status status;       /* 0: all requests are flushed */
	uint32_t mlx5;                   /* its vendor_err there */
} failures[CCS_IMPAIR_COUNT] = {
	[CCS_IMPAIR_RETRY] = { IBV_WC_RETRY_EXC_ERR, 0x81 },
	[CCS_IMPAIR_RNR] = { IBV_WC_RNR_RETRY_EXC_ERR, 0x87 },
	[CCS_IMPAIR_ACCESS] = { IBV_WC_REM_ACCESS_ERR, 0x88 },
	[CCS_IMPAIR_INVALID] = { IBV_WC_REM_INV_REQ_ERR, 0x8a },
	[CCS_IMPAIR_OPERATION] = { IBV_WC_REM_OP_ERR, 0x89 },
	[CCS_IMPAIR_FLUSH] = { 0, 0xf9 },
	[CCS_IMPAIR_FATAL] = { 0, 0xf9 },
};

static uint64_t ns(double us)
{
	return us < 1e13 ? (uint64_t)(1e3 * us) : UINT64_MAX / 2;
}

/* A number from 0 to 1 for request n of the connection. */
static double draw(const struct impairment *im, uint64_t n, unsigned use)
{
	const uint64_t stream = ccs_mix(im->conf.seed * 0x9e3779b97f4a7c15ull + im->nth);

	return (double)(ccs_mix(stream + n * 0xd1342543de82ef95ull + use) >> 11) * 0x1p-53;
}

static bool needs_request(const struct ccs_impair_rule *r)
{
	return r->when != CCS_IMPAIR_TIME || failures[r->kind].status;
}

/* Whether the rule is due: at the next WR, or if no WR waits, without it. */
static bool is_due(const struct qp *qp, unsigned i, uint64_t now_ns)
{
	const struct impairment *im = qp->impair;
	const struct ccs_impair_rule *r = &im->conf.rule[i];
	const uint64_t n = qp->flow.wr_next - im->first;

	if ((im->done & 1u << i) || (needs_request(r) && !ccs_flow_waiting(&qp->flow)))
		return false;
	if (r->when == CCS_IMPAIR_TIME)
		return now_ns >= im->since_ns + ns(r->value);
	return r->when == CCS_IMPAIR_CHANCE ? draw(im, n, 1 + i) < r->value : (double)n == r->value;
}

/* Its index, or -1. */
static int due_rule(const struct qp *qp, uint64_t now_ns)
{
	const unsigned rules = qp->impair->conf.rules;

	for (unsigned i = 0; i < rules && !qp->flow.next_offset; i++)
		if (is_due(qp, i, now_ns))
			return (int)i;
	return -1;
}

static bool is_active(const struct qp *qp)
{
	const struct impairment *im = qp->impair;

	return im->nth && !im->failed && qp->state == IBV_QPS_RTS && !qp->dead &&
	       qp->flow.state == CCS_FLOW_RUN;
}

void ccs_impair_accept(struct qp *qp, uint64_t number)
{
	struct impairment *im = qp->impair;
	const double jitter_us = im->conf.jitter_us * (2 * draw(im, number - im->first, 0) - 1);
	const double delay_us = im->conf.delay_us + jitter_us;
	const uint64_t due_ns = ccs_now_ns() + ns(delay_us > 0 ? delay_us : 0);

	if (due_ns > im->last_due_ns)
		im->last_due_ns = due_ns; /* in order */
	im->due_ns[number & qp->flow.queue.wr_mask] = im->last_due_ns;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t down_until(void)
{
	return atomic_load_explicit(&down_until_ns, memory_order_relaxed);
}

/* When the next WR was due by its delay. */
static uint64_t delayed_until(const struct qp *qp)
{
	return qp->impair->due_ns[qp->flow.wr_next & qp->flow.queue.wr_mask];
}

/* When the next WR may leave. */
static uint64_t release_ns(const struct qp *qp)
{
	return later(delayed_until(qp), down_until());
}

/* When the device gives up to send the next WR, as the port is down. */
static uint64_t give_up_ns(const struct qp *qp)
{
	const double loss_us = (double)qp->flow.rtt.loss_us * (1 + qp->attr.retry_cnt);
	const uint64_t from = later(delayed_until(qp), atomic_load(&down_since_ns));

	return loss_us > 0 ? from + ns(loss_us) : UINT64_MAX;
}

static bool has_given_up(const struct qp *qp, uint64_t now_ns)
{
	return ccs_flow_waiting(&qp->flow) && down_until() > now_ns && now_ns >= give_up_ns(qp);
}

const struct ccs_seg *ccs_impair_next(struct qp *qp, uint64_t *now_ns)
{
	if (is_active(qp) && (release_ns(qp) > ccs_now(now_ns) || due_rule(qp, *now_ns) >= 0))
		return NULL;
	return ccs_flow_next(&qp->flow, now_ns, ccs_now_ns);
}

/* The device flushes the receives and raises its events of the error state. */
static void move_to_error(struct qp *qp, enum ccs_impair_kind kind)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct ccs_saved saved = ccs_save();
	const bool codes = qp->ctx->provider->has_mlx5_codes;

	qp->impair->failed = true;
	qp->impair->status = failures[kind].status;
	qp->impair->vendor_err = codes ? failures[kind].mlx5 : 0;
	ccs_real()->ibv_modify_qp(qp->real, &attr, IBV_QP_STATE);
	ccs_qp_fail(qp);
	if (qp->real->srq) { /* no marker can be posted: emit.c */
		qp->failure.flush_seen = true;
		qp->failure.vendor_err = codes ? failures[CCS_IMPAIR_FLUSH].mlx5 : 0;
	}
	if (kind == CCS_IMPAIR_FATAL)
		ccs_async_raise(qp, IBV_EVENT_QP_FATAL);
	ccs_done(saved, 0);
}

static void set_port(struct qp *qp, uint64_t since_ns, uint64_t until_ns)
{
	const struct ccs_saved saved = ccs_save();

	atomic_store(&down_since_ns, since_ns);
	if (atomic_exchange(&down_until_ns, until_ns) != until_ns)
		ccs_async_raise(qp, until_ns ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
	ccs_done(saved, 0);
}

bool ccs_impair_fail(struct qp *qp, uint64_t now_ns)
{
	struct impairment *im = qp->impair;
	const struct ccs_impair_rule *r;
	int i;

	if (!is_active(qp))
		return false;
	if (down_until() && now_ns >= down_until())
		set_port(qp, 0, 0);
	i = due_rule(qp, now_ns);
	r = i < 0 ? NULL : &im->conf.rule[i];
	if (r && r->kind == CCS_IMPAIR_PORT) {
		im->done |= 1u << i;
		set_port(qp, now_ns, now_ns + ns(r->duration_us));
	}
	if (qp->flow.seg_tail != qp->flow.seg_head)
		return false;
	if (has_given_up(qp, now_ns)) {
		move_to_error(qp, CCS_IMPAIR_RETRY);
		return true;
	}
	if (!r || r->kind == CCS_IMPAIR_PORT || (needs_request(r) && release_ns(qp) > now_ns))
		return false;
	im->done |= (r->when != CCS_IMPAIR_CHANCE) << i;
	move_to_error(qp, r->kind);
	return true;
}

/* The time of the next event that needs no WR; UINT64_MAX: none. */
static uint64_t next_event_ns(const struct impairment *im, uint64_t now_ns)
{
	uint64_t next = down_until() ? down_until() : UINT64_MAX;

	for (unsigned i = 0; i < im->conf.rules; i++) {
		const uint64_t at_ns = im->since_ns + ns(im->conf.rule[i].value);

		if (!needs_request(&im->conf.rule[i]) && !(im->done & 1u << i) && at_ns < next)
			next = at_ns;
	}
	return later(next, now_ns);
}

uint64_t ccs_impair_due(struct qp *qp, uint64_t now_ns, uint64_t flow_due, uint64_t next_poll)
{
	const bool waits = ccs_flow_waiting(&qp->flow);
	uint64_t due = flow_due, event;

	if (waits && flow_due > next_poll && !qp->flow.paced)
		due = next_poll;
	if (!is_active(qp))
		return due;
	event = next_event_ns(qp->impair, now_ns);
	if (waits && release_ns(qp) > now_ns)
		due = release_ns(qp);
	if (waits && down_until() > now_ns && give_up_ns(qp) < due)
		due = later(give_up_ns(qp), now_ns);
	else if (due_rule(qp, now_ns) >= 0 && (!waits || due <= now_ns))
		due = next_poll; /* the WQEs in flight must complete before */
	return event != UINT64_MAX && (!due || event < due) ? event : due;
}

void ccs_impair_status(struct qp *qp, struct ibv_wc *wc)
{
	struct impairment *im = qp->impair;

	wc->status = im->status ? im->status : IBV_WC_WR_FLUSH_ERR;
	wc->vendor_err = im->status ? im->vendor_err : qp->failure.vendor_err;
	im->status = 0;
}

static void set_impaired(struct qp *qp, bool impaired)
{
	qp->impaired = qp->flow.signals_all = impaired;
	qp->special |= impaired;
}

void ccs_impair_connect(struct qp *qp, uint64_t now_ns)
{
	struct impairment *im = qp->impair;
	const struct ccs_address peer = ccs_address_of(qp->peer.gid);
	const struct ccs_impair *conf = &im->conf;
	char err[8];

	im->nth = 1 + atomic_fetch_add(&connections, 1);
	im->since_ns = now_ns;
	im->first = qp->flow.wr_head;
	im->done = 0;
	im->items = qp->policy->options.impair;
	ccs_impair_parse(im->items, ccs_address_is_unicast(&peer) ? &peer : NULL, im->nth,
			 &im->conf, err, sizeof(err));
	set_impaired(qp, conf->delay_us > 0 || conf->jitter_us > 0 || conf->rules);
	if (next_event_ns(im, now_ns) != UINT64_MAX)
		qp->scheduled = true; /* so that the next pump sets the timer */
}

void ccs_impair_reset(struct qp *qp)
{
	qp->impair->nth = 0;
	qp->impair->failed = false;
	qp->impair->status = 0;
}

void ccs_impair_configure(struct qp *qp)
{
	const struct ccs_options *o = &qp->policy->options;
	const bool wanted = *o->impair && o->mode == CCS_MODE_ENFORCE;

	if (wanted && !qp->impair)
		qp->impair = calloc(1, sizeof(*qp->impair) +
				       (qp->flow.queue.wr_mask + 1ull) * sizeof(uint64_t));
	if (wanted && !qp->impair)
		ccs_log_once(CCS_LOG_WARN, "no memory to impair a queue pair: it is not impaired");
	if (wanted && qp->impair && qp->impair->items && strcmp(qp->impair->items, o->impair) == 0)
		return; /* another option has changed */
	set_impaired(qp, wanted && qp->impair);
	if (qp->impaired && qp->state == IBV_QPS_RTS)
		ccs_impair_connect(qp, ccs_now_ns());
}
