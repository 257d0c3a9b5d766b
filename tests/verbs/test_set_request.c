/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests requests through the mailbox of the process's statistics file: their effect on the
 * wire, and the handling of arbitrary content that any process could have written. The process
 * also acts as the tool.
 */
#include "rig.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ccshim/stats.h>

#include "../unit/seed.h"

#define K4 4096u

static struct ibv_wc wc[64];
static struct ccs_stats_header *stats;

/* -- the tool's side --------------------------------------------------------------- */

static void map_statistics_file(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/ccshim/%ld", dir, (long)getpid());
	fd = open(path, O_RDWR);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(stats != MAP_FAILED);
	close(fd);
}

static uint64_t put_request(const void *text, size_t len)
{
	const uint64_t gen = stats->mailbox.request_gen | 1;

	memset(stats->mailbox.request, 0, sizeof(stats->mailbox.request));
	memcpy(stats->mailbox.request, text, len);
	__atomic_store_n(&stats->mailbox.request_gen, gen, __ATOMIC_RELEASE);
	return gen + 1;
}

/* Returns the status; the answer is in the mailbox. */
static uint64_t send_request(struct rig *r, const char *text)
{
	const uint64_t answer_gen = put_request(text, strlen(text));
	unsigned spins = 0;

	do /* once, unless the pacer thread has found the request first */
		assert_int_equal(ibv_poll_cq(r->scq, 1, wc), 0);
	while (__atomic_load_n(&stats->mailbox.answer_gen, __ATOMIC_ACQUIRE) != answer_gen &&
	       rig_keep_waiting(&spins));
	assert_int_equal(stats->mailbox.answer_gen, answer_gen);
	return stats->mailbox.status;
}

static void assert_accepted(struct rig *r, const char *text)
{
	if (send_request(r, text))
		fail_msg("%s: %s", text, stats->mailbox.answer);
}

static void assert_refused(struct rig *r, const char *text, const char *part)
{
	if (!send_request(r, text) || !strstr(stats->mailbox.answer, part))
		fail_msg("%s: %s", text, stats->mailbox.answer);
}

static void assert_shows(struct rig *r, const char *whom, const char *part)
{
	assert_accepted(r, whom);
	if (!strstr(stats->mailbox.answer, part))
		fail_msg("%s: %s is not in %s", whom, part, stats->mailbox.answer);
}

/* The initial settings, except settings that come from rules. */
static void reset_settings(struct rig *r)
{
	assert_accepted(r, "all\nmode=enforce\ncc=none\nsplit=y\nsegment=4k\nmax_inflight=4k\n"
			"max_rate=inf\nbase_rtt=20us\nline_rate=auto\nrtt_jitter=0\n");
}

/* -- tests ------------------------------------------------------------------------- */

/* Returns the number of WQEs that a write of 20 segments became. */
static size_t wqes_of_a_write(struct rig *r)
{
	fake_seen_clear();
	assert_int_equal(rig_post(r, 7, IBV_WR_RDMA_WRITE, 0, 20 * K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, wc);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_memory_equal(r->src, r->dst, 20 * K4);
	return fake_seen_count();
}

static void open_rig(struct rig *r)
{
	rig_open(r, (struct rig_conf){ 0 });
	map_statistics_file();
}

static void close_rig(struct rig *r)
{
	munmap(stats, sizeof(*stats));
	rig_close(r);
}

static void a_mode_changes_what_the_device_sees(void **state)
{
	static const struct { const char *text; size_t wqes; } steps[] = {
		{ "all\nmode=observe\n", 1 }, { "all\nmode=enforce\n", 20 },
		{ "all\nmode=off\n", 1 }, { "all\nmode=enforce\n", 20 },
		{ "all\nsegment=8k\nmax_inflight=16k\n", 10 }, { "all\nsplit=n\n", 1 },
		{ "all\nsplit=y\nsegment=4k\n", 20 }, { "all\ncc=swift\n", 20 },
		{ "all\ncc=none\n", 20 },
	};
	struct rig r;

	open_rig(&r);
	assert_int_equal(wqes_of_a_write(&r), 20);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_accepted(&r, steps[i].text);
		assert_int_equal(wqes_of_a_write(&r), steps[i].wqes);
	}
	close_rig(&r);
	open_rig(&r); /* new QPs also have it */
	assert_int_equal(wqes_of_a_write(&r), 20);
	assert_shows(&r, "all\n", "cc = none\n");
	close_rig(&r);
}

