/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STATS_FILE_H
#define CCS_STATS_FILE_H
/*
 * The writer of this process's statistics file (<ccshim/stats.h>), which has a slot per queue
 * pair. A failure costs the file or a slot and is logged once; traffic is not affected.
 */
#include <stdbool.h>

#include <ccshim/stats.h>

/* Create the file. describe() sets mode, cc, missing_feedback and the names in uncontrolled of its
 * header, which is all zero before. Call it once; false: it could not be created. */
typedef void ccs_stats_describe(struct ccs_stats_header *h);
bool ccs_stats_open(ccs_stats_describe *describe);

/* The mapped file, or NULL. From any thread; not in a forked child. */
struct ccs_stats_header *ccs_stats_file(void);

/* The number of queue pairs, with a slot or without. */
uint64_t ccs_stats_qps(void);

/* Claim an empty slot, for one writer at a time; NULL if no file is open or it is full, which is
 * counted. */
struct ccs_stats_slot *ccs_stats_claim_slot(void);

/* Release the slot of a destroyed queue pair and add its last statistics to the sums in the
 * header. slot may be NULL. */
void ccs_stats_release_slot(struct ccs_stats_slot *slot, const struct ccs_stats_qp *last);

/* Write all fields. Only the slot's writer calls this, with the slot's qp->generation. */
void ccs_stats_write(struct ccs_stats_slot *slot, const struct ccs_stats_qp *qp);

/* Store one word of the file, which readers may load at the same time. */
static inline void ccs_stats_set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* The slot's history, its writer's. */
struct ccs_stats_moment *ccs_stats_history(struct ccs_stats_slot *slot);

/* A part of the file's slots, from 0, as the layout of a file; false: there are fewer parts. */
bool ccs_stats_part(unsigned number, struct ccs_stats_layout *l);

/* At exit: remove the file; the mapping stays. */
void ccs_stats_close(void);

#endif
