/* SPDX-License-Identifier: BSD-2-Clause */
/* Leaves queue pairs out of a snapshot, and sums others up. */
#include "stat.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "tools/ccshim/shared/ccshim.h"

#define SEVERAL "several"

const char *const stat_bys[STAT_BYS] = {
	[STAT_BY_QP] = "qp", [STAT_BY_PROCESS] = "process", [STAT_BY_PEER] = "peer", [STAT_BY_JOB] = "job",
	[STAT_BY_TENANT] = "tenant", [STAT_BY_HOST] = "host",
};

int stat_parse_by(const char *cmd, void *member, const struct option_row *row)
{
	struct ccs_suggestion near = ccs_suggest_for(optarg);
	enum stat_by *by = member;
	char hint[96];

	(void)row;
	for (*by = 0; *by < STAT_BYS; (*by)++) {
		if (strcmp(stat_bys[*by], optarg) == 0)
			return 0;
		ccs_suggest_offer(&near, stat_bys[*by]);
	}
	tool_error(cmd, "--by: '%s' is no kind of sum%s", optarg, near.best
		   ? ccs_suggest_hint(&near, hint, sizeof(hint)) : "; give qp, process, peer, job, tenant or host");
	return EXIT_USAGE;
}

void stat_keep(struct stat_snapshot *s, stat_test *test, const void *arg)
{
	for (size_t i = 0; i < s->count; i++) {
		struct stat_process *p = &s->process[i];
		size_t kept = 0;

		for (size_t k = 0; k < p->count; k++)
			if (test(s, p, &p->qp[k], arg))
				p->qp[kept++] = p->qp[k];
		p->count = kept;
	}
}

bool stat_is_busy(const struct stat_snapshot *s, const struct stat_process *p, const struct stat_qp *qp,
		  const void *arg)
{
	(void)p, (void)arg;
	return s->since_s > 0 ? stat_limit_of(qp, s->since_s) != STAT_IDLE
		: qp->q.bytes || qp->q.inflight || qp->q.queued;
}

/* -- sums -------------------------------------------------------------------------------------- */

static bool is_of_group(const struct stat_process *group, const struct stat_process *p,
			const struct stat_qp *qp, enum stat_by by)
{
	switch (by) {
	case STAT_BY_PEER: return memcmp(group->qp->q.peer_gid, qp->q.peer_gid, sizeof(qp->q.peer_gid)) == 0;
	case STAT_BY_JOB: return strcmp(group->h.job, p->h.job) == 0;
	case STAT_BY_TENANT: return strcmp(group->tenant, p->tenant) == 0;
	case STAT_BY_HOST: return true;
	default: return group->h.pid == p->h.pid;
	}
}

static void join_text(char *to, const char *text)
{
	if (strcmp(to, text) != 0)
		strcpy(to, SEVERAL);
}

/* A fault of some queue pairs is not a fault of their sum. */
static void join_fault(char *to, const char *text)
{
	if (strcmp(to, text) != 0)
		*to = '\0';
}

/* Numbers of bytes, events and requests and rates are added. The sum's ratio, segment, base RTT, line
 * rate, tenant's cap and time at the gate are the largest of its queue pairs. */
static bool is_added(const struct ccs_stats_field *f)
{
	return (f->unit == CCS_FIELD_COUNT || f->unit == CCS_FIELD_RATE) &&
	       f->offset != offsetof(struct ccs_stats_qp, segment) &&
	       f->offset != offsetof(struct ccs_stats_qp, line_rate) &&
	       f->offset != offsetof(struct ccs_stats_qp, tenant_cap);
}

static void add_fields(struct ccs_stats_qp *to, const struct ccs_stats_qp *q)
{
	struct ccs_stats_qp from = *q;

	for (size_t i = 0; i < ccs_stats_field_count; i++) {
		const struct ccs_stats_field *f = &ccs_stats_fields[i];
		uint64_t *sum = ccs_stats_field_at(to, f), *more = ccs_stats_field_at(&from, f);

		if (is_added(f))
			*sum = *more < UINT64_MAX - *sum ? *sum + *more : UINT64_MAX;
		else if (ccs_stats_field_json(&from, f) > ccs_stats_field_json(to, f))
			*sum = *more;
	}
}

static void add_rtts(struct ccs_stats_rtt *to, const struct ccs_stats_rtt *rtt)
{
	for (unsigned i = 0; i < CCS_STATS_RTT_BUCKETS; i++)
		to->bucket[i] += rtt->bucket[i];
	to->count += rtt->count;
	to->sum_ns += rtt->sum_ns;
	to->min_ns = to->max_ns = 0;
}

static void join_limit(enum stat_limit *to, enum stat_limit limit)
{
	static const unsigned strength[] = {
		[STAT_IDLE] = 0, [STAT_OBSERVED] = 1, [STAT_UNCONTROLLED] = 2, [STAT_APPLICATION] = 3,
		[STAT_WINDOW] = 4, [STAT_RATE] = 5, [STAT_TENANT_CAP] = 6,
	};

	if (strength[limit] > strength[*to])
		*to = limit;
}

