/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STATS_PAGE_H
#define CCS_STATS_PAGE_H
/*
 * This process's statistics page (<ccshim/stats.h>): made once, given out in slots, removed.
 * Whatever fails costs the page or a slot, is said once, and nothing else.
 */
#include <stdbool.h>

#include <ccshim/stats.h>

/* What the page says of the process: mode, cc, undelivered and the names of pass. The rest of
 * *about is filled in. Once; false: there is none. */
bool ccs_stats_open(const struct ccs_stats_header *about);

/* The page; NULL: there is none. From any thread; not in a child. */
struct ccs_stats_header *ccs_stats_page(void);

/* How many queue pairs there are, with a slot or without. */
uint64_t ccs_stats_qps(void);

/* A slot, empty, for one writer at a time; NULL: no page, or no room in it, which is counted. */
struct ccs_stats_slot *ccs_stats_take(void);

/* Its queue pair, of which these are the last figures, is gone: they go into the page's sums. */
void ccs_stats_give(struct ccs_stats_slot *slot, const struct ccs_stats_qp *last);

/* The slot's writer only. qp->generation is that which the slot has. */
void ccs_stats_write(struct ccs_stats_slot *slot, const struct ccs_stats_qp *qp);

/* A word of the page that readers may look at meanwhile. */
static inline void ccs_stats_set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* The counters that are right in between; the slot's writer only. */
static inline void ccs_stats_put_live(struct ccs_stats_slot *slot, const struct ccs_stats_live *live)
{
	uint64_t word[sizeof(*live) / 8];

	memcpy(word, live, sizeof(word));
#pragma GCC unroll 8
	for (unsigned i = 0; i < sizeof(word) / 8; i++)
		ccs_stats_set((uint64_t *)(void *)&slot->live + i, word[i]);
}

/* At exit: the file goes, what is mapped stays. */
void ccs_stats_close(void);

#endif
