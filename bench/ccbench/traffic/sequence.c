/* SPDX-License-Identifier: BSD-2-Clause */
#include "sequence.h"

#include <stdlib.h>

static bool has_steps(const struct proto_end *end)
{
	return end->spec.arrival == ARRIVE_STEPS;
}

/* Index of the end of a flow + 1, or 0. */
static uint32_t find_end(const struct sequence *s, uint32_t flow)
{
	for (uint32_t i = 0; flow && i < s->n; i++)
		if (s->end[i].flow == flow - 1)
			return i + 1;
	return 0;
}

static uint32_t find_operation(struct sequence *s, const struct flow_spec *f, int64_t start)
{
	uint32_t k = 0;

	while (k < s->operations && s->operation[k].group != f->group)
		k++;
	if (k == s->operations)
		s->operation[s->operations++] = (struct operation){
			.group = f->group, .start = FLOW_FOREVER, .due = start + f->start,
			.timed = UINT32_MAX,
		};
	return k;
}

int sequence_init(struct sequence *s, const struct proto_end *end, uint32_t n, int64_t start)
{
	*s = (struct sequence){
		.end = end, .n = n, .done = calloc(n, sizeof(*s->done)),
		.after = calloc(n, sizeof(*s->after)),
		.operation_of = calloc(n, sizeof(*s->operation_of)),
		.operation = calloc(n, sizeof(*s->operation)),
	};
	if (!s->done || !s->after || !s->operation_of || !s->operation)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		const struct flow_spec *f = &end[i].spec;
		struct operation *o;

		if (!has_steps(&end[i]))
			continue;
		s->operation_of[i] = find_operation(s, f, start);
		o = &s->operation[s->operation_of[i]];
		if (!end[i].posts)
			continue;
		s->after[i][0] = find_end(s, f->after[0]);
		s->after[i][1] = find_end(s, f->after[1]);
		o->pause = f->interval > o->pause ? f->interval : o->pause;
		if (f->timed && o->timed == UINT32_MAX)
			o->timed = i;
	}
	return 0;
}

void sequence_free(struct sequence *s)
{
	free(s->done);
	free(s->after);
	free(s->operation_of);
	free(s->operation);
}

bool sequence_may_post(const struct sequence *s, uint32_t end, uint64_t m)
{
	const struct flow_spec *f = &s->end[end].spec;
	const struct operation *o = &s->operation[s->operation_of[end]];

	if (o->start == FLOW_FOREVER || m / f->per_operation > o->number)
		return false;
	if (m % f->per_operation < f->lag)
		return true;
	for (unsigned k = 0; k < 2; k++)
		if (s->after[end][k] && s->done[s->after[end][k] - 1] < m - f->lag + 1)
			return false;
	return true;
}

/* All ends of the operation's group have its messages. */
static bool has_ended(const struct sequence *s, const struct operation *o)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (has_steps(&s->end[i]) && &s->operation[s->operation_of[i]] == o &&
		    s->done[i] < (o->number + 1) * s->end[i].spec.per_operation)
			return false;
	return true;
}

const struct operation *sequence_done(struct sequence *s, uint32_t end)
{
	const struct operation *o = &s->operation[s->operation_of[end]];

	s->done[end]++;
	return o->start != FLOW_FOREVER && has_ended(s, o) ? o : NULL;
}

void sequence_pause(struct sequence *s, const struct operation *ended, int64_t now)
{
	struct operation *o = &s->operation[ended - s->operation];

	o->number++;
	o->start = FLOW_FOREVER;
	o->due = now + o->pause;
}

int64_t sequence_begin(struct sequence *s, int64_t now)
{
	int64_t next = FLOW_FOREVER;

	for (uint32_t k = 0; k < s->operations; k++) {
		struct operation *o = &s->operation[k];

		if (o->start != FLOW_FOREVER)
			continue;
		if (o->due <= now)
			o->start = o->due;
		else if (o->due < next)
			next = o->due;
	}
	return next;
}
