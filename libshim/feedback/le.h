/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LE_H
#define CCS_LE_H
/* Reads and writes of consecutive little-endian fields. */
#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void ccs_put16(uint8_t **p, uint16_t v)
{
	v = htole16(v);
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static inline void ccs_put32(uint8_t **p, uint32_t v)
{
	v = htole32(v);
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static inline void ccs_put64(uint8_t **p, uint64_t v)
{
	v = htole64(v);
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static inline uint16_t ccs_get16(const uint8_t **p)
{
	uint16_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le16toh(v);
}

static inline uint32_t ccs_get32(const uint8_t **p)
{
	uint32_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le32toh(v);
}

static inline uint64_t ccs_get64(const uint8_t **p)
{
	uint64_t v;

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return le64toh(v);
}

#endif
