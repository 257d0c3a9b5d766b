/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/rdma_query.h"

#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>

struct query {
	ccs_rdma_visit *visit;
	void *arg;
};

static int begin(struct ccs_netlink *n, struct ccs_netlink_request *r, unsigned command,
		 unsigned flags)
{
	const int err = n->fd < 0 ? ccs_netlink_open(n, NETLINK_RDMA) : 0;

	if (!err)
		ccs_netlink_begin(n, r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags);
	return err;
}

/* Of 1 or 4 bytes. */
static uint32_t number_of(const struct ccs_netlink_attr *a)
{
	uint32_t value = 0;

	if (a->len == 1)
		return (uint8_t)*a->data;
	ccs_netlink_copy(a, &value, sizeof(value));
	return value;
}

static void parse_attr(struct ccs_rdma_reply *to, const struct ccs_netlink_attr *a)
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
static void handle_reply(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, 0);
	struct ccs_rdma_reply reply = { 0 };
	const struct query *q = arg;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a))
		parse_attr(&reply, &a);
	q->visit(q->arg, &reply);
}

int ccs_rdma_devices(struct ccs_netlink *n, ccs_rdma_visit *visit, void *arg)
{
	struct ccs_netlink_request r;
	const int err = begin(n, &r, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);

	return err ? err : ccs_netlink_ask(n, &r, handle_reply, &(struct query){ visit, arg });
}

int ccs_rdma_qp(struct ccs_netlink *n, uint32_t device, uint32_t port, uint32_t qpn,
		ccs_rdma_visit *visit, void *arg)
{
	struct ccs_netlink_request r;
	const int err = begin(n, &r, RDMA_NLDEV_CMD_RES_QP_GET, 0);

	if (err)
		return err;
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	return ccs_netlink_ask(n, &r, handle_reply, &(struct query){ visit, arg });
}

/* An entry of the summary has a name and a number. */
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

/* A reply about a device. */
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

int ccs_rdma_count_qps(struct ccs_netlink *n, uint64_t *count)
{
	struct ccs_netlink_request r;
	const int err = begin(n, &r, RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP);

	*count = 0;
	return err ? err : ccs_netlink_ask(n, &r, handle_summary, count);
}
