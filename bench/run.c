/* SPDX-License-Identifier: BSD-2-Clause */
/* The orchestrator's side of a run: see proto.h for what is said, in which order. */
#include "run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "interrupt.h"
#include "slurp.h"

#define RECEIVER 0u
#define LEAD 5000000 /* ns from START to the start: all have read it by then */

static unsigned victim_rank(const struct run *r)
{
	return r->o->senders + 1;
}

static int fail(struct run *r, int exit_code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct run *r, int exit_code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->err, sizeof(r->err), fmt, ap);
	va_end(ap);
	r->exit_code = exit_code;
	return -1;
}

static void describe(const struct run *r, unsigned rank, char *buf, size_t len)
{
	if (rank == RECEIVER)
		snprintf(buf, len, "receiver (%s)", r->o->device[rank]);
	else if (r->o->victim && rank == victim_rank(r))
		snprintf(buf, len, "victim (%s)", r->o->device[rank]);
	else
		snprintf(buf, len, "sender %u (%s)", rank, r->o->device[rank]);
}

static int say(struct run *r, unsigned rank, uint32_t type, const void *data, size_t len)
{
	/* If nobody listens, the reason comes out when we listen to it. */
	if (xchg_send(&r->child[rank].x, type, data, len) && errno != EPIPE && errno != ECONNRESET)
		return fail(r, 1, "%s: %s", r->child[rank].what, strerror(errno));
	return 0;
}

static int keep_flow(struct run *r, unsigned rank, struct xchg_msg *m)
{
	struct proto_flow *f = m->data;
	unsigned i = f->index + (rank == RECEIVER ? 0 : (rank - 1) * r->o->qps);

	if (i >= r->nflows || r->flow[i])
		return fail(r, 1, "%s: a flow too many", r->child[rank].what);
	r->flow[i] = f;
	m->data = NULL;
	return 0;
}

static int keep_local(struct run *r, unsigned rank, struct xchg_msg *m)
{
	const struct proto_local *local = m->data;
	size_t qps = m->len - sizeof(*local);

	r->qp[rank] = malloc(qps);
	if (!r->qp[rank])
		return fail(r, 1, "no memory");
	memcpy(r->qp[rank], local + 1, qps);
	if (!r->mtu || local->mtu < r->mtu)
		r->mtu = local->mtu;
	r->ipv6 |= local->ipv6;
	r->vendor_id = local->vendor_id;
	return 0;
}

static int take(struct run *r, unsigned rank, struct xchg_msg *m)
{
	const struct proto_error *error = m->data;

	switch (m->type) {
	case PROTO_LOCAL:
		return keep_local(r, rank, m);
	case PROTO_FLOW:
		return keep_flow(r, rank, m);
	case PROTO_SAMPLES:
		r->victim = m->data;
		r->nvictim = m->len / sizeof(*r->victim);
		m->data = NULL;
		return 0;
	case PROTO_ERROR:
		return fail(r, error->exit_code, "%s: %s", r->child[rank].what, error->text);
	}
	return 0;
}

/* Receive one message from whoever has one; its sender's rank and type. */
static int listen_once(struct run *r, unsigned *rank, uint32_t *type)
{
	struct xchg x[MAX_HOSTS];
	unsigned i, hosts = opts_hosts(r->o);
	struct xchg_msg m;
	int ready, ret;

	for (i = 0; i < hosts; i++)
		x[i] = r->child[i].x;
	do {
		ready = xchg_wait_any(x, hosts, r->give_up - now_ns(), interrupt_mask());
		if (interrupted())
			return fail(r, 128 + interrupted(), "interrupted");
	} while (ready < 0 && errno == EINTR);
	if (ready < 0 && errno == ETIMEDOUT)
		return fail(r, 1, "no end within the --timeout of %.3g s",
			    (double)r->o->timeout / 1e9);
	if (ready < 0)
		return fail(r, 1, "cannot wait: %s", strerror(errno));
	*rank = (unsigned)ready;
	if (xchg_recv(&x[ready], &m)) {
		if (!spawn_reap(&r->child[ready], r->err, sizeof(r->err)))
			return fail(r, 1, "%s: ended too early", r->child[ready].what);
		r->exit_code = interrupted() ? 128 + interrupted() : 1;
		return -1;
	}
	*type = m.type;
	ret = take(r, *rank, &m);
	free(m.data);
	return ret;
}

