/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests applications that do not poll while they wait, but read memory. The window of windowed.c
 * opens by completions alone, which the pacer thread must poll for.
 */
#include "rig.h"

enum { K4 = 4096, N = 50 };

static void wait_for_last_byte(const struct rig *r)
{
	const volatile unsigned char *last = r->dst + N * K4 - 1;
	unsigned spins = 0;

	while (*last != r->src[N * K4 - 1])
		assert_true(rig_keep_waiting(&spins));
}

static void data_arrive_although_the_application_does_not_poll(void **state)
{
	struct ibv_wc wc;
	struct rig r;

#ifdef __SANITIZE_THREAD__
	skip(); /* it reports memory that a device writes as a data race */
#endif
	rig_open(&r, (struct rig_conf){ .max_send_wr = N });
	for (int round = 0; round < 3; round++) {
		memset(r.src, 'a' + round, N * K4);
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * K4, K4,
						  i == N - 1 ? IBV_SEND_SIGNALED : 0), 0);
		wait_for_last_byte(&r);
		rig_poll(r.scq, 1, &wc);
		assert_true(wc.wr_id == N - 1 && wc.status == IBV_WC_SUCCESS);
	}
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_arrive_although_the_application_does_not_poll),
	};
	const char *dir = getenv("top_builddir");
	char cc[4096];

	(void)argc;
	snprintf(cc, sizeof(cc), "CCSHIM_CC=%s/tests/verbs/.libs/windowed.so", dir ? dir : ".");
	rig_exec(argv, cc, "CCSHIM_SEGMENT=4k", "CCSHIM_LINE_RATE=10g", NULL);
	return cmocka_run_group_tests_name("no poll", tests, NULL, NULL);
}
