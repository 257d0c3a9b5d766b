/* SPDX-License-Identifier: BSD-2-Clause */
/* What agents send each other: its bytes, and that nothing else is taken for it. */
#include "test.h"
#include <string.h>

#include "seed.h"
#include "feedback/wire.h"

static const uint8_t golden_cnp[] = {
	'C', 'C', 'S', 'W', 1, 3, 0, 0,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	0x56, 0x34, 0x12, 0x00, 0xef, 0xcd, 0xab, 0x89,
};

static const uint8_t golden_ack[] = {
	'C', 'C', 'S', 'W', 1, 2, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xb8, 0x0b, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
	6, 0, 0, 0, 0, 0, 0, 0,
};

static const uint8_t golden_hello[] = {
	'C', 'C', 'S', 'W', 1, 1, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	0xb8, 0x0b, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0,
	9, 0, 0, 0, 10, 0, 0, 0,
};

static const uint8_t golden_advice[] = {
	'C', 'C', 'S', 'W', 1, 6, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
};

/* A record, at the end of each of its two messages. */
#define RECORD \
	0x11, 0, 0, 0, 1, 0, 1, 0, 0x12, 0, 0, 0, 0, 0, 0, 0, 0x13, 0, 0, 0, 0, 0, 0, 0, \
	0x14, 0, 0, 0, 0, 0, 0, 0, 0x15, 0, 0, 0, 0, 0, 0, 0, 0x16, 0, 0, 0, 0, 0, 0, 0, \
	0x17, 0, 0, 0, 0, 0, 0, 0

static const uint8_t golden_echo[] = {
	'C', 'C', 'S', 'W', 1, 4, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 9, 0, 0, 0, RECORD,
};

static const uint8_t golden_records[] = {
	'C', 'C', 'S', 'W', 1, 5, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 120, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 0, RECORD,
};

static const struct ccs_record record = {
	.link = 0x11, .hop = 1, .kind = CCS_RECORD_PORT, .ts_ns = 0x12, .tx_bytes = 0x13,
	.qlen_bytes = 0x14, .capacity = 0x15, .covers_ns = 0x16,
	.advised = 0x17,
};

TEST(golden_bytes_of_telemetry)
{
	struct ccs_wire_message echo = {
		.header = { .type = CCS_WIRE_ECHO, .incarnation = 1, .echo = 2, .sequence = 3 },
		.echo = { .n = 1, .flows = 9, .record = { record } },
	};
	struct ccs_wire_message records = {
		.header = { .type = CCS_WIRE_RECORDS, .incarnation = 1, .echo = 2, .sequence = 3 },
		.records = { .n = 1, .bits = 120,
			     .prefix = { [10] = 0xff, 0xff, 10, 9 }, .record = { record } },
	};
	uint8_t buf[CCS_WIRE_MAX];

	assert_int_equal(ccs_wire_encode(&echo, buf), sizeof(golden_echo));
	assert_memory_equal(buf, golden_echo, sizeof(golden_echo));
	assert_int_equal(ccs_wire_encode(&records, buf), sizeof(golden_records));
	assert_memory_equal(buf, golden_records, sizeof(golden_records));
}

TEST(golden_bytes)
{
	struct ccs_wire_message cnp = {
		.header = { .type = CCS_WIRE_CNP, .incarnation = 0x0102030405060708,
			    .echo = 0x1112131415161718, .sequence = 0x2122232425262728 },
		.cnp = { .qpn = 0x123456, .marked = 0x89abcdef },
	};
	struct ccs_wire_message ack = {
		.header = { .type = CCS_WIRE_HELLO_ACK, .incarnation = 1, .echo = 2, .sequence = 3 },
		.hello_ack = { .of = 4, .capabilities = 1, .lease_ms = 3000, .flows = 5, .advised = 6 },
	};
	struct ccs_wire_message hello = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 1, .sequence = 3 },
		.hello = { .lease_ms = 3000, .requested = 1, .clock_ns = 6, .period_us = 7, .flows = 8,
			   .rtt_us = 9, .segment = 10 },
	};
	struct ccs_wire_message advice = {
		.header = { .type = CCS_WIRE_ADVICE, .incarnation = 1, .echo = 2, .sequence = 3 },
		.advice = { .advised = 4, .flows = 5 },
	};
	uint8_t buf[CCS_WIRE_MAX];

	assert_int_equal(ccs_wire_encode(&cnp, buf), sizeof(golden_cnp));
	assert_memory_equal(buf, golden_cnp, sizeof(golden_cnp));
	assert_int_equal(ccs_wire_encode(&ack, buf), sizeof(golden_ack));
	assert_memory_equal(buf, golden_ack, sizeof(golden_ack));
	assert_int_equal(ccs_wire_encode(&hello, buf), sizeof(golden_hello));
	assert_memory_equal(buf, golden_hello, sizeof(golden_hello));
	assert_int_equal(ccs_wire_encode(&advice, buf), sizeof(golden_advice));
	assert_memory_equal(buf, golden_advice, sizeof(golden_advice));
}

