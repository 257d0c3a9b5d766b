/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The newer way to post, ibv_wr_*: the builders and setters of a controlled QP are
 * ours. What they make is staged in the slots behind the send queue's head, where it
 * would be kept anyway if it had to wait; the provider's session is never entered, and
 * what is complete goes out by its post_send.
 *
 * From wr_start to wr_complete the session's lock keeps other posters out, as a
 * provider's does. No other lock is held meanwhile: the application may poll in there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "verbs/shim.h"
#include "verbs/wr.h"

struct session {
	pthread_mutex_t lock;            /* before cq.lock; guards what follows */
	struct ibv_qp_ex *ex;
	uint32_t staged, room;           /* room: as many slots at least are free */
	int error;                       /* the first one, told by wr_complete */
	struct ibv_send_wr spill;        /* where a WR goes that there is no slot for */
};

const uint64_t ccs_session_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
	IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

static struct qp *qp_of(struct ibv_qp_ex *ex)
{
	return ccs_ptrmap_get(&ccs_shim()->qps, &ex->qp_base);
}

void ccs_session_lock(const struct qp *qp)
{
	if (qp->session && !ccs_forked())
		pthread_mutex_lock(&qp->session->lock);
}

void ccs_session_unlock(const struct qp *qp)
{
	if (qp->session && !ccs_forked())
		pthread_mutex_unlock(&qp->session->lock);
}

void ccs_session_room(const struct qp *qp)
{
	if (qp->session)
		qp->session->room = qp->flow.wr_limit -
				    (uint32_t)(qp->flow.wr_head - qp->flow.wr_tail);
}

static void fail(struct session *s, int error)
{
	if (!s->error)
		s->error = error;
}

static void start(struct ibv_qp_ex *ex)
{
	const struct qp *qp = qp_of(ex);

	ccs_session_lock(qp);
	qp->session->staged = 0;
	qp->session->error = 0;
}

static int complete(struct ibv_qp_ex *ex)
{
	struct qp *qp = qp_of(ex);
	const int rc = qp->session->error ? qp->session->error
					  : ccs_post_staged(qp, qp->session->staged);
	const bool syscalls = qp->syscalls;

	ccs_session_unlock(qp);
	if (syscalls)
		pthread_testcancel();
	return rc;
}

static void abort_session(struct ibv_qp_ex *ex)
{
	ccs_session_unlock(qp_of(ex));
}

/* What a builder begins: all of it but what the opcode adds. */
static struct ibv_send_wr *build(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct qp *qp = qp_of(ex);
	struct session *s = qp->session;
	struct ibv_send_wr *slot;
	uint64_t number;

	if (s->staged == s->room)
		ccs_post_make_room(qp, s->staged + 1);
	if (s->staged == s->room) {
		fail(s, ENOMEM);
		return &s->spill;
	}
	number = qp->flow.wr_head + s->staged++;
	slot = ccs_slot(qp, number);
	*slot = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.sg_list = ccs_slot_sge(qp, number),
		.opcode = opcode,
		.send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
	};
	return slot;
}

static void build_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t remote_addr, __be32 imm)
{
	struct ibv_send_wr *wr = build(ex, opcode);

	wr->imm_data = imm;
	wr->wr.rdma.remote_addr = remote_addr;
	wr->wr.rdma.rkey = rkey;
}

static void rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	build_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	build_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm);
}

static void rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	build_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void build_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = build(ex, opcode);

	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
	wr->wr.atomic.rkey = rkey;
}

