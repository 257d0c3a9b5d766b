/* SPDX-License-Identifier: BSD-2-Clause */
/* CNPs that come to the agent by other ways than the network: from hooks, and from a NIC's
 * own counters. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/events.h"
#include "agentrig.h"
#include "ccshim/feed.h"
#include "tree.h"

enum { RP, NP };

static int cnp(struct rig *r, int fd, const char *device, uint32_t qpn, uint32_t count)
{
	struct ccs_ipc_cnp m = { .type = CCS_IPC_CNP, .local_qpn = qpn, .count = count };

	memcpy(m.device, device, strnlen(device, sizeof(m.device)));
	return rig_request(r, fd, &m, sizeof(m));
}

/* A hook's connection. */
static int hook(struct rig *r)
{
	const int fd = rig_dial(r, RP);

	assert_int_equal(rig_hello(r, fd, -1), 0);
	return fd;
}

RIG_TEST(a_hook_reaches_the_queue_pair)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	const int fd = hook(r);

	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	assert_int_equal(rig_add(r, &c, RP, 2, 6), 0);
	assert_int_equal(cnp(r, fd, "fake0", 0x101, 3), 0);
	assert_int_equal(rig_cnps(&c, 5), 3);
	assert_int_equal(rig_cnps(&c, 6), 0);
	assert_int_equal(r->agent[RP]->totals.cnps_hooked, 3);
	close(fd);
	rig_hang_up(&c);
}

RIG_TEST(hooks_may_be_wrong)
{
	static const char endless[65] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	const uint32_t type = CCS_IPC_CNP;
	struct ccs_ipc_remove gone = { CCS_IPC_REMOVE, 5 };
	int fd = rig_dial(r, RP);

	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	assert_int_equal(cnp(r, fd, "fake0", 0x101, 1), EPROTO); /* no HELLO */
	close(fd);
	fd = hook(r);
	assert_int_equal(cnp(r, fd, "fake0", 0x102, 1), ENOENT);
	assert_int_equal(cnp(r, fd, "fake1", 0x101, 1), ENOENT);
	assert_int_equal(cnp(r, fd, "", 0x101, 1), ENOENT);
	assert_int_equal(cnp(r, fd, "fake0", 0x101, 0), EINVAL);
	assert_int_equal(cnp(r, fd, endless, 0x101, 1), EINVAL);
	assert_int_equal(send(c.fd, &gone, sizeof(gone), 0), sizeof(gone));
	rig_settle(r);
	assert_int_equal(cnp(r, fd, "fake0", 0x101, 1), ENOENT);
	assert_int_equal(rig_request(r, fd, &type, sizeof(type)), -1); /* cut: hung up on */
	assert_int_equal(rig_cnps(&c, 5), 0);
	close(fd);
	rig_hang_up(&c);
}

static struct ccs_client *client_of(struct rig *r, bool page)
{
	struct ccs_client *c = r->agent[RP]->client;

	while (c->source.fd < 0 || (c->shm != NULL) != page)
		c++;
	return c;
}

/* The peer's identity is decided by the agent, not by the client. */
RIG_TEST(only_the_owner_and_admins_may)
{
	enum { USER = CCS_STANDING_USER, AGENT = CCS_STANDING_AGENT, ADMIN = CCS_STANDING_ADMIN };
	static const struct { uid_t caller, owner; int standing, of_owner, error; } may[] = {
		{ 1000, 1000, USER, USER, 0 }, { 1001, 1000, ADMIN, USER, 0 },
		{ 0, 1000, AGENT, USER, 0 }, { 1001, 1000, USER, USER, EPERM },
		{ 1000, 0, USER, USER, EPERM },
		{ 0, 1000, USER, USER, EPERM }, /* root of a container */
		{ 0, 0, USER, ADMIN, EPERM },
	};
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	const int fd = hook(r);

	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	for (unsigned i = 0; i < sizeof(may) / sizeof(*may); i++) {
		client_of(r, false)->uid = may[i].caller;
		client_of(r, false)->standing = (enum ccs_standing)may[i].standing;
		client_of(r, true)->uid = may[i].owner;
		client_of(r, true)->standing = (enum ccs_standing)may[i].of_owner;
		assert_int_equal(cnp(r, fd, "fake0", 0x101, 1), may[i].error);
	}
	assert_int_equal(rig_cnps(&c, 5), 3);
	close(fd);
	rig_hang_up(&c);
}

/* Exits with 0 if neither of two clients can do anything to the other. */
static _Noreturn void test_unmapped_users(void)
{
	void *state = NULL;
	struct rig *r;
	struct rig_client c;
	char *text;
	size_t len;
	int fd;

	rig_setup(&state);
	r = state;
	c = rig_client(r, RP);
	fd = hook(r);
	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	assert_int_equal(cnp(r, fd, "fake0", 0x101, 1), EPERM);
	assert_int_equal(rig_cnps(&c, 5), 0);
	text = ccs_status_text(r->agent[RP], client_of(r, false), &len);
	assert_non_null(text);
	assert_null(strstr(text, "\"remote\": \"127.0.0.2\""));
	free(text);
	close(fd);
	rig_hang_up(&c);
	rig_teardown(&state);
	_exit(0);
}