/* Segments that wait at a closed gate go out at once when the mode stops holding them. */
static void mode_observe_posts_waiting_segments(void **state)
{
	struct rig r;

	open_rig(&r);
	fake_hold(true);
	assert_int_equal(rig_post(&r, 7, IBV_WR_RDMA_WRITE, 0, 20 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_seen_count(), 1);
	assert_accepted(&r, "all\nmode=observe\n");
	assert_int_equal(fake_seen_count(), 2);
	assert_int_equal(fake_seen(1).length, 19 * K4);
	rig_poll_stepping(r.scq, 1, wc);
	assert_memory_equal(r.src, r.dst, 20 * K4);
	assert_accepted(&r, "all\nmode=enforce\n");
	close_rig(&r);
}

static void a_request_applies_only_to_its_queue_pairs(void **state)
{
	char text[128], own[32];
	union ibv_gid gid;
	struct rig r;

	open_rig(&r);
	assert_int_equal(ibv_query_gid(r.ctx, 1, 1, &gid), 0);
	snprintf(own, sizeof(own), "::ffff:%u.%u.%u.%u", gid.raw[12], gid.raw[13], gid.raw[14],
		 gid.raw[15]);
	snprintf(text, sizeof(text), "qp %u\nsegment=8k\nmax_inflight=16k\n", r.a->qp_num);
	assert_accepted(&r, text);
	assert_int_equal(wqes_of_a_write(&r), 10);
	snprintf(text, sizeof(text), "qp %u\n", r.b->qp_num);
	assert_shows(&r, text, "segment = 4k\n");
	assert_shows(&r, "all\n", "segment = 4k\n");
	assert_accepted(&r, "new\nsegment=16k\nmax_inflight=32k\n");
	assert_int_equal(wqes_of_a_write(&r), 10);
	assert_shows(&r, "all\n", "segment = 16k\n");
	assert_accepted(&r, "peer 192.0.2.0/24\nsegment=20k\nmax_inflight=40k\n");
	assert_int_equal(wqes_of_a_write(&r), 10);
	assert_shows(&r, "peer 192.0.2.7\n", "segment = 20k\n");
	snprintf(text, sizeof(text), "peer %s\nsegment=40k\nmax_inflight=40k\n", own);
	assert_accepted(&r, text);
	assert_int_equal(wqes_of_a_write(&r), 2);
	assert_accepted(&r, "all\nsegment=4k\nmax_inflight=4k\n");
	assert_int_equal(wqes_of_a_write(&r), 20);
	close_rig(&r);
}

/* A request that one QP cannot meet does not change any QP. */
static void a_refused_request_changes_nothing(void **state)
{
	char text[128];
	struct rig r;

	open_rig(&r);
	assert_refused(&r, "all\nsegment=8k\nmax_inflight=1\n",
		       "max_inflight: '1' is out of range");
	assert_refused(&r, "all\nsegment=8k\nreport=/x\n", "report applies to the whole process");
	assert_refused(&r, "all\nsegment=64k\n", "max_inflight: it is smaller than one segment");
	assert_refused(&r, "all\nsegment=8k\nmax_inflight=16k\ndscp=5\n",
		       "its packets keep their DSCP");
	assert_refused(&r, "all\nsegment=8k\nmax_inflight=16k\ncc=dcqcn\n", "ECN-capable packets");
	assert_refused(&r, "all\nsegment=8k\nmax_inflight=16k\ncc=hpcc\n", "needs ");
	assert_refused(&r, "all\nsegment=8k\nmax_inflight=16k\ncc=/tmp/x.so\n",
		       "a plug-in is loaded only when");
	assert_refused(&r, "qp 4711\nsegment=8k\n", "no connected and controlled queue pair 4711");
	assert_shows(&r, "all\n", "segment = 4k\n");
	assert_int_equal(wqes_of_a_write(&r), 20);

	/* The segment of one QP is larger than the requested max_inflight for all. */
	snprintf(text, sizeof(text), "qp %u\nsegment=16k\nmax_inflight=32k\n", r.b->qp_num);
	assert_accepted(&r, text);
	assert_refused(&r, "all\nmax_inflight=8k\n",
		       "max_inflight: it is smaller than one segment of 16k");
	assert_shows(&r, "all\n", "max_inflight = 4k\n");
	close_rig(&r);
}

/* Traffic continues, complete and in order, whatever the mailbox contains. */
static void random_requests_leave_traffic_complete_and_in_order(void **state)
{
	static const char *const words[] = {
		"all\n", "new\n", "qp 1\n", "peer ::/0\n", "mode=observe\n", "mode=off\n",
		"mode=enforce\n", "cc=timely\n", "cc=swift\n", "cc=none\n", "max_inflight=4k\n", "max_inflight=auto\n",
		"segment=", "4k\n", "64k\n", "beta=0.5\n", "max_rate=10g\n", "base_rtt=20us\n",
		"base_rtt=auto\n", "rtt_jitter=3us\n", "line_rate=25g\n", "=", "\n", "x", "split=n\n",
		"split=y\n" };
	char text[CCS_STATS_TEXT];
	unsigned done = 0;
	struct rig r;

	seed_start("mailbox");
	open_rig(&r);
	for (unsigned i = 0; i < 2000; i++) {
		size_t len = sizeof(text);

		if (i % 8 == 0) {
			for (size_t k = 0; k < len; k++)
				text[k] = (char)seed_next();
		} else {
			len = (size_t)sprintf(text, "all\n");
			for (unsigned n = (unsigned)seed_below(6); n; n--)
				len += (size_t)sprintf(text + len, "%s", words[seed_below(26)]);
		}
		if (i % 16 == 3) { /* during traffic */
			rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 20 * K4, 0);
			rig_post(&r, 2, IBV_WR_RDMA_READ, 0, 3 * K4, 0);
		}
		stats->mailbox.answer_gen = seed_next();
		stats->mailbox.status = seed_next();
		put_request(text, len);
		if (i % 3 == 0)
			stats->mailbox.request_gen = seed_next();
		ibv_poll_cq(r.scq, 1, wc);
		done += !stats->mailbox.status;
		if (i % 16 == 5)
			wqes_of_a_write(&r);
	}
	assert_true(done > 100);
	reset_settings(&r);
	assert_int_equal(wqes_of_a_write(&r), 20);
	close_rig(&r);
}

