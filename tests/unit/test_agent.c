/* SPDX-License-Identifier: BSD-2-Clause */
/* Host agents as a whole: leases, CNPs, restarts, and what must not impress them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/siphash.h"
#include "agentrig.h"
#include "seed.h"

enum { RP, NP };

/* -- what they are for ---------------------------------------------------------- */

static void a_mark_becomes_a_cnp_in_the_slot(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	assert_int_equal(rig_add(r, &c, RP, 1, 7), 0);
	rig_settle(r);
	assert_int_equal(rig_path(&c, 7)->heard_ns, r->now_ns);
	assert_int_equal(rig_cnps(&c, 7), 0);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 7), 1);
	assert_int_equal(c.page->slot[7].cnp_ns, r->now_ns);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[RP]->totals.cnps_accepted, 1);
	assert_int_equal(r->nsaid, 0);
	rig_hang_up(&c);
}

static void one_cnp_a_flow_and_interval(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_add(r, &c, RP, 1, 1);
	rig_add(r, &c, RP, 2, 2);
	rig_settle(r);
	for (int us = 0; us < 200; us++) {
		rig_mark(r, NP, 1);
		rig_mark(r, NP, 1);
		if (us == 10)
			rig_mark(r, NP, 2);
		r->now_ns += 1000;
	}
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 1), 4);
	assert_int_equal(rig_cnps(&c, 2), 1);
	rig_hang_up(&c);
}


/* -- leases and restarts ------------------------------------------------------------ */

static void without_a_lease_no_cnp(void **state)
{
	struct rig *r = *state;
	struct rig_client c;

	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 1);
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_hang_up(&c);
	rig_pass(r, 2900);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[RP]->totals.refused[CCS_REFUSED_PEER], 1);
	rig_pass(r, 200);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 2);
	assert_int_equal(r->agent[NP]->peers.high, 0);
	assert_int_equal(r->agent[RP]->peers.high, 0);
}

/* One that is known for another reason, too. */
static void a_lease_ends(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP), d = rig_client(r, NP);

	rig_add(r, &c, RP, 1, 0);
	rig_add(r, &d, NP, 1, 0);
	rig_pass(r, 500);
	rig_hang_up(&c);
	rig_pass(r, 3500);
	rig_mark(r, NP, 1);
	assert_int_equal(r->agent[NP]->peers.high, 1);
	assert_int_equal(r->agent[NP]->totals.ce_unasked, 1);
	assert_int_equal(r->agent[NP]->totals.cnps_sent, 0);
	rig_hang_up(&d);
}

static void a_lease_is_renewed(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_add(r, &c, RP, 1, 0);
	rig_pass(r, 20000);
	assert_in_range(r->now_ns - rig_path(&c, 0)->heard_ns, 0, 1100000000);
	/* One for the session, then one a second. */
	assert_in_range(r->agent[RP]->totals.hellos_sent, 19, 23);
	assert_int_equal(c.page->beat_ns, r->now_ns);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

static void the_np_agent_starts_again(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	uint64_t hellos;

	rig_add(r, &c, RP, 1, 0);
	rig_mark(r, NP, 1);
	rig_pass(r, 5000);
	rig_stop(r, NP);
	hellos = r->agent[RP]->totals.hellos_sent;
	rig_pass(r, 1500);
	assert_in_range(r->agent[RP]->totals.hellos_sent - hellos, 3, 4); /* soon again at first */
	rig_pass(r, 3500);
	assert_true(r->now_ns - rig_path(&c, 0)->heard_ns > 4000000000);
	rig_start(r, NP);
	rig_pass(r, 8000);
	assert_in_range(r->now_ns - rig_path(&c, 0)->heard_ns, 0, 1100000000);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 2);
	rig_hang_up(&c);
}

