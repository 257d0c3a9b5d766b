/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/record.h"

bool ccs_record_code(struct ccs_le *p, struct ccs_record *r)
{
	ccs_le32(p, &r->link);
	ccs_le16(p, &r->hop);
	ccs_le16(p, &r->kind);
	ccs_le64(p, &r->ts_ns);
	ccs_le64(p, &r->tx_bytes);
	ccs_le64(p, &r->qlen_bytes);
	ccs_le64(p, &r->capacity);
	ccs_le64(p, &r->covers_ns);
	ccs_le64(p, &r->advised);
	return r->link && r->capacity && r->capacity <= CCS_RECORD_CAPACITY_MOST &&
	       r->advised <= CCS_RECORD_CAPACITY_MOST;
}

uint64_t ccs_record_advised(const struct ccs_record *r, unsigned n)
{
	uint64_t least = 0;

	for (unsigned i = 0; i < n; i++)
		if (r[i].advised && (!least || r[i].advised < least))
			least = r[i].advised;
	return least;
}

static bool is_before(const struct ccs_record *a, const struct ccs_record *b)
{
	return a->hop != b->hop ? a->hop > b->hop : a->link < b->link;
}

void ccs_record_sort(struct ccs_record *r, unsigned n)
{
	struct ccs_record one;
	unsigned at;

	for (unsigned i = 1; i < n; i++) {
		one = r[i];
		for (at = i; at > 0 && is_before(&one, &r[at - 1]); at--)
			r[at] = r[at - 1];
		r[at] = one;
	}
}

/* FNV-1a. */
static uint32_t hash(uint32_t h, const void *key, unsigned len)
{
	const uint8_t *byte = key;

	for (unsigned i = 0; i < len; i++)
		h = (h ^ byte[i]) * 0x01000193;
	return h;
}

uint32_t ccs_record_link(const void *key, unsigned len)
{
	const uint32_t h = hash(0x811c9dc5, key, len);

	return h ? h : 1;
}

uint32_t ccs_record_path(const struct ccs_record *r, unsigned n)
{
	uint32_t links[CCS_RECORDS];
	unsigned i = 0;

	for (; i < n && i < CCS_RECORDS; i++)
		links[i] = htole32(r[i].link);
	return ccs_record_link(links, i * (unsigned)sizeof(*links));
}
