/* SPDX-License-Identifier: BSD-2-Clause */
/* The orchestrator's side of a run; proto.h describes the messages and their order. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/common/clock.h"
#include "bench/common/interrupt.h"

#define TICK 100000000ll

#define fail(r, status, ...) \
	((r)->exit_code = (status), ccs_refuse((r)->err, sizeof((r)->err), __VA_ARGS__))

/* "sender 2 (rxe_3)" */
static char *host_text(const struct run *r, unsigned host, char *buf, size_t len)
{
	const struct opts *o = r->o;
	const char *device = *o->device[host] ? o->device[host] : "first device";

	if (!o->kind->to_one)
		snprintf(buf, len, "host %u (%s)", host + 1, device);
	else if (host == 0)
		snprintf(buf, len, "receiver (%s)", device);
	else if (host > o->senders + o->victim.wanted)
		snprintf(buf, len, "claiming host (%s)", device);
	else if (host > o->senders)
		snprintf(buf, len, "victim (%s)", device);
	else
		snprintf(buf, len, "sender %u (%s)", host, device);
	return buf;
}

static int fail_host(struct run *r, unsigned host, int exit_code, const char *why)
{
	char name[80];

	return fail(r, exit_code, "%s: %s", host_text(r, host, name, sizeof(name)), why);
}

static int send_to_host(struct run *r, unsigned host, uint32_t type, const void *data, size_t len)
{
	/* If the worker has gone, receive_message() reports the reason. */
	if (r->place->send(r->place, host, type, data, len) && errno != EPIPE &&
	    errno != ECONNRESET)
		return fail_host(r, host, 1, strerror(errno));
	return 0;
}

static int send_to_all(struct run *r, uint32_t type, const void *data, size_t len)
{
	for (unsigned host = 0; host < r->hosts; host++)
		if (send_to_host(r, host, type, data, len))
			return -1;
	return 0;
}

static int keep_flow(struct run *r, unsigned host, struct xchg_msg *m)
{
	struct proto_flow *f = m->data;

	if (f->flow >= r->flows->n || r->flow[f->flow])
		return fail_host(r, host, 1, "a flow too many");
	r->flow[f->flow] = f;
	m->data = NULL;
	return 0;
}

static int keep_samples(struct run *r, unsigned host, struct xchg_msg *m)
{
	struct proto_samples *head = m->data;
	struct run_samples *to;

	if (head->flow >= r->flows->n || r->samples[head->flow].head)
		return fail_host(r, host, 1, "samples of no flow");
	to = &r->samples[head->flow];
	to->head = head;
	to->v = (struct flow_sample *)(void *)(head + 1);
	to->n = (m->len - sizeof(*head)) / sizeof(*to->v);
	m->data = NULL;
	return 0;
}

static int keep_local(struct run *r, unsigned host, struct xchg_msg *m)
{
	const struct proto_local *local = m->data;
	size_t qps = r->nqps[host] * sizeof(struct proto_qp);

	if (m->len < sizeof(*local) + qps)
		return fail_host(r, host, 1, "too few QPs");
	r->qp[host] = malloc(qps + 1);
	if (!r->qp[host])
		return fail(r, 1, "no memory");
	memcpy(r->qp[host], local + 1, qps);
	if (!r->mtu || local->mtu < r->mtu)
		r->mtu = local->mtu;
	r->ipv6 |= local->ipv6;
	r->vendor_id = local->vendor_id;
	if (!*r->provider)
		snprintf(r->provider, sizeof(r->provider), "%.31s", local->provider);
	else if (strncmp(r->provider, local->provider, sizeof(r->provider)) != 0)
		strcpy(r->provider, "mixed");
	return 0;
}

