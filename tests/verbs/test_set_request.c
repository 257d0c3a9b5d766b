/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests by the mailbox of the process's own page: what they change on the wire, and what
 * becomes of one that anybody might have written there. The process plays the tool, too.
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
static struct ccs_stats_header *page;

/* -- the tool's side --------------------------------------------------------------- */

static void open_page(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/ccshim/%ld", dir, (long)getpid());
	fd = open(path, O_RDWR);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(page != MAP_FAILED);
	close(fd);
}

static uint64_t put(const void *text, size_t len)
{
	const uint64_t asked = page->mailbox.request_gen | 1;

	memset(page->mailbox.request, 0, sizeof(page->mailbox.request));
	memcpy(page->mailbox.request, text, len);
	__atomic_store_n(&page->mailbox.request_gen, asked, __ATOMIC_RELEASE);
	return asked + 1;
}

/* The status; the answer is in the page. */
static uint64_t ask(struct rig *r, const char *text)
{
	const uint64_t taken = put(text, strlen(text));
	unsigned spins = 0;

	do /* once, but where the helper has found it first */
		assert_int_equal(ibv_poll_cq(r->scq, 1, wc), 0);
	while (__atomic_load_n(&page->mailbox.answer_gen, __ATOMIC_ACQUIRE) != taken &&
	       rig_keep_waiting(&spins));
	assert_int_equal(page->mailbox.answer_gen, taken);
	return page->mailbox.status;
}

static void asked(struct rig *r, const char *text)
{
	if (ask(r, text))
		fail_msg("%s: %s", text, page->mailbox.answer);
}

static void refused(struct rig *r, const char *text, const char *part)
{
	if (!ask(r, text) || !strstr(page->mailbox.answer, part))
		fail_msg("%s: %s", text, page->mailbox.answer);
}

static void shows(struct rig *r, const char *whom, const char *part)
{
	asked(r, whom);
	if (!strstr(page->mailbox.answer, part))
		fail_msg("%s: %s is not in %s", whom, part, page->mailbox.answer);
}

/* As the process began, but for what belongs to the rules. */
static void reset(struct rig *r)
{
	asked(r, "all\nmode=enforce\ncc=none\nsplit=y\nsegment=4k\nmax_inflight=4k\nmax_rate=inf\n"
	      "base_rtt=20us\nline_rate=auto\nrtt_jitter=0\n");
}

/* -- tests ------------------------------------------------------------------------- */

/* How many WQEs a write of 20 segments became. */
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
	open_page();
}

static void close_rig(struct rig *r)
{
	munmap(page, sizeof(*page));
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

	(void)state;
	open_rig(&r);
	assert_int_equal(wqes_of_a_write(&r), 20);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		asked(&r, steps[i].text);
		assert_int_equal(wqes_of_a_write(&r), steps[i].wqes);
	}
	close_rig(&r);
	open_rig(&r); /* those to come have it, too */
	assert_int_equal(wqes_of_a_write(&r), 20);
	shows(&r, "all\n", "cc = none\n");
	close_rig(&r);
}

