/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sequence lock. A reader that reads a word of a write afterwards also sees its odd version,
 * because each word is stored with release and loaded with acquire order. (Fences would suffice,
 * but TSan does not support them.)
 */
#include "feedback/shm_path.h"

#include <string.h>

#define CAPACITY_MOST 1e15               /* bit/s; also for advised rates */

enum { ATTEMPTS = 3 };                   /* limited: the writer may have died while writing */

_Static_assert(sizeof(struct ccs_path_telemetry) % sizeof(uint64_t) == 0, "whole words");

void ccs_shm_path_write(struct ccs_shm_path *p, const struct ccs_path_telemetry *t)
{
	const uint32_t version = atomic_load_explicit(&p->version, memory_order_relaxed) | 1;
	uint64_t word[CCS_TELEMETRY_WORDS];

	memcpy(word, t, sizeof(word));
	atomic_store_explicit(&p->version, version, memory_order_relaxed);
	for (unsigned i = 0; i < CCS_TELEMETRY_WORDS; i++)
		atomic_store_explicit(&p->telemetry[i], word[i], memory_order_release);
	atomic_store_explicit(&p->version, version + 1, memory_order_release);
}

/* One attempt; false if a write was in progress. */
static bool copy_record(const struct ccs_shm_path *p, struct ccs_path_telemetry *t)
{
	const uint32_t version = atomic_load_explicit(&p->version, memory_order_acquire);
	uint64_t word[CCS_TELEMETRY_WORDS];

	if (version & 1)
		return false;
	for (unsigned i = 0; i < CCS_TELEMETRY_WORDS; i++)
		word[i] = atomic_load_explicit(&p->telemetry[i], memory_order_acquire);
	if (atomic_load_explicit(&p->version, memory_order_relaxed) != version)
		return false;
	memcpy(t, word, sizeof(*t));
	return true;
}

/* The writer is not trusted. */
static bool is_valid(const struct ccs_path_telemetry *t)
{
	if (t->nhops > CCS_CC_MAX_HOPS ||
	    !(t->advised_rate >= 0 && t->advised_rate <= CAPACITY_MOST))
		return false;
	for (unsigned i = 0; i < t->nhops; i++)
		if (!(t->hops[i].capacity >= 1 && t->hops[i].capacity <= CAPACITY_MOST))
			return false;
	return true;
}

bool ccs_shm_path_read(const struct ccs_shm_path *p, struct ccs_path_telemetry *t)
{
	for (unsigned i = 0; i < ATTEMPTS; i++)
		if (copy_record(p, t))
			return is_valid(t);
	return false;
}