enum { THREADS = 3, REQUESTS = 300 };
static atomic_bool ended;
static atomic_uint lost;

/* Create, use and destroy queue pairs while requests arrive. */
static void *use_qps(void *arg)
{
	struct rig *r = arg;
	struct ibv_cq *cq = ibv_create_cq(r->ctx, 64, NULL, NULL, 0);

	while (!atomic_load(&ended)) {
		struct ibv_qp *qp = rig_qp(r, cq, r->rcq);
		struct ibv_sge sge;
		struct ibv_send_wr wr = rig_wr(r, &sge, 1, IBV_WR_RDMA_WRITE, 0, 5 * K4,
					       IBV_SEND_SIGNALED), *bad;
		struct ibv_wc own;
		unsigned spins = 0;
		int n;

		rig_to_rts(r, qp, r->b->qp_num);
		for (unsigned i = 0; i < 5; i++) {
			if (ibv_post_send(qp, &wr, &bad))
				atomic_fetch_add(&lost, 1);
			while (!(n = ibv_poll_cq(cq, 1, &own)) && rig_keep_waiting(&spins))
				;
			if (n != 1 || own.status != IBV_WC_SUCCESS)
				atomic_fetch_add(&lost, 1);
		}
		ibv_destroy_qp(qp);
	}
	ibv_destroy_cq(cq);
	return NULL;
}