/* What waits at a closed gate goes at once when nothing holds it back any more. */
static void mode_observe_posts_waiting_segments(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	fake_hold(true);
	assert_int_equal(rig_post(&r, 7, IBV_WR_RDMA_WRITE, 0, 20 * K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_seen_count(), 1);
	asked(&r, "all\nmode=observe\n");
	assert_int_equal(fake_seen_count(), 2);
	assert_int_equal(fake_seen(1).length, 19 * K4);
	rig_poll_stepping(r.scq, 1, wc);
	assert_memory_equal(r.src, r.dst, 20 * K4);
	asked(&r, "all\nmode=enforce\n");
	close_rig(&r);
}

static void a_request_applies_only_to_its_queue_pairs(void **state)
{
	char text[128], own[32];
	union ibv_gid gid;
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(ibv_query_gid(r.ctx, 1, 1, &gid), 0);
	snprintf(own, sizeof(own), "::ffff:%u.%u.%u.%u", gid.raw[12], gid.raw[13], gid.raw[14],
		 gid.raw[15]);
	snprintf(text, sizeof(text), "qp %u\nsegment=8k\nmax_inflight=16k\n", r.a->qp_num);
	asked(&r, text);
	assert_int_equal(wqes_of_a_write(&r), 10);
	snprintf(text, sizeof(text), "qp %u\n", r.b->qp_num);
	shows(&r, text, "segment = 4k\n");
	shows(&r, "all\n", "segment = 4k\n");
	asked(&r, "new\nsegment=16k\nmax_inflight=32k\n");
	assert_int_equal(wqes_of_a_write(&r), 10);
	shows(&r, "all\n", "segment = 16k\n");
	asked(&r, "peer 192.0.2.0/24\nsegment=20k\nmax_inflight=40k\n");
	assert_int_equal(wqes_of_a_write(&r), 10);
	shows(&r, "peer 192.0.2.7\n", "segment = 20k\n");
	snprintf(text, sizeof(text), "peer %s\nsegment=40k\nmax_inflight=40k\n", own);
	asked(&r, text);
	assert_int_equal(wqes_of_a_write(&r), 2);
	asked(&r, "all\nsegment=4k\nmax_inflight=4k\n");
	assert_int_equal(wqes_of_a_write(&r), 20);
	close_rig(&r);
}

/* A QP that asks for what cannot be leaves all as it was, others too. */
static void a_refused_request_changes_nothing(void **state)
{
	char text[128];
	struct rig r;

	(void)state;
	open_rig(&r);
	refused(&r, "all\nsegment=8k\nmax_inflight=1\n", "max_inflight: '1' is out of range");
	refused(&r, "all\nsegment=8k\nreport=/x\n", "report applies to the whole process");
	refused(&r, "all\nsegment=64k\n", "max_inflight: it is smaller than one segment");
	refused(&r, "all\nsegment=8k\nmax_inflight=16k\ndscp=5\n", "its packets keep their DSCP");
	refused(&r, "all\nsegment=8k\nmax_inflight=16k\ncc=dcqcn\n", "ECN-capable packets");
	refused(&r, "all\nsegment=8k\nmax_inflight=16k\ncc=hpcc\n", "needs ");
	refused(&r, "all\nsegment=8k\nmax_inflight=16k\ncc=/tmp/x.so\n", "a plug-in is loaded only when");
	refused(&r, "qp 4711\nsegment=8k\n", "no connected and controlled queue pair 4711");
	shows(&r, "all\n", "segment = 4k\n");
	assert_int_equal(wqes_of_a_write(&r), 20);

	/* One QP has a segment that the cap for all would be too small for. */
	snprintf(text, sizeof(text), "qp %u\nsegment=16k\nmax_inflight=32k\n", r.b->qp_num);
	asked(&r, text);
	refused(&r, "all\nmax_inflight=8k\n", "max_inflight: it is smaller than one segment of 16k");
	shows(&r, "all\n", "max_inflight = 4k\n");
	close_rig(&r);
}

/* Whatever the mailbox contains, traffic continues, complete and in order. */
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

	(void)state;
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
		if (i % 16 == 3) { /* in mid-traffic */
			rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 20 * K4, 0);
			rig_post(&r, 2, IBV_WR_RDMA_READ, 0, 3 * K4, 0);
		}
		page->mailbox.answer_gen = seed_next();
		page->mailbox.status = seed_next();
		put(text, len);
		if (i % 3 == 0)
			page->mailbox.request_gen = seed_next();
		ibv_poll_cq(r.scq, 1, wc);
		done += !page->mailbox.status;
		if (i % 16 == 5)
			wqes_of_a_write(&r);
	}
	assert_true(done > 100);
	reset(&r);
	assert_int_equal(wqes_of_a_write(&r), 20);
	close_rig(&r);
}

