/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver of flows with a window as in Ultra Ethernet's NSCC, written from public
 * descriptions of its four cases. Each acknowledgement has its packet's mark and delay:
 *
 *              delay below the target          above it
 *   no mark    a proportional increase         a fair one
 *   mark       nothing                         a decrease by the excess, once per round trip
 *
 * A window without marks and delay is followed by a fast increase; a delay far above the target by
 * a window of what a round trip delivered. NSCC also moves marked packets to other paths, which
 * ccfabric does not: a flow has one path.
 */
#include <math.h>

#include "baselines.h"
#include "priv.h"

enum { TARGET, GAMMA, PROPORTIONAL, FAIR, FAST, ADAPT, WINDOW, PARAMS };

static const struct ccs_cc_param params[] = {
	[TARGET] = { "target", "", 0.75, 0.01, 100, NULL, "queueing delay that is wanted, in base RTTs",
		     "htsim" },
	[GAMMA] = { "gamma", "", 0.8, 0, 1, NULL, "of the excess that a decrease removes", "htsim" },
	[PROPORTIONAL] = { "proportional", "", 4, 0, 1000, NULL,
			   "packets per RTT without delay, at 400 Gb/s and 12 us", "htsim" },
	[FAIR] = { "fair", "", 5, 0, 1000, NULL, "packets per RTT, at 400 Gb/s and 12 us", "htsim" },
	[FAST] = { "fast", "", 0.25, 0, 1, NULL, "of the bytes of an empty path", "htsim" },
	[ADAPT] = { "adapt", "", 4, 1, 1000, NULL, "targets of delay that reset the window", "htsim" },
	[WINDOW] = { "window", "", 1.5, 0.01, 100, NULL, "the first and the most, in BDPs", "htsim" },
};

const struct ccs_cc_ops fab_nscc = {
	.name = "nscc", .doc = "a window by marks and delay, as Ultra Ethernet's", .needs = CCS_NEEDS_CNP,
	.params = params, .nparams = PARAMS,
};

#define REFERENCE_BDP (400e9 / 8 * 12e-6) /* for which increases are stated */

struct nscc {
	double given[PARAMS];
	double packet, cwnd, most; /* bytes */
	double base_us, target_us, delay_us; /* delay: a mean over a round trip or so */
	double proportional, fair; /* bytes per RTT */
	double quiet;            /* bytes that were acknowledged without mark and delay */
	uint64_t cut_at, adapt_at; /* no decrease, no reset of the window before */
	double delivered;        /* bytes since the last reset could have been */
};

static bool may_send(const struct sim *s, const struct flow *f, bool lost)
{
	const double flight = (double)(f->snd_nxt - f->snd_una);

	(void)s;
	return lost || flight <= 0 || flight + f->nscc->packet <= f->nscc->cwnd;
}

static void start(struct sim *s, struct flow *f)
{
	const struct ccs_cc_spec *spec = algorithm_of(s, f->spec->priority);
	const struct ccs_cc_path path = flow_path(s, f);
	const double bdp = path.line_rate / 8e6 * path.base_rtt_us;
	struct nscc *n = f->nscc;
	const double scale = bdp / REFERENCE_BDP * s->conf->wire.payload;

	for (unsigned i = 0; i < PARAMS; i++)
		n->given[i] = fab_param(spec, i);
	n->packet = s->conf->wire.payload;
	n->base_us = path.base_rtt_us;
	n->target_us = n->given[TARGET] * n->base_us;
	n->proportional = n->given[PROPORTIONAL] * scale;
	n->fair = n->given[FAIR] * scale;
	n->most = n->cwnd = fmax(n->given[WINDOW] * bdp, n->packet);
	flow_post(s, f);
}

/* Far above the target, the window becomes what a round trip with the target's delay delivered. */
static bool adapt(const struct sim *s, struct nscc *n, double delay_us, uint32_t acked, bool mark)
{
	n->delivered += acked;
	if (s->now < n->adapt_at)
		return false;
	n->adapt_at = s->now + ps_of(n->base_us + n->target_us);
	if (mark && delay_us > n->given[ADAPT] * n->target_us && n->delivered < n->cwnd) {
		n->cwnd = n->delivered;
		n->cut_at = s->now + ps_of(n->base_us + delay_us);
		n->delivered = 0;
		return true;
	}
	n->delivered = 0;
	return false;
}

static void increase(struct nscc *n, double delay_us, uint32_t acked)
{
	const double share = acked / n->cwnd;

	if (delay_us >= n->target_us)
		n->cwnd += n->fair * share;
	else
		n->cwnd += n->proportional * share * (1 - delay_us / n->target_us);
	n->quiet = delay_us < 0.05 * n->base_us ? n->quiet + acked : 0;
	if (n->quiet > n->cwnd)
		n->cwnd += n->given[FAST] * acked;
}

static void decrease(const struct sim *s, struct nscc *n)
{
	if (s->now < n->cut_at || n->delay_us <= n->target_us)
		return;
	n->cwnd *= fmax(0.5, 1 - n->given[GAMMA] * (n->delay_us - n->target_us) / n->delay_us);
	n->cut_at = s->now + ps_of(n->base_us);
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked)
{
	struct nscc *n = f->nscc;
	const double delay_us = fmax(0, us_of(s->now - k->sent) - n->base_us);

	n->delay_us += fmin(1, acked / n->cwnd) * (delay_us - n->delay_us);
	if (k->ce)
		n->quiet = 0;
	if (!adapt(s, n, delay_us, acked, k->ce)) {
		if (!k->ce)
			increase(n, delay_us, acked);
		else if (delay_us >= n->target_us)
			decrease(s, n);
	}
	n->cwnd = fmin(fmax(n->cwnd, n->packet), n->most);
	flow_update(s, f);
}

const struct driver nscc_driver = {
	.size = sizeof(struct nscc), .echoes = true, .start = start, .may_send = may_send, .ack = ack,
	.cnp = flow_update, .loss = flow_update, .timer = flow_update, .ready = flow_post,
};
