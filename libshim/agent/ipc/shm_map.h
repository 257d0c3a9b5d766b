/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SHM_MAP_H
#define CCS_AGENT_SHM_MAP_H
/* Validation and mapping of a client's shared region. */
#include <stdbool.h>

#include "feedback/shm.h"

/* Whether fd is a file in memory, whose close() does not block. */
bool ccs_shm_is_memory_file(int fd);
/* NULL, and the reason in *why, if the region is not acceptable. */
struct ccs_shm *ccs_shm_map(int fd, const char **why);
/* shm may be NULL. */
void ccs_shm_unmap(struct ccs_shm *shm);

#endif