static int handle_message(struct run *r, unsigned host, struct xchg_msg *m)
{
	const struct proto_error *error = m->data;

	switch (m->type) {
	case PROTO_LOCAL:
		return keep_local(r, host, m);
	case PROTO_FLOW:
		return keep_flow(r, host, m);
	case PROTO_SAMPLES:
		return keep_samples(r, host, m);
	case PROTO_ERROR:
		return fail_host(r, host, error->exit_code, error->text);
	}
	return 0;
}

/* Wait for a message and update the progress bar. Returns its host, or -1. */
static int wait_for_host(struct run *r)
{
	int ready;

	for (;;) {
		int64_t now = now_ns(), left = r->give_up - now;

		if (r->tick && r->start)
			r->tick(r, now - r->start);
		ready = r->place->wait(r->place, r->hosts, r->tick && left > TICK ? TICK : left);
		if (interrupted())
			return fail(r, 128 + interrupted(), "interrupted");
		if (ready >= 0)
			return ready;
		if (errno == ETIMEDOUT && left <= TICK)
			return fail(r, 1, "no end within the --timeout of %.3g s",
				    (double)r->o->timeout / 1e9);
		if (errno != EINTR && errno != ETIMEDOUT)
			return fail(r, 1, "cannot wait: %s", strerror(errno));
	}
}

/* Fail because a worker has ended too early. */
static int fail_ended(struct run *r, unsigned host)
{
	char how[256] = "ended too early";

	r->place->end(r->place, host, how, sizeof(how));
	r->started[host] = false;
	return fail_host(r, host, interrupted() ? 128 + interrupted() : 1, how);
}

/* Receive one message from any host. */
static int receive_message(struct run *r, unsigned *host, uint32_t *type)
{
	struct xchg_msg m;
	int ret = wait_for_host(r);

	if (ret < 0)
		return -1;
	*host = (unsigned)ret;
	if (r->place->recv(r->place, *host, &m))
		return fail_ended(r, *host);
	*type = m.type;
	ret = handle_message(r, *host, &m);
	free(m.data);
	return ret;
}

/* Receive until each host has sent a message of that type. */
static int wait_for_all(struct run *r, uint32_t what)
{
	unsigned host, missing = r->hosts;
	uint32_t type = 0;

	while (missing) {
		if (receive_message(r, &host, &type))
			return -1;
		missing -= type == what;
	}
	return 0;
}

static uint32_t end_of(const struct flow_spec *f, unsigned host)
{
	return f->dst == host;
}

static bool takes_part(const struct flow_spec *f, unsigned host)
{
	return f->src == host || f->dst == host;
}

static int start_worker(struct run *r, unsigned host)
{
	const struct opts *o = r->o;
	struct proto_config cfg = {
		.gid_index = o->gid_index, .tclass = o->tclass, .rank = host,
		.nqps = r->nqps[host], .poll = o->poll, .seed = r->seed,
		.tenant = scenario_tenant(o, host), .poll_interval = o->poll_interval, .late = o->late, .late_share = o->late_share,
	};
	size_t len = sizeof(cfg) + cfg.nqps * sizeof(struct proto_end);
	struct proto_end *end;
	char *buf;
	unsigned i, k = 0;
	int ret;

	snprintf(cfg.device, sizeof(cfg.device), "%s", o->device[host]);
	if (r->place->start(r->place, host, r->setting))
		return fail(r, 1, "cannot start a worker: %s", strerror(errno));
	r->started[host] = true;
	cfg.offset = r->place->offset(r->place, host);
	buf = malloc(len);
	if (!buf)
		return fail(r, 1, "no memory");
	memcpy(buf, &cfg, sizeof(cfg));
	end = (struct proto_end *)(void *)(buf + sizeof(cfg));
	for (i = 0; i < r->flows->n; i++)
		if (takes_part(&r->flows->v[i], host))
			end[k++] = (struct proto_end){
				.flow = i, .posts = flow_poster(&r->flows->v[i]) == host,
				.spec = r->flows->v[i],
			};
	ret = send_to_host(r, host, PROTO_CONFIG, buf, len);
	free(buf);
	return ret;
}

