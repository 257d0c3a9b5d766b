/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests a device that stamps completions: the RTT is the network's however late the application
 * polls, and other results do not differ. Each case runs in a separate process.
 */
#include "rig.h"

#include <time.h>
#include <unistd.h>

#define K4 4096u

enum { LATENCY_US = 300, LATE_US = 5000, ROUNDS = 60 };

static void nap(long us)
{
	const struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

/* One WR at a time; the first `prompt` of each five are polled without delay. */
static void traffic(unsigned prompt)
{
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	fake_link(LATENCY_US, 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
		if (i % 5 >= prompt)
			nap(LATE_US);
		while (!ibv_poll_cq(r.scq, 1, &wc)) /* as long as it takes */
			;
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(ibv_poll_cq(r.scq, 1, &wc), 0);
	}
	assert_int_equal(fake_counts().misread, 0);
	rig_close(&r);
}

static void always_late(void **state)
{
	traffic(0);
}

static void sometimes_late(void **state)
{
	traffic(2);
}

static void never_late(void **state)
{
	traffic(5);
}

/* Completions of all opcodes, then a failure and the flushes after it. */
static unsigned all_kinds(struct rig *r, struct ibv_cq *cq, struct ibv_wc *wc)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	const unsigned kinds = sizeof(opcodes) / sizeof(*opcodes);
	struct ibv_wc received[3];
	unsigned n = 0;

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_recv(r, i, 0, 2 * K4), 0);
	for (unsigned i = 0; i < kinds; i++, n++) {
		const bool atomic = opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD ||
				    opcodes[i] == IBV_WR_ATOMIC_CMP_AND_SWP;

		assert_int_equal(rig_post(r, 100 + i, opcodes[i], 0, atomic ? 8 : 2 * K4,
					  IBV_SEND_SIGNALED), 0);
		rig_poll(cq, 1, &wc[n]);
	}
	rig_poll(r->rcq, 3, received);
	fake_hold(true);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(r, 200 + i, IBV_WR_RDMA_WRITE, 0, K4,
					  IBV_SEND_SIGNALED), 0);
	fake_fail_cqe(0, IBV_WC_REM_ACCESS_ERR);
	fake_hold(false);
	rig_poll(cq, 3, &wc[n]);
	return n + 3;
}

static void assert_same(const struct ibv_wc *a, const struct ibv_wc *b)
{
	assert_int_equal(a->wr_id, b->wr_id);
	assert_int_equal(a->status, b->status);
	if (a->status == IBV_WC_SUCCESS)
		assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->vendor_err, b->vendor_err);
	assert_int_equal(a->byte_len, b->byte_len);
	assert_int_equal(a->imm_data, b->imm_data);
	assert_int_equal(a->src_qp, b->src_qp);
	assert_int_equal(a->wc_flags, b->wc_flags);
	assert_int_equal(a->pkey_index, b->pkey_index);
	assert_int_equal(a->slid, b->slid);
	assert_int_equal(a->sl, b->sl);
	assert_int_equal(a->dlid_path_bits, b->dlid_path_bits);
}

/* Of two QPs, one got a plain shadow CQ because the device refused the other kind. */
static void same_as_plain(void **state)
{
	struct ibv_wc stamped[16], plain[16];
	unsigned n;
	struct ibv_cq *cq;
	struct ibv_qp *a;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(fake_counts().stamped_cqs, 1);
	n = all_kinds(&r, r.scq, stamped);
	a = r.a;
	cq = ibv_create_cq(r.ctx, 64, NULL, NULL, 0);
	assert_non_null(cq);
	fake_fail_create_cq(0, ENOSPC);
	errno = 0;
	r.a = rig_qp(&r, cq, r.rcq);
	assert_non_null(r.a);
	assert_int_equal(errno, 0);
	assert_int_equal(fake_counts().stamped_cqs, 1);
	assert_int_equal(fake_counts().cqs - r.before.cqs, 5); /* three and two shadows */
	rig_to_rts(&r, r.a, r.b->qp_num);
	assert_int_equal(all_kinds(&r, cq, plain), n);
	for (unsigned i = 0; i < n; i++) {
		assert_same(&stamped[i], &plain[i]);
		assert_int_equal(stamped[i].qp_num, a->qp_num);
		assert_int_equal(plain[i].qp_num, r.a->qp_num);
	}
	assert_int_equal(fake_counts().misread, 0);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	r.a = a;
	rig_close(&r);
}

static uint64_t device_now(const struct rig *r)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	assert_int_equal(ibv_query_rt_values_ex(r->ctx, &values), 0);
	return (uint64_t)values.raw_clock.tv_nsec;
}

static uint64_t wallclock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * The next completion of a batch is that WR's, and its time lies between these times of both
 * clocks.
 */
