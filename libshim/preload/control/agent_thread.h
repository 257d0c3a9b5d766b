/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_THREAD_H
#define CCS_AGENT_THREAD_H
/* The host agent as a thread of this process. */

/* Both are called by the client's thread only. path outlives the agent; returns 0 or an errno. */
int ccs_agent_thread_start(const char *path);
/* EPERM where ccs_agent_place_obstacle() has an objection. */
int ccs_agent_thread_start_auto(const char *path);
void ccs_agent_thread_stop(void);
/* Log in the caller's thread what the agent's threads have to report. Not after fork. */
void ccs_agent_thread_flush_log(void);

#endif
