/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/record.h"

#include "feedback/le.h"

void ccs_record_encode(const struct ccs_record *r, uint8_t out[CCS_RECORD_BYTES])
{
	ccs_put32(&out, r->link);
	ccs_put16(&out, r->hop);
	ccs_put16(&out, r->kind);
	ccs_put64(&out, r->ts_ns);
	ccs_put64(&out, r->tx_bytes);
	ccs_put64(&out, r->qlen_bytes);
	ccs_put64(&out, r->capacity);
	ccs_put64(&out, r->covers_ns);
	ccs_put64(&out, r->advised);
}

bool ccs_record_decode(const uint8_t in[CCS_RECORD_BYTES], struct ccs_record *r)
{
	r->link = ccs_get32(&in);
	r->hop = ccs_get16(&in);
	r->kind = ccs_get16(&in);
	r->ts_ns = ccs_get64(&in);
	r->tx_bytes = ccs_get64(&in);
	r->qlen_bytes = ccs_get64(&in);
	r->capacity = ccs_get64(&in);
	r->covers_ns = ccs_get64(&in);
	r->advised = ccs_get64(&in);
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
	uint8_t links[4 * CCS_RECORDS], *at = links;

	for (unsigned i = 0; i < n && i < CCS_RECORDS; i++)
		ccs_put32(&at, r[i].link);
	return ccs_record_link(links, (unsigned)(at - links));
}
