/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of host agents: CPU time of the notification point per marked packet and per CNP
 * sent, CPU time of the reaction point per CNP received, CPU time of both when idle, and losses. Two
 * agents are threads of this process in a network namespace; packets that resemble RoCEv2 go over
 * its loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture.h"
#include "agent/host/kernel_qps.h"
#include "agents.h"

enum { RP, NP, AGENTS, BATCH = 20, ROCE = 4791 };

static const char usage[] =
	"usage: marks [SECONDS [FLOWS [RATE [BUSY [NICE]]]]]\n"
	"Prints CPU time of the host agents for each marked packet and each CNP, with FLOWS (10000)\n"
	"marked RATE times a second (100000) in total for SECONDS (5) a row, and losses,\n"
	"beside BUSY processes that use all the CPU time they get (0), with agents of that NICE (0).\n"
	"Needs root, or a system that lets users make network namespaces.\n";

static const char *const address[AGENTS] = { "127.0.0.1", "127.0.0.2" };
static char directory[] = "/tmp/ccshim-marks-XXXXXX", path[AGENTS][64];
static struct ccs_agent_config config[AGENTS];
static struct ccs_agent *agent[AGENTS];
static pthread_t thread[AGENTS];
static struct ccs_shm *page;
static uint32_t flows;
static uint64_t late;                    /* marks that the last row did not process in time */
static int agents_nice;

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_of(int i)
{
	clockid_t clock;

	bench_check(pthread_getcpuclockid(thread[i], &clock) == 0, "pthread_getcpuclockid");
	return seconds_of(clock);
}

static void sleep_seconds(double s)
{
	const struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	nanosleep(&t, NULL);
}

/* -- agents, and a client ----------------------------------------------------------- */

static void *run_agent(void *a)
{
	/* On Linux this sets the nice value of the calling thread. */
	bench_check(!setpriority(PRIO_PROCESS, 0, agents_nice), "setpriority");
	ccs_agent_run(a);
	return NULL;
}

/* The kernel knows no queue pairs of these packets: what is measured is all but its answer. */
static int answer_live(void *arg, uint32_t qpn, char device[64])
{
	(void)arg;
	(void)qpn;
	device[0] = '\0';
	return 0;
}

static void start_agent(int i, uint64_t interval_ns, bool checked)
{
	char err[512];

	snprintf(path[i], sizeof(path[i]), "%s/%d", directory, i);
	config[i] = ccs_agent_defaults();
	config[i].socket = path[i];
	config[i].addresses = &address[i];
	config[i].naddresses = 1;
	config[i].capture = i == NP;
	config[i].interval_ns = interval_ns;
	config[i].check_qp = checked ? answer_live : NULL;
	agent[i] = ccs_agent_open(&config[i], err, sizeof(err));
	if (!agent[i])
		bench_fail(err);
	bench_check(pthread_create(&thread[i], NULL, run_agent, agent[i]) == 0, "pthread_create");
}

static void finish_agent(int i)
{
	char lock[80];

	ccs_agent_stop(agent[i]);
	pthread_join(thread[i], NULL);
	ccs_agent_close(agent[i]);
	snprintf(lock, sizeof(lock), "%s.lock", path[i]);
	unlink(lock);
}

/* Flow i's packets go from RP's address to QP i + 1 at NP's. */
static int connect_client(void)
{
	const int fd = bench_connect(path[RP], &page);

	for (uint32_t slot = 0; slot < flows; slot++)
		bench_add(fd, address[RP], address[NP], slot);
	while (!page->path[atomic_load(&page->slot[0].path) - 1].last_seen_ns)
		sleep_seconds(0.01);
	return fd;
}

/* -- packets ---------------------------------------------------------------------------- */

static int bound_socket(const char *text, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ce = 3;

	inet_pton(AF_INET, text, &in.sin_addr);
	setsockopt(fd, IPPROTO_IP, IP_TOS, &ce, sizeof(ce));
	bench_check(bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0, "bind");
	return fd;
}

/* In bursts, as switches make them, of one flow after the other. */
static uint64_t send_marks(double seconds, double rate)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ROCE) };
	const int sink = bound_socket(address[NP], ROCE), fd = bound_socket(address[RP], 0);
	const double since = seconds_of(CLOCK_MONOTONIC);
	uint8_t packet[BATCH][24] = { 0 };
	struct mmsghdr h[BATCH] = { 0 };
	struct iovec iov[BATCH];
	double due = since;
	uint64_t sent = 0;

	inet_pton(AF_INET, address[NP], &to.sin_addr);
	bench_check(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
	while (due < since + seconds) {
		for (unsigned i = 0; i < BATCH; i++) {
			const uint32_t qpn = (uint32_t)((sent + i) % flows + 1);

			packet[i][5] = (uint8_t)(qpn >> 16);
			packet[i][6] = (uint8_t)(qpn >> 8);
			packet[i][7] = (uint8_t)qpn;
			iov[i] = (struct iovec){ packet[i], sizeof(packet[i]) };
			h[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
		}
		bench_check(sendmmsg(fd, h, BATCH, 0) == BATCH, "sendmmsg");
		sent += BATCH;
		due += BATCH / rate;
		if (due > seconds_of(CLOCK_MONOTONIC))
			sleep_seconds(due - seconds_of(CLOCK_MONOTONIC));
	}
	close(fd);
	close(sink);
	return sent;
}

/* -- rows ------------------------------------------------------------------------------- */

static uint64_t delivered(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < flows; i++)
		sum += atomic_load(&page->slot[i].cnps);
	return sum;
}

