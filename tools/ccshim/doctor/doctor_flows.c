/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on measurements of processes under ccshim: slow paths, missing feedback, losses. */
#include "doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "tools/common/human.h"

/* From this share of its time at the gate on, a flow is limited by its rate or window. */
#define GATED 0.3
/* Up to this share of its port's rate, a flow is slow. */
#define SLOW 0.7

enum { PEERS = 256, PEERS_REPORTED = 4 };

/* Flows to one peer that wait at the gate. */
struct peer {
	uint8_t gid[16];
	char device[64];
	unsigned flows;
	double goodput_bps, line_bps, gated, rtt_us, base_us;
	struct ccs_stats_hop hop;        /* the busiest link; capacity 0: unknown */
};

static struct peer *find_peer(struct peer *list, unsigned *n, const struct ccs_stats_qp *q)
{
	for (unsigned i = 0; i < *n; i++)
		if (memcmp(list[i].gid, q->peer_gid, sizeof(q->peer_gid)) == 0 &&
		    strcmp(list[i].device, q->device) == 0)
			return &list[i];
	if (*n == PEERS)
		return NULL;
	list[*n] = (struct peer){ 0 };
	memcpy(list[*n].gid, q->peer_gid, sizeof(q->peer_gid));
	memcpy(list[*n].device, q->device, sizeof(q->device));
	return &list[(*n)++];
}

static void add_hops(struct peer *p, const struct ccs_stats_qp *q)
{
	for (uint64_t i = 0; i < q->nhops; i++) {
		const struct ccs_stats_hop *hop = &q->hop[i];

		if (hop->capacity && (!p->hop.capacity || (double)hop->rate / (double)hop->capacity >
		    (double)p->hop.rate / (double)p->hop.capacity))
			p->hop = *hop;
	}
}

/* s holds the increase in the interval. */
static void add_flow(struct peer *list, unsigned *n, const struct stat_snapshot *s,
		     const struct stat_qp *qp)
{
	const double gated = (double)qp->q.gated_ns / 1e9 / s->since_s;
	struct peer *p;

	if (!qp->q.bytes || !qp->q.enforced || gated < GATED || !(p = find_peer(list, n, &qp->q)))
		return;
	p->flows++;
	p->goodput_bps += 8 * (double)qp->q.bytes / s->since_s;
	p->line_bps = (double)qp->q.line_rate;
	p->gated = gated > p->gated ? gated : p->gated;
	p->rtt_us = ccs_stats_percentile(&qp->rtt, 0.5) / 1e3;
	p->base_us = (double)qp->q.base_rtt_ns / 1e3;
	add_hops(p, &qp->q);
}

static int by_goodput(const void *a, const void *b)
{
	const double x = ((const struct peer *)a)->goodput_bps, y = ((const struct peer *)b)->goodput_bps;

	return x < y ? -1 : x > y;
}

static void add_figures(struct doctor_finding *f, const struct peer *p)
{
	doctor_add_figure(f, false, p->flows, "flows");
	doctor_add_figure(f, false, p->goodput_bps, "goodput, bit/s");
	doctor_add_figure(f, false, p->line_bps, "rate of the port here, bit/s");
	doctor_add_figure(f, false, 100 * p->gated, "time at the gate, %%");
	if (p->rtt_us > 0)
		doctor_add_figure(f, false, p->rtt_us, "median RTT, us");
	if (p->base_us > 0)
		doctor_add_figure(f, false, p->base_us, "base RTT, us");
	if (!p->hop.capacity)
		return;
	doctor_add_figure(f, false, (double)p->hop.capacity, "capacity of link %" PRIu64 ", bit/s", p->hop.link);
	doctor_add_figure(f, false, (double)p->hop.rate, "rate of link %" PRIu64 ", bit/s", p->hop.link);
	doctor_add_figure(f, false, (double)p->hop.queue_bytes, "queue of link %" PRIu64 ", bytes", p->hop.link);
}

static void judge_peer(struct doctor *d, const struct peer *p)
{
	struct doctor_finding f = { .verdict = "slow-port", .severity = DOCTOR_NOTE };
	char name[INET6_ADDRSTRLEN], is[24], most[24];

	if (p->goodput_bps > SLOW * p->line_bps)
		return;
	snprintf(f.where, sizeof(f.where), "%s to %s", p->device, ccs_gid_text(p->gid, name));
	human_rate(p->goodput_bps, is, sizeof(is));
	if (p->hop.capacity && (double)p->hop.capacity < 0.9 * p->line_bps)
		snprintf(f.text, sizeof(f.text), "A slow port is on the path: ccshim holds the flows at %s, since "
			 "link %" PRIu64 " has %s and the port here %s.", is, p->hop.link,
			 human_rate((double)p->hop.capacity, most, sizeof(most)),
			 human_rate(p->line_bps, name, sizeof(name)));
	else
		snprintf(f.text, sizeof(f.text), "ccshim holds the flows at %s of the port's %s: a port on the path "
			 "is slower, or others share it.", is, human_rate(p->line_bps, most, sizeof(most)));
	f.remedy = "This is the purpose of congestion control. If the path should have a higher rate, compare link "
		   "speeds at the peer and the switches, and change max_rate or cc if they are the limit.";
	add_figures(&f, p);
	doctor_report(d, &f);
}

