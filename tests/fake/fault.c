/* SPDX-License-Identifier: BSD-2-Clause */
/* What a test wants to go wrong, and when. */
#include "priv.h"

static struct {
	bool set;
	unsigned skip;
	int code;
} fault[FAULTS];

static enum fake_bad bad_style;
static uint32_t depth_limit = UINT32_MAX, wanted_num;

int fake_fault(enum fake_fault which)
{
	if (!fault[which].set)
		return 0;
	if (fault[which].skip) {
		fault[which].skip--;
		return 0;
	}
	fault[which].set = false;
	return fault[which].code;
}

static void set(enum fake_fault which, unsigned skip, int code)
{
	pthread_mutex_lock(&fake_lock);
	fault[which].set = true;
	fault[which].skip = skip;
	fault[which].code = code;
	pthread_mutex_unlock(&fake_lock);
}

enum fake_bad fake_fault_bad(void)
{
	return bad_style;
}

uint32_t fake_depth_limit(void)
{
	return depth_limit;
}

uint32_t fake_wanted_qp_num(void)
{
	const uint32_t num = wanted_num;

	wanted_num = 0;
	return num;
}

void fake_fail_post(unsigned skip, int code, enum fake_bad bad)
{
	bad_style = bad;
	set(FAULT_POST, skip, code);
}

void fake_fail_cqe(unsigned skip, enum ibv_wc_status status)
{
	set(FAULT_CQE, skip, (int)status);
}

void fake_fail_create_cq(unsigned skip, int code)
{
	set(FAULT_CREATE_CQ, skip, code);
}

void fake_fail_modify_qp(unsigned skip, int code)
{
	set(FAULT_MODIFY, skip, code);
}

void fake_fail_destroy_qp(unsigned skip, int code)
{
	set(FAULT_DESTROY, skip, code);
}

void fake_limit_depth(uint32_t max_send_wr)
{
	depth_limit = max_send_wr;
}

void fake_next_qp_num(uint32_t qp_num)
{
	wanted_num = qp_num;
}

void fake_faults_clear(void)
{
	for (int i = 0; i < FAULTS; i++)
		fault[i].set = false;
	depth_limit = UINT32_MAX;
	wanted_num = 0;
}