static void requests_amid_traffic_of_threads_lose_nothing(void **state)
{
	static const char *const texts[] = {
		"all\nmode=observe\n", "all\nmode=enforce\n", "all\ncc=swift\n", "new\ncc=timely\n",
		"all\ncc=none\n", "peer ::/0\nsegment=8k\nmax_inflight=16k\n", "all\nsegment=4k\n", "all\n",
		"all\nbase_rtt=auto\n", "all\nbase_rtt=20us\n", "all\nline_rate=25g\n" };
	pthread_t thread[THREADS];
	unsigned refusals = 0;
	struct rig r;

	seed_start("requests among threads");
	open_rig(&r);
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&thread[t], NULL, use_qps, &r), 0);
	for (unsigned i = 0; i < REQUESTS; i++) {
		const char *text = texts[seed_below(sizeof(texts) / sizeof(*texts))];
		const uint64_t answer_gen = put_request(text, strlen(text));
		unsigned spins = 0;

		while (__atomic_load_n(&stats->mailbox.answer_gen, __ATOMIC_ACQUIRE) != answer_gen)
			assert_true(rig_keep_waiting(&spins));
		refusals += stats->mailbox.status != 0;
	}
	atomic_store(&ended, true);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	reset_settings(&r);
	assert_int_equal(refusals, 0);
	assert_int_equal(atomic_load(&lost), 0);
	close_rig(&r);
}

/* The process does not rely on the sizes that its statistics file states. */
static void the_process_does_not_trust_sizes_in_its_statistics_file(void **state)
{
	struct ibv_qp *more[12];
	struct rig r;

	open_rig(&r);
	if (stats->slots >= 14) { /* the system's memory pages are larger than 4 KB */
		close_rig(&r);
		skip();
	}
	stats->slots = stats->header_size = stats->slot_size = stats->qps = stats->changes = 0;
	for (unsigned i = 0; i < 12; i++) {
		more[i] = rig_qp(&r, r.scq, r.rcq);
		rig_to_rts(&r, more[i], r.b->qp_num);
	}
	assert_true(stats->slots >= 14);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(ibv_destroy_qp(more[i]), 0);
	/* this count determines how often the process publishes its QPs */
	assert_int_equal(stats->qps, 2);
	assert_int_equal(wqes_of_a_write(&r), 20);
	close_rig(&r);
}

static atomic_bool privileged;
__attribute__((visibility("default"))) unsigned long getauxval(unsigned long type);

/* Also answers the shim's query of AT_SECURE. */
unsigned long getauxval(unsigned long type)
{
	unsigned long (*real)(unsigned long) = dlsym(RTLD_NEXT, "getauxval");

	return type == AT_SECURE ? privileged : real(type);
}

static void a_process_that_gained_privileges_ignores_requests(void **state)
{
	struct rig r;

	open_rig(&r);
	privileged = true;
	put_request("all\nmode=off\n", 13);
	ibv_poll_cq(r.scq, 1, wc);
	assert_int_equal(stats->mailbox.request_gen % 2, 1);
	assert_int_equal(wqes_of_a_write(&r), 20);
	privileged = false;
	assert_accepted(&r, "all\nmode=off\n");
	assert_int_equal(wqes_of_a_write(&r), 1);
	assert_accepted(&r, "all\nmode=enforce\n");
	close_rig(&r);
}

/*
 * Existing settings stay and may be requested again. This must be the last test, as it leaves
 * no free setting.
 */
static void a_request_beyond_the_last_free_setting_is_refused(void **state)
{
	char text[64];
	struct rig r;
	unsigned i;

	open_rig(&r);
	assert_accepted(&r, "all\nsegment=8k\nmax_inflight=16k\n");
	for (i = 0; i < 4096; i++) {
		snprintf(text, sizeof(text), "all\nsegment=4k\nmax_inflight=%u\n", 10000 + i);
		if (send_request(&r, text))
			break;
	}
	assert_in_range(i, 3000, 4095); /* earlier tests used some */
	assert_non_null(strstr(stats->mailbox.answer, "too many different settings"));
	assert_int_equal(wqes_of_a_write(&r), 20);
	assert_accepted(&r, "all\nsegment=8k\nmax_inflight=16k\n");
	assert_int_equal(wqes_of_a_write(&r), 10);
	close_rig(&r);
	open_rig(&r);
	assert_int_equal(wqes_of_a_write(&r), 10);
	close_rig(&r);
}

