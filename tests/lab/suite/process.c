/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks with several threads, and with children. */
#include "child.h"
#include "suite.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- threads ----------------------------------------------------------------------------------- */

/*
 * These run in real time. A busy host may stop the lab for longer than the usual timeout, and more
 * often than there are retries.
 */
enum { WRS = 240, TIMEOUT_1_S = 18, MOST_NAPS = 18000000 /* an hour */ };

/* Polls until the common count is reached. A thread must not end the check: it counts errors. */
struct poller {
	struct ibv_cq *cq;
	unsigned *total, *seen; /* seen: by wr_id */
	unsigned got, wrong;
};

static void *poll_until_all(void *arg)
{
	struct poller *p = arg;
	struct ibv_wc wc;
	unsigned naps = 0;
	int n;

	while (__atomic_load_n(p->total, __ATOMIC_RELAXED) < WRS && naps < MOST_NAPS) {
		n = ibv_poll_cq(p->cq, 1, &wc);
		if (!n) {
			nap_us(200);
			naps++;
			continue;
		}
		p->got++;
		if (n < 0 || wc.status || wc.wr_id >= WRS)
			p->wrong++;
		else
			__atomic_add_fetch(&p->seen[wc.wr_id], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(p->total, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The same by ibv_start_poll. Of one completion each, because cq_batch_end fails on librxe. */
static void *poll_batches_until_all(void *arg)
{
	struct poller *p = arg;
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)p->cq;
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned naps = 0;

	while (__atomic_load_n(p->total, __ATOMIC_RELAXED) < WRS && naps < MOST_NAPS) {
		if (ibv_start_poll(cq, &attr)) {
			nap_us(200);
			naps++;
			continue;
		}
		p->got++;
		if (cq->status || cq->wr_id >= WRS)
			p->wrong++;
		else
			__atomic_add_fetch(&p->seen[cq->wr_id], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(p->total, 1, __ATOMIC_RELAXED);
		ibv_end_poll(cq);
	}
	return NULL;
}

/* By events: arm, poll, sleep. */
static void *sleep_until_all(void *arg)
{
	struct poller *p = arg;
	struct ibv_cq *cq;
	void *context;
	struct ibv_wc wc;

	while (*p->total < WRS) {
		if (ibv_poll_cq(p->cq, 1, &wc) != 1) {
			p->wrong += !!ibv_req_notify_cq(p->cq, 0);
			if (ibv_poll_cq(p->cq, 1, &wc) != 1) {
				if (ibv_get_cq_event(p->cq->channel, &cq, &context))
					break;
				ibv_ack_cq_events(cq, 1);
				continue;
			}
		}
		p->got++;
		p->wrong += wc.status || wc.wr_id != *p->total;
		p->seen[wc.wr_id % WRS]++;
		++*p->total;
	}
	return NULL;
}

/* Posts of one thread, tried again while the queue is full. */
static void post_patiently(struct end *from, const struct end *to, unsigned id)
{
	int error = ENOMEM;

	for (unsigned i = 0; i < 20000 && error == ENOMEM; i++) {
		if (i)
			nap_us(200);
		error = post(from, to, &(struct op){ .id = id, .opcode = IBV_WR_RDMA_WRITE,
						     .len = 1000 + id, SIGNALED });
	}
	require(!error, "posting: %s", strerror(error));
}

static void poll_by_threads(unsigned n, void *(*poll)(void *), uint64_t wc_flags)
{
	unsigned total = 0, seen[WRS] = { 0 };
	struct poller poller[2];
	pthread_t thread[2];
	struct pair p;

	PAIR(&p, .wc_flags = wc_flags, .timeout = TIMEOUT_1_S);
	for (unsigned i = 0; i < n; i++) {
		poller[i] = (struct poller){ p.a.cq, &total, seen, 0, 0 };
		require(!pthread_create(&thread[i], NULL, poll, &poller[i]), "thread");
	}
	for (unsigned i = 0; i < WRS; i++)
		post_patiently(&p.a, &p.b, i);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		require(!poller[i].wrong, "thread %u", i);
	}
	require(total == WRS, "%u completions", total);
	for (unsigned i = 0; i < WRS; i++)
		require(seen[i] == 1, "WR %u completed %u times", i, seen[i]);
	pair_drop(&p);
}

static void two_threads_poll_one_cq(void)
{
	poll_by_threads(2, poll_until_all, 0);
}

static void two_threads_poll_batches(void)
{
	poll_by_threads(2, poll_batches_until_all, IBV_WC_STANDARD_FLAGS);
}

static void one_thread_sleeps(void)
{
	poll_by_threads(1, sleep_until_all, 0);
}

struct poster {
	struct pair *p;
	unsigned from, to, errors;
};

static void *post_range(void *arg)
{
	struct poster *t = arg;
	unsigned i, tries;
	int error;

	for (i = t->from; i < t->to; i++) {
		for (tries = 0, error = ENOMEM; tries < 20000 && error == ENOMEM; tries++) {
			if (tries)
				nap_us(200);
			error = TRY_POST(t->p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 900,
					 SIGNALED);
		}
		t->errors += !!error;
	}
	return NULL;
}

static void two_threads_post_to_one_qp(void)
{
	struct poster poster[2] = { { NULL, 0, WRS / 2, 0 }, { NULL, WRS / 2, WRS, 0 } };
	unsigned next[2] = { 0, WRS / 2 };
	pthread_t thread[2];
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .timeout = TIMEOUT_1_S);
	for (unsigned i = 0; i < 2; i++) {
		poster[i].p = &p;
		require(!pthread_create(&thread[i], NULL, post_range, &poster[i]), "thread");
	}
	for (unsigned i = 0; i < WRS; i++) {
		next_wc(&p.a, &wc);
		require(!wc.status && wc.wr_id == next[wc.wr_id >= WRS / 2]++, "WR %lu: %s",
			(unsigned long)wc.wr_id, ibv_wc_status_str(wc.status));
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	require(!poster[0].errors && !poster[1].errors, "posting");
	pair_drop(&p);
}

/* One thread polls while the main thread creates, uses and destroys QPs on the CQ. */
static void qps_are_created_beside_a_poller(void)
{
	unsigned total = 0, seen[WRS] = { 0 };
	struct poller poller;
	pthread_t thread;
	struct pair p, q;

	PAIR(&p, .timeout = TIMEOUT_1_S);
	poller = (struct poller){ p.a.cq, &total, seen, 0, 0 };
	require(!pthread_create(&thread, NULL, poll_until_all, &poller), "thread");
	for (unsigned i = 0; i < WRS; i++) {
		post_patiently(&p.a, &p.b, i);
		if (i % 24)
			continue;
		end_make(&q.a, &hosts[0], &(struct shape){ .cq = p.a.cq, .timeout = TIMEOUT_1_S });
		end_make(&q.b, &hosts[1], &(struct shape){ .timeout = TIMEOUT_1_S });
		pair_connect(&q);
		for (unsigned j = 0; j < 5; j++)
			POST(&q, .opcode = IBV_WR_RDMA_WRITE, .len = 5000);
		pair_drop(&q);
	}
	pthread_join(thread, NULL);
	require(total == WRS && !poller.wrong, "%u completions, %u wrong", total, poller.wrong);
	for (unsigned i = 0; i < WRS; i++)
		require(seen[i] == 1, "WR %u completed %u times", i, seen[i]);
	pair_drop(&p);
}

/* -- children ---------------------------------------------------------------------------------- */

/*
 * Children have no registered memory after ibv_fork_init; this one changes the rest and exits
 * without verbs.
 */
static void fork_leaves_the_parents_memory(void)
{
	static uint8_t bytes[MIB];
	struct pair p;
	pid_t pid;
	int status;

	PAIR(&p);
	for (unsigned i = 0; i < 4; i++) {
		fill(source(), 30000, i);
		recv_ok(&p.b, 9, 0, 65536);
		POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 30000, SIGNALED);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			memset(bytes, 0xff, sizeof(bytes));
			_exit(7);
		}
		require(pid > 0 && waitpid(pid, &status, 0) == pid, "fork");
		require(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", status);
		done(&p.a, 1, IBV_WC_SEND);
		received(&p.b, 9, 30000);
		require(is_filled(inbox(), 30000, i) && is_zero(bytes, sizeof(bytes)), "bytes");
	}
	pair_drop(&p);
}

struct child {
	pid_t pid;
	FILE *to, *from;
};

static char *text_of_gid(const union ibv_gid *gid)
{
	static char text[33];

	for (int i = 0; i < 16; i++)
		sprintf(text + 2 * i, "%02x", gid->raw[i]);
	return text;
}

/* A client on the other device, of this QP. */
static void child_start(struct child *c, const struct end *e)
{
	char qpn[16], rkey[16], address[32];
	int in[2], out[2];

	snprintf(qpn, sizeof(qpn), "%u", e->qp->qp_num);
	snprintf(rkey, sizeof(rkey), "%u", hosts[1].mr->rkey);
	snprintf(address, sizeof(address), "%lu", (unsigned long)(uintptr_t)target());
	require(!pipe(in) && !pipe(out), "pipes");
	fflush(stdout);
	c->pid = fork();
	require(c->pid >= 0, "fork");
	if (!c->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl("/proc/self/exe", "suite", CHILD_OPTION,
		      ibv_get_device_name(hosts[0].ctx->device), text_of_gid(&hosts[1].gid), qpn,
		      rkey, address, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c->to = fdopen(in[1], "w");
	c->from = fdopen(out[0], "r");
}

static void child_kill(struct child *c)
{
	int status;

	kill(c->pid, SIGKILL);
	require(waitpid(c->pid, &status, 0) == c->pid, "waiting");
	require(WIFSIGNALED(status), "the child ended with status %x", status);
	fclose(c->to);
	fclose(c->from);
}

static void killed_peer(void)
{
	struct child child;
	unsigned qpn;
	struct pair p;
	struct end e;

	PAIR(&p);
	for (unsigned i = 0; i < 2; i++) {
		memset(target(), 0, 60000);
		end_make(&e, &hosts[1], &(struct shape){ 0 });
		child_start(&child, &e);
		require(fscanf(child.from, "%u", &qpn) == 1, "the child does not start");
		end_connect_to(&e, &hosts[0].gid, qpn);
		fprintf(child.to, "\n");
		fflush(child.to);
		nap_us(30000 + i * 1000);
		require(is_filled(target(), 60000, 1), "the child sends nothing");
		child_kill(&child);
		post_ok(&e, &p.a, &(struct op){ .id = 5, .opcode = IBV_WR_SEND, .len = 100 });
		failed(&e, 5, IBV_WC_RETRY_EXC_ERR);
		end_drop(&e);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 30000, SIGNALED);
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	}
	pair_drop(&p);
}

const struct check process_checks[] = {
	{ "thread_poll", "two threads that poll one CQ get each completion once",
	  two_threads_poll_one_cq },
	{ "thread_batch", "so do two threads with ibv_start_poll", two_threads_poll_batches },
	{ "thread_sleep", "a thread that sleeps gets the completions of another one's requests",
	  one_thread_sleeps },
	{ "thread_post", "two threads post to one QP, each in its order",
	  two_threads_post_to_one_qp },
	{ "thread_life", "QPs are created and destroyed on a CQ that another thread polls",
	  qps_are_created_beside_a_poller },
	{ "fork", "a child does not disturb the traffic of its parent",
	  fork_leaves_the_parents_memory },
	{ "kill", "a peer that is killed ends in RETRY_EXC_ERR, and others continue", killed_peer },
	{},
};
