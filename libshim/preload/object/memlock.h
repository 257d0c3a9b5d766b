/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_MEMLOCK_H
#define CCS_MEMLOCK_H
/*
 * Adapters pin the queues that they access, and what a process may pin is limited: what is pinned
 * for us must not be missing when the application registers memory. Thread-safe.
 */
#include "preload/object/qp_record.h"

/* Whether the device pins queues, and this process may not pin without limit. */
bool ccs_memlock_limited(const struct ctx *ctx);

/*
 * A shadow CQ of so many entries may be created. If necessary and permitted the process's soft
 * limit is raised by what it takes; else all of them may use a small share of the limit.
 */
bool ccs_memlock_reserve(const struct ctx *ctx, uint32_t entries);
void ccs_memlock_release(uint32_t entries);

#endif
