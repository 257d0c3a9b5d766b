/* SPDX-License-Identifier: BSD-2-Clause */
/* Telemetry records: on the wire and in order. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#include "seed.h"
#include "feedback/record.h"

TEST(layout_is_the_specification)
{
	static const uint8_t wire[CCS_RECORD_BYTES] = {
		0x04, 0x03, 0x02, 0x01, 0x06, 0x05, 0x01, 0x00,
		0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
		0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
		0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
		0x00, 0xca, 0x9a, 0x3b, 0x00, 0x00, 0x00, 0x00,
		0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
		0x00, 0xf2, 0x05, 0x2a, 0x01, 0x00, 0x00, 0x00,
	};
	uint8_t out[CCS_RECORD_BYTES];
	struct ccs_record r;

	memcpy(out, wire, sizeof(out));
	assert_true(ccs_record_code(&(struct ccs_le){ .at = out, .reads = true }, &r));
	assert_int_equal(r.link, 0x01020304);
	assert_int_equal(r.hop, 0x0506);
	assert_int_equal(r.kind, CCS_RECORD_PORT);
	assert_int_equal(r.ts_ns, 0x1112131415161718);
	assert_int_equal(r.tx_bytes, 0x2122232425262728);
	assert_int_equal(r.qlen_bytes, 0x3132333435363738);
	assert_int_equal(r.capacity, 1000000000);
	assert_int_equal(r.covers_ns, 0x5152535455565758);
	assert_int_equal(r.advised, 5000000000);
	memset(out, 0, sizeof(out));
	assert_true(ccs_record_code(&(struct ccs_le){ .at = out }, &r));
	assert_memory_equal(out, wire, sizeof(wire));
}

/* Whether a record may be written, and read. */
static bool is_valid(struct ccs_record r)
{
	uint8_t wire[CCS_RECORD_BYTES];
	struct ccs_record back;
	const bool valid = ccs_record_code(&(struct ccs_le){ .at = wire }, &r);

	assert_int_equal(ccs_record_code(&(struct ccs_le){ .at = wire, .reads = true }, &back), valid);
	return valid;
}

TEST(impossible_ones_are_refused)
{
	assert_true(is_valid((struct ccs_record){ .link = 1, .capacity = CCS_RECORD_CAPACITY_MOST }));
	assert_false(is_valid((struct ccs_record){ .link = 1, .capacity = CCS_RECORD_CAPACITY_MOST + 1 }));
	assert_false(is_valid((struct ccs_record){ .link = 1 }));
	assert_false(is_valid((struct ccs_record){ .capacity = 1 }));
	assert_false(is_valid((struct ccs_record){ .link = 1, .capacity = 1,
						   .advised = CCS_RECORD_CAPACITY_MOST + 1 }));
}

/* Whatever order records come in, the path is called the same; another link, another path. */
TEST(order_makes_no_other_path)
{
	struct ccs_record r[CCS_RECORDS];
	uint32_t path;

	seed_start("order_makes_no_other_path");
	for (unsigned round = 0; round < 1000; round++) {
		const unsigned n = 1 + (unsigned)seed_below(CCS_RECORDS);

		for (unsigned i = 0; i < n; i++)
			r[i] = (struct ccs_record){ .link = 1 + i, .hop = (uint16_t)seed_below(4) };
		ccs_record_sort(r, n);
		path = ccs_record_path(r, n);
		assert_int_not_equal(path, 0);
		for (unsigned i = 0; i < n; i++) {
			const unsigned k = (unsigned)seed_below(n);
			const struct ccs_record one = r[k];

			r[k] = r[i];
			r[i] = one;
		}
		ccs_record_sort(r, n);
		for (unsigned i = 1; i < n; i++)
			assert_true(r[i - 1].hop >= r[i].hop);
		assert_int_equal(ccs_record_path(r, n), path);
		assert_int_not_equal(ccs_record_path(r, n - 1), path);
		r[seed_below(n)].link += 100;
		assert_int_not_equal(ccs_record_path(r, n), path);
	}
}

/* Several bottlenecks: the slowest one's advice holds, whichever of the links it is. */
TEST(the_least_advice_of_a_path_holds)
{
	struct ccs_record r[] = { { .advised = 3 }, { .advised = 0 }, { .advised = 2 }, { .advised = 7 } };

	assert_int_equal(ccs_record_advised(r, 4), 2);
	assert_int_equal(ccs_record_advised(r, 2), 3);
	assert_int_equal(ccs_record_advised(r + 1, 1), 0);
	assert_int_equal(ccs_record_advised(r, 0), 0);
}
