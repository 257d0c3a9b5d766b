/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_CLOCK_H
#define CCS_BASE_CLOCK_H
/*
 * The kernel's clocks. clock_gettime() and timed waits are not called by name: other libraries
 * define them (libfaketime), with clocks that stop, jump or run backwards.
 */
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

uint64_t ccs_clock_ns(clockid_t clock);
struct timespec ccs_clock_timespec(uint64_t ns);

/* sem_wait() until a time of CLOCK_MONOTONIC; UINT64_MAX is 584 years after the start. */
void ccs_clock_sem_wait(sem_t *sem, uint64_t until_ns);

#endif