static void expect_stamps(struct ibv_cq_ex *cq, uint64_t wr_id, const uint64_t since[2],
			  const uint64_t until[2])
{
	assert_int_equal(cq->wr_id, wr_id);
	assert_in_range(ibv_wc_read_completion_ts(cq), since[0], until[0]);
	assert_in_range(ibv_wc_read_completion_wallclock_ns(cq), since[1], until[1]);
}

/* Completions that the shim creates, for a QP that it had to fail. */
static void made_here(void **state)
{
	static struct ibv_cq_init_attr_ex cq_ex = {
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t since[2], until[2];
	struct ibv_cq_ex *cq;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .max_send_wr = 64, .cq_ex = &cq_ex });
	cq = (struct ibv_cq_ex *)r.scq;
	fake_hold(true);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	fake_fail_post(0, EINVAL, FAKE_BAD_WR);
	since[0] = device_now(&r);
	since[1] = wallclock();
	fake_hold(false);
	assert_int_equal(ibv_start_poll(cq, &attr), 0);
	for (unsigned i = 0; i < 20; i++) {
		until[0] = device_now(&r);
		until[1] = wallclock();
		expect_stamps(cq, i, since, until);
		assert_int_equal(ibv_next_poll(cq), i < 19 ? 0 : ENOENT);
	}
	ibv_end_poll(cq);
	rig_close(&r);
}

static void plain_shadow(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(fake_counts().stamped_cqs, 0);
	rig_close(&r);
}

static const struct {
	const char *name, *query, *stuck;
	void (*test)(void **state);
	bool rtt;
	const char *option;              /* NULL: the default */
} cases[] = {
	{ "always-late", "FAKERDMA_CLOCK_QUERY=1", "FAKERDMA_CLOCK_STUCK=0", always_late, true, NULL },
	{ "sometimes-late", "FAKERDMA_CLOCK_QUERY=0", "FAKERDMA_CLOCK_STUCK=0", sometimes_late, true,
	  NULL },
	{ "stuck", "FAKERDMA_CLOCK_QUERY=0", "FAKERDMA_CLOCK_STUCK=1", never_late, true, NULL },
	{ "fields", "FAKERDMA_CLOCK_QUERY=1", "FAKERDMA_CLOCK_STUCK=0", same_as_plain, false, NULL },
	{ "made-here", "FAKERDMA_CLOCK_QUERY=1", "FAKERDMA_CLOCK_STUCK=0", made_here, false, NULL },
	{ "unused", "FAKERDMA_CLOCK_QUERY=1", "FAKERDMA_CLOCK_STUCK=0", plain_shadow, false,
	  "CCSHIM_HW_TIMESTAMPS=n" },
	{ "unused-made-here", "FAKERDMA_CLOCK_QUERY=1", "FAKERDMA_CLOCK_STUCK=0", made_here, false,
	  "CCSHIM_HW_TIMESTAMPS=n" },
};

/* The median RTT of the sender; it is 0 for a QP that has not sent. */
static double median_rtt(const char *report)
{
	FILE *file = fopen(report, "r");
	char line[512];
	double most = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		for (const char *p = line; (p = strstr(p, "\"p50\":")); p++) {
			const double us = atof(p + 6);

			most = us > most ? us : most;
		}
	}
	fclose(file);
	return most;
}

static void run_case(size_t i, const char *report)
{
	char command[4096], exe[2048];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	double us;

	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(command, sizeof(command), "'%s' %s %s >&2", exe, cases[i].name, report);
	if (system(command))
		fail_msg("case %s failed: run %s %s /dev/null", cases[i].name, exe, cases[i].name);
	if (!cases[i].rtt)
		return;
	us = median_rtt(report);
	printf("# %s: %.0f us\n", cases[i].name, us);
	/* Half of the RTT that a late poll would give is far above the delay of a busy host. */
	assert_true(us > LATENCY_US - 20 && us < LATE_US / 2);
}

static void each_case_passes_in_a_separate_process(void **state)
{
	char report[] = "/tmp/test_timestamp.XXXXXX";
	const int fd = mkstemp(report);

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		run_case(i, report);
	unlink(report);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(each_case_passes_in_a_separate_process),
	};
	char report[300] = "";

	if (argc > 2)
		snprintf(report, sizeof(report), "CCSHIM_REPORT=%s", argv[2]);
	for (size_t i = 0; argc > 2 && i < sizeof(cases) / sizeof(*cases); i++) {
		const struct CMUnitTest one[] = { { .name = cases[i].name,
						    .test_func = cases[i].test } };

		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=64k",
			 "CCSHIM_BASE_RTT=300us", "FAKERDMA_CLOCK=156250", report,
			 cases[i].query, cases[i].stuck,
			 cases[i].option ? cases[i].option : "CCSHIM_HW_TIMESTAMPS=y", NULL);
		return cmocka_run_group_tests_name(cases[i].name, one, NULL, NULL);
	}
	return cmocka_run_group_tests_name("timestamp", all, NULL, NULL);
}
