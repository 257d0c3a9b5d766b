/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/live_qps.h"

#include <errno.h>
#include <stdio.h>

enum {
	PORTS = 16,
	FIRST_RECEIVING = 2, LAST_RECEIVING = 5, /* the states IB_QPS_RTR, RTS, SQD and SQE */
};

static void add_device(void *arg, const struct ccs_rdma_reply *r)
{
	struct ccs_live_qps *l = arg;

	if (l->n < CCS_LIVE_QPS_DEVICES)
		l->device[l->n++] = *r;
}

static void keep_reply(void *arg, const struct ccs_rdma_reply *r)
{
	*(struct ccs_rdma_reply *)arg = *r;
}

/* 0 or an errno; ENOENT: the port does not have that QP, or the QP cannot receive. */
static int find_at_port(struct ccs_live_qps *l, uint32_t index, uint32_t port, uint32_t qpn)
{
	struct ccs_rdma_reply qp = { 0 };
	const int err = ccs_rdma_qp(&l->netlink, index, port, qpn, keep_reply, &qp);

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
			snprintf(device, 64, "%s", result ? l->device[i].device : "");
			result = 0;
		}
	return result;
}

int ccs_live_qps_check(void *arg, uint32_t qpn, char device[64])
{
	struct ccs_live_qps *l = arg;
	int err = find_qp(l, qpn, device);

	if (err != ENOENT)
		return err;
	l->n = 0;
	err = ccs_rdma_devices(&l->netlink, add_device, l);
	return err ? err : find_qp(l, qpn, device);
}

int ccs_live_qps_count(void *arg, uint32_t *n)
{
	struct ccs_live_qps *l = arg;
	uint64_t sum;
	const int err = ccs_rdma_count_qps(&l->netlink, &sum);

	*n = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	return err;
}
