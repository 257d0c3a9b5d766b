/* SPDX-License-Identifier: BSD-2-Clause */
/* The results: histograms of RTT and queue, a series of bins, and their summary. */
#include <math.h>

#include "priv.h"

enum { QUEUE_SAMPLES = 20000, SUSTAINED = 3 };

static double bin_us(const struct sim_conf *c)
{
	return c->bin_us > 0 ? c->bin_us : c->end_us / 100;
}

/*
 * The victim posts a write when the last has ended. A long write also counts for the writes that
 * could have been posted in its time, one per base RTT. Without that, slow times would count less.
 */
static void record_victim(struct star *s, uint64_t ns)
{
	const double each_ns = 1e3 * s->conf->base_us;
	double left = (double)ns;

	do {
		ccs_hist_record(&s->victim, ns);
		left -= each_ns;
	} while (each_ns > 0 && left > each_ns / 2);
}

/* The RTT of a segment without its transmission by the NIC. */
void star_measure_rtt(struct sim *net, const struct flow *f, const struct post *post)
{
	struct star *s = (struct star *)net;
	const struct star_flow *measured = &s->flow[f->spec->id];
	const uint64_t ps = net->now - net->now % 1000 - post->at;
	const double us = us_of(ps) - 8e6 * post->len / star_nic_rate(s->conf);
	const uint64_t ns = us > 0 ? (uint64_t)(us * 1e3) : 0;

	if (us_of(net->now) < s->conf->warm_us)
		return;
	if (!measured->apart)
		ccs_hist_record(&s->rtt, ns);
	else if (f->spec->id == s->total)
		record_victim(s, ns);
}

static double queue_of(const struct star *s)
{
	double bytes = 0;

	for (unsigned i = 0; i < s->ports; i++)
		bytes += (double)star_port(s, i)->bytes;
	return bytes / s->ports;
}

void star_sample(struct star *s)
{
	if (s->conf->pattern == SIM_INCAST)
		ccs_hist_record(&s->queue, (uint64_t)queue_of(s));
	else
		for (unsigned i = 0; i < s->ports; i++)
			ccs_hist_record(&s->queue, star_port(s, i)->bytes);
	star_at(s, us_of(s->net.now) + (s->conf->end_us - s->conf->warm_us) / QUEUE_SAMPLES,
		STAR_SAMPLE, 0);
}

void star_warm(struct star *s)
{
	for (unsigned i = 0; i <= s->total; i++)
		s->flow[i].at_warm = s->flow[i].flow->rcv_nxt;
	star_sample(s);
}

struct jain {
	double sum, squares;
	unsigned n;
};

static void jain_add(struct jain *j, double x)
{
	j->sum += x;
	j->squares += x * x;
	j->n++;
}

static double jain_index(const struct jain *j)
{
	return j->squares > 0 ? j->sum * j->sum / (j->n * j->squares) : 0;
}

void star_bin(struct star *s)
{
	struct sim_result *r = s->result;
	struct jain j = { 0 };
	double bytes = 0;

	for (unsigned i = 0; i < s->total; i++) {
		struct star_flow *f = &s->flow[i];
		const double got = (double)(f->flow->rcv_nxt - f->at_bin);

		f->at_bin = f->flow->rcv_nxt;
		bytes += got;
		if (!f->left && s->net.now >= f->start && !f->apart)
			jain_add(&j, got);
	}
	if (r->bins < SIM_BINS)
		r->bin[r->bins++] = (struct sim_bin){
			.util = 8e6 * bytes / (bin_us(s->conf) * s->conf->rate * s->ports),
			.jain = jain_index(&j),
			.queue = queue_of(s),
		};
	star_at(s, us_of(s->net.now) + bin_us(s->conf), STAR_BIN, 0);
}

