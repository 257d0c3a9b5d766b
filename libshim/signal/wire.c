/* SPDX-License-Identifier: BSD-2-Clause */
#include "signal/wire.h"

#include <endian.h>
#include <string.h>

static const uint8_t magic[4] = "CCSW";

/* Little-endian fields, one after the other. */
static void put16(uint8_t **p, uint16_t v)
{
	v = htole16(v);
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static void put32(uint8_t **p, uint32_t v)
{
	v = htole32(v);
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static void put64(uint8_t **p, uint64_t v)
{
	v = htole64(v);
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static uint16_t get16(const uint8_t **p)
{
	uint16_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le16toh(v);
}

static uint32_t get32(const uint8_t **p)
{
	uint32_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le32toh(v);
}

static uint64_t get64(const uint8_t **p)
{
	uint64_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le64toh(v);
}

/* Of a type's body, as far as it is known here; 0: the type is not. */
static size_t body_length(uint8_t type)
{
	switch (type) {
	case CCS_WIRE_HELLO:
	case CCS_WIRE_CNP:
		return 8;
	case CCS_WIRE_HELLO_ACK:
		return 16;
	default:
		return 0;
	}
}

size_t ccs_wire_encode(struct ccs_wire_message *m, void *buf)
{
	struct ccs_wire_header *h = &m->header;
	uint8_t *p = buf;

	if (!body_length(h->type))
		return 0;
	h->length = (uint16_t)(CCS_WIRE_HEADER + body_length(h->type));
	memcpy(p, magic, sizeof(magic));
	p += sizeof(magic);
	*p++ = CCS_WIRE_VERSION;
	*p++ = h->type;
	put16(&p, h->length);
	put64(&p, h->session);
	put64(&p, h->echo);
	put64(&p, h->sequence);
	if (h->type == CCS_WIRE_HELLO) {
		put32(&p, m->hello.lease_ms);
		put32(&p, m->hello.wants);
	} else if (h->type == CCS_WIRE_HELLO_ACK) {
		put64(&p, m->hello_ack.of);
		put32(&p, m->hello_ack.gives);
		put32(&p, m->hello_ack.lease_ms);
	} else {
		put32(&p, m->cnp.qpn);
		put32(&p, m->cnp.marked);
	}
	return h->length;
}

/* The version comes before all else: what follows it may be laid out in another way. */
enum ccs_wire_error ccs_wire_decode(const void *buf, size_t len, struct ccs_wire_message *m)
{
	struct ccs_wire_header *h = &m->header;
	const uint8_t *p = buf;

	memset(m, 0, sizeof(*m));
	if (len <= sizeof(magic) || memcmp(p, magic, sizeof(magic)) != 0)
		return CCS_WIRE_GARBAGE;
	p += sizeof(magic);
	if (*p++ != CCS_WIRE_VERSION)
		return CCS_WIRE_OTHER_VERSION;
	if (len < CCS_WIRE_HEADER)
		return CCS_WIRE_GARBAGE;
	h->type = *p++;
	h->length = get16(&p);
	h->session = get64(&p);
	h->echo = get64(&p);
	h->sequence = get64(&p);
	if (h->length > len || h->length < CCS_WIRE_HEADER || !h->session)
		return CCS_WIRE_GARBAGE;
	if (!body_length(h->type))
		return CCS_WIRE_OTHER_TYPE;
	if (h->length < CCS_WIRE_HEADER + body_length(h->type))
		return CCS_WIRE_GARBAGE;
	if (h->type == CCS_WIRE_HELLO) {
		m->hello.lease_ms = get32(&p);
		m->hello.wants = get32(&p);
	} else if (h->type == CCS_WIRE_HELLO_ACK) {
		m->hello_ack.of = get64(&p);
		m->hello_ack.gives = get32(&p);
		m->hello_ack.lease_ms = get32(&p);
	} else {
		m->cnp.qpn = get32(&p);
		m->cnp.marked = get32(&p);
	}
	return CCS_WIRE_OK;
}
