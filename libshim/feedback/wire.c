/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/wire.h"

#include <string.h>

#include "feedback/le.h"

static const uint8_t magic[4] = "CCSW";

/* Minimum length of a type's body; 0: unknown type. */
static size_t least_length(uint8_t type)
{
	switch (type) {
	case CCS_WIRE_HELLO:
	case CCS_WIRE_CNP:
	case CCS_WIRE_ECHO:
		return 8;
	case CCS_WIRE_HELLO_ACK:
	case CCS_WIRE_ADVICE:
		return 16;
	case CCS_WIRE_RECORDS:
		return 24;
	default:
		return 0;
	}
}

static void put_records(uint8_t **p, const struct ccs_record *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++, *p += CCS_RECORD_BYTES)
		ccs_record_encode(&r[i], *p);
}

static void put_hello(uint8_t **p, const struct ccs_wire_hello *m)
{
	ccs_put32(p, m->lease_ms);
	ccs_put32(p, m->requested);
	ccs_put64(p, m->clock_ns);
	ccs_put32(p, m->period_us);
	ccs_put32(p, m->flows);
	ccs_put32(p, m->rtt_us);
	ccs_put32(p, m->segment);
}

static void put_ack(uint8_t **p, const struct ccs_wire_hello_ack *m)
{
	ccs_put64(p, m->of);
	ccs_put32(p, m->capabilities);
	ccs_put32(p, m->lease_ms);
	ccs_put32(p, m->flows);
	ccs_put32(p, 0);
	ccs_put64(p, m->advised);
}

static void put_cnp(uint8_t **p, const struct ccs_wire_cnp *m)
{
	ccs_put32(p, m->qpn);
	ccs_put32(p, m->marked);
}

static void put_echo(uint8_t **p, const struct ccs_wire_echo *m)
{
	ccs_put16(p, m->n);
	ccs_put16(p, CCS_RECORD_BYTES);
	ccs_put32(p, m->flows);
	put_records(p, m->record, m->n);
}

static void put_ports(uint8_t **p, const struct ccs_wire_records *m)
{
	ccs_put16(p, m->n);
	ccs_put16(p, CCS_RECORD_BYTES);
	ccs_put32(p, m->bits);
	memcpy(*p, m->prefix, sizeof(m->prefix));
	*p += sizeof(m->prefix);
	put_records(p, m->record, m->n);
}

static void put_advice(uint8_t **p, const struct ccs_wire_advice *m)
{
	ccs_put64(p, m->advised);
	ccs_put32(p, m->flows);
	ccs_put32(p, 0);
}

static void put_body(uint8_t **p, const struct ccs_wire_message *m)
{
	switch (m->header.type) {
	case CCS_WIRE_HELLO:
		put_hello(p, &m->hello);
		break;
	case CCS_WIRE_HELLO_ACK:
		put_ack(p, &m->hello_ack);
		break;
	case CCS_WIRE_CNP:
		put_cnp(p, &m->cnp);
		break;
	case CCS_WIRE_ECHO:
		put_echo(p, &m->echo);
		break;
	case CCS_WIRE_RECORDS:
		put_ports(p, &m->records);
		break;
	case CCS_WIRE_ADVICE:
		put_advice(p, &m->advice);
	}
}

size_t ccs_wire_encode(struct ccs_wire_message *m, void *buf)
{
	struct ccs_wire_header *h = &m->header;
	uint8_t *const start = buf, *p = start, *end = p + CCS_WIRE_HEADER;

	if (!least_length(h->type))
		return 0;
	put_body(&end, m);
	h->length = (uint16_t)(end - p);
	if (h->key)
		*end++ = h->key;
	memcpy(p, magic, sizeof(magic));
	p += sizeof(magic);
	*p++ = h->key ? CCS_WIRE_VERSION : 1;
	*p++ = h->type;
	ccs_put16(&p, h->length);
	ccs_put64(&p, h->incarnation);
	ccs_put64(&p, h->echo);
	ccs_put64(&p, h->sequence);
	return (size_t)(end - start);
}

/* Decode n records of `size` bytes each; newer agents' are longer, older agents' shorter. False:
 * they are invalid. */
static bool get_records(const uint8_t *p, const uint8_t *end, size_t n, size_t size,
			struct ccs_record *r)
{
	uint8_t one[CCS_RECORD_BYTES] = { 0 };

	if (n > CCS_RECORDS || size < CCS_RECORD_LEAST || n * size > (size_t)(end - p))
		return false;
	for (; n--; p += size) {
		memcpy(one, p, size < sizeof(one) ? size : sizeof(one));
		if (!ccs_record_decode(one, r++))
			return false;
	}
	return true;
}