static void judge_peers(struct doctor *d, const struct stat_snapshot *s)
{
	struct peer *list = calloc(PEERS, sizeof(*list));
	unsigned n = 0;

	for (size_t i = 0; list && i < s->count; i++)
		for (size_t k = 0; k < s->process[i].count; k++)
			add_flow(list, &n, s, &s->process[i].qp[k]);
	if (n)
		qsort(list, n, sizeof(*list), by_goodput);
	for (unsigned i = 0; i < n && i < PEERS_REPORTED; i++)
		judge_peer(d, &list[i]);
	free(list);
}

static struct doctor_finding finding_of(const struct stat_process *p, const char *verdict)
{
	struct doctor_finding f = { .verdict = verdict, .severity = DOCTOR_NOTE };

	snprintf(f.where, sizeof(f.where), "%" PRIu64 " %s", p->h.pid, p->h.program);
	return f;
}

static bool lacks_feedback(const struct ccs_stats_qp *q)
{
	return *q->feedback && strcmp(q->feedback, "ok") != 0 && strcmp(q->feedback, "none") != 0;
}

static void judge_feedback(struct doctor *d, const struct stat_process *p)
{
	struct doctor_finding f = finding_of(p, "no-feedback");
	const char *why = "";
	unsigned lacking = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->qp[i].q.bytes && lacks_feedback(&p->qp[i].q)) {
			why = p->qp[i].q.feedback;
			lacking++;
		}
	if (!lacking)
		return;
	f.severity = DOCTOR_PROBLEM;
	snprintf(f.text, sizeof(f.text), "Flows with %.64s lack its feedback (%s) and run the fallback "
		 "algorithm.", p->h.cc, why);
	f.remedy = "Start ccshimd here and at the peers, and let UDP port 4793 pass; 'ccshim check' examines "
		   "the agent. Or use an algorithm that needs RTTs only.";
	doctor_add_figure(&f, false, lacking, "flows without feedback");
	doctor_add_figure(&f, false, (double)p->count, "queue pairs");
	doctor_report(d, &f);
}

static void judge_uncontrolled(struct doctor *d, const struct stat_process *p)
{
	struct doctor_finding f = finding_of(p, "uncontrolled");

	for (unsigned i = 0; i < CCS_STATS_MAX_UNCONTROLLED && *p->h.uncontrolled[i].name; i++)
		if (p->h.uncontrolled[i].count)
			doctor_add_figure(&f, false, (double)p->h.uncontrolled[i].count, "uncontrolled: %s",
					  p->h.uncontrolled[i].name);
	if (!f.figures)
		return;
	snprintf(f.text, sizeof(f.text), "Part of this process's traffic passes ccshim uncontrolled.");
	f.remedy = "libccshim(7), LIMITS, explains each reason; with UCX, 'ccshim run --adapt' avoids direct verbs.";
	doctor_report(d, &f);
}

static void judge_losses(struct doctor *d, const struct stat_process *p)
{
	struct doctor_finding f = finding_of(p, "loss");
	uint64_t losses = stat_totals(p).losses;

	if (!losses)
		return;
	f.severity = DOCTOR_PROBLEM;
	snprintf(f.text, sizeof(f.text), "ccshim found requests that took as long as a retransmission timeout: "
		 "packets were lost.");
	f.remedy = "The verdicts on ports say where, if the NIC counts it. Examine drops at the switches.";
	doctor_add_figure(&f, true, (double)losses, "losses");
	doctor_report(d, &f);
}

void doctor_count_controlled(const struct doctor *d, uint64_t *controlled, uint64_t *observed)
{
	*controlled = *observed = 0;
	for (size_t i = 0; i < d->after.stat.count; i++) {
		const struct stat_process *p = &d->after.stat.process[i];

		*(strcmp(p->h.mode, "enforce") == 0 ? controlled : observed) += p->h.qps_unshown;
		for (size_t k = 0; k < p->count; k++)
			if (!*p->qp[k].q.uncontrolled)
				++*(p->qp[k].q.enforced ? controlled : observed);
	}
}

void doctor_judge_flows(struct doctor *d)
{
	struct stat_snapshot s;

	if (stat_copy(&s, &d->after.stat) == 0 && d->before.stat.unix_ns) {
		stat_subtract(&s, &d->before.stat);
		if (s.since_s > 0)
			judge_peers(d, &s);
		for (size_t i = 0; i < s.count; i++) {
			judge_losses(d, &s.process[i]);
			judge_feedback(d, &s.process[i]);
			judge_uncontrolled(d, &d->after.stat.process[i]); /* in total */
		}
	}
	stat_free(&s);
}
