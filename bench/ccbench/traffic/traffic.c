/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path of a worker: messages arrive at its flows, are posted and complete. One loop
 * waits for completions, for the next arrival and for messages of the orchestrator.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "messages.h"
#include "sequence.h"
#include "bench/ccbench/traffic/worker.h"

#define BATCH 32
#define MOST_SAMPLES (1u << 20) /* per flow; the series then ends, not the flow */
#define STREAM_FLOW 0x10000     /* of random numbers: hosts have those below */
#define STREAM_LATE 0x40000000
#define NOTIFICATION (1ull << 32) /* in wr_id, beside the QP's index */

struct flow {
	const struct flow_spec *spec;
	struct proto_flow *report;
	struct messages queue;   /* arrived, and not complete */
	struct flow *pool;       /* the first of its pool; NULL: not in a pool */
	struct messages waiting; /* messages of a pool without a QP; only in its first flow */
	uint64_t arrived, bytes;
	uint64_t handed;         /* of arrived, those for which a free QP was searched */
	uint32_t outstanding;    /* WRs */
	int64_t due, stop;       /* when the next message arrives, if before stop */
	struct rng rng;
	bool fresh;              /* completions since the last record_completions() */
	bool broken, flushed;    /* flushed: no better reason is known */
	bool open;               /* the run has to wait for it */
	struct flow_sample *sample;
	size_t nsamples;
};

struct traffic {
	struct worker *w;
	struct flow *flow;       /* one per QP; spec is NULL if this end does not post */
	struct sequence order;
	struct ibv_send_wr *wr;  /* chained, of one doorbell */
	struct ibv_sge *sge;
	uint32_t *touched, ntouched; /* flows with fresh completions */
	uint32_t open;           /* flows that have an end, and have not come to it */
	uint64_t outstanding;    /* WRs of all flows */
	int64_t next;            /* no message arrives before this time */
	bool spinning;           /* polls all the time */
	unsigned spins;
	struct rng rng;          /* of late polls */
	bool active;             /* an event or a completion was seen since the last poll */
	bool done, stopped, bye;
};

static const enum ibv_wr_opcode opcode[] = {
	[OP_WRITE] = IBV_WR_RDMA_WRITE, [OP_READ] = IBV_WR_RDMA_READ, [OP_SEND] = IBV_WR_SEND,
};

/* Whether another message will arrive, unless the flow breaks. */
static bool has_next_arrival(const struct flow *f)
{
	const struct flow_spec *s = f->spec;

	return !f->broken && flow_has_arrivals(s) && f->due < f->stop &&
	       !(s->messages && f->arrived == s->messages);
}

/* Whether the flow ends without STOP. */
static bool has_end(const struct flow *f)
{
	return f->stop != FLOW_FOREVER || f->spec->messages;
}

static bool is_qp_idle(const struct flow *f)
{
	return f->broken ? !f->outstanding : !messages_count(&f->queue);
}

/* Whether a flow, or the pool that begins with it, has no messages to complete. */
static bool is_idle(const struct flow *f)
{
	const struct flow *end = f + (f->pool == f ? f->spec->pool : 1);
	bool broken = true, waiting = messages_count(&f->waiting) > 0;

	for (; f < end; f++) {
		if (!is_qp_idle(f))
			return false;
		broken &= f->broken;
	}
	return !waiting || broken;
}

static int push(struct traffic *t, const struct flow *f, struct messages *to, int64_t at,
		uint64_t size)
{
	if (messages_push(to, at, size, f->spec->wr_size))
		return endpoint_fail(&t->w->e, 1, ENOMEM, "%llu messages that wait",
				     (unsigned long long)messages_count(to));
	return 0;
}

/* Move a message that waits for a QP of the pool to this QP, if it is free. */
static int claim_waiting(struct traffic *t, struct flow *f)
{
	struct message m;

	if (!f->pool || f->broken || messages_count(&f->queue) ||
	    !messages_count(&f->pool->waiting))
		return 0;
	m = messages_pop(&f->pool->waiting);
	return push(t, f, &f->queue, m.arrived, m.size);
}

static int push_arrival(struct traffic *t, struct flow *f, int64_t at)
{
	const struct flow_spec *s = f->spec;
	uint64_t size = sizes_next((enum sizes)s->sizes, s->size, f->arrived, &f->rng);

	f->arrived++;
	return push(t, f, f->pool ? &f->waiting : &f->queue, at, size);
}

