/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the modes. With mode=observe the device receives what the application posted, on a shadow
 * CQ. With mode=off the shim changes neither WRs nor CQs. Each mode runs in a separate process.
 */
#include "rig.h"

#include <unistd.h>

#define K4 4096u

static struct ibv_wc wc[64];

static void mode_observe_leaves_wrs_unchanged(void **state)
{
	struct ibv_sge sge[10];
	struct ibv_send_wr wr[10], *bad;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_rd_atomic = 1 });
	fake_hold(true);
	for (unsigned i = 0; i < 10; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, i % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			       i * 20 * K4, 20 * K4, i % 4 == 1 ? IBV_SEND_SIGNALED : 0);
		wr[i].next = i < 9 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(ibv_post_send(r.a, wr, &bad), 0);
	assert_int_equal(fake_seen_count(), 10);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(fake_seen(i).length, 20 * K4);
		assert_int_equal(fake_seen(i).send_flags, wr[i].send_flags);
		assert_int_equal(fake_seen(i).doorbell, fake_seen(0).doorbell);
	}
	rig_poll_stepping(r.scq, 3, wc);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(wc[i].wr_id, 4 * i + 1);
	rig_close(&r);
}

static void mode_off_leaves_qps_and_wrs_unchanged(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_ptr_equal(fake_send_cq(r.a), r.scq);
	assert_int_equal(fake_depth(r.a), 16);
	assert_int_equal(rig_post(&r, 4711, IBV_WR_RDMA_WRITE, 0, 20 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_seen_count(), 1);
	assert_int_equal(fake_seen(0).wr_id, 4711);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(fake_counts().cqs - r.before.cqs, 2);
	rig_close(&r);
}

/* As daemons do before they use verbs. */
static void settings_outlive_a_cleared_environment(void **state)
{
	assert_int_equal(clearenv(), 0);
	mode_off_leaves_qps_and_wrs_unchanged(state);
}

/* As above; the file is created at the first use of verbs. */
static void file_names_keep_job_and_rank_of_a_cleared_environment(void **state)
{
	char name[64];

	snprintf(name, sizeof(name), "test_modes-%ld-4711-3.log", (long)getpid());
	assert_int_equal(clearenv(), 0);
	ibv_close_device(rig_device());
	assert_int_equal(unlink(name), 0);
}

static void settings_of_the_program_itself_come_first(void **state)
{
	assert_int_equal(setenv("CCSHIM_MODE", "off", 1), 0);
	mode_off_leaves_qps_and_wrs_unchanged(state);
}

/* With iWARP a completion contains no information about the network. */
static void iwarp_is_uncontrolled(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_ptr_equal(fake_send_cq(r.a), r.scq);
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 20 * K4, IBV_SEND_SIGNALED);
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
}

static const struct {
	const char *name, *setting;
	void (*test)(void **state);
} modes[] = {
	{ "observe", "CCSHIM_MODE=observe", mode_observe_leaves_wrs_unchanged },
	{ "off", "CCSHIM_MODE=off", mode_off_leaves_qps_and_wrs_unchanged },
	{ "cleared", "CCSHIM_MODE=off", settings_outlive_a_cleared_environment },
	{ "named", "CCSHIM_LOG_FILE=test_modes-%p-%j-%r.log",
	  file_names_keep_job_and_rank_of_a_cleared_environment },
	{ "changed", "CCSHIM_MODE=observe", settings_of_the_program_itself_come_first },
	{ "iwarp", "FAKERDMA_TRANSPORT=iwarp", iwarp_is_uncontrolled },
};

static void each_mode_passes_in_a_separate_process(void **state)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		char command[4096], exe[2048];
		const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

		assert_true(n > 0);
		exe[n] = '\0';
		snprintf(command, sizeof(command), "'%s' %s >&2", exe, modes[i].name);
		if (system(command))
			fail_msg("mode %s failed: run %s %s", modes[i].name, exe, modes[i].name);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(each_mode_passes_in_a_separate_process),
	};

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		const struct CMUnitTest one[] = { { .name = modes[i].name,
						    .test_func = modes[i].test } };

		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		rig_exec(argv, "CCSHIM_CC=timely", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			 "SLURM_JOB_ID=4711", "PMI_RANK=3", modes[i].setting, NULL);
		return cmocka_run_group_tests_name(modes[i].name, one, NULL, NULL);
	}
	return cmocka_run_group_tests_name("modes", all, NULL, NULL);
}
