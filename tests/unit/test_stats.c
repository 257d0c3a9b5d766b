/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics file: its layout, writing and reading it, and percentiles of RTTs. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

#include "observe/log.h"
#include "observe/stats.h"
#include "observe/stats_dir.h"
#include "seed.h"
#include "tools/ccshim/stat/stat.h"

enum { WRITES = 20000, SLOTS = 40, OLD_MISSING = 29 };

static char dir[] = "/tmp/ccshim-test-stats.XXXXXX";

/* Every other call is interrupted by a signal. */
int posix_fallocate(int fd, off_t offset, off_t len)
{
	static unsigned calls;

	if (calls++ % 2 == 0)
		return EINTR;
	return ftruncate(fd, offset + len) ? errno : 0;
}

/* -- the layout, which other programs have compiled in -------------------------- */

_Static_assert(sizeof(struct ccs_stats_slot) == 2560 && sizeof(struct ccs_stats_rtt) == 1600, "1.0");
_Static_assert(offsetof(struct ccs_stats_slot, live) == 64, "1.0");
_Static_assert(offsetof(struct ccs_stats_slot, qp) == 1728, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, cc) == 168, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, bytes) == 352, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, hop) == 448, "1.0");
_Static_assert(offsetof(struct ccs_stats_header, program) == 104, "1.0");
_Static_assert(offsetof(struct ccs_stats_header, mailbox) == 1776, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, control) == 608, "1.2");
_Static_assert(offsetof(struct ccs_stats_qp, tenant_cap) == 624, "1.3");
_Static_assert(offsetof(struct ccs_stats_header, host) == 3848, "1.1");
_Static_assert(offsetof(struct ccs_stats_header, container) == 3992, "1.1");

