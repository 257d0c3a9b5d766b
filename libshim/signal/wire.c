/* SPDX-License-Identifier: BSD-2-Clause */
#include "signal/wire.h"

#include <string.h>

#include "signal/le.h"

static const uint8_t magic[4] = "CCSW";

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
	ccs_put16(&p, h->length);
	ccs_put64(&p, h->session);
	ccs_put64(&p, h->echo);
	ccs_put64(&p, h->sequence);
	if (h->type == CCS_WIRE_HELLO) {
		ccs_put32(&p, m->hello.lease_ms);
		ccs_put32(&p, m->hello.wants);
	} else if (h->type == CCS_WIRE_HELLO_ACK) {
		ccs_put64(&p, m->hello_ack.of);
		ccs_put32(&p, m->hello_ack.gives);
		ccs_put32(&p, m->hello_ack.lease_ms);
	} else {
		ccs_put32(&p, m->cnp.qpn);
		ccs_put32(&p, m->cnp.marked);
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
	h->length = ccs_get16(&p);
	h->session = ccs_get64(&p);
	h->echo = ccs_get64(&p);
	h->sequence = ccs_get64(&p);
	if (h->length > len || h->length < CCS_WIRE_HEADER || !h->session)
		return CCS_WIRE_GARBAGE;
	if (!body_length(h->type))
		return CCS_WIRE_OTHER_TYPE;
	if (h->length < CCS_WIRE_HEADER + body_length(h->type))
		return CCS_WIRE_GARBAGE;
	if (h->type == CCS_WIRE_HELLO) {
		m->hello.lease_ms = ccs_get32(&p);
		m->hello.wants = ccs_get32(&p);
	} else if (h->type == CCS_WIRE_HELLO_ACK) {
		m->hello_ack.of = ccs_get64(&p);
		m->hello_ack.gives = ccs_get32(&p);
		m->hello_ack.lease_ms = ccs_get32(&p);
	} else {
		m->cnp.qpn = ccs_get32(&p);
		m->cnp.marked = ccs_get32(&p);
	}
	return CCS_WIRE_OK;
}
