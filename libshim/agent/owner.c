/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/owner.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PART = 16384 };                   /* a part of a dump is of 8 KB at most */

/* A request, while it is being written. */
struct request {
	struct nlmsghdr header;
	char room[128];
};

/* What an answer says of a device or a QP; 0 or "": nothing. */
struct answer {
	uint32_t index, qpn, peer_qpn, pid;
	char device[64];
};

int ccs_owner_open(struct ccs_owner *o)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	*o = (struct ccs_owner){ .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA) };
	if (o->fd < 0)
		return errno;
	/* Nobody else is heard. */
	if (connect(o->fd, (const struct sockaddr *)&kernel, sizeof(kernel)) == 0)
		return 0;
	const int err = errno;

	ccs_owner_close(o);
	return err;
}

void ccs_owner_close(struct ccs_owner *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

static void begin(struct ccs_owner *o, struct request *r, unsigned command, unsigned flags)
{
	*r = (struct request){ .header = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = ++o->sequence,
	} };
}

static void put_u32(struct request *r, unsigned type, uint32_t value)
{
	const struct nlattr a = { .nla_len = NLA_HDRLEN + sizeof(value), .nla_type = (uint16_t)type };
	char *at = (char *)r + NLMSG_ALIGN(r->header.nlmsg_len);

	memcpy(at, &a, sizeof(a));
	memcpy(at + NLA_HDRLEN, &value, sizeof(value));
	r->header.nlmsg_len = NLMSG_ALIGN(r->header.nlmsg_len) + NLA_ALIGN(a.nla_len);
}

static void take(struct answer *to, unsigned type, const char *data, size_t len)
{
	uint32_t value = 0;

	memcpy(&value, data, len < sizeof(value) ? len : sizeof(value));
	switch (type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		to->index = value;
		break;
	case RDMA_NLDEV_ATTR_DEV_NAME:
		snprintf(to->device, sizeof(to->device), "%.*s", (int)len, data);
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

/* The attributes follow the header at once. */
static void parse(const struct nlmsghdr *h, struct answer *to)
{
	const char *at = NLMSG_DATA(h), *const end = (const char *)h + h->nlmsg_len;
	struct nlattr a;

	*to = (struct answer){ 0 };
	while (end - at >= NLA_HDRLEN) {
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > end - at)
			return;
		take(to, a.nla_type & NLA_TYPE_MASK, at + NLA_HDRLEN, a.nla_len - NLA_HDRLEN);
		if (NLA_ALIGN(a.nla_len) > end - at)
			return;
		at += NLA_ALIGN(a.nla_len);
	}
}

static int error_in(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	return h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) || e->error >= 0 ? EIO : -e->error;
}

/*
 * Sends a request, and looks at each answer until wanted() takes one. 0 or an errno;
 * ENOENT: wanted() took none. The kernel answers before send() returns, and goes on with a
 * dump in recv(): there is nothing to wait for.
 */
static int ask(struct ccs_owner *o, const struct request *r, struct answer *answer,
	       bool (*wanted)(const struct answer *, const struct ccs_local_add *),
	       const struct ccs_local_add *qp)
{
	char part[PART] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *h;
	bool found = false;
	struct answer one;
	ssize_t n;

	if (send(o->fd, r, r->header.nlmsg_len, MSG_NOSIGNAL) < 0)
		return errno;
	for (;;) {
		n = recv(o->fd, part, sizeof(part), MSG_DONTWAIT | MSG_TRUNC);
		if (n <= 0 || n > PART)
			return n < 0 && errno != EAGAIN ? errno : EIO;
		for (h = (void *)part; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_seq != o->sequence)
				continue; /* of a request that was given up */
			if (h->nlmsg_type == NLMSG_ERROR)
				return error_in(h);
			if (h->nlmsg_type != NLMSG_DONE) {
				parse(h, &one);
				if (!found && wanted(&one, qp)) {
					*answer = one;
					found = true;
				}
			}
			if (h->nlmsg_type == NLMSG_DONE || !(h->nlmsg_flags & NLM_F_MULTI))
				return found ? 0 : ENOENT;
		}
	}
}

static bool is_device(const struct answer *a, const struct ccs_local_add *qp)
{
	return strcmp(a->device, qp->device) == 0;
}

static bool is_qp(const struct answer *a, const struct ccs_local_add *qp)
{
	return is_device(a, qp) && a->qpn == qp->local_qpn;
}

/* Asked anew each time: devices come, go, and are renamed. */
static int find_device(struct ccs_owner *o, const struct ccs_local_add *qp, uint32_t *index)
{
	struct answer a;
	struct request r;
	int err;

	begin(o, &r, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	err = ask(o, &r, &a, is_device, qp);
	if (err)
		return err == ENOENT ? ENODEV : err;
	*index = a.index;
	return 0;
}

static int find_qp(struct ccs_owner *o, const struct ccs_local_add *qp, struct answer *a)
{
	struct request r;
	uint32_t index;
	int err = find_device(o, qp, &index);

	if (err)
		return err;
	begin(o, &r, RDMA_NLDEV_CMD_RES_QP_GET, 0);
	put_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	put_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, qp->port);
	put_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qp->local_qpn);
	return ask(o, &r, a, is_qp, qp);
}

static bool has_thread(pid_t pid, uint32_t thread)
{
	char path[64];

	if (!thread || thread == (uint32_t)pid)
		return thread;
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, (unsigned)thread);
	return access(path, F_OK) == 0;
}

int ccs_owner_check(void *arg, const struct ccs_local_add *qp, pid_t pid)
{
	struct answer a;
	const int err = find_qp(arg, qp, &a);

	if (err)
		return err;
	if (!has_thread(pid, a.pid))
		return EPERM;
	/* 0 until the QP is connected. */
	return a.peer_qpn && a.peer_qpn != qp->peer_qpn ? EPERM : 0;
}
