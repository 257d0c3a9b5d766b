/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Under a flood of HELLOs without the key, which one processor sends as fast as it can: the time
 * from the first flow of a host whose agent has just started, and has the key, to its lease. All
 * agents run in a network namespace of this program.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/net/udp.h"
#include "agents.h"
#include "tools/ccshimd/auth.h"

enum { BATCH = 64, STARTS_MOST = 1000, PAUSE_MS = 20, FLOOD_PRIORITY = 1, AGENT_PRIORITY = 2 };

static const char usage[] =
	"usage: leases [STARTS [AIM_MS]]\n"
	"Prints the time to a lease of STARTS (50) hosts that have the key and start one after the\n"
	"other, without a flood, and under floods without the key from one address, from addresses\n"
	"of many networks, and from the hosts that start; and the number that took longer than\n"
	"AIM_MS (200). Needs root, or a system that lets users make network namespaces.\n";

static const char *const flooded_address = "127.0.0.1";
static char directory[] = "/tmp/ccshim-leases-XXXXXX", key_file[64], flooded_path[64], path[64];
static struct ccs_agent_auth auth;

/* Results of the processes. */
static struct {
	_Atomic uint64_t sent, refused, dropped, cpu_us; /* cpu_us: CPU time of the flooded agent */
	_Atomic bool ready;
} *shared;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void sleep_ms(unsigned ms)
{
	nanosleep(&(const struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/*
 * A flood has a processor for itself here, and agents get the CPU time that they need, as with
 * CPUWeight in ccshimd.service. Nice values have no effect across sessions.
 */
static void set_priority(int priority)
{
	if (sched_setscheduler(0, SCHED_RR, &(const struct sched_param){ .sched_priority = priority }))
		fputs("leases: without real-time priority, other load delays what is measured\n", stderr);
}

static void write_key(void)
{
	const char key[] = "000102030405060708090a0b0c0d0e0f\n";
	const int fd = open(key_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char err[512];

	bench_check(write(fd, key, strlen(key)) == (ssize_t)strlen(key), key_file);
	close(fd);
	if (auth_open(&auth, key_file, err, sizeof(err)))
		bench_fail(err);
	unlink(key_file);
}

static struct ccs_agent *open_agent(const char *socket, const char *const *address)
{
	struct ccs_agent_config config = ccs_agent_defaults();
	struct ccs_agent *a;
	char err[512];

	config.socket = socket;
	config.addresses = address;
	config.naddresses = 1;
	config.capture = false;
	config.auth = &auth;
	a = ccs_agent_open(&config, err, sizeof(err));
	if (!a)
		bench_fail(err);
	return a;
}

static pid_t start_process(void)
{
	const pid_t pid = fork();

	bench_check(pid >= 0, "fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static pid_t start_flooded(void)
{
	const pid_t pid = start_process();
	struct timespec cpu;
	struct ccs_agent *a;

	if (pid)
		return pid;
	a = open_agent(flooded_path, &flooded_address);
	shared->ready = true;
	for (;;) {
		ccs_agent_turn(a, 10000000);
		shared->refused = a->totals.refused[CCS_REFUSED_AUTH];
		shared->dropped = ccs_udp_dropped(a);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
		shared->cpu_us = (uint64_t)cpu.tv_sec * 1000000 + (uint64_t)cpu.tv_nsec / 1000;
	}
}

static size_t make_hello(uint8_t *buf)
{
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 1ull << 60, .sequence = 1 },
		.hello = { .lease_ms = 3000, .requested = CCS_PEER_NP },
	};
	const size_t len = ccs_wire_encode(&m, buf);

	memset(buf + len, 0x5a, CCS_WIRE_TAG);
	return len + CCS_WIRE_TAG;
}

enum flood { NO_FLOOD, ONE_ADDRESS, MANY_NETWORKS, SAME_ADDRESSES, FLOODS };

static const char *const flood_name[FLOODS] = {
	"none", "of one address", "of 250 networks", "of the same hosts",
};

static const char *host_address(unsigned i)
{
	static char text[INET_ADDRSTRLEN];

	snprintf(text, sizeof(text), "127.1.%u.%u", i / 250, i % 250 + 1);
	return text;
}

/* The sources that a flood has sockets for. */
static unsigned open_sources(enum flood flood, unsigned starts, int *fd)
{
	const unsigned n = flood == ONE_ADDRESS ? 1 : flood == SAME_ADDRESSES ? starts : 250;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(CCS_WIRE_PORT) };

	inet_pton(AF_INET, flooded_address, &to.sin_addr);
	for (unsigned i = 0; i < n; i++) {
		struct sockaddr_in in = { .sin_family = AF_INET };

		in.sin_addr.s_addr = htonl(flood == SAME_ADDRESSES ? 0 : 0x7f020001 + (i << 8));
		if (flood != SAME_ADDRESSES) /* of which the hosts have the port */
			in.sin_port = to.sin_port;
		else
			inet_pton(AF_INET, host_address(i), &in.sin_addr);
		fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		bench_check(!bind(fd[i], (struct sockaddr *)&in, sizeof(in)) &&
			    !connect(fd[i], (struct sockaddr *)&to, sizeof(to)), "bind");
	}
	return n;
}

static pid_t start_flood(enum flood flood, unsigned starts)
{
	const pid_t pid = start_process();
	struct mmsghdr h[BATCH] = { 0 };
	uint8_t message[CCS_WIRE_MAX + CCS_WIRE_TAG];
	struct iovec iov = { message, make_hello(message) };
	int fd[STARTS_MOST];
	unsigned n;
	cpu_set_t one;

	if (pid)
		return pid;
	set_priority(FLOOD_PRIORITY);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	n = open_sources(flood, starts, fd);
	for (unsigned i = 0; i < BATCH; i++)
		h[i].msg_hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
	for (unsigned i = 0;; i++) {
		const int sent = sendmmsg(fd[i % n], h, BATCH, 0);

		shared->sent += sent > 0 ? (uint64_t)sent : 0;
	}
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void *run_agent(void *a)
{
	ccs_agent_run(a);
	return NULL;
}

/* ms; the flow is added as soon as the agent runs. */
static double time_to_lease(unsigned i)
{
	const char *address = host_address(i);
	struct ccs_agent *a = open_agent(path, &address);
	struct ccs_shm *shm;
	pthread_t thread;
	double since;
	int fd;

	bench_check(pthread_create(&thread, NULL, run_agent, a) == 0, "pthread_create");
	fd = bench_connect(path, &shm);
	since = now_ms();
	bench_add(fd, address, flooded_address, 0);
	while (!shm->path[atomic_load(&shm->slot[0].path) - 1].last_seen_ns && now_ms() < since + 60e3)
		nanosleep(&(const struct timespec){ .tv_nsec = 200000 }, NULL);
	since = now_ms() - since;
	ccs_agent_stop(a);
	pthread_join(thread, NULL);
	close(fd);
	munmap(shm, sizeof(*shm));
	ccs_agent_close(a);
	return since;
}

static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void measure(enum flood flood, unsigned starts, double aim_ms)
{
	const pid_t flooder = flood ? start_flood(flood, starts) : 0;
	double ms[STARTS_MOST], since;
	uint64_t sent, refused, dropped, cpu_us;
	unsigned late = 0;

	sleep_ms(500);
	since = now_ms();
	sent = shared->sent;
	refused = shared->refused;
	dropped = shared->dropped;
	cpu_us = shared->cpu_us;
	for (unsigned i = 0; i < starts; i++) {
		sleep_ms(PAUSE_MS);
		ms[i] = time_to_lease(i);
		late += ms[i] > aim_ms;
	}
	since = (now_ms() - since) / 1e3;
	qsort(ms, starts, sizeof(*ms), compare);
	printf("%-18s %9.0f %9.0f %9.0f %6.0f %8.1f %8.1f %8.1f %8.1f %6u\n", flood_name[flood],
	       (double)(shared->sent - sent) / since, (double)(shared->refused - refused) / since,
	       (double)(shared->dropped - dropped) / since,
	       (double)(shared->cpu_us - cpu_us) / since / 1e4, ms[0], ms[starts / 2],
	       ms[starts * 9 / 10], ms[starts - 1], late);
	fflush(stdout);
	if (flooder)
		end_process(flooder);
}

int main(int argc, char **argv)
{
	const int starts = argc > 1 ? atoi(argv[1]) : 50;
	const double aim_ms = argc > 2 ? atof(argv[2]) : 200;
	pid_t flooded;

	if (argc > 3 || starts < 1 || starts > STARTS_MOST || !(aim_ms > 0)) {
		fputs(usage, stderr);
		return 2;
	}
	bench_check(mkdtemp(directory) != NULL, directory);
	snprintf(key_file, sizeof(key_file), "%s/key", directory);
	snprintf(flooded_path, sizeof(flooded_path), "%s/0", directory);
	snprintf(path, sizeof(path), "%s/1", directory);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bench_check(shared != MAP_FAILED, "mmap");
	write_key();
	bench_own_network();
	set_priority(AGENT_PRIORITY);
	flooded = start_flooded();
	while (!shared->ready)
		sleep_ms(1);
	printf("%-18s %9s %9s %9s %6s %8s %8s %8s %8s %6s\n", "flood", "sent/s", "refused/s", "dropped/s",
	       "CPU %", "least ms", "median", "p90", "most", "late");
	for (enum flood flood = NO_FLOOD; flood < FLOODS; flood++)
		measure(flood, (unsigned)starts, aim_ms);
	end_process(flooded);
	unlink(flooded_path);
	strcat(flooded_path, ".lock");
	unlink(flooded_path);
	strcat(path, ".lock");
	unlink(path);
	rmdir(directory);
	return 0;
}