/* The page outlives the agent, and its counts go on. */
static void the_rp_agent_starts_again(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	char end;

	rig_add(r, &c, RP, 1, 3);
	rig_settle(r);
	rig_mark(r, NP, 1);
	rig_settle(r);
	rig_stop(r, RP);
	assert_int_equal(recv(c.fd, &end, 1, 0), 0);
	rig_pass(r, 300);
	rig_start(r, RP);
	close(c.fd);
	c.fd = rig_dial(r, RP);
	assert_int_equal(rig_hello(r, c.fd, c.page_fd), 0);
	assert_int_equal(rig_add(r, &c, RP, 1, 3), 0);
	rig_settle(r);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 3), 2);
	rig_hang_up(&c);
}

static void a_silent_peer_is_asked_ever_more_rarely(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_stop(r, NP);
	rig_add(r, &c, RP, 1, 0);
	rig_pass(r, 300);
	assert_int_equal(r->agent[RP]->totals.hellos_sent, 3);
	rig_pass(r, 60000);
	assert_in_range(r->agent[RP]->totals.hellos_sent, 8, 14);
	assert_int_equal(rig_path(&c, 0)->heard_ns, 0);
	rig_hang_up(&c);
}

static void an_np_says_whether_it_watches(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	assert_int_equal(rig_path(&c, 0)->flags, 0);
	r->agent[NP]->config.capture = true;
	rig_pass(r, 1200);
	assert_int_equal(rig_path(&c, 0)->flags, CCS_PEER_NP);
	r->agent[NP]->config.capture = false;
	rig_hang_up(&c);
}

static void both_directions_at_once(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, 0), d = rig_client(r, 1);

	rig_add(r, &c, 0, 1, 0);
	rig_add(r, &d, 1, 1, 0);
	rig_pass(r, 3000);
	for (int i = 0; i < 100; i++) {
		rig_mark(r, 1, 1);
		rig_mark(r, 0, 1);
		r->now_ns += 60000;
	}
	rig_pass(r, 1000);
	assert_int_equal(rig_cnps(&c, 0), 100);
	assert_int_equal(rig_cnps(&d, 0), 100);
	for (int i = 0; i < CCS_REFUSALS; i++)
		assert_int_equal(r->agent[0]->totals.refused[i] + r->agent[1]->totals.refused[i], 0);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

/* Marks come and go with flows, agents and time; each CNP that is sent is received. */
static void no_cnp_is_lost_or_doubled(void **state)
{
	enum { FLOWS = 200 };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	uint64_t sum = 0;

	seed_start("no_cnp_is_lost_or_doubled");
	for (unsigned i = 0; i < FLOWS; i++)
		assert_int_equal(rig_add(r, &c, RP, i, i), 0);
	rig_settle(r);
	for (int i = 0; i < 5000; i++) {
		rig_mark(r, NP, (unsigned)seed_below(FLOWS));
		r->now_ns += seed_below(10000);
		if (i % 100 == 0)
			rig_settle(r);
	}
	rig_settle(r);
	for (unsigned i = 0; i < FLOWS; i++)
		sum += rig_cnps(&c, i);
	assert_true(sum > 1000);
	assert_int_equal(sum, r->agent[NP]->totals.cnps_sent);
	assert_int_equal(sum, r->agent[RP]->totals.cnps_accepted);
	rig_hang_up(&c);
}

/* -- clients -------------------------------------------------------------------------- */

/* Whatever its starter's umask is: in a process that it serves it is not its to change. */
static void others_reach_the_socket(void **state)
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
	strcat(path, ".lock");
	unlink(path);
	rmdir(dir);
}

/* A path that was mistaken costs nobody a file. */
static void only_a_socket_gives_way(void **state)
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