/* Time from `from` to the end of the first of SUSTAINED bins in a row that hold. */
static double settled(const struct star *s, double from_us, double until_us, bool jain)
{
	const double width = bin_us(s->conf);
	unsigned row = 0;

	for (unsigned i = (unsigned)ceil(from_us / width); i < s->result->bins; i++) {
		const struct sim_bin *b = &s->result->bin[i];

		if ((i + 1) * width > until_us)
			break;
		row = (jain ? b->jain : b->util) >= 0.9 ? row + 1 : 0;
		if (row == SUSTAINED)
			return (i + 2 - SUSTAINED) * width - from_us;
	}
	return INFINITY;
}

/* The bits that the ports could have sent after warm_us. */
static double capacity(const struct star *s)
{
	const struct sim_conf *c = s->conf;
	const double from = fmax(c->slow.from_us, c->warm_us);
	const double until = fmin(c->slow.until_us, c->end_us);
	const double slow_us = c->slow.rate > 0 && until > from ? until - from : 0;

	return 1e-6 * s->ports *
	       ((c->end_us - c->warm_us) * c->rate - slow_us * (c->rate - c->slow.rate));
}

static void measure_flows(struct star *s)
{
	struct sim_result *r = s->result;
	struct jain j = { 0 };
	double bytes = 0, apart = 0;

	for (unsigned i = 0; i <= s->total; i++) {
		const struct star_flow *f = &s->flow[i];
		const double got = (double)(f->flow->rcv_nxt - f->at_warm);

		bytes += got;
		apart += f->apart ? got : 0;
		if (f->stays)
			jain_add(&j, got);
		r->at_floor += flow_control(f->flow) == CCS_CONTROL_AT_FLOOR;
		r->at_limit += flow_control(f->flow) == CCS_CONTROL_AT_LIMIT;
	}
	r->util = 8 * bytes / capacity(s);
	r->own_util = 8 * (bytes - apart) / capacity(s);
	r->jain = jain_index(&j);
}

/* A write that has not ended counts with its time so far: the port may be blocked. */
static void measure_victim(struct star *s)
{
	const struct posts *p = &s->flow[s->total].flow->posts;
	const uint64_t ns = p->first != p->end ? (s->net.now - posts_at(p, p->first)->at) / 1000 : 0;
	struct sim_result *r = s->result;

	if (ns > ccs_hist_percentile(&s->victim, 0.99))
		record_victim(s, ns);
	r->victims = s->victim.count;
	r->victim_p50 = (double)ccs_hist_percentile(&s->victim, 0.5) / 1e3;
	r->victim_p99 = (double)ccs_hist_percentile(&s->victim, 0.99) / 1e3;
}

static void count_packets(const struct star *s, struct sim_result *r)
{
	const struct fab_result *of = &s->outcome;

	r->packets = of->sent;
	r->marks = of->marks;
	r->cnps = of->cnps;
	r->lost = of->drops.link;
	for (unsigned i = 0; i < s->net.ports; i++)
		r->late_drops += s->net.port[i].of_host ? 0 : s->net.stats[i].drops;
	r->drops = of->drops.egress + of->dropped_control;
}

void star_measure_end(struct star *s)
{
	const struct sim_conf *c = s->conf;
	struct sim_result *r = s->result;

	count_packets(s, r);

	measure_flows(s);
	measure_victim(s);
	r->rtt_avg = ccs_hist_mean(&s->rtt) / 1e3;
	r->rtt_p50 = (double)ccs_hist_percentile(&s->rtt, 0.5) / 1e3;
	r->rtt_p99 = (double)ccs_hist_percentile(&s->rtt, 0.99) / 1e3;
	r->q_avg = ccs_hist_mean(&s->queue);
	r->q_p50 = (double)ccs_hist_percentile(&s->queue, 0.5);
	r->q_p95 = (double)ccs_hist_percentile(&s->queue, 0.95);
	r->q_p99 = (double)ccs_hist_percentile(&s->queue, 0.99);
	r->join_us = c->guests.n ? settled(s, c->guests.join_us, c->guests.leave_us, true) : 0;
	r->leave_us = c->guests.n ? settled(s, c->guests.leave_us, c->end_us, false) : 0;
}