/* Add the messages that have arrived by now, and compute the next arrival. */
static int push_due_arrivals(struct traffic *t, struct flow *f, int64_t now)
{
	const struct flow_spec *s = f->spec;

	if (s->arrival == ARRIVE_STEPS && f->due < now)
		f->due = now;
	while (has_next_arrival(f) && f->due <= now) {
		if (s->arrival != ARRIVE_POISSON &&
		    messages_count(&f->queue) >= (s->arrival == ARRIVE_PINGPONG ? 1 : s->depth))
			break;
		if (s->arrival == ARRIVE_STEPS &&
		    !sequence_may_post(&t->order, (uint32_t)(f - t->flow), f->arrived))
			break;
		if (push_arrival(t, f, s->arrival == ARRIVE_BACKLOGGED ? now : f->due))
			return -1;
		if (s->arrival == ARRIVE_POISSON)
			f->due += (int64_t)(-log1p(-rng_unit(&f->rng)) * (double)s->interval);
	}
	return 0;
}

static struct ibv_send_wr notification(const struct endpoint *e, uint32_t i)
{
	return (struct ibv_send_wr){
		.wr_id = i | NOTIFICATION, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = e->peer[i].addr, .rkey = e->peer[i].rkey },
	};
}

/* Post what has arrived and fits, in one call: a batch costs one doorbell. */
static int post(struct traffic *t, uint32_t i, int64_t now)
{
	struct endpoint *e = &t->w->e;
	struct flow *f = &t->flow[i];
	struct ibv_send_wr *bad;
	uint32_t n = 0, length;
	int err;

	while (!f->broken && f->outstanding + n < endpoint_send_depth(f->spec) &&
	       (length = messages_next_wr(&f->queue))) {
		t->sge[n] = (struct ibv_sge){ .addr = e->mine[i].addr, .length = length,
					      .lkey = e->mr->lkey };
		t->wr[n] = (struct ibv_send_wr){
			.wr_id = i, .sg_list = &t->sge[n], .num_sge = 1,
			.opcode = opcode[f->spec->op], .send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = e->peer[i].addr, .rkey = e->peer[i].rkey },
		};
		n++;
		if (flow_notifies(f->spec))
			t->wr[n++] = notification(e, i);
	}
	if (!n)
		return 0;
	for (uint32_t k = 1; k < n; k++)
		t->wr[k - 1].next = &t->wr[k];
	if (!f->outstanding) /* the QP was idle until now */
		curve_add(&f->report->curve, now, f->bytes);
	err = ibv_post_send(e->qp[i], t->wr, &bad);
	if (err)
		return endpoint_fail(e, 1, err, "cannot post");
	f->outstanding += n;
	t->outstanding += n;
	return 0;
}

static int append_sample(struct traffic *t, struct flow *f, struct flow_sample sample)
{
	if (!flow_sampled(f->spec) || f->nsamples == MOST_SAMPLES)
		return 0;
	if (!CCS_GROW(f->sample, f->nsamples))
		return endpoint_fail(&t->w->e, 1, ENOMEM, "%zu samples", f->nsamples + 1);
	f->sample[f->nsamples++] = sample;
	return 0;
}

static int record_sample(struct traffic *t, struct flow *f, const struct message *m,
			 int64_t latency)
{
	return append_sample(t, f, (struct flow_sample){
		.arrived = m->arrived, .latency = latency, .size = m->size });
}

/* A message of a flow with steps was received, or is complete. Others may follow it. */
static int advance_steps(struct traffic *t, uint32_t i, int64_t now)
{
	const struct operation *o = sequence_done(&t->order, i);
	struct flow_sample sample;

	t->next = now;
	if (!o)
		return 0;
	sample = (struct flow_sample){ .arrived = o->start, .latency = now - o->start };
	sequence_pause(&t->order, o, now);
	return o->timed == UINT32_MAX ? 0 : append_sample(t, &t->flow[o->timed], sample);
}

/* Keep the error that broke the QP, not the flush errors after it, if it is known. */
static int record_error(struct traffic *t, struct flow *f, enum ibv_wc_status status)
{
	if (!f->report->errors++ || (f->flushed && status != IBV_WC_WR_FLUSH_ERR)) {
		snprintf(f->report->status, sizeof(f->report->status), "%s",
			 ibv_wc_status_str(status));
		f->flushed = status == IBV_WC_WR_FLUSH_ERR;
	}
	f->broken = true;
	return record_sample(t, f, messages_head(&f->queue), -1);
}

