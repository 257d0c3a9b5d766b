/* SPDX-License-Identifier: BSD-2-Clause */
/* The flows under test: each QP keeps `depth` messages outstanding until the end. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

#define BATCH 32

struct flow {
	struct proto_flow *report;
	int64_t *posted_at;      /* ring of depth: messages of a QP complete in order */
	uint64_t posted, done, bytes;
	uint32_t fresh;          /* completed since the last settle() */
	bool broken, flushed;    /* flushed: no better reason is known */
};

struct traffic {
	struct worker *w;
	struct flow *flow;
	uint64_t outstanding;
	struct ibv_send_wr *wr;  /* depth of them, chained; all the same message */
	struct ibv_sge sge;
	uint32_t *touched, ntouched; /* flows with fresh completions */
};

static const enum ibv_wr_opcode opcode[] = {
	[OP_WRITE] = IBV_WR_RDMA_WRITE, [OP_READ] = IBV_WR_RDMA_READ, [OP_SEND] = IBV_WR_SEND,
};

/* Post up to n messages on flow i in one call: a batch costs one doorbell. */
static int post(struct traffic *t, uint32_t i, uint64_t n, int64_t now)
{
	struct endpoint *e = &t->w->e;
	struct flow *f = &t->flow[i];
	struct ibv_send_wr *bad;
	uint64_t k;
	int err;

	if (e->cfg->iterations && n > e->cfg->iterations - f->posted)
		n = e->cfg->iterations - f->posted;
	if (n == 0 || f->broken || now >= t->w->start.end)
		return 0;
	t->sge = (struct ibv_sge){ .addr = e->mine[i].addr, .length = (uint32_t)e->cfg->size,
				   .lkey = e->mr->lkey };
	for (k = 0; k < n; k++) {
		t->wr[k] = (struct ibv_send_wr){
			.wr_id = i, .next = k + 1 < n ? &t->wr[k + 1] : NULL,
			.sg_list = &t->sge, .num_sge = 1, .opcode = opcode[e->cfg->op],
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = e->peer[i].addr, .rkey = e->peer[i].rkey },
		};
		f->posted_at[(f->posted + k) % e->cfg->depth] = now;
	}
	err = ibv_post_send(e->qp[i], t->wr, &bad);
	if (err)
		return endpoint_fail(e, 1, err, "cannot post");
	f->posted += n;
	t->outstanding += n;
	return 0;
}

/* What broke the QP, rather than what was flushed after it, if that is told at all. */
static void note_error(struct flow *f, enum ibv_wc_status status)
{
	if (!f->report->errors++ || (f->flushed && status != IBV_WC_WR_FLUSH_ERR)) {
		snprintf(f->report->status, sizeof(f->report->status), "%s",
			 ibv_wc_status_str(status));
		f->flushed = status == IBV_WC_WR_FLUSH_ERR;
	}
	f->broken = true;
}

static void complete(struct traffic *t, const struct ibv_wc *wc, int64_t now)
{
	uint32_t i = (uint32_t)wc->wr_id;
	struct flow *f = &t->flow[i];
	int64_t posted = f->posted_at[f->done++ % t->w->cfg.depth];

	t->outstanding--;
	if (wc->status != IBV_WC_SUCCESS) {
		note_error(f, wc->status);
		return;
	}
	f->report->messages++;
	f->bytes += t->w->cfg.size;
	if (posted >= t->w->start.measure)
		ccs_hist_record(&f->report->latency, (uint64_t)(now - posted));
	if (!f->fresh++)
		t->touched[t->ntouched++] = i;
}

/* Completions seen at one instant are one point of the flow's curve and one post. */
static int settle(struct traffic *t, int64_t now)
{
	uint32_t k;

	for (k = 0; k < t->ntouched; k++) {
		struct flow *f = &t->flow[t->touched[k]];
		uint32_t fresh = f->fresh;

		f->fresh = 0;
		curve_add(&f->report->curve, now, f->bytes);
		if (post(t, t->touched[k], fresh, now))
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
	int i, n;

	while ((n = ibv_poll_cq(e->cq, BATCH, wc)) > 0) {
		if (!now)
			now = now_ns();
		for (i = 0; i < n; i++)
			complete(t, &wc[i], now);
	}
	if (n < 0)
		return endpoint_fail(e, 1, 0, "cannot poll the CQ");
	return settle(t, now);
}

static int begin(struct traffic *t)
{
	struct worker *w = t->w;
	int64_t start = w->start.start, now;
	uint32_t i;

	if (w->start.stagger)
		start += (int64_t)((double)w->start.stagger * rng_unit(&w->rng));
	sleep_until(start);
	now = now_ns();
	for (i = 0; i < w->cfg.active; i++) {
		curve_start(&t->flow[i].report->curve, now, w->start.resolution);
		if (post(t, i, w->cfg.depth, now))
			return -1;
	}
	return 0;
}

static int report(struct traffic *t)
{
	uint32_t i;

	for (i = 0; i < t->w->cfg.active; i++) {
		struct proto_flow *r = t->flow[i].report;
		size_t len = offsetof(struct proto_flow, curve.p) +
			     r->curve.n * sizeof(r->curve.p[0]);

		r->index = i;
		r->qpn = t->w->e.mine[i].qpn;
		if (worker_send(t->w, PROTO_FLOW, r, len))
			return -1;
	}
	return 0;
}

static int allocate(struct traffic *t)
{
	const struct proto_config *cfg = &t->w->cfg;
	uint32_t i;

	t->flow = calloc(cfg->active, sizeof(*t->flow));
	t->wr = calloc(cfg->depth, sizeof(*t->wr));
	t->touched = calloc(cfg->active, sizeof(*t->touched));
	for (i = 0; t->flow && i < cfg->active; i++) {
		t->flow[i].report = calloc(1, sizeof(*t->flow[i].report));
		t->flow[i].posted_at = calloc(cfg->depth, sizeof(*t->flow[i].posted_at));
		if (!t->flow[i].report || !t->flow[i].posted_at)
			break;
	}
	if (!t->flow || !t->wr || !t->touched || i < cfg->active)
		return endpoint_fail(&t->w->e, 1, ENOMEM, "%u flows", cfg->active);
	return 0;
}

static void release(struct traffic *t)
{
	uint32_t i;

	for (i = 0; t->flow && i < t->w->cfg.active; i++) {
		free(t->flow[i].report);
		free(t->flow[i].posted_at);
	}
	free(t->flow);
	free(t->wr);
	free(t->touched);
}

int traffic_run(struct worker *w)
{
	struct traffic t = { .w = w };
	int ret = allocate(&t);

	if (!ret)
		ret = begin(&t);
	while (!ret && t.outstanding)
		ret = endpoint_wait(&w->e, false) || drain_cq(&t) ? -1 : 0;
	if (!ret)
		ret = report(&t);
	release(&t);
	return ret;
}
