/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HPCC (Li et al., SIGCOMM 2019): a window from the utilisation of the busiest link.
 *
 * Every acknowledgement with telemetry gives u, what the busiest link of the path
 * carried and had waiting, relative to what it can; U is its average over one T. The
 * window goes to eta/U of the reference Wc, which itself moves once per RTT, so that
 * several acknowledgements of one queue do not compound.
 *
 * variant=paper is Algorithm 1. variant=ns3 is the authors' simulation, which keeps a
 * rate, increases that, and floors it; here that is the window W = rate*T all the same.
 * variant=echo (HPCC-E) needs no switch: the receiver's port stands for the busiest link,
 * and the queue is read off the round-trip time.
 *
 * Host agents measure links every few T, and count flows. The window then follows their
 * records, in paper and echo (answer_agents): each one moves it from where it was on average
 * meanwhile, and increases for each T.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cc/cc.h"
#include "cc/hops.h"
#include "cc/host_jitter.h"
#include "cc/minmax.h"

enum { VARIANT, ETA, MAX_STAGE, W_AI, MIN_WINDOW, RATE_AI, MIN_RATE, BASE_RTT, NPARAMS };
enum variant { PAPER, NS3, ECHO };

static const char *const variants[] = { "paper", "ns3", "echo", NULL };

/* Concurrent flows that the increase is sized for while their number is not known. */
#define EXPECTED_FLOWS 16
/* An echo reckons with as many: fewer cannot fill the line with whole segments. */
#define FEW_FLOWS 4
/* An echo makes up for so many T at most in which it completed nothing, */
#define CATCH_UP 8
/*
 * An answer to agents has so many increases. A number that followed the record's T would differ
 * between flows of different base RTT, and so would their shares.
 */
#define INCREASES 2
/*
 * Of the move that a record asks for an answer makes so much: what is sent changes later than the
 * window, so the average of the record's period is uncertain, and windows would alternate.
 */
#define ANSWER 0.8
/*
 * Segments of n independent flows meet at a link, and about 0.6 sqrt(n) of them wait at any time.
 * So many may do so at two records in a row, and are no excess.
 */
#define CHANCE 0.5

/* A load from which on RTTs vary for the link's queue. */
#define FULL 0.96

/* Telemetry is wanted once in so many T. */
#define TELEMETRY_PERIODS 4

