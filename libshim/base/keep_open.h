/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_KEEP_OPEN_H
#define CCS_BASE_KEEP_OPEN_H

/*
 * Keep the opened file, and with it a lock by flock(2), to the end of the process, and close the
 * descriptor: applications that use all descriptors of RLIMIT_NOFILE get as many as without us. A
 * thread with a separate descriptor table holds the file. If the thread cannot be created, the
 * descriptor stays open. Returns 0 or an error code.
 */
int ccs_keep_open(int fd);

#endif
