/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endure DEVICE DEVICE HOURS [PERIOD]: every PERIOD (10) seconds another connection between
 * the two is made, used and destroyed, half of the times with work left in it; now and then
 * the devices are closed and opened. Each hour it prints what the process has, and
 * after the last one it fails if that is more than it was after the first.
 */
#include "side.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum { REQUESTS = 12, SIZE = 64 << 10, SESSION = 16, HOUR = 3600, SLACK_KB = 64 };

struct holdings {
	long rss_kb, threads, descriptors;
};

static long status_of(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long value = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = atol(line + strlen(name));
	check(f && value >= 0, "%s", name);
	fclose(f);
	return value;
}

static long count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = 0;

	check(dir, "/proc/self/fd");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct holdings read_holdings(void)
{
	return (struct holdings){ status_of("VmRSS:"), status_of("Threads:"), count_descriptors() };
}

static void post(const struct side *from, const struct side *to, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)from->memory, SIZE, from->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
				  .opcode = wr_id % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)to->memory;
	wr.wr.rdma.rkey = to->mr->rkey;
	check(!ibv_post_send(from->qp, &wr, &bad), "posting");
}

static void collect(struct side *s, unsigned n)
{
	struct ibv_wc wc;
	int got;

	while (n) {
		check(!ibv_req_notify_cq(s->scq, 0), "arming");
		while (n && (got = ibv_poll_cq(s->scq, 1, &wc)) != 0) {
			check(got == 1 && wc.status == IBV_WC_SUCCESS, "a completion");
			n--;
		}
		if (n)
			side_sleep(s);
	}
}

static void connection(struct side *a, struct side *b, unsigned number)
{
	static const struct ibv_qp_cap cap = { .max_send_wr = REQUESTS, .max_recv_wr = 4,
					       .max_send_sge = 1, .max_recv_sge = 1 };

	side_make(a, &cap);
	side_make(b, &cap);
	side_connect(a, b);
	side_connect(b, a);
	for (unsigned i = 0; i < REQUESTS; i++)
		post(a, b, i);
	collect(a, number % 2 ? REQUESTS : 3);
	side_unmake(a);
	side_unmake(b);
}

/* As many connections, the devices opened before and closed after them. */
static void session(char **names, unsigned *number, time_t start, int period)
{
	struct side a = { 0 }, b = { 0 };

	side_open(&a, names[0], SIZE);
	side_open(&b, names[1], SIZE);
	for (int i = 0; i < SESSION; i++) {
		const struct timespec next = { .tv_sec = start + (time_t)++*number * period };

		connection(&a, &b, *number);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
	side_close(&a);
	side_close(&b);
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

int main(int argc, char **argv)
{
	const int hours = argc > 3 ? atoi(argv[3]) : 0, period = argc > 4 ? atoi(argv[4]) : 10;
	struct holdings first = { 0 }, h = { 0 };
	const time_t start = now();
	unsigned number = 0;

	if (hours < 2 || period < 1) {
		fprintf(stderr, "usage: endure DEVICE DEVICE HOURS [PERIOD]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int hour = 1; hour <= hours; hour++) {
		while (now() < start + (time_t)hour * HOUR)
			session(argv + 1, &number, start, period);
		h = read_holdings();
		printf("%d h: %u connections, %ld KB, %ld descriptors, %ld threads\n", hour, number,
		       h.rss_kb, h.descriptors, h.threads);
		if (hour == 1)
			first = h;
	}
	check(h.rss_kb <= first.rss_kb + SLACK_KB, "it grew by %ld KB", h.rss_kb - first.rss_kb);
	check(h.threads <= first.threads, "%ld threads more", h.threads - first.threads);
	check(h.descriptors <= first.descriptors, "%ld descriptors more",
	      h.descriptors - first.descriptors);
	return 0;
}
