/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LAST_THREAD_H
#define CCS_LAST_THREAD_H
/*
 * A process whose first thread calls pthread_exit() ends with the last of its threads. Threads of
 * the shim never end, so the shim must end such a process when only they are left.
 */

/* After set-up: the first thread may have ended before. */
void ccs_last_thread_watch(void);

#endif
