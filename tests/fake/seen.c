/* SPDX-License-Identifier: BSD-2-Clause */
/* A record of every WQE that the device received. */
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

	if (count == KEPT)
		return;
	seen[count++] = (struct fake_wqe_seen){
		.qp_num = qp->ib.qp_num,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
		.wr_id = wr->wr_id,
		.length = wqe->length,
		.num_sge = wr->num_sge,
		.remote_addr = is_atomic(wr->opcode) ? wr->wr.atomic.remote_addr
						     : wr->wr.rdma.remote_addr,
		.imm = wr->imm_data,
		.doorbell = doorbells,
	};
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