static int finish_message(struct traffic *t, struct flow *f, int64_t now)
{
	struct message m = messages_pop(&f->queue);

	f->report->messages++;
	if (m.arrived >= t->w->start.measure)
		ccs_hist_record(&f->report->latency, (uint64_t)(now - m.arrived));
	if (f->spec->arrival == ARRIVE_BACKLOGGED)
		f->due = now;
	else if (f->spec->arrival == ARRIVE_PINGPONG)
		f->due = now + (int64_t)((double)f->spec->interval * (0.5 + rng_unit(&f->rng)));
	if (f->spec->arrival == ARRIVE_STEPS)
		return advance_steps(t, (uint32_t)(f - t->flow), now);
	return record_sample(t, f, &m, now - m.arrived);
}

static int complete(struct traffic *t, const struct ibv_wc *wc, int64_t now)
{
	struct flow *f = &t->flow[(uint32_t)wc->wr_id];

	f->outstanding--;
	t->outstanding--;
	if (!f->fresh)
		t->touched[t->ntouched++] = (uint32_t)wc->wr_id;
	f->fresh = true;
	if (wc->wr_id & NOTIFICATION && (wc->status == IBV_WC_SUCCESS || f->broken))
		return 0;
	if (wc->status != IBV_WC_SUCCESS)
		return record_error(t, f, wc->status);
	f->bytes += messages_wr_done(&f->queue);
	return messages_head(&f->queue)->left ? 0 : finish_message(t, f, now);
}

/* Post a pool's messages on its free QPs, in order; the rest waits. */
static int post_waiting(struct traffic *t, uint32_t i, int64_t now)
{
	struct flow *f = &t->flow[i];
	uint64_t fresh = f->arrived - f->handed, waiting;

	if (f->pool != f)
		return 0;
	for (uint32_t k = 0; k < f->spec->pool && messages_count(&f->waiting); k++)
		if (claim_waiting(t, f + k) || post(t, i + k, now))
			return -1;
	waiting = messages_count(&f->waiting);
	f->report->waited += waiting < fresh ? waiting : fresh;
	f->handed = f->arrived;
	return 0;
}

/* Post what a flow can post now: 0, or -1. Updates its next arrival, and its end. */
static int advance_flow(struct traffic *t, uint32_t i, int64_t now)
{
	struct flow *f = &t->flow[i];

	if (push_due_arrivals(t, f, now) || claim_waiting(t, f) || post(t, i, now) ||
	    post_waiting(t, i, now))
		return -1;
	if (f->pool)
		f = f->pool;
	if (has_next_arrival(f) && f->spec->arrival == ARRIVE_STEPS) {
		if (f->stop < t->next)
			t->next = f->stop;
	} else if (has_next_arrival(f) && (f->spec->arrival == ARRIVE_POISSON || is_idle(f))) {
		if (f->due < t->next)
			t->next = f->due;
	} else if (f->open && is_idle(f)) {
		f->open = false;
		t->open--;
	}
	return 0;
}

/* Completions seen at one instant are one point of the flow's curve and one post. */
static int record_completions(struct traffic *t, int64_t now)
{
	for (uint32_t k = 0; k < t->ntouched; k++) {
		struct flow *f = &t->flow[t->touched[k]];

		f->fresh = false;
		curve_add(&f->report->curve, now, f->bytes);
		if (advance_flow(t, t->touched[k], now))
			return -1;
	}
	t->ntouched = 0;
	return 0;
}

static int drain_cq(struct traffic *t)
{
	struct endpoint *e = &t->w->e;
	struct ibv_wc wc[BATCH];
	int64_t now = 0;
	int n;

	while ((n = ibv_poll_cq(e->cq, BATCH, wc)) > 0) {
		if (!now)
			now = worker_now(t->w);
		t->active = t->w->cfg.poll;
		for (int i = 0; i < n; i++)
			if (complete(t, &wc[i], now))
				return -1;
	}
	if (n < 0)
		return endpoint_fail(e, 1, 0, "cannot poll the CQ");
	return record_completions(t, now);
}