static void wrong_pages_are_refused(void **state)
{
	struct rig *r = *state;
	const uint32_t head[4] = { CCS_PAGE_MAGIC, CCS_PAGE_VERSION, CCS_PAGE_SLOTS, CCS_PAGE_PATHS };
	struct ccs_page *page;
	int fd, conn;

	fd = memfd_create("test", MFD_ALLOW_SEALING);           /* not sealed */
	assert_int_equal(ftruncate(fd, sizeof(*page)), 0);
	conn = rig_dial(r, RP);
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	assert_non_null(strstr(r->said, "not sealed"));
	close(fd);

	fd = memfd_create("test", MFD_ALLOW_SEALING);           /* short */
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	close(fd);

	fd = rig_page(&page);                                   /* of another version */
	page->version++;
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	page->version--;
	page->magic++;
	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	page->magic--;

	assert_int_equal(rig_hello(r, conn, fd), 0);            /* and it may try again */
	assert_int_equal(rig_hello(r, conn, fd), EALREADY);
	munmap(page, sizeof(*page));
	close(fd);
	close(conn);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 0);
}

/* A connection whose other end reads nothing: to close it takes that many seconds. */
static int lingering(int seconds, int *reader)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = seconds };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	static const char bytes[1 << 20];

	assert_int_equal(bind(listener, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&in, &len);
	assert_int_equal(connect(fd, (struct sockaddr *)&in, len), 0);
	*reader = accept(listener, NULL, NULL);
	close(listener);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return fd;
}

/* Nobody makes the loop wait by what he passes. */
static void what_takes_long_to_close(void **state)
{
	struct rig *r = *state;
	const int conn = rig_dial(r, RP);
	const _Atomic bool *closing;
	const struct ccs_client *c;
	int reader, fd = lingering(30, &reader);
	char bytes[65536];

	rig_settle(r);
	for (c = r->agent[RP]->client; c->source.fd < 0; c++)
		;
	closing = &r->agent[RP]->closing->place[c - r->agent[RP]->client];
	rig_send_hello(conn, fd);
	close(fd);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 0);
	assert_true(*closing);
	while (read(reader, bytes, sizeof(bytes)) > 0)
		;
	close(reader);
	close(conn);
	while (*closing)
		usleep(1000); /* it is closed now, whenever that thread runs */
}

static void other_versions_are_told(void **state)
{
	struct rig *r = *state;
	struct ccs_local_hello m = { CCS_LOCAL_HELLO, CCS_LOCAL_VERSION + 1 };
	const struct ccs_local_add add = rig_flow(r, RP, 1, 0);
	const uint32_t unknown = 99;
	const int fd = rig_dial(r, RP);

	assert_int_equal(rig_ask(r, fd, &m, sizeof(m)), EPROTONOSUPPORT);
	assert_non_null(strstr(r->said, "version 2"));
	assert_int_equal(rig_ask(r, fd, &add, sizeof(add)), EPROTO);
	assert_int_equal(rig_ask(r, fd, &unknown, sizeof(unknown)), EOPNOTSUPP);
	close(fd);
}

static int refused_flow(void *arg, const struct ccs_local_add *qp, pid_t pid)
{
	(void)arg;
	assert_int_equal(pid, getpid());
	return qp->local_qpn == 0x109 ? EPERM : 0;
}

static void flows_that_cannot_be(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_local_add m;

#define REFUSED(error, change) do { \
		m = rig_flow(r, RP, 1, 1); \
		change; \
		assert_int_equal(rig_ask(r, c.fd, &m, sizeof(m)), error); \
	} while (0)

	REFUSED(EINVAL, m.slot = CCS_PAGE_SLOTS);
	REFUSED(EINVAL, m.local_qpn = 0);
	REFUSED(EINVAL, m.peer_qpn = 1 << 24);
	REFUSED(EINVAL, memset(m.device, 'x', sizeof(m.device)));
	REFUSED(EINVAL, memset(m.peer_gid, 0, 16));
	REFUSED(EINVAL, m.peer_gid[0] = 0xfe);
	REFUSED(EINVAL, m.peer_gid[12] = 239);
	REFUSED(EADDRNOTAVAIL, m.local_gid[15] = 9);
	REFUSED(0, (void)m);
	REFUSED(EEXIST, (void)m);
	r->agent[RP]->config.owner = refused_flow;
	REFUSED(EPERM, m.local_qpn = 0x109; m.slot = 2);
	REFUSED(0, m.slot = 3);
	r->agent[RP]->nflows += CCS_AGENT_FLOWS;
	REFUSED(ENOSPC, m.slot = 4);
	r->agent[RP]->nflows -= CCS_AGENT_FLOWS;
	assert_int_equal(r->agent[RP]->nflows, 2);
	rig_hang_up(&c);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nflows, 0);
}