/* Listen until all of the ranks from..to have said that. */
static int await(struct run *r, uint32_t what, unsigned from, unsigned to)
{
	bool said[MAX_HOSTS] = { false };
	unsigned rank, missing = 0;
	uint32_t type = 0;

	for (rank = from; rank <= to; rank++)
		missing += !(what == PROTO_DONE && r->done[rank]);
	while (missing) {
		if (listen_once(r, &rank, &type))
			return -1;
		if (type == PROTO_DONE)
			r->done[rank] = true;
		if (type == what && rank >= from && rank <= to && !said[rank]) {
			said[rank] = true;
			missing--;
		}
	}
	return 0;
}

static int start_worker(struct run *r, unsigned rank)
{
	const struct opts *o = r->o;
	bool receiver = rank == RECEIVER, victim = o->victim && rank == victim_rank(r);
	bool posts = victim || receiver == (o->op == OP_READ);
	uint32_t flows = victim ? 1 : receiver ? r->nflows : o->qps;
	char report[512];
	struct proto_config cfg = {
		.role = victim ? ROLE_VICTIM : ROLE_TRAFFIC, .op = o->op,
		.gid_index = o->gid_index, .tclass = o->tclass,
		.nqps = flows + (receiver && o->victim),
		.active = posts ? flows : 0,
		.receives = receiver && o->op == OP_SEND ? flows : 0,
		.depth = victim ? 1 : o->depth, .poll = o->poll,
		.small_last = victim || (receiver && o->victim),
		.size = o->size, .victim_size = o->victim_size, .iterations = o->iterations,
		.seed = o->seed, .rank = rank, .interval = o->victim_interval,
	};

	snprintf(cfg.device, sizeof(cfg.device), "%s", o->device[rank]);
	snprintf(report, sizeof(report), "%s/%u.json", r->dir, rank);
	describe(r, rank, r->child[rank].what, sizeof(r->child[rank].what));
	if (spawn_worker(&r->child[rank], r->setting, r->preload, report))
		return fail(r, 1, "%s: cannot start: %s", r->child[rank].what, strerror(errno));
	return say(r, rank, PROTO_CONFIG, &cfg, sizeof(cfg));
}

/* Tell a worker the other ends of its QPs. */
static int introduce(struct run *r, unsigned rank)
{
	struct proto_local head = { .mtu = r->mtu, .vendor_id = r->vendor_id, .ipv6 = r->ipv6 };
	const struct opts *o = r->o;
	unsigned i, n = rank == RECEIVER ? r->nflows + o->victim : rank <= o->senders ? o->qps : 1;
	char *buf = malloc(sizeof(head) + n * sizeof(struct proto_qp));
	struct proto_qp *peer;
	int ret;

	if (!buf)
		return fail(r, 1, "no memory");
	memcpy(buf, &head, sizeof(head));
	peer = (struct proto_qp *)(void *)(buf + sizeof(head));
	for (i = 0; i < n; i++)
		peer[i] = rank == RECEIVER ? r->qp[1 + i / o->qps][i < r->nflows ? i % o->qps : 0]
					   : r->qp[RECEIVER][(rank - 1) * o->qps + i];
	ret = say(r, rank, PROTO_PEERS, buf, sizeof(head) + n * sizeof(*peer));
	free(buf);
	return ret;
}

static int set_up(struct run *r)
{
	unsigned rank, last = opts_hosts(r->o) - 1;

	for (rank = 0; rank <= last; rank++)
		if (start_worker(r, rank))
			return -1;
	if (await(r, PROTO_LOCAL, 0, last))
		return -1;
	if (r->o->mtu > r->mtu)
		return fail(r, 2, "--mtu %u: the ports allow %u", r->o->mtu, r->mtu);
	if (r->o->mtu)
		r->mtu = r->o->mtu;
	for (rank = 0; rank <= last; rank++)
		if (introduce(r, rank))
			return -1;
	return await(r, PROTO_READY, 0, last);
}

