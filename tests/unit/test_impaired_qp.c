/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair that is no longer impaired is posted to as before: its runs have the fast path. */
#include "test.h"

#include "preload/datapath/impair.c"

/* The functions of the preload that impair.c calls; queue pairs here have no device. */
uint64_t ccs_now_ns(void)
{
	return 0;
}

const struct ccs_real *ccs_real(void)
{
	return NULL;
}

void ccs_async_raise(const struct qp *qp, enum ibv_event_type type)
{
	fail_msg("event %d of %p", (int)type, (const void *)qp);
}

void ccs_recorder_failed(struct qp *qp, const struct ibv_wc *wc, unsigned event)
{
	fail_msg("failure of %p, status %d, event %u", (void *)qp, (int)wc->status, event);
}

static void check_special(bool syscalls, struct wr_batch *batch)
{
	struct ccs_policy policy = { .options = { .mode = CCS_MODE_ENFORCE, .impair = "delay=1ms" } };
	struct qp qp = { .policy = &policy, .syscalls = syscalls, .wr_batch = batch };
	const bool special = syscalls || batch;

	qp.special = special;
	for (int i = 0; i < 2; i++) {
		strcpy(policy.options.impair, "delay=1ms");
		ccs_impair_configure(&qp);
		assert_true(qp.impaired && qp.special && qp.flow.user.signals_all);
		strcpy(policy.options.impair, "");
		ccs_impair_configure(&qp);
		assert_false(qp.impaired || qp.flow.user.signals_all);
		assert_int_equal(qp.special, special);
	}
	free(qp.failure.impair);
}

TEST(impair_off_restores_the_fast_path)
{
	char batch;

	(void)state;
	check_special(false, NULL);
	check_special(true, NULL);
	check_special(false, (struct wr_batch *)&batch);
}
