/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of the host agent with flows that only pretend to send, so that it receives
 * their path: telemetry SOCKET MS PERIOD_US INTERFACE PORT LOCAL PEER... A line on stdout:
 *
 *   r NS FLOWS PATH COVERS_NS HOP...  each time that telemetry of the first flow is new;
 *                                     HOP: LINK:TS_NS:TX_BYTES:QLEN_BYTES:CAPACITY
 *   x NS BYTES                        came in by INTERFACE, every 20 ms
 *   t NS BYTES BACKLOG                of the switch's PORT according to tc, at the same time
 *
 * With PORT - there are no lines x and t.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "feedback/agent_conn.h"
#include "feedback/shm.h"

enum { COMPARE_MS = 20 };

static void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct ccs_shm *make_page(int *fd)
{
	struct ccs_shm *page;

	*fd = memfd_create("telemetry", MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, sizeof(*page)) ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		die("page");
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (page == MAP_FAILED)
		die("page");
	page->magic = CCS_SHM_MAGIC;
	page->version = CCS_SHM_VERSION;
	page->slots = CCS_SHM_SLOTS;
	page->paths = CCS_SHM_PATHS;
	ccs_shm_touch(page, 0, sizeof(*page));
	return page;
}

static void answered(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct ccs_ipc_result result;
	int passed;

	while ((errno = ccs_agent_conn_reply(fd, &result, &passed)) == EAGAIN)
		poll(&p, 1, -1);
	if (errno || (errno = result.error))
		die("the agent's answer");
}

static void set_gid(uint8_t gid[16], const char *address)
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	if (inet_pton(AF_INET, address, gid + 12) != 1)
		die(address);
}

static void add_flow(int fd, uint32_t slot, const char *local, const char *peer)
{
	struct ccs_feedback_flow flow = {
		.device = "none", .port = 1, .local_qpn = 0x1000 + slot, .peer_qpn = 0x2000 + slot,
	};

	set_gid(flow.local_gid, local);
	set_gid(flow.peer_gid, peer);
	if (ccs_agent_conn_add(fd, slot, &flow))
		die("flow");
	answered(fd);
}

static void print_records(const struct ccs_shm *page)
{
	static uint64_t shown_ns;
	const uint32_t path = atomic_load(&page->slot[0].path);
	struct ccs_path_telemetry t;

	if (!path || !ccs_shm_path_read(&page->path[path - 1], &t) || t.updated_ns == shown_ns)
		return;
	shown_ns = t.updated_ns;
	printf("r %" PRIu64 " %u %x %" PRIu64, t.updated_ns, t.flows, t.path, t.covers_ns);
	for (unsigned i = 0; i < t.nhops; i++)
		printf(" %x:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%.0f", t.link[i], t.hops[i].ts_ns,
		       t.hops[i].tx_bytes, t.hops[i].qlen_bytes, t.hops[i].capacity);
	putchar('\n');
}

/* What a command prints, as numbers of this line. */
static void compare(char mark, const char *command)
{
	char text[256] = "";
	FILE *f;

	fflush(stdout);
	f = popen(command, "r");
	if (!f || !fgets(text, sizeof(text), f) || pclose(f))
		die(command);
	printf("%c %" PRIu64 " %s", mark, now_ns(), text);
}

static void watch_records(struct ccs_shm *page, unsigned flows, int ms, const char *interface,
		  const char *port)
{
	const struct timespec step = { .tv_nsec = 100000 };
	char cat[128], tc[256];

	snprintf(cat, sizeof(cat), "cat /sys/class/net/%s/statistics/rx_bytes", interface);
	snprintf(tc, sizeof(tc), "tc -n sw -s -j qdisc show dev %s root |"
		 "jq -r '.[0] | \"\\(.bytes) \\(.backlog)\"'", port);
	for (int i = 0; i < 10 * ms; i++) {
		nanosleep(&step, NULL);
		for (unsigned slot = 0; slot < flows; slot++)
			atomic_fetch_add(&page->slot[slot].sent, 1);
		print_records(page);
		if (i % (10 * COMPARE_MS) || strcmp(port, "-") == 0)
			continue;
		compare('x', cat);
		compare('t', tc);
	}
}

int main(int argc, char **argv)
{
	unsigned flows = 0;
	struct ccs_shm *page;
	int fd, page_fd;

	if (argc < 8) {
		fputs("telemetry SOCKET MS PERIOD_US INTERFACE PORT LOCAL PEER...\n", stderr);
		return 2;
	}
	page = make_page(&page_fd);
	fd = ccs_agent_conn_open(argv[1], page_fd);
	if (fd < 0)
		die(argv[1]);
	answered(fd);
	for (int i = 6; i + 1 < argc; i += 2, flows++) {
		page->slot[flows].requested = CCS_PEER_TELEMETRY;
		page->slot[flows].period_us = (uint32_t)atoi(argv[3]);
		add_flow(fd, flows, argv[i], argv[i + 1]);
	}
	watch_records(page, flows, atoi(argv[2]), argv[4], argv[5]);
	return 0;
}
