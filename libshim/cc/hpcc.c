/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HPCC (Li et al., SIGCOMM 2019): a window from the utilisation of the busiest link.
 *
 * Each acknowledgement with telemetry gives u, the utilisation of the path's busiest link: the
 * bytes that it sent and those in its queue, relative to its capacity. U is the average of u over
 * T. The window is eta/U times the reference Wc, which changes once per RTT, so that several
 * acknowledgements of one queue cause one decrease.
 *
 * paper   Algorithm 1.
 * ns3     The authors' simulation: the increase and the floor apply to a rate. Here the state is
 *         the window W = rate * T.
 * ccshim  The default: Algorithm 1 if records do not count flows. Records of host agents do, and
 *         span several T. Then T, the increase and the floors follow the number of flows, and each
 *         record is answered once (answer_agents()). C is the slowest known link's rate.
 * echo    As ccshim, without switches: the receiver's port is the busiest link, and the
 *         round-trip time gives the queue.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cc/cc.h"
#include "cc/hops.h"
#include "cc/host_jitter.h"
#include "cc/minmax.h"

enum { VARIANT, ETA, MAX_STAGE, W_AI, MIN_WINDOW, RATE_AI, MIN_RATE, BASE_RTT, NPARAMS };
enum variant { CCSHIM, PAPER, NS3, ECHO };

static const char *const variants[] = { "ccshim", "paper", "ns3", "echo", NULL };

#define EXPECTED_FLOWS 16        /* number of flows for the increase while it is unknown */
#define FEW_FLOWS 4              /* smallest number to count with: fewer cannot fill the link */
#define CATCH_UP 8               /* limit of increases for a time without completions, in T */
/* Increases per record of agents. With one per T, shares would depend on the base RTT. */
#define INCREASES 2
/* Share of the computed move. Sent bytes follow the window late, so full moves would alternate. */
#define ANSWER 0.8
#define TELEMETRY_PERIODS 4      /* interval at which telemetry is requested, in T */