/* Send a worker the peers of its QPs. */
static int introduce(struct run *r, unsigned host)
{
	struct proto_local head = { .mtu = r->mtu, .vendor_id = r->vendor_id, .ipv6 = r->ipv6 };
	size_t len = sizeof(head) + r->nqps[host] * sizeof(struct proto_qp);
	char *buf = malloc(len);
	struct proto_qp *peer;
	int ret;

	if (!buf)
		return fail(r, 1, "no memory");
	memcpy(buf, &head, sizeof(head));
	peer = (struct proto_qp *)(void *)(buf + sizeof(head));
	for (unsigned i = 0; i < r->flows->n; i++) {
		const struct flow_spec *f = &r->flows->v[i];

		if (takes_part(f, host))
			*peer++ = r->qp[f->src == host ? f->dst : f->src]
				       [r->end_at[i][!end_of(f, host)]];
	}
	ret = send_to_host(r, host, PROTO_PEERS, buf, len);
	free(buf);
	return ret;
}

static void count_ends(struct run *r)
{
	for (unsigned i = 0; i < r->flows->n; i++) {
		r->end_at[i][0] = r->nqps[r->flows->v[i].src]++;
		r->end_at[i][1] = r->nqps[r->flows->v[i].dst]++;
	}
}

static int set_up(struct run *r)
{
	count_ends(r);
	for (unsigned host = 0; host < r->hosts; host++)
		if (start_worker(r, host))
			return -1;
	if (wait_for_all(r, PROTO_LOCAL))
		return -1;
	if (r->o->mtu > r->mtu)
		return fail(r, 2, "--mtu %u: the ports allow %u", r->o->mtu, r->mtu);
	if (r->o->mtu)
		r->mtu = r->o->mtu;
	for (unsigned host = 0; host < r->hosts; host++)
		if (introduce(r, host))
			return -1;
	return wait_for_all(r, PROTO_READY);
}

/* From the common start to the last flow's last completion. */
static int go(struct run *r)
{
	struct proto_start start;

	r->start = now_ns() + r->place->lead;
	r->measure = r->start + r->warmup;
	r->end = r->duration ? r->start + r->duration : FLOW_FOREVER;
	start = (struct proto_start){ .start = r->start, .end = r->end, .measure = r->measure,
				      .resolution = r->o->duration / 2000 };
	if (r->sampled)
		sampler_begin(&r->sampler, r->start, r->end);
	return send_to_all(r, PROTO_START, &start, sizeof(start)) || wait_for_all(r, PROTO_DONE);
}

static int finish(struct run *r)
{
	char how[256];

	if (r->sampled && sampler_stop(&r->sampler))
		return fail(r, 1, "%s", r->sampler.err);
	if (send_to_all(r, PROTO_STOP, NULL, 0) || wait_for_all(r, PROTO_REPORTED) ||
	    send_to_all(r, PROTO_BYE, NULL, 0))
		return -1;
	for (unsigned host = 0; host < r->hosts; host++) {
		r->started[host] = false;
		if (r->place->end(r->place, host, how, sizeof(how)))
			return fail_host(r, host, 1, how);
	}
	return 0;
}

/* A run by iterations ends, for the figures, when the first of the counted flows is through. */
static void settle_end(struct run *r)
{
	for (unsigned i = 0; i < r->flows->n; i++) {
		const struct curve *c = &r->flow[i]->curve;

		if (r->flows->v[i].messages && c->p[c->n - 1].t < r->end)
			r->end = c->p[c->n - 1].t;
	}
	if (r->measure >= r->end) /* too short a run for a warm-up */
		r->measure = r->start;
}

static void collect_reports(struct run *r)
{
	r->shim = calloc(r->hosts, sizeof(*r->shim));
	for (unsigned host = 0; r->shim && host < r->hosts; host++)
		r->shim[host] = r->place->report(r->place, host);
}

