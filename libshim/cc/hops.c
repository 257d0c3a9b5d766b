/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/hops.h"

#include <string.h>

#include "cc/cc.h"
#include "cc/minmax.h"

double ccs_hops_start_rate(const struct ccs_cc_path *path, unsigned flows)
{
	return ccs_cc_bottleneck(path) / flows;
}

void ccs_hops_store(struct ccs_hops *last, const struct ccs_cc_ack *ack)
{
	memcpy(last->hop, ack->hops, ack->nhops * sizeof(*ack->hops));
	last->nhops = ack->nhops;
	last->path = ack->path;
}

bool ccs_hops_continue(const struct ccs_hops *last, const struct ccs_cc_ack *ack)
{
	if (last->nhops != ack->nhops || last->path != ack->path)
		return false;
	for (unsigned i = 0; i < last->nhops; i++)
		if (ack->hops[i].tx_bytes < last->hop[i].tx_bytes ||
		    ack->hops[i].capacity != last->hop[i].capacity)
			return false;
	return true;
}

/* The smaller of two queue lengths: a queue that was empty at one record does not stand. */
static double standing(const struct ccs_cc_hop *old, const struct ccs_cc_hop *new, double chance)
{
	return ccs_max(ccs_min((double)new->qlen_bytes, (double)old->qlen_bytes) - chance, 0);
}

static double utilisation(const struct ccs_cc_hop *old, const struct ccs_cc_hop *new, double tau,
			  double T, double chance)
{
	const double B = new->capacity / 8;
	const double tx = (double)(new->tx_bytes - old->tx_bytes) / tau;

	return standing(old, new, chance) / (B * T) + tx / B;
}

/*
 * Utilisation by arrivals instead of departures: bytes sent plus the growth of the queue, and the
 * standing queue. At least half of the bytes sent: while a queue drains, arrivals may be zero.
 */
static double load_by_arrivals(const struct ccs_cc_hop *old, const struct ccs_cc_hop *new,
			       double tau, double chance)
{
	const double bytes = new->capacity / 8 * tau;
	const double sent = (double)(new->tx_bytes - old->tx_bytes);
	const double grown = (double)new->qlen_bytes - (double)old->qlen_bytes;

	return (ccs_max(sent + grown, sent / 2) + standing(old, new, chance)) / bytes;
}

bool ccs_hops_measure(const struct ccs_hops *last, const struct ccs_cc_ack *ack, double T,
		      bool spans, double chance, double *u, double *tau)
{
	bool any = false;

	for (unsigned i = 0; i < last->nhops; i++) {
		const struct ccs_cc_hop *old = &last->hop[i], *new = &ack->hops[i];
		double dt, load;

		if (new->ts_ns <= old->ts_ns || !(new->capacity >= 1))
			continue;
		dt = (double)(new->ts_ns - old->ts_ns) * 1e-9;
		load = spans && dt > T ? load_by_arrivals(old, new, dt, chance)
				       : utilisation(old, new, dt, T, chance);
		if (any && load <= *u)
			continue;
		*u = load;
		*tau = dt;
		any = true;
	}
	return any;
}
