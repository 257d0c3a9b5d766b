/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of host agents: CPU time of the notification point per marked packet and per CNP
 * sent, CPU time of the reaction point per CNP received, CPU time of both when idle, and losses. Two
 * agents are threads of this process in a network namespace; packets that resemble RoCEv2 go over
 * its loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture.h"
#include "agent/loop.h"
#include "base/address.h"
#include "feedback/agent_conn.h"
#include "feedback/shm.h"
#include "tools/common/seconds.h"

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

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "marks: %s\n", what);
	exit(1);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* A network namespace with a loopback interface only. */
static void enter_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		fail("cannot create a network namespace: run it as root");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(ioctl(fd, SIOCSIFFLAGS, &lo) == 0, "lo");
	close(fd);
}

static double cpu_of(int i)
{
	clockid_t clock;

	check(pthread_getcpuclockid(thread[i], &clock) == 0, "pthread_getcpuclockid");
	return seconds_now(clock);
}

/* -- agents, and a client ----------------------------------------------------------- */

static void *run_agent(void *a)
{
	/* On Linux this sets the nice value of the calling thread. */
	check(!setpriority(PRIO_PROCESS, 0, agents_nice), "setpriority");
	ccs_agent_run(a);
	return NULL;
}

static void start_agent(int i, uint64_t interval_ns)
{
	char err[512];

	snprintf(path[i], sizeof(path[i]), "%s/%d", directory, i);
	config[i] = ccs_agent_defaults();
	config[i].socket = path[i];
	config[i].addresses = &address[i];
	config[i].naddresses = 1;
	config[i].capture = i == NP;
	config[i].interval_ns = interval_ns;
	agent[i] = ccs_agent_open(&config[i], err, sizeof(err));
	if (!agent[i])
		fail(err);
	check(pthread_create(&thread[i], NULL, run_agent, agent[i]) == 0, "pthread_create");
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

static void await_reply(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct ccs_ipc_result r;

	check(poll(&p, 1, -1) == 1, "poll");
	errno = ccs_agent_conn_reply(fd, &r);
	check(!errno, "no reply of the agent");
	errno = r.error;
	check(!errno, "refused by the agent");
}

static int create_region(void)
{
	const int memory = memfd_create("marks", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	check(ftruncate(memory, sizeof(*page)) == 0, "ftruncate");
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	check(page != MAP_FAILED, "mmap");
	page->magic = CCS_SHM_MAGIC;
	page->version = CCS_SHM_VERSION;
	page->slots = CCS_SHM_SLOTS;
	page->paths = CCS_SHM_PATHS;
	ccs_shm_touch(page, 0, sizeof(*page));
	check(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "fcntl");
	return memory;
}

/* Flow i's packets go from RP's address to QP i + 1 at NP's. */
static int connect_client(void)
{
	struct ccs_feedback_flow flow = { .device = "bench0", .port = 1 };
	const int memory = create_region(), fd = ccs_agent_conn_open(path[RP], memory);
	struct ccs_address from, to;

	check(fd >= 0, "connect");
	close(memory);
	await_reply(fd);
	ccs_address_parse(address[RP], &from);
	ccs_address_parse(address[NP], &to);
	memcpy(flow.local_gid, from.b, 16);
	memcpy(flow.peer_gid, to.b, 16);
	for (uint32_t slot = 0; slot < flows; slot++) {
		flow.local_qpn = flow.peer_qpn = slot + 1;
		errno = ccs_agent_conn_add(fd, slot, &flow);
		check(!errno, "send");
		await_reply(fd);
	}
	while (!page->path[atomic_load(&page->slot[0].path) - 1].last_seen_ns)
		seconds_sleep(0.01);
	return fd;
}

/* -- packets ---------------------------------------------------------------------------- */

static int bound_socket(const char *text, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ce = 3;

	inet_pton(AF_INET, text, &in.sin_addr);
	setsockopt(fd, IPPROTO_IP, IP_TOS, &ce, sizeof(ce));
	check(bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0, "bind");
	return fd;
}

/* In bursts, as switches make them, of one flow after the other. */
static uint64_t send_marks(double seconds, double rate)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ROCE) };
	const int sink = bound_socket(address[NP], ROCE), fd = bound_socket(address[RP], 0);
	const double since = seconds_now(CLOCK_MONOTONIC);
	uint8_t packet[BATCH][24] = { 0 };
	struct mmsghdr h[BATCH] = { 0 };
	struct iovec iov[BATCH];
	double due = since;
	uint64_t sent = 0;

	inet_pton(AF_INET, address[NP], &to.sin_addr);
	check(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
	while (due < since + seconds) {
		for (unsigned i = 0; i < BATCH; i++) {
			const uint32_t qpn = (uint32_t)((sent + i) % flows + 1);

			packet[i][5] = (uint8_t)(qpn >> 16);
			packet[i][6] = (uint8_t)(qpn >> 8);
			packet[i][7] = (uint8_t)qpn;
			iov[i] = (struct iovec){ packet[i], sizeof(packet[i]) };
			h[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
		}
		check(sendmmsg(fd, h, BATCH, 0) == BATCH, "sendmmsg");
		sent += BATCH;
		due += BATCH / rate;
		if (due > seconds_now(CLOCK_MONOTONIC))
			seconds_sleep(due - seconds_now(CLOCK_MONOTONIC));
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
static struct ccs_agent_totals measure(uint64_t interval_ns, double seconds, double rate,
				       double cpu[AGENTS], uint64_t *sent, uint64_t *reached)
{
	struct ccs_agent_totals totals;
	int client;

	start_agent(RP, interval_ns);
	start_agent(NP, interval_ns);
	client = connect_client();
	for (int i = 0; i < AGENTS; i++)
		cpu[i] = -cpu_of(i);
	*sent = rate > 0 ? send_marks(seconds, rate) : 0;
	seconds_sleep(rate > 0 ? 0.3 : seconds); /* marks in flight arrive */
	for (int i = 0; i < AGENTS; i++)
		cpu[i] += cpu_of(i);
	late = drain_np();
	seconds_sleep(0.1);
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

		check(child >= 0, "fork");
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile uint64_t count = 0;; count++)
			;
	}
	/* A NIC delivers packets whatever the load is. */
	if (n)
		check(!setpriority(PRIO_PROCESS, 0, -20), "setpriority");
}

static void row(const char *name, const struct ccs_agent_totals *t, uint64_t sent,
		uint64_t reached, const double cpu[AGENTS], double seconds)
{
	printf("%-22s %9llu %8llu %8llu %9llu %9llu %7.2f %7.2f\n", name, (unsigned long long)sent,
	       (unsigned long long)(sent - t->ce), (unsigned long long)late,
	       (unsigned long long)t->cnps_sent, (unsigned long long)reached,
	       100 * cpu[NP] / seconds, 100 * cpu[RP] / seconds);
}

static void measure_all(double seconds, double rate)
{
	double idle[AGENTS], few[AGENTS], many[AGENTS], mark;
	uint64_t sent, reached;
	struct ccs_agent_totals t;

	printf("%-22s %9s %8s %8s %9s %9s %7s %7s\n", "", "CE sent", "CE lost", "CE late",
	       "CNPs sent", "reached", "NP %", "RP %");
	t = measure(CCS_AGENT_INTERVAL_NS, seconds, 0, idle, &sent, &reached);
	row("nothing", &t, sent, reached, idle, seconds);
	t = measure(3600000000000, seconds, rate, few, &sent, &reached);
	row("marks, a CNP a flow", &t, sent, reached, few, seconds);
	mark = (few[NP] - idle[NP]) / (double)sent;
	t = measure(CCS_AGENT_INTERVAL_NS, seconds, rate, many, &sent, &reached);
	row("marks, interval 50 us", &t, sent, reached, many, seconds);
	printf("\nCPU time: %.2f us for a marked packet at NP, %.2f us more for a CNP, %.2f us at RP\n",
	       mark * 1e6, ((many[NP] - idle[NP]) / (double)t.ce - mark) * (double)t.ce /
	       (double)(t.cnps_sent + !t.cnps_sent) * 1e6,
	       (many[RP] - idle[RP]) / (double)(reached + !reached) * 1e6);
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
	check(mkdtemp(directory) != NULL, directory);
	enter_network();
	start_busy(argc > 4 ? atoi(argv[4]) : 0);
	measure_all(seconds, rate);
	rmdir(directory);
	return 0;
}
