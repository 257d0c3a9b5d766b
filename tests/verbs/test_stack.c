/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the shim needs little of an application thread's stack: threads may have only
 * PTHREAD_STACK_MIN, which the device's library uses in part.
 */
#include "rig.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ccshim/stats.h>

/*
 * What the shim may need in addition to the device's library, as LIMITS of libccshim(7) says. Where
 * a value is parsed (the settings of sections, when a QP is connected; a request of `ccshim set`),
 * strtod() needs 2 KB of it.
 */
enum { DATA_PATH = 4096, CONNECT = 6144, REQUEST = 7168, FIRST_USE = 12 << 10 };
enum { STACK = 256 << 10, PAINT = 0xa5, K4 = 4096 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true /* frames are larger */
#else
#define SANITIZED false
#endif

static struct rig r;
static struct ibv_qp *qp;
static struct ibv_cq *cq;
static enum ibv_qp_type type;

/* The first use of verbs in the process: the shim reads its configuration. */
static void *open_device(void *arg)
{
	rig_open(&r, (struct rig_conf){ 0 });
	return arg;
}

static void *create(void *arg)
{
	r.conf.type = type;
	cq = rig_cq(&r, 64);
	qp = rig_qp(&r, cq, r.rcq);
	if (!qp)
		return NULL;
	rig_to_rts(&r, qp, r.b->qp_num);
	return arg;
}

static void *post_list(void *arg)
{
	struct ibv_send_wr wr[3], *bad;
	struct ibv_sge sge[3];

	for (unsigned i = 0; i < 3; i++) {
		wr[i] = rig_wr(&r, &sge[i], i, IBV_WR_RDMA_WRITE, 0, 40 * K4, IBV_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	return ibv_post_send(qp, wr, &bad) ? NULL : arg;
}

static void *poll_all(void *arg)
{
	struct ibv_wc wc;

	for (unsigned got = 0; got < 3;)
		got += ibv_poll_cq(cq, 1, &wc) > 0;
	return arg;
}

/* Where WRs are deferred, it is a poll, or the pacer thread, that fails the QP with a warning. */
static void *fail_deferred(void *arg)
{
	fake_hold(false);
	return poll_all(arg);
}

static struct ccs_stats_header *map_statistics_file(void)
{
	struct ccs_stats_header *stats = MAP_FAILED;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/ccshim/%ld", getenv("XDG_RUNTIME_DIR"), (long)getpid());
	fd = open(path, O_RDWR);
	if (fd >= 0)
		stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return stats == MAP_FAILED ? NULL : stats;
}

/* As `ccshim set`; without a file no thread handles the request. */
static void put_request(void)
{
	static unsigned n;
	struct ccs_stats_header *stats = map_statistics_file();

	if (!stats)
		return;
	/* Another value each time: a new policy is allocated. */
	snprintf(stats->mailbox.request, sizeof(stats->mailbox.request),
		 "all\nmax_rate=%ug\nmode=enforce\n", 500 + n++);
	__atomic_store_n(&stats->mailbox.request_gen, stats->mailbox.request_gen | 1,
			 __ATOMIC_RELEASE);
	munmap(stats, sizeof(*stats));
}

static void *poll_nothing(void *arg)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < 1000; i++)
		if (ibv_poll_cq(cq, 1, &wc))
			return NULL;
	return arg;
}

static void *destroy(void *arg)
{
	return ibv_destroy_qp(qp) || ibv_destroy_cq(cq) ? NULL : arg;
}

static size_t unused(const unsigned char *stack)
{
	size_t n = 0;

	while (n < STACK && stack[n] == PAINT)
		n++;
	return n;
}

/* The bytes of its stack that a thread uses in the call. */
static size_t used_by(void *(*call)(void *))
{
	unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	void *result;
	size_t used;

	assert_ptr_not_equal(stack, MAP_FAILED);
	memset(stack, PAINT, STACK);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, stack, STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, call, &r), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
	used = STACK - unused(stack);
	pthread_attr_destroy(&attr);
	munmap(stack, STACK);
	return used;
}

static void *nothing(void *arg)
{
	return arg;
}