static int handle_receive(struct traffic *t, uint32_t i)
{
	if (endpoint_receive(&t->w->e, i))
		return -1;
	return t->w->end[i].spec.arrival == ARRIVE_STEPS ? advance_steps(t, i, worker_now(t->w)) : 0;
}

static int drain_receives(struct traffic *t)
{
	struct endpoint *e = &t->w->e;
	struct ibv_wc wc[BATCH];
	int n;

	while ((n = ibv_poll_cq(e->recv_cq, BATCH, wc)) > 0)
		for (int i = 0; i < n; i++)
			if (wc[i].status == IBV_WC_SUCCESS && handle_receive(t, (uint32_t)wc[i].wr_id))
				return -1;
	return 0;
}

/* Advance the flows at which messages have arrived by now. */
static int advance_due_flows(struct traffic *t)
{
	int64_t now;

	if (t->next == FLOW_FOREVER || (now = worker_now(t->w)) < t->next)
		return 0;
	t->next = t->stopped ? FLOW_FOREVER : sequence_begin(&t->order, now);
	for (uint32_t i = 0; i < t->w->cfg.nqps; i++)
		if (t->flow[i].spec && advance_flow(t, i, now))
			return -1;
	return 0;
}

static int send_report(struct traffic *t, uint32_t i)
{
	struct flow *f = &t->flow[i];
	size_t series = f->nsamples * sizeof(*f->sample);
	struct proto_samples head = { .flow = t->w->end[i].flow };
	char *buf;
	int ret;

	f->report->flow = head.flow;
	f->report->qpn = t->w->e.mine[i].qpn;
	if (worker_send(t->w, PROTO_FLOW, f->report, offsetof(struct proto_flow, curve.p) +
			f->report->curve.n * sizeof(f->report->curve.p[0])))
		return -1;
	if (!flow_sampled(f->spec))
		return 0;
	buf = malloc(sizeof(head) + series);
	if (!buf)
		return endpoint_fail(&t->w->e, 1, ENOMEM, "%zu samples", f->nsamples);
	memcpy(buf, &head, sizeof(head));
	if (series)
		memcpy(buf + sizeof(head), f->sample, series);
	ret = worker_send(t->w, PROTO_SAMPLES, buf, sizeof(head) + series);
	free(buf);
	return ret;
}

static int send_reports(struct traffic *t)
{
	for (uint32_t i = 0; i < t->w->cfg.nqps; i++)
		if (t->flow[i].spec && send_report(t, i))
			return -1;
	return worker_send(t->w, PROTO_REPORTED, NULL, 0);
}

/* STOP: flows that went on without an end have one now. */
static void handle_stop(struct traffic *t)
{
	t->stopped = true;
	t->next = FLOW_FOREVER;
	for (uint32_t i = 0; i < t->w->cfg.nqps; i++)
		t->flow[i].stop = INT64_MIN;
}

static int receive_message(struct traffic *t)
{
	struct xchg_msg m;

	if (worker_expect(t->w, t->stopped ? PROTO_BYE : PROTO_STOP, 0, &m))
		return -1;
	free(m.data);
	t->bye = t->stopped;
	handle_stop(t);
	return 0;
}

/* Wait for a completion, the next arrival or a message of the orchestrator. */
static int wait_for_events(struct traffic *t)
{
	struct endpoint *e = &t->w->e;
	struct pollfd p[3] = {
		{ .fd = t->w->x.fd, .events = POLLIN },
		{ .fd = e->channel ? e->channel->fd : -1, .events = POLLIN },
		{ .fd = e->recv_channel ? e->recv_channel->fd : -1, .events = POLLIN },
	};
	int64_t wait = t->w->cfg.poll ? t->w->cfg.poll_interval : INT64_MAX;
	struct timespec ts;

	if (wait && t->next != FLOW_FOREVER) {
		const int64_t left = t->next - worker_now(t->w);

		wait = left < wait ? left : wait;
		wait = wait > 0 ? wait : 0;
	}
	ts = (struct timespec){ wait / 1000000000, wait % 1000000000 };
	if (ppoll(p, 3, wait == INT64_MAX ? NULL : &ts, NULL) < 0 && errno != EINTR)
		return endpoint_fail(e, 1, errno, "poll");
	t->active |= p[1].revents;
	if (p[1].revents && endpoint_event(e, false))
		return -1;
	if (p[2].revents && endpoint_event(e, true))
		return -1;
	return p[0].revents ? receive_message(t) : 0;
}