/* Slots for one QP without end would make each of its CNPs take as long. */
static void a_queue_pair_in_many_slots(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP), d = rig_client(r, RP);

	for (uint32_t slot = 0; slot < CCS_AGENT_SAME_QP; slot++)
		assert_int_equal(rig_add(r, &c, RP, 1, slot), 0);
	assert_int_equal(rig_add(r, &c, RP, 1, CCS_AGENT_SAME_QP), EBUSY);
	assert_int_equal(rig_add(r, &c, RP, 2, CCS_AGENT_SAME_QP), 0);
	assert_int_equal(rig_add(r, &d, RP, 1, 0), 0);
	rig_hang_up(&c);
	rig_hang_up(&d);
}

static void a_removed_flow_hears_nothing(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	const struct ccs_local_remove m = { CCS_LOCAL_REMOVE, 2 }, none = { CCS_LOCAL_REMOVE, 9 };

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

/* Who asks and never reads is dropped, and nobody waits for him. */
static void a_client_that_does_not_read(void **state)
{
	struct rig *r = *state;
	const uint32_t status = CCS_LOCAL_STATUS;
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

static void no_more_clients_than_may_be(void **state)
{
	struct rig *r = *state;
	int fd[CCS_AGENT_CLIENTS + 1], n = 0;
	char end;

	while (n <= CCS_AGENT_CLIENTS && r->agent[RP]->nclients == (unsigned)n) {
		fd[n++] = rig_dial(r, RP);
		ccs_agent_turn(r->agent[RP], 1000);
		if (r->agent[RP]->said & 1u << CCS_TROUBLE_ACCEPT)
			break; /* no descriptors here for so many: then it waits for one */
	}
	if (!(r->agent[RP]->said & 1u << CCS_TROUBLE_ACCEPT)) {
		assert_int_equal(recv(fd[n - 1], &end, 1, 0), 0);
		assert_non_null(strstr(r->said, "too many"));
		assert_int_equal(n - 1, getuid() ? CCS_AGENT_CLIENTS_PER_UID : CCS_AGENT_CLIENTS);
	} else {
		assert_false(r->agent[RP]->listening);
	}
	while (n)
		close(fd[--n]);
	rig_pass(r, 200);
	rig_pass(r, 200);
	assert_true(r->agent[RP]->listening);
	assert_int_equal(r->agent[RP]->nclients, 0);
}

/* -- an agent in a process of its own, in its own time ------------------------------- */

static void tell_parent(void *arg, const char *sentence)
{
	ssize_t n = write(*(int *)arg, sentence, strlen(sentence));

	(void)n;
}

static void be_agent(const struct rig *r, int say)
{
	struct ccs_agent_config config = r->config[RP];
	struct ccs_agent *a;
	struct rlimit none;
	char err[512];

	config.now = NULL;
	config.say = tell_parent;
	config.say_arg = &say;
	a = ccs_agent_open(&config, err, sizeof(err));
	getrlimit(RLIMIT_NOFILE, &none);
	none.rlim_cur = 3; /* what is open stays so */
	setrlimit(RLIMIT_NOFILE, &none);
	tell_parent(&say, a ? "open" : err);
	if (a)
		ccs_agent_run(a);
	_exit(1);
}

/* Who finds no descriptor for its only client takes it as soon as there is one. */
static void a_connection_that_cannot_be_taken_yet(void **state)
{
	const struct timeval patience = { .tv_sec = 120 };
	struct rig *r = *state;
	struct ccs_local_hello m = { CCS_LOCAL_HELLO, CCS_LOCAL_VERSION };
	struct ccs_local_result result;
	struct rlimit enough;
	char said[512] = "";
	int fd, end[2];
	pid_t child;

	rig_stop(r, RP);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end), 0);
	getrlimit(RLIMIT_NOFILE, &enough);
	child = fork();
	if (!child)
		be_agent(r, end[0]);
	assert_true(recv(end[1], said, sizeof(said) - 1, 0) > 0);
	assert_string_equal(said, "open");
	fd = rig_dial(r, RP);
	assert_true(recv(end[1], said, sizeof(said) - 1, 0) > 0);
	assert_non_null(strstr(said, "cannot take a connection"));
	assert_int_equal(prlimit(child, RLIMIT_NOFILE, &enough, NULL), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
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
static void a_monster_is_no_message(void **state)
{
	struct rig *r = *state;
	uint32_t m[1000] = { CCS_LOCAL_STATUS };
	const int fd = rig_dial(r, RP);

	assert_int_equal(send(fd, m, sizeof(m), 0), sizeof(m));
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 0);
	close(fd);
}

static void a_client_may_say_anything(void **state)
{
	struct rig *r = *state;
	struct rig_client good = rig_client(r, RP);

	rig_add(r, &good, RP, 1, 0);
	seed_start("a_client_may_say_anything");
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
	assert_int_equal(r->agent[RP]->nflows, 1);
	rig_hang_up(&good);
}

static void status_tells_what_happened(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	const uint32_t status = CCS_LOCAL_STATUS;
	char text[65536];
	ssize_t n;

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
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

/* -- strangers -------------------------------------------------------------------------- */

/* The next CNP of NP for flow 1, as whoever listens could write it. */
static struct ccs_wire_message true_cnp(const struct rig *r)
{
	const struct ccs_peer *p = &r->agent[NP]->peers.peer[0];

	assert_int_not_equal(p->serial, 0);
	return (struct ccs_wire_message){
		.header = {
			.type = CCS_WIRE_CNP, .session = r->agent[RP]->peers.peer[0].session,
			.echo = p->session, .sequence = p->sequence + 1,
		},
		.cnp = { .qpn = 0x201, .marked = 1 },
	};
}

static uint64_t refused(const struct rig *r, enum ccs_refusal why)
{
	return r->agent[RP]->totals.refused[why];
}

/* What that host's agent says to whoever asks from an address of his own. */
static uint64_t session_told(struct rig *r, int host, const char *from)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(r->port) };
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .session = 5, .sequence = 1 },
	};
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t buf[CCS_WIRE_MAX];
	ssize_t n;

	inet_pton(AF_INET, from, &in.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	rig_forge_message(r, from, host, &m);
	n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	close(fd);
	assert_true(n > 0);
	assert_int_equal(ccs_wire_decode(buf, (size_t)n, &m), CCS_WIRE_OK);
	return m.header.session;
}