TEST(bucket_bounds_match_bucket_numbers)
{
	seed_start("buckets");
	for (unsigned i = 0; i < 100000; i++) {
		const uint64_t ns = seed_next() >> seed_below(64);
		const unsigned bucket = ccs_stats_bucket(ns);

		assert_in_range(bucket, 0, CCS_STATS_RTT_BUCKETS - 1);
		assert_true(ccs_stats_bucket_ns(bucket) <= ns);
		if (!(ns >> 32))
			assert_true(ns < ccs_stats_bucket_ns(bucket + 1));
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

TEST(percentiles_are_within_a_sixteenth)
{
	static uint64_t ns[1000];
	static const double q[] = { 0.01, 0.5, 0.9, 0.99, 1 };

	seed_start("percentiles");
	for (unsigned round = 0; round < 200; round++) {
		const unsigned n = 1 + (unsigned)seed_below(1000);
		struct ccs_stats_rtt rtt = { 0 };

		for (unsigned i = 0; i < n; i++) {
			ns[i] = 512 + (seed_next() >> (33 + seed_below(20)));
			rtt.bucket[ccs_stats_bucket(ns[i])]++;
		}
		qsort(ns, n, sizeof(*ns), by_value);
		for (unsigned i = 0; i < sizeof(q) / sizeof(*q); i++) {
			const double exact = (double)ns[(unsigned)(q[i] * n + 0.999999) - 1];
			const double got = ccs_stats_percentile(&rtt, q[i]);

			if (got < exact * 15 / 16 - 1 || got > exact * 17 / 16 + 1)
				fail_msg("%g of %u: %.17g, not %.17g", q[i], n, got, exact);
		}
	}
	assert_true(ccs_stats_percentile(&(struct ccs_stats_rtt){ 0 }, 0.5) == 0);
}

/* -- older and newer files ------------------------------------------------------- */

static size_t read_stored(unsigned char **image)
{
	const char *top = getenv("top_srcdir");
	char name[1024];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s/tests/data/stats-1.0.page", top ? top : ".");
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*image = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, *image, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static const struct stat_qp *sender(const struct stat_process *p)
{
	assert_int_equal(p->count, 2);
	return &p->qp[p->qp[1].q.bytes > 0];
}

/* The stored file is of a process that posted ten WRITEs of 12 KB. */
TEST(file_of_version_1_0_is_read)
{
	struct stat_process p = { 0 };
	const struct ccs_stats_qp *q;
	unsigned char *image;
	const size_t size = read_stored(&image);

	assert_true(stat_parse(image, size, &p));
	assert_int_equal(p.h.minor, 0);
	assert_string_equal(p.h.program, "shown");
	assert_string_equal(p.h.mode, "enforce");
	assert_string_equal(p.h.cc, "timely");
	assert_string_equal(p.h.uncontrolled[0].name, "not-rc");
	assert_int_equal(p.h.qps, 2);
	assert_string_equal(p.h.host, ""); /* since 1.1 */
	assert_string_equal(p.h.container, "");
	q = &sender(&p)->q;
	assert_string_equal(q->device, "fake0");
	assert_string_equal(q->cc, "timely");
	assert_string_equal(q->variant, "snippet");
	assert_int_equal(q->bytes, 122880);
	assert_int_equal(q->completions, 10);
	assert_int_equal(q->segments, 30);
	assert_int_equal(q->line_rate, 10000000000);
	assert_int_equal(q->base_rtt_ns, 20000);
	assert_int_equal(q->inflight, 0);
	assert_true(sender(&p)->rtt.count > 0);
	assert_int_equal(stat_totals(&p).bytes, 122880);
	free(p.qp);
	free(image);
}

/* The same file in a version whose slots have `words` words more (or fewer) at their ends. */
static size_t resize_slots(int words, unsigned char **image)
{
	unsigned char *old, *new;
	struct ccs_stats_header *h;
	const size_t size = read_stored(&old);
	const size_t slot = sizeof(struct ccs_stats_slot), to = slot + (size_t)(words * 8);
	size_t all;

	h = (struct ccs_stats_header *)(void *)old;
	new = calloc(1, size + 4096);
	memcpy(new, old, h->header_size);
	((struct ccs_stats_header *)(void *)new)->slot_size = to;
	for (uint64_t i = 0; i < h->slots; i++)
		memcpy(new + h->header_size + i * to, old + h->header_size + i * slot,
		       to < slot ? to : slot);
	all = h->header_size + h->slots * to;
	free(old);
	*image = new;
	return all;
}

TEST(files_of_other_minor_versions_are_read)
{
	unsigned char *image;
	size_t size;

	for (int words = -OLD_MISSING; words <= OLD_MISSING; words += OLD_MISSING) {
		struct stat_process p = { 0 };

		size = resize_slots(words, &image);
		assert_true(stat_parse(image, size, &p));
		assert_int_equal(sender(&p)->q.bytes, 122880);
		assert_string_equal(sender(&p)->q.cc, "timely");
		free(p.qp);
		free(image);
	}
}

TEST(other_files_are_refused)
{
	struct stat_process p = { 0 };
	struct ccs_stats_header *h;
	unsigned char *image;
	const size_t size = read_stored(&image);

	h = (struct ccs_stats_header *)(void *)image;
	assert_false(stat_parse(image, 0, &p));
	assert_false(stat_parse(image, 1000, &p));
	h->major = 2;
	assert_false(stat_parse(image, size, &p));
	h->major = 1;
	h->header_size = size + 8;
	assert_false(stat_parse(image, size, &p));
	h->header_size = 4096;
	h->slot_size = 8;
	assert_false(stat_parse(image, size, &p));
	seed_start("damaged files");
	for (unsigned i = 0; i < 2000; i++) {
		image[seed_below(104)] = (unsigned char)seed_next();
		p.qp = NULL;
		if (stat_parse(image, size, &p))
			free(p.qp);
	}
	free(image);
}

/* The image, and behind its last byte memory that must not be read. */
static unsigned char *map_guarded(const unsigned char *image, size_t size)
{
	const size_t page = 4096, whole = (size + page - 1) / page * page;
	unsigned char *map = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + whole, page, PROT_NONE), 0);
	memcpy(map + whole - size, image, size);
	return map + whole - size;
}

static _Atomic bool torn;

static void *tear(void *image)
{
	static const uint64_t sizes[] = { 0, 8, 1000, 4096, 8192, 1 << 20, UINT64_MAX };
	struct ccs_stats_header *h = image;
	const uint64_t right[] = { h->header_size, h->slot_size, h->slots };
	uint64_t *const word[] = { &h->header_size, &h->slot_size, &h->slots };

	for (unsigned n = 0; !atomic_load(&torn); n++) {
		__atomic_store_n(word[n % 3], sizes[n / 3 % 7], __ATOMIC_RELAXED);
		__atomic_store_n(word[n % 3], right[n % 3], __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST(a_file_that_its_owner_tears_is_read_within_its_bounds)
{
	enum { READS = 100000 };
	unsigned char *image, *map;
	const size_t size = read_stored(&image);
	unsigned parsed = 0;
	pthread_t owner;

	map = map_guarded(image, size);
	assert_int_equal(pthread_create(&owner, NULL, tear, map), 0);
	/* The owner may have no processor for all of these reads, while a size is wrong. */
	for (unsigned i = 0; i < READS || !parsed; i++) {
		struct stat_process p = { 0 };

		if (!stat_parse(map, size, &p))
			continue;
		free(p.qp);
		parsed++;
	}
	atomic_store(&torn, true);
	pthread_join(owner, NULL);
	free(image);
}

/* -- a file of this process -------------------------------------------------------- */

static const struct ccs_stats_header *map_own(void)
{
	char name[512];
	struct stat st;
	void *image;
	int fd;

	snprintf(name, sizeof(name), "%s/ccshim/%ld", dir, (long)getpid());
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(image != MAP_FAILED);
	close(fd);
	return image;
}

static struct ccs_stats_qp make_qp(uint64_t n)
{
	struct ccs_stats_qp q;
	uint64_t word[sizeof(q) / 8];

	for (unsigned i = 0; i < sizeof(word) / 8; i++)
		word[i] = n;
	memcpy(&q, word, sizeof(q));
	return q;
}

/* The counters that are written independently of the version. */
static void clear_live_counters(struct ccs_stats_qp *q)
{
	q->posts = q->completions = q->segments = q->bytes = q->sent = q->internal_completions = 0;
	q->gated_ns = q->inflight = q->queued = q->queued_bytes = 0;
}

static struct ccs_stats_slot *writing;
static atomic_bool written;

static void *keep_writing(void *arg)
{
	for (uint64_t n = 1; n <= WRITES; n++) {
		const struct ccs_stats_qp q = make_qp(n);

		ccs_stats_write(writing, &q);
	}
	atomic_store(&written, true);
	return arg;
}

static void reads_are_consistent(const struct ccs_stats_layout *h)
{
	struct ccs_stats_qp q, whole;
	uint64_t last = 0;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, keep_writing, NULL), 0);
	while (!atomic_load(&written)) {
		if (!ccs_stats_read_qp(h, 0, &q) || !q.created_ns)
			continue;
		whole = make_qp(q.created_ns);
		clear_live_counters(&whole);
		clear_live_counters(&q);
		assert_memory_equal(&q, &whole, sizeof(q));
		assert_true(q.created_ns >= last);
		last = q.created_ns;
	}
	pthread_join(writer, NULL);
	assert_true(ccs_stats_read_qp(h, 0, &q));
	assert_int_equal(q.created_ns, WRITES);
	assert_int_equal(q.bytes, WRITES);
}

static void add_files(const char *kinds)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(chdir(kinds), 0);
	close(open("1", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(mkfifo("2", 0600), 0);
	assert_int_equal(mkdir("3", 0700), 0);
	assert_int_equal(symlink("1", "4"), 0);
	strcpy(un.sun_path, "5");
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	close(fd);
	if (mknod("6", S_IFCHR | 0600, makedev(1, 5)))
		print_message("# without a device: %s\n", strerror(errno));
}

static unsigned count_events(int watch)
{
	_Alignas(struct inotify_event) char events[4096];
	const ssize_t n = read(watch, events, sizeof(events));
	unsigned count = 0;

	for (ssize_t at = 0; at < n; count++)
		at += (ssize_t)(sizeof(struct inotify_event) +
				((const struct inotify_event *)(const void *)(events + at))->len);
	return count;
}

TEST(other_kinds_of_files_are_not_opened)
{
	char kinds[] = "/tmp/ccshim-kinds-XXXXXX", name[] = "1";
	const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), old = open(".", O_PATH | O_CLOEXEC);
	int at, fd;

	assert_non_null(mkdtemp(kinds));
	add_files(kinds);
	at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (*name = '1'; *name <= '6'; (*name)++)
		inotify_add_watch(watch, name, IN_OPEN);
	for (*name = '2'; *name <= '7'; (*name)++) {
		assert_int_equal(ccs_stats_open_file(at, name, O_RDONLY), -1);
		assert_int_equal(ccs_stats_open_file(at, name, O_RDWR), -1);
	}
	ccs_stats_sweep(at);
	assert_int_equal(count_events(watch), 1); /* the sweep opened the first */
	fd = ccs_stats_open_file(at, "1", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(count_events(watch), 1);
	close(fd), close(watch), close(at);
	for (*name = '1'; *name <= '6'; (*name)++)
		remove(name);
	assert_int_equal(fchdir(old), 0);
	close(old);
	assert_int_equal(rmdir(kinds), 0);
}

static void describe(struct ccs_stats_header *h)
{
	strcpy(h->mode, "observe");
	strcpy(h->cc, "none");
}

TEST(lifecycle_of_a_statistics_file)
{
	struct ccs_stats_slot *slot[SLOTS];
	const struct ccs_stats_header *h;
	struct ccs_stats_layout layout;
	struct stat st;
	char name[512];

	assert_null(ccs_stats_file());
	assert_null(ccs_stats_claim_slot());
	assert_true(ccs_stats_open(describe));
	for (unsigned i = 0; i < SLOTS; i++) {
		slot[i] = ccs_stats_claim_slot();
		assert_non_null(slot[i]);
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(slot[i], slot[k]);
	}
	h = map_own();
	assert_int_equal(h->pid, getpid());
	assert_int_equal(h->qps, SLOTS);
	assert_true(h->slots >= SLOTS && !ccs_stats_is_stale(h));
	writing = slot[0]; /* in the order of the file */
	assert_true(ccs_stats_layout(h, h->header_size + h->slots * h->slot_size, &layout));
	reads_are_consistent(&layout);
	for (unsigned i = 0; i < SLOTS; i++) {
		const struct ccs_stats_qp last = { .bytes = i };

		ccs_stats_release_slot(slot[i], &last);
	}
	assert_int_equal(h->qps, 0);
	assert_int_equal(h->gone.qps, SLOTS);
	assert_int_equal(h->gone.bytes, SLOTS * (SLOTS - 1) / 2);
	assert_int_equal(h->changes % 2, 0);
	assert_non_null(ccs_stats_claim_slot()); /* a released slot, empty again */
	ccs_stats_close();
	snprintf(name, sizeof(name), "%s/ccshim/%ld", dir, (long)getpid());
	assert_int_equal(access(name, F_OK), -1);
	/* Threads that continue until the process ends create QPs: that is no reason to warn. */
	snprintf(name, sizeof(name), "%s/log", dir);
	ccs_log_setup(CCS_LOG_WARN, name);
	while (ccs_stats_claim_slot())
		;
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_size, 0);
	ccs_log_setup(CCS_LOG_WARN, NULL);
	assert_int_equal(unlink(name), 0);
}

/* The last one has a name of its own, and would stay. */
TEST(without_a_free_descriptor_no_other_directory_is_created)
{
	struct rlimit limit, none;
	char name[512], first[512];

	assert_true(ccs_stats_dir_name(0, first, sizeof(first)));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(ccs_stats_dir_open(name, sizeof(name)), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_string_equal(name, first);
}

static int clean_up(void **state)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/ccshim", dir);
	rmdir(name);
	return rmdir(dir);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	return test_run(NULL, clean_up);
}
