/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/owner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/rdma_query.h"
#include "agent/host/users.h"

/* The first reply about the QP's device, or about the QP. */
struct search {
	const struct ccs_ipc_add *qp;
	bool found;
	struct ccs_rdma_reply reply;
};

static void match_device(void *arg, const struct ccs_rdma_reply *r)
{
	struct search *s = arg;

	if (s->found || strcmp(r->device, s->qp->device) != 0)
		return;
	s->reply = *r;
	s->found = true;
}

static void match_qp(void *arg, const struct ccs_rdma_reply *r)
{
	const struct search *s = arg;

	if (r->qpn == s->qp->local_qpn)
		match_device(arg, r);
}

/* The index is queried each time: devices appear, vanish, and are renamed. */
static int find_qp(struct ccs_netlink *n, const struct ccs_ipc_add *qp,
		   struct ccs_rdma_reply *reply)
{
	struct search device = { .qp = qp }, s = { .qp = qp };
	int err = ccs_rdma_devices(n, match_device, &device);

	if (err == ENOENT || (!err && !device.found))
		return ENODEV;
	if (!err)
		err = ccs_rdma_qp(n, device.reply.index, qp->port, qp->local_qpn,
				  match_qp, &s);
	*reply = s.reply;
	return err || s.found ? err : ENOENT;
}

static bool has_thread(pid_t pid, uint32_t thread)
{
	char path[64];

	if (!thread || thread == (uint32_t)pid)
		return thread;
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, (unsigned)thread);
	return access(path, F_OK) == 0;
}

/* Real, effective and saved. */
static bool read_users(pid_t pid, uid_t users[3])
{
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Uid: %u %u %u", &users[0], &users[1], &users[2]) == 3;
	if (f)
		fclose(f);
	return found;
}

/*
 * A connection outlives the process that made it if another process has its descriptor. The kernel
 * may give that process's number to a process of another user.
 */
static bool is_of_user(pid_t pid, uid_t uid)
{
	uid_t users[3];

	return uid == CCS_ANY_USER || !read_users(pid, users) || users[0] == uid || users[1] == uid ||
	       users[2] == uid;
}

int ccs_owner_check(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid)
{
	struct ccs_rdma_reply a;
	const int err = find_qp(arg, qp, &a);

	if (err)
		return err;
	if (!has_thread(pid, a.pid) || !is_of_user(pid, uid))
		return EPERM;
	/* 0 until the QP is connected. */
	return a.peer_qpn && a.peer_qpn != qp->peer_qpn ? EPERM : 0;
}
