/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process's timer wheel of QPs with deferred WRs, and its thread. The thread starts with the
 * first deferred WR, and sleeps until one is due. An application that spins on its CQ serves the
 * wheel from its polls; the thread then wakes up a little late on purpose. This file is part of
 * a call circle: see drain.c.
 */
#include "preload/datapath/pacer_thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/thread.h"
#include "observe/log.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/qp.h"
#include "preload/object/clock.h"

enum { SPIN_WINDOW_NS = 200000, SPIN_GRACE_NS = 50000 };

static struct {
	struct ccs_lock lock;
	sem_t wake;
	sem_t ready;                     /* the thread has made its first system calls */
	bool started, failed;
	uint64_t sleeping_until;         /* 0: awake, or woken */
	struct ccs_timer_wheel wheel;
	_Atomic unsigned waiting;        /* timers that are set; written under the lock */
	_Atomic uint64_t spun_ns;        /* an application was last seen spinning */
} pacer;
/* ccs_timer_wheel_next(), readable without the lock. */
_Atomic uint64_t ccs_pacer_thread_next_ns = UINT64_MAX;

#define qp_of_timer(timer_) ((struct qp *)(void *)((char *)(timer_) - offsetof(struct qp, timer)))

/* The time may be unknown. */
static void pump_qp(struct qp *qp, uint64_t now_ns)
{
	ccs_lock(&qp->lock);
	ccs_emit_pump(qp, &now_ns);
	ccs_qp_leave(qp);
}

/*
 * Poll and emit for one QP. If the CQ's lock is taken, its holder is already doing that: do not
 * retry before the next due time, because on a single CPU this thread has preempted the holder. If
 * the CQ's time is later than this turn's, draining it has read the clock.
 */
static void drive_qp(struct qp *qp, uint64_t turn_ns)
{
	if (!ccs_trylock(&qp->cq->lock)) {
		pump_qp(qp, CCS_TIME_UNKNOWN);
		return;
	}
	ccs_drain(qp->cq, true);
	pump_qp(qp, qp->cq->polled_ns > turn_ns ? qp->cq->polled_ns : CCS_TIME_UNKNOWN);
	if (qp->cq->channel)
		ccs_drain_notify(qp->cq); /* pump_qp() finds the CQ's lock taken */
	ccs_unlock(&qp->cq->lock);
}

static void count_waiting(int more)
{
	const unsigned n = atomic_load_explicit(&pacer.waiting, memory_order_relaxed);

	atomic_store_explicit(&pacer.waiting, n + (unsigned)more, memory_order_relaxed);
}

unsigned ccs_pacer_thread_waiting(void)
{
	return atomic_load_explicit(&pacer.waiting, memory_order_relaxed);
}

bool ccs_pacer_thread_is_free(void)
{
	const bool is_free = ccs_trylock(&pacer.lock);

	if (is_free)
		ccs_unlock(&pacer.lock);
	return is_free;
}

bool ccs_pacer_thread_is_asleep(void)
{
	bool asleep;

	ccs_lock(&pacer.lock);
	asleep = !pacer.started || pacer.failed || pacer.sleeping_until;
	ccs_unlock(&pacer.lock);
	return asleep;
}

/* The next due QP, with a reference, or NULL. pacer.lock is held. */
static struct qp *pop_due(uint64_t now_ns)
{
	struct ccs_timer *t = ccs_timer_wheel_pop(&pacer.wheel, now_ns);

	atomic_store_explicit(&ccs_pacer_thread_next_ns, ccs_timer_wheel_next(&pacer.wheel),
			      memory_order_relaxed);
	if (!t)
		return NULL;
	count_waiting(-1);
	atomic_fetch_add(&qp_of_timer(t)->refs, 1);
	return qp_of_timer(t);
}

/* A spinning application is given time to serve its QPs. pacer.lock is held. */
static uint64_t wake_time(uint64_t now_ns)
{
	const uint64_t next = ccs_timer_wheel_next(&pacer.wheel);
	const uint64_t spun = atomic_load_explicit(&pacer.spun_ns, memory_order_relaxed);

	return next != UINT64_MAX && spun + SPIN_WINDOW_NS > now_ns ? next + SPIN_GRACE_NS : next;
}

static void sleep_until(uint64_t when)
{
	pacer.sleeping_until = when;
	ccs_unlock(&pacer.lock);
	ccs_clock_sem_wait(&pacer.wake, when);
	ccs_lock(&pacer.lock);
	pacer.sleeping_until = 0;
}

