/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the agent thread where no host agent runs: a marked packet leads to a CNP that slows the QP
 * that sent it. The test enters a new network namespace and requires root. RDMA netlink is
 * replaced: its kernel has no devices.
 */
#include "rig.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "feedback/ipc.h"
#include "feedback/wire.h"

#define HOST "10.250.0.1" /* address of fake0 */

enum { ROCE_PORT = 4791, CE = 3, BTH = 12 };

static const char *path;

/* -- RDMA netlink: the agent's end of a socket pair, and the kernel's -------------------- */

#define EXPORT __attribute__((visibility("default"))) /* the preload calls these */

static _Atomic int netlink_fd = -1, kernel_fd = -1;

/* The agent's threads may have a separate descriptor table: compare only there. */
static bool is_netlink(int fd)
{
	return gettid() != getpid() && fd == netlink_fd;
}

EXPORT int socket(int domain, int type, int protocol)
{
	int (*real)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	int end[2];

	if (domain != AF_NETLINK || protocol != NETLINK_RDMA)
		return real(domain, type, protocol);
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, end))
		return -1;
	kernel_fd = end[1];
	netlink_fd = end[0];
	return end[0];
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	int (*real)(int, const struct sockaddr *, socklen_t) =
		(int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");

	return is_netlink(fd) ? 0 : real(fd, to, len);
}

/* Each list is empty: of devices, so that no queue pair is asked for. */
EXPORT ssize_t send(int fd, const void *data, size_t len, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) =
		(ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	struct nlmsghdr h;

	if (!is_netlink(fd))
		return real(fd, data, len, flags);
	memcpy(&h, data, sizeof(h));
	h.nlmsg_len = sizeof(h);
	h.nlmsg_type = NLMSG_DONE;
	return real(kernel_fd, &h, sizeof(h), 0) == sizeof(h) ? (ssize_t)len : -1;
}

/* -------------------------------------------------------------------------------------- */

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 5000000 };

	nanosleep(&ts, NULL);
}

static struct sockaddr_in local_address(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, HOST, &a.sin_addr);
	return a;
}

/* Returns false if this process may not create a network namespace. */
static bool own_network(void)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	struct ifreq address = { .ifr_name = "lo:1" };
	const struct sockaddr_in a = local_address(0);
	int fd;

	if (unshare(CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	memcpy(&address.ifr_addr, &a, sizeof(a));
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &up), 0);
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &address), 0);
	close(fd);
	return true;
}

/* A packet from that QP's sender that a switch has marked. */
static void marked_packet(uint32_t qpn)
{
	const uint8_t bth[BTH] = { 0x0a, 0, 0xff, 0xff, 0, (uint8_t)(qpn >> 16),
				   (uint8_t)(qpn >> 8), (uint8_t)qpn };
	const struct sockaddr_in from = local_address(0), to = local_address(ROCE_PORT);
	const int fd = socket(AF_INET, SOCK_DGRAM, 0), tos = CE;

	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	sendto(fd, bth, sizeof(bth), 0, (const struct sockaddr *)&to, sizeof(to));
	close(fd);
}

/* The agent's status; "" without an agent. */
static const char *status(void)
{
	static char text[65536];
	const uint32_t ask = CCS_IPC_STATUS;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	ssize_t n = -1;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)) &&
	    send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) == sizeof(ask))
		n = recv(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

/* The test rig's first path is IPv6; this path is RoCE v2 over IPv4. */
static void move_path(const struct rig *r, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	assert_int_equal(rig_state(qp, IBV_QPS_SQD), 0);
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = 1;
	assert_int_equal(ibv_query_gid(r->ctx, 1, 1, &attr.ah_attr.grh.dgid), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV), 0);
	assert_int_equal(rig_state(qp, IBV_QPS_RTS), 0);
}

static void send_one(struct rig *r)
{
	struct ibv_wc wc;

	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, 4096, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* Until the status does not contain that text any more. */
static void send_marked(struct rig *r, uint32_t qpn, const char *until_not)
{
	while (strstr(status(), until_not)) {
		marked_packet(qpn);
		send_one(r);
		nap();
	}
}

static void run_ccshimd(void)
{
	const char *top = getenv("top_builddir");
	char program[1024];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child must not outlive a test that fails */
	snprintf(program, sizeof(program), "%s/tools/ccshimd/ccshimd", top ? top : ".");
	unsetenv("LD_PRELOAD");
	execl(program, program, "--verify", "none", "--socket", path, NULL);
	_exit(127);
}

/* As systemd with ccshimd.socket. The socket's file is the thread's until then. */
static int listen_at_path(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return unlink(path) || bind(fd, (const struct sockaddr *)&at, sizeof(at)) ||
	       listen(fd, 128) ? -1 : fd;
}

/* -1: it cannot. Other agents have it. */
static int bind_port(int family)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(CCS_WIRE_PORT) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port };
	const int fd = socket(family, SOCK_DGRAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (family == AF_INET ? !bind(fd, (const struct sockaddr *)&v4, sizeof(v4))
			      : !bind(fd, (const struct sockaddr *)&v6, sizeof(v6)))
		return fd;
	close(fd);
	return -1;
}

/* The socket and the port's sockets are descriptors 3 and up, as LISTEN_FDS wants it. */
static void run_ccshimd_by_systemd(void)
{
	int fd[3] = { listen_at_path(), bind_port(AF_INET), bind_port(AF_INET6) };
	char pid[16];

	for (int i = 0; i < 3; i++) {
		fd[i] = fcntl(fd[i], F_DUPFD, 64);
		if (fd[i] < 0)
			_exit(126);
	}
	for (int i = 0; i < 3; i++)
		dup2(fd[i], 3 + i);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "3", 1);
	run_ccshimd();
}