/* Who only sends from an address cannot use what he hears at another one. */
static void what_a_stranger_is_told_is_of_no_use(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m;

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	m = true_cnp(r);
	m.header.echo = session_told(r, RP, "127.0.0.3");
	rig_forge_message(r, "127.0.0.2", RP, &m);
	m = true_cnp(r);
	m.header.session = session_told(r, NP, "127.0.0.3");
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_SESSION), 2);
	assert_int_equal(rig_cnps(&c, 0), 0);
	rig_hang_up(&c);
}

/* As it was published. */
static void siphash_is_what_it_should_be(void **state)
{
	const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 }, word = key[0];

	(void)state;
	assert_true(ccs_siphash(key, &word, 0) == 0x726fdb47dd0e0e31);
	assert_true(ccs_siphash(key, &word, 1) == 0x93f5f5799a932462);
}

static void only_the_peer_is_believed(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m;

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	m = true_cnp(r);
	m.header.echo = session_told(r, RP, "127.0.0.3");
	rig_forge_message(r, "127.0.0.3", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_PEER), 1);
	m = true_cnp(r);
	m.header.echo ^= 1; /* who does not hear this host cannot know */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_SESSION), 1);
	m = true_cnp(r);
	m.header.session ^= 1;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_SESSION), 2);
	m = true_cnp(r);
	m.cnp.qpn = 0x999;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_FLOW), 1);
	assert_int_equal(rig_cnps(&c, 0), 0);
	m.header.sequence++;
	m.cnp.qpn = 0x201;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_hang_up(&c);
}

