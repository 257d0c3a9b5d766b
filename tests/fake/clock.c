/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's clock, and the CQs that stamp completions with it. As providers do,
 * a poll of such a CQ holds the lock from its start to its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define cq_of(ex_) container(ex_, struct fake_cq, ex)
#define FIRST_NS 3000000000ull /* the device is that much younger than the host */

static uint64_t khz, mask;
static bool query, stuck;

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void __attribute__((constructor)) from_environment(void)
{
	khz = setting("FAKERDMA_CLOCK", 0);
	mask = UINT64_MAX >> (64 - setting("FAKERDMA_CLOCK_BITS", 48));
	query = setting("FAKERDMA_CLOCK_QUERY", 0);
	stuck = setting("FAKERDMA_CLOCK_STUCK", 0);
}

bool fake_clock_runs(void)
{
	return khz;
}

static uint64_t ticks(uint64_t ns)
{
	const uint64_t own = stuck ? 0 : ns - FIRST_NS;

	return (own / 1000000 * khz + own % 1000000 * khz / 1000000) & mask;
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)input;
	memset(attr, 0, size);
	attr->completion_timestamp_mask = mask;
	attr->hca_core_clock = khz;
	return ibv_query_device(context, &attr->orig_attr);
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	if (!query)
		return EOPNOTSUPP;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = (long)ticks(fake_now_ns());
	return 0;
}

void fake_clock_table(struct fake_context *c)
{
	if (!khz)
		return;
	c->v.query_device_ex = query_device_ex;
	c->v.query_rt_values = query_rt_values;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct fake_cq *cq = cq_of(ex);

	if (!fake_cq_take(cq, &cq->current))
		return cq->overrun ? EINVAL : ENOENT;
	ex->wr_id = cq->current.wc.wr_id;
	ex->status = cq->current.wc.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int rc;

	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&fake_lock);
	fake_run();
	rc = next_poll(ex);
	if (rc)
		pthread_mutex_unlock(&fake_lock);
	return rc;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	(void)ex;
	pthread_mutex_unlock(&fake_lock);
}

/* Whatever is undefined gives something that nobody takes for a value. */
static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	if (ex->status == IBV_WC_SUCCESS)
		return cq_of(ex)->current.wc.opcode;
	fake_count.misread++;
	return IBV_WC_DRIVER3;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return ticks(cq_of(ex)->current.made_ns);
}

#define READ(type, name) \
	static type read_##name(struct ibv_cq_ex *ex) { return cq_of(ex)->current.wc.name; }
READ(uint32_t, vendor_err)
READ(uint32_t, byte_len)
READ(__be32, imm_data)
READ(uint32_t, qp_num)
READ(uint32_t, src_qp)
READ(unsigned int, wc_flags)
READ(uint32_t, slid)
READ(uint8_t, sl)
READ(uint8_t, dlid_path_bits)
#undef READ

void fake_clock_start(struct fake_cq *cq, uint64_t wc_flags)
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
#undef GIVE
	cq->stamped = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	pthread_mutex_lock(&fake_lock);
	fake_count.stamped_cqs += cq->stamped;
	pthread_mutex_unlock(&fake_lock);
}
