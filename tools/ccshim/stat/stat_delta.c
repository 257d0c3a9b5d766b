/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares, sums up and sorts snapshots. */
#include "stat.h"

#include <stdlib.h>

int stat_copy(struct stat_snapshot *to, const struct stat_snapshot *s)
{
	*to = *s;
	to->count = 0;
	to->process = calloc(s->count + 1, sizeof(*to->process));
	for (size_t i = 0; to->process && i < s->count; i++) {
		struct stat_process *p = &to->process[i];

		*p = s->process[i];
		p->qp = calloc(p->count + 1, sizeof(*p->qp));
		if (!p->qp)
			break;
		memcpy(p->qp, s->process[i].qp, p->count * sizeof(*p->qp));
		to->count++;
	}
	return to->count == s->count ? 0 : -1;
}

void stat_free(struct stat_snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->process[i].qp);
	free(s->process);
	*s = (struct stat_snapshot){ 0 };
}

/* -- deltas -------------------------------------------------------------------- */

/* The increase of a counter. One that decreased belongs to another object: it is new. */
static uint64_t increase(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
}

static bool is_same_process(const struct ccs_stats_header *a, const struct ccs_stats_header *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks &&
	       a->exec_mark == b->exec_mark && a->created_unix_ns == b->created_unix_ns;
}

/* The search starts at the old index, since a queue pair rarely moves far. */
static const struct stat_qp *find_qp(const struct stat_process *p, const struct stat_qp *qp,
				     size_t where)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct stat_qp *other = &p->qp[(where + i) % p->count];

		if (other->q.created_ns == qp->q.created_ns && other->q.lqpn == qp->q.lqpn)
			return other;
	}
	return NULL;
}

static void subtract_qp(struct stat_qp *qp, const struct stat_qp *base)
{
	for (size_t i = 0; i < ccs_stats_field_count; i++) {
		const struct ccs_stats_field *f = &ccs_stats_fields[i];
		struct ccs_stats_qp then = base->q;

		if (f->counter)
			*ccs_stats_field_at(&qp->q, f) = increase(*ccs_stats_field_at(&qp->q, f),
							       *ccs_stats_field_at(&then, f));
	}
	for (unsigned i = 0; i < CCS_STATS_RTT_BUCKETS; i++)
		qp->rtt.bucket[i] = increase(qp->rtt.bucket[i], base->rtt.bucket[i]);
	qp->rtt.count = increase(qp->rtt.count, base->rtt.count);
	qp->rtt.sum_ns = increase(qp->rtt.sum_ns, base->rtt.sum_ns);
	qp->rtt.min_ns = qp->rtt.max_ns = 0; /* unknown for the interval */
}

static void add_qp(struct ccs_stats_gone *to, const struct ccs_stats_qp *q)
{
	to->posts += q->posts, to->completions += q->completions;
	to->segments += q->segments, to->bytes += q->bytes;
	to->cnps += q->cnps, to->losses += q->losses;
	to->samples += q->samples, to->gated_ns += q->gated_ns;
}

/*
 * The sums include the whole traffic of destroyed queue pairs. If they were destroyed since base,
 * subtract their traffic until base.
 */
static void subtract_gone(struct stat_process *p, const struct stat_process *base)
{
	struct ccs_stats_gone then = base->h.gone;
	uint64_t *now = (uint64_t *)(void *)&p->h.gone, *was = (uint64_t *)(void *)&then;

	for (size_t i = 0; i < base->count; i++)
		if (!find_qp(p, &base->qp[i], i))
			add_qp(&then, &base->qp[i].q);
	for (size_t i = 0; i < sizeof(then) / 8; i++)
		now[i] = increase(now[i], was[i]);
}

static void subtract_process(struct stat_process *p, const struct stat_process *base)
{
	subtract_gone(p, base);
	for (unsigned i = 0; i < CCS_STATS_MAX_UNCONTROLLED; i++)
		p->h.uncontrolled[i].count = increase(p->h.uncontrolled[i].count, base->h.uncontrolled[i].count);
	for (size_t i = 0; i < p->count; i++) {
		const struct stat_qp *was = find_qp(base, &p->qp[i], i);

		if (was)
			subtract_qp(&p->qp[i], was);
	}
}

void stat_subtract(struct stat_snapshot *s, const struct stat_snapshot *base)
{
	s->since_s = (double)(s->unix_ns - base->unix_ns) / 1e9;
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < base->count; k++)
			if (is_same_process(&s->process[i].h, &base->process[k].h))
				subtract_process(&s->process[i], &base->process[k]);
}

/* -- sums ---------------------------------------------------------------------- */

struct ccs_stats_gone stat_totals(const struct stat_process *p)
{
	struct ccs_stats_gone sum = p->h.gone;

	for (size_t i = 0; i < p->count; i++) {
		add_qp(&sum, &p->qp[i].q);
		sum.qps += p->qp[i].sums ? p->qp[i].sums : 1;
	}
	return sum;
}

/* -- order --------------------------------------------------------------------- */

static const struct ccs_stats_field *order;

static int by_field(const void *a, const void *b)
{
	const double x = ccs_stats_field_json(&((const struct stat_qp *)a)->q, order);
	const double y = ccs_stats_field_json(&((const struct stat_qp *)b)->q, order);

	return x > y ? -1 : x < y;
}

/* Order sums: each process has one. */
static int by_sum(const void *a, const void *b)
{
	return by_field(((const struct stat_process *)a)->qp, ((const struct stat_process *)b)->qp);
}

void stat_sort(struct stat_snapshot *s, const struct ccs_stats_field *field)
{
	order = field;
	if (s->by)
		qsort(s->process, s->count, sizeof(*s->process), by_sum);
	for (size_t i = 0; i < s->count; i++)
		qsort(s->process[i].qp, s->process[i].count, sizeof(*s->process[i].qp), by_field);
}