/* Post a write; its status must be that. */
static void expect_status(struct rig *r, enum ibv_wc_status status)
{
	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
	rig_poll(r->scq, 1, wc);
	assert_int_equal(wc[0].status, status);
}

static void reconnect(struct rig *r)
{
	assert_int_equal(rig_state(r->a, IBV_QPS_RESET), 0);
	rig_to_rts(r, r->a, r->b->qp_num);
}

/* The first test: r.a is connection 2 of the process, after r.b, then 3, 4 and 5. */
static void failures_are_set_and_unset(void **state)
{
	struct rig r;

	open_rig(&r);
	assert_accepted(&r, "all\nimpair=delay=1us\n");
	expect_status(&r, IBV_WC_SUCCESS);
	assert_accepted(&r, "all\nimpair=qp=2,access\n"); /* the connection keeps its number */
	expect_status(&r, IBV_WC_REM_ACCESS_ERR);
	assert_accepted(&r, "all\nimpair=\n");
	reconnect(&r);
	expect_status(&r, IBV_WC_SUCCESS);
	assert_accepted(&r, "all\nimpair=qp=2,access,qp=3,rnr:1\n"); /* a failure is not kept */
	expect_status(&r, IBV_WC_SUCCESS);
	expect_status(&r, IBV_WC_RNR_RETRY_EXC_ERR);
	reconnect(&r);
	assert_accepted(&r, "all\nimpair=operation:1\n");
	expect_status(&r, IBV_WC_SUCCESS);
	assert_accepted(&r, "all\nimpair=\n");
	assert_accepted(&r, "all\nimpair=operation:1\n"); /* the same again */
	expect_status(&r, IBV_WC_SUCCESS);
	expect_status(&r, IBV_WC_REM_OP_ERR);
	reconnect(&r);
	assert_accepted(&r, "all\nimpair=delay=1000s\n");
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
	assert_accepted(&r, "all\nimpair=delay=1us\n"); /* the long delay ends */
	rig_poll(r.scq, 1, wc);
	expect_status(&r, IBV_WC_SUCCESS);
	assert_accepted(&r, "all\nimpair=\n");
	close_rig(&r);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "gated", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			     "CCSHIM_BASE_RTT=20us" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_are_set_and_unset),
		cmocka_unit_test(a_mode_changes_what_the_device_sees),
		cmocka_unit_test(a_request_applies_only_to_its_queue_pairs),
		cmocka_unit_test(a_refused_request_changes_nothing),
		cmocka_unit_test(random_requests_leave_traffic_complete_and_in_order),
		cmocka_unit_test(mode_observe_posts_waiting_segments),
		cmocka_unit_test(requests_amid_traffic_of_threads_lose_nothing),
		cmocka_unit_test(the_process_does_not_trust_sizes_in_its_statistics_file),
		cmocka_unit_test(a_process_that_gained_privileges_ignores_requests),
		cmocka_unit_test(a_request_beyond_the_last_free_setting_is_refused),
	};
	static char dir[] = "/tmp/ccs-control-XXXXXX";
	char place[sizeof(dir) + 16];
	int rc;

	if (argc == 1 && (!mkdtemp(dir) || setenv("XDG_RUNTIME_DIR", dir, 1)))
		return 2;
	rc = rig_run_in(argc, argv, "control", modes, sizeof(modes) / sizeof(*modes), tests,
			sizeof(tests) / sizeof(*tests));
	snprintf(place, sizeof(place), "%s/ccshim", dir);
	rmdir(place);
	rmdir(dir);
	return rc;
}
