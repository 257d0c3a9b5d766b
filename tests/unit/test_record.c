/* SPDX-License-Identifier: BSD-2-Clause */
/* Telemetry records: on the wire, in order, and made of what switches put into packets. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#include "seed.h"
#include "feedback/int_header.h"
#include "feedback/record.h"

static void layout_is_the_specification(void **state)
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

static void impossible_ones_are_refused(void **state)
{
	assert_true(is_valid((struct ccs_record){ .link = 1, .capacity = CCS_RECORD_CAPACITY_MOST }));
	assert_false(is_valid((struct ccs_record){ .link = 1, .capacity = CCS_RECORD_CAPACITY_MOST + 1 }));
	assert_false(is_valid((struct ccs_record){ .link = 1 }));
	assert_false(is_valid((struct ccs_record){ .capacity = 1 }));
	assert_false(is_valid((struct ccs_record){ .link = 1, .capacity = 1,
						   .advised = CCS_RECORD_CAPACITY_MOST + 1 }));
}

/* Whatever order records come in, the path is called the same; another link, another path. */
static void order_makes_no_other_path(void **state)
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
static void the_least_advice_of_a_path_holds(void **state)
{
	struct ccs_record r[] = { { .advised = 3 }, { .advised = 0 }, { .advised = 2 }, { .advised = 7 } };

	assert_int_equal(ccs_record_advised(r, 4), 2);
	assert_int_equal(ccs_record_advised(r, 2), 3);
	assert_int_equal(ccs_record_advised(r + 1, 1), 0);
	assert_int_equal(ccs_record_advised(r, 0), 0);
}

/* The codes of HPCC's simulation. */
static const uint64_t rates[16] = {
	25000000000, 50000000000, 100000000000, 200000000000, 400000000000,
};

/* The word that a switch writes, from the field positions of the paper. */
static uint64_t pack(uint64_t rate, uint64_t ts, uint64_t bytes, uint64_t qlen)
{
	return rate << 60 | (ts & 0xffffff) << 36 | (bytes & 0xfffff) << 16 | (qlen & 0xffff);
}

/* A port with counters of 64 bits, and what a switch writes of them into a packet. */
struct port {
	unsigned rate;
	uint64_t ts_ns, tx_bytes, qlen_bytes;
};

static uint64_t word_of(const struct port *p)
{
	return pack(p->rate, p->ts_ns, p->tx_bytes / 128, p->qlen_bytes / 80);
}

static void int_words_are_the_papers(void **state)
{
	/* 100 Gb/s, 0x123456 ns, 0x789ab * 128 bytes, 0xcdef * 80 waiting. */
	const uint64_t word = UINT64_C(0x2123456789abcdef);
	const uint64_t later = word + (UINT64_C(0x10) << 36) + (UINT64_C(0x100) << 16);
	struct ccs_int_link l = { .name = 1 };
	struct ccs_record r, next;

	assert_int_equal(pack(2, 0x123456, 0x789ab, 0xcdef), word);
	assert_true(ccs_int_follow(&l, rates, word, 1000, &r));
	assert_int_equal(r.capacity, 100000000000);
	assert_int_equal(r.qlen_bytes, 0xcdef * 80);
	assert_true(ccs_int_follow(&l, rates, later, 2000, &next));
	assert_int_equal(next.ts_ns - r.ts_ns, 0x10);
	assert_int_equal(next.tx_bytes - r.tx_bytes, 0x100 * 128);
}

static void send_for(struct port *p, uint64_t ns, unsigned percent)
{
	p->ts_ns += ns;
	p->tx_bytes += (uint64_t)((double)rates[p->rate] / 8e9 * (double)ns * percent / 100);
	p->qlen_bytes = seed_below(1 << 21);
}

/*
 * Over any number of wraps the record goes as the port's own counters do, to a unit, within
 * each life; and a life only ends where the counter may have gone round.
 */
static void int_records_do_not_wrap(void **state)
{
	struct ccs_record r = { 0 }, base = { 0 };
	struct port base_port;

	seed_start("int_records_do_not_wrap");
	for (unsigned run = 0; run < 40; run++) {
		const uint64_t offset = seed_next() >> 20, unit = 128;
		struct port p = { .rate = (unsigned)seed_below(5),
				  .ts_ns = seed_next() >> 8, .tx_bytes = seed_next() >> 8 };
		struct ccs_int_link l = { .name = run };
		const double wrap_ns = 8e9 * (double)unit * (1 << 20) / (double)rates[p.rate];

		for (unsigned i = 0; i < 500; i++) {
			const uint64_t gap = 1 + seed_below(UINT64_C(1) << (4 + seed_below(24)));

			send_for(&p, gap, (unsigned)seed_below(101));
			assert_true(ccs_int_follow(&l, rates, word_of(&p),
						   p.ts_ns + offset + seed_below(4000000), &r));
			assert_int_equal(r.capacity, rates[p.rate]);
			assert_in_range(p.qlen_bytes - r.qlen_bytes, 0, 80 - 1);
			if (i == 0 || r.link != base.link) {
				assert_true(i == 0 || (double)gap > 0.99 * wrap_ns);
				base = r;
				base_port = p;
			}
			assert_int_equal(r.ts_ns - base.ts_ns, p.ts_ns - base_port.ts_ns);
			assert_in_range(r.tx_bytes - base.tx_bytes + unit -
					(p.tx_bytes - base_port.tx_bytes), 0, 2 * unit);
		}
	}
}

static void repeated_and_late_int_records_are_ignored(void **state)
{
	struct port p = { .rate = 2, .ts_ns = 0xfffff0 };
	struct ccs_int_link l = { 0 };
	struct ccs_record r, kept;
	uint64_t first, second;

	seed_start("repeated_and_late_int_records_are_ignored");
	first = word_of(&p);
	assert_true(ccs_int_follow(&l, rates, first, 1000, &r));
	send_for(&p, 1000, 50); /* the time wraps */
	second = word_of(&p);
	assert_true(ccs_int_follow(&l, rates, second, 2000, &r));
	kept = r;
	assert_false(ccs_int_follow(&l, rates, second, 2100, &r));
	assert_false(ccs_int_follow(&l, rates, first, 2200, &r));
	assert_memory_equal(&r, &kept, sizeof(r));
	p.rate = 7; /* no such code */
	p.ts_ns += 1000;
	assert_false(ccs_int_follow(&l, rates, word_of(&p), 3000, &r));
	p.rate = 2;
	assert_true(ccs_int_follow(&l, rates, word_of(&p), 3000, &r));
	assert_int_equal(r.ts_ns - kept.ts_ns, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout_is_the_specification),
		cmocka_unit_test(impossible_ones_are_refused),
		cmocka_unit_test(order_makes_no_other_path),
		cmocka_unit_test(the_least_advice_of_a_path_holds),
		cmocka_unit_test(int_words_are_the_papers),
		cmocka_unit_test(int_records_do_not_wrap),
		cmocka_unit_test(repeated_and_late_int_records_are_ignored),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
