/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A descriptor or region that takes long to close delays neither the agent's loop nor other users.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/host/core.h"
#include "agentrig.h"

enum { RP, NP };

/* A connection whose peer does not read: close() takes `seconds`. */
static int lingering(int seconds, int *reader)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = seconds };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	static const char bytes[1 << 20];
	const int small = 4096;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
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

/* A client cannot delay the loop with a descriptor that it passes. */
RIG_TEST(slow_close_does_not_block_the_agent)
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
	closing = &r->agent[RP]->closing->entry[c - r->agent[RP]->client];
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

/* recvmsg() itself would close them. */
RIG_TEST(descriptors_without_place_do_not_block_the_agent)
{
	struct rig *r = *state;
	const int conn = rig_dial(r, RP);
	struct rlimit enough, none;
	int reader, fd = lingering(3600, &reader);

	rig_settle(r);
	rig_send_hello(conn, fd);
	close(fd);
	getrlimit(RLIMIT_NOFILE, &enough);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = enough.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none); /* open descriptors stay open */
	rig_settle(r);
	setrlimit(RLIMIT_NOFILE, &enough);
	assert_int_equal(r->agent[RP]->nclients, 0);
	close(reader);
	close(conn);
	while (atomic_load(&r->agent[RP]->closing->users) > 1)
		usleep(1000);
}

static unsigned open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void send_descriptors(int conn, int fd, unsigned n)
{
	uint32_t m = 0;
	struct iovec iov = { &m, sizeof(m) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(64 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(n * sizeof(int)), .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	const struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = CMSG_SPACE(n * sizeof(int)) };

	for (unsigned i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(conn, &h, MSG_NOSIGNAL), sizeof(m));
}

/* They stay in the socket, also while closing it takes long. */
RIG_TEST(many_descriptors_take_the_place_of_one)
{
	enum { N = 64 };
	struct rig *r = *state;
	const int conn = rig_dial(r, RP);
	int reader, fd = lingering(3600, &reader);
	unsigned before;

	rig_settle(r);
	send_descriptors(conn, fd, N);
	close(fd);
	before = open_descriptors();
	rig_settle(r);
	assert_in_range(open_descriptors(), 1, before + 1);
	assert_int_equal(r->agent[RP]->nclients, 0);
	close(reader);
	close(conn);
	while (atomic_load(&r->agent[RP]->closing->users) > 1)
		usleep(1000);
}

/* Sealed, and of the right size: to release it takes as long as its owner likes. */
static int region_with_memory_beyond_its_end(void)
{
	const uint32_t head[4] = { CCS_SHM_MAGIC, CCS_SHM_VERSION, CCS_SHM_SLOTS, CCS_SHM_PATHS };
	const off_t size = sizeof(struct ccs_shm);
	const int fd = memfd_create("test", MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, size, 2 * size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	return fd;
}

RIG_TEST(memory_that_takes_long_to_release_is_not_released_by_the_loop)
{
	struct rig *r = *state;
	const int conn = rig_dial(r, RP), fd = region_with_memory_beyond_its_end();

	assert_int_equal(rig_hello(r, conn, fd), EINVAL);
	assert_non_null(strstr(r->said, "memory beyond its end"));
	assert_int_equal(r->agent[RP]->nclients, 0); /* a thread closes it */
	close(fd);
	close(conn);
	while (atomic_load(&r->agent[RP]->closing->users) > 1)
		usleep(1000);
}

static void fill(struct rig *r, unsigned from, unsigned to, bool with)
{
	for (unsigned i = from; i < to; i++)
		atomic_store(&r->agent[RP]->closing->entry[i], with);
}

static unsigned waiting(const struct rig *r)
{
	return atomic_load(&r->agent[RP]->closing->waiting);
}

/* Descriptors that a refused process has sent are closed with its connection. */
RIG_TEST(slow_close_of_a_refused_connection_does_not_block_the_agent)
{
	struct rig *r = *state;
	int reader, fd = lingering(3600, &reader), conn;

	fill(r, 0, CCS_AGENT_CLIENTS, true);
	conn = rig_dial(r, RP);
	rig_send_hello(conn, fd);
	close(fd);
	rig_settle(r);
	assert_true(r->agent[RP]->listener.active);
	while (waiting(r))
		usleep(1000); /* the peer does not read, and the hour is not over */
	close(reader);
	close(conn);
	fill(r, 0, CCS_AGENT_CLIENTS, false);
	conn = rig_dial(r, RP);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 1);
	close(conn);
}

/* As the 513th and further ones of a user would be. */
RIG_TEST(lingering_refused_connections_keep_no_other_user_out)
{
	enum { N = 72 };
	struct rig *r = *state;
	int reader[N], conn;

	fill(r, 0, CCS_AGENT_CLIENTS, true);
	for (unsigned i = 0; i < N; i++) {
		const int fd = lingering(3600, &reader[i]);

		conn = rig_dial(r, RP);
		rig_send_hello(conn, fd);
		close(fd);
		close(conn);
	}
	rig_settle(r);
	assert_true(r->agent[RP]->listener.active);
	fill(r, 0, CCS_AGENT_CLIENTS, false);
	conn = rig_dial(r, RP);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 1);
	while (waiting(r))
		usleep(1000);
	close(conn);
	for (unsigned i = 0; i < N; i++)
		close(reader[i]);
}

