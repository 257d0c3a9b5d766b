/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The latency-sensitive flow that shares the bottleneck: one small write at a time,
 * latency from post to completion, then a pause. The pause varies by half either
 * way, from the seed: a fixed one could fall in step with the queue.
 */
#include <errno.h>
#include <stdlib.h>

#include "worker.h"

struct samples {
	struct proto_sample *v;
	size_t n, room;
};

#define MOST_SAMPLES (1u << 20) /* then the series ends, not the flow */

static int remember(struct worker *w, struct samples *s, int64_t posted, int64_t latency)
{
	struct proto_sample *more;

	if (s->n == MOST_SAMPLES)
		return 0;
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		more = realloc(s->v, s->room * sizeof(*s->v));
		if (!more)
			return endpoint_fail(&w->e, 1, ENOMEM, "%zu samples", s->room);
		s->v = more;
	}
	s->v[s->n++] = (struct proto_sample){ posted, latency };
	return 0;
}

/* One write and its completion. */
static int ping(struct worker *w, int64_t *posted, int64_t *latency)
{
	struct endpoint *e = &w->e;
	struct ibv_sge sge = { .addr = e->mine[0].addr, .lkey = e->mr->lkey,
			       .length = (uint32_t)w->cfg.victim_size };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = e->peer[0].addr, .rkey = e->peer[0].rkey },
	}, *bad;
	struct ibv_wc wc;
	int n, err;

	*posted = now_ns();
	err = ibv_post_send(e->qp[0], &wr, &bad);
	if (err)
		return endpoint_fail(e, 1, err, "cannot post");
	while ((n = ibv_poll_cq(e->cq, 1, &wc)) == 0)
		if (endpoint_wait(e, false))
			return -1;
	if (n < 0)
		return endpoint_fail(e, 1, 0, "cannot poll the CQ");
	*latency = wc.status == IBV_WC_SUCCESS ? now_ns() - *posted : -1;
	return 0;
}

int victim_run(struct worker *w)
{
	struct samples s = { 0 };
	int64_t posted = 0, latency = 0, pause;
	int ret = 0;

	sleep_until(w->start.start);
	while (!ret && latency >= 0 && posted + latency < w->start.end) {
		ret = ping(w, &posted, &latency) || remember(w, &s, posted, latency) ? -1 : 0;
		pause = (int64_t)((double)w->cfg.interval * (0.5 + rng_unit(&w->rng)));
		if (xchg_wait(&w->x, pause))
			break;
	}
	if (!ret)
		ret = worker_send(w, PROTO_SAMPLES, s.v, s.n * sizeof(*s.v));
	free(s.v);
	return ret;
}
