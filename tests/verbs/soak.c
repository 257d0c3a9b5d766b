/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak [-D SECONDS]: threads that register memory, create completion queues and queue pairs, post,
 * poll a part, fail some, and destroy everything, repeatedly. Prints the memory, threads and
 * descriptors of the process from time to time. Exits with 1 if something fails, or if the second
 * half needs more memory than the first.
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../unit/seed.h"

/* Pools and tables have their size after some 700 rounds, which a busy machine takes long for. */
enum { THREADS = 4, LIST = 8, REPORTS = 20, FIRST_ROUNDS = 1500 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLACK_KB (1ul << 20) /* they keep what was freed */
#else
#define SLACK_KB 512
#endif

static struct rig rig;
static atomic_bool stop;
static atomic_ulong rounds, posted;

static uint32_t next(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

/* Lengths from 8 bytes to 64 KB: with a segment of 4 KB some are split, and some wait. */
static int post_list(struct ibv_qp *qp, const struct ibv_mr *mr, uint32_t *x)
{
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	const unsigned n = 1 + next(x) % LIST;

	for (unsigned i = 0; i < n; i++) {
		const enum ibv_wr_opcode opcode = next(x) % 4 ? IBV_WR_RDMA_WRITE
							      : IBV_WR_RDMA_READ;

		wr[i] = rig_wr(&rig, &sge[i], i, opcode, 0, 8u << next(x) % 14,
			       i + 1 < n ? 0 : IBV_SEND_SIGNALED);
		sge[i].lkey = mr->lkey;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	atomic_fetch_add(&posted, n);
	return ibv_post_send(qp, wr, &bad);
}

/* Poll until at most `left` of *outstanding are left. */
static bool poll_until(struct ibv_cq *cq, unsigned *outstanding, unsigned left)
{
	unsigned spins = 0;

	while (*outstanding > left) {
		struct ibv_wc wc[4];
		const int got = ibv_poll_cq(cq, 4, wc);

		for (int i = 0; i < got; i++)
			if (wc[i].status != IBV_WC_SUCCESS)
				return false;
		if (got < 0 || (!got && !rig_keep_waiting(&spins)))
			return false;
		*outstanding -= (unsigned)got;
	}
	return true;
}

static bool go_round(uint32_t *x)
{
	struct ibv_mr *mr = ibv_reg_mr(rig.pd, rig.src, RIG_BUF, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_cq *cq = ibv_create_cq(rig.ctx, 64, NULL, NULL, 0);
	struct ibv_qp *qp = rig_qp(&rig, cq, rig.rcq);
	const unsigned lists = next(x) % 16, end = next(x) % 4;
	unsigned outstanding = 0;
	bool ok = true;

	rig_to_rts(&rig, qp, rig.b->qp_num);
	for (unsigned i = 0; ok && i < lists; i++) {
		ok = !post_list(qp, mr, x);
		outstanding++;
		ok &= i % 2 || poll_until(cq, &outstanding, i / 2);
	}
	if (end == 0)
		ok &= poll_until(cq, &outstanding, 0);
	if (end == 1)
		ok &= !rig_state(qp, IBV_QPS_ERR);
	if (end == 2)
		ok &= !rig_state(qp, IBV_QPS_RESET);
	atomic_fetch_add(&rounds, 1);
	return !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dereg_mr(mr) && ok;
}

static void *churn(void *arg)
{
	uint32_t x = *(const uint32_t *)arg;

	while (!atomic_load(&stop))
		if (!go_round(&x))
			fail_msg("a call or a request failed");
	return NULL;
}

static unsigned long status_of(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long n = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			n = strtoul(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* The largest of each half; the first tenth of the time is not measured. */
static bool watch(unsigned seconds)
{
	unsigned long most[2] = { 0 };

	while (atomic_load(&rounds) < FIRST_ROUNDS)
		usleep(1000);
	for (unsigned i = 0; i < REPORTS; i++) {
		unsigned long kb;

		usleep(1000000 / REPORTS * seconds);
		kb = status_of("VmRSS:");
		printf("%6u s: %8lu rounds, %10lu requests, %6lu kB, %lu threads\n",
		       seconds * (i + 1) / REPORTS, atomic_load(&rounds), atomic_load(&posted), kb,
		       status_of("Threads:"));
		fflush(stdout);
		if (i >= REPORTS / 10 && kb > most[i >= REPORTS / 2])
			most[i >= REPORTS / 2] = kb;
	}
	printf("first half %lu kB at most, second half %lu kB\n", most[0], most[1]);
	return most[1] <= most[0] + SLACK_KB;
}

int main(int argc, char **argv)
{
	const unsigned seconds = argc == 3 && strcmp(argv[1], "-D") == 0
		? (unsigned)strtoul(argv[2], NULL, 10) : 2;
	pthread_t thread[THREADS];
	uint32_t seed[THREADS];
	bool constant;

	rig_exec(argv, "CCSHIM_SEGMENT=4k", NULL);
	seed_start("soak");
	rig_open(&rig, (struct rig_conf){ .max_send_wr = 128 });
	fake_link(20, 10e9);
	for (unsigned i = 0; i < THREADS; i++) {
		seed[i] = (uint32_t)seed_below(UINT32_MAX);
		pthread_create(&thread[i], NULL, churn, &seed[i]);
	}
	constant = watch(seconds);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return constant ? 0 : 1;
}
