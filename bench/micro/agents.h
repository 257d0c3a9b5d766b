/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BENCH_MICRO_AGENTS_H
#define CCS_BENCH_MICRO_AGENTS_H
/* Functions for the benches of host agents. On an error they end the process. */
#include "agent/loop.h"
#include "feedback/shm.h"

_Noreturn void bench_fail(const char *what);
/* End the process with the text and strerror(errno), unless ok. */
void bench_check(int ok, const char *what);
/* This process and its children get a network namespace with a loopback interface only. */
void bench_own_network(void);
/* Connect to the agent at that path as a client with a region. Returns the descriptor. */
int bench_connect(const char *path, struct ccs_shm **shm);
/* Register slot's flow from QP slot + 1 to QP slot + 1 at peer, and wait for the answer. */
void bench_add(int fd, const char *local, const char *peer, uint32_t slot);

#endif