static void get_hello(const uint8_t *p, struct ccs_wire_hello *m)
{
	m->lease_ms = ccs_get32(&p);
	m->requested = ccs_get32(&p);
	m->clock_ns = ccs_get64(&p);
	m->period_us = ccs_get32(&p);
	m->flows = ccs_get32(&p);
	m->rtt_us = ccs_get32(&p);
	m->segment = ccs_get32(&p);
}

static void get_ack(const uint8_t *p, struct ccs_wire_hello_ack *m)
{
	m->of = ccs_get64(&p);
	m->capabilities = ccs_get32(&p);
	m->lease_ms = ccs_get32(&p);
	m->flows = ccs_get32(&p);
	p += 4;
	m->advised = ccs_get64(&p);
}

static bool get_advice(const uint8_t *p, struct ccs_wire_advice *m)
{
	m->advised = ccs_get64(&p);
	m->flows = ccs_get32(&p);
	return m->advised && m->advised <= CCS_RECORD_CAPACITY_MOST;
}

static bool get_echo(const uint8_t *p, const uint8_t *end, struct ccs_wire_echo *m)
{
	size_t size;

	m->n = ccs_get16(&p);
	size = ccs_get16(&p);
	m->flows = ccs_get32(&p);
	return get_records(p, end, m->n, size, m->record);
}

static bool get_ports(const uint8_t *p, const uint8_t *end, struct ccs_wire_records *m)
{
	uint32_t bits;
	size_t size;

	m->n = ccs_get16(&p);
	size = ccs_get16(&p);
	bits = ccs_get32(&p);
	m->bits = (uint8_t)bits;
	memcpy(m->prefix, p, sizeof(m->prefix));
	return bits <= 128 && get_records(p + sizeof(m->prefix), end, m->n, size, m->record);
}

static bool get_body(const uint8_t *p, const uint8_t *end, struct ccs_wire_message *m)
{
	switch (m->header.type) {
	case CCS_WIRE_HELLO:
		get_hello(p, &m->hello);
		return true;
	case CCS_WIRE_HELLO_ACK:
		get_ack(p, &m->hello_ack);
		return true;
	case CCS_WIRE_CNP:
		m->cnp.qpn = ccs_get32(&p);
		m->cnp.marked = ccs_get32(&p);
		return true;
	case CCS_WIRE_ECHO:
		return get_echo(p, end, &m->echo);
	case CCS_WIRE_ADVICE:
		return get_advice(p, &m->advice);
	default:
		return get_ports(p, end, &m->records);
	}
}

/* The key's id comes after the body. One way only to state key 0, so that forms are unique. */
static bool get_key(const uint8_t *buf, size_t len, struct ccs_wire_header *h)
{
	h->key = len > h->length ? buf[h->length] : 0;
	return h->key != 0;
}

/* The version is checked first: another version may have another layout. */
enum ccs_wire_error ccs_wire_decode(const void *buf, size_t len, struct ccs_wire_message *m)
{
	struct ccs_wire_header *h = &m->header;
	uint8_t body[CCS_WIRE_MAX] = { 0 };
	const uint8_t *p = buf;
	uint8_t version;
	size_t n;

	memset(m, 0, sizeof(*m));
	if (len <= sizeof(magic) || memcmp(p, magic, sizeof(magic)) != 0)
		return CCS_WIRE_GARBAGE;
	p += sizeof(magic);
	version = *p++;
	if (!version || version > CCS_WIRE_VERSION)
		return CCS_WIRE_OTHER_VERSION;
	if (len < CCS_WIRE_HEADER)
		return CCS_WIRE_GARBAGE;
	h->type = *p++;
	h->length = ccs_get16(&p);
	h->incarnation = ccs_get64(&p);
	h->echo = ccs_get64(&p);
	h->sequence = ccs_get64(&p);
	if (h->length > len || h->length < CCS_WIRE_HEADER || !h->incarnation)
		return CCS_WIRE_GARBAGE;
	if (version > 1 && !get_key(buf, len, h))
		return CCS_WIRE_GARBAGE;
	if (!least_length(h->type))
		return CCS_WIRE_OTHER_TYPE;
	n = h->length - (size_t)CCS_WIRE_HEADER;
	if (n < least_length(h->type))
		return CCS_WIRE_GARBAGE;
	/* Fields that a shorter body lacks are 0. */
	n = n < sizeof(body) ? n : sizeof(body);
	memcpy(body, p, n);
	return get_body(body, body + n, m) ? CCS_WIRE_OK : CCS_WIRE_GARBAGE;
}