/* In a thread with PTHREAD_STACK_MIN, where an overflow ends the process. */
static void *in_small_thread(void *arg)
{
	type = IBV_QPT_RC;
	return open_device(arg) && create(arg) && post_list(arg) && poll_all(arg) &&
	       destroy(arg) ? arg : NULL;
}

static void a_thread_with_the_least_stack_works(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *result;

	if (SANITIZED)
		skip();
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN), 0);
	assert_int_equal(pthread_create(&thread, &attr, in_small_thread, &r), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
	rig_close(&r);
}

/* The process's first. */
static void first_use_needs_little_stack(void **state)
{
	size_t used;

	if (SANITIZED)
		skip();
	used = used_by(open_device) - used_by(nothing);
	print_message("first use: %zu bytes of stack\n", used);
	assert_true(used <= FIRST_USE);
	rig_close(&r);
}

static const struct {
	const char *name;
	void *(*call)(void *);
	size_t more;
} calls[] = {
	{ "create", create, CONNECT }, { "post", post_list, DATA_PATH },
	{ "poll", poll_all, DATA_PATH }, { "fail", fail_deferred, DATA_PATH },
	{ "request", poll_nothing, REQUEST }, { "destroy", destroy, DATA_PATH },
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static void measure(size_t used[CALLS])
{
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < CALLS; i++) {
			size_t now;

			if (calls[i].call == fail_deferred) {
				fake_hold(true);
				assert_non_null(post_list(&r));
				if (type == IBV_QPT_RC && rig_is("gated"))
					fake_fail_post(0, EINVAL, FAKE_BAD_WR);
			}
			if (calls[i].call == poll_nothing && type == IBV_QPT_RC)
				put_request();
			now = used_by(calls[i].call);
			used[i] = now > used[i] ? now : used[i];
		}
}

/* WRs of a UC queue pair go to the device unchanged. */
static void calls_need_little_more_than_bare_ones(void **state)
{
	size_t bare[CALLS] = { 0 }, used[CALLS] = { 0 };

	if (SANITIZED)
		skip();
	open_device(&r);
	type = IBV_QPT_UC;
	measure(bare);
	type = IBV_QPT_RC;
	measure(used);
	for (unsigned i = 0; i < CALLS; i++) {
		print_message("%s: %zu bytes of stack, bare %zu\n", calls[i].name, used[i], bare[i]);
		assert_true(used[i] <= bare[i] + calls[i].more);
	}
	rig_close(&r);
}

static void write_sections(const char *name)
{
	FILE *f = fopen(name, "we");

	if (f)
		fputs("segment = 4k\nmax_inflight = 4k\nbase_rtt = 20us\n"
		      "[peer ::/0]\ncc = swift:fs_range=3\n", f);
	if (f)
		fclose(f);
}

static void remove_all(const char *dir)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/conf", dir);
	unlink(name);
	snprintf(name, sizeof(name), "%s/ccshim", dir);
	rmdir(name);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_use_needs_little_stack),
		cmocka_unit_test(a_thread_with_the_least_stack_works),
		cmocka_unit_test(calls_need_little_more_than_bare_ones),
	};

	static char dir[] = "/tmp/ccs-stack-XXXXXX";
	static char conf[64];
	struct rig_mode modes[] = {
		rig_modes[0], rig_modes[1], rig_modes[2], rig_modes[3],
		{ "sections", { conf } },
	};
	int rc;

	setenv("LD_BIND_NOW", "1", 1); /* the dynamic linker may need 3 KB in the fake's first calls */
	if (argc == 1 && (!mkdtemp(dir) || setenv("XDG_RUNTIME_DIR", dir, 1)))
		return 2;
	snprintf(conf, sizeof(conf), "CCSHIM_CONFIG=%.40s/conf", getenv("XDG_RUNTIME_DIR"));
	if (argc == 1)
		write_sections(strchr(conf, '=') + 1);
	rc = rig_run_in(argc, argv, "stack", modes, sizeof(modes) / sizeof(*modes), tests,
			sizeof(tests) / sizeof(*tests));
	if (argc == 1)
		remove_all(dir);
	return rc;
}