/* From the common start to the last flow's last completion. */
static int go(struct run *r)
{
	const struct opts *o = r->o;
	unsigned rank, last = opts_hosts(o) - 1;
	struct proto_start start;

	r->start = now_ns() + LEAD;
	r->measure = r->start + o->warmup;
	r->end = o->iterations ? INT64_MAX : r->start + o->duration;
	start = (struct proto_start){ .start = r->start, .end = r->end, .measure = r->measure,
				      .stagger = o->stagger, .resolution = o->duration / 2000 };
	if (r->sampled)
		sampler_begin(&r->sampler, r->start, r->end);
	for (rank = 0; rank <= last; rank++)
		if (say(r, rank, PROTO_START, &start, sizeof(start)))
			return -1;
	return o->op == OP_READ ? await(r, PROTO_DONE, RECEIVER, RECEIVER)
				: await(r, PROTO_DONE, 1, o->senders);
}

/* STOP a range of workers; the receiver goes last, for it holds the others' memory. */
static int stop(struct run *r, unsigned from, unsigned to)
{
	unsigned rank;

	for (rank = from; rank <= to; rank++)
		if (say(r, rank, PROTO_STOP, NULL, 0))
			return -1;
	return 0;
}

static int finish(struct run *r)
{
	unsigned rank, last = opts_hosts(r->o) - 1;

	if (r->o->victim && (stop(r, last, last) || await(r, PROTO_DONE, last, last)))
		return -1;
	if (r->sampled && sampler_stop(&r->sampler))
		return fail(r, 1, "%s", r->sampler.err);
	if (stop(r, 0, r->o->senders))
		return -1;
	for (rank = 0; rank <= last; rank++)
		if (spawn_reap(&r->child[rank], r->err, sizeof(r->err))) {
			r->exit_code = 1;
			return -1;
		}
	return 0;
}

/* A run by iterations ends, for the figures, when the first flow is through. */
static void settle_end(struct run *r)
{
	unsigned i;

	for (i = 0; r->o->iterations && i < r->nflows; i++) {
		const struct curve *c = &r->flow[i]->curve;

		if (c->p[c->n - 1].t < r->end)
			r->end = c->p[c->n - 1].t;
	}
	if (r->measure >= r->end) /* too short a run for a warm-up */
		r->measure = r->start;
}

static void collect_reports(struct run *r)
{
	unsigned rank, hosts = opts_hosts(r->o);
	char name[512];

	r->shim = calloc(hosts, sizeof(*r->shim));
	for (rank = 0; r->shim && rank < hosts; rank++) {
		snprintf(name, sizeof(name), "%s/%u.json", r->dir, rank);
		r->shim[rank] = slurp(name);
		remove(name);
	}
}

static int open_sampler(struct run *r)
{
	const struct opts *o = r->o;
	int64_t period = o->duration / 2000;

	if (!o->switch_port || !*o->switch_port)
		return 0;
	r->sampler.ns = o->switch_ns;
	r->sampler.port = o->switch_port;
	r->sampler.period = period < 200000 ? 200000 : period > 10000000 ? 10000000 : period;
	if (sampler_open(&r->sampler))
		return fail(r, 2, "%s", r->sampler.err);
	r->sampled = true;
	return 0;
}

int run_execute(struct run *r)
{
	unsigned rank;
	int ret;

	r->nflows = r->o->senders * r->o->qps;
	r->give_up = now_ns() + r->o->timeout;
	r->flow = calloc(r->nflows, sizeof(struct proto_flow *));
	for (rank = 0; rank < MAX_HOSTS; rank++)
		r->child[rank].x.fd = -1;
	if (!r->flow)
		return fail(r, 1, "no memory");
	/* The sampler's thread must not be there yet when workers are forked. */
	ret = set_up(r) || open_sampler(r) || go(r) || finish(r) ? -1 : 0;
	sampler_stop(&r->sampler);
	for (rank = 0; rank < opts_hosts(r->o); rank++)
		spawn_kill(&r->child[rank]);
	if (!ret)
		settle_end(r);
	collect_reports(r);
	return ret;
}

void run_free(struct run *r)
{
	unsigned i;

	for (i = 0; r->flow && i < r->nflows; i++)
		free(r->flow[i]);
	for (i = 0; r->shim && i < opts_hosts(r->o); i++)
		free(r->shim[i]);
	for (i = 0; i < MAX_HOSTS; i++)
		free(r->qp[i]);
	free(r->flow);
	free(r->shim);
	free(r->victim);
	sampler_free(&r->sampler);
}
