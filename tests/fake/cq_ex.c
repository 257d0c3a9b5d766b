/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended polling interface. As in other providers, a batch holds a lock from its start to
 * its end, so that a poll of the same CQ within one deadlocks; posting is allowed.
 */
#include <errno.h>
#include <time.h>

#include "priv.h"

#define cq_of(ex_) container(ex_, struct fake_cq, ex)

static int next_poll(struct ibv_cq_ex *ex)
{
	struct fake_cq *cq = cq_of(ex);
	int rc = 0;

	pthread_mutex_lock(&fake_lock);
	fake_run();
	if (!fake_cq_take(cq, &cq->current))
		rc = cq->overrun ? EINVAL : ENOENT;
	pthread_mutex_unlock(&fake_lock);
	if (rc)
		return rc;
	ex->wr_id = cq->current.wc.wr_id;
	ex->status = cq->current.wc.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int rc;

	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&cq_of(ex)->batch);
	pthread_mutex_lock(&fake_lock);
	cq_of(ex)->polls++;
	pthread_mutex_unlock(&fake_lock);
	rc = next_poll(ex);
	if (rc) {
		pthread_mutex_unlock(&cq_of(ex)->batch);
		fake_idle();
	}
	return rc;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	pthread_mutex_unlock(&cq_of(ex)->batch);
}

/* Undefined values are recognizably wrong. */
static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	if (ex->status == IBV_WC_SUCCESS)
		return cq_of(ex)->current.wc.opcode;
	pthread_mutex_lock(&fake_lock);
	fake_count.misread++;
	pthread_mutex_unlock(&fake_lock);
	return (enum ibv_wc_opcode)-1;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return fake_clock_ticks(cq_of(ex)->current.made_ns);
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec -
	       (fake_now_ns() - cq_of(ex)->current.made_ns);
}

#define READ(type, name) \
	static type read_##name(struct ibv_cq_ex *ex) { return cq_of(ex)->current.wc.name; }
READ(uint32_t, vendor_err)
READ(uint32_t, byte_len)
READ(__be32, imm_data)
READ(uint32_t, qp_num)
READ(uint32_t, src_qp)
READ(uint32_t, slid)
READ(uint8_t, sl)
READ(uint8_t, dlid_path_bits)
#undef READ

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	const struct ibv_wc *wc = &cq_of(ex)->current.wc;

	return fake_profile()->hides_sent_imm && wc->opcode < IBV_WC_RECV
		? wc->wc_flags & ~(unsigned int)IBV_WC_WITH_IMM : wc->wc_flags;
}

#define STAMPS (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

uint64_t fake_cq_ex_flags(void)
{
	return IBV_WC_STANDARD_FLAGS | (fake_clock_runs() ? STAMPS : 0);
}

void fake_cq_ex_start(struct fake_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
#define GIVE(flag, name) \
	if (wc_flags & IBV_WC_EX_WITH_##flag) \
		ex->read_##name = read_##name
	GIVE(BYTE_LEN, byte_len);
	GIVE(IMM, imm_data);
	GIVE(QP_NUM, qp_num);
	GIVE(SRC_QP, src_qp);
	GIVE(SLID, slid);
	GIVE(SL, sl);
	GIVE(DLID_PATH_BITS, dlid_path_bits);
	GIVE(COMPLETION_TIMESTAMP, completion_ts);
	GIVE(COMPLETION_TIMESTAMP_WALLCLOCK, completion_wallclock_ns);
#undef GIVE
	cq->stamped = wc_flags & STAMPS;
	pthread_mutex_lock(&fake_lock);
	fake_count.stamped_cqs += cq->stamped;
	pthread_mutex_unlock(&fake_lock);
}
