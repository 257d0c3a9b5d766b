/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_VIRTUAL_H
#define CCS_TESTS_VIRTUAL_H
/*
 * Virtual time for the whole process: clock_gettime() returns it, and threads that are started
 * under it run only when virtual_pass() lets them, one at a time, until they wait for something. So
 * the pacer thread depends only on the program. A caller must not hold locks of these threads while
 * time passes.
 */
#include <stdbool.h>
#include <stdint.h>

void virtual_start(void);
void virtual_stop(void);
/* The region of feedback that the shim shares with an agent; NULL without an agent. */
struct ccs_shm *virtual_region(void);
/*
 * While time passes, let CNPs and changes of the feedback status arrive at all QPs,
 * pseudo-randomly.
 */
void virtual_feedback(void);
/* Let `ns` pass, and run all threads that it wakes. */
void virtual_pass(uint64_t ns);

#endif
