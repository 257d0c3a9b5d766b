/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients of a host agent: connections, requests, their limits, and status. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/events.h"
#include "agent/host/core.h"
#include "agentrig.h"
#include "seed.h"

enum { RP, NP };

/* -- clients -------------------------------------------------------------------------- */

/* Whatever its starter's umask is: in a process that it serves it is not its to change. */
RIG_TEST(other_users_can_connect_to_the_socket)
{
	struct rig *r = *state;
	const mode_t old = umask(077);
	char dir[96], path[112];
	struct stat st;

	snprintf(dir, sizeof(dir), "%s/run", r->dir);
	snprintf(path, sizeof(path), "%s/agent", dir);
	rig_stop(r, RP);
	r->config[RP].socket = path;
	rig_start(r, RP);
	umask(old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	rig_stop(r, RP);
	rmdir(dir);
}

/* A wrong path does not remove the file there. */
RIG_TEST(only_a_stale_socket_is_replaced)
{
	struct rig *r = *state;
	char err[512] = "";
	struct stat st;

	rig_stop(r, RP);
	close(open(r->socket[RP], O_CREAT | O_WRONLY, 0600));
	assert_null(ccs_agent_open(&r->config[RP], err, sizeof(err)));
	assert_int_equal(errno, ENOTSOCK);
	assert_int_equal(stat(r->socket[RP], &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(r->socket[RP]);
}

RIG_TEST(invalid_regions_are_refused)
{
	struct rig *r = *state;
	const uint32_t head[4] = { CCS_SHM_MAGIC, CCS_SHM_VERSION, CCS_SHM_SLOTS, CCS_SHM_PATHS };
	struct ccs_shm *shm;
	int fd, conn;

	fd = memfd_create("test", MFD_ALLOW_SEALING);           /* not sealed */
	assert_int_equal(ftruncate(fd, sizeof(*shm)), 0);
	conn = rig_dial(r, RP);
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	assert_non_null(strstr(r->said, "not sealed"));
	close(fd);

	fd = memfd_create("test", MFD_ALLOW_SEALING);           /* short */
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	close(fd);

	fd = rig_region(&shm);                                   /* of another version */
	shm->version++;
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	shm->version--;
	shm->magic++;
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	shm->magic--;

	assert_int_equal(rig_hello(r, conn, fd), 0);            /* and it may try again */
	assert_int_equal(rig_hello(r, conn, fd), EALREADY);
	munmap(shm, sizeof(*shm));
	close(fd);
	close(conn);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 0);
}

static void count_alive(void *arg)
{
	atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

static void *run_agent(void *arg)
{
	ccs_agent_run(arg);
	return NULL;
}

RIG_TEST(an_idle_agent_reports_that_it_is_alive)
{
	static _Atomic unsigned alive;
	struct rig *r = *state;
	pthread_t thread;

	rig_stop(r, RP);
	r->config[RP].now = NULL;
	r->config[RP].alive = count_alive;
	r->config[RP].alive_arg = &alive;
	r->config[RP].alive_ns = 1000000;
	rig_start(r, RP);
	assert_int_equal(pthread_create(&thread, NULL, run_agent, r->agent[RP]), 0);
	while (atomic_load(&alive) < 5)
		usleep(1000);
	ccs_agent_stop(r->agent[RP]);
	pthread_join(thread, NULL);
}

RIG_TEST(other_ipc_versions_are_refused)
{
	struct rig *r = *state;
	struct ccs_ipc_hello m = { CCS_IPC_HELLO, CCS_IPC_VERSION + 1 };
	const struct ccs_ipc_add add = rig_flow(r, RP, 1, 0);
	const uint32_t unknown = 99;
	const int fd = rig_dial(r, RP);

	assert_int_equal(rig_request(r, fd, &m, sizeof(m)), EPROTONOSUPPORT);
	assert_non_null(strstr(r->said, "version 2"));
	assert_int_equal(rig_request(r, fd, &add, sizeof(add)), EPROTO);
	assert_int_equal(rig_request(r, fd, &unknown, sizeof(unknown)), EOPNOTSUPP);
	close(fd);
}

static int refused_flow(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid)
{
	(void)arg;
	assert_int_equal(pid, getpid());
	assert_true(uid == getuid() || uid == CCS_ANY_USER);
	return qp->local_qpn == 0x109 ? EPERM : 0;
}

RIG_TEST(invalid_flows_are_refused)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_ipc_add m;

#define REFUSED(error, change) do { \
		m = rig_flow(r, RP, 1, 1); \
		change; \
		assert_int_equal(rig_request(r, c.fd, &m, sizeof(m)), error); \
	} while (0)

	REFUSED(EINVAL, m.slot = CCS_SHM_SLOTS);
	REFUSED(EINVAL, m.local_qpn = 0);
	REFUSED(EINVAL, m.peer_qpn = 1 << 24);
	REFUSED(EINVAL, memset(m.device, 'x', sizeof(m.device)));
	REFUSED(EINVAL, memset(m.peer_gid, 0, 16));
	REFUSED(EINVAL, m.peer_gid[0] = 0xfe);
	REFUSED(EINVAL, m.peer_gid[12] = 239);
	REFUSED(EADDRNOTAVAIL, m.local_gid[15] = 9);
	REFUSED(0, (void)m);
	REFUSED(EEXIST, (void)m);
	r->agent[RP]->config.check_owner = refused_flow;
	REFUSED(EPERM, m.local_qpn = 0x109; m.slot = 2);
	REFUSED(0, m.slot = 3);
	r->agent[RP]->flows.n += CCS_AGENT_FLOWS;
	REFUSED(ENOSPC, m.slot = 4);
	r->agent[RP]->flows.n -= CCS_AGENT_FLOWS;
	assert_int_equal(r->agent[RP]->flows.n, 2);
	rig_hang_up(&c);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->flows.n, 0);
}