TEST(the_id_of_the_key_is_in_the_header)
{
	struct ccs_wire_message m;
	uint8_t buf[CCS_WIRE_MAX] = { 0 };

	assert_int_equal(ccs_wire_decode(golden_cnp, sizeof(golden_cnp), &m), CCS_WIRE_OK);
	assert_int_equal(m.header.key, 0);
	m.header.key = 0x77;
	assert_int_equal(ccs_wire_encode(&m, buf), sizeof(golden_cnp));
	assert_int_equal(buf[6], 0x77);
	assert_int_equal(ccs_wire_decode(buf, sizeof(golden_cnp), &m), CCS_WIRE_OK);
	assert_int_equal(m.header.key, 0x77);
	buf[6] = 0;
	assert_memory_equal(buf, golden_cnp, sizeof(golden_cnp));
}

static void any_records(uint32_t *n, struct ccs_record *r)
{
	*n = (uint32_t)seed_below(CCS_RECORDS + 1);
	for (unsigned i = 0; i < *n; i++)
		r[i] = (struct ccs_record){
			.link = (uint32_t)seed_next() | 1, .hop = (uint16_t)seed_next(),
			.kind = (uint16_t)seed_next(), .ts_ns = seed_next(), .tx_bytes = seed_next(),
			.qlen_bytes = seed_next(), .covers_ns = seed_next(),
			.capacity = 1 + seed_below(CCS_RECORD_CAPACITY_MOST),
			.advised = seed_below(CCS_RECORD_CAPACITY_MOST),
		};
}

static struct ccs_wire_message any_message(void)
{
	struct ccs_wire_message m;

	memset(&m, 0, sizeof(m));
	m.header.type = (uint8_t)(1 + seed_below(6));
	m.header.key = (uint8_t)(seed_below(2) * seed_next());
	m.header.incarnation = seed_next() | 1;
	m.header.echo = seed_next();
	m.header.sequence = seed_next();
	switch (m.header.type) {
	case CCS_WIRE_HELLO:
		m.hello.clock_ns = seed_next();
		m.hello.period_us = (uint32_t)seed_next();
		m.hello.flows = (uint32_t)seed_next();
		m.hello.rtt_us = (uint32_t)seed_next();
		m.hello.segment = (uint32_t)seed_next();
		/* fall through */
	case CCS_WIRE_CNP:
		m.cnp.qpn = (uint32_t)seed_next();
		m.cnp.marked = (uint32_t)seed_next();
		break;
	case CCS_WIRE_HELLO_ACK:
		m.hello_ack.of = seed_next();
		m.hello_ack.capabilities = (uint32_t)seed_next();
		m.hello_ack.lease_ms = (uint32_t)seed_next();
		m.hello_ack.flows = (uint32_t)seed_next();
		m.hello_ack.advised = seed_next();
		break;
	case CCS_WIRE_ECHO:
		m.echo.flows = (uint32_t)seed_next();
		any_records(&m.echo.n, m.echo.record);
		break;
	case CCS_WIRE_ADVICE:
		m.advice.advised = 1 + seed_below(CCS_RECORD_CAPACITY_MOST);
		m.advice.flows = (uint32_t)seed_next();
		break;
	case CCS_WIRE_RECORDS:
		m.records.bits = (uint32_t)seed_below(129);
		for (unsigned i = 0; i < 16; i++)
			m.records.prefix[i] = (uint8_t)seed_next();
		any_records(&m.records.n, m.records.record);
	}
	return m;
}