static const struct ccs_cc_param params[NPARAMS] = {
	[VARIANT] = { "variant", "", PAPER, 0, 0, variants,
		"the paper's algorithm, its simulation, or without switches", "HPCC 3.2" },
	[ETA] = { "eta", "", 0.95, 0.01, 1, NULL, "target utilisation", "HPCC 3.3" },
	[MAX_STAGE] = { "max_stage", "", NAN, 0, 1e6, NULL,
		"additive increases before the next multiplicative one; 5, ns3: 0", "HPCC 3.3" },
	[W_AI] = { "w_ai", "bytes", NAN, 0, 1e12, NULL,
		"additive increase of the window (paper, echo)", "HPCC 3.3; derived: C*T/8*(1-eta)/32" },
	[MIN_WINDOW] = { "min_window", "bytes", NAN, 1, 1e12, NULL,
		"floor of the window (paper, echo)", "derived: min_rate*T/8" },
	[RATE_AI] = { "rate_ai", "bit/s", NAN, 0, 1e15, NULL,
		"additive increase of the rate (ns3)", "derived: line rate / 2000" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: C/1000, C/(2*flows) at most" },
	[BASE_RTT] = { "base_rtt", "us", NAN, 1e-3, 1e9, NULL,
		"T: slightly above the largest unloaded round-trip time", "HPCC 3.2" },
};

struct hpcc {
	struct ccs_hops last;            /* L */
	uint64_t last_seq;               /* acknowledged when it came */
	uint64_t update_seq;             /* lastUpdateSeq */
	double U;
	double W, Wc;                    /* bytes */
	double before;                   /* bytes; W before its last move */
	double T;                        /* s; what W and Wc were computed for */
	double tau;                      /* s; the last measurement's weight is tau/T */
	double ack_us, rtt_us;           /* of the last acknowledgement; 0: no RTT */
	double covers_us;                /* the records are of then or later; 0: unknown */
	double update_us;                /* the time of update_seq */
	double acked_us;                 /* of data sent since the update; INFINITY: none yet */
	unsigned stage;                  /* incStage */
	unsigned flows;                  /* as telemetry counts them; 0: unknown. Not ns3 */
	unsigned most_flows;             /* so far */
	double capacity;                 /* bit/s, of the receiver's link by the records; 0: unknown */
	struct ccs_host_jitter jitter;
};

static enum variant variant_of(const struct ccs_cc *cc)
{
	return (enum variant)cc->param[VARIANT];
}

static bool is_given(const struct ccs_cc *cc, unsigned param)
{
	return !isnan(cc->spec->given[param]);
}

static double at_least(unsigned flows, unsigned least)
{
	return flows > least ? flows : least;
}

/* The path with the link whose flows are counted as its slowest; rate: its bit/s, 0: unknown. */
static struct ccs_cc_path known_path(const struct ccs_cc_path *path, enum variant variant,
				     double rate)
{
	struct ccs_cc_path known = *path;

	if (variant == NS3)
		known.bottleneck_rate = 0;
	else if (rate > 0)
		known.bottleneck_rate = rate;
	return known;
}

/* T as published, us: slightly above the largest unloaded round-trip time. */
static double round_us(const struct ccs_cc_path *path)
{
	return path->base_rtt_us + path->rtt_jitter_us;
}

/*
 * T of an echo, and where flows are counted, us: it has a segment of every flow. A flow that
 * completes less than one in T increases in proportion to its rate, and shares never even out.
 */
static double period_us(const struct ccs_cc_path *path, unsigned flows)
{
	const double ser = ccs_cc_segment_us(path, path->segment);

	return ccs_max(round_us(path) + ser, path->base_rtt_us + at_least(flows, FEW_FLOWS) * ser);
}

/*
 * What each of n flows may add per T, bytes: half of the capacity that eta leaves free. With all of
 * it they would come to rest at a full line, whatever queue it has.
 */
static double increase(const struct ccs_cc_path *path, double T_us, double eta, double flows)
{
	return ccs_cc_bottleneck(path) * T_us / 8e6 * (1 - eta) / (2 * flows);
}

/* So that it is 100 Mb/s at 100 Gb/s; but all floors together leave half of the link free. */
static double least_rate(const struct ccs_cc_path *path, unsigned flows)
{
	return ccs_cc_bottleneck(path) / at_least(2 * flows, 1000);
}

static double least_window(double min_rate, double T_us)
{
	return ccs_max(1, min_rate * T_us / 8e6);
}

/*
 * Defaults from the path: T (above); w_ai = C*T/8*(1-eta)/32 (HPCC 3.3); rate_ai and
 * min_rate so that they are 50 and 100 Mb/s at 100 Gb/s; min_window is min_rate's. It is
 * less than a segment because pacing continues where the window ends: with a floor of one
 * segment each, more flows than segments in C*T keep a queue of all their segments. C is
 * that of the slowest link known; ns3's is the NIC's, as published.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const enum variant variant = (enum variant)p[VARIANT];
	const struct ccs_cc_path known = known_path(path, variant, 0);
	const double T = !isnan(p[BASE_RTT]) ? p[BASE_RTT] :
			 variant == ECHO ? period_us(&known, path->flows) : round_us(path);
	const double min_rate = isnan(p[MIN_RATE]) ? least_rate(&known, 0) : p[MIN_RATE];
	const double derived[NPARAMS] = {
		[MAX_STAGE] = variant == NS3 ? 0 : 5,
		[W_AI] = increase(&known, T, p[ETA], EXPECTED_FLOWS),
		[MIN_WINDOW] = least_window(min_rate, T),
		[RATE_AI] = path->line_rate / 2000,
		[MIN_RATE] = min_rate,
		[BASE_RTT] = T,
	};

	for (unsigned i = 0; i < NPARAMS; i++)
		if (isnan(p[i]))
			p[i] = derived[i];
}

/* The path with what the records name. */
static struct ccs_cc_path path_of(const struct ccs_cc *cc)
{
	const struct hpcc *h = (const struct hpcc *)(const void *)cc->priv;

	return known_path(&cc->path, variant_of(cc), h->capacity);
}

/* T in force, s. A count of the flows moves it, and a slower link, but not what the user gave. */
static double period(const struct ccs_cc *cc, unsigned flows)
{
	const struct ccs_cc_path path = path_of(cc);
	double us = cc->param[BASE_RTT];

	if (!is_given(cc, BASE_RTT) && (flows || variant_of(cc) == ECHO))
		us = period_us(&path, flows ? flows : path.flows);
	return us * 1e3 * 1e-9; /* rounded as published traces are: their T is in ns */
}

static double min_rate(const struct ccs_cc *cc, const struct hpcc *h)
{
	const struct ccs_cc_path path = path_of(cc);

	return is_given(cc, MIN_RATE) ? cc->param[MIN_RATE] : least_rate(&path, h->flows);
}

static double min_window(const struct ccs_cc *cc, const struct hpcc *h, double T)
{
	if (variant_of(cc) == NS3)
		return cc->param[MIN_RATE] / 8 * T;
	return is_given(cc, MIN_WINDOW) ? cc->param[MIN_WINDOW]
					: least_window(min_rate(cc, h), T * 1e6);
}

/* Between the floor and W_init; the ceiling wins. */
static double clamp_window(const struct ccs_cc *cc, const struct hpcc *h, double W, double T)
{
	const struct ccs_cc_path path = path_of(cc);

	return ccs_min(ccs_max(W, min_window(cc, h, T)), ccs_cc_bottleneck(&path) / 8 * T);
}

/*
 * Under agents the rate decides, and the window limits what is sent until the next record. It is
 * larger than W, because acknowledgements wait behind data of their own host, and hosts are late:
 * by the jitter that is learnt. With twice W from the start no ring of hosts would miss its
 * throughput, but a long flow would yield late to bursts.
 */
static double window_of(const struct ccs_cc *cc, const struct hpcc *h)
{
	const double least = variant_of(cc) == ECHO ? 1.25 : 1.125;

	if (!h->flows || variant_of(cc) == NS3)
		return h->W;
	return ccs_max(least, 1 + 1e-6 * (double)h->jitter.us / h->T) * h->W;
}

/* W and R = W/T go out. A record that spans many packets costs little, but it is of long ago. */
static void put_out(struct ccs_cc *cc, const struct hpcc *h)
{
	const double R = ccs_max(h->W / h->T * 8, min_rate(cc, h));

	cc->out.rate = ccs_min(R, cc->path.line_rate);
	cc->out.window = window_of(cc, h);
	cc->out.telemetry_period_us = TELEMETRY_PERIODS * h->T * 1e6;
	cc->out.utilisation = h->U;
}

/* Continue from this rate; what was measured of the path stays. */
static void set_rate(struct ccs_cc *cc, double rate)
{
	struct hpcc *h = CCS_CC_PRIV(struct hpcc, cc);

	rate = ccs_max(rate, min_rate(cc, h));
	h->T = period(cc, h->flows);
	h->W = h->Wc = h->before = clamp_window(cc, h, rate / 8 * h->T, h->T);
	h->stage = 0;
	put_out(cc, h);
}

/* From W_init, as published; an echo shares it with the other flows of its host. */
static void on_init(struct ccs_cc *cc)
{
	struct hpcc *h = CCS_CC_PRIV(struct hpcc, cc);
	const double flows = variant_of(cc) == ECHO ? ccs_max(1, cc->path.flows) : 1;

	memset(h, 0, sizeof(*h));
	h->U = 1;
	ccs_host_jitter_init(&h->jitter);
	set_rate(cc, cc->path.line_rate / flows);
}

/* T moves with what is known of path and flows; W/T does not. */
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

static bool measured(const struct ccs_cc_ack *ack)
{
	return ack->rtt_us > 0 && ack->rtt_us < INFINITY;
}

/* Records of agents, which count flows; they span T and more. */
static bool by_agents(const struct ccs_cc *cc, const struct hpcc *h, const struct ccs_cc_ack *ack)
{
	return h->flows && ack->covers_us > 0 && variant_of(cc) != NS3;
}

/*
 * An echo's queue relative to what the line carries in drain, s: what the RTT has beyond T, which
 * holds the base RTT, its noise and a segment of each flow. Of two samples the lesser: a late
 * completion is no queue.
 */
static double queue_by_rtt(const struct hpcc *h, double rtt_us, double drain)
{
	const double least = h->rtt_us > 0 ? ccs_min(rtt_us, h->rtt_us) : rtt_us;

	return ccs_max(0, least * 1e-6 - h->T) / drain;
}

/*
 * MeasureInflight: U is the average of u over one T; of agents' records it is the last
 * one. false: there is no new record.
 */
static bool measure(const struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack,
		    bool agents)
{
	const bool echo = variant_of(cc) == ECHO;
	const double chance = agents ? CHANCE * sqrt(h->flows) * cc->path.segment : 0;
	double u, tau;

	if (!ccs_hops_measure(&h->last, ack, echo ? INFINITY : h->T, agents, chance, &u, &tau))
		return false;
	if (echo && measured(ack))
		u += queue_by_rtt(h, ack->rtt_us, agents ? ccs_max(h->T, tau) : h->T);
	h->tau = agents ? h->T : ccs_min(tau, h->T);
	h->U = (1 - h->tau / h->T) * h->U + (h->tau / h->T) * u;
	return true;
}

/* That time in T, from 1 to most. */
static double periods(const struct hpcc *h, double us, double most)
{
	return ccs_max(1, ccs_min(us * 1e-6 / h->T, most));
}

/* Flows share the free capacity. */
static double shared_increase(const struct ccs_cc *cc, const struct hpcc *h)
{
	const struct ccs_cc_path path = path_of(cc);
	const double flows = h->flows ? at_least(h->flows, FEW_FLOWS) : EXPECTED_FLOWS;

	if (is_given(cc, W_AI))
		return cc->param[W_AI];
	return increase(&path, h->T * 1e6, cc->param[ETA], flows);
}

/* An echo increases once per T even if it completes a segment in several T only. */
static double additive(const struct ccs_cc *cc, const struct hpcc *h, double now_us)
{
	if (variant_of(cc) == NS3)
		return cc->param[RATE_AI] / 8 * h->T;
	if (variant_of(cc) == PAPER && !h->flows)
		return shared_increase(cc, h);
	return shared_increase(cc, h) * periods(h, now_us - h->ack_us, CATCH_UP);
}

/*
 * Agents, which count the flows, send records that span a few packets each. To remove an excess
 * at once but return a deficit in steps would turn that noise into an idle link; so both are
 * done at once.
 */
static double max_stage(const struct ccs_cc *cc, const struct hpcc *h)
{
	return h->flows && !is_given(cc, MAX_STAGE) ? 0 : cc->param[MAX_STAGE];
}

/* ComputeWind; the reference follows if it is to commit. */
static void compute_window(const struct ccs_cc *cc, struct hpcc *h, double now_us, bool commit)
{
	const double eta = cc->param[ETA], ai = additive(cc, h, now_us);
	const bool scale = h->U >= eta || h->stage >= max_stage(cc, h);

	h->W = clamp_window(cc, h, scale ? h->Wc / (h->U / eta) + ai : h->Wc + ai, h->T);
	if (!commit)
		return;
	h->stage = scale ? 0 : h->stage + 1;
	h->Wc = h->W;
}

/*
 * Of the time that the records span, the share in which the link had what was sent since the
 * last move; half of the base RTT is the way there.
 */
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
 * A record shows the effect of the average window of its interval, so the new window is a
 * multiple of that; else the same queue would be answered twice. To share evenly takes increases,
 * and a target that is lower by what all flows add, so that the line does not get full with many of
 * them. false: the last move had no effect yet, and so none is made; that one answered the same
 * queue.
 */
static bool answer_agents(const struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack)
{
	const double eta = cc->param[ETA], reserve = (1 - eta) / 2;
	const double added = reserve * h->flows / at_least(h->flows, FEW_FLOWS);
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
 * The reference moves once per RTT, when data sent since its last move is acknowledged. A
 * record that did not come with that data may cover an interval that began before: then
 * the next one decides.
 */
static bool may_commit(const struct hpcc *h, const struct ccs_cc_ack *ack, bool echo)
{
	if (ack->ack_seq <= h->update_seq)
		return false;
	if (h->covers_us > 0)
		return h->covers_us >= h->acked_us;
	return !echo || h->last_seq > h->update_seq;
}

/* What was decided takes effect with the data that is sent from now on. */
static void await_effect(struct hpcc *h, const struct ccs_cc_ack *ack)
{
	h->update_seq = ack->snd_nxt;
	h->update_us = ack->now_us;
	h->acked_us = INFINITY;
}

/*
 * A rate above the share that the first record names is a guess: flows that begin together would
 * fill the queue. Below it, this flow may not be counted yet. The first of them learns of few others,
 * and would keep more than its share for hundreds of RTTs: this is repeated each time that more flows
 * are counted than ever before. Not at each increase, since short flows would cause one all the time.
 */
static void begin_at_share(struct ccs_cc *cc, const struct hpcc *h)
{
	const struct ccs_cc_path path = path_of(cc);
	const double share = ccs_cc_bottleneck(&path) / ccs_max(1, h->flows);

	if (h->flows && cc->out.rate > share)
		set_rate(cc, share);
}

static void take_records(struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack)
{
	const bool echo = variant_of(cc) == ECHO, agents = by_agents(cc, h, ack);
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
		put_out(cc, h);
	}
	ccs_hops_store(&h->last, ack);
	h->last_seq = ack->ack_seq;
	h->covers_us = ack->covers_us;
}

/*
 * What the records name besides counters. Flows are counted at the receiver's link, the last one:
 * all of them must increase by as much, also those that have a slower link before it.
 */
static void take_facts(const struct ccs_cc *cc, struct hpcc *h, const struct ccs_cc_ack *ack)
{
	if (ack->flows && variant_of(cc) != NS3)
		h->flows = ack->flows;
	for (unsigned i = 0; i < ack->nhops; i++)
		if (ack->hops[i].capacity >= 1)
			h->capacity = ack->hops[i].capacity;
}

/* Without telemetry nothing changes, but that an echo remembers time and RTT. */
static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct hpcc *h = CCS_CC_PRIV(struct hpcc, cc);

	if (h->acked_us == INFINITY && ack->ack_seq > h->update_seq)
		h->acked_us = ack->now_us;
	if (ack->nhops > 0 && ack->nhops <= CCS_CC_MAX_HOPS) {
		take_facts(cc, h, ack);
		follow_period(cc, h);
		take_records(cc, h, ack);
	}
	h->ack_us = ack->now_us;
	ccs_host_jitter_add(&h->jitter, ack, h->U >= FULL);
	if (measured(ack))
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
	.abi = CCS_CC_ABI,
	.size = sizeof(struct ccs_cc_ops),
	.name = "hpcc",
	.doc = "window from the utilisation of the busiest link; needs telemetry of the path",
	.needs = CCS_NEEDS_TELEMETRY,
	.params = params,
	.nparams = NPARAMS,
	.derive = derive,
	.on_init = on_init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.set_rate = set_rate,
	.observe = observe,
	.start_rate = ccs_hops_start_rate,
	.fallback = "swift",
	.without_ports = "echo",
};
