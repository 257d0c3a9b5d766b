/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_ASYNC_H
#define CCS_ASYNC_H
/*
 * Asynchronous events that no device raised. The application waits for its device's descriptor, so
 * the device must raise an event: a QP of the shim's with an SRQ enters the error state, and
 * ibv_get_async_event() reports its IBV_EVENT_QP_LAST_WQE_REACHED as the wanted event.
 */
#include "preload/datapath/qp.h"

/* Raise IBV_EVENT_QP_FATAL of that QP, or an event of its port. A failure is logged. */
void ccs_async_raise(const struct qp *qp, enum ibv_event_type type);
/*
 * Change an event of the shim's QP to the wanted event, and acknowledge it to the device. False: its
 * QP was destroyed, get the next event.
 */
bool ccs_async_translate(struct ibv_async_event *event);
/* Whether the event, which the application acknowledges, was not from its device. */
bool ccs_async_is_acked(const struct ibv_async_event *event);
/* Before the QP is destroyed, without locks: wait until its event is acknowledged, as a device does. */
void ccs_async_await_ack(struct qp *qp);

#endif
