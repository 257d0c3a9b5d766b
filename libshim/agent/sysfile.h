/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SYSFILE_H
#define CCS_AGENT_SYSFILE_H
#include <stdbool.h>
#include <stdint.h>

/* The number in a file of sysfs that is open, as it is now. False: it cannot be read, or
 * there is none. */
bool ccs_sysfile_read(int fd, uint64_t *value);

#endif
