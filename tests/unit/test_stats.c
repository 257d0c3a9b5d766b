/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics page: its layout, who writes and who reads it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/stats.h"
#include "runtime/stats_dir.h"
#include "seed.h"
#include "tools/stat.h"

enum { WRITES = 20000, SLOTS = 40, OLD_MISSING = 29 };

static char dir[] = "/tmp/ccshim-test-stats.XXXXXX";

/* Each time a signal comes first. */
int posix_fallocate(int fd, off_t offset, off_t len)
{
	static unsigned calls;

	if (calls++ % 2 == 0)
		return EINTR;
	return ftruncate(fd, offset + len) ? errno : 0;
}

/* -- the layout, which others have compiled in --------------------------------- */

_Static_assert(sizeof(struct ccs_stats_slot) == 2560 && sizeof(struct ccs_stats_rtt) == 1600, "1.0");
_Static_assert(offsetof(struct ccs_stats_slot, live) == 64, "1.0");
_Static_assert(offsetof(struct ccs_stats_slot, qp) == 1728, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, cc) == 168, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, bytes) == 352, "1.0");
_Static_assert(offsetof(struct ccs_stats_qp, hop) == 448, "1.0");
_Static_assert(offsetof(struct ccs_stats_header, program) == 104, "1.0");
_Static_assert(offsetof(struct ccs_stats_header, mailbox) == 1776, "1.0");

