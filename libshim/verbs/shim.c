/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process has one of: configuration, registry, counters, fork, exit. */
#include "config.h"
#include "verbs/shim.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/probe.h"
#include "runtime/log.h"
#include "runtime/stats.h"
#include "runtime/trace.h"
#include "signal/client.h"

static struct ccs_shim shim = {
	.contexts = CCS_PTRMAP_INIT,
	.cqs = CCS_PTRMAP_INIT,
	.qps = CCS_PTRMAP_INIT,
	.parent_domains = CCS_PTRMAP_INIT,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool in_setup;
_Atomic(struct ccs_shim *) ccs_shim_ready;

uint64_t ccs_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int64_t ccs_epoch_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - (int64_t)ccs_now_ns();
}

/* The least of a few: between the others this thread had lost the CPU. */
static double time_look(void)
{
	uint64_t before = ccs_now_ns(), least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		const uint64_t now = ccs_now_ns();

		least = now - before < least ? now - before : least;
		before = now;
	}
	return (double)least / 1e3;
}

/* Locks may be held by threads that the child does not have: touch nothing there. */
static void fork_child(void)
{
	atomic_store(&shim.forked, true);
	ccs_trace_forget();
}

static void begin_trace(void)
{
	char head[600];

	snprintf(head, sizeof(head), "ccshim %s: %s, process %ld, cc=%s", PACKAGE_VERSION,
		 program_invocation_short_name, (long)getpid(), shim.options.cc);
	ccs_trace_setup(shim.options.trace, shim.options.trace_size, head);
}

static void setup(void)
{
	const int saved = errno;

	in_setup = true;
	shim.off = !ccs_policy_setup(&shim.options);
	if (!shim.off) {
		shim.look_us = time_look();
		ccs_signals_setup(&shim.options);
	}
	if (!shim.off && shim.options.trace[0])
		begin_trace();
	if (pthread_atfork(NULL, NULL, fork_child)) {
		ccs_log(CCS_LOG_WARN, "no memory; traffic passes uncontrolled");
		shim.off = true;
	}
	atomic_store_explicit(&ccs_shim_ready, &shim, memory_order_release);
	in_setup = false;
	errno = saved;
}

/* Not atexit: a process that never used verbs has nothing to say. */
static void __attribute__((destructor)) at_exit(void)
{
	if (!atomic_load(&ccs_shim_ready) || atomic_load(&shim.forked))
		return;
	ccs_client_finish();
	ccs_serve_speak();
	ccs_trace_finish();
	if (shim.options.report[0])
		ccs_report_write();
	ccs_stats_close();
}

struct ccs_shim *ccs_shim_setup(void)
{
	pthread_once(&once, setup);
	return &shim;
}

bool ccs_shim_on(void)
{
	return !in_setup && !ccs_shim()->off && !atomic_load(&shim.forked);
}

const char *const ccs_pass_names[] = {
#define TEXT(id, text) text,
	CCS_PASS_REASONS(TEXT)
#undef TEXT
};

static void count(enum ccs_pass reason, uint32_t qp_num)
{
	struct ccs_stats_header *page = ccs_publish_page();
	const char *text = ccs_pass_names[reason];

	atomic_fetch_add_explicit(&shim.passes[reason], 1, memory_order_relaxed);
	if (page)
		__atomic_fetch_add(&page->pass[reason].count, 1, __ATOMIC_RELAXED);
	CCS_PROBE2(pass, qp_num, text);
}

void ccs_shim_count(enum ccs_pass reason)
{
	count(reason, 0);
}

/* Nobody's choice: it could have been controlled. */
static bool is_failure(enum ccs_pass reason)
{
	return reason == CCS_PASS_SHADOW_CQ || reason == CCS_PASS_NO_MEMORY ||
	       reason == CCS_PASS_REFUSED;
}

void ccs_shim_pass(enum ccs_pass reason, const struct ibv_qp *qp)
{
	count(reason, qp ? qp->qp_num : 0);
	if (is_failure(reason))
		ccs_log_once(CCS_LOG_WARN, "QP %" PRIu32 " passes uncontrolled: %s",
			     qp ? qp->qp_num : 0, ccs_pass_names[reason]);
	ccs_log(CCS_LOG_INFO, "QP %" PRIu32 " passes uncontrolled: %s", qp ? qp->qp_num : 0,
		ccs_pass_names[reason]);
}