static void join_qp(struct stat_qp *to, const struct stat_qp *qp, double since_s)
{
	struct ccs_stats_qp *q = &to->q;

	add_fields(q, &qp->q);
	add_rtts(&to->rtt, &qp->rtt);
	join_text(q->device, qp->q.device);
	join_text(q->cc, qp->q.cc);
	join_text(q->variant, qp->q.variant);
	join_text(q->feedback, qp->q.feedback);
	join_fault(q->control, qp->q.control);
	join_fault(q->uncontrolled, qp->q.uncontrolled);
	if (memcmp(q->peer_gid, qp->q.peer_gid, sizeof(q->peer_gid)) != 0)
		memset(q->peer_gid, 0, sizeof(q->peer_gid));
	if (qp->q.created_ns < q->created_ns)
		q->created_ns = qp->q.created_ns;
	if (qp->q.updated_ns > q->updated_ns)
		q->updated_ns = qp->q.updated_ns, to->rtt.last_ns = qp->rtt.last_ns;
	q->enforced |= qp->q.enforced;
	q->nhops = 0;
	join_limit(&to->limit, stat_limit_of(qp, since_s));
	to->sums++;
}

static void join_process(struct stat_process *group, const struct ccs_stats_header *h)
{
	struct ccs_stats_header *to = &group->h;

	if (to->pid == h->pid)
		return;
	to->pid = group->inner_pid = to->unattended = 0;
	join_text(to->program, h->program);
	join_text(to->job, h->job);
	join_text(to->cc, h->cc);
	join_text(to->mode, h->mode);
	*to->task = *to->rank = *to->container = *to->missing_feedback = '\0';
}

/* Members of whole processes do not belong to a peer, and are not added up. */
static void start_sum(struct ccs_stats_header *h)
{
	h->qps = h->qps_unshown = 0;
	memset(&h->gone, 0, sizeof(h->gone));
	memset(h->uncontrolled, 0, sizeof(h->uncontrolled));
}

static bool start_group(struct stat_process *group, const struct stat_process *p, const struct stat_qp *qp,
			const struct stat_snapshot *s)
{
	*group = *p;
	group->qp = malloc(sizeof(*group->qp));
	group->count = !!group->qp;
	if (!group->qp)
		return false;
	*group->qp = *qp;
	group->qp->limit = stat_limit_of(qp, s->since_s);
	group->qp->sums = 1;
	group->qp->q.lqpn = group->qp->q.peer_qpn = 0;
	if (s->by != STAT_BY_PROCESS)
		start_sum(&group->h);
	return true;
}

/* A queue pair of a group. */
struct member {
	size_t group;
	const struct ccs_stats_qp *q;
};

static int by_port(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const int device = strcmp(x->q->device, y->q->device);

	return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
		: device ? device : (x->q->port > y->q->port) - (x->q->port < y->q->port);
}

/* The line rate of a sum is the sum of its ports' rates. */
static void add_ports(struct stat_snapshot *groups, struct member *member, size_t n)
{
	qsort(member, n, sizeof(*member), by_port);
	for (size_t i = 0; i < n; i++) {
		uint64_t *sum = &groups->process[member[i].group].qp->q.line_rate;

		if (!i || member[i].group != member[i - 1].group)
			*sum = member[i].q->line_rate;
		else if (by_port(&member[i], &member[i - 1]))
			*sum += member[i].q->line_rate;
	}
}

int stat_group(struct stat_snapshot *s, enum stat_by by)
{
	struct stat_snapshot groups = *s;
	struct member *member;
	size_t most = 0, members = 0, g;

	if (by == STAT_BY_QP)
		return 0;
	for (size_t i = 0; i < s->count; i++)
		most += s->process[i].count;
	groups.process = calloc(most + 1, sizeof(*groups.process));
	member = calloc(most + 1, sizeof(*member));
	groups.count = 0;
	groups.by = by;
	for (size_t i = 0; groups.process && member && i < s->count; i++)
		for (size_t k = 0; k < s->process[i].count; k++) {
			const struct stat_process *p = &s->process[i];

			for (g = 0; g < groups.count; g++)
				if (is_of_group(&groups.process[g], p, &p->qp[k], by))
					break;
			if (g < groups.count) {
				join_qp(groups.process[g].qp, &p->qp[k], s->since_s);
				join_process(&groups.process[g], &p->h);
			} else if (start_group(&groups.process[g], p, &p->qp[k], &groups)) {
				groups.count++;
			} else {
				continue;
			}
			groups.process[g].h.qps += by != STAT_BY_PROCESS;
			member[members++] = (struct member){ g, &p->qp[k].q };
		}
	if (groups.process && member) {
		add_ports(&groups, member, members);
		stat_free(s);
		*s = groups;
	}
	free(member);
	if (s->process == groups.process)
		return 0;
	free(groups.process);
	return -1;
}
