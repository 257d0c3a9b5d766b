/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statistics file of the running process (<ccshim/stats.h>): writes each QP's entry when the
 * time is known anyway. No system call, and no lock except the QP's own, which is held.
 */
#include "preload/report/publish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "cc/minmax.h"
#include "observe/log.h"
#include "observe/stats_dir.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/object/clock.h"
#include "preload/object/shim.h"

enum {
	PERIOD_NS = 1000000,
	OFTEN = 64,                      /* QPs; with more of them, each is published less often */
	QUEUED_EXACT = 256,
};

/* Statistics in another directory are not found where it matters: in a container, from the host. */
static void warn_of_other_dir(const char *wanted)
{
	const int saved = errno; /* the application's */
	const char *obstacle = ccs_stats_dir_obstacle(wanted);

	if (obstacle)
		ccs_log(CCS_LOG_WARN, "stats_dir=%s: %s; the statistics are in the default "
			"directory. Make it a directory with mode 1777, or unset stats_dir", wanted,
			obstacle);
	errno = saved;
}

static void describe(struct ccs_stats_header *h)
{
	const struct ccs_shim *shim = ccs_shim();

	snprintf(h->mode, sizeof(h->mode), "%s", ccs_mode_names[shim->options.mode]);
	snprintf(h->cc, sizeof(h->cc), "%.*s", (int)sizeof(h->cc) - 1, shim->options.cc);
	ccs_policy_name_feedback(ccs_policy_missing_feedback(), " ", h->missing_feedback,
				 sizeof(h->missing_feedback));
	for (unsigned i = 0; i < CCS_UNCONTROLLED_COUNT; i++) {
		snprintf(h->uncontrolled[i].name, sizeof(h->uncontrolled[i].name), "%s",
			 ccs_uncontrolled_names[i]);
		h->uncontrolled[i].count = atomic_load(&shim->uncontrolled[i]);
	}
	if (getauxval(AT_SECURE))
		h->mailbox.answer_gen = UINT64_MAX; /* processes with fewer rights may write to it */
}

static void open_file(void)
{
	const struct ccs_options *o = &ccs_shim()->options;

	if (ccs_shim()->off || !o->stats)
		return;
	ccs_stats_dir_set(o->stats_dir);
	if (ccs_stats_open(describe))
		warn_of_other_dir(o->stats_dir);
}

_Static_assert(CCS_UNCONTROLLED_COUNT <= CCS_STATS_MAX_UNCONTROLLED, "a reason for each");

struct ccs_stats_header *ccs_publish_file(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!atomic_load(&ccs_shim()->ready) || ccs_forked())
		return NULL;
	pthread_once(&once, open_file);
	return ccs_stats_file();
}

/* Bytes of deferred WRs; an estimate if there are many. */
static uint64_t queued_bytes(const struct ccs_flow *f)
{
	const uint64_t n = ccs_flow_waiting(f), counted = n < QUEUED_EXACT ? n : QUEUED_EXACT;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < counted; i++)
		sum += ccs_flow_wr(f, f->wr_next + i)->len;
	if (n > counted)
		sum = (uint64_t)((double)sum * (double)n / (double)counted);
	return sum > f->next_offset ? sum - f->next_offset : 0;
}

static void collect_telemetry(const struct qp_telemetry *tm, struct ccs_stats_qp *out)
{
	if (!tm || !tm->updated_ns)
		return;
	out->flows = tm->now.flows;
	out->telemetry_ns = tm->updated_ns;
	out->nhops = tm->now.nhops;
	for (unsigned i = 0; i < tm->now.nhops && i < CCS_STATS_MAX_HOPS; i++)
		out->hop[i] = (struct ccs_stats_hop){
			.link = tm->name[i],
			.rate = (uint64_t)tm->rate[i],
			.queue_bytes = tm->now.hops[i].qlen_bytes,
			.capacity = (uint64_t)tm->now.hops[i].capacity,
		};
}

static void collect_flow(const struct ccs_flow *f, uint64_t now_ns, struct ccs_stats_qp *out)
{
	const double line = f->cc.path.line_rate, own = f->cc.out.window;

	out->enforced = f->user.enforce;
	out->rate = (uint64_t)ccs_min(ccs_flow_rate(f), line);
	out->min_rate = (uint64_t)ccs_min(f->stats.min_rate, line);
	out->max_rate = (uint64_t)ccs_min(f->stats.max_rate, line);
	out->line_rate = (uint64_t)line;
	out->window = (uint64_t)(own > 0 && own < f->slow_start.window ? own : f->slow_start.window);
	out->max_inflight = f->gate.max_inflight;
	out->segment = f->segments.len;
	out->inflight = f->inflight;
	out->queued = ccs_flow_waiting(f);
	out->queued_bytes = queued_bytes(f);
	out->base_rtt_ns = (uint64_t)(f->cc.path.base_rtt_us * 1e3);
	out->gated_ns = f->stats.gated_ns;
	if (f->gated_since_ns && now_ns > f->gated_since_ns)
		out->gated_ns += now_ns - f->gated_since_ns;
	out->posts = f->wr_head;
	out->completions = f->stats.wrs;
	out->segments = f->stats.segments;
	out->bytes = f->stats.bytes;
	out->sent = f->sent;
	out->deferred = f->stats.deferred;
	out->internal_completions = f->stats.internal_completions;
	out->losses = f->stats.losses;
	out->samples = f->stats.samples;
	out->utilisation = f->cc.out.utilisation;
}

/* Costs a fraction of snprintf(); *to is all zeroes. */
#define TEXT(to, from) memccpy(to, from, '\0', sizeof(to) - 1)