/* The queue pairs that a host posts to, in v: how many. */
static size_t posted_on(const struct run *r, unsigned host, struct inforce_qp *v)
{
	size_t n = 0;

	for (unsigned i = 0; i < r->flows->n; i++)
		if (flow_poster(&r->flows->v[i]) == host)
			v[n++] = (struct inforce_qp){ .qpn = r->flow[i]->qpn,
						      .used = r->flow[i]->messages > 0 };
	return n;
}

/* Fail if a setting was not in force: its column would be wrong. */
static int verify(struct run *r)
{
	struct inforce_qp *v = calloc(r->flows->n + 1, sizeof(*v));
	char why[SETTING_LEN + 128], text[2 * SETTING_LEN + 160];
	int ret = 0;
	size_t n;

	if (!v || !r->shim)
		ret = fail(r, 1, "no memory");
	for (unsigned host = 0; !ret && host < r->hosts; host++) {
		n = posted_on(r, host, v);
		if (!n || !inforce_check(&r->inforce, r->shim[host], r->setting, v, n, why,
					 sizeof(why)))
			continue;
		snprintf(text, sizeof(text), "%s was not in force: %s", r->setting->name, why);
		ret = fail_host(r, host, 1, text);
	}
	free(v);
	return ret;
}

static int open_sampler(struct run *r)
{
	const struct opts *o = r->o;
	int64_t period = o->duration / 2000;

	if (!o->link.switch_port || !*o->link.switch_port)
		return 0;
	r->sampler.ns = o->link.switch_ns;
	r->sampler.port = o->link.switch_port;
	r->sampler.period = period < 200000 ? 200000 : period > 10000000 ? 10000000 : period;
	if (sampler_open(&r->sampler))
		return fail(r, 2, "%s", r->sampler.err);
	if (r->sampler.busy)
		fprintf(stderr, "ccbench: %s: other traffic passes %s; the results contain it\n",
			r->setting->name, r->sampler.port);
	r->sampled = true;
	return 0;
}

/* Each flow has been reported by its poster. */
static int complete(struct run *r)
{
	for (unsigned i = 0; i < r->flows->n; i++)
		if (!r->flow[i])
			return fail(r, 1, "flow %u was not reported", i);
	settle_end(r);
	return 0;
}

int run_execute(struct run *r)
{
	int ret;

	r->hosts = opts_hosts(r->o);
	r->give_up = now_ns() + r->o->timeout;
	r->flow = calloc(r->flows->n, sizeof(*r->flow));
	r->samples = calloc(r->flows->n, sizeof(*r->samples));
	r->end_at = calloc(r->flows->n, sizeof(*r->end_at));
	if (!r->flow || !r->samples || !r->end_at)
		return fail(r, 1, "no memory");
	/* The sampler's thread must not be there yet when workers are forked. */
	ret = set_up(r) || open_sampler(r) || go(r) || finish(r) ? -1 : 0;
	sampler_stop(&r->sampler);
	for (unsigned host = 0; host < r->hosts; host++)
		if (r->started[host])
			r->place->kill(r->place, host);
	if (!ret)
		ret = complete(r);
	collect_reports(r);
	if (!ret && r->setting->preload)
		ret = verify(r);
	return ret;
}

void run_free(struct run *r)
{
	for (unsigned i = 0; r->flow && i < r->flows->n; i++)
		free(r->flow[i]);
	for (unsigned i = 0; r->samples && i < r->flows->n; i++)
		free(r->samples[i].head);
	for (unsigned i = 0; r->shim && i < r->hosts; i++)
		free(r->shim[i]);
	for (unsigned i = 0; i < MAX_HOSTS; i++)
		free(r->qp[i]);
	free(r->flow);
	free(r->samples);
	free(r->shim);
	free(r->end_at);
	sampler_free(&r->sampler);
}
