/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RECORDER_H
#define CCS_RECORDER_H
/*
 * The flight recorder: when a QP fails, a line with the verdict and, with the option failures, a file
 * with the history of the QP and of others to the same peer. It reads the process's statistics file,
 * so it needs no lock of another QP.
 */
#include "preload/object/qp_record.h"

/*
 * The QP has failed with the status of wc, or by an event (enum ibv_event_type plus 1; wc is NULL).
 * Only its first failure counts, and no flush that the application caused. The QP's lock is held.
 */
void ccs_recorder_failed(struct qp *qp, const struct ibv_wc *wc, unsigned event);
void ccs_recorder_event(struct ibv_context *context, const struct ibv_async_event *event);
/* The application ends the QP; the caller may hold no lock. */
void ccs_recorder_ended(struct qp *qp, const char *how);
/* At exit: write the file, also if no QP failed, for the other ends. */
void ccs_recorder_finish(void);

#endif