static void doubled_and_late_ones(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m;
	uint64_t first;

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	m = true_cnp(r);
	first = m.header.sequence;
	m.header.sequence = first + 70;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	rig_forge_message(r, "127.0.0.2", RP, &m);       /* doubled */
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 1);
	m.header.sequence = first + 7;                   /* overtaken, within the window */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(rig_cnps(&c, 0), 2);
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 2);
	m.header.sequence = first + 6;                   /* just beyond it */
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 3);
	m.header.sequence = UINT64_MAX;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	m.header.sequence = first + 71;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 4);
	assert_int_equal(rig_cnps(&c, 0), 3);
	rig_hang_up(&c);
}

/* What was said to an agent before it started again is of no use after it. */
static void messages_of_before_a_restart(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m;

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	m = true_cnp(r);
	rig_hang_up(&c);
	rig_stop(r, RP);
	rig_start(r, RP);
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_SESSION), 1);
	assert_int_equal(rig_cnps(&c, 0), 0);
	rig_hang_up(&c);
}

/* A HELLO by whoever does not hear the answer makes no lease, and ends none. */
static void a_hello_from_nowhere(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .session = UINT64_MAX, .sequence = 1 },
		.hello = { .lease_ms = 3000, .wants = CCS_PEER_NP },
	};
	uint64_t heard_ns;

	rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_int_equal(r->agent[NP]->peers.high, 0);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_forge_message(r, "127.0.0.1", NP, &m);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	/* One of a session before the live one, with the right echo: an old one, again. */
	m.header.session = 1;
	m.header.echo = r->agent[RP]->peers.peer[0].session;
	rig_forge_message(r, "127.0.0.1", NP, &m);
	assert_int_equal(r->agent[NP]->totals.refused[CCS_REFUSED_SESSION], 1);
	/* Answers that were not asked for, or not by this. */
	m = true_cnp(r);
	m.header.type = CCS_WIRE_HELLO_ACK;
	m.hello_ack.of = r->agent[RP]->peers.peer[0].sequence;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 1);
	rig_stop(r, NP);
	rig_pass(r, 1200);
	assert_int_not_equal(r->agent[RP]->peers.peer[0].asked, 0);
	m.hello_ack.lease_ms = 3000;
	heard_ns = rig_path(&c, 0)->heard_ns;
	rig_forge_message(r, "127.0.0.2", RP, &m);
	assert_int_equal(refused(r, CCS_REFUSED_REPLAYED), 2);
	assert_int_equal(rig_path(&c, 0)->heard_ns, heard_ns);
	rig_hang_up(&c);
}

static void strangers_do_not_keep_it_busy(void **state)
{
	struct rig *r = *state;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .session = 5, .sequence = 1 },
		.hello = { .lease_ms = 3000, .wants = CCS_PEER_NP },
	};
	struct rig_client c = rig_client(r, RP);

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	for (int i = 0; i < 600; i++)
		rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_in_range(r->agent[NP]->totals.refused[CCS_REFUSED_CROWDED], 50, 150);
	/* Whoever is known is served. */
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	rig_pass(r, 1000);
	rig_forge_message(r, "127.0.0.9", NP, &m);
	assert_in_range(r->agent[NP]->totals.refused[CCS_REFUSED_CROWDED], 50, 150);
	rig_hang_up(&c);
}

