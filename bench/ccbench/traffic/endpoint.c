/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/common/provider.h"

#define PORT 1
#define CACHE_LINE 64

/* Usual values of applications: 67 ms, seven times; and no limit for a slow receiver. */
enum { TIMEOUT = 14, RETRIES = 7, RNR_RETRIES = 7, MIN_RNR_TIMER = 12, RD_ATOMIC = 16 };

int endpoint_fail(struct endpoint *e, int exit_code, int err, const char *fmt, ...)
{
	va_list ap;
	int n;

	e->error.exit_code = exit_code;
	va_start(ap, fmt);
	n = vsnprintf(e->error.text, sizeof(e->error.text), fmt, ap);
	va_end(ap);
	if (err && n < (int)sizeof(e->error.text))
		snprintf(e->error.text + n, sizeof(e->error.text) - (size_t)n, ": %s",
			 strerror(err));
	return -1;
}

static bool receives(const struct proto_end *end)
{
	return !end->posts && (end->spec.op == OP_SEND || flow_notifies(&end->spec));
}

/* Receives that stand ready: a second round while the first is taken. */
static uint32_t receive_depth(const struct proto_end *end)
{
	return receives(end) ? 2 * end->spec.depth : 0;
}

static int open_device(struct endpoint *e)
{
	struct ibv_device **list;
	int n, i;

	list = ibv_get_device_list(&n);
	if (!list)
		return endpoint_fail(e, 2, errno, "cannot list RDMA devices");
	for (i = 0; i < n; i++)
		if (!*e->cfg->device || !strcmp(ibv_get_device_name(list[i]), e->cfg->device))
			break;
	if (i < n)
		e->ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!e->ctx)
		return endpoint_fail(e, 2, 0, i < n ? "cannot open the device" : "no such device");
	return 0;
}

static int query(struct endpoint *e, union ibv_gid *gid, uint16_t *lid)
{
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	static const union ibv_gid none;

	if (ibv_query_device(e->ctx, &dev) || ibv_query_port(e->ctx, PORT, &port))
		return endpoint_fail(e, 1, errno, "cannot query the device");
	if (port.state != IBV_PORT_ACTIVE)
		return endpoint_fail(e, 2, 0, "port %d is not active", PORT);
	if (ibv_query_gid(e->ctx, PORT, (int)e->cfg->gid_index, gid) ||
	    !memcmp(gid, &none, sizeof(none)))
		return endpoint_fail(e, 2, 0, "no GID at index %u (-x)", e->cfg->gid_index);
	e->local.mtu = 128u << port.active_mtu;
	e->local.vendor_id = dev.vendor_id;
	provider_name(e->ctx, e->local.provider, sizeof(e->local.provider));
	/* An IPv4 address is mapped: ::ffff:a.b.c.d */
	e->local.ipv6 = memcmp(gid->raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) != 0;
	*lid = port.lid;
	return 0;
}

