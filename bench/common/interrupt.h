/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_INTERRUPT_H
#define BENCH_INTERRUPT_H
/*
 * SIGINT and SIGTERM end a run in an orderly way. They are blocked except while the orchestrator
 * waits, so that a signal between its check and the wait is not lost.
 */
#include <signal.h>

void interrupt_setup(void);

/* The mask while waiting, and for children. */
const sigset_t *interrupt_mask(void);

/* The signal that came, or 0. */
int interrupted(void);

#endif
