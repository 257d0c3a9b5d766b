/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_MEMLOCK_H
#define CCS_MEMLOCK_H
/*
 * Memory that devices pin for the shim. RLIMIT_MEMLOCK limits the memory that a process may pin,
 * and the shim must leave enough of it for the application's memory regions. Thread-safe.
 */
#include "preload/object/qp_record.h"

/* Whether the device pins queues, and this process may not pin without limit. */
bool ccs_memlock_limited(const struct ctx *ctx);

/*
 * Reserve pinned memory for a shadow CQ of `entries`. Raises the soft limit by that amount if
 * permitted; otherwise all shadow CQs share 1/64 of the limit. False: the share is used up.
 */
bool ccs_memlock_reserve(const struct ctx *ctx, uint32_t entries);
void ccs_memlock_release(uint32_t entries);

#endif