/* End NP's thread. Returns the marks that it had not processed 0.3 s after the last was sent. */
static uint64_t drain_np(void)
{
	const struct ccs_agent_totals *t = &agent[NP]->totals;
	uint64_t before, since;

	ccs_agent_stop(agent[NP]);
	pthread_join(thread[NP], NULL);
	since = before = t->ce;
	for (ccs_agent_turn(agent[NP], 0); t->ce != before; ccs_agent_turn(agent[NP], 0))
		before = t->ce;
	return t->ce - since;
}

/* CPU seconds of both agents, with marks or idle, and the totals of NP. */
static struct ccs_agent_totals measure(uint64_t interval_ns, bool checked, double seconds,
				       double rate, double cpu[AGENTS], uint64_t *sent, uint64_t *reached)
{
	struct ccs_agent_totals totals;
	int client;

	start_agent(RP, interval_ns, checked);
	start_agent(NP, interval_ns, checked);
	client = connect_client();
	for (int i = 0; i < AGENTS; i++)
		cpu[i] = -cpu_of(i);
	*sent = rate > 0 ? send_marks(seconds, rate) : 0;
	sleep_seconds(rate > 0 ? 0.3 : seconds); /* marks in flight arrive */
	for (int i = 0; i < AGENTS; i++)
		cpu[i] += cpu_of(i);
	late = drain_np();
	sleep_seconds(0.1);
	*reached = delivered();
	close(client);
	finish_agent(RP);
	totals = agent[NP]->totals;
	ccs_agent_close(agent[NP]);
	return totals;
}

/* They end with this process. */
static void start_busy(int n)
{
	for (int i = 0; i < n; i++) {
		const pid_t child = fork();

		bench_check(child >= 0, "fork");
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile uint64_t count = 0;; count++)
			;
	}
	/* A NIC delivers packets whatever the load is. */
	if (n)
		bench_check(!setpriority(PRIO_PROCESS, 0, -20), "setpriority");
}

static void row(const char *name, const struct ccs_agent_totals *t, uint64_t sent,
		uint64_t reached, const double cpu[AGENTS], double seconds)
{
	printf("%-22s %9llu %8llu %8llu %9llu %9llu %7.2f %7.2f\n", name, (unsigned long long)sent,
	       (unsigned long long)(sent - t->ce), (unsigned long long)late,
	       (unsigned long long)t->cnps_sent, (unsigned long long)reached,
	       100 * cpu[NP] / seconds, 100 * cpu[RP] / seconds);
}

/* CPU time of a reply of the kernel; agents request at most 2000 in a second. */
static void print_kernel_time(void)
{
	enum { TIMES = 1000 };
	struct ccs_kernel_qps l = { .netlink.fd = -1 };
	const double since = seconds_of(CLOCK_MONOTONIC);
	char device[64];
	int error = 0;

	for (uint32_t i = 0; i < TIMES; i++) {
		error = ccs_kernel_qps_check(&l, i, device);
		if (error && error != ENOENT)
			break;
	}
	if (error && error != ENOENT)
		printf("The kernel cannot answer here: %s\n", strerror(error));
	else
		printf("The kernel answers in %.2f us\n",
		       (seconds_of(CLOCK_MONOTONIC) - since) / TIMES * 1e6);
	ccs_netlink_close(&l.netlink);
}

static void measure_all(double seconds, double rate)
{
	double idle[AGENTS], few[AGENTS], many[AGENTS], checked[AGENTS], mark, added;
	uint64_t sent, reached;
	struct ccs_agent_totals t;

	printf("%-22s %9s %8s %8s %9s %9s %7s %7s\n", "", "CE sent", "CE lost", "CE late",
	       "CNPs sent", "reached", "NP %", "RP %");
	t = measure(CCS_AGENT_INTERVAL_NS, false, seconds, 0, idle, &sent, &reached);
	row("nothing", &t, sent, reached, idle, seconds);
	t = measure(3600000000000, false, seconds, rate, few, &sent, &reached);
	row("marks, a CNP a flow", &t, sent, reached, few, seconds);
	mark = (few[NP] - idle[NP]) / (double)sent;
	t = measure(3600000000000, true, seconds, rate, checked, &sent, &reached);
	row("the same, QPs checked", &t, sent, reached, checked, seconds);
	added = (checked[NP] - idle[NP]) / (double)sent - mark;
	t = measure(CCS_AGENT_INTERVAL_NS, false, seconds, rate, many, &sent, &reached);
	row("marks, interval 50 us", &t, sent, reached, many, seconds);
	printf("\nCPU time: %.2f us for a marked packet at NP, %.2f us more for a CNP, %.2f us at RP\n",
	       mark * 1e6, ((many[NP] - idle[NP]) / (double)t.ce - mark) * (double)t.ce /
	       (double)(t.cnps_sent + !t.cnps_sent) * 1e6,
	       (many[RP] - idle[RP]) / (double)(reached + !reached) * 1e6);
	printf("Check of QPs: %+.2f us for a marked packet, without the kernel's answer\n",
	       added * 1e6);
	print_kernel_time();
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 5, rate = argc > 3 ? atof(argv[3]) : 1e5;

	flows = argc > 2 ? (uint32_t)atoi(argv[2]) : 10000;
	agents_nice = argc > 5 ? atoi(argv[5]) : 0;
	if (argc > 6 || seconds <= 0 || rate <= 0 || !flows || flows > CCS_SHM_SLOTS) {
		fputs(usage, stderr);
		return 2;
	}
	bench_check(mkdtemp(directory) != NULL, directory);
	bench_own_network();
	start_busy(argc > 4 ? atoi(argv[4]) : 0);
	measure_all(seconds, rate);
	rmdir(directory);
	return 0;
}