/*
 * Registry: a token in a wr_id names its QP by a slot and that slot's
 * generation, so that a completion of a destroyed QP is known as stale. Chunks
 * are never moved or freed; readers hold the lock of the QP's CQ, and a QP
 * leaves the registry under the same lock.
 */
enum { SLOT_BITS = 20, CHUNK_BITS = 10, CHUNK = 1 << CHUNK_BITS, GENERATIONS = 1 << 12 };

struct entry {
	_Atomic(const struct cq *) cq;   /* of qp: who does not hold its lock may not look at qp */
	_Atomic(struct qp *) qp;
	uint32_t generation;
};

static _Atomic(struct entry *) chunks[1 << (SLOT_BITS - CHUNK_BITS)];
static uint32_t lowest_free; /* no slot below it is free */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *entry_of(uint32_t slot)
{
	struct entry *chunk = atomic_load_explicit(&chunks[slot >> CHUNK_BITS],
						   memory_order_acquire);

	return chunk ? &chunk[slot % CHUNK] : NULL;
}

static struct entry *make_entry(uint32_t slot)
{
	if (!entry_of(slot))
		atomic_store_explicit(&chunks[slot >> CHUNK_BITS],
				      calloc(CHUNK, sizeof(struct entry)), memory_order_release);
	return entry_of(slot);
}

int ccs_registry_add(struct qp *qp)
{
	struct entry *e = NULL;
	uint32_t slot;

	pthread_mutex_lock(&registry_lock);
	for (slot = lowest_free; slot < 1u << SLOT_BITS; slot++) {
		e = make_entry(slot);
		if (!e || !atomic_load_explicit(&e->qp, memory_order_relaxed))
			break;
		e = NULL;
	}
	if (e) {
		lowest_free = slot + 1;
		e->generation = (e->generation + 1) % GENERATIONS;
		qp->id = e->generation << SLOT_BITS | slot;
		atomic_store_explicit(&e->cq, qp->cq, memory_order_release);
		atomic_store_explicit(&e->qp, qp, memory_order_release);
	}
	pthread_mutex_unlock(&registry_lock);
	return e ? 0 : -1;
}

/* NULL: none, or one of another CQ, which may be freed just now. */
static struct qp *qp_at(const struct entry *e, const struct cq *cq)
{
	return e && atomic_load_explicit(&e->cq, memory_order_acquire) == cq
		? atomic_load_explicit(&e->qp, memory_order_acquire) : NULL;
}

struct qp *ccs_registry_find(const struct cq *cq, uint32_t id)
{
	struct qp *qp = qp_at(entry_of(id % (1u << SLOT_BITS)), cq);

	return qp && qp->id == id ? qp : NULL;
}

struct qp *ccs_registry_next(const struct cq *cq, uint32_t *slot)
{
	while (*slot < 1u << SLOT_BITS) {
		struct entry *e = entry_of(*slot);
		struct qp *qp = qp_at(e, cq);

		*slot += e ? 1 : CHUNK;
		if (qp)
			return qp;
	}
	return NULL;
}

struct qp *ccs_registry_grab(const struct ctx *ctx, uint32_t *slot)
{
	struct qp *found = NULL;

	pthread_mutex_lock(&registry_lock);
	while (!found && *slot < 1u << SLOT_BITS) {
		struct entry *e = entry_of(*slot);
		struct qp *qp = e ? atomic_load_explicit(&e->qp, memory_order_relaxed) : NULL;

		*slot += e ? 1 : CHUNK;
		if (qp && (!ctx || qp->ctx == ctx))
			found = qp;
	}
	if (found)
		atomic_fetch_add(&found->refs, 1);
	pthread_mutex_unlock(&registry_lock);
	return found;
}

void ccs_registry_remove(struct qp *qp)
{
	const uint32_t slot = qp->id % (1u << SLOT_BITS);

	pthread_mutex_lock(&registry_lock);
	atomic_store_explicit(&entry_of(slot)->qp, NULL, memory_order_release);
	atomic_store_explicit(&entry_of(slot)->cq, NULL, memory_order_release);
	if (slot < lowest_free)
		lowest_free = slot;
	pthread_mutex_unlock(&registry_lock);
}