static void another_version_is_said_once(void **state)
{
	struct rig *r = *state;
	uint8_t m[48] = { 'C', 'C', 'S', 'W', 9, 1 };

	rig_forge(r, "127.0.0.9", NP, m, sizeof(m));
	rig_forge(r, "127.0.0.8", NP, m, sizeof(m));
	rig_settle(r);
	assert_int_equal(r->agent[NP]->totals.refused[CCS_REFUSED_VERSION], 2);
	assert_int_equal(r->nsaid, 1);
	assert_non_null(strstr(r->said, "127.0.0.9 speaks version 9"));
}

/* Anything at all, and what differs from true messages in a few bits or in length. */
static void garbage_is_harmless(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	uint64_t before;

	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	seed_start("garbage_is_harmless");
	for (int i = 0; i < 3000; i++) {
		struct ccs_wire_message m = true_cnp(r);
		uint8_t buf[CCS_WIRE_MAX];
		size_t len;

		m.header.type = (uint8_t)(1 + seed_below(3));
		len = ccs_wire_encode(&m, buf);
		for (uint64_t n = seed_below(4); n > 0; n--)
			buf[seed_below(len)] ^= (uint8_t)(1 << seed_below(8));
		if (seed_below(4) == 0)
			len = seed_below(sizeof(buf));
		rig_forge(r, seed_below(2) ? "127.0.0.2" : "127.0.0.7", RP, buf, len);
		rig_settle(r);
		r->now_ns += 1000000;
	}
	/* The true peer is still heard, if not before a new session. */
	rig_stop(r, NP);
	rig_start(r, NP);
	rig_pass(r, 10000);
	before = rig_cnps(&c, 0);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), before + 1);
	rig_hang_up(&c);
}

/* -- authentication ------------------------------------------------------------------- */

/* Stands for a keyed hash: a sum, and the key. */
static void sum_tag(void *arg, const void *message, size_t len, uint8_t tag[CCS_WIRE_TAG])
{
	const uint8_t *p = message;

	memset(tag, *(const uint8_t *)arg, CCS_WIRE_TAG);
	for (size_t i = 0; i < len; i++)
		tag[i % CCS_WIRE_TAG] = (uint8_t)(tag[i % CCS_WIRE_TAG] * 31 + p[i]);
}

static bool sum_check(void *arg, const void *message, size_t len, const uint8_t tag[CCS_WIRE_TAG])
{
	uint8_t right[CCS_WIRE_TAG];

	sum_tag(arg, message, len, right);
	return memcmp(right, tag, CCS_WIRE_TAG) == 0;
}

static void with_a_key(void **state)
{
	struct rig *r = *state;
	uint8_t key = 7, other = 8;
	const struct ccs_agent_auth auth = { &key, sum_tag, sum_check };
	const struct ccs_agent_auth wrong = { &other, sum_tag, sum_check };
	struct ccs_wire_message m;
	struct rig_client c;

	r->agent[RP]->config.auth = r->agent[NP]->config.auth = &auth;
	c = rig_client(r, RP);
	rig_add(r, &c, RP, 1, 0);
	rig_settle(r);
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(rig_cnps(&c, 0), 1);
	m = true_cnp(r);
	rig_forge_message(r, "127.0.0.2", RP, &m);       /* without a tag */
	assert_int_equal(refused(r, CCS_REFUSED_AUTH), 1);
	r->agent[NP]->config.auth = &wrong;
	r->now_ns += 60000;
	rig_mark(r, NP, 1);
	rig_settle(r);
	assert_int_equal(refused(r, CCS_REFUSED_AUTH), 2);
	assert_int_equal(rig_cnps(&c, 0), 1);
	assert_int_equal(r->nsaid, 1);
	rig_hang_up(&c);
}

