/* SPDX-License-Identifier: BSD-2-Clause */
/* Telemetry in the shared region: readers get consistent records while a writer changes them. */
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "test.h"

#include "feedback/shm_path.h"

enum { WRITES = 200000 };

static struct ccs_shm_path path;
static _Atomic int done;

/* Each word identifies its record. */
static struct ccs_path_telemetry numbered(uint64_t n)
{
	struct ccs_path_telemetry t = { .updated_ns = n, .covers_ns = n, .path = (uint32_t)n,
					.nhops = CCS_CC_MAX_HOPS };

	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++) {
		t.link[i] = (uint32_t)n;
		t.hops[i] = (struct ccs_cc_hop){ n, n, n, (double)n };
	}
	return t;
}

static void *write_on(void *arg)
{
	struct ccs_path_telemetry t;

	for (uint64_t n = 1; n <= WRITES; n++) {
		t = numbered(n);
		ccs_shm_path_write(&path, &t);
	}
	atomic_store(&done, 1);
	return arg;
}

TEST(what_is_read_is_of_one_write)
{
	struct ccs_path_telemetry t, whole;
	uint64_t last = 0;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
	while (!atomic_load(&done)) {
		if (!ccs_shm_path_read(&path, &t) || !t.updated_ns)
			continue;
		whole = numbered(t.updated_ns);
		assert_memory_equal(&t, &whole, sizeof(t));
		assert_true(t.updated_ns >= last);
		last = t.updated_ns;
	}
	pthread_join(writer, NULL);
	assert_true(ccs_shm_path_read(&path, &t));
	assert_int_equal(t.updated_ns, WRITES);
}

TEST(what_is_being_written_is_not_read)
{
	struct ccs_path_telemetry t;
	struct ccs_shm_path p;

	memset(&p, 0, sizeof(p));
	assert_true(ccs_shm_path_read(&p, &t));
	assert_int_equal(t.updated_ns, 0);
	atomic_store(&p.version, 7); /* a writer that died within */
	assert_false(ccs_shm_path_read(&p, &t));
	t = numbered(3);
	ccs_shm_path_write(&p, &t);
	assert_true(ccs_shm_path_read(&p, &t));
	assert_int_equal(t.updated_ns, 3);
	t.nhops = CCS_CC_MAX_HOPS + 1; /* more than fit */
	ccs_shm_path_write(&p, &t);
	assert_false(ccs_shm_path_read(&p, &t));
}

TEST(what_is_no_telemetry_is_not_read)
{
	static const double none[] = { 0, -1e9, 0.5, 1e16, (double)INFINITY, (double)NAN };
	struct ccs_path_telemetry t, seen;
	struct ccs_shm_path p;

	memset(&p, 0, sizeof(p));
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		t = numbered(3);
		t.hops[4].capacity = none[i];
		ccs_shm_path_write(&p, &t);
		assert_false(ccs_shm_path_read(&p, &seen));
		t.nhops = 4; /* the entries beyond are unused */
		ccs_shm_path_write(&p, &t);
		assert_true(ccs_shm_path_read(&p, &seen));
	}
}
