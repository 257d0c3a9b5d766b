/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SET_ALL_H
#define CCS_TOOLS_SET_ALL_H
/* ccshim set --all: one request to every process. */
struct stat_process;

enum { EXIT_TIMEOUT = 3 };      /* the process did not answer in time */

/* file: the statistics file of p, if it is in other namespaces; or -1. */
typedef int set_sender(const struct stat_process *p, int file, void *arg);

/*
 * Call send() for each process that has statistics, in a new process that runs as its
 * owner: root opens no files of users, except files in containers. Each line of its output is
 * printed after the process's number and name. Returns the lowest status except 0, or 0. A process
 * that has not returned after wait_s is killed, because its owner can stop it.
 */
int set_all(set_sender *send, void *arg, double wait_s);

#endif
