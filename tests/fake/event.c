/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels and asynchronous events. Each is a list and an eventfd in
 * semaphore mode that counts it, so that poll(2), O_NONBLOCK and blocking reads
 * work as on the kernel's descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "priv.h"

int fake_queue_open(struct fake_queue *q)
{
	q->first = NULL;
	q->end = &q->first;
	q->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return q->fd < 0 ? -1 : 0;
}

void fake_queue_close(struct fake_queue *q)
{
	struct fake_event *e;

	while ((e = q->first)) {
		q->first = e->next;
		free(e);
	}
	close(q->fd);
}

/* A device raises it, not the thread that posts: that is no cancellation point. */
void fake_queue_add(struct fake_queue *q, const struct fake_event *event)
{
	struct fake_event *e = malloc(sizeof(*e));
	int state;

	if (!e)
		abort();
	*e = *event;
	e->next = NULL;
	*q->end = e;
	q->end = &e->next;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (eventfd_write(q->fd, 1))
		abort();
	pthread_setcancelstate(state, NULL);
}

static bool is_about(const struct fake_event *e, const void *object)
{
	return e->cq == object || (const void *)e->async.element.qp == object;
}

/* Destroying an object removes its unread events, as in the kernel. */
void fake_queue_drop(struct fake_queue *q, const void *object)
{
	const int flags = fcntl(q->fd, F_GETFL);
	struct fake_event **at = &q->first, *e;
	eventfd_t one;

	fcntl(q->fd, F_SETFL, flags | O_NONBLOCK);
	while ((e = *at)) {
		if (!is_about(e, object)) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		free(e);
		eventfd_read(q->fd, &one);
	}
	q->end = at;
	fcntl(q->fd, F_SETFL, flags);
}

/* Wait according to the descriptor's flags; on success the caller holds fake_lock. */
static int pop_event(struct fake_queue *q, struct fake_event *event)
{
	struct fake_event *e;
	eventfd_t one;

	for (;;) {
		if (eventfd_read(q->fd, &one))
			return -1;
		pthread_mutex_lock(&fake_lock);
		e = q->first;
		if (e)
			break;
		pthread_mutex_unlock(&fake_lock); /* the event was removed before that */
	}
	q->first = e->next;
	if (!q->first)
		q->end = &q->first;
	*event = *e;
	free(e);
	return 0;
}

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct fake_channel *c = calloc(1, sizeof(*c));

	if (!c || fake_queue_open(&c->events)) {
		free(c);
		return NULL;
	}
	c->ib.context = context;
	c->ib.fd = c->events.fd;
	return &c->ib;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ib)
{
	struct fake_channel *c = container(ib, struct fake_channel, ib);

	pthread_mutex_lock(&fake_lock);
	if (ib->refcnt) {
		pthread_mutex_unlock(&fake_lock);
		return EBUSY;
	}
	fake_queue_close(&c->events);
	pthread_mutex_unlock(&fake_lock);
	free(c);
	return 0;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ib, struct ibv_cq **cq, void **cq_context)
{
	struct fake_event e;

	if (pop_event(&container(ib, struct fake_channel, ib)->events, &e))
		return -1;
	e.cq->comp_given++;
	*cq = &e.cq->ib;
	*cq_context = e.cq->ib.cq_context;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&fake_lock);
	cq->comp_events_completed += n;
	pthread_cond_broadcast(&fake_changed);
	pthread_mutex_unlock(&fake_lock);
}

void fake_raise(struct ibv_context *context, const struct ibv_async_event *event)
{
	struct fake_context *c = container(context, struct fake_context, v.context);
	const struct fake_event e = { .async = *event };

	fake_queue_add(&c->async, &e);
}

static bool is_of_cq(const struct ibv_async_event *event)
{
	return event->event_type == IBV_EVENT_CQ_ERR;
}

static bool is_of_qp(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return true;
	default:
		return false;
	}
}

static bool is_of_srq(const struct ibv_async_event *event)
{
	return event->event_type == IBV_EVENT_SRQ_ERR ||
	       event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct fake_context *c = container(context, struct fake_context, v.context);
	struct fake_event e;

	if (pop_event(&c->async, &e))
		return -1;
	*event = e.async;
	if (is_of_cq(event))
		container(event->element.cq, struct fake_cq, ib)->async_given++;
	else if (is_of_qp(event))
		container(event->element.qp, struct fake_qp, ib)->async_given++;
	else if (is_of_srq(event))
		container(event->element.srq, struct fake_srq, ib)->async_given++;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	pthread_mutex_lock(&fake_lock);
	if (is_of_cq(event))
		event->element.cq->async_events_completed++;
	else if (is_of_qp(event))
		event->element.qp->events_completed++;
	else if (is_of_srq(event))
		event->element.srq->events_completed++;
	pthread_cond_broadcast(&fake_changed);
	pthread_mutex_unlock(&fake_lock);
}

void fake_async_event(struct ibv_qp *qp, enum ibv_event_type type)
{
	const struct ibv_async_event event = { .element.qp = qp, .event_type = type };

	pthread_mutex_lock(&fake_lock);
	fake_raise(qp->context, &event);
	pthread_mutex_unlock(&fake_lock);
}

void fake_async_cq_err(struct ibv_cq *cq)
{
	const struct ibv_async_event event = { .element.cq = cq,
					       .event_type = IBV_EVENT_CQ_ERR };

	pthread_mutex_lock(&fake_lock);
	fake_raise(cq->context, &event);
	pthread_mutex_unlock(&fake_lock);
}