void ccs_publish_collect(const struct qp *qp, uint64_t now_ns, struct ccs_stats_qp *out)
{
	const struct ccs_cc *cc = &qp->flow.cc;
	const bool is_enforcement_off = qp->policy->options.mode == CCS_MODE_ENFORCE &&
					!qp->flow.user.enforce;

	*out = (struct ccs_stats_qp){
		.generation = qp->stats ? qp->stats->qp.generation : 0,
		.created_ns = qp->shown.created_ns,
		.updated_ns = now_ns,
		.lqpn = qp->qp_num,
		.port = qp->attr.port,
		.peer_qpn = qp->peer.qpn,
		.state = qp->state,
		.cnps = ccs_qp_feedback_cnps(qp),
		.switches = qp->feedback.switches,
		.tenant_cap = ccs_qp_feedback_cap(qp),
		.failed_ns = qp->failure.failed_ns,
		.failed_status = qp->failure.status,
		.failed_event = qp->failure.event,
	};
	memcpy(out->device, qp->ctx->device, sizeof(out->device));
	memcpy(out->peer_gid, qp->peer.gid, sizeof(out->peer_gid));
	TEXT(out->uncontrolled, is_enforcement_off
				? ccs_uncontrolled_names[CCS_UNCONTROLLED_NO_THREAD] : "");
	TEXT(out->cc, cc->ops->name);
	TEXT(out->variant, ccs_cc_variant(cc));
	TEXT(out->feedback, ccs_qp_feedback_state(qp));
	TEXT(out->control, qp->flow.user.enforce ? ccs_control_names[qp->flow.rtt.control.now] : "");
	collect_flow(&qp->flow, now_ns, out);
	collect_telemetry(qp->feedback.telemetry, out);
}

_Static_assert(sizeof(((struct ctx *)0)->device) == sizeof(((struct ccs_stats_qp *)0)->device),
	       "copied with memcpy");

static uint32_t fit32(double value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* An RTT that includes a retransmission timeout measures no queue. */
static uint32_t last_rtt_ns(const struct qp *qp)
{
	const uint64_t ns = qp->stats->rtt.last_ns;
	const float loss_us = qp->flow.rtt.loss_us;

	return loss_us > 0 && (float)ns >= 1e3f * loss_us ? 0 : fit32((double)ns);
}

/*
 * Add a moment to the history, or update the newest. Without a completed segment only the first moment after
 * an empty queue is added: when a queue pair fails, the last second with completions is kept.
 */
static void note_moment(const struct qp *qp, const struct ccs_stats_qp *q)
{
	struct ccs_stats_slot *slot = qp->stats;
	struct ccs_stats_moment *history = ccs_stats_history(slot), m;
	const struct ccs_stats_moment *was = &history[(slot->moments + CCS_STATS_MOMENTS - 1) % CCS_STATS_MOMENTS];
	const struct qp_telemetry *telemetry = qp->feedback.telemetry;
	const bool done = !slot->moments || was->segments != (uint32_t)q->segments;
	uint64_t word[sizeof(m) / 8], number = slot->moments, *to;

	if (slot->moments ? !done && (was->inflight || !q->inflight) : !q->inflight && !q->segments)
		return;
	m = (struct ccs_stats_moment){
		.time_ns = q->updated_ns, .segments = (uint32_t)q->segments,
		.rtt_ns = done ? last_rtt_ns(qp) : 0,
		.rate_kbps = fit32((double)q->rate / 1e3), .window = fit32((double)q->window),
		.advised_kbps = telemetry ? fit32(telemetry->now.advised_rate / 1e3) : 0,
		.inflight = fit32((double)q->inflight), .gated_us = (uint32_t)(q->gated_ns / 1000),
		.cnps = (uint16_t)q->cnps, .losses = (uint16_t)q->losses,
	};
	if (number && was->time_ns / CCS_STATS_MOMENT_NS == m.time_ns / CCS_STATS_MOMENT_NS) {
		m.rtt_ns = m.rtt_ns > was->rtt_ns ? m.rtt_ns : was->rtt_ns;
		number--;
	}
	memcpy(word, &m, sizeof(m));
	to = (uint64_t *)(void *)&history[number % CCS_STATS_MOMENTS];
	for (size_t i = 0; i < sizeof(m) / 8; i++)
		ccs_stats_set(&to[i], word[i]);
	__atomic_store_n(&slot->moments, number + 1, __ATOMIC_RELEASE);
}

void ccs_publish(struct qp *qp, uint64_t now_ns)
{
	struct ccs_stats_qp statistics;

	if (!qp->stats)
		return;
	qp->publish_ns = now_ns + PERIOD_NS * (1 + ccs_stats_qps() / OFTEN);
	ccs_publish_collect(qp, now_ns, &statistics);
	note_moment(qp, &statistics);
	ccs_stats_write(qp->stats, &statistics);
}

void ccs_publish_state(struct qp *qp, uint64_t now_ns)
{
	const bool connected = qp->state >= IBV_QPS_RTR && qp->state != IBV_QPS_ERR;

	if (!qp->shown.counted && connected && ccs_publish_file()) {
		qp->shown.counted = true;
		qp->stats = ccs_stats_claim_slot();
		qp->flow.rtt.stats = qp->stats ? &qp->stats->rtt : NULL;
	}
	ccs_publish(qp, now_ns);
}

void ccs_publish_end(struct qp *qp)
{
	struct ccs_stats_qp last;

	if (!qp->shown.counted)
		return;
	ccs_publish_collect(qp, ccs_now_ns(), &last);
	ccs_stats_release_slot(qp->stats, &last);
	if (qp->stats)
		qp->flow.rtt.stats = NULL;
	qp->stats = NULL;
	qp->publish_ns = UINT64_MAX;
}
