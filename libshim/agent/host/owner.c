/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/owner.h"

#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The attributes of a reply, about a device or a QP; 0 or "": absent. */
struct answer {
	uint32_t index, qpn, peer_qpn, pid;
	char device[64];
};

void ccs_owner_close(struct ccs_owner *o)
{
	ccs_netlink_close(&o->netlink);
}

static void parse_attr(struct answer *to, const struct ccs_netlink_attr *a)
{
	uint32_t value = 0;

	memcpy(&value, a->data, a->len < sizeof(value) ? a->len : sizeof(value));
	switch (a->type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		to->index = value;
		break;
	case RDMA_NLDEV_ATTR_DEV_NAME:
		snprintf(to->device, sizeof(to->device), "%.*s", (int)a->len, a->data);
		break;
	case RDMA_NLDEV_ATTR_RES_LQPN:
		to->qpn = value;
		break;
	case RDMA_NLDEV_ATTR_RES_RQPN:
		to->peer_qpn = value;
		break;
	case RDMA_NLDEV_ATTR_RES_PID:
		to->pid = value;
		break;
	}
}

/* The criterion of a search, and the first reply that matches. */
struct search {
	const struct ccs_ipc_add *qp;
	bool (*matches)(const struct answer *, const struct ccs_ipc_add *);
	bool found;
	struct answer answer;
};

/* RDMA netlink has no fixed header before the attributes. */
static void handle_reply(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, 0);
	struct answer one = { 0 };
	struct search *s = arg;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a))
		parse_attr(&one, &a);
	if (s->found || !s->matches(&one, s->qp))
		return;
	s->answer = one;
	s->found = true;
}

/* 0 or an errno; ENOENT: no reply matches. */
static int run_search(struct ccs_owner *o, const struct ccs_netlink_request *r, struct search *s)
{
	const int err = ccs_netlink_ask(&o->netlink, r, handle_reply, s);

	return err || s->found ? err : ENOENT;
}

static bool is_device(const struct answer *a, const struct ccs_ipc_add *qp)
{
	return strcmp(a->device, qp->device) == 0;
}

static bool is_qp(const struct answer *a, const struct ccs_ipc_add *qp)
{
	return is_device(a, qp) && a->qpn == qp->local_qpn;
}

/* The index is queried each time: devices appear, vanish, and are renamed. */
static int find_device(struct ccs_owner *o, const struct ccs_ipc_add *qp, uint32_t *index)
{
	struct search s = { .qp = qp, .matches = is_device };
	struct ccs_netlink_request r;
	int err;

	ccs_netlink_begin(&o->netlink, &r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET),
			  NLM_F_DUMP);
	err = run_search(o, &r, &s);
	*index = s.answer.index;
	return err == ENOENT ? ENODEV : err;
}

static int find_qp(struct ccs_owner *o, const struct ccs_ipc_add *qp, struct answer *a)
{
	struct search s = { .qp = qp, .matches = is_qp };
	struct ccs_netlink_request r;
	uint32_t index;
	int err = find_device(o, qp, &index);

	if (err)
		return err;
	ccs_netlink_begin(&o->netlink, &r,
			  RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET), 0);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, qp->port);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qp->local_qpn);
	err = run_search(o, &r, &s);
	*a = s.answer;
	return err;
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

	return !uid || !read_users(pid, users) || users[0] == uid || users[1] == uid ||
	       users[2] == uid;
}

int ccs_owner_check(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid)
{
	struct ccs_owner *o = arg;
	struct answer a;
	int err = o->netlink.fd < 0 ? ccs_netlink_open(&o->netlink, NETLINK_RDMA) : 0;

	if (!err)
		err = find_qp(o, qp, &a);
	if (err)
		return err;
	if (!has_thread(pid, a.pid) || !is_of_user(pid, uid))
		return EPERM;
	/* 0 until the QP is connected. */
	return a.peer_qpn && a.peer_qpn != qp->peer_qpn ? EPERM : 0;
}
