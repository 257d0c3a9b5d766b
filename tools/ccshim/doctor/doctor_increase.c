/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the counters of two readings. */
#include "doctor.h"

#include <math.h>
#include <string.h>

/* A counter of 32 bits begins again at 0: it is taken for one if it was and is this near to that. */
#define WRAP (1ull << 28)

const struct doctor_counter *doctor_find_counter(const struct doctor_port *p, const struct doctor_counter *c)
{
	for (size_t i = 0; i < p->counters; i++)
		if (p->counter[i].source == c->source && strcmp(p->counter[i].name, c->name) == 0)
			return &p->counter[i];
	return NULL;
}

/* Counters of InfiniBand ports stay at their maximum until they are reset; sysfs.c has their widths. */
bool doctor_is_full(const struct doctor_counter *c)
{
	static const struct { const char *name; uint64_t most; } narrow[] = {
		{ "link_error_recovery", UINT8_MAX }, { "link_downed", UINT8_MAX },
		{ "local_link_integrity_errors", 15 }, { "excessive_buffer_overrun_errors", 15 },
	};

	if (c->source != DOCTOR_PORT)
		return c->value == UINT64_MAX; /* or more */
	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++)
		if (strcmp(c->name, narrow[i].name) == 0)
			return c->value == narrow[i].most;
	return c->value == UINT16_MAX || c->value == UINT32_MAX;
}

bool doctor_compare(const struct doctor_pair *p, const struct doctor_counter *c, double *increase)
{
	const struct doctor_counter *was = doctor_find_counter(p->was, c);
	const bool wraps = was && !doctor_is_full(was) && was->value > c->value && was->value <= UINT32_MAX &&
			   was->value > UINT32_MAX - WRAP && c->value < WRAP;

	*increase = 0;
	if (!was || (c->value < was->value && !wraps))
		return false;
	*increase = (double)(wraps ? (uint32_t)(c->value - was->value) : c->value - was->value);
	return true;
}

double doctor_increase(const struct doctor_pair *p, const struct doctor_counter *c)
{
	double increase;

	doctor_compare(p, c, &increase);
	return increase;
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

bool doctor_is_counted(const struct doctor_pair *p, uint64_t mask)
{
	double n;

	for (size_t i = 0; i < p->is->counters; i++)
		if (matches(&p->is->counter[i], mask, DOCTOR_NO_PRIORITY) &&
		    doctor_compare(p, &p->is->counter[i], &n) && (n > 0 || !doctor_is_full(&p->is->counter[i])))
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

const struct doctor_port *doctor_find_port(const struct doctor_reading *r, const struct doctor_port *port)
{
	for (size_t i = 0; i < r->ports; i++)
		if (r->port[i].port == port->port && strcmp(r->port[i].device, port->device) == 0 &&
		    strcmp(r->port[i].interface, port->interface) == 0)
			return &r->port[i];
	return NULL;
}

bool doctor_make_pair(struct doctor_pair *p, struct doctor *d, const struct doctor_port *is)
{
	*p = (struct doctor_pair){ .d = d, .was = doctor_find_port(&d->before, is), .is = is };
	return p->was;
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

	if (!doctor_is_counted(p, packets))
		return -1;
	return doctor_gather(NULL, p, packets, DOCTOR_NO_PRIORITY) > 0;
}
