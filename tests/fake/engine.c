/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine that carries out WQEs: at once, step by step, or when a link of some latency and
 * rate would have done so. In that case a thread completes WQEs of CQs that are not polled.
 */
#include <stdlib.h>
#include <time.h>

#include "priv.h"

static bool held;
static double latency_ns, rate;
static uint64_t link_free_ns, orders;
static bool started;                     /* the thread */

uint64_t fake_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The port at the other end, by its GID; fake0's GID ends in 1. */
static unsigned far_port(const struct fake_qp *qp, const struct fake_wqe *wqe)
{
	const struct ibv_ah_attr *av = qp->ib.qp_type == IBV_QPT_UD ? &wqe->av
								    : &qp->attr.ah_attr;

	return (unsigned)(av->grh.dgid.raw[15] - 1);
}

/* The time when the last byte has passed the link. */
static uint64_t sent_ns(const struct fake_qp *qp, const struct fake_wqe *wqe)
{
	union ibv_gid own;
	unsigned near, far;

	if (!fake_qp_base()) { /* without a wire all QPs share one link */
		if (link_free_ns < fake_now_ns())
			link_free_ns = fake_now_ns();
		return link_free_ns += (uint64_t)(8e9 * (double)wqe->length / rate);
	}
	ibv_query_gid(qp->ib.context, 1, 0, &own);
	near = (unsigned)(own.raw[15] - 1);
	far = far_port(qp, wqe);
	return wqe->wr.opcode == IBV_WR_RDMA_READ ? wire_reserve(far, near, wqe->length, rate)
						  : wire_reserve(near, far, wqe->length, rate);
}

void fake_due(struct fake_qp *qp, struct fake_wqe *wqe)
{
	wqe->order = orders++;
	if (latency_ns <= 0 && rate <= 0)
		return;
	wqe->due_ns = (rate > 0 ? sent_ns(qp, wqe) : fake_now_ns()) + (uint64_t)latency_ns;
	pthread_cond_broadcast(&fake_changed);
}

void fake_put_off(struct fake_wqe *wqe, uint64_t ns)
{
	wqe->due_ns = fake_now_ns() + ns;
	pthread_cond_broadcast(&fake_changed);
}

/* The next WQE of a QP that may be carried out, or NULL. */
static struct fake_wqe *head_of(struct fake_qp *qp)
{
	const enum ibv_qp_state state = qp->ib.state;

	if (qp->sq_next == qp->sq_head || qp->in_flight || qp->dozes ||
	    (state == IBV_QPS_ERR && fake_ignores_in_error()))
		return NULL;
	if (state != IBV_QPS_RTS && state != IBV_QPS_ERR &&
	    !(state == IBV_QPS_SQD && qp->sq_next < qp->sq_stop))
		return NULL;
	return &qp->sq[qp->sq_next % qp->init.cap.max_send_wr];
}

/*
 * The oldest WQE that is due and not in `stalled`; *due is its time, or the time at which the next
 * becomes due.
 */
static struct fake_qp *pick(const bool *stalled, uint64_t now, uint64_t *due)
{
	struct fake_qp *best = NULL;
	uint64_t order = UINT64_MAX;

	*due = UINT64_MAX;
	for (unsigned i = 0; i < fake_qp_end(); i++) {
		struct fake_qp *qp = fake_qp_at(i);
		const struct fake_wqe *wqe = qp ? head_of(qp) : NULL;

		if (!wqe || stalled[i])
			continue;
		if (wqe->due_ns < *due)
			*due = wqe->due_ns;
		if (wqe->due_ns <= now && wqe->order < order) {
			order = wqe->order;
			best = qp;
		}
	}
	return best;
}

/* Carry out at most n; returns how many. *due: the time of the next. fake_lock is held; a large
 * frame would hide what a test of stacks measures. */
static unsigned carry_out_due(unsigned n, bool at_once, uint64_t *due)
{
	static bool stalled[MAX_QPS];
	const uint64_t now = at_once ? UINT64_MAX : fake_now_ns();
	struct fake_qp *qp;
	unsigned done = 0;

	memset(stalled, 0, sizeof(stalled));
	while (done < n && (qp = pick(stalled, now, due))) {
		if (fake_carry_out(qp, head_of(qp)))
			done++;
		else
			for (unsigned i = 0; i < fake_qp_end(); i++)
				stalled[i] |= fake_qp_at(i) == qp;
	}
	return done;
}

void fake_run(void)
{
	uint64_t due;

	fake_remote_progress();
	if (!held)
		carry_out_due(UINT32_MAX, false, &due);
}

/* Wait until a WQE is due, or for a millisecond, as new WQEs may arrive. */
static void nap(uint64_t due)
{
	const uint64_t now = fake_now_ns(), most = 1000000, least = 20000;
	const uint64_t left = due > now ? due - now : 0;
	struct timespec ts; /* fake_changed has the default clock */

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += (long)(left < least ? least : left > most ? most : left);
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_cond_timedwait(&fake_changed, &fake_lock, &ts);
}

static void *work(void *arg)
{
	uint64_t due;

	(void)arg;
	pthread_mutex_lock(&fake_lock);
	for (;;) {
		due = UINT64_MAX;
		fake_remote_progress();
		if (!held)
			carry_out_due(UINT32_MAX, false, &due);
		if (due == UINT64_MAX)
			pthread_cond_wait(&fake_changed, &fake_lock);
		else
			nap(due);
	}
	return NULL;
}

void fake_engine_start(void)
{
	if (!started)
		started = fake_thread(work) == 0;
}

void fake_link(double latency_us, double bits_per_second)
{
	pthread_mutex_lock(&fake_lock);
	latency_ns = 1e3 * latency_us;
	rate = bits_per_second;
	if (latency_us > 0 || bits_per_second > 0)
		fake_engine_start();
	pthread_mutex_unlock(&fake_lock);
}

static void lock(void)
{
	pthread_mutex_lock(&fake_lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&fake_lock);
}

/* A child does not inherit these threads, and is another process on the wire. */
static void forked(void)
{
	started = false;
	fake_remote_forked();
	pthread_mutex_unlock(&fake_lock);
}

static void __attribute__((constructor)) from_environment(void)
{
	const char *latency = getenv("FAKERDMA_LATENCY_US"), *bits = getenv("FAKERDMA_RATE");

	/* The thread may hold the lock at a fork, and the child has no thread to release it. */
	pthread_atfork(lock, unlock, forked);
	if (latency || bits)
		fake_link(latency ? atof(latency) : 0, bits ? atof(bits) : 0);
}

void fake_hold(bool hold)
{
	pthread_mutex_lock(&fake_lock);
	held = hold;
	fake_run();
	pthread_mutex_unlock(&fake_lock);
}

unsigned fake_carry_out_now(unsigned n)
{
	uint64_t due;

	return carry_out_due(n, true, &due);
}

unsigned fake_step(unsigned n)
{
	unsigned done;

	pthread_mutex_lock(&fake_lock);
	done = fake_carry_out_now(n);
	pthread_mutex_unlock(&fake_lock);
	return done;
}

unsigned fake_pending(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&fake_lock);
	for (unsigned i = 0; i < fake_qp_end(); i++)
		if (fake_qp_at(i))
			n += (unsigned)(fake_qp_at(i)->sq_head - fake_qp_at(i)->sq_next);
	pthread_mutex_unlock(&fake_lock);
	return n;
}