/* The user of a client; 0: an administrator. The rig's are of the test's user. */
static void set_user(struct rig *r, const struct rig_client *c, uid_t uid)
{
	const uint64_t mark = c->shm->heartbeat_ns;

	atomic_store(&c->shm->heartbeat_ns, UINT64_MAX);
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++) {
		struct ccs_client *of = &r->agent[RP]->client[i];

		if (of->shm && of->shm->heartbeat_ns == UINT64_MAX) {
			rig_set_user(r->agent[RP], of, uid);
			of->standing = uid ? CCS_STANDING_USER : CCS_STANDING_ADMIN;
		}
	}
	atomic_store(&c->shm->heartbeat_ns, mark);
}

/* An unlimited number of slots for one QP would make each of its CNPs slow. */
RIG_TEST(slots_per_queue_pair_are_limited)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP), d = rig_client(r, RP);

	for (uint32_t slot = 0; slot < CCS_AGENT_SAME_QP; slot++)
		assert_int_equal(rig_add(r, &c, RP, 1, slot), 0);
	assert_int_equal(rig_add(r, &c, RP, 1, CCS_AGENT_SAME_QP), EBUSY);
	assert_int_equal(rig_add(r, &c, RP, 2, CCS_AGENT_SAME_QP), 0);
	assert_int_equal(rig_add(r, &d, RP, 1, 0), EBUSY);
	set_user(r, &d, getuid() + 1);
	assert_int_equal(rig_add(r, &d, RP, 1, 0), 0);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* A CNP is delivered to all slots of its QP, and a QP that is not connected may name any peer. */
RIG_TEST(flows_per_queue_pair_of_a_peer_are_limited)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_ipc_add m;

	for (uint32_t n = 0; n <= CCS_AGENT_SAME_QP; n++) {
		m = rig_flow(r, RP, n, n);
		m.peer_qpn = 0x300;
		assert_int_equal(rig_request(r, c.fd, &m, sizeof(m)), n < CCS_AGENT_SAME_QP ? 0 : EBUSY);
	}
	m.peer_qpn = 0x301;
	assert_int_equal(rig_request(r, c.fd, &m, sizeof(m)), 0);
	rig_hang_up(&c);
}

RIG_TEST(removed_flow_receives_no_cnps)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	const struct ccs_ipc_remove m = { CCS_IPC_REMOVE, 2 }, none = { CCS_IPC_REMOVE, 9 };

	rig_add(r, &c, RP, 1, 1);
	rig_add(r, &c, RP, 2, 2);
	assert_int_equal(send(c.fd, &none, sizeof(none), 0), sizeof(none));
	assert_int_equal(send(c.fd, &m, sizeof(m), 0), sizeof(m));
	rig_settle(r);
	rig_mark(r, NP, 2);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 2), 0);
	assert_int_equal(rig_cnps(&c, 1), 1);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_FLOW], 1);
	assert_int_equal(rig_add(r, &c, RP, 3, 2), 0);
	rig_mark(r, NP, 3);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 2), 1);
	rig_hang_up(&c);
}

/* A client that sends requests and does not read replies is dropped; others do not wait for it. */
RIG_TEST(client_that_reads_no_replies_is_disconnected)
{
	struct rig *r = *state;
	const uint32_t status = CCS_IPC_STATUS;
	const int fd = rig_dial(r, RP);
	int sent = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 100000; i++) {
		if (send(fd, &status, sizeof(status), MSG_NOSIGNAL) < 0 && errno == EPIPE)
			break;
		sent++;
		ccs_agent_turn(r->agent[RP], 0);
	}
	assert_in_range(sent, 1, 99999);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 0);
	close(fd);
}

