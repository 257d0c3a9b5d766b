/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PACER_THREAD_H
#define CCS_PACER_THREAD_H
/* The timer wheel of QPs with deferred WRs, and the thread that serves it. */
#include "preload/object/shim.h"

/* Start the thread, where WRs may have to wait later: the data path of the application may not be
 * allowed to, or may be in a signal handler that has interrupted malloc(). */
void ccs_pacer_thread_prepare(void);
/* Call ccs_emit_pump() for the QP at due_ns; 0: never. Sets qp->scheduled. False: the thread could
 * not start, so no WR may wait. */
bool ccs_pacer_thread_schedule(struct qp *qp, uint64_t due_ns, uint64_t now_ns);
unsigned ccs_pacer_thread_waiting(void);           /* QPs that are scheduled */
bool ccs_pacer_thread_is_free(void);               /* no thread holds its lock */
bool ccs_pacer_thread_is_asleep(void);             /* it does not work on a QP */
extern _Atomic uint64_t ccs_pacer_thread_next_ns;  /* due time of the next QP, or UINT64_MAX */
void ccs_pacer_thread_run_due(const struct cq *cq, uint64_t now_ns, bool spinning);

/* Whether a QP is scheduled. */
static inline bool ccs_pacer_thread_is_waiting(void)
{
	return atomic_load_explicit(&ccs_pacer_thread_next_ns, memory_order_relaxed) != UINT64_MAX;
}

/*
 * After a poll: serve the QPs that are due. spinning: the application polls in a loop, so the
 * thread may come later. now_ns: when the shadow CQs were polled, or unknown. No lock is held.
 */
static inline void ccs_pacer_thread_after_poll(const struct cq *cq, uint64_t now_ns, bool spinning)
{
	if (ccs_pacer_thread_is_waiting())
		ccs_pacer_thread_run_due(cq, now_ns, spinning);
}

/* The generation of the newest request of `ccshim set`: odd while it is pending. */
static inline uint64_t ccs_mailbox_request(void)
{
	const struct ccs_stats_header *file = ccs_stats_file();

	return file ? __atomic_load_n(&file->mailbox.request_gen, __ATOMIC_RELAXED) : 0;
}

/* Handle a pending request, in the mailbox of the statistics file. No lock is held. */
static inline void ccs_mailbox_poll(void)
{
	const uint64_t request = ccs_mailbox_request();

	if (__builtin_expect(request & 1, 0))
		ccs_shim()->handle_request(&ccs_stats_file()->mailbox, request);
}

#endif
