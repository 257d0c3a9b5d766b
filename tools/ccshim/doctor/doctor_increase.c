/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the counters of two readings. */
#include "doctor.h"

#include <math.h>
#include <string.h>

double doctor_increase(const struct doctor_pair *p, const struct doctor_counter *c)
{
	const struct doctor_port *was = p->was;

	for (size_t i = 0; i < was->counters; i++)
		if (was->counter[i].source == c->source && strcmp(was->counter[i].name, c->name) == 0)
			return c->value > was->counter[i].value ? (double)(c->value - was->counter[i].value) : 0;
	return 0;
}

static bool matches(const struct doctor_counter *c, uint64_t mask, int priority)
{
	return c->priority == priority && mask & DOCTOR_BIT(c->means);
}

bool doctor_has(const struct doctor_port *p, uint64_t mask, int priority)
{
	for (size_t i = 0; i < p->counters; i++)
		if (matches(&p->counter[i], mask, priority))
			return true;
	return false;
}

double doctor_gather(struct doctor_finding *f, const struct doctor_pair *p, uint64_t mask, int priority)
{
	double sum[DOCTOR_SOURCES] = { 0 }, most = 0;

	for (size_t i = 0; i < p->is->counters; i++) {
		const struct doctor_counter *c = &p->is->counter[i];
		double n;

		if (!matches(c, mask, priority))
			continue;
		n = doctor_increase(p, c);
		if (n > 0 && f)
			doctor_add_figure(f, true, n, "%s", c->name);
		sum[c->source] += n;
		most = fmax(most, sum[c->source]);
	}
	return most;
}

bool doctor_make_pair(struct doctor_pair *p, struct doctor *d, const struct doctor_port *is)
{
	for (size_t i = 0; i < d->before.ports; i++) {
		const struct doctor_port *was = &d->before.port[i];

		*p = (struct doctor_pair){ .d = d, .was = was, .is = is };
		if (was->port == is->port && strcmp(was->device, is->device) == 0 &&
		    strcmp(was->interface, is->interface) == 0)
			return true;
	}
	return false;
}

struct doctor_finding doctor_finding_at(const struct doctor_pair *p, const char *verdict,
					enum doctor_severity severity)
{
	struct doctor_finding f = { .verdict = verdict, .severity = severity };

	snprintf(f.where, sizeof(f.where), "%s/%u%s%s", p->is->device, p->is->port,
		 *p->is->interface ? " on " : "", p->is->interface);
	return f;
}

int doctor_traffic(const struct doctor_pair *p)
{
	const uint64_t packets = DOCTOR_BIT(DOCTOR_RECEIVED) | DOCTOR_BIT(DOCTOR_SENT);

	if (!doctor_has(p->is, packets, DOCTOR_NO_PRIORITY))
		return -1;
	return doctor_gather(NULL, p, packets, DOCTOR_NO_PRIORITY) > 0;
}
