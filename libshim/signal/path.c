/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sequence lock. Who reads a word of a write sees its odd version, too, afterwards: each
 * word is stored to release and loaded to acquire. (Fences would do; TSan knows none.)
 */
#include "signal/path.h"

#include <string.h>

#define CAPACITY_MOST 1e15               /* bit/s; of an advised rate, too */

enum { TRIES = 3 };                      /* a writer that is at it may have died */

_Static_assert(sizeof(struct ccs_path_telemetry) % sizeof(uint64_t) == 0, "whole words");

void ccs_path_write(struct ccs_path *p, const struct ccs_path_telemetry *t)
{
	const uint32_t version = atomic_load_explicit(&p->version, memory_order_relaxed) | 1;
	uint64_t word[CCS_TELEMETRY_WORDS];

	memcpy(word, t, sizeof(word));
	atomic_store_explicit(&p->version, version, memory_order_relaxed);
	for (unsigned i = 0; i < CCS_TELEMETRY_WORDS; i++)
		atomic_store_explicit(&p->telemetry[i], word[i], memory_order_release);
	atomic_store_explicit(&p->version, version + 1, memory_order_release);
}

/* Once, and whole. */
static bool copy(const struct ccs_path *p, struct ccs_path_telemetry *t)
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

/* The writer may be anybody. */
static bool makes_sense(const struct ccs_path_telemetry *t)
{
	if (t->nhops > CCS_CC_MAX_HOPS ||
	    !(t->advised_rate >= 0 && t->advised_rate <= CAPACITY_MOST))
		return false;
	for (unsigned i = 0; i < t->nhops; i++)
		if (!(t->hops[i].capacity >= 1 && t->hops[i].capacity <= CAPACITY_MOST))
			return false;
	return true;
}

bool ccs_path_read(const struct ccs_path *p, struct ccs_path_telemetry *t)
{
	for (unsigned tries = 0; tries < TRIES; tries++)
		if (copy(p, t))
			return makes_sense(t);
	return false;
}
