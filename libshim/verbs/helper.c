/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process-wide pacer and its thread. The thread starts at the first WR that
 * has to wait and sleeps until one is due; an application that spins on its CQ
 * drives the pacer itself, and then the thread comes a little late on purpose.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "runtime/log.h"
#include "verbs/shim.h"

enum { SPIN_WINDOW_NS = 200000, SPIN_GRACE_NS = 50000 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool started, failed;
	uint64_t sleeping_until;         /* 0: awake */
	struct ccs_pacer pacer;
	_Atomic uint64_t spun_ns;        /* last seen spinning */
} helper = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
};
_Atomic uint64_t ccs_helper_next = UINT64_MAX; /* = ccs_pacer_next(), readable without the lock */

#define qp_of(timer_) ((struct qp *)(void *)((char *)(timer_) - offsetof(struct qp, timer)))

/* The time may be unknown. */
static void pump(struct qp *qp, uint64_t now_ns)
{
	ccs_lock(&qp->lock);
	ccs_post_pump(qp, &now_ns);
	ccs_qp_leave(qp);
}

/*
 * Drive one QP. Whoever holds its CQ drives it already, and is not asked again before what
 * waits is due anyway: on one CPU that is who had to give way to this thread. That there was
 * a look at the clock when the CQ was drained shows in its time being later than this turn's.
 */
static void progress(struct qp *qp, uint64_t turn_ns)
{
	if (!ccs_trylock(&qp->cq->lock)) {
		pump(qp, CCS_TIME_UNKNOWN);
		return;
	}
	ccs_cq_drain(qp->cq);
	pump(qp, qp->cq->polled_ns > turn_ns ? qp->cq->polled_ns : CCS_TIME_UNKNOWN);
	ccs_unlock(&qp->cq->lock);
}

/* With helper.lock held: the next due QP with a reference taken, or NULL. */
static struct qp *pop(uint64_t now_ns)
{
	struct ccs_timer *t = ccs_pacer_pop(&helper.pacer, now_ns);

	atomic_store_explicit(&ccs_helper_next, ccs_pacer_next(&helper.pacer), memory_order_relaxed);
	if (!t)
		return NULL;
	atomic_fetch_add(&qp_of(t)->refs, 1);
	return qp_of(t);
}

/* With helper.lock held. A spinning application gets to its own work first. */
static uint64_t wake_time(uint64_t now_ns)
{
	const uint64_t next = ccs_pacer_next(&helper.pacer);
	const uint64_t spun = atomic_load_explicit(&helper.spun_ns, memory_order_relaxed);

	return next != UINT64_MAX && spun + SPIN_WINDOW_NS > now_ns ? next + SPIN_GRACE_NS : next;
}

static void sleep_until(uint64_t when)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(when / 1000000000u),
		.tv_nsec = (long)(when % 1000000000u),
	};

	helper.sleeping_until = when;
	if (when == UINT64_MAX)
		pthread_cond_wait(&helper.wake, &helper.lock);
	else
		pthread_cond_clockwait(&helper.wake, &helper.lock, CLOCK_MONOTONIC, &ts);
	helper.sleeping_until = 0;
}

/*
 * The clock is read once per wake-up and queue pair: where that is a system call it costs more
 * than a segment. By an old time too little is due; then the sleep ends at once.
 */
static void *run(void *arg)
{
	uint64_t now = ccs_now_ns();
	bool used = false; /* now is of before another queue pair's segments */

	(void)arg;
	prctl(PR_SET_NAME, "ccshim-pacer");
	prctl(PR_SET_TIMERSLACK, 1ul); /* 50 us by default: longer than many a gap */
	pthread_mutex_lock(&helper.lock);
	for (;;) {
		const uint64_t when = wake_time(now);
		struct qp *qp = NULL;

		if (when > now)
			sleep_until(when);
		if (when > now || used)
			now = ccs_now_ns();
		used = false;
		if (wake_time(now) <= now)
			qp = pop(now);
		if (!qp)
			continue;
		pthread_mutex_unlock(&helper.lock);
		progress(qp, now);
		ccs_qp_put(qp);
		ccs_control_look();
		used = true;
		pthread_mutex_lock(&helper.lock);
	}
	return NULL;
}

/* All signals stay the application's. */
static void start(void)
{
	const int saved = errno;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	helper.started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	if (!rc) {
		pthread_detach(thread);
		return;
	}
	helper.failed = true;
	ccs_log(CCS_LOG_WARN, "no helper thread (%s): what would have to wait for one goes out "
		"unshaped", strerror(rc));
}

bool ccs_helper_set(struct qp *qp, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t next;
	bool failed;

	pthread_mutex_lock(&helper.lock);
	if (!helper.started)
		ccs_pacer_init(&helper.pacer, now_ns);
	ccs_pacer_set(&helper.pacer, &qp->timer, due_ns);
	next = ccs_pacer_next(&helper.pacer);
	atomic_store_explicit(&ccs_helper_next, next, memory_order_relaxed);
	if (!helper.started)
		start();
	else if (helper.sleeping_until && next < helper.sleeping_until &&
		 wake_time(now_ns) < helper.sleeping_until)
		pthread_cond_signal(&helper.wake);
	failed = helper.failed;
	pthread_mutex_unlock(&helper.lock);
	return !failed;
}

void ccs_helper_cancel(struct qp *qp)
{
	pthread_mutex_lock(&helper.lock);
	if (ccs_timer_is_set(&qp->timer)) {
		ccs_pacer_cancel(&helper.pacer, &qp->timer);
		atomic_store_explicit(&ccs_helper_next, ccs_pacer_next(&helper.pacer),
				      memory_order_relaxed);
	}
	pthread_mutex_unlock(&helper.lock);
}

static void note_spinning(uint64_t now_ns)
{
	/* Not by every poll: all threads that spin share it. */
	if (now_ns > atomic_load_explicit(&helper.spun_ns, memory_order_relaxed) +
		     SPIN_WINDOW_NS / 8)
		atomic_store_explicit(&helper.spun_ns, now_ns, memory_order_relaxed);
}

/*
 * `drained` was, at that time; which is good for one QP: what the next ones send leaves after
 * what this one did, and an RTT must not hold that.
 */
static void run_due(const struct cq *drained, const uint64_t now_ns)
{
	uint64_t at_ns = now_ns;
	struct qp *qp;

	while (atomic_load_explicit(&ccs_helper_next, memory_order_relaxed) <= now_ns) {
		pthread_mutex_lock(&helper.lock);
		qp = pop(now_ns);
		pthread_mutex_unlock(&helper.lock);
		if (!qp)
			return;
		if (qp->cq == drained)
			pump(qp, at_ns);
		else
			progress(qp, now_ns);
		at_ns = CCS_TIME_UNKNOWN;
		ccs_qp_put(qp);
	}
}

void ccs_helper_drive(const struct cq *cq, uint64_t now_ns, bool spinning)
{
	const bool drained = now_ns != CCS_TIME_UNKNOWN;

	ccs_now(&now_ns);
	if (spinning)
		note_spinning(now_ns);
	run_due(drained ? cq : NULL, now_ns);
}
