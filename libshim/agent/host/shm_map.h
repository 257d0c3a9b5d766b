/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SHM_MAP_H
#define CCS_AGENT_SHM_MAP_H
/* Validation and mapping of a client's shared region. */
#include <stdbool.h>
#include <stddef.h>

#include "feedback/shm.h"

/* Whether fd is a file in memory that has little of it: close() returns soon. */
bool ccs_shm_is_closed_quickly(int fd);
/* NULL, and the reason in *why, if the region is not acceptable. */
struct ccs_shm *ccs_shm_map(int fd, const char **why);
/*
 * Whether the process has allocated these bytes. Otherwise the agent would allocate them if it
 * accessed them, and the kernel would charge them to the agent while the process keeps the region.
 */
bool ccs_shm_is_allocated(const struct ccs_shm *shm, int fd, size_t from, size_t len);
/* shm may be NULL. */
void ccs_shm_unmap(struct ccs_shm *shm);

#endif
