/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events that no device raised; see async.h. */
#include "preload/datapath/async.h"

#include <pthread.h>
#include <stdlib.h>

#include "observe/log.h"
#include "preload/cq/notify.h"
#include "preload/object/real.h"

/* An event that the application has not read yet, and the objects that raise it. */
struct raised {
	struct ibv_async_event event;
	uint32_t id;                     /* of its QP */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct raised *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;
static struct raised *list;

static void free_raised(struct raised *r)
{
	if (r->qp)
		ccs_real()->ibv_destroy_qp(r->qp);
	if (r->srq)
		ccs_real()->ibv_destroy_srq(r->srq);
	if (r->cq)
		ccs_real()->ibv_destroy_cq(r->cq);
	if (r->pd)
		ccs_real()->ibv_dealloc_pd(r->pd);
	free(r);
}

static bool create_qp(struct raised *r, struct ibv_context *context)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 }, .qp_type = IBV_QPT_RC,
	};

	r->pd = ccs_real()->ibv_alloc_pd(context);
	r->cq = r->pd ? ccs_real()->ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	r->srq = r->cq ? ccs_real()->ibv_create_srq(r->pd, &srq) : NULL;
	init.send_cq = init.recv_cq = r->cq;
	init.srq = r->srq;
	r->qp = r->srq ? ccs_real()->ibv_create_qp(r->pd, &init) : NULL;
	return r->qp;
}

void ccs_async_raise(const struct qp *qp, enum ibv_event_type type)
{
	struct raised *r = calloc(1, sizeof(*r));
	bool raised = false;

	pthread_mutex_lock(&lock); /* the event may be read at once */
	if (r && create_qp(r, qp->real->context)) {
		r->id = qp->id;
		r->event.event_type = type;
		if (type == IBV_EVENT_QP_FATAL)
			r->event.element.qp = qp->real;
		else
			r->event.element.port_num = qp->attr.port;
		raised = ccs_notify_enter_error(r->qp);
	}
	if (raised) {
		r->next = list;
		list = r;
	} else {
		ccs_log(CCS_LOG_WARN, "impair: the device raises no event for the shim: the "
			"application does not get event %d", type);
	}
	pthread_mutex_unlock(&lock);
	if (r && !raised)
		free_raised(r);
}

static struct raised *pop(const struct ibv_qp *qp)
{
	struct raised *r, *before = NULL;

	pthread_mutex_lock(&lock);
	for (r = list; r && r->qp != qp; r = r->next)
		before = r;
	if (r && before)
		before->next = r->next;
	else if (r)
		list = r->next;
	pthread_mutex_unlock(&lock);
	return r;
}

bool ccs_async_translate(struct ibv_async_event *event)
{
	const bool may_be_ours = event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
	struct raised *r = may_be_ours ? pop(event->element.qp) : NULL;
	bool wanted = true;

	if (!r)
		return true;
	ccs_real()->ibv_ack_async_event(event);
	*event = r->event;
	if (event->event_type == IBV_EVENT_QP_FATAL) {
		struct qp *qp = ccs_qp_find(event->element.qp);

		wanted = qp && qp->id == r->id;
		if (wanted)
			atomic_store(&qp->failure.fatal_given, true);
	}
	free_raised(r);
	return wanted;
}

bool ccs_async_is_acked(const struct ibv_async_event *event)
{
	struct qp *qp = event->event_type == IBV_EVENT_QP_FATAL ? ccs_qp_find(event->element.qp) : NULL;

	if (!qp || !atomic_load(&qp->failure.fatal_given))
		return false;
	pthread_mutex_lock(&lock);
	atomic_store(&qp->failure.fatal_given, false);
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&lock);
	return true;
}

void ccs_async_await_ack(struct qp *qp)
{
	if (!atomic_load(&qp->failure.fatal_given))
		return;
	pthread_mutex_lock(&lock);
	while (atomic_load(&qp->failure.fatal_given))
		pthread_cond_wait(&acked, &lock);
	pthread_mutex_unlock(&lock);
}
