/* SPDX-License-Identifier: BSD-2-Clause */
/* Post and poll, as fast as it goes, by the inline functions that applications use. */
#include "load.h"

#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/clock.h"
#include "bench/common/error.h"

enum { LIST_MAX = 32, DEPTH = 64, RING = 256 };

struct worker {
	pthread_t thread;
	const struct load *load;
	pthread_barrier_t *start;
	struct ibv_cq *cq;
	struct ibv_qp **qp;
	unsigned qps, at;                /* at: index of the QP that posts next */
	unsigned list, signalled;        /* WRs per post, and those of them with a completion */
	uint64_t wrs;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr[LIST_MAX];
} __attribute__((aligned(64)));

static void poll_empty(struct worker *w)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < LOAD_BATCH; i++)
		if (ibv_poll_cq(w->cq, 1, &wc))
			fail("a completion of nothing");
	w->wrs += LOAD_BATCH;
}

static void batch(struct worker *w)
{
	struct ibv_wc wc[LIST_MAX];
	struct ibv_send_wr *bad;
	int n;

	if (!w->list) {
		poll_empty(w);
		return;
	}
	for (unsigned done = 0; done < LOAD_BATCH; done += w->list) {
		if (ibv_post_send(w->qp[w->at], w->wr, &bad))
			fail("a request was refused");
		w->at = w->at + 1 < w->qps ? w->at + 1 : 0;
		for (unsigned got = 0; got < w->signalled; got += (unsigned)n) {
			n = ibv_poll_cq(w->cq, (int)(w->signalled - got), wc);
			if (n < 0 || (n && wc->status))
				fail("a completion failed");
		}
	}
	w->wrs += LOAD_BATCH;
}

static void set_list(struct worker *w, unsigned list)
{
	const struct load *l = w->load;

	w->list = list;
	w->signalled = 0;
	for (unsigned i = 0; i < list; i++) {
		const bool signal = !l->signal_every || (i + 1) % l->signal_every == 0;

		w->signalled += signal;
		w->wr[i] = (struct ibv_send_wr){
			.wr_id = i, .sg_list = w->sge, .num_sge = l->sges ? (int)l->sges : 1,
			.opcode = l->opcode,
			.send_flags = (signal ? IBV_SEND_SIGNALED : 0) |
				      (l->inlined ? IBV_SEND_INLINE : 0),
			.next = i + 1 < list ? &w->wr[i + 1] : NULL,
		};
	}
}

/*
 * Each queue pair has been used, and unless it is only to be seen whether that works, its
 * rings have been gone through: first touches of memory are not the load.
 */
static void warm_up(struct worker *w)
{
	const bool whole = w->load->ns >= LOAD_SERIOUS_NS;
	const uint64_t turns = (uint64_t)w->qps * (whole ? RING / LIST_MAX : 1);

	set_list(w, LIST_MAX);
	do
		batch(w);
	while (w->wrs < turns * LIST_MAX);
	set_list(w, w->load->list);
	batch(w);
	w->wrs = 0;
}

/* callgrind knows it by its name. */
static __attribute__((noinline)) void load_measured(struct worker *w)
{
	const int64_t end = now_ns() + w->load->ns;

	do
		batch(w);
	while (now_ns() < end);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	warm_up(w);
	pthread_barrier_wait(w->start);
	pthread_barrier_wait(w->start);
	load_measured(w);
	return NULL;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_qp_attr attr = { .port_num = 1, .timeout = 14, .max_rd_atomic = 16 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	for (int s = IBV_QPS_INIT; qp && s <= IBV_QPS_RTS; s++) {
		attr.qp_state = (enum ibv_qp_state)s;
		if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | (s == IBV_QPS_INIT ? IBV_QP_PORT : 0) |
				  (s == IBV_QPS_RTS ? IBV_QP_TIMEOUT | IBV_QP_MAX_QP_RD_ATOMIC : 0)))
			return NULL;
	}
	return qp;
}

static void make_worker(struct worker *w, struct ibv_pd *pd)
{
	struct ibv_mr *mr;

	w->qps = w->load->qps > w->load->threads ? w->load->qps / w->load->threads : 1;
	w->qp = calloc(w->qps, sizeof(struct ibv_qp *));
	w->cq = ibv_create_cq(pd->context, DEPTH, NULL, NULL, 0);
	if (!w->qp || !w->cq)
		fail("no completion queue");
	for (unsigned i = 0; i < w->qps; i++)
		if (!(w->qp[i] = make_qp(pd, w->cq)))
			fail("no queue pair");
	w->sge[0].addr = (uintptr_t)malloc(w->load->bytes);
	mr = ibv_reg_mr(pd, (void *)(uintptr_t)w->sge[0].addr, w->load->bytes, 0);
	if (!w->sge[0].addr || !mr)
		fail("no memory region");
	w->sge[0].length = w->load->bytes / (w->load->sges ? w->load->sges : 1);
	w->sge[0].lkey = mr->lkey;
	w->sge[1] = w->sge[0];
}

static struct ibv_pd *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;

	if (!pd)
		fail("no device");
	ibv_free_device_list(list);
	return pd;
}

/* CPU time of all threads of this process, which include the shim's. */
static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

/* Count the instructions of this process, and of threads that it starts later, in user space: a descriptor,
 * or -1 if the kernel or the machine does not let them be counted. */
static int counter_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1, .exclude_hv = 1, .inherit = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* NAN without a counter. */
static double counter_read(int counter)
{
	uint64_t n;

	return counter >= 0 && read(counter, &n, sizeof(n)) == sizeof(n) ? (double)n : NAN;
}

struct cost load_run(const struct load *l)
{
	struct worker *worker = aligned_alloc(64, l->threads * sizeof(*worker));
	struct ibv_pd *pd = open_first();
	const int counter = counter_open();
	pthread_barrier_t start;
	struct cost before;
	uint64_t wrs = 0;

	if (!worker)
		fail("out of memory");
	pthread_barrier_init(&start, NULL, l->threads + 1);
	for (unsigned i = 0; i < l->threads; i++) {
		worker[i] = (struct worker){ .load = l, .start = &start };
		make_worker(&worker[i], pd);
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			fail("no thread");
	}
	pthread_barrier_wait(&start); /* all are warm */
	before = (struct cost){ cpu_ns(), counter_read(counter) };
	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < l->threads; i++) {
		pthread_join(worker[i].thread, NULL);
		wrs += worker[i].wrs;
	}
	return (struct cost){ (cpu_ns() - before.ns) / (double)wrs,
			      (counter_read(counter) - before.instructions) / (double)wrs };
}
