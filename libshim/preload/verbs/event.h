/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_EVENT_H
#define CCS_EVENT_H
/* Completion events and asynchronous events of shadow CQs. */
#include <stdbool.h>

#include <infiniband/verbs.h>

int ccs_event_get(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void ccs_event_ack(struct ibv_cq *cq, unsigned int n);
void ccs_event_map_async(struct ibv_async_event *event);
/* True: the event was acknowledged already when it was mapped. */
bool ccs_event_unmap_async(struct ibv_async_event *event);

#endif