static bool has_systemd(void)
{
	return getenv("BY_SYSTEMD");
}

/* The thread ends, its client connects to ccshimd, and no thread takes its place. */
static void give_way_to_ccshimd(struct rig *r)
{
	char own[64];
	pid_t child;

	child = fork();
	if (!child)
		(has_systemd() ? run_ccshimd_by_systemd : run_ccshimd)();
	snprintf(own, sizeof(own), "\"pid\": %d,", (int)child);
	while (!strstr(status(), own) || !strstr(status(), "\"flows\": 2")) {
		assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
		send_one(r);
		nap();
	}
	assert_int_equal(bind_port(AF_INET), -1);
	assert_int_equal(bind_port(AF_INET6), -1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 100; i++) {
		send_one(r);
		nap();
		assert_string_equal(status(), "");
	}
	unlink(path);
}

/*
 * The kernel does not list the fake device's queue pairs, but this process registers its queue
 * pairs.
 */
static void a_marked_packet_causes_a_cnp_for_its_qp_if_there_is_one(void **state)
{
	enum { NO_QP = 0x654321 };
	struct rig r;

	if (geteuid() || !own_network())
		skip();
	rig_open(&r, (struct rig_conf){ 0 });
	move_path(&r, r.a);
	move_path(&r, r.b);
	while (!strstr(status(), "\"capturing\": true"))
		nap();
	send_marked(&r, NO_QP, "\"ce_no_qp\": 0");
	assert_non_null(strstr(status(), "\"cnps_sent\": 0"));
	send_marked(&r, r.b->qp_num, "\"cnps_accepted\": 0");
	send_one(&r);
	give_way_to_ccshimd(&r);
	rig_close(&r);
}

static bool file_contains(const char *file, const char *text)
{
	static char all[65536];
	FILE *f = fopen(file, "r");
	size_t n;

	assert_non_null(f);
	n = fread(all, 1, sizeof(all) - 1, f);
	fclose(f);
	all[n] = '\0';
	return strstr(all, text);
}

/*
 * The socket's directory does not exist. The agent thread has no stderr; the application's
 * stderr shows the error.
 */
static void the_log_has_the_reason_for_a_missing_agent_thread(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	while (!file_contains(path, "info: agent: cannot run in this process: ")) {
		send_one(&r);
		nap();
	}
	rig_close(&r);
}

/* $SELF is this program, $DIR a directory. */
static void run_script(const char *script)
{
	char exe[1024], dir[] = "/tmp/test_serve.XXXXXX";
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0 && mkdtemp(dir));
	exe[n] = '\0';
	setenv("SELF", exe, 1);
	setenv("DIR", dir, 1);
	if (system(script))
		fail_msg("the script failed in %s: %s", dir, script);
	assert_int_equal(system("rm -r \"$DIR\""), 0);
}

/* The report is of the process that has ended. */
static void the_report_counts_the_cnp_of_a_marked_packet(void **state)
{
	if (geteuid())
		skip();
	run_script("cd \"$DIR\" && \"$SELF\" \"$DIR\" > out && if ! grep -q SKIPPED out; then "
	    "grep -q '\"rp_cnp_handled\": [1-9]' report && [ ! -e agent.sock ]; fi");
}

static void an_agent_thread_gives_way_to_systemds_sockets(void **state)
{
	if (geteuid())
		skip();
	run_script("cd \"$DIR\" && BY_SYSTEMD=y \"$SELF\" \"$DIR\" > out 2>&1 || { cat out; false; }");
}

static void the_agent_threads_messages_reach_the_applications_stderr(void **state)
{
	run_script("\"$SELF\" \"$DIR/no/where\" \"$DIR/err\" > \"$DIR/out\" 2> \"$DIR/err\"");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest outer[] = {
		cmocka_unit_test(the_report_counts_the_cnp_of_a_marked_packet),
		cmocka_unit_test(an_agent_thread_gives_way_to_systemds_sockets),
		cmocka_unit_test(the_agent_threads_messages_reach_the_applications_stderr),
	};
	const struct CMUnitTest inner[] = {
		cmocka_unit_test(a_marked_packet_causes_a_cnp_for_its_qp_if_there_is_one),
	};
	const struct CMUnitTest none[] = {
		cmocka_unit_test(the_log_has_the_reason_for_a_missing_agent_thread),
	};
	char agent[300], report[300], socket[256];

	if (argc < 2)
		return cmocka_run_group_tests_name("agent thread", outer, NULL, NULL);
	snprintf(socket, sizeof(socket), "%.200s/agent.sock", argv[1]);
	snprintf(agent, sizeof(agent), "CCSHIM_AGENT=%s", socket);
	snprintf(report, sizeof(report), "CCSHIM_REPORT=%.200s/report", argv[1]);
	rig_exec(argv, agent, report, "CCSHIM_CC=dcqcn", "CCSHIM_AGENT_THREAD=y",
		 "CCSHIM_LOG_LEVEL=info", NULL);
	alarm(120);
	path = argc > 2 ? argv[2] : socket;
	if (argc > 2)
		return cmocka_run_group_tests_name("no agent", none, NULL, NULL);
	return cmocka_run_group_tests_name("agent thread in a process", inner, NULL, NULL);
}