/* -- how much there may be --------------------------------------------------------------- */

static void ten_thousand_flows(void **state)
{
	enum { FLOWS = 10000 };
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);

	for (unsigned i = 0; i < FLOWS; i++) {
		const struct ccs_local_add m = rig_flow(r, RP, i, i);
		struct ccs_local_result result;

		assert_int_equal(send(c.fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
		assert_int_equal(recv(c.fd, &result, sizeof(result), 0), sizeof(result));
		assert_int_equal(result.error, 0);
		assert_int_equal(result.slot, i);
	}
	rig_settle(r);
	for (unsigned i = 0; i < FLOWS; i++) {
		rig_mark(r, NP, i);
		if (i % 16 == 0)
			rig_settle(r);
	}
	rig_settle(r);
	for (unsigned i = 0; i < FLOWS; i++)
		assert_int_equal(rig_cnps(&c, i), 1);
	rig_hang_up(&c);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nflows, 0);
}

static void more_peers_than_there_is_room_for(void **state)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_local_add m;
	unsigned i;

	for (i = 0; i < CCS_PAGE_PATHS; i++) {
		m = rig_flow(r, RP, i, i);
		m.peer_gid[13] = (uint8_t)(1 + (i >> 8));
		m.peer_gid[14] = (uint8_t)i;
		assert_int_equal(send(c.fd, &m, sizeof(m), 0), sizeof(m));
		ccs_agent_turn(r->agent[RP], 0);
		assert_int_equal(recv(c.fd, (char[64]){ 0 }, 64, 0), sizeof(struct ccs_local_result));
	}
	m = rig_flow(r, RP, i, i);
	assert_int_equal(rig_ask(r, c.fd, &m, sizeof(m)), ENOSPC);
	assert_non_null(strstr(r->said, "peers"));
	rig_hang_up(&c);
	rig_pass(r, 200);
	assert_int_equal(r->agent[RP]->peers.high, 0);
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 0), 0);
	rig_hang_up(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_mark_becomes_a_cnp_in_the_slot),
		TEST(one_cnp_a_flow_and_interval),
		TEST(without_a_lease_no_cnp),
		TEST(a_lease_ends),
		TEST(a_lease_is_renewed),
		TEST(the_np_agent_starts_again),
		TEST(the_rp_agent_starts_again),
		TEST(a_silent_peer_is_asked_ever_more_rarely),
		TEST(an_np_says_whether_it_watches),
		TEST(both_directions_at_once),
		TEST(no_cnp_is_lost_or_doubled),
		TEST(others_reach_the_socket),
		TEST(only_a_socket_gives_way),
		TEST(wrong_pages_are_refused),
		TEST(what_takes_long_to_close),
		TEST(other_versions_are_told),
		TEST(flows_that_cannot_be),
		TEST(a_queue_pair_in_many_slots),
		TEST(a_removed_flow_hears_nothing),
		TEST(a_client_that_does_not_read),
		TEST(no_more_clients_than_may_be),
		TEST(a_connection_that_cannot_be_taken_yet),
		TEST(a_monster_is_no_message),
		TEST(a_client_may_say_anything),
		TEST(status_tells_what_happened),
		cmocka_unit_test(siphash_is_what_it_should_be),
		TEST(what_a_stranger_is_told_is_of_no_use),
		TEST(only_the_peer_is_believed),
		TEST(doubled_and_late_ones),
		TEST(messages_of_before_a_restart),
		TEST(a_hello_from_nowhere),
		TEST(strangers_do_not_keep_it_busy),
		TEST(another_version_is_said_once),
		TEST(garbage_is_harmless),
		TEST(with_a_key),
		TEST(ten_thousand_flows),
		TEST(more_peers_than_there_is_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
