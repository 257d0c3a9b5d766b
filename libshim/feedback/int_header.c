/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/int_header.h"

#include <endian.h>
#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))
enum { TIME_BITS = 24, BYTES_BITS = 20, BYTES_UNIT = 128, QLEN_UNIT = 80 };

const uint64_t ccs_int_rates[5] = {
	25000000000, 50000000000, 100000000000, 200000000000, 400000000000,
};

/* Position and width of each field. */
static const struct layout {
	struct field { unsigned shift, bits; } rate, ts, bytes, qlen;
} layouts[] = {
	[CCS_INT_PAPER] = { { 60, 4 }, { 36, TIME_BITS }, { 16, BYTES_BITS }, { 0, 16 } },
	[CCS_INT_NS3] = { { 0, 3 }, { 3, TIME_BITS }, { 27, BYTES_BITS }, { 47, 17 } },
};

static uint32_t get(const struct field *f, uint64_t word)
{
	return (uint32_t)(word >> f->shift & (BIT(f->bits) - 1));
}

struct ccs_int_hop ccs_int_unpack(enum ccs_int_layout layout, uint64_t word)
{
	const struct layout *l = &layouts[layout];

	return (struct ccs_int_hop){ get(&l->rate, word), get(&l->ts, word), get(&l->bytes, word),
				     get(&l->qlen, word) };
}

/*
 * Time since the last packet by the switch's clock, ns: of all values with these low bits, the one
 * nearest to the time between the arrivals. Negative for an older packet.
 */
static int64_t elapsed(const struct ccs_int_link *l, const struct ccs_int_hop *hop,
		       uint64_t arrived_ns)
{
	const int64_t wrap = BIT(TIME_BITS);
	const int64_t low = (hop->ts - l->hop.ts) & (BIT(TIME_BITS) - 1);
	const int64_t rest = (int64_t)(arrived_ns - l->arrived_ns) - low + wrap / 2;

	return low + (rest / wrap - (rest % wrap < 0)) * wrap;
}

static void begin_life(struct ccs_int_link *l)
{
	l->life++;
	l->tx_bytes = 0;
}

static uint32_t name_of(const struct ccs_int_link *l)
{
	const uint32_t both[2] = { htole32(l->name), htole32(l->life) };

	return ccs_record_link(both, sizeof(both));
}

bool ccs_int_follow(struct ccs_int_link *l, const struct ccs_int_format *f, uint64_t word,
		    uint64_t arrived_ns, struct ccs_record *r)
{
	const struct ccs_int_hop hop = ccs_int_unpack(f->layout, word);
	const uint64_t unit = (uint64_t)BYTES_UNIT * f->multiple;
	const double most = (double)((BIT(BYTES_BITS) - 1) * unit);
	const uint64_t capacity = hop.rate < f->nrates ? f->rates[hop.rate] : 0;
	const int64_t dt = l->life ? elapsed(l, &hop, arrived_ns) : 1;

	if (dt <= 0 || !capacity)
		return false;
	if (!l->life || (double)capacity / 8e9 * (double)dt >= most)
		begin_life(l);
	else
		l->tx_bytes += ((hop.bytes - l->hop.bytes) & (BIT(BYTES_BITS) - 1)) * unit;
	l->ts_ns += (uint64_t)dt;
	l->hop = hop;
	l->arrived_ns = arrived_ns;
	memset(r, 0, sizeof(*r));
	r->link = name_of(l);
	r->kind = CCS_RECORD_PORT;
	r->ts_ns = l->ts_ns;
	r->tx_bytes = l->tx_bytes;
	r->qlen_bytes = (uint64_t)hop.qlen * QLEN_UNIT * f->multiple;
	r->capacity = capacity;
	return true;
}
