/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LE_H
#define CCS_LE_H
/* Consecutive little-endian fields of a message: one function writes and reads a layout. */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct ccs_le {
	uint8_t *at;                     /* the next field */
	bool reads;                      /* from there to the variable; false: writes it */
};

static inline void ccs_le_bytes(struct ccs_le *p, void *v, size_t size)
{
	if (p->reads)
		memcpy(v, p->at, size);
	else
		memcpy(p->at, v, size);
	p->at += size;
}

static inline void ccs_le16(struct ccs_le *p, uint16_t *v)
{
	uint16_t le = htole16(*v);

	ccs_le_bytes(p, &le, sizeof(le));
	*v = le16toh(le);
}

static inline void ccs_le32(struct ccs_le *p, uint32_t *v)
{
	uint32_t le = htole32(*v);

	ccs_le_bytes(p, &le, sizeof(le));
	*v = le32toh(le);
}

static inline void ccs_le64(struct ccs_le *p, uint64_t *v)
{
	uint64_t le = htole64(*v);

	ccs_le_bytes(p, &le, sizeof(le));
	*v = le64toh(le);
}

#endif
