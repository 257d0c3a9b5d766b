/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting of sends: the checks that a provider makes at once, and the queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define qp_of(ib_) container(ib_, struct fake_qp, ib)

static bool known(enum ibv_qp_type type, enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return fake_reliable(type) || type == IBV_QPT_UC;
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return fake_reliable(type);
	default:
		return fake_profile()->takes_any_opcode && fake_reliable(type);
	}
}

static uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t len = 0;

	if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_BIND_MW)
		return 0;
	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* libmlx5 remembers transitions to RTS and RESET, and ignores those to other states. */
bool fake_may_send(const struct fake_qp *qp)
{
	return fake_profile()->sets_wr_complete ? qp->was_rts : qp->ib.state >= IBV_QPS_RTS;
}

int fake_check_send(const struct fake_qp *qp, const struct ibv_send_wr *wr, uint32_t most)
{
	const struct fake_profile *p = fake_profile();

	if (!known(qp->ib.qp_type, wr->opcode))
		return EINVAL;
	if (p->not_rts && !p->keeps_early && !fake_may_send(qp))
		return p->not_rts;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > most)
		return p->too_large;
	if (is_atomic(wr->opcode) && !fake_has_atomics())
		return EOPNOTSUPP;
	if ((wr->send_flags & IBV_SEND_INLINE) && length_of(wr) > qp->init.cap.max_inline_data)
		return p->too_large;
	if (wr->opcode == IBV_WR_BIND_MW && wr->num_sge && p->binds_without_sge)
		return EINVAL;
	return qp->sq_head - qp->sq_tail >= qp->init.cap.max_send_wr ? ENOMEM : 0;
}

static struct fake_wqe *slot(struct fake_qp *qp, uint64_t number)
{
	return &qp->sq[number % qp->init.cap.max_send_wr];
}

static void copy_inline(struct fake_wqe *wqe)
{
	unsigned char *to = wqe->data;

	for (int i = 0; i < wqe->wr.num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)wqe->sge[i].addr, wqe->sge[i].length);
		to += wqe->sge[i].length;
	}
}

struct fake_wqe *fake_enqueue(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	struct fake_wqe *wqe = slot(qp, qp->sq_head++);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr = *wr;
	wqe->wr.next = NULL;
	wqe->wr.sg_list = wqe->sge;
	wqe->length = length_of(wr);
	if (wqe->length || wr->num_sge)
		memcpy(wqe->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(wqe->sge[0]));
	if (wr->send_flags & IBV_SEND_INLINE)
		copy_inline(wqe);
	if (qp->ib.qp_type == IBV_QPT_UD)
		wqe->av = container(wr->wr.ud.ah, struct fake_ah, ib)->attr;
	fake_due(qp, wqe);
	fake_see(qp, wqe);
	return wqe;
}

/* A thread domain promises that only one thread uses it; here that thread must not change. */
static void check_thread(struct fake_td *td)
{
	if (!td)
		return;
	if (td->used && !pthread_equal(td->thread, pthread_self()))
		fake_count.foreign_posts++;
	td->used = true;
	td->thread = pthread_self();
}

void fake_posted(struct fake_qp *qp)
{
	check_thread(qp->td);
	qp->dozes = false;
	if (qp->ib.state == IBV_QPS_ERR && !fake_ignores_in_error())
		fake_flush_posted(qp);
	fake_run();
}

/* As librxe's validate_send_wr(). */
static bool is_misaligned_atomic(const struct ibv_send_wr *wr)
{
	uint64_t len = 0;

	if (!fake_profile()->checks_atomics || (wr->opcode != IBV_WR_ATOMIC_CMP_AND_SWP &&
						wr->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD))
		return false;
	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len < 8 || wr->wr.atomic.remote_addr % 8;
}

int fake_post_send(struct ibv_qp *ib, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = qp_of(ib);
	int rc = 0, doorbell = 0;
	bool injected = false;

	if (fake_profile()->clears_bad_wr) {
		if (bad)
			*bad = NULL;
		if (!bad || !wr)
			return EINVAL;
	}
	pthread_mutex_lock(&fake_lock);
	fake_ring();
	if (fake_profile()->keeps_early && !fake_may_send(qp))
		doorbell = fake_profile()->not_rts;
	for (; wr; wr = wr->next) {
		rc = qp->ib.state == IBV_QPS_ERR ? 0 : fake_fault(FAULT_POST);
		injected |= rc != 0;
		if (rc && fake_fault_bad() == FAKE_BAD_NULL) {
			doorbell = rc; /* detected only when all are in the ring */
			rc = 0;
		}
		if (!rc)
			rc = fake_check_send(qp, wr, qp->init.cap.max_send_sge);
		if (!rc && is_misaligned_atomic(wr))
			rc = EINVAL;
		if (rc)
			break;
		fake_enqueue(qp, wr);
	}
	if (rc)
		*bad = wr;
	else if (doorbell)
		*bad = NULL;
	fake_posted(qp);
	pthread_mutex_unlock(&fake_lock);
	if (fake_is_rxe())
		pthread_testcancel(); /* the doorbell is a system call on this device */
	rc = rc && !fake_profile()->keeps_early ? rc : doorbell ? doorbell : rc;
	if (doorbell || injected)
		errno = abs(rc); /* some devices' doorbells are system calls */
	return rc;
}
