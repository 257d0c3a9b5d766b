/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/live_qps.h"

#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	PORTS = 16,
	FIRST_RECEIVING = 2, LAST_RECEIVING = 5, /* the states IB_QPS_RTR, RTS, SQD and SQE */
};

/* The attributes in a reply about a QP. */
struct qp {
	uint32_t qpn, state;
};

void ccs_live_qps_close(struct ccs_live_qps *l)
{
	ccs_netlink_close(&l->netlink);
}

/* Of 1 or 4 bytes. */
static uint32_t number_of(const struct ccs_netlink_attr *a)
{
	uint32_t value = 0;

	if (a->len == 1)
		return (uint8_t)*a->data;
	memcpy(&value, a->data, a->len < sizeof(value) ? a->len : sizeof(value));
	return value;
}

/* A reply about a device states the number of its last port. */
static void handle_device(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, 0);
	struct ccs_live_qps *l = arg;
	struct ccs_netlink_attr a;

	if (l->n == CCS_LIVE_QPS_DEVICES)
		return;
	memset(&l->device[l->n], 0, sizeof(l->device[l->n]));
	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_DEV_INDEX)
			l->device[l->n].index = number_of(&a);
		else if (a.type == RDMA_NLDEV_ATTR_PORT_INDEX)
			l->device[l->n].ports = number_of(&a);
		else if (a.type == RDMA_NLDEV_ATTR_DEV_NAME)
			snprintf(l->device[l->n].name, sizeof(l->device[l->n].name), "%.*s",
				 (int)a.len, a.data);
	}
	l->n++;
}

static int list_devices(struct ccs_live_qps *l)
{
	struct ccs_netlink_request r;

	l->n = 0;
	ccs_netlink_begin(&l->netlink, &r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET),
			  NLM_F_DUMP);
	return ccs_netlink_ask(&l->netlink, &r, handle_device, l);
}

static void handle_qp(void *arg, const struct nlmsghdr *h)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, 0);
	struct ccs_netlink_attr a;
	struct qp *qp = arg;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_RES_LQPN)
			qp->qpn = number_of(&a);
		else if (a.type == RDMA_NLDEV_ATTR_RES_STATE)
			qp->state = number_of(&a);
	}
}

/* 0 or an errno; ENOENT: the port does not have that QP, or the QP cannot receive. */
static int find_at_port(struct ccs_live_qps *l, uint32_t index, uint32_t port, uint32_t qpn)
{
	struct ccs_netlink_request r;
	struct qp qp = { 0 };
	int err;

	ccs_netlink_begin(&l->netlink, &r,
			  RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET), 0);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	ccs_netlink_put_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	err = ccs_netlink_ask(&l->netlink, &r, handle_qp, &qp);
	if (err == EAGAIN || err == ENODEV)
		return ENOENT; /* it is on another port; the device has vanished */
	return err ? err : qp.qpn == qpn && qp.state >= FIRST_RECEIVING &&
			   qp.state <= LAST_RECEIVING ? 0 : ENOENT;
}

/* Among the devices of the list. */
static int find_qp(struct ccs_live_qps *l, uint32_t qpn, char device[64])
{
	int result = ENOENT;

	for (unsigned i = 0; i < l->n; i++)
		for (uint32_t port = 1; port <= l->device[i].ports && port <= PORTS; port++) {
			const int err = find_at_port(l, l->device[i].index, port, qpn);

			if (err && err != ENOENT)
				return err;
			if (err)
				continue;
			snprintf(device, 64, "%s", result ? l->device[i].name : "");
			result = 0;
		}
	return result;
}

int ccs_live_qps_check(void *arg, uint32_t qpn, char device[64])
{
	struct ccs_live_qps *l = arg;
	int err = l->netlink.fd < 0 ? ccs_netlink_open(&l->netlink, NETLINK_RDMA) : 0;

	if (err)
		return err;
	err = find_qp(l, qpn, device);
	if (err != ENOENT)
		return err;
	err = list_devices(l);
	return err ? err : find_qp(l, qpn, device);
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

int ccs_live_qps_count(void *arg, uint32_t *n)
{
	struct ccs_live_qps *l = arg;
	struct ccs_netlink_request r;
	uint64_t sum = 0;
	int err = l->netlink.fd < 0 ? ccs_netlink_open(&l->netlink, NETLINK_RDMA) : 0;

	if (err)
		return err;
	ccs_netlink_begin(&l->netlink, &r,
			  RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET), NLM_F_DUMP);
	err = ccs_netlink_ask(&l->netlink, &r, handle_summary, &sum);
	*n = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	return err;
}
