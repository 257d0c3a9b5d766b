/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a QP whose algorithm has no effect is named in one warning, and that `ccshim stat`
 * shows the state: a constant rate into a path whose queue never becomes short, in virtual time.
 */
#include "../verbs/rig.h"

#include <unistd.h>

#include "virtual.h"

enum { LEN = 16384, RTT_NS = 2000000 };

static char dir[64], log_file[96];

static void wait_for_completion(struct rig *r)
{
	struct ibv_wc wc;

	for (unsigned i = 0; ibv_poll_cq(r->scq, 1, &wc) == 0; i++) {
		assert_true(i < 100);
		virtual_pass(RTT_NS / 2);
		fake_step(1);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* Two WRs of four segments each are always posted; two segments may be outstanding. */
static void send_for(struct rig *r, unsigned ms)
{
	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, LEN, IBV_SEND_SIGNALED), 0);
	for (unsigned i = 0; i < ms * 1000000ull / (4 * RTT_NS); i++) {
		assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, LEN, IBV_SEND_SIGNALED), 0);
		wait_for_completion(r);
	}
	wait_for_completion(r);
}

/* Lines of a command's output, or of a file, that contain the text. */
static unsigned count_lines(FILE *f, const char *text)
{
	char line[4096];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	return n;
}

static unsigned logged(const char *text)
{
	FILE *f = fopen(log_file, "r");
	const unsigned n = f ? count_lines(f, text) : 0;

	if (f)
		fclose(f);
	return n;
}

static unsigned shown(const char *options, const char *text)
{
	const char *top = getenv("top_builddir");
	char command[512];
	unsigned n;
	FILE *f;

	snprintf(command, sizeof(command),
		 "env -u LD_PRELOAD CCSHIM_STATS_DIR=%s %s/tools/ccshim/ccshim stat -p %d %s", dir,
		 top ? top : ".", (int)getpid(), options);
	f = popen(command, "r");
	n = count_lines(f, text);
	assert_int_equal(pclose(f), 0);
	return n;
}

static void a_flow_without_effect_is_named_once(void **state)
{
	struct rig r;

	virtual_start();
	rig_open(&r, (struct rig_conf){ 0 });
	fake_hold(true);
	send_for(&r, 500);
	assert_int_equal(logged("has no effect"), 0);
	send_for(&r, 3000);
	virtual_stop();
	assert_int_equal(logged("fixed has no effect"), 1);
	assert_int_equal(logged("base_rtt"), 1);
	assert_true(shown("", "at-limit") >= 1);
	assert_true(shown("--json", "\"control\":\"at-limit\"") +
		    shown("--json", "\"control\": \"at-limit\"") >= 1);
	fake_reset();
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_without_effect_is_named_once),
	};
	static char log_setting[128], stats_setting[96], command[96];
	int rc;

	(void)argc;
	snprintf(dir, sizeof(dir), "/tmp/test_no_effect.%d", (int)getpid());
	snprintf(log_file, sizeof(log_file), "%s/log", dir);
	snprintf(log_setting, sizeof(log_setting), "CCSHIM_LOG_FILE=%s", log_file);
	snprintf(stats_setting, sizeof(stats_setting), "CCSHIM_STATS_DIR=%s", dir);
	snprintf(command, sizeof(command), "mkdir -m 700 -p %s", dir);
	rig_exec(argv, log_setting, stats_setting, "CCSHIM_SEGMENT=4k", "CCSHIM_BASE_RTT=20us",
		 "CCSHIM_MAX_INFLIGHT=8k",
		 "CCSHIM_CC=fixed:rate=100m", NULL);
	rc = system(command) || cmocka_run_group_tests_name("no effect", tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || rc;
}
