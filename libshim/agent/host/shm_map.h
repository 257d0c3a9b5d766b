/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SHM_MAP_H
#define CCS_AGENT_SHM_MAP_H
/* Validation and mapping of a client's shared region. */
#include <stdbool.h>

#include "feedback/shm.h"

/* Whether fd is a file in memory that has little of it: close() returns soon. */
bool ccs_shm_is_closed_quickly(int fd);
/* NULL, and the reason in *why, if the region is not acceptable. */
struct ccs_shm *ccs_shm_map(int fd, const char **why);
/* shm may be NULL. */
void ccs_shm_unmap(struct ccs_shm *shm);

#endif
