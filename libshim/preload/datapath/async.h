/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_ASYNC_H
#define CCS_ASYNC_H
/*
 * Asynchronous events that no device raised. The application waits for the events of its device's
 * descriptor, so the device must raise one: a QP of the shim's own with an SRQ enters the error
 * state, and ibv_get_async_event() reports its IBV_EVENT_QP_LAST_WQE_REACHED as the wanted event.
 */
#include "preload/datapath/qp.h"

/* Raise IBV_EVENT_QP_FATAL of that QP, or an event of its port. A failure is logged. */
void ccs_async_raise(const struct qp *qp, enum ibv_event_type type);
/*
 * ibv_get_async_event() has returned *event. If it is from a QP of the shim's, acknowledge it, and
 * change it to the wanted event. False: it is for a QP that was destroyed, get the next event.
 */
bool ccs_async_translate(struct ibv_async_event *event);
/* Whether the acknowledged event is not from a device. */
bool ccs_async_is_acked(const struct ibv_async_event *event);
/* The QP is being destroyed. */
void ccs_async_forget(const struct ibv_qp *qp);

#endif
