/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the limits of devices and QPs, and of what is refused. */
#include "suite.h"

#include <errno.h>
#include <limits.h>

static void capabilities_are_as_asked_or_more(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const struct ibv_qp_cap *cap;
	struct pair p;

	PAIR(&p, .sends = 23, .recvs = 17, .sges = 3, .inline_len = 50);
	cap = &p.a.cap;
	require(cap->max_send_wr >= 23 && cap->max_recv_wr >= 17, "WRs");
	require(cap->max_send_sge >= 3 && cap->max_recv_sge >= 3, "SGEs");
	require(cap->max_inline_data >= 50, "inline data");
	fact("max_send_wr", "%u", cap->max_send_wr);
	fact("max_recv_wr", "%u", cap->max_recv_wr);
	fact("max_send_sge", "%u", cap->max_send_sge);
	fact("max_recv_sge", "%u", cap->max_recv_sge);
	fact("max_inline_data", "%u", cap->max_inline_data);
	require(!ibv_query_qp(p.a.qp, &attr, IBV_QP_CAP, &init), "query");
	fact("queried_send_wr", "%u", attr.cap.max_send_wr);
	fact("queried_recv_wr", "%u", attr.cap.max_recv_wr);
	fact("queried_send_sge", "%u", attr.cap.max_send_sge);
	fact("queried_inline_data", "%u", attr.cap.max_inline_data);
	require(attr.cap.max_send_wr >= 23 && attr.cap.max_send_sge >= 3, "queried capabilities");
	pair_drop(&p);
}

static void max_inline_is_usable(void)
{
	uint32_t max;
	struct pair p;
	int error;

	PAIR(&p, .inline_len = 200);
	max = p.a.cap.max_inline_data;
	require(max >= 200 && max < 65536, "max_inline_data %u", max);
	memset(target(), 0, 65536);
	fill(source(), max + 1, 1);
	POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = max,
	     .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	require(is_filled(target(), max, 1), "%u bytes inline", max);
	error = TRY_POST(&p, .id = 2, .opcode = IBV_WR_RDMA_WRITE, .len = max + 1,
			 .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	require(error, "%u bytes inline are accepted, %u are promised", max + 1, max);
	fact("error", "%s", strerror(error));
	require(!count_wcs(&p.a, 5), "a refused WR was carried out");
	pair_drop(&p);
}

/* What creating a QP with that cap gives: 0 or an errno. */
static int create_error(const struct ibv_qp_cap *cap, enum ibv_qp_type type)
{
	struct ibv_cq *cq = ibv_create_cq(hosts[0].ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = type,
					 .cap = *cap };
	struct ibv_qp *qp;
	int error = 0;

	require(cq, "no CQ");
	errno = 0;
	qp = ibv_create_qp(hosts[0].pd, &init);
	if (!qp)
		error = errno ? errno : -1;
	else
		require(!ibv_destroy_qp(qp), "destroying");
	require(!ibv_destroy_cq(cq), "destroying");
	return error;
}

static void too_much_is_refused(void)
{
	const struct ibv_device_attr *dev = &hosts[0].attr;
	const struct ibv_qp_cap caps[] = {
		{ (uint32_t)dev->max_qp_wr + 1, 1, 1, 1, 0 },
		{ 1, (uint32_t)dev->max_qp_wr + 1, 1, 1, 0 },
		{ 1, 1, (uint32_t)dev->max_sge + 1, 1, 0 },
		{ 1, 1, 1, (uint32_t)dev->max_sge + 1, 0 },
		{ 1, 1, 1, 1, 1000000 },
	};
	static const char *const names[] = {
		"max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data",
	};
	struct ibv_cq *cq;

	for (unsigned i = 0; i < 5; i++) {
		int error = create_error(&caps[i], IBV_QPT_RC);

		fact(names[i], "%s", strerror(error));
	}
	cq = ibv_create_cq(hosts[0].ctx, INT_MAX, NULL, NULL, 0);
	require(!cq, "a CQ of %d entries", INT_MAX);
	fact("cqe", "%s", strerror(errno));
	require(!create_error(&(struct ibv_qp_cap){ 1, 1, 1, 1, 0 }, IBV_QPT_RC), "a small QP");
}

static void minimal_qp_works(void)
{
	struct pair p;

	PAIR(&p, .sends = 1, .recvs = 1, .sges = 1, .inline_len = 1);
	for (unsigned i = 0; i < 20; i++) {
		recv_ok(&p.b, 100 + i, 0, 8192);
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = i * 400, SIGNALED);
		done(&p.a, i, IBV_WC_SEND);
		received(&p.b, 100 + i, i * 400);
	}
	pair_drop(&p);
}

static void other_types_are_refused_or_made(void)
{
	const struct ibv_qp_cap cap = { 8, 8, 1, 1, 0 };

	fact("raw_packet", "%s", strerror(create_error(&cap, IBV_QPT_RAW_PACKET)));
	fact("xrc_send", "%s", strerror(create_error(&cap, IBV_QPT_XRC_SEND)));
	fact("xrc_recv", "%s", strerror(create_error(&cap, IBV_QPT_XRC_RECV)));
	fact("driver", "%s", strerror(create_error(&cap, IBV_QPT_DRIVER)));
	fact("none", "%s", strerror(create_error(&cap, (enum ibv_qp_type)77)));
}

static void xrc_domain(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1,
		.oflags = 0100, /* O_CREAT */
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(hosts[0].ctx, &attr);

	fact("supported", "%d", !!xrcd);
	if (!xrcd)
		skip("no XRC: %s", strerror(errno));
	require(!ibv_close_xrcd(xrcd), "closing");
}

/* Operations that the device does not have are refused when the QP is created. */
static void unknown_operations(void)
{
	struct ibv_cq *cq = ibv_create_cq(hosts[0].ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = hosts[0].pd,
	};
	static const uint64_t ops[] = { IBV_QP_EX_WITH_TSO, (uint64_t)1 << 40 };
	static const char *const names[] = { "tso", "unknown" };
	struct ibv_qp *qp;

	require(cq, "no CQ");
	for (unsigned i = 0; i < 2; i++) {
		attr.send_ops_flags = ops[i];
		errno = 0;
		qp = ibv_create_qp_ex(hosts[0].ctx, &attr);
		fact(names[i], "%s", strerror(qp ? 0 : errno));
		if (qp)
			require(!ibv_destroy_qp(qp), "destroying");
	}
	require(!ibv_destroy_cq(cq), "destroying");
}

const struct check limit_checks[] = {
	{ "cap", "a QP has at least the capabilities asked for",
	  capabilities_are_as_asked_or_more },
	{ "cap_inline", "max_inline_data is usable, and one byte more is refused",
	  max_inline_is_usable },
	{ "cap_limits", "more than the device's limits is refused", too_much_is_refused },
	{ "cap_minimal", "a QP with queues of one works", minimal_qp_works },
	{ "type_other", "QPs of other types can be asked for", other_types_are_refused_or_made },
	{ "type_xrc", "an XRC domain can be opened and closed", xrc_domain },
	{ "ops_unknown", "operations that the device does not have can be asked for",
	  unknown_operations },
	{},
};