/* The agent is in a user namespace, as in a container, and its clients are of the host. */
TEST(users_without_a_number_may_nothing_to_each_other)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER))
			_exit(77);
		test_unmapped_users();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* -- the library ------------------------------------------------------------------- */

static void *run_agent(void *agent)
{
	ccs_agent_run(agent);
	return NULL;
}

RIG_TEST(the_library_speaks_to_the_agent)
{
	struct rig *r = *state;
	struct rig_client c = rig_client(r, RP);
	struct ccs_feed *h;
	pthread_t thread;

	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	assert_int_equal(pthread_create(&thread, NULL, run_agent, r->agent[RP]), 0);
	h = ccs_feed_open(r->socket[RP]);
	assert_non_null(h);
	assert_int_equal(ccs_feed_cnp(h, "fake0", 0x101, 2), 0);
	assert_int_equal(ccs_feed_cnp(h, "fake0", 0x999, 2), -1);
	assert_int_equal(errno, ENOENT);
	ccs_feed_close(h);
	ccs_agent_stop(r->agent[RP]);
	pthread_join(thread, NULL);
	assert_int_equal(rig_cnps(&c, 5), 2);
	rig_hang_up(&c);
}

/* -- a NIC's counters ---------------------------------------------------------------- */

static const char *const levels[] = { "/class", "/infiniband", "/fake0", "/ports", "/1",
	"/hw_counters" };
enum { LEVELS = sizeof(levels) / sizeof(*levels) };

/* The path of the first n levels of the rig's sysfs, and a file there. */
static char *sysfs_path(const struct rig *r, unsigned n, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s", r->dir);
	for (unsigned i = 0; i < n; i++)
		strcat(path, levels[i]);
	return strcat(path, file);
}

static void put_counter(const struct rig *r, const char *file, unsigned value)
{
	FILE *f = fopen(sysfs_path(r, LEVELS, file), "w");

	assert_non_null(f);
	fprintf(f, "%u\n", value);
	assert_int_equal(fclose(f), 0);
}

static void make_sysfs(struct rig *r)
{
	for (unsigned n = 1; n <= LEVELS; n++)
		assert_int_equal(mkdir(sysfs_path(r, n, ""), 0700), 0);
	put_counter(r, "/rp_cnp_handled", 100);
	put_counter(r, "/rp_cnp_ignored", 0);
	r->agent[RP]->counters.sysfs = r->dir;
}

RIG_TEST(what_a_nic_has_counted_is_shared)
{
	struct rig *r = *state;
	struct rig_client c;

	make_sysfs(r);
	c = rig_client(r, RP);
	c.shm->slot[5].rate = 3000000000;
	c.shm->slot[6].rate = 1000000000;
	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	assert_int_equal(rig_add(r, &c, RP, 2, 6), 0);
	put_counter(r, "/rp_cnp_handled", 180);
	rig_pass(r, 100);
	assert_int_equal(rig_cnps(&c, 5), 60);
	assert_int_equal(rig_cnps(&c, 6), 20);
	assert_int_equal(r->agent[RP]->totals.cnps_counted, 80);
	rig_hang_up(&c);
	rig_settle(r);
	assert_null(r->agent[RP]->counters.ports);
	assert_int_equal(tree_remove(sysfs_path(r, 1, "")), 0);
}

/* Signals can be relied on without an agent at the peer, as long as the port is there. */
RIG_TEST(a_nic_needs_no_peer)
{
	struct rig *r = *state;
	struct rig_client c;
	uint64_t last;

	rig_stop(r, NP);
	make_sysfs(r);
	c = rig_client(r, RP);
	assert_int_equal(rig_add(r, &c, RP, 1, 5), 0);
	assert_int_equal(rig_path(&c, 5)->flags, CCS_PEER_NP);
	assert_int_equal(rig_path(&c, 5)->last_seen_ns, r->now_ns);
	rig_pass(r, 5000);
	assert_int_equal(rig_path(&c, 5)->last_seen_ns, r->now_ns);
	put_counter(r, "/rp_cnp_ignored", 0);
	assert_int_equal(truncate(sysfs_path(r, LEVELS, "/rp_cnp_handled"), 0), 0);
	rig_pass(r, 200);
	last = rig_path(&c, 5)->last_seen_ns;
	rig_pass(r, 3000);
	assert_int_equal(rig_path(&c, 5)->last_seen_ns, last);
	put_counter(r, "/rp_cnp_handled", 7);
	rig_pass(r, 2000);
	assert_int_equal(rig_path(&c, 5)->last_seen_ns, r->now_ns);
	assert_int_equal(rig_cnps(&c, 5), 0);
	rig_hang_up(&c);
	assert_int_equal(tree_remove(sysfs_path(r, 1, "")), 0);
}
