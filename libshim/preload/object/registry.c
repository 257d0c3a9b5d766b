/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A token in a wr_id names its QP by a registry entry and that entry's generation, so completions
 * of destroyed QPs are recognised. Chunks are never moved or freed; readers hold the lock of the
 * QP's CQ, and a QP is removed under the same lock.
 */
#include "preload/object/registry.h"

#include <pthread.h>
#include <stdlib.h>

enum { ENTRY_BITS = 20, CHUNK_BITS = 10, CHUNK = 1 << CHUNK_BITS, GENERATIONS = 1 << 12 };
enum { LAST = (1 << ENTRY_BITS) - 1 };   /* is not used: no id is CCS_NO_OWNER */

struct entry {
	_Atomic(const struct cq *) cq;   /* of qp, which may be read under this CQ's lock only */
	_Atomic(struct qp *) qp;
	uint32_t generation;
};

static _Atomic(struct entry *) chunks[1 << (ENTRY_BITS - CHUNK_BITS)];
static uint32_t lowest_free; /* no entry below it is free */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *entry_of(uint32_t at)
{
	struct entry *chunk = atomic_load_explicit(&chunks[at >> CHUNK_BITS],
						   memory_order_acquire);

	return chunk ? &chunk[at % CHUNK] : NULL;
}

static struct entry *make_entry(uint32_t at)
{
	if (!entry_of(at))
		atomic_store_explicit(&chunks[at >> CHUNK_BITS],
				      calloc(CHUNK, sizeof(struct entry)), memory_order_release);
	return entry_of(at);
}

int ccs_registry_add(struct qp *qp)
{
	struct entry *e = NULL;
	uint32_t at;

	pthread_mutex_lock(&registry_lock);
	for (at = lowest_free; at < LAST; at++) {
		e = make_entry(at);
		if (!e || !atomic_load_explicit(&e->qp, memory_order_relaxed))
			break;
		e = NULL;
	}
	if (e) {
		lowest_free = at + 1;
		e->generation = (e->generation + 1) % GENERATIONS;
		qp->id = e->generation << ENTRY_BITS | at;
		atomic_store_explicit(&e->cq, qp->cq, memory_order_release);
		atomic_store_explicit(&e->qp, qp, memory_order_release);
	}
	pthread_mutex_unlock(&registry_lock);
	return e ? 0 : -1;
}

/* NULL: the entry is free, or has a QP of another CQ, which may be freed at any time. */
static struct qp *qp_at(const struct entry *e, const struct cq *cq)
{
	return e && atomic_load_explicit(&e->cq, memory_order_acquire) == cq
		? atomic_load_explicit(&e->qp, memory_order_acquire) : NULL;
}

struct qp *ccs_registry_find(const struct cq *cq, uint32_t id)
{
	struct qp *qp = qp_at(entry_of(id % (1u << ENTRY_BITS)), cq);

	return qp && qp->id == id ? qp : NULL;
}

struct qp *ccs_registry_next(const struct cq *cq, uint32_t *at)
{
	while (*at < 1u << ENTRY_BITS) {
		struct entry *e = entry_of(*at);
		struct qp *qp = qp_at(e, cq);

		*at += e ? 1 : CHUNK;
		if (qp)
			return qp;
	}
	return NULL;
}

struct qp *ccs_registry_grab(const struct ctx *ctx, uint32_t *at)
{
	struct qp *found = NULL;

	pthread_mutex_lock(&registry_lock);
	while (!found && *at < 1u << ENTRY_BITS) {
		struct entry *e = entry_of(*at);
		struct qp *qp = e ? atomic_load_explicit(&e->qp, memory_order_relaxed) : NULL;

		*at += e ? 1 : CHUNK;
		if (qp && (!ctx || qp->ctx == ctx))
			found = qp;
	}
	if (found)
		atomic_fetch_add(&found->refs, 1);
	pthread_mutex_unlock(&registry_lock);
	return found;
}

bool ccs_registry_is_free(void)
{
	return !pthread_mutex_trylock(&registry_lock) && !pthread_mutex_unlock(&registry_lock);
}

void ccs_registry_remove(struct qp *qp)
{
	const uint32_t at = qp->id % (1u << ENTRY_BITS);

	if (qp->cq->last == qp)
		qp->cq->last = NULL;
	pthread_mutex_lock(&registry_lock);
	atomic_store_explicit(&entry_of(at)->qp, NULL, memory_order_release);
	atomic_store_explicit(&entry_of(at)->cq, NULL, memory_order_release);
	if (at < lowest_free)
		lowest_free = at;
	pthread_mutex_unlock(&registry_lock);
}
