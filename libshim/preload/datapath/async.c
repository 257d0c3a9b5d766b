/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events that no device raised; see async.h. */
#include "preload/datapath/async.h"

#include <pthread.h>
#include <stdlib.h>

#include "observe/log.h"
#include "preload/cq/notify.h"
#include "preload/object/real.h"

/* An event that was raised, and not acknowledged yet. */
struct raised {
	struct ibv_async_event event;    /* as the application gets it */
	const struct ibv_qp *app;        /* of the application; NULL: destroyed since */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;               /* that raises it; NULL: the application has the event */
	struct raised *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct raised *list;
static atomic_bool used;                 /* the list is not empty, or was not */

static void free_objects(struct raised *r)
{
	if (r->qp)
		ccs_real()->ibv_destroy_qp(r->qp);
	if (r->srq)
		ccs_real()->ibv_destroy_srq(r->srq);
	if (r->cq)
		ccs_real()->ibv_destroy_cq(r->cq);
	if (r->pd)
		ccs_real()->ibv_dealloc_pd(r->pd);
	r->qp = NULL;
}

static bool create_objects(struct raised *r, struct ibv_context *context)
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
	bool raised;

	pthread_mutex_lock(&lock);
	raised = r && create_objects(r, qp->real->context);
	if (raised) {
		r->app = qp->real;
		r->event.event_type = type;
		if (type == IBV_EVENT_QP_FATAL)
			r->event.element.qp = qp->real;
		else
			r->event.element.port_num = qp->attr.port;
		r->next = list;
		list = r;
		atomic_store(&used, true);
		raised = ccs_notify_enter_error(r->qp); /* its event may be read at once */
		if (!raised)
			list = r->next;
	}
	if (r && !raised)
		free_objects(r);
	pthread_mutex_unlock(&lock);
	if (raised)
		return;
	free(r);
	ccs_log(CCS_LOG_WARN, "impair: the device raises no event for the shim: the application "
		"does not get event %d", type);
}

static bool is_for(const struct raised *r, const struct ibv_async_event *event, bool given)
{
	const struct ibv_qp *qp = given ? r->event.element.qp : r->qp;

	return given == !r->qp && qp == event->element.qp;
}

static struct raised **find(const struct ibv_async_event *event, bool given)
{
	struct raised **at = &list;

	while (*at && !is_for(*at, event, given))
		at = &(*at)->next;
	return at;
}

static void drop(struct raised **at)
{
	struct raised *r = *at;

	*at = r->next;
	free(r);
}

bool ccs_async_translate(struct ibv_async_event *event)
{
	struct raised **at, *r;
	bool wanted = true;

	if (event->event_type != IBV_EVENT_QP_LAST_WQE_REACHED || !atomic_load(&used))
		return true;
	pthread_mutex_lock(&lock);
	at = find(event, false);
	r = *at;
	if (r) {
		ccs_real()->ibv_ack_async_event(event);
		free_objects(r);
		*event = r->event;
		wanted = r->app || r->event.event_type != IBV_EVENT_QP_FATAL;
		if (!wanted || r->event.event_type != IBV_EVENT_QP_FATAL)
			drop(at);
	}
	pthread_mutex_unlock(&lock);
	return wanted;
}

bool ccs_async_is_acked(const struct ibv_async_event *event)
{
	struct raised **at;
	bool found;

	if (event->event_type != IBV_EVENT_QP_FATAL || !atomic_load(&used))
		return false;
	pthread_mutex_lock(&lock);
	at = find(event, true);
	found = *at;
	if (found)
		drop(at);
	pthread_mutex_unlock(&lock);
	return found;
}

void ccs_async_forget(const struct ibv_qp *qp)
{
	if (!atomic_load(&used))
		return;
	pthread_mutex_lock(&lock);
	for (struct raised **at = &list; *at;) {
		if ((*at)->app == qp)
			(*at)->app = NULL;
		if (!(*at)->app && !(*at)->qp)
			drop(at);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&lock);
}
