/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the contents of statistics files. */
#include "stat.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 10 };

/* -- one file ------------------------------------------------------------------ */

/* Outputs replace or escape control characters; here a text is complete, as JSON needs it. */
#define END(text) ((text)[sizeof(text) - 1] = '\0')

/* The contents are untrusted, and may change during the copy. */
static void copy_header(const struct ccs_stats_layout *l, struct ccs_stats_header *h)
{
	*h = (struct ccs_stats_header){ 0 };
	memcpy(h, l->file, l->header_size < sizeof(*h) ? l->header_size : sizeof(*h));
	h->slots = l->slots;
	END(h->program), END(h->version), END(h->mode), END(h->cc), END(h->missing_feedback);
	END(h->mailbox.answer);
	END(h->host), END(h->job), END(h->task), END(h->rank), END(h->container);
	for (unsigned i = 0; i < CCS_STATS_MAX_UNCONTROLLED; i++)
		END(h->uncontrolled[i].name);
}

#define COPY(to, from) memcpy(to, from, sizeof(to) < sizeof(from) ? sizeof(to) : sizeof(from))

struct ccs_job stat_job(const struct ccs_stats_header *h)
{
	struct ccs_job job;

	COPY(job.host, h->host);
	COPY(job.id, h->job);
	COPY(job.task, h->task);
	COPY(job.rank, h->rank);
	COPY(job.container, h->container);
	job.container[sizeof(job.container) - 1] = '\0';
	return job;
}

const char *stat_refusal(const struct ccs_stats_header *h)
{
	return h->unattended && h->mailbox.answer_gen == h->unattended + 1 && h->mailbox.status
		? h->mailbox.answer : NULL;
}

static void copy_rtt(const struct ccs_stats_rtt *from, struct ccs_stats_rtt *to)
{
	for (size_t i = 0; i < sizeof(*to) / 8; i++)
		((uint64_t *)(void *)to)[i] =
			ccs_stats_load((const uint64_t *)(const void *)from + i);
}

/* False: the slot is free, or is being reused at this moment. */
static bool copy_qp(const struct ccs_stats_layout *l, uint64_t history, uint64_t slot, struct stat_qp *qp)
{
	const struct ccs_stats_slot *at = ccs_stats_slot_at(l, slot);

	if (!ccs_stats_read_qp(l, slot, &qp->q) || !qp->q.created_ns)
		return false;
	copy_rtt(&at->rtt, &qp->rtt);
	qp->moments = ccs_stats_read_history(l, history, slot, qp->history);
	END(qp->q.device), END(qp->q.uncontrolled), END(qp->q.cc), END(qp->q.variant), END(qp->q.feedback);
	END(qp->q.control);
	if (qp->q.nhops > CCS_STATS_MAX_HOPS)
		qp->q.nhops = CCS_STATS_MAX_HOPS;
	return ccs_stats_load(&at->qp.generation) == qp->q.generation;
}

static void copy_slots(const struct ccs_stats_layout *l, struct stat_process *p)
{
	p->count = 0;
	for (uint64_t i = 0; i < l->slots; i++)
		p->count += copy_qp(l, p->h.history_offset, i, &p->qp[p->count]);
}

/* Repeat the copy if a queue pair was destroyed during it, which would be counted twice: in its
 * slot and in the sums. */
static bool parse(const void *image, size_t size, bool brief, struct stat_process *p)
{
	const struct ccs_stats_header *mapped = image;
	struct ccs_stats_layout layout;
	uint64_t changes;

	if (!ccs_stats_layout(image, size, &layout))
		return false;
	copy_header(&layout, &p->h);
	if (brief)
		return true;
	p->qp = calloc(layout.slots + 1, sizeof(*p->qp));
	if (!p->qp)
		return false;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		changes = ccs_stats_load(&mapped->changes);
		p->h.gone = mapped->gone;
		copy_slots(&layout, p);
		if (!(changes & 1) && ccs_stats_load(&mapped->changes) == changes)
			break;
	}
	return true;
}

bool stat_parse(const void *image, size_t size, struct stat_process *p)
{
	return parse(image, size, false, p);
}

/* -- mapped files -------------------------------------------------------------- */

static sigjmp_buf truncated;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(truncated, 1);
}

/* The owner may truncate the file while it is read, which raises SIGBUS. */
bool stat_parse_mapped(const void *image, size_t size, bool brief, struct stat_process *p)
{
	const struct sigaction bus = { .sa_handler = on_bus };
	struct sigaction old;
	volatile bool ok = false;

	sigaction(SIGBUS, &bus, &old);
	if (!sigsetjmp(truncated, 1)) {
		ok = parse(image, size, brief, p);
	} else {
		free(p->qp);
		p->qp = NULL;
	}
	sigaction(SIGBUS, &old, NULL);
	return ok;
}
