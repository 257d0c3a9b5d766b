/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/wire.h"

#include <string.h>

static const uint8_t magic[4] = "CCSW";

/* Minimum length of a type's body; 0: unknown type. */
static size_t least_length(uint8_t type)
{
	static const uint8_t least[] = {
		[CCS_WIRE_HELLO] = 32, [CCS_WIRE_CNP] = 8, [CCS_WIRE_ECHO] = 8,
		[CCS_WIRE_HELLO_ACK] = 32, [CCS_WIRE_ADVICE] = 16, [CCS_WIRE_RECORDS] = 24,
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

/* False: they are invalid. end: of the message that is read. */
static bool code_records(struct ccs_le *p, const uint8_t *end, size_t n, struct ccs_record *r)
{
	if (p->reads && (n > CCS_RECORDS || n * CCS_RECORD_BYTES > (size_t)(end - p->at)))
		return false;
	while (n--)
		if (!ccs_record_code(p, r++))
			return false;
	return true;
}

static bool code_echo(struct ccs_le *p, const uint8_t *end, struct ccs_wire_echo *m)
{
	ccs_le32(p, &m->n);
	ccs_le32(p, &m->flows);
	return code_records(p, end, m->n, m->record);
}

static bool code_ports(struct ccs_le *p, const uint8_t *end, struct ccs_wire_records *m)
{
	ccs_le32(p, &m->n);
	ccs_le32(p, &m->bits);
	ccs_le_bytes(p, m->prefix, sizeof(m->prefix));
	return m->bits <= 128 && code_records(p, end, m->n, m->record);
}

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

/* False: they are invalid, or the message is too short for them. Other types have none. */
static bool code_tenants(struct ccs_le *p, const uint8_t *end, struct ccs_wire_message *m)
{
	const bool is_hello = m->header.type == CCS_WIRE_HELLO;
	const bool has_none = m->header.type == CCS_WIRE_CNP || m->header.type == CCS_WIRE_RECORDS;
	const size_t n = has_none ? 0 : m->header.tenants;
	const size_t each = is_hello ? CCS_WIRE_TENANT_HELLO : CCS_WIRE_TENANT;
	bool valid = true;

	if (p->reads && (n > CCS_WIRE_TENANTS || n * each > (size_t)(end - p->at)))
		return false;
	for (struct ccs_wire_tenant *t = m->tenant; t < m->tenant + n; t++) {
		ccs_le64(p, &t->tenant);
		if (is_hello) {
			ccs_le32(p, &t->weight);
			ccs_le32(p, &t->flows);
			ccs_le32(p, &t->guarantee);
			ccs_le32(p, &t->floor);
			valid &= t->weight && t->flows;
		} else {
			ccs_le64(p, &t->advised);
			valid &= t->advised && t->advised <= CCS_RECORD_CAPACITY_MOST;
		}
	}
	return valid;
}

/* After the magic and the version. */
static void code_header(struct ccs_le *p, struct ccs_wire_header *h)
{
	ccs_le_bytes(p, &h->type, 1);
	ccs_le_bytes(p, &h->key, 1);
	ccs_le_bytes(p, &h->tenants, 1);
	ccs_le64(p, &h->incarnation);
	ccs_le64(p, &h->echo);
	ccs_le64(p, &h->sequence);
}

size_t ccs_wire_encode(struct ccs_wire_message *m, void *buf)
{
	struct ccs_le p = { .at = (uint8_t *)buf + 5 };

	if (!least_length(m->header.type))
		return 0;
	memcpy(buf, magic, sizeof(magic));
	((uint8_t *)buf)[4] = CCS_WIRE_VERSION;
	code_header(&p, &m->header);
	code_body(&p, NULL, m);
	code_tenants(&p, NULL, m);
	return (size_t)(p.at - (uint8_t *)buf);
}

/* The version is checked first: another version may have another layout. */
enum ccs_wire_error ccs_wire_decode(const void *buf, size_t len, struct ccs_wire_message *m)
{
	const uint8_t *bytes = buf;
	struct ccs_le p = { .at = (uint8_t *)bytes + 5, .reads = true };
	size_t least;

	memset(m, 0, sizeof(*m));
	if (len <= sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return CCS_WIRE_GARBAGE;
	if (bytes[4] != CCS_WIRE_VERSION)
		return CCS_WIRE_OTHER_VERSION;
	if (len < CCS_WIRE_HEADER)
		return CCS_WIRE_GARBAGE;
	code_header(&p, &m->header);
	least = least_length(m->header.type);
	if (!m->header.incarnation || len - CCS_WIRE_HEADER < least)
		return CCS_WIRE_GARBAGE;
	if (!least)
		return CCS_WIRE_OTHER_TYPE;
	return code_body(&p, bytes + len, m) && code_tenants(&p, bytes + len, m) ? CCS_WIRE_OK
										 : CCS_WIRE_GARBAGE;
}