/*
 * The clock is read once per wake-up and QP: where that is a system call it costs more than a
 * segment. With an outdated time fewer QPs are due, but then the sleep ends at once.
 */
static void *serve_timers(void *arg)
{
	uint64_t now = ccs_now_ns();
	bool used = false; /* `now` is from before another QP's segments */

	(void)arg;
	prctl(PR_SET_NAME, "ccshim-pacer");
	prctl(PR_SET_TIMERSLACK, 1ul); /* the default of 50 us is longer than many gaps */
	sem_post(&pacer.ready);
	ccs_lock(&pacer.lock);
	for (;;) {
		const uint64_t when = wake_time(now);
		struct qp *qp = NULL;

		if (when > now)
			sleep_until(when);
		if (when > now || used)
			now = ccs_now_ns();
		used = false;
		if (wake_time(now) <= now)
			qp = pop_due(now);
		if (!qp)
			continue;
		ccs_unlock(&pacer.lock);
		drive_qp(qp, now);
		ccs_qp_put(qp);
		ccs_mailbox_poll();
		used = true;
		ccs_lock(&pacer.lock);
	}
	return NULL;
}

/* pacer.lock is held. */
static void start_thread(uint64_t now_ns)
{
	pthread_t thread;
	int rc;

	pacer.started = true;
	ccs_timer_wheel_init(&pacer.wheel, now_ns);
	rc = sem_init(&pacer.wake, 0, 0) || sem_init(&pacer.ready, 0, 0)
		? errno : ccs_thread_create(&thread, serve_timers, NULL);
	if (!rc) {
		pthread_detach(thread);
		return;
	}
	pacer.failed = true;
	ccs_log(CCS_LOG_WARN, "cannot start the pacer thread (%s): WRs that would have to "
		"wait for it are sent at once, unpaced", strerror(rc));
}

void ccs_pacer_thread_prepare(void)
{
	bool start;

	ccs_lock(&pacer.lock);
	start = !pacer.started;
	if (start)
		start_thread(ccs_now_ns());
	start &= !pacer.failed;
	ccs_unlock(&pacer.lock);
	while (start && sem_wait(&pacer.ready))
		; /* a signal */
}

bool ccs_pacer_thread_schedule(struct qp *qp, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t next;
	bool failed;

	if (!due_ns && !qp->scheduled)
		return true;
	qp->scheduled = due_ns;
	ccs_lock(&pacer.lock);
	if (due_ns && !pacer.started)
		start_thread(now_ns);
	count_waiting(!!due_ns - ccs_timer_is_set(&qp->timer));
	if (due_ns)
		ccs_timer_wheel_set(&pacer.wheel, &qp->timer, due_ns);
	else
		ccs_timer_wheel_cancel(&pacer.wheel, &qp->timer);
	next = ccs_timer_wheel_next(&pacer.wheel);
	atomic_store_explicit(&ccs_pacer_thread_next_ns, next, memory_order_relaxed);
	if (pacer.sleeping_until && next < pacer.sleeping_until &&
		 wake_time(now_ns) < pacer.sleeping_until) {
		pacer.sleeping_until = 0;
		sem_post(&pacer.wake);
	}
	failed = pacer.failed;
	ccs_unlock(&pacer.lock);
	return !failed;
}

static void note_spinning(uint64_t now_ns)
{
	/* Not at every poll: all spinning threads share it. */
	if (now_ns > atomic_load_explicit(&pacer.spun_ns, memory_order_relaxed) +
		     SPIN_WINDOW_NS / 8)
		atomic_store_explicit(&pacer.spun_ns, now_ns, memory_order_relaxed);
}

/*
 * If the time is known, the CQ was drained then. That time may be used for one QP only: segments of
 * the next QPs leave later, and their RTTs must not include that delay.
 */
void ccs_pacer_thread_run_due(const struct cq *cq, uint64_t now_ns, bool spinning)
{
	const struct cq *const drained = now_ns != CCS_TIME_UNKNOWN ? cq : NULL;
	uint64_t at_ns = ccs_now(&now_ns);
	struct qp *qp;

	if (spinning)
		note_spinning(now_ns);
	while (atomic_load_explicit(&ccs_pacer_thread_next_ns, memory_order_relaxed) <= now_ns) {
		ccs_lock(&pacer.lock);
		qp = pop_due(now_ns);
		ccs_unlock(&pacer.lock);
		if (!qp)
			return;
		if (qp->cq == drained)
			pump_qp(qp, at_ns);
		else
			drive_qp(qp, now_ns);
		at_ns = CCS_TIME_UNKNOWN;
		ccs_qp_put(qp);
	}
}