/* A thread of that user's closes a file for hours, or no longer. */
static void set_busy(struct rig *r, uid_t uid, bool busy)
{
	struct ccs_refused_of *of = &r->agent[RP]->closing->of[0];

	of->uid = uid;
	of->used = busy;
}

static int dial_with_descriptor(struct rig *r)
{
	const int conn = rig_dial(r, RP), fd = eventfd(0, 0);

	rig_send_hello(conn, fd);
	close(fd);
	return conn;
}

/* The number of connections refused to a user does not matter. */
RIG_TEST(slow_closes_of_a_user_keep_no_other_user_out)
{
	enum { N = 200 };
	struct rig *r = *state;
	int conn[N], other;

	set_busy(r, getuid(), true);
	fill(r, 0, CCS_AGENT_CLIENTS, true);
	for (unsigned i = 0; i < N; i++)
		conn[i] = dial_with_descriptor(r);
	rig_settle(r);
	assert_int_equal(waiting(r), N);
	assert_true(r->agent[RP]->listener.active);
	fill(r, 0, CCS_AGENT_CLIENTS, false);
	other = rig_dial(r, RP);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 1);
	for (unsigned i = 0; i < N; i++)
		close(conn[i]);
	set_busy(r, getuid(), false);
	fill(r, 0, CCS_AGENT_CLIENTS, true);
	conn[0] = dial_with_descriptor(r);
	while (waiting(r)) {
		rig_settle(r);
		usleep(1000);
	}
	close(conn[0]);
	close(other);
}

/* Another user's thread closes, although the first user's is stuck. */
RIG_TEST(slow_closes_of_a_user_delay_no_close_of_another)
{
	struct rig *r = *state;
	int conn;

	set_busy(r, getuid() + 1, true);
	fill(r, 0, CCS_AGENT_CLIENTS, true);
	conn = dial_with_descriptor(r);
	rig_settle(r);
	while (waiting(r))
		usleep(1000);
	set_busy(r, getuid() + 1, false);
	close(conn);
}

/* They are closed at once, however many there are: also those with messages. */
RIG_TEST(refused_connections_without_descriptors_do_not_wait)
{
	struct rig *r = *state;

	set_busy(r, getuid(), true);
	fill(r, 0, CCS_AGENT_CLIENTS, true);
	for (int messages = 0; messages < 4; messages++) {
		const int conn = rig_dial(r, RP);
		char byte;

		for (int i = 0; i < messages; i++)
			assert_int_equal(send(conn, "", (size_t)(i & 1), 0), i & 1);
		rig_settle(r);
		assert_int_equal(recv(conn, &byte, 1, 0), 0);
		assert_int_equal(waiting(r), 0);
		close(conn);
	}
	set_busy(r, getuid(), false);
}

/* In whichever message they are. */
RIG_TEST(refused_connections_with_descriptors_wait)
{
	struct rig *r = *state;
	int conn, fd;

	set_busy(r, getuid(), true);
	fill(r, 0, CCS_AGENT_CLIENTS, true);
	conn = rig_dial(r, RP);
	fd = eventfd(0, 0);
	assert_int_equal(send(conn, "", 1, 0), 1);
	assert_int_equal(send(conn, "", 0, 0), 0);
	rig_send_hello(conn, fd);
	close(fd);
	rig_settle(r);
	assert_int_equal(waiting(r), 1);
	close(conn);
	set_busy(r, getuid(), false);
	conn = dial_with_descriptor(r);
	while (waiting(r)) {
		rig_settle(r);
		usleep(1000);
	}
	close(conn);
}

/* Then connections wait until one is closed. */
RIG_TEST(refused_connections_that_are_being_closed_are_limited)
{
	struct rig *r = *state;
	int conn[3];

	atomic_store(&r->agent[RP]->closing->waiting, CCS_REFUSED_WAITING);
	fill(r, 0, CCS_AGENT_CLIENTS, true);
	conn[0] = dial_with_descriptor(r);
	for (unsigned i = 1; i < 3; i++)
		conn[i] = rig_dial(r, RP);
	rig_settle(r);
	assert_true(r->agent[RP]->refused.fd >= 0);
	assert_false(r->agent[RP]->listener.active);
	atomic_store(&r->agent[RP]->closing->waiting, 0);
	fill(r, 0, CCS_AGENT_CLIENTS, false);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->refused.fd, -1);
	assert_true(r->agent[RP]->listener.active);
	rig_settle(r);
	assert_int_equal(r->agent[RP]->nclients, 2);
	for (unsigned i = 0; i < 3; i++)
		close(conn[i]);
	while (waiting(r))
		usleep(1000);
}