TEST(what_is_encoded_is_decoded)
{
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

TEST(a_longer_body_is_read_in_part)
{
	struct ccs_wire_message m;
	uint8_t buf[64] = { 0 };

	memcpy(buf, golden_cnp, sizeof(golden_cnp));
	assert_int_equal(ccs_wire_decode(buf, sizeof(buf), &m), CCS_WIRE_OK);
	assert_int_equal(m.cnp.qpn, 0x123456);
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

/* Impossible records, or too many, spoil the message. */
TEST(records_are_checked)
{
	uint8_t buf[sizeof(golden_echo) + 16] = { 0 };
	const size_t body = CCS_WIRE_HEADER;
	struct ccs_wire_message m;

	memcpy(buf, golden_echo, sizeof(golden_echo));
	assert_int_equal(decode_exactly(buf, sizeof(buf), &m), CCS_WIRE_OK);
	assert_int_equal(m.echo.record[0].covers_ns, 0x16);
	assert_int_equal(m.echo.record[0].advised, 0x17);
	buf[body] = 2;
	assert_int_equal(decode_exactly(buf, sizeof(buf), &m), CCS_WIRE_GARBAGE);
	buf[body] = 6; /* more than a path has hops */
	assert_int_equal(decode_exactly(buf, sizeof(buf), &m), CCS_WIRE_GARBAGE);
	buf[body] = 1;
	buf[body + 8] = 0; /* link 0 */
	assert_int_equal(decode_exactly(buf, sizeof(buf), &m), CCS_WIRE_GARBAGE);
	memcpy(buf, golden_records, sizeof(golden_records));
	buf[body + 4] = 129; /* bits of an address */
	assert_int_equal(decode_exactly(buf, sizeof(golden_records), &m), CCS_WIRE_GARBAGE);
}

TEST(what_is_cut_is_refused)
{
	static const struct { const uint8_t *data; size_t len; } all[] = {
		{ golden_echo, sizeof(golden_echo) },
		{ golden_records, sizeof(golden_records) },
		{ golden_cnp, sizeof(golden_cnp) },
		{ golden_ack, sizeof(golden_ack) },
		{ golden_hello, sizeof(golden_hello) },
		{ golden_advice, sizeof(golden_advice) },
	};
	struct ccs_wire_message m;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t len = 0; len < all[i].len; len++)
			assert_int_equal(decode_exactly(all[i].data, len, &m), CCS_WIRE_GARBAGE);
}

/* In the first six bytes each bit counts; after them any value may be meant. */
TEST(each_bit_of_the_preamble_counts)
{
	uint8_t buf[sizeof(golden_cnp)];
	struct ccs_wire_message m;

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
		else
			assert_int_equal(e, CCS_WIRE_OK);
	}
}

TEST(tenants_follow_the_body)
{
	static const uint8_t types[] = {
		CCS_WIRE_HELLO, CCS_WIRE_HELLO_ACK, CCS_WIRE_ECHO, CCS_WIRE_ADVICE,
	};

	for (size_t i = 0; i < sizeof(types); i++) {
		struct ccs_wire_message m = { .header = { .type = types[i], .incarnation = 1 } }, got;
		uint8_t buf[CCS_WIRE_MAX + CCS_WIRE_TAG] = { 0 };
		size_t plain, len;

		if (types[i] == CCS_WIRE_ADVICE)
			m.advice.advised = 1;
		plain = ccs_wire_encode(&m, buf);
		m.header.tenants = CCS_WIRE_TENANTS;
		for (unsigned k = 0; k < CCS_WIRE_TENANTS; k++)
			m.tenant[k] = types[i] == CCS_WIRE_HELLO
				      ? (struct ccs_wire_tenant){ .tenant = ~0ull - k, .weight = 1 + k, .flows = 7,
							    .guarantee = ~0u - k, .floor = 100 * k }
				      : (struct ccs_wire_tenant){ .tenant = 5 + k, .advised = 10000000000 + k };
		len = ccs_wire_encode(&m, buf);
		assert_int_equal(len, plain + CCS_WIRE_TENANTS *
				      (types[i] == CCS_WIRE_HELLO ? CCS_WIRE_TENANT_HELLO : CCS_WIRE_TENANT));
		assert_int_equal(ccs_wire_decode(buf, len + CCS_WIRE_TAG, &got), CCS_WIRE_OK);
		assert_int_equal(got.header.tenants, CCS_WIRE_TENANTS);
		assert_memory_equal(got.tenant, m.tenant, sizeof(m.tenant));
		assert_int_equal(ccs_wire_decode(buf, len - 1, &got), CCS_WIRE_GARBAGE);
		buf[7] = CCS_WIRE_TENANTS + 1;
		assert_int_equal(ccs_wire_decode(buf, sizeof(buf), &got), CCS_WIRE_GARBAGE);
		m.tenant[3].advised = m.tenant[3].flows = 0;
		len = ccs_wire_encode(&m, buf);
		assert_int_equal(ccs_wire_decode(buf, len, &got), CCS_WIRE_GARBAGE);
	}
}

TEST(other_versions_and_types_are_distinguished)
{
	uint8_t buf[sizeof(golden_cnp)];
	struct ccs_wire_message m;

	memcpy(buf, golden_cnp, sizeof(buf));
	buf[5] = 200;
	assert_int_equal(ccs_wire_decode(buf, sizeof(buf), &m), CCS_WIRE_OTHER_TYPE);
	buf[4] = CCS_WIRE_VERSION + 1;
	assert_int_equal(ccs_wire_decode(buf, 5, &m), CCS_WIRE_OTHER_VERSION);
	m.header.type = 200;
	assert_int_equal(ccs_wire_encode(&m, buf), 0);
}
