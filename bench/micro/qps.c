/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures queue pairs: resident memory, address space, CPU time to create and destroy. */
#include <getopt.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
	"usage: qps [-d DEVICE] [-n QPS] [-q DEPTH] [-c CQE] [-r ROUNDS] [-s] [-j]\n"
	"Create QPs and destroy them; print what each took, in KB and us. Without the shim, and\n"
	"with it: ccshim run bench/micro/qps. Kernel memory that is not mapped is not counted.\n"
	"Memory is measured in the first round; CPU time is the mean of all rounds.\n"
	"\n"
	"  -d DEVICE  default: the first device\n"
	"  -n QPS     how many: 1000\n"
	"  -q DEPTH   requests that each may have outstanding: 16\n"
	"  -c CQE     entries of a completion queue: 4096\n"
	"  -r ROUNDS  how often to do so: 1\n"
	"  -s         each QP has a separate completion queue\n"
	"  -j         JSON\n";

static struct {
	const char *device;
	int qps, cqe, rounds;
	uint32_t depth;
	int separate, json;
} opt = { .qps = 1000, .cqe = 4096, .rounds = 1, .depth = 16 };

struct usage {
	long rss, size;                  /* KB */
	double create, destroy;          /* us of CPU time */
};

static long status_kb(const char *key)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			kb = atol(line + strlen(key) + 1);
	if (f)
		fclose(f);
	return kb;
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *check(void *p, const char *what)
{
	if (p)
		return p;
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = check(ibv_get_device_list(NULL), "devices");

	while (*list && opt.device && strcmp(ibv_get_device_name(*list), opt.device) != 0)
		list++;
	return check(ibv_open_device(check(*list, "no such device")), "open");
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:n:q:c:r:sj")) != -1)
		switch (c) {
		case 'd': opt.device = optarg; break;
		case 'n': opt.qps = atoi(optarg); break;
		case 'q': opt.depth = (uint32_t)atoi(optarg); break;
		case 'c': opt.cqe = atoi(optarg); break;
		case 'r': opt.rounds = atoi(optarg); break;
		case 's': opt.separate = 1; break;
		case 'j': opt.json = 1; break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
}

static void create(struct ibv_pd *pd, struct ibv_qp **qp, struct ibv_cq **cq)
{
	for (int i = 0; i < opt.qps; i++) {
		struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = {
			.max_send_wr = opt.depth, .max_recv_wr = 1, .max_send_sge = 1,
			.max_recv_sge = 1 } };

		cq[i] = !i || opt.separate
			? check(ibv_create_cq(pd->context, opt.cqe, NULL, NULL, 0), "cq") : cq[i - 1];
		attr.send_cq = attr.recv_cq = cq[i];
		qp[i] = check(ibv_create_qp(pd, &attr), "qp");
	}
}

static void destroy(struct ibv_qp **qp, struct ibv_cq **cq)
{
	for (int i = 0; i < opt.qps; i++) {
		ibv_destroy_qp(qp[i]);
		if (opt.separate || i + 1 == opt.qps)
			ibv_destroy_cq(cq[i]);
	}
}

static void print(const struct usage *each)
{
	printf(opt.json ? "{\"qps\":%d,\"depth\":%u,\"resident_kb\":%.1f,\"address_space_kb\":%.1f,"
			  "\"create_us\":%.1f,\"destroy_us\":%.1f}\n"
			: "%d QPs of %u: each %.1f KB resident, %.1f KB of address space, %.1f us of "
			  "CPU time to create, %.1f to destroy\n",
	       opt.qps, opt.depth, (double)each->rss / opt.qps, (double)each->size / opt.qps,
	       each->create / opt.qps / opt.rounds, each->destroy / opt.qps / opt.rounds);
}

int main(int argc, char **argv)
{
	struct usage total = { 0 };
	struct ibv_qp **qp;
	struct ibv_cq **cq;
	struct ibv_pd *pd;

	parse(argc, argv);
	pd = check(ibv_alloc_pd(open_device()), "pd");
	qp = check(calloc((size_t)opt.qps + 1, sizeof(*qp)), "memory");
	cq = check(calloc((size_t)opt.qps + 1, sizeof(*cq)), "memory");
	total.rss = -status_kb("VmRSS");
	total.size = -status_kb("VmSize");
	for (int i = 0; i < opt.rounds; i++) {
		total.create -= cpu_us();
		create(pd, qp, cq);
		total.create += cpu_us();
		if (!i) {
			total.rss += status_kb("VmRSS");
			total.size += status_kb("VmSize");
		}
		total.destroy -= cpu_us();
		destroy(qp, cq);
		total.destroy += cpu_us();
	}
	print(&total);
	return 0;
}
