/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHARE_H
#define CCS_SHARE_H
/* The place of a process among all, for sections of a configuration file such as [share 10%]. */
#include <sys/types.h>

struct ccs_job;

/*
 * A number above 0 and up to 100: a hash of the batch system's job or, outside of jobs, of host and
 * process ID. All processes of a job have the same place on all hosts, so that they are controlled
 * together. A larger share contains each smaller share.
 */
double ccs_share_place(const struct ccs_job *job, pid_t pid);

#endif
