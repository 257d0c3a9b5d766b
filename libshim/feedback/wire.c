/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/wire.h"

#include <string.h>

#include "feedback/le.h"

static const uint8_t magic[4] = "CCSW";

/* Minimum length of a type's body; 0: unknown type. */
static size_t least_length(uint8_t type)
{
	static const uint8_t least[] = {
		[CCS_WIRE_HELLO] = 8, [CCS_WIRE_CNP] = 8, [CCS_WIRE_ECHO] = 8,
		[CCS_WIRE_HELLO_ACK] = 16, [CCS_WIRE_ADVICE] = 16, [CCS_WIRE_RECORDS] = 24,
	};

	return type < sizeof(least) ? least[type] : 0;
}

static void code_hello(struct ccs_le *p, struct ccs_wire_hello *m)
{
	ccs_le32(p, &m->lease_ms);
	ccs_le32(p, &m->requested);
	ccs_le64(p, &m->clock_ns);
	ccs_le32(p, &m->period_us);
	ccs_le32(p, &m->flows);
	ccs_le32(p, &m->rtt_us);
	ccs_le32(p, &m->segment);
}

static void code_ack(struct ccs_le *p, struct ccs_wire_hello_ack *m)
{
	uint32_t spare = 0;

	ccs_le64(p, &m->of);
	ccs_le32(p, &m->capabilities);
	ccs_le32(p, &m->lease_ms);
	ccs_le32(p, &m->flows);
	ccs_le32(p, &spare);
	ccs_le64(p, &m->advised);
}

static bool code_advice(struct ccs_le *p, struct ccs_wire_advice *m)
{
	uint32_t spare = 0;

	ccs_le64(p, &m->advised);
	ccs_le32(p, &m->flows);
	ccs_le32(p, &spare);
	return m->advised && m->advised <= CCS_RECORD_CAPACITY_MOST;
}

/* n records of `size` bytes each; newer agents' are longer, older agents' shorter. False: they are
 * invalid. */
static bool code_records(struct ccs_le *p, const uint8_t *end, size_t n, size_t size,
			 struct ccs_record *r)
{
	uint8_t one[CCS_RECORD_BYTES] = { 0 };

	if (p->reads && (n > CCS_RECORDS || size < CCS_RECORD_LEAST ||
			 n * size > (size_t)(end - p->at)))
		return false;
	for (; n--; p->at += size, r++) {
		if (!p->reads) {
			ccs_record_encode(r, p->at);
			continue;
		}
		memcpy(one, p->at, size < sizeof(one) ? size : sizeof(one));
		if (!ccs_record_decode(one, r))
			return false;
	}
	return true;
}

static bool code_echo(struct ccs_le *p, const uint8_t *end, struct ccs_wire_echo *m)
{
	uint16_t size = CCS_RECORD_BYTES;

	ccs_le16(p, &m->n);
	ccs_le16(p, &size);
	ccs_le32(p, &m->flows);
	return code_records(p, end, m->n, size, m->record);
}

static bool code_ports(struct ccs_le *p, const uint8_t *end, struct ccs_wire_records *m)
{
	uint16_t size = CCS_RECORD_BYTES;
	uint32_t bits = m->bits;

	ccs_le16(p, &m->n);
	ccs_le16(p, &size);
	ccs_le32(p, &bits);
	m->bits = (uint8_t)bits;
	ccs_le_bytes(p, m->prefix, sizeof(m->prefix));
	return bits <= 128 && code_records(p, end, m->n, size, m->record);
}

/* end: of the body that is read. False: it is invalid. */
static bool code_body(struct ccs_le *p, const uint8_t *end, struct ccs_wire_message *m)
{
	switch (m->header.type) {
	case CCS_WIRE_HELLO:
		code_hello(p, &m->hello);
		return true;
	case CCS_WIRE_HELLO_ACK:
		code_ack(p, &m->hello_ack);
		return true;
	case CCS_WIRE_CNP:
		ccs_le32(p, &m->cnp.qpn);
		ccs_le32(p, &m->cnp.marked);
		return true;
	case CCS_WIRE_ECHO:
		return code_echo(p, end, &m->echo);
	case CCS_WIRE_ADVICE:
		return code_advice(p, &m->advice);
	default:
		return code_ports(p, end, &m->records);
	}
}

/* After the magic and the version. */
static void code_header(struct ccs_le *p, struct ccs_wire_header *h)
{
	ccs_le_bytes(p, &h->type, 1);
	ccs_le16(p, &h->length);
	ccs_le64(p, &h->incarnation);
	ccs_le64(p, &h->echo);
	ccs_le64(p, &h->sequence);
}

size_t ccs_wire_encode(struct ccs_wire_message *m, void *buf)
{
	struct ccs_wire_header *h = &m->header;
	struct ccs_le p = { .at = buf }, body = { .at = (uint8_t *)buf + CCS_WIRE_HEADER };

	if (!least_length(h->type))
		return 0;
	code_body(&body, NULL, m);
	h->length = (uint16_t)(body.at - p.at);
	if (h->key)
		*body.at++ = h->key;
	memcpy(p.at, magic, sizeof(magic));
	p.at[4] = h->key ? CCS_WIRE_VERSION : 1;
	p.at += 5;
	code_header(&p, h);
	return (size_t)(body.at - (uint8_t *)buf);
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
	uint8_t copy[CCS_WIRE_MAX] = { 0 };
	struct ccs_le p = { .at = copy, .reads = true };
	const uint8_t *bytes = buf;
	size_t n;

	memset(m, 0, sizeof(*m));
	if (len <= sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return CCS_WIRE_GARBAGE;
	if (!bytes[4] || bytes[4] > CCS_WIRE_VERSION)
		return CCS_WIRE_OTHER_VERSION;
	if (len < CCS_WIRE_HEADER)
		return CCS_WIRE_GARBAGE;
	memcpy(copy, bytes + 5, CCS_WIRE_HEADER - 5);
	code_header(&p, h);
	if (h->length > len || h->length < CCS_WIRE_HEADER || !h->incarnation)
		return CCS_WIRE_GARBAGE;
	if (bytes[4] > 1 && !get_key(buf, len, h))
		return CCS_WIRE_GARBAGE;
	if (!least_length(h->type))
		return CCS_WIRE_OTHER_TYPE;
	n = h->length - (size_t)CCS_WIRE_HEADER;
	if (n < least_length(h->type))
		return CCS_WIRE_GARBAGE;
	/* Fields that a shorter body lacks are 0. */
	n = n < sizeof(copy) ? n : sizeof(copy);
	memset(copy, 0, CCS_WIRE_HEADER);
	memcpy(copy, bytes + CCS_WIRE_HEADER, n);
	p.at = copy;
	return code_body(&p, copy + n, m) ? CCS_WIRE_OK : CCS_WIRE_GARBAGE;
}