static int make_memory(struct endpoint *e)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	e->length = CACHE_LINE; /* a host may have no flow at all */
	for (uint32_t i = 0; i < e->cfg->nqps; i++) {
		if (!flow_has_arrivals(&e->end[i].spec)) {
			e->offset[i] = e->offset[i - 1];
			continue;
		}
		e->offset[i] = e->length;
		e->length += (e->end[i].spec.wr_size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	}
	e->buffer = mmap(NULL, e->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (e->buffer == MAP_FAILED) {
		e->buffer = NULL;
		return endpoint_fail(e, 1, errno, "no memory for %zu bytes", e->length);
	}
	e->pd = ibv_alloc_pd(e->ctx);
	if (!e->pd)
		return endpoint_fail(e, 1, errno, "cannot make a PD");
	e->mr = ibv_reg_mr(e->pd, e->buffer, e->length, access);
	if (!e->mr)
		return endpoint_fail(e, 1, errno, "cannot register %zu bytes", e->length);
	return 0;
}

static struct ibv_cq *make_cq(struct endpoint *e, uint32_t entries,
			      struct ibv_comp_channel **channel)
{
	struct ibv_cq *cq;

	if (!e->cfg->poll) {
		*channel = ibv_create_comp_channel(e->ctx);
		if (!*channel) {
			endpoint_fail(e, 1, errno, "cannot make a completion channel");
			return NULL;
		}
	}
	cq = ibv_create_cq(e->ctx, (int)(entries ? entries : 1), NULL, *channel, 0);
	if (!cq)
		endpoint_fail(e, 1, errno, "cannot make a CQ of %u entries", entries);
	else if (*channel && ibv_req_notify_cq(cq, 0))
		endpoint_fail(e, 1, errno, "cannot arm a CQ");
	return cq;
}

static int make_qp(struct endpoint *e, uint32_t i)
{
	const struct proto_end *end = &e->end[i];
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq, .recv_cq = e->recv_cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = end->posts ? endpoint_send_depth(&end->spec) : 1,
			 .max_recv_wr = receives(end) ? receive_depth(end) : 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	e->qp[i] = ibv_create_qp(e->pd, &attr);
	if (!e->qp[i])
		return endpoint_fail(e, 1, errno, "cannot make a QP of %u WRs",
				     attr.cap.max_send_wr);
	if (ibv_modify_qp(e->qp[i], &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		return endpoint_fail(e, 1, errno, "cannot initialise a QP");
	return 0;
}

int endpoint_open(struct endpoint *e, const struct proto_config *cfg,
		  const struct proto_end *end, struct rng *rng)
{
	uint32_t i, sends = 0, recvs = 0;
	union ibv_gid gid;
	uint16_t lid;

	*e = (struct endpoint){ .cfg = cfg, .end = end };
	e->qp = calloc(cfg->nqps, sizeof(*e->qp));
	e->mine = calloc(cfg->nqps, sizeof(*e->mine));
	e->offset = calloc(cfg->nqps, sizeof(*e->offset));
	if (!e->qp || !e->mine || !e->offset)
		return endpoint_fail(e, 1, ENOMEM, "%u QPs", cfg->nqps);
	for (i = 0; i < cfg->nqps; i++) {
		sends += end[i].posts ? endpoint_send_depth(&end[i].spec) : 0;
		recvs += receive_depth(&end[i]);
	}
	if (open_device(e) || query(e, &gid, &lid) || make_memory(e))
		return -1;
	e->cq = make_cq(e, sends, &e->channel);
	if (!e->cq)
		return -1;
	e->recv_cq = make_cq(e, recvs, &e->recv_channel);
	if (!e->recv_cq)
		return -1;
	for (i = 0; i < cfg->nqps; i++) {
		if (make_qp(e, i))
			return -1;
		e->mine[i] = (struct proto_qp){
			.qpn = e->qp[i]->qp_num, .psn = rng_next(rng) & 0xffffff,
			.rkey = e->mr->rkey, .addr = (uintptr_t)e->buffer + e->offset[i],
			.gid = gid, .lid = lid,
		};
	}
	return 0;
}

static int connect_qp(struct endpoint *e, uint32_t i, const struct proto_qp *peer,
		      enum ibv_mtu mtu)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = peer->qpn,
		.rq_psn = peer->psn, .max_dest_rd_atomic = RD_ATOMIC,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = { .is_global = 1, .dlid = (uint16_t)peer->lid, .port_num = PORT,
			     .grh = { .dgid = peer->gid, .hop_limit = 64,
				      .sgid_index = (uint8_t)e->cfg->gid_index,
				      .traffic_class = (uint8_t)e->cfg->tclass } },
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = e->mine[i].psn, .timeout = TIMEOUT,
		.retry_cnt = RETRIES, .rnr_retry = RNR_RETRIES, .max_rd_atomic = RD_ATOMIC,
	};

	if (ibv_modify_qp(e->qp[i], &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return endpoint_fail(e, 1, errno, "cannot bring a QP to RTR");
	if (ibv_modify_qp(e->qp[i], &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		return endpoint_fail(e, 1, errno, "cannot bring a QP to RTS");
	return 0;
}

int endpoint_receive(struct endpoint *e, uint32_t i)
{
	struct ibv_sge sge = {
		.addr = e->mine[i].addr, .length = (uint32_t)e->end[i].spec.wr_size,
		.lkey = e->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(e->qp[i], &wr, &bad);

	return err ? endpoint_fail(e, 1, err, "cannot post a receive") : 0;
}

int endpoint_connect(struct endpoint *e, const struct proto_qp *peer, uint32_t mtu)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 128u << code < mtu)
		code++;
	e->peer = peer;
	for (uint32_t i = 0; i < e->cfg->nqps; i++)
		if (connect_qp(e, i, &peer[i], code))
			return -1;
	for (uint32_t i = 0; i < e->cfg->nqps; i++)
		for (uint32_t k = 0; k < receive_depth(&e->end[i]); k++)
			if (endpoint_receive(e, i))
				return -1;
	return 0;
}

int endpoint_event(struct endpoint *e, bool receive)
{
	struct ibv_cq *cq = receive ? e->recv_cq : e->cq, *ready;
	struct ibv_comp_channel *channel = receive ? e->recv_channel : e->channel;
	void *context;

	if (ibv_get_cq_event(channel, &ready, &context))
		return endpoint_fail(e, 1, errno, "no event from the completion channel");
	/* Acknowledging takes a lock: not for every event. */
	if (++e->unacked[receive] == 64) {
		ibv_ack_cq_events(cq, 64);
		e->unacked[receive] = 0;
	}
	if (ibv_req_notify_cq(cq, 0))
		return endpoint_fail(e, 1, errno, "cannot arm a CQ");
	return 0;
}

void endpoint_close(struct endpoint *e)
{
	for (uint32_t i = 0; e->qp && i < e->cfg->nqps; i++)
		if (e->qp[i])
			ibv_destroy_qp(e->qp[i]);
	if (e->cq) {
		ibv_ack_cq_events(e->cq, e->unacked[0]);
		ibv_destroy_cq(e->cq);
	}
	if (e->recv_cq) {
		ibv_ack_cq_events(e->recv_cq, e->unacked[1]);
		ibv_destroy_cq(e->recv_cq);
	}
	if (e->channel)
		ibv_destroy_comp_channel(e->channel);
	if (e->recv_channel)
		ibv_destroy_comp_channel(e->recv_channel);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->pd)
		ibv_dealloc_pd(e->pd);
	if (e->ctx)
		ibv_close_device(e->ctx);
	if (e->buffer)
		munmap(e->buffer, e->length);
	free(e->qp);
	free(e->mine);
	free(e->offset);
	*e = (struct endpoint){ .cfg = e->cfg };
}
