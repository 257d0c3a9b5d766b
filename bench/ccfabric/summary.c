/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccfabric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/core/memory.h"
#include "tools/common/human.h"

enum { BUSIEST = 8 };

static double slowdown_of(const struct fab_result *r, unsigned id)
{
	return r->flow[id].fct == UINT64_MAX || !r->flow[id].ideal
		? NAN : (double)r->flow[id].fct / (double)r->flow[id].ideal;
}

/* us after the first start; NAN: never */
static double us_from(const struct fab_result *r, uint64_t at)
{
	return at == UINT64_MAX ? NAN : (double)(at - r->begin) / FAB_PS_PER_US;
}

/* -- tenants --------------------------------------------------------------------------------- */

struct tenant {
	unsigned flows;
	double bytes, squares;   /* of its flows */
};

/* Bytes of each tenant, and of all that have a weight. */
static double add_up(const struct fab_conf *conf, const struct fab_result *r,
		     struct tenant tenant[FAB_TENANTS])
{
	double all = 0;

	memset(tenant, 0, FAB_TENANTS * sizeof(*tenant));
	for (unsigned i = 0; i < conf->flows->n; i++) {
		const struct fab_flow_spec *f = &conf->flows->flow[i];
		const double bytes = (double)r->flow[f->id].acked;

		tenant[f->tenant].flows++;
		tenant[f->tenant].bytes += bytes;
		tenant[f->tenant].squares += bytes * bytes;
		all += f->tenant ? bytes : 0;
	}
	return all;
}

static double jain_of(const struct tenant *t)
{
	return jain_index(t->bytes, t->squares, t->flows);
}

static double rate_of(const struct tenant *t, const struct fab_result *r)
{
	return r->end > r->begin ? 8e12 * t->bytes / (double)(r->end - r->begin) : NAN;
}

