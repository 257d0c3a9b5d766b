/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of tenants, and their table. */
#include <math.h>
#include <stdio.h>

#include "report.h"
#include "tools/common/human.h"

static void add_times(struct ccs_hist *to, const struct ccs_hist *from)
{
	to->count += from->count;
	to->max = from->max > to->max ? from->max : to->max;
	for (unsigned i = 0; i < CCS_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

static void tenant_figures(const struct report *p, unsigned tenant, struct tenant_report *t)
{
	const struct run *r = p->run;
	struct ccs_hist times = { 0 };
	double squares = 0;
	unsigned flows = 0, bulk = 0;

	for (unsigned i = 0; i < r->flows->n; i++) {
		if (r->flows->v[i].class != CLASS_BULK)
			continue;
		if (scenario_tenant(r->o, r->flows->v[i].src) == tenant + 1) {
			t->goodput += p->flow[bulk].goodput;
			squares += p->flow[bulk].goodput * p->flow[bulk].goodput;
			flows++;
			add_times(&times, &r->flow[i]->latency);
		}
		bulk++;
	}
	t->jain = jain_index(t->goodput, squares, flows);
	t->timed = times.count;
	t->p99 = times.count ? (double)ccs_hist_percentile(&times, 0.99) / 1e3 : NAN;
}

void report_tenants(struct report *p)
{
	const struct opts *o = p->run->o;
	double weights = 0, sum = 0, squares = 0;

	for (unsigned i = 0; i < o->tenants.n; i++)
		weights += o->tenants.v[i].weight;
	p->off_weight = 0;
	p->jain_within = 1;
	p->jain_min = NAN;
	for (unsigned i = 0; i < o->tenants.n; i++) {
		const double weight = o->tenants.v[i].weight;
		struct tenant_report *t = &p->tenant[i];

		tenant_figures(p, i, t);
		t->share = p->goodput > 0 ? t->goodput / p->goodput : NAN;
		t->per_weight = t->share * weights / weight;
		p->off_weight = fmax(p->off_weight, fabs(t->per_weight - 1));
		p->jain_within = fmin(p->jain_within, t->jain);
		sum += t->goodput / weight;
		squares += t->goodput / weight * t->goodput / weight;
	}
	p->jain = jain_index(sum, squares, o->tenants.n);
}

void table_tenants(const struct report *p)
{
	const struct opts *o = p->run->o;
	char rate[32], share[32], per[32], jain[32], p99[32];

	printf("  %-10s %5s %6s %7s %11s %8s %10s %7s %9s\n", "tenant", "QPs", "hosts", "weight",
	       "goodput", "share", "of weight", "Jain", "p99");
	for (unsigned i = 0; i < o->tenants.n; i++) {
		const struct tenant_report *t = &p->tenant[i];

		printf("  tenant-%-3u %5u %6u %7g %11s %8s %10s %7s %9s\n", i + 1, o->tenants.v[i].qps,
		       o->tenants.v[i].hosts, o->tenants.v[i].weight,
		       human_rate(t->goodput, rate, sizeof(rate)),
		       human_percent(t->share, share, sizeof(share)),
		       human_share(t->per_weight, per, sizeof(per)),
		       human_share(t->jain, jain, sizeof(jain)),
		       t->timed < spread_needs(0.99) ? "few" : human_us(t->p99, p99, sizeof(p99)));
	}
}