RIG_TEST(number_of_clients_is_limited)
{
	struct rig *r = *state;
	int fd[CCS_AGENT_CLIENTS + 1], n = 0;
	char end;

	while (n <= CCS_AGENT_CLIENTS && r->agent[RP]->nclients == (unsigned)n) {
		fd[n++] = rig_dial(r, RP);
		ccs_agent_turn(r->agent[RP], 1000);
		if (r->agent[RP]->warning.next_ns[CCS_AGENT_WARN_ACCEPT])
			break; /* too few descriptors: the agent then waits for one */
	}
	if (!r->agent[RP]->warning.next_ns[CCS_AGENT_WARN_ACCEPT]) {
		assert_int_equal(recv(fd[n - 1], &end, 1, 0), 0);
		assert_non_null(strstr(r->said, "too many"));
		assert_int_equal(n - 1, r->agent[RP]->client[0].standing == CCS_STANDING_ADMIN
				 ? CCS_AGENT_CLIENTS : CCS_AGENT_CLIENTS_PER_UID);
	} else {
		assert_false(r->agent[RP]->listener.active);
	}
	while (n)
		close(fd[--n]);
	while (r->agent[RP]->nclients || !r->agent[RP]->listener.active) {
		usleep(1000); /* the thread that closes the refused one has copies of them */
		rig_pass(r, 200);
	}
}

/* -- an agent in a separate process, in real time ------------------------------- */

static void write_to_parent(void *arg, const char *sentence)
{
	ssize_t n = write(*(int *)arg, sentence, strlen(sentence));

	(void)n;
}

static void run_agent_in_child(const struct rig *r, int say)
{
	struct ccs_agent_config config = r->config[RP];
	struct ccs_agent *a;
	struct rlimit none;
	char err[512];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the agent must not outlive a test that fails */
	config.now = NULL;
	config.warn = write_to_parent;
	config.warn_arg = &say;
	a = ccs_agent_open(&config, err, sizeof(err));
	getrlimit(RLIMIT_NOFILE, &none);
	none.rlim_cur = 3; /* open descriptors stay open */
	setrlimit(RLIMIT_NOFILE, &none);
	write_to_parent(&say, a ? "open" : err);
	if (a)
		ccs_agent_run(a);
	_exit(1);
}

/* An agent without a descriptor for its only client accepts it as soon as it gets one. */
RIG_TEST(connections_are_accepted_once_descriptors_are_free)
{
	const struct timeval timeout = { .tv_sec = 3600 };
	struct rig *r = *state;
	struct ccs_ipc_hello m = { CCS_IPC_HELLO, CCS_IPC_VERSION };
	struct ccs_ipc_result result;
	struct rlimit enough;
	char said[512] = "";
	int fd, end[2];
	pid_t child;

	rig_stop(r, RP);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end), 0);
	getrlimit(RLIMIT_NOFILE, &enough);
	child = fork();
	if (!child)
		run_agent_in_child(r, end[0]);
	assert_true(recv(end[1], said, sizeof(said) - 1, 0) > 0);
	assert_string_equal(said, "open");
	fd = rig_dial(r, RP);
	assert_true(recv(end[1], said, sizeof(said) - 1, 0) > 0);
	assert_non_null(strstr(said, "cannot accept a connection"));
	assert_int_equal(prlimit(child, RLIMIT_NOFILE, &enough, NULL), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	send(fd, &m, sizeof(m), MSG_NOSIGNAL);
	result.error = recv(fd, &result, sizeof(result), 0) < 0 ? errno : result.error;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(r->socket[RP]);
	assert_int_equal(result.error, 0);
	close(fd);
	close(end[0]);
	close(end[1]);
}

/* Longer than any message of ours or of a newer client's. */
RIG_TEST(oversized_request_ends_the_connection)
{
	struct rig *r = *state;
	uint32_t m[1000] = { CCS_IPC_STATUS };
	const int fd = rig_dial(r, RP);

	assert_int_equal(send(fd, m, sizeof(m), 0), sizeof(m));
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 0);
	close(fd);
}

RIG_TEST(random_requests_are_harmless)
{
	struct rig *r = *state;
	struct rig_client good = rig_client(r, RP);

	rig_add(r, &good, RP, 1, 0);
	seed_start("random_requests_are_harmless");
	for (int i = 0; i < 300; i++) {
		const int fd = rig_dial(r, RP);
		uint32_t m[160];

		if (seed_below(2))
			rig_hello(r, fd, -1);
		for (unsigned j = 0; j < 160; j++)
			m[j] = (uint32_t)seed_next();
		if (seed_below(4))
			m[0] = (uint32_t)seed_below(8);
		send(fd, m, seed_below(sizeof(m)), MSG_NOSIGNAL);
		rig_settle(r);
		close(fd);
	}
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 1);
	assert_int_equal(r->agent[RP]->flows.n, 1);
	rig_hang_up(&good);
}

