/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SET_ALL_H
#define CCS_TOOLS_SET_ALL_H
/* ccshim set --all: one request to every process. */
struct stat_process;

enum { EXIT_TIMEOUT = 3 };      /* the process did not answer in time */

/* file: the statistics file of p, if it is in other namespaces; else -1. */
typedef int set_sender(const struct stat_process *p, int file, void *arg);

/*
 * Call send() for each process that has statistics, in a process of its own that runs as the other's
 * owner: root opens no files of users, except those in containers. Print what it prints, behind the other's number and
 * name. The status is 0, or the least that is not. What has not returned after wait_s is killed: the
 * owner can stop a process that runs as his.
 */
int set_all(set_sender *send, void *arg, double wait_s);

#endif