static void atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			   uint64_t compare, uint64_t swap)
{
	build_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	build_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void send_plain(struct ibv_qp_ex *ex)
{
	build(ex, IBV_WR_SEND);
}

static void send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	build(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	build(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	build(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

/* Not asked for when the QP was created, but the provider put it there: none may slip by. */
static void refuse_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr, (void)hdr_sz, (void)mss;
	fail(qp_of(ex)->session, EOPNOTSUPP);
}

/* The newest one staged, which setters add to; NULL: there is none, or it is not to be posted. */
static struct ibv_send_wr *newest(struct qp *qp, uint64_t *number)
{
	if (!qp->session->staged || qp->session->error)
		return NULL;
	*number = qp->flow.wr_head + qp->session->staged - 1;
	return ccs_slot(qp, *number);
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct qp *qp = qp_of(ex);
	uint64_t number;
	struct ibv_send_wr *slot = newest(qp, &number);

	if (!slot)
		return;
	if (n > ccs_max_sge(qp)) {
		fail(qp->session, ENOMEM);
		return;
	}
	memcpy(slot->sg_list, list, n * sizeof(*list));
	slot->num_sge = (int)n;
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	set_sge_list(ex, 1, &sge);
}

static void set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	uint64_t number;
	struct ibv_send_wr *slot = newest(qp_of(ex), &number);

	if (slot)
		slot->qp_type.xrc.remote_srqn = remote_srqn;
}

static void set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *buf)
{
	struct qp *qp = qp_of(ex);
	uint64_t number;
	struct ibv_send_wr *slot = newest(qp, &number);
	unsigned char *data;
	size_t len = 0;

	if (!slot)
		return;
	data = ccs_slot_inline(qp, number);
	for (size_t i = 0; i < n; i++) {
		if (buf[i].length > qp->cap.max_inline_data - len) {
			fail(qp->session, ENOMEM);
			return;
		}
		if (buf[i].length)
			memcpy(data + len, buf[i].addr, buf[i].length);
		len += buf[i].length;
	}
	*slot->sg_list = (struct ibv_sge){ .addr = (uintptr_t)data, .length = (uint32_t)len };
	slot->num_sge = 1;
	slot->send_flags |= IBV_SEND_INLINE;
}

static void set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	set_inline_data_list(ex, 1, &buf);
}

/*
 * A pointer that the provider left NULL stays so. Those behind wr_abort (wr_atomic_write,
 * wr_flush) are newer than the oldest libibverbs that we run with, where what lies there is
 * the provider's; a QP that was created for them is not controlled.
 */
static void install(struct ibv_qp_ex *ex)
{
#define OURS(member, function) \
	if (ex->member && ex->member != (function)) \
		ex->member = (function)
	OURS(wr_atomic_cmp_swp, atomic_cmp_swp);
	OURS(wr_atomic_fetch_add, fetch_add);
	OURS(wr_bind_mw, bind_mw);
	OURS(wr_local_inv, local_inv);
	OURS(wr_rdma_read, rdma_read);
	OURS(wr_rdma_write, rdma_write);
	OURS(wr_rdma_write_imm, rdma_write_imm);
	OURS(wr_send, send_plain);
	OURS(wr_send_imm, send_imm);
	OURS(wr_send_inv, send_inv);
	OURS(wr_send_tso, refuse_tso);
	OURS(wr_set_inline_data, set_inline_data);
	OURS(wr_set_inline_data_list, set_inline_data_list);
	OURS(wr_set_sge, set_sge);
	OURS(wr_set_sge_list, set_sge_list);
	OURS(wr_set_xrc_srqn, set_xrc_srqn);
	OURS(wr_start, start);
	OURS(wr_complete, complete);
	OURS(wr_abort, abort_session);
#undef OURS
}

void ccs_session_install(const struct qp *qp)
{
	if (qp->session)
		install(qp->session->ex);
}

int ccs_session_open(struct qp *qp)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp->real);
	struct session *s;

	if (!ex || !ex->wr_start)
		return 0;
	s = ccs_calloc_apart(1, sizeof(*s));
	if (!s)
		return -1;
	/* An application may modify its QP in a session of the same thread. */
	s->lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	s->ex = ex;
	qp->session = s;
	return 0;
}

void ccs_session_close(struct qp *qp)
{
	if (qp->session)
		pthread_mutex_destroy(&qp->session->lock);
	free(qp->session);
}
