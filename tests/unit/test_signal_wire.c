/* SPDX-License-Identifier: BSD-2-Clause */
/* What agents send each other: its bytes, and that nothing else is taken for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "seed.h"
#include "signal/wire.h"

static const uint8_t golden_cnp[] = {
	'C', 'C', 'S', 'W', 1, 3, 40, 0,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	0x56, 0x34, 0x12, 0x00, 0xef, 0xcd, 0xab, 0x89,
};

static const uint8_t golden_ack[] = {
	'C', 'C', 'S', 'W', 1, 2, 48, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xb8, 0x0b, 0, 0,
};

static const uint8_t golden_hello[] = {
	'C', 'C', 'S', 'W', 1, 1, 40, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	0xb8, 0x0b, 0, 0, 1, 0, 0, 0,
};

static void golden_bytes(void **state)
{
	struct ccs_wire_message cnp = {
		.header = { .type = CCS_WIRE_CNP, .session = 0x0102030405060708,
			    .echo = 0x1112131415161718, .sequence = 0x2122232425262728 },
		.cnp = { .qpn = 0x123456, .marked = 0x89abcdef },
	};
	struct ccs_wire_message ack = {
		.header = { .type = CCS_WIRE_HELLO_ACK, .session = 1, .echo = 2, .sequence = 3 },
		.hello_ack = { .of = 4, .gives = 1, .lease_ms = 3000 },
	};
	struct ccs_wire_message hello = {
		.header = { .type = CCS_WIRE_HELLO, .session = 1, .sequence = 3 },
		.hello = { .lease_ms = 3000, .wants = 1 },
	};
	uint8_t buf[CCS_WIRE_MAX];

	(void)state;
	assert_int_equal(ccs_wire_encode(&cnp, buf), sizeof(golden_cnp));
	assert_memory_equal(buf, golden_cnp, sizeof(golden_cnp));
	assert_int_equal(cnp.header.length, sizeof(golden_cnp));
	assert_int_equal(ccs_wire_encode(&ack, buf), sizeof(golden_ack));
	assert_memory_equal(buf, golden_ack, sizeof(golden_ack));
	assert_int_equal(ccs_wire_encode(&hello, buf), sizeof(golden_hello));
	assert_memory_equal(buf, golden_hello, sizeof(golden_hello));
}

static struct ccs_wire_message any_message(void)
{
	struct ccs_wire_message m;

	memset(&m, 0, sizeof(m));
	m.header.type = (uint8_t)(1 + seed_below(3));
	m.header.session = seed_next() | 1;
	m.header.echo = seed_next();
	m.header.sequence = seed_next();
	if (m.header.type == CCS_WIRE_HELLO_ACK) {
		m.hello_ack.of = seed_next();
		m.hello_ack.gives = (uint32_t)seed_next();
		m.hello_ack.lease_ms = (uint32_t)seed_next();
	} else {
		m.cnp.qpn = (uint32_t)seed_next();
		m.cnp.marked = (uint32_t)seed_next();
	}
	return m;
}

static void what_is_encoded_is_decoded(void **state)
{
	(void)state;
	seed_start("what_is_encoded_is_decoded");
	for (int i = 0; i < 20000; i++) {
		struct ccs_wire_message m = any_message(), back;
		uint8_t buf[CCS_WIRE_MAX];
		size_t len = ccs_wire_encode(&m, buf);

		/* A tag, or a newer agent's longer body, changes nothing. */
		memset(buf + len, 0x5a, 40);
		assert_int_equal(ccs_wire_decode(buf, len + seed_below(2) * 40, &back), CCS_WIRE_OK);
		assert_memory_equal(&m, &back, sizeof(m));
	}
}

static void a_longer_body_is_read_in_part(void **state)
{
	struct ccs_wire_message m;
	uint8_t buf[64] = { 0 };

	(void)state;
	memcpy(buf, golden_cnp, sizeof(golden_cnp));
	buf[6] = sizeof(buf);
	assert_int_equal(ccs_wire_decode(buf, sizeof(buf), &m), CCS_WIRE_OK);
	assert_int_equal(m.cnp.qpn, 0x123456);
	assert_int_equal(m.header.length, sizeof(buf));
	assert_int_equal(ccs_wire_decode(buf, sizeof(buf) - 1, &m), CCS_WIRE_GARBAGE);
}

/* In a buffer of just that length, so that a sanitizer sees what is read beyond. */
static enum ccs_wire_error decode_exactly(const uint8_t *data, size_t len,
					  struct ccs_wire_message *m)
{
	uint8_t *copy = malloc(len + !len);
	enum ccs_wire_error e;

	memcpy(copy, data, len);
	e = ccs_wire_decode(copy, len, m);
	free(copy);
	return e;
}

static void what_is_cut_is_refused(void **state)
{
	static const struct { const uint8_t *data; size_t len; } all[] = {
		{ golden_cnp, sizeof(golden_cnp) },
		{ golden_ack, sizeof(golden_ack) },
		{ golden_hello, sizeof(golden_hello) },
	};
	struct ccs_wire_message m;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t len = 0; len < all[i].len; len++)
			assert_int_equal(decode_exactly(all[i].data, len, &m), CCS_WIRE_GARBAGE);
}

/* In the first eight bytes each bit counts; after them any value may be meant. */
static void each_bit_of_the_preamble_counts(void **state)
{
	uint8_t buf[sizeof(golden_cnp)];
	struct ccs_wire_message m;

	(void)state;
	for (size_t bit = 0; bit < 8 * sizeof(buf); bit++) {
		enum ccs_wire_error e;

		memcpy(buf, golden_cnp, sizeof(buf));
		buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		e = decode_exactly(buf, sizeof(buf), &m);
		if (bit < 32)
			assert_int_equal(e, CCS_WIRE_GARBAGE);
		else if (bit < 40)
			assert_int_equal(e, CCS_WIRE_OTHER_VERSION);
		else if (bit < 48)
			assert_int_not_equal(m.header.type, CCS_WIRE_CNP);
		else if (bit < 64)
			assert_int_equal(e, CCS_WIRE_GARBAGE);
		else
			assert_int_equal(e, CCS_WIRE_OK);
	}
}

static void other_versions_and_types_are_told_apart(void **state)
{
	uint8_t buf[sizeof(golden_cnp)];
	struct ccs_wire_message m;

	(void)state;
	memcpy(buf, golden_cnp, sizeof(buf));
	buf[5] = 200;
	assert_int_equal(ccs_wire_decode(buf, sizeof(buf), &m), CCS_WIRE_OTHER_TYPE);
	buf[4] = 2;
	assert_int_equal(ccs_wire_decode(buf, 5, &m), CCS_WIRE_OTHER_VERSION);
	m.header.type = CCS_WIRE_ECHO;
	assert_int_equal(ccs_wire_encode(&m, buf), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_bytes),
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(a_longer_body_is_read_in_part),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(each_bit_of_the_preamble_counts),
		cmocka_unit_test(other_versions_and_types_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
