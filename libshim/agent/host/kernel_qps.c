/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/kernel_qps.h"

#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/standing.h"

enum {
	PORTS = 16,
	FIRST_RECEIVING = 2, LAST_RECEIVING = 5, /* the states IB_QPS_RTR, RTS, SQD and SQE */
};

/* -- requests ------------------------------------------------------------------------- */

static int begin(struct ccs_kernel_qps *q, struct ccs_netlink_request *r, unsigned command,
		 unsigned flags)
{
	struct ccs_netlink *n = &q->netlink;
	const int err = n->fd < 0 ? ccs_netlink_open(n, NETLINK_RDMA) : 0;

	if (!err)
		ccs_netlink_begin(n, r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags);
	return err;
}

/* The value of an attribute, which has 1 or 4 bytes. */
static uint32_t number_of(const struct ccs_netlink_attr *a)
{
	uint32_t value = 0;

	if (a->len == 1)
		return (uint8_t)*a->data;
	ccs_netlink_copy(a, &value, sizeof(value));
	return value;
}

static void parse_attr(struct ccs_kernel_reply *to, const struct ccs_netlink_attr *a)
{
	switch (a->type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		to->index = number_of(a);
		break;
	case RDMA_NLDEV_ATTR_DEV_NAME:
		snprintf(to->device, sizeof(to->device), "%.*s", (int)a->len, a->data);
		break;
	case RDMA_NLDEV_ATTR_PORT_INDEX:
		to->ports = number_of(a);
		break;
	case RDMA_NLDEV_ATTR_RES_LQPN:
		to->qpn = number_of(a);
		break;
	case RDMA_NLDEV_ATTR_RES_RQPN:
		to->peer_qpn = number_of(a);
		break;
	case RDMA_NLDEV_ATTR_RES_PID:
		to->pid = number_of(a);
		break;
	case RDMA_NLDEV_ATTR_RES_STATE:
		to->state = number_of(a);
	}
}

/* RDMA netlink has no fixed header before the attributes. */
static void parse_reply(void *to, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, 0);
	struct ccs_netlink_attr a;

	memset(to, 0, sizeof(struct ccs_kernel_reply));
	while (ccs_netlink_next(&attrs, &a))
		parse_attr(to, &a);
}

static void add_device(void *arg, const struct nlmsghdr *h)
{
	struct ccs_kernel_qps *q = arg;

	if (q->n < CCS_KERNEL_DEVICES)
		parse_reply(&q->device[q->n++], h);
}

/* Devices appear, vanish, and are renamed. */
static int list_devices(struct ccs_kernel_qps *q)
{
	struct ccs_netlink_request r;
	const int err = begin(q, &r, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);

	q->n = 0;
	return err ? err : ccs_netlink_ask(&q->netlink, &r, add_device, q);
}

static int read_qp(struct ccs_kernel_qps *q, uint32_t device, uint32_t port, uint32_t qpn,
		   struct ccs_kernel_reply *qp)
{
	struct ccs_netlink_request r;
	int err = begin(q, &r, RDMA_NLDEV_CMD_RES_QP_GET, 0);

	if (err)
		return err;
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	*qp = (struct ccs_kernel_reply){ 0 };
	err = ccs_netlink_ask(&q->netlink, &r, parse_reply, qp);
	return err || qp->qpn == qpn ? err : ENOENT;
}

/* -- the owner ------------------------------------------------------------------------- */

static int find_by_device(struct ccs_kernel_qps *q, const struct ccs_ipc_add *add,
			  struct ccs_kernel_reply *qp)
{
	const struct ccs_kernel_reply *d = q->device;
	int err = list_devices(q);

	if (err)
		return err == ENOENT ? ENODEV : err;
	while (d < q->device + q->n && strcmp(d->device, add->device) != 0)
		d++;
	if (d == q->device + q->n)
		return ENODEV;
	err = read_qp(q, d->index, add->port, add->local_qpn, qp);
	return err || strcmp(qp->device, add->device) == 0 ? err : ENOENT;
}