static void write_tenants(struct ccs_json *j, const struct fab_conf *conf, const struct fab_result *r)
{
	struct tenant tenant[FAB_TENANTS];
	const double all = add_up(conf, r, tenant);

	if (!conf->agents.tenants)
		return;
	ccs_json_array(j, "tenants");
	for (unsigned i = 1; i <= conf->agents.tenants; i++) {
		ccs_json_object(j, NULL);
		ccs_json_num(j, "weight", conf->agents.terms[i - 1].weight);
		ccs_json_uint(j, "flows", tenant[i].flows);
		ccs_json_num(j, "share", tenant[i].bytes / all);
		ccs_json_num(j, "jain", jain_of(&tenant[i]));
		ccs_json_num(j, "rate_bps", rate_of(&tenant[i], r));
		ccs_json_num(j, "burst_us", r->burst_us[i]);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void print_tenants(const struct fab_conf *conf, const struct fab_result *r, FILE *f)
{
	struct tenant tenant[FAB_TENANTS];
	const double all = add_up(conf, r, tenant);
	double weights = 0;

	for (unsigned i = 0; i < conf->agents.tenants; i++)
		weights += tenant[i + 1].flows ? conf->agents.terms[i].weight : 0;
	if (!conf->agents.tenants)
		return;
	fprintf(f, "\n%-14s %8s %8s %8s %8s %8s %8s\n", "tenant", "weight", "flows", "share",
		"/weight", "Jain", "Gb/s");
	for (unsigned i = 1; i <= conf->agents.tenants; i++)
		fprintf(f, "%-14u %8g %8u %8.4f %8.3f %8.4f %8.3f\n", i, conf->agents.terms[i - 1].weight,
			tenant[i].flows, tenant[i].bytes / all,
			tenant[i].bytes / all * weights / conf->agents.terms[i - 1].weight, jain_of(&tenant[i]),
			rate_of(&tenant[i], r) / 1e9);
}

/* -- JSON ------------------------------------------------------------------------------------ */

static void write_flow(struct ccs_json *j, const struct fab_flow_spec *f, const struct fab_result *r)
{
	const struct fab_flow_result *x = &r->flow[f->id];

	ccs_json_object(j, NULL);
	ccs_json_uint(j, "id", f->id);
	ccs_json_uint(j, "src", f->src);
	ccs_json_uint(j, "dst", f->dst);
	ccs_json_uint(j, "size", f->size);
	ccs_json_num(j, "start_ns", (double)f->start / 1e3);
	ccs_json_num(j, "fct_ns", x->fct == UINT64_MAX ? NAN : (double)x->fct / 1e3);
	ccs_json_num(j, "slowdown", slowdown_of(r, f->id));
	ccs_json_uint(j, "priority", f->priority);
	ccs_json_uint(j, "acked", x->acked);
	ccs_json_num(j, "rtt_us", x->rtt_us);
	ccs_json_end(j);
}

/* The priorities of which packets waited, or were marked or dropped. */
static void write_queues(struct ccs_json *j, const struct fab_queue_result *queue)
{
	ccs_json_array(j, "priorities");
	for (unsigned i = 0; i < FAB_PRIORITIES; i++) {
		const struct fab_queue_result *q = &queue[i];

		if (!(q->max > 0) && !q->marks && !q->drops)
			continue;
		ccs_json_object(j, NULL);
		ccs_json_uint(j, "priority", i);
		ccs_json_num(j, "mean_bytes", q->mean);
		ccs_json_num(j, "max_bytes", q->max);
		ccs_json_uint(j, "drops", q->drops);
		ccs_json_uint(j, "marks", q->marks);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_port(struct ccs_json *j, const struct topology *t, uint32_t i,
		       const struct fab_port_result *p)
{
	char name[32];

	snprintf(name, sizeof(name), "%u->%u", fab_port_node(t, i), fab_port_peer(t, i));
	ccs_json_object(j, NULL);
	ccs_json_str(j, "name", name);
	ccs_json_object(j, "queue_bytes");
	ccs_json_num(j, "mean", p->queue_mean);
	ccs_json_num(j, "p50", p->queue_p50);
	ccs_json_num(j, "p95", p->queue_p95);
	ccs_json_num(j, "p99", p->queue_p99);
	ccs_json_num(j, "max", p->queue_max);
	ccs_json_end(j);
	ccs_json_uint(j, "pauses", p->pauses);
	ccs_json_num(j, "paused_us", (double)p->paused_ps / FAB_PS_PER_US);
	ccs_json_uint(j, "drops", p->drops);
	ccs_json_uint(j, "marks", p->marks);
	ccs_json_num(j, "utilisation", p->utilisation);
	write_queues(j, p->queue);
	ccs_json_end(j);
}

struct spread fab_operations(const struct fab_result *r)
{
	double *us = mem_zeroed(r->operations + 1, sizeof(*us));
	struct spread s;

	for (unsigned i = 0; i < r->operations; i++)
		us[i] = (double)r->operation[i].length / FAB_PS_PER_US;
	s = spread_of(us, r->operations);
	free(us);
	return s;
}

void fab_write_operations(struct ccs_json *j, const struct spread *s)
{
	ccs_json_object(j, "operations");
	ccs_json_uint(j, "count", s->n);
	ccs_json_num(j, "p50_us", s->p50);
	ccs_json_num(j, "p99_us", s->p99);
	ccs_json_num(j, "max_us", s->max);
	ccs_json_end(j);
}

static void write_totals(struct ccs_json *j, const struct fab_result *r)
{
	struct spread operations;

	ccs_json_object(j, "packets");
	ccs_json_uint(j, "sent", r->sent);
	ccs_json_uint(j, "received", r->received);
	ccs_json_uint(j, "retransmitted", r->retransmitted);
	ccs_json_uint(j, "dropped_no_buffer_ingress", r->drops.ingress);
	ccs_json_uint(j, "dropped_no_buffer_egress", r->drops.egress);
	ccs_json_uint(j, "dropped_red", r->drops.red);
	ccs_json_uint(j, "dropped_no_route", r->drops.route);
	ccs_json_uint(j, "dropped_ttl", r->drops.ttl);
	ccs_json_uint(j, "dropped_link", r->drops.link);
	ccs_json_uint(j, "dropped_watchdog", r->drops.watchdog);
	ccs_json_uint(j, "under_way", r->under_way);
	ccs_json_uint(j, "control_dropped", r->dropped_control);
	ccs_json_uint(j, "marked", r->marks);
	ccs_json_uint(j, "cnps", r->cnps);
	ccs_json_uint(j, "pauses", r->pauses);
	ccs_json_uint(j, "resumes", r->resumes);
	ccs_json_end(j);
	operations = fab_operations(r);
	fab_write_operations(j, &operations);
	ccs_json_num(j, "headroom_bytes_max", r->headroom_max);
	ccs_json_object(j, "xoff_cells");
	ccs_json_num(j, "min", r->pauses ? (double)r->xoff_cells_min : NAN);
	ccs_json_num(j, "max", r->pauses ? (double)r->xoff_cells_max : NAN);
	ccs_json_end(j);
	ccs_json_object(j, "cnp_latency_us");
	ccs_json_num(j, "mean", r->cnps ? r->cnp_us_sum / (double)r->cnps : NAN);
	ccs_json_num(j, "max", r->cnps ? r->cnp_us_max : NAN);
	ccs_json_end(j);
	ccs_json_num(j, "first_pause_us", us_from(r, r->first_pause));
	ccs_json_num(j, "deadlock_us", us_from(r, r->deadlock_at));
	ccs_json_uint(j, "deadlocked_ports", r->deadlocked);
	ccs_json_uint(j, "storms", r->storms);
}

bool fab_write_json(const void *outcome, FILE *f)
{
	const struct fab_outcome *o = outcome;
	const struct fab_conf *conf = o->conf;
	const struct fab_result *r = o->result;
	struct fab_differences d;
	struct ccs_json j;

	ccs_document_start(&j, f, ccs_document_now());
	ccs_json_array(&j, "flows");
	for (unsigned i = 0; i < conf->flows->n; i++)
		write_flow(&j, &conf->flows->flow[i], r);
	ccs_json_end(&j);
	ccs_json_array(&j, "ports");
	for (uint32_t i = 0; i < 2 * conf->topology->links; i++)
		write_port(&j, conf->topology, i, &r->port[i]);
	ccs_json_end(&j);
	write_tenants(&j, conf, r);
	write_totals(&j, r);
	ccs_json_array(&j, "not_as_published");
	fab_find_differences(o->options, &d);
	for (unsigned i = 0; i < d.n; i++)
		ccs_json_str(&j, NULL, d.sentence[i]);
	ccs_json_end(&j);
	ccs_json_num(&j, "virtual_us", (double)(r->end - r->begin) / FAB_PS_PER_US);
	ccs_json_uint(&j, "events", r->events);
	ccs_json_uint(&j, "packet_hops", r->hops);
	ccs_json_num(&j, "wall_s", o->cost.wall_s);
	ccs_json_num(&j, "cpu_s", o->cost.cpu_s);
	ccs_json_end(&j);
	return ccs_json_finish(&j);
}

/* -- the table ------------------------------------------------------------------------------- */

struct class {
	const char *name;
	double above, most;      /* bytes */
};

/* The times in us, or slowdowns, of the flows of a class that are done. */
static struct spread spread_of_class(const struct fab_conf *conf, const struct fab_result *r,
				     const struct class *c, bool slowdown)
{
	double *value = mem_zeroed(conf->flows->n, sizeof(*value));
	struct spread spread;
	size_t n = 0;

	for (unsigned i = 0; i < conf->flows->n; i++) {
		const struct fab_flow_spec *s = &conf->flows->flow[i];
		const uint64_t fct = r->flow[s->id].fct;

		if ((double)s->size > c->above && (double)s->size <= c->most && fct != UINT64_MAX)
			value[n++] = slowdown ? slowdown_of(r, s->id) : (double)fct / FAB_PS_PER_US;
	}
	spread = spread_of(value, n);
	free(value);
	return spread;
}

static void print_class(const struct fab_conf *conf, const struct fab_result *r,
			const struct class *c, FILE *f)
{
	const struct spread fct = spread_of_class(conf, r, c, false);
	const struct spread slowdown = spread_of_class(conf, r, c, true);
	char p50[24], p99[24], most[24];

	if (fct.n)
		fprintf(f, "%-14s %8zu %10s %10s %10s %8.2f %8.2f\n", c->name, fct.n,
			human_us(fct.p50, p50, sizeof(p50)), human_us(fct.p99, p99, sizeof(p99)),
			human_us(fct.max, most, sizeof(most)), slowdown.p50, slowdown.p99);
}

static void print_flows(const struct fab_conf *conf, const struct fab_result *r, FILE *f)
{
	static const struct class class[] = {
		{ "up to 4 KB", 0, 4096 }, { "up to 64 KB", 4096, 65536 },
		{ "up to 1 MB", 65536, 1048576 }, { "above 1 MB", 1048576, INFINITY },
		{ "all", 0, INFINITY },
	};

	fprintf(f, "%-14s %8s %10s %10s %10s %8s %8s\n", "flows", "done", "FCT p50", "p99", "max",
		"slowdown", "p99");
	for (unsigned i = 0; i < sizeof(class) / sizeof(*class); i++)
		print_class(conf, r, &class[i], f);
	if (r->done < conf->flows->n)
		fprintf(f, "%u of %u flows are not done.\n", conf->flows->n - r->done, conf->flows->n);
}

static void print_operations(const struct fab_result *r, FILE *f)
{
	const struct spread s = fab_operations(r);
	char p50[24], p99[24], max[24];

	if (s.n)
		fprintf(f, "%-14s %8zu %10s %10s %10s\n", "operations", s.n,
			human_us(s.p50, p50, sizeof(p50)), human_us(s.p99, p99, sizeof(p99)),
			human_us(s.max, max, sizeof(max)));
}

unsigned fab_longest_queues(const struct fab_outcome *o, bool by_mean, uint32_t *port, unsigned n)
{
	const uint32_t ports = 2 * o->conf->topology->links;
	bool *chosen = mem_zeroed(ports, sizeof(*chosen));
	unsigned found = 0;

	while (found < n) {
		uint32_t best = UINT32_MAX;
		double longest = -1;

		for (uint32_t i = 0; i < ports; i++) {
			const struct fab_port_result *p = &o->result->port[i];
			const double queue = by_mean ? p->queue_mean : p->queue_max;

			if (!chosen[i] && p->queue_max > 0 && queue > longest) {
				best = i;
				longest = queue;
			}
		}
		if (best == UINT32_MAX)
			break;
		chosen[best] = true;
		port[found++] = best;
	}
	free(chosen);
	return found;
}

static void print_ports(const struct fab_outcome *o, FILE *f)
{
	uint32_t port[BUSIEST];
	const unsigned n = fab_longest_queues(o, false, port, BUSIEST);

	fprintf(f, "\n%-14s %6s %10s %10s %10s %7s %7s %7s\n", "longest queues", "util",
		"mean", "p99", "max", "XOFFs", "drops", "marks");
	for (unsigned i = 0; i < n; i++) {
		const struct fab_port_result *p = &o->result->port[port[i]];
		char name[32], text[3][24];

		snprintf(name, sizeof(name), "%u->%u", fab_port_node(o->conf->topology, port[i]),
			 fab_port_peer(o->conf->topology, port[i]));
		fprintf(f, "%-14s %6.3f %10s %10s %10s %7llu %7llu %7llu\n", name, p->utilisation,
			human_bytes(p->queue_mean, text[0], sizeof(text[0])),
			human_bytes(p->queue_p99, text[1], sizeof(text[1])),
			human_bytes(p->queue_max, text[2], sizeof(text[2])),
			(unsigned long long)p->pauses, (unsigned long long)p->drops,
			(unsigned long long)p->marks);
	}
}

void fab_print(const struct fab_outcome *o, FILE *f)
{
	const struct fab_conf *conf = o->conf;
	const struct fab_result *r = o->result;
	char virtual[24], headroom[24];
	struct fab_differences d;

	print_flows(conf, r, f);
	print_operations(r, f);
	print_tenants(conf, r, f);
	print_ports(o, f);
	fprintf(f, "\n%llu packets, %llu dropped, %llu marked, %llu PAUSE frames, headroom up to %s\n",
		(unsigned long long)r->sent, (unsigned long long)r->dropped,
		(unsigned long long)r->marks, (unsigned long long)r->pauses,
		human_bytes(r->headroom_max, headroom, sizeof(headroom)));
	if (conf->warm >= r->end - r->begin && conf->warm)
		fputs("All ended within --warmup, so ports' figures are of the whole run.\n", f);
	if (r->deadlock_at != UINT64_MAX)
		fprintf(f, "A deadlock was seen after %s; in the end %u ports are in one.\n",
			human_us(us_from(r, r->deadlock_at), virtual, sizeof(virtual)), r->deadlocked);
	fab_find_differences(o->options, &d);
	for (unsigned i = 0; i < d.n; i++)
		fprintf(f, "Not as published: %s.\n", d.sentence[i]);
	fprintf(f, "%s simulated in %.2f s of CPU: %.1f M events/s, %.1f M packet-hops/s\n",
		human_us((double)(r->end - r->begin) / FAB_PS_PER_US, virtual, sizeof(virtual)),
		o->cost.cpu_s, (double)r->events / o->cost.cpu_s / 1e6,
		(double)r->hops / o->cost.cpu_s / 1e6);
}