enum { THREADS = 3, REQUESTS = 300 };
static atomic_bool ended;
static atomic_uint lost;

/* Queue pairs come, write and go, while others do and requests come. */
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

	(void)state;
	seed_start("requests among threads");
	open_rig(&r);
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&thread[t], NULL, use_qps, &r), 0);
	for (unsigned i = 0; i < REQUESTS; i++) {
		const char *text = texts[seed_below(sizeof(texts) / sizeof(*texts))];
		const uint64_t taken = put(text, strlen(text));
		unsigned spins = 0;

		while (__atomic_load_n(&page->mailbox.answer_gen, __ATOMIC_ACQUIRE) != taken)
			assert_true(rig_keep_waiting(&spins));
		refusals += page->mailbox.status != 0;
	}
	atomic_store(&ended, true);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	reset(&r);
	assert_int_equal(refusals, 0);
	assert_int_equal(atomic_load(&lost), 0);
	close_rig(&r);
}

/* The process does not believe what its page says of its own size. */
static void the_process_does_not_trust_sizes_in_its_statistics_file(void **state)
{
	struct ibv_qp *more[12];
	struct rig r;

	(void)state;
	open_rig(&r);
	if (page->slots >= 14) { /* pages of more than 4 KB */
		close_rig(&r);
		skip();
	}
	page->slots = page->header_size = page->slot_size = page->qps = page->changes = 0;
	for (unsigned i = 0; i < 12; i++)
		more[i] = rig_qp(&r, r.scq, r.rcq);
	assert_true(page->slots >= 14);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(ibv_destroy_qp(more[i]), 0);
	assert_int_equal(page->qps, 2); /* by it the process decides how often it shows them */
	assert_int_equal(wqes_of_a_write(&r), 20);
	close_rig(&r);
}

static atomic_bool privileged;
__attribute__((visibility("default"))) unsigned long getauxval(unsigned long type);

/* The shim's own question of AT_SECURE, too. */
unsigned long getauxval(unsigned long type)
{
	unsigned long (*real)(unsigned long) = dlsym(RTLD_NEXT, "getauxval");

	return type == AT_SECURE ? privileged : real(type);
}

static void a_process_that_gained_privileges_ignores_requests(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	privileged = true;
	put("all\nmode=off\n", 13);
	ibv_poll_cq(r.scq, 1, wc);
	assert_int_equal(page->mailbox.request_gen % 2, 1);
	assert_int_equal(wqes_of_a_write(&r), 20);
	privileged = false;
	asked(&r, "all\nmode=off\n");
	assert_int_equal(wqes_of_a_write(&r), 1);
	asked(&r, "all\nmode=enforce\n");
	close_rig(&r);
}

/* What there was stays, and may be asked for again. The last test: there are no more. */
static void a_request_beyond_the_last_free_setting_is_refused(void **state)
{
	char text[64];
	struct rig r;
	unsigned i;

	(void)state;
	open_rig(&r);
	asked(&r, "all\nsegment=8k\nmax_inflight=16k\n");
	for (i = 0; i < 4096; i++) {
		snprintf(text, sizeof(text), "all\nsegment=4k\nmax_inflight=%u\n", 10000 + i);
		if (ask(&r, text))
			break;
	}
	assert_in_range(i, 3000, 4095); /* what went before had some */
	assert_non_null(strstr(page->mailbox.answer, "too many different settings"));
	assert_int_equal(wqes_of_a_write(&r), 20);
	asked(&r, "all\nsegment=8k\nmax_inflight=16k\n");
	assert_int_equal(wqes_of_a_write(&r), 10);
	close_rig(&r);
	open_rig(&r);
	assert_int_equal(wqes_of_a_write(&r), 10);
	close_rig(&r);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "gated", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			     "CCSHIM_BASE_RTT=20us" } },
	};
	const struct CMUnitTest tests[] = {
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