static bool has_thread(pid_t pid, uint32_t thread)
{
	char path[64];

	if (!thread || thread == (uint32_t)pid)
		return thread;
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, (unsigned)thread);
	return access(path, F_OK) == 0;
}

/*
 * A connection outlives the process that made it if another process has its descriptor. The kernel
 * may give that process's number to a process of another user.
 */
static bool is_of_user(pid_t pid, uid_t uid)
{
	struct ccs_process p;

	return uid == CCS_ANY_USER || !ccs_process_read(pid, &p) || p.uid[0] == uid ||
	       p.uid[1] == uid || p.uid[2] == uid;
}

int ccs_kernel_qps_check_owner(void *arg, const struct ccs_ipc_add *add, pid_t pid, uid_t uid)
{
	struct ccs_kernel_reply qp;
	const int err = find_by_device(arg, add, &qp);

	if (err)
		return err;
	if (!has_thread(pid, qp.pid) || !is_of_user(pid, uid))
		return EPERM;
	/* 0 until the QP is connected. */
	return qp.peer_qpn && qp.peer_qpn != add->peer_qpn ? EPERM : 0;
}

/* -- which numbers are in use ------------------------------------------------------------ */

/* 0 or an errno; ENOENT: the port does not have that QP, or the QP cannot receive. */
static int find_at_port(struct ccs_kernel_qps *q, uint32_t index, uint32_t port, uint32_t qpn)
{
	struct ccs_kernel_reply qp;
	const int err = read_qp(q, index, port, qpn, &qp);

	if (err == EAGAIN || err == ENODEV)
		return ENOENT; /* it is on another port; the device has vanished */
	return err ? err : qp.state >= FIRST_RECEIVING && qp.state <= LAST_RECEIVING ? 0 : ENOENT;
}

static int find_receiving(struct ccs_kernel_qps *q, uint32_t qpn, char device[64])
{
	int result = ENOENT;

	for (unsigned i = 0; i < q->n; i++)
		for (uint32_t port = 1; port <= q->device[i].ports && port <= PORTS; port++) {
			const int err = find_at_port(q, q->device[i].index, port, qpn);

			if (err && err != ENOENT)
				return err;
			if (err)
				continue;
			snprintf(device, 64, "%s", result ? q->device[i].device : "");
			result = 0;
		}
	return result;
}

int ccs_kernel_qps_check(void *arg, uint32_t qpn, char device[64])
{
	int err = find_receiving(arg, qpn, device);

	if (err != ENOENT)
		return err;
	err = list_devices(arg);
	return err ? err : find_receiving(arg, qpn, device);
}

static void add_entry(const struct ccs_netlink_attr *entry, uint64_t *n)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(entry);
	struct ccs_netlink_attr a;
	uint64_t value = 0;
	bool is_qp = false;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME)
			is_qp = a.len == sizeof("qp") && memcmp(a.data, "qp", a.len) == 0;
		else if (a.type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR && a.len == sizeof(value))
			memcpy(&value, a.data, sizeof(value));
	}
	*n += is_qp ? value : 0;
}

static void handle_summary(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, 0), entries;
	struct ccs_netlink_attr a, entry;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type != RDMA_NLDEV_ATTR_RES_SUMMARY)
			continue;
		entries = ccs_netlink_nested(&a);
		while (ccs_netlink_next(&entries, &entry))
			if (entry.type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY)
				add_entry(&entry, arg);
	}
}

int ccs_kernel_qps_count(void *arg, uint32_t *n)
{
	struct ccs_kernel_qps *q = arg;
	struct ccs_netlink_request r;
	uint64_t sum = 0;
	int err = begin(q, &r, RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP);

	if (!err)
		err = ccs_netlink_ask(&q->netlink, &r, handle_summary, &sum);
	*n = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	return err;
}