static void buckets_hold_what_they_say(void **state)
{
	(void)state;
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

static void percentiles_are_within_a_sixteenth(void **state)
{
	static uint64_t ns[1000];
	static const double q[] = { 0.01, 0.5, 0.9, 0.99, 1 };

	(void)state;
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

/* -- older and newer pages ------------------------------------------------------- */

static size_t read_stored(unsigned char **page)
{
	const char *top = getenv("top_srcdir");
	char name[1024];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s/tests/data/stats-1.0.page", top ? top : ".");
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*page = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, *page, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static const struct stat_qp *sender(const struct stat_process *p)
{
	assert_int_equal(p->count, 2);
	return &p->qp[p->qp[1].q.bytes > 0];
}

/* It was ten WRITEs of 12 KB. */
static void a_page_of_version_1_0_is_read(void **state)
{
	struct stat_process p = { 0 };
	const struct ccs_stats_qp *q;
	unsigned char *page;
	const size_t size = read_stored(&page);

	(void)state;
	assert_true(stat_parse(page, size, &p));
	assert_int_equal(p.h.minor, 0);
	assert_string_equal(p.h.program, "shown");
	assert_string_equal(p.h.mode, "enforce");
	assert_string_equal(p.h.cc, "timely");
	assert_string_equal(p.h.pass[0].name, "not-rc");
	assert_int_equal(p.h.qps, 2);
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
	free(page);
}

/* The same page as of a version whose slots have `words` less or more at their ends. */
static size_t with_slots_of(int words, unsigned char **page)
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
	*page = new;
	return all;
}

static void pages_of_other_minor_versions_are_read(void **state)
{
	unsigned char *page;
	size_t size;

	(void)state;
	for (int words = -OLD_MISSING; words <= OLD_MISSING; words += OLD_MISSING) {
		struct stat_process p = { 0 };

		size = with_slots_of(words, &page);
		assert_true(stat_parse(page, size, &p));
		assert_int_equal(sender(&p)->q.bytes, 122880);
		assert_string_equal(sender(&p)->q.cc, "timely");
		free(p.qp);
		free(page);
	}
}

static void what_is_no_page_is_refused(void **state)
{
	struct stat_process p = { 0 };
	struct ccs_stats_header *h;
	unsigned char *page;
	const size_t size = read_stored(&page);

	(void)state;
	h = (struct ccs_stats_header *)(void *)page;
	assert_false(stat_parse(page, 0, &p));
	assert_false(stat_parse(page, 1000, &p));
	h->major = 2;
	assert_false(stat_parse(page, size, &p));
	h->major = 1;
	h->header_size = size + 8;
	assert_false(stat_parse(page, size, &p));
	h->header_size = 4096;
	h->slot_size = 8;
	assert_false(stat_parse(page, size, &p));
	seed_start("damaged pages");
	for (unsigned i = 0; i < 2000; i++) {
		page[seed_below(104)] = (unsigned char)seed_next();
		p.qp = NULL;
		if (stat_parse(page, size, &p))
			free(p.qp);
	}
	free(page);
}

/* -- a page of this process's ------------------------------------------------------ */

static const struct ccs_stats_header *map_own(void)
{
	char name[512];
	struct stat st;
	void *page;
	int fd;

	snprintf(name, sizeof(name), "%s/ccshim/%ld", dir, (long)getpid());
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	page = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(page != MAP_FAILED);
	close(fd);
	return page;
}

static struct ccs_stats_qp numbered(uint64_t n)
{
	struct ccs_stats_qp q;
	uint64_t word[sizeof(q) / 8];

	for (unsigned i = 0; i < sizeof(word) / 8; i++)
		word[i] = n;
	memcpy(&q, word, sizeof(q));
	return q;
}

/* Those that do not wait for the version. */
static void without_live(struct ccs_stats_qp *q)
{
	q->posts = q->completions = q->segments = q->bytes = q->sent = q->hidden = 0;
	q->gated_ns = q->inflight = q->queued = q->queued_bytes = 0;
}

static struct ccs_stats_slot *writing;
static atomic_bool written;

static void *write_on(void *arg)
{
	for (uint64_t n = 1; n <= WRITES; n++) {
		const struct ccs_stats_qp q = numbered(n);

		ccs_stats_write(writing, &q);
	}
	atomic_store(&written, true);
	return arg;
}

static void what_is_read_is_of_one_write(const struct ccs_stats_header *h)
{
	struct ccs_stats_qp q, whole;
	uint64_t last = 0;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
	while (!atomic_load(&written)) {
		if (!ccs_stats_read_qp(h, 0, &q) || !q.created_ns)
			continue;
		whole = numbered(q.created_ns);
		without_live(&whole);
		without_live(&q);
		assert_memory_equal(&q, &whole, sizeof(q));
		assert_true(q.created_ns >= last);
		last = q.created_ns;
	}
	pthread_join(writer, NULL);
	assert_true(ccs_stats_read_qp(h, 0, &q));
	assert_int_equal(q.created_ns, WRITES);
	assert_int_equal(q.bytes, WRITES);
}

static void a_page_from_its_making_to_its_end(void **state)
{
	const struct ccs_stats_header about = { .mode = "observe", .cc = "none" };
	struct ccs_stats_slot *slot[SLOTS];
	const struct ccs_stats_header *h;
	char name[512];

	(void)state;
	assert_null(ccs_stats_page());
	assert_null(ccs_stats_take());
	assert_true(ccs_stats_open(&about));
	for (unsigned i = 0; i < SLOTS; i++) {
		slot[i] = ccs_stats_take();
		assert_non_null(slot[i]);
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(slot[i], slot[k]);
	}
	h = map_own();
	assert_int_equal(h->pid, getpid());
	assert_int_equal(h->qps, SLOTS);
	assert_true(h->slots >= SLOTS && !ccs_stats_is_stale(h));
	writing = slot[0]; /* in the order of the file */
	what_is_read_is_of_one_write(h);
	for (unsigned i = 0; i < SLOTS; i++) {
		const struct ccs_stats_qp last = { .bytes = i };

		ccs_stats_give(slot[i], &last);
	}
	assert_int_equal(h->qps, 0);
	assert_int_equal(h->gone.qps, SLOTS);
	assert_int_equal(h->gone.bytes, SLOTS * (SLOTS - 1) / 2);
	assert_int_equal(h->changes % 2, 0);
	assert_non_null(ccs_stats_take()); /* a used one, and empty again */
	ccs_stats_close();
	snprintf(name, sizeof(name), "%s/ccshim/%ld", dir, (long)getpid());
	assert_int_equal(access(name, F_OK), -1);
}

static int clean_up(void **state)
{
	char name[512];

	(void)state;
	snprintf(name, sizeof(name), "%s/ccshim", dir);
	rmdir(name);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_hold_what_they_say),
		cmocka_unit_test(percentiles_are_within_a_sixteenth),
		cmocka_unit_test(a_page_of_version_1_0_is_read),
		cmocka_unit_test(pages_of_other_minor_versions_are_read),
		cmocka_unit_test(what_is_no_page_is_refused),
		cmocka_unit_test(a_page_from_its_making_to_its_end),
	};

	if (!mkdtemp(dir))
		return 99;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	return cmocka_run_group_tests_name("stats", tests, NULL, clean_up);
}