/* Delay a share of polls, as a busy program would (--late). */
static void sleep_if_late(struct traffic *t)
{
	const struct proto_config *cfg = &t->w->cfg;
	const struct timespec ts = { cfg->late / 1000000000, cfg->late % 1000000000 };

	if (t->active && cfg->late_share > 0 && rng_unit(&t->rng) < cfg->late_share)
		nanosleep(&ts, NULL);
	t->active = false;
}

/* One iteration: handle completions, arrivals and messages. */
static int run_once(struct traffic *t)
{
	sleep_if_late(t);
	if (drain_cq(t) || drain_receives(t) || advance_due_flows(t))
		return -1;
	if (!t->done && !t->open) {
		t->done = true;
		if (worker_send(t->w, PROTO_DONE, NULL, 0))
			return -1;
	}
	if (t->stopped && !t->outstanding && !t->bye) {
		if (send_reports(t))
			return -1;
		/* Only BYE can come now, and SENDs of flows that still run. */
		while (!t->bye)
			if (drain_receives(t) || wait_for_events(t))
				return -1;
	}
	/* With --poll, check for messages now and then. */
	if (t->bye || (t->spinning && t->outstanding && ++t->spins % 64))
		return 0;
	return wait_for_events(t);
}

static int allocate(struct traffic *t)
{
	const struct worker *w = t->w;
	uint32_t i, depth = 1, n = w->cfg.nqps;

	t->flow = calloc(n, sizeof(*t->flow));
	t->touched = calloc(n, sizeof(*t->touched));
	for (i = 0; i < n; i++)
		if (endpoint_send_depth(&w->end[i].spec) > depth)
			depth = endpoint_send_depth(&w->end[i].spec);
	t->wr = calloc(depth, sizeof(*t->wr));
	t->sge = calloc(depth, sizeof(*t->sge));
	for (i = 0; t->flow && i < n; i++)
		if (w->end[i].posts && !(t->flow[i].report = calloc(1, sizeof(struct proto_flow))))
			break;
	if (!t->flow || !t->touched || !t->wr || !t->sge || i < n)
		return endpoint_fail(&t->w->e, 1, ENOMEM, "%u flows", n);
	return 0;
}

static int64_t after_start(const struct worker *w, int64_t t)
{
	return t == FLOW_FOREVER ? FLOW_FOREVER : w->start.start + t;
}

static int init_flows(struct traffic *t)
{
	struct worker *w = t->w;

	t->next = FLOW_FOREVER;
	t->spinning = w->cfg.poll && !w->cfg.poll_interval;
	t->rng = rng_of(w->cfg.seed, STREAM_LATE + w->cfg.rank);
	if (sequence_init(&t->order, w->end, w->cfg.nqps, w->start.start))
		return endpoint_fail(&w->e, 1, ENOMEM, "%u flows", w->cfg.nqps);
	for (uint32_t i = 0; i < w->cfg.nqps; i++) {
		struct flow *f = &t->flow[i];

		if (!f->report)
			continue;
		f->spec = &w->end[i].spec;
		f->rng = rng_of(w->cfg.seed, STREAM_FLOW + f->spec->stream);
		f->due = after_start(w, f->spec->start);
		f->stop = after_start(w, f->spec->stop);
		if (f->stop > w->start.end)
			f->stop = w->start.end;
		f->open = has_end(f) && flow_has_arrivals(f->spec);
		f->pool = f->spec->pool ? f - f->spec->qp : NULL;
		t->open += f->open;
		if (f->due < t->next)
			t->next = f->due;
		curve_start(&f->report->curve, f->due, w->start.resolution);
	}
	return 0;
}

static void free_traffic(struct traffic *t)
{
	for (uint32_t i = 0; t->flow && i < t->w->cfg.nqps; i++) {
		free(t->flow[i].report);
		free(t->flow[i].sample);
		messages_free(&t->flow[i].queue);
		messages_free(&t->flow[i].waiting);
	}
	sequence_free(&t->order);
	free(t->flow);
	free(t->touched);
	free(t->wr);
	free(t->sge);
}

int traffic_run(struct worker *w)
{
	struct traffic t = { .w = w };
	int ret = allocate(&t);

	if (!ret)
		ret = init_flows(&t);
	while (!ret && !t.bye)
		ret = run_once(&t);
	free_traffic(&t);
	return ret;
}
