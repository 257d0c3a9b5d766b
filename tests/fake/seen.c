/* SPDX-License-Identifier: BSD-2-Clause */
/* A record of every WQE that the device received. */
#include <string.h>

#include "priv.h"

enum { KEPT = 1 << 16 };

static struct fake_wqe_seen seen[KEPT];
static size_t count;
static uint64_t doorbells;

void fake_ring(void)
{
	doorbells++;
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

void fake_see(const struct fake_qp *qp, const struct fake_wqe *wqe)
{
	const struct ibv_send_wr *wr = &wqe->wr;
	const bool atomic = is_atomic(wr->opcode);
	struct fake_wqe_seen *s;

	if (count == KEPT)
		return;
	s = &seen[count++];
	*s = (struct fake_wqe_seen){
		.qp_num = qp->ib.qp_num,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
		.wr_id = wr->wr_id,
		.length = wqe->length,
		.num_sge = wr->num_sge,
		.remote_addr = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr,
		.rkey = atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey,
		.compare_add = atomic ? wr->wr.atomic.compare_add : 0,
		.swap = atomic ? wr->wr.atomic.swap : 0,
		.imm = wr->imm_data,
		.doorbell = doorbells,
	};
	memcpy(s->sge, wqe->sge, sizeof(s->sge));
	if (wr->send_flags & IBV_SEND_INLINE)
		memcpy(s->inlined, wqe->data, sizeof(s->inlined));
}

size_t fake_seen_count(void)
{
	size_t n;

	pthread_mutex_lock(&fake_lock);
	n = count;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

struct fake_wqe_seen fake_seen(size_t i)
{
	struct fake_wqe_seen s = { 0 };

	pthread_mutex_lock(&fake_lock);
	if (i < count)
		s = seen[i];
	pthread_mutex_unlock(&fake_lock);
	return s;
}

void fake_seen_clear(void)
{
	pthread_mutex_lock(&fake_lock);
	count = 0;
	pthread_mutex_unlock(&fake_lock);
}

uint64_t fake_doorbells(void)
{
	uint64_t n;

	pthread_mutex_lock(&fake_lock);
	n = doorbells;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

void fake_reset(void)
{
	fake_link(0, 0);
	fake_seen_clear();
	pthread_mutex_lock(&fake_lock);
	fake_faults_clear();
	fake_count.overruns = 0;
	pthread_mutex_unlock(&fake_lock);
	fake_hold(false);
}
