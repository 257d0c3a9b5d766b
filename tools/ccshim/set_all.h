/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SET_ALL_H
#define CCS_TOOLS_SET_ALL_H
/* ccshim set --all: one request to every process. */
#include <sys/types.h>

enum { EXIT_TIMEOUT = 3 };      /* the process did not answer in time */

/*
 * Call send() for each process that has statistics, in a process of its own that runs as the other's
 * owner: root does not open files of users. Print what it prints, behind the other's number and
 * name. The status is 0, or the least that is not.
 */
int set_all(int (*send)(pid_t pid, void *arg), void *arg);

#endif