static const struct ccs_cc_param params[NPARAMS] = {
	[VARIANT] = { "variant", "", CCSHIM, 0, 0, variants,
		"ccshim's form, the paper's, its simulation, or without switches", "HPCC 3.2" },
	[ETA] = { "eta", "", 0.95, 0.01, 1, NULL, "target utilisation", "HPCC 3.3" },
	[MAX_STAGE] = { "max_stage", "", NAN, 0, 1e6, NULL,
		"additive increases before the next multiplicative one; 5, ns3: 0", "HPCC 3.3" },
	[W_AI] = { "w_ai", "bytes", NAN, 0, 1e12, NULL,
		"additive increase of the window (not ns3)",
		"HPCC 3.3; derived: C*T/8*(1-eta)/32" },
	[MIN_WINDOW] = { "min_window", "bytes", NAN, 1, 1e12, NULL,
		"floor of the window (not ns3)", "derived: min_rate*T/8" },
	[RATE_AI] = { "rate_ai", "bit/s", NAN, 0, 1e15, NULL,
		"additive increase of the rate (ns3)", "derived: line rate / 2000" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: C/1000, C/(2*flows) at most" },
	[BASE_RTT] = { "base_rtt", "us", NAN, 1e-3, 1e9, NULL,
		"T: slightly above the largest unloaded round-trip time", "HPCC 3.2" },
};

struct hpcc {
	struct ccs_hops last;            /* L */
	uint64_t last_seq;               /* ack_seq of the last records */
	uint64_t update_seq;             /* lastUpdateSeq */
	double U;
	double W, Wc;                    /* bytes */
	double before;                   /* W before its last change, bytes */
	double T;                        /* the T of W and Wc, s */
	double tau;                      /* interval of the last measurement, up to T, s */
	double ack_us, rtt_us;           /* last acknowledgement and its RTT; 0: no RTT */
	double covers_us;                /* earliest time of the last records; 0: unknown */
	double update_us;                /* time of update_seq */
	double acked_us;                 /* first ack of data sent after the update; or INFINITY */
	unsigned stage;                  /* incStage */
	unsigned flows;                  /* number of flows in telemetry; 0: unknown or published */
	unsigned most_flows;             /* largest number so far */
	double capacity;                 /* receiver's link in the records, bit/s; 0: unknown */
	struct ccs_host_jitter jitter;
};

static enum variant variant_of(const struct ccs_cc *cc)
{
	return (enum variant)cc->param[VARIANT];
}

static bool is_published(enum variant variant)
{
	return variant == PAPER || variant == NS3;
}

/* The path whose bottleneck has that rate, bit/s; 0: unknown. Published variants use the NIC's. */
static struct ccs_cc_path known_path(const struct ccs_cc_path *path, enum variant variant,
				     double rate)
{
	struct ccs_cc_path known = *path;

	if (is_published(variant))
		known.bottleneck_rate = 0;
	else if (rate > 0)
		known.bottleneck_rate = rate;
	return known;
}

/*
 * T of echo, and of ccshim if flows are counted, us: it contains a segment of each flow. A flow
 * that completes less than a segment per T would increase in proportion to its rate, and shares
 * would stay unequal.
 */
static double period_us(const struct ccs_cc_path *path, unsigned flows)
{
	const double ser = ccs_cc_segment_us(path, path->segment);

	return ccs_max(path->base_rtt_us + path->rtt_jitter_us + ser,
		       path->base_rtt_us + ccs_max(flows, FEW_FLOWS) * ser);
}

/*
 * The increase per T of each of n flows, bytes. Together they add half of the capacity that eta
 * leaves free. If they added all of it, the equilibrium would be a full link with any queue.
 */
static double increase(const struct ccs_cc_path *path, double T_us, double eta, double flows)
{
	return ccs_cc_bottleneck(path) * T_us / 8e6 * (1 - eta) / (2 * flows);
}

/* 1/1000 of the link; the floors of all flows together are at most half of it. */
static double least_rate(const struct ccs_cc_path *path, unsigned flows)
{
	return ccs_cc_bottleneck(path) / ccs_max(2 * flows, 1000);
}

static double least_window(double min_rate, double T_us)
{
	return ccs_max(1, min_rate * T_us / 8e6);
}

/*
 * w_ai is C*T/8*(1-eta)/32 (HPCC 3.3); rate_ai and min_rate are 50 and 100 Mb/s at 100 Gb/s.
 * min_window is min_rate times T, which may be less than a segment: the flow is paced. With
 * one segment as the floor, more flows than C*T has segments would keep a queue of all their
 * segments.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const enum variant variant = (enum variant)p[VARIANT];
	const struct ccs_cc_path known = known_path(path, variant, 0);
	const double T = !isnan(p[BASE_RTT]) ? p[BASE_RTT] :
			 variant == ECHO ? period_us(&known, path->flows)
					  : path->base_rtt_us + path->rtt_jitter_us;
	const double min_rate = isnan(p[MIN_RATE]) ? least_rate(&known, 0) : p[MIN_RATE];
	const double derived[NPARAMS] = {
		[MAX_STAGE] = variant == NS3 ? 0 : 5,
		[W_AI] = increase(&known, T, p[ETA], EXPECTED_FLOWS),
		[MIN_WINDOW] = least_window(min_rate, T),
		[RATE_AI] = path->line_rate / 2000,
		[MIN_RATE] = min_rate,
		[BASE_RTT] = T,
	};

	ccs_cc_fill(p, derived, NPARAMS);
}

static struct ccs_cc_path path_of(const struct ccs_cc *cc)
{
	const struct hpcc *h = (const struct hpcc *)(const void *)cc->priv;

	return known_path(&cc->path, variant_of(cc), h->capacity);
}

/* The current T, s. Unless given, it follows the number of flows and the slowest link. */
static double period(const struct ccs_cc *cc, unsigned flows)
{
	const struct ccs_cc_path path = path_of(cc);
	double us = cc->param[BASE_RTT];

	if (!ccs_cc_is_given(cc, BASE_RTT) && (flows || variant_of(cc) == ECHO))
		us = period_us(&path, flows ? flows : path.flows);
	return us * 1e3 * 1e-9; /* rounded as published traces are: their T is in ns */
}

static double min_rate(const struct ccs_cc *cc, const struct hpcc *h)
{
	const struct ccs_cc_path path = path_of(cc);

	return ccs_cc_is_given(cc, MIN_RATE) ? cc->param[MIN_RATE] : least_rate(&path, h->flows);
}

static double min_window(const struct ccs_cc *cc, const struct hpcc *h, double T)
{
	if (variant_of(cc) == NS3)
		return cc->param[MIN_RATE] / 8 * T;
	return ccs_cc_is_given(cc, MIN_WINDOW) ? cc->param[MIN_WINDOW]
					: least_window(min_rate(cc, h), T * 1e6);
}

/* Limit W to the floor and W_init; W_init takes precedence. */
static double clamp_window(const struct ccs_cc *cc, const struct hpcc *h, double W, double T)
{
	const struct ccs_cc_path path = path_of(cc);

	return ccs_min(ccs_max(W, min_window(cc, h, T)), ccs_cc_bottleneck(&path) / 8 * T);
}

/*
 * With records of agents the window limits the bytes that are sent at the rate until the next
 * record. It exceeds W because acknowledgements wait for data of their host, and hosts have jitter.
 * A window of 2 W from the start would suit hosts that send in a ring, but let bursts wait.
 */
static double window_of(const struct ccs_cc *cc, const struct hpcc *h)
{
	const double least = variant_of(cc) == ECHO ? 1.25 : 1.125;

	if (!h->flows)
		return h->W;
	return ccs_max(least, 1 + 1e-6 * (double)h->jitter.us / h->T) * h->W;
}

static void set_outputs(struct ccs_cc *cc, const struct hpcc *h)
{
	const double R = ccs_max(h->W / h->T * 8, min_rate(cc, h));

	cc->out.rate = ccs_min(R, cc->path.line_rate);
	cc->out.window = window_of(cc, h);
	cc->out.telemetry_period_us = TELEMETRY_PERIODS * h->T * 1e6;
	cc->out.utilisation = h->U;
}

static void set_rate(struct ccs_cc *cc, double rate)
{
	struct hpcc *h = CCS_CC_PRIV(struct hpcc, cc);

	rate = ccs_max(rate, min_rate(cc, h));
	h->T = period(cc, h->flows);
	h->W = h->Wc = h->before = clamp_window(cc, h, rate / 8 * h->T, h->T);
	h->stage = 0;
	set_outputs(cc, h);
}

/* Begin at W_init (HPCC 3.2); echo divides it by the number of its host's flows. */
static void on_init(struct ccs_cc *cc)
{
	struct hpcc *h = CCS_CC_PRIV(struct hpcc, cc);
	const double flows = variant_of(cc) == ECHO ? ccs_max(1, cc->path.flows) : 1;

	memset(h, 0, sizeof(*h));
	h->U = 1;
	ccs_host_jitter_init(&h->jitter);
	set_rate(cc, cc->path.line_rate / flows);
}

/* Follow a change of T. The rate W/T stays. */
static void follow_period(const struct ccs_cc *cc, struct hpcc *h)
{
	const double T = period(cc, h->flows);

	if (T == h->T)
		return;
	h->W = clamp_window(cc, h, h->W * (T / h->T), T);
	h->Wc = clamp_window(cc, h, h->Wc * (T / h->T), T);
	h->before = clamp_window(cc, h, h->before * (T / h->T), T);
	h->T = T;
}

static bool has_rtt(const struct ccs_cc_ack *ack)
{
	return ack->rtt_us > 0 && ack->rtt_us < INFINITY;
}

/*
 * echo: the queue as the excess of the RTT over T, relative to drain, s. T contains the base RTT,
 * its jitter and a segment of each flow. The smaller of two RTTs counts, because a single long
 * one may be a late completion.
 */
static double queue_by_rtt(const struct hpcc *h, double rtt_us, double drain)
{
	const double least = h->rtt_us > 0 ? ccs_min(rtt_us, h->rtt_us) : rtt_us;

	return ccs_max(0, least * 1e-6 - h->T) / drain;
}

/* MeasureInflight. A record of agents replaces U. False: the acknowledgement has no new record. */
static bool measure(const struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack,
		    bool agents)
{
	const bool echo = variant_of(cc) == ECHO;
	const double chance = agents ? CCS_CHANCE_STANDING * sqrt(h->flows) * cc->path.segment : 0;
	double u, tau;

	if (!ccs_hops_measure(&h->last, ack, echo ? INFINITY : h->T, agents, chance, &u, &tau))
		return false;
	if (echo && has_rtt(ack))
		u += queue_by_rtt(h, ack->rtt_us, agents ? ccs_max(h->T, tau) : h->T);
	h->tau = agents ? h->T : ccs_min(tau, h->T);
	h->U = (1 - h->tau / h->T) * h->U + (h->tau / h->T) * u;
	return true;
}

static double shared_increase(const struct ccs_cc *cc, const struct hpcc *h)
{
	const struct ccs_cc_path path = path_of(cc);
	const double flows = h->flows ? ccs_max(h->flows, FEW_FLOWS) : EXPECTED_FLOWS;

	if (ccs_cc_is_given(cc, W_AI))
		return cc->param[W_AI];
	return increase(&path, h->T * 1e6, cc->param[ETA], flows);
}

/* With counted flows and in echo, an increase is for the time since the last acknowledgement. */
static double additive(const struct ccs_cc *cc, const struct hpcc *h, double now_us)
{
	if (variant_of(cc) == NS3)
		return cc->param[RATE_AI] / 8 * h->T;
	if (variant_of(cc) != ECHO && !h->flows)
		return shared_increase(cc, h);
	return shared_increase(cc, h) *
	       ccs_max(1, ccs_min((now_us - h->ack_us) * 1e-6 / h->T, CATCH_UP));
}

/*
 * ComputeWind. commit is the paper's updateWc. Records that count flows span few packets. If an
 * excess was removed at once but a deficit returned in max_stage steps, this noise would leave the
 * link idle.
 */
static void compute_window(const struct ccs_cc *cc, struct hpcc *h, double now_us, bool commit)
{
	const double eta = cc->param[ETA], ai = additive(cc, h, now_us);
	const bool counted = h->flows && !ccs_cc_is_given(cc, MAX_STAGE);
	const bool scale = h->U >= eta || counted || h->stage >= cc->param[MAX_STAGE];

	h->W = clamp_window(cc, h, scale ? h->Wc / (h->U / eta) + ai : h->Wc + ai, h->T);
	if (!commit)
		return;
	h->stage = scale ? 0 : h->stage + 1;
	h->Wc = h->W;
}

/* Share of the record's period in which the link, half an RTT away, carried data of this W. */
static double since_move(const struct ccs_cc *cc, const struct hpcc *h,
			 const struct ccs_cc_ack *ack)
{
	const double span_us = ack->covers_us - h->covers_us;
	const double arrived_us = h->update_us + cc->path.base_rtt_us / 2;

	if (!(h->covers_us > 0) || !(span_us > 0))
		return 0;
	return ccs_max(0, ccs_min(1, (ack->covers_us - arrived_us) / span_us));
}

/*
 * A record is the result of the average window of its period, so the new window is a multiple of
 * that average. A multiple of W would answer the same queue twice. Equal shares require increases,
 * and the target is lower by the increases of all flows, or many flows would fill the link.
 * False: the last change has had no effect yet, so this record is not answered.
 */
static bool answer_agents(const struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack)
{
	const double eta = cc->param[ETA], reserve = (1 - eta) / 2;
	const double added = reserve * h->flows / ccs_max(h->flows, FEW_FLOWS);
	const double share = since_move(cc, h, ack);
	const double meant = h->before + share * (h->W - h->before);
	const double target = eta * (1 - INCREASES * added) / (1 - reserve);
	const double asked = meant * target / h->U + INCREASES * shared_increase(cc, h);

	if (!(share > 0))
		return false;
	h->before = h->W;
	h->W = clamp_window(cc, h, meant + ANSWER * (asked - meant), h->T);
	h->Wc = h->W;
	h->stage = 0;
	return true;
}

/*
 * The reference changes once per RTT, when data sent since its last change is acknowledged. A
 * record that did not travel with this data may be for a period that began earlier; then the next
 * record decides.
 */
static bool may_commit(const struct hpcc *h, const struct ccs_cc_ack *ack, bool echo)
{
	if (ack->ack_seq <= h->update_seq)
		return false;
	if (h->covers_us > 0)
		return h->covers_us >= h->acked_us;
	return !echo || h->last_seq > h->update_seq;
}

static void await_effect(struct hpcc *h, const struct ccs_cc_ack *ack)
{
	h->update_seq = ack->snd_nxt;
	h->update_us = ack->now_us;
	h->acked_us = INFINITY;
}

/*
 * The first record of agents limits the rate to the flow's share, or flows that begin together
 * would fill the queue. A lower rate stays: the record may not count this flow yet. A flow that
 * begins first sees few others and would keep more than its share for hundreds of RTTs, so each
 * new maximum of the number of flows limits the rate again. A mere increase of the number does
 * not: short flows cause these all the time.
 */
static void begin_at_share(struct ccs_cc *cc, const struct hpcc *h)
{
	const struct ccs_cc_path path = path_of(cc);
	const double share = ccs_cc_bottleneck(&path) / ccs_max(1, h->flows);

	if (h->flows && cc->out.rate > share)
		set_rate(cc, share);
}

static void handle_records(struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack)
{
	const bool echo = variant_of(cc) == ECHO;
	const bool agents = h->flows && ack->covers_us > 0; /* whose records span T or more */
	bool commit = may_commit(h, ack, echo);

	if (h->last.nhops == 0 || (agents && h->flows > h->most_flows)) {
		h->most_flows = h->flows;
		begin_at_share(cc, h);
		await_effect(h, ack);
	} else if (ccs_hops_continue(&h->last, ack)) {
		if (!measure(cc, h, ack, agents))
			return;
		if (agents)
			commit = answer_agents(cc, h, ack);
		else
			compute_window(cc, h, ack->now_us, commit);
		if (commit)
			await_effect(h, ack);
		set_outputs(cc, h);
	}
	ccs_hops_store(&h->last, ack);
	h->last_seq = ack->ack_seq;
	h->covers_us = variant_of(cc) == PAPER ? 0 : ack->covers_us;
}

/*
 * The number of flows and the capacity in the records. Flows are counted at the last link, the
 * receiver's. These flows must have equal increases, even if a link before it is slower.
 */
static void learn_path(const struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack)
{
	if (is_published(variant_of(cc)))
		return;
	if (ack->flows)
		h->flows = ack->flows;
	for (unsigned i = 0; i < ack->nhops; i++)
		if (ack->hops[i].capacity >= 1)
			h->capacity = ack->hops[i].capacity;
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct hpcc *h = CCS_CC_PRIV(struct hpcc, cc);

	if (h->acked_us == INFINITY && ack->ack_seq > h->update_seq)
		h->acked_us = ack->now_us;
	if (ack->nhops > 0 && ack->nhops <= CCS_CC_MAX_HOPS) {
		learn_path(cc, h, ack);
		follow_period(cc, h);
		handle_records(cc, h, ack);
	}
	h->ack_us = ack->now_us;
	ccs_host_jitter_add(&h->jitter, ack, h->U >= CCS_LOAD_FULL);
	if (has_rtt(ack))
		h->rtt_us = ack->rtt_us;
}

static void on_loss(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	ccs_host_jitter_loss(&CCS_CC_PRIV(struct hpcc, cc)->jitter);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct hpcc *h = (const struct hpcc *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "u", h->U, NULL },
		{ "wc_bytes", h->Wc, NULL },
		{ "inc_stage", h->stage, NULL },
		{ "tau_us", h->tau * 1e6, NULL },
		{ "period_us", h->T * 1e6, NULL },
		{ "flows", h->flows, NULL },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

const struct ccs_cc_ops ccs_cc_hpcc = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "hpcc",
	.doc = "window from the utilisation of the busiest link; needs telemetry of the path",
	.needs = CCS_NEEDS_TELEMETRY,
	.params = params, .nparams = NPARAMS, .derive = derive,
	.on_init = on_init, .on_ack = on_ack, .on_loss = on_loss,
	.set_rate = set_rate, .observe = observe, .start_rate = ccs_hops_start_rate,
	.fallback = "swift",
	.without_ports = "echo",
};
