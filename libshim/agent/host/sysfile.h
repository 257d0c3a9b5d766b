/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SYSFILE_H
#define CCS_AGENT_SYSFILE_H
/* Numbers in sysfs files. */
#include <stdbool.h>
#include <stdint.h>

/* Read the current number from an open sysfs file. False: it cannot be read, or is no number. */
bool ccs_sysfile_read(int fd, uint64_t *value);

#endif