RIG_TEST(status_reports_all_counters)
{
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);
	const uint32_t status = CCS_IPC_STATUS;
	char text[65536];
	ssize_t n;

	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(send(c.fd, &status, sizeof(status), 0), sizeof(status));
	rig_settle(r);
	n = recv(c.fd, text, sizeof(text) - 1, 0);
	assert_in_range(n, 1, sizeof(text) - 1);
	text[n] = '\0';
	assert_non_null(strstr(text, "\"cnps_accepted\": 1"));
	assert_non_null(strstr(text, "\"remote\": \"127.0.0.2\""));
	assert_non_null(strstr(text, "\"flows\": 1"));
	rig_hang_up(&c);
}

static bool is_status(int fd)
{
	char text[65536];
	const ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	assert_in_range(n, 1, sizeof(text));
	return *text == '{';
}

static bool request_status(struct rig *r, const struct rig_client *c)
{
	const uint32_t status = CCS_IPC_STATUS;

	assert_int_equal(send(c->fd, &status, sizeof(status), 0), sizeof(status));
	rig_settle(r);
	return is_status(c->fd);
}

RIG_TEST(status_requests_of_a_user_are_limited)
{
	enum { USER = 4242, OTHER = 4243 };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP), d = rig_client(r, RP), e = rig_client(r, RP);

	set_user(r, &c, USER);
	set_user(r, &d, USER);
	set_user(r, &e, OTHER);
	assert_true(request_status(r, &c));
	assert_false(request_status(r, &c));
	assert_false(request_status(r, &d));
	assert_true(request_status(r, &e));
	rig_pass(r, 100);
	assert_true(request_status(r, &d));
	set_user(r, &d, 0);
	assert_true(request_status(r, &d));
	assert_true(request_status(r, &d));
	rig_hang_up(&c);
	rig_hang_up(&d);
	rig_hang_up(&e);
}

/* Other clients, marks and messages need not wait for the whole queue. */
RIG_TEST(a_turn_handles_few_requests_of_a_client)
{
	enum { N = 100 };
	struct rig *r = *state;
	struct ccs_ipc_result result;
	const uint32_t unknown = 99;
	const int fd = rig_dial(r, RP);
	int n = 0;

	rig_settle(r);
	for (int i = 0; i < N; i++)
		assert_int_equal(send(fd, &unknown, sizeof(unknown), 0), sizeof(unknown));
	ccs_agent_turn(r->agent[RP], 0);
	while (recv(fd, &result, sizeof(result), MSG_DONTWAIT) > 0)
		n++;
	assert_in_range(n, 1, N / 4);
	rig_settle(r);
	while (recv(fd, &result, sizeof(result), MSG_DONTWAIT) > 0)
		n++;
	assert_int_equal(n, N);
	close(fd);
}

static bool status_has(const struct rig *r, uid_t uid, enum ccs_standing standing, const char *words)
{
	const struct ccs_client viewer = { .uid = uid, .standing = standing };
	size_t len;
	char *text = ccs_status_text(r->agent[RP], &viewer, &len);
	bool has;

	assert_non_null(text);
	has = strstr(text, words);
	free(text);
	return has;
}

RIG_TEST(status_shows_a_user_only_what_is_his)
{
	enum { OWNER = 4242, OTHER };
	static const char *const secret[] = {
		"\"pid\": 99999999", "\"uid\": 4242", "\"remote\": \"127.0.0.2\"",
	};
	struct rig *r = *state;
	struct rig_client c = rig_client_with_flow(r, RP, 1, 0);

	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		if (r->agent[RP]->client[i].shm) {
			r->agent[RP]->client[i].uid = OWNER;
			r->agent[RP]->client[i].pid = 99999999;
			r->agent[RP]->client[i].standing = CCS_STANDING_USER;
		}
	for (unsigned i = 0; i < 3; i++) {
		assert_true(status_has(r, OTHER, CCS_STANDING_ADMIN, secret[i]));
		assert_true(status_has(r, OTHER, CCS_STANDING_AGENT, secret[i]));
		assert_true(status_has(r, OWNER, CCS_STANDING_USER, secret[i]));
		assert_false(status_has(r, OTHER, CCS_STANDING_USER, secret[i]));
		assert_false(status_has(r, 0, CCS_STANDING_USER, secret[i])); /* root of a container */
	}
	assert_true(status_has(r, OTHER, CCS_STANDING_USER, "\"cnps_sent\""));
	rig_set_standing(r, RP, CCS_STANDING_ADMIN);
	assert_false(status_has(r, OWNER, CCS_STANDING_USER, secret[0]));
	rig_hang_up(&c);
}
