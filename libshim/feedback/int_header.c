/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/int_header.h"

#include <endian.h>
#include <string.h>

#define TIME_MASK 0xffffffull
#define BYTES_MASK 0xfffffull

enum { BYTES_UNIT = 128, QLEN_UNIT = 80 };

static uint64_t time_of(uint64_t word)
{
	return word >> 36 & TIME_MASK;
}

static uint64_t bytes_of(uint64_t word)
{
	return word >> 16 & BYTES_MASK;
}

/*
 * Time since the last packet by the switch's clock, ns: of all values with these low bits, the one
 * nearest to the time between the arrivals. Negative for an older packet.
 */
static int64_t elapsed(const struct ccs_int_link *l, uint64_t word, uint64_t arrived_ns)
{
	const int64_t wrap = TIME_MASK + 1;
	const int64_t low = (time_of(word) - time_of(l->word)) & TIME_MASK;
	const int64_t rest = (int64_t)(arrived_ns - l->arrived_ns) - low + wrap / 2;

	return low + (rest / wrap - (rest % wrap < 0)) * wrap;
}

static uint32_t name_of(const struct ccs_int_link *l)
{
	const uint32_t both[2] = { htole32(l->name), htole32(l->life) };

	return ccs_record_link(both, sizeof(both));
}

bool ccs_int_follow(struct ccs_int_link *l, const uint64_t rates[16], uint64_t word,
		    uint64_t arrived_ns, struct ccs_record *r)
{
	const double most = (double)(BYTES_MASK * BYTES_UNIT);
	const uint64_t capacity = rates[word >> 60];
	const int64_t dt = l->life ? elapsed(l, word, arrived_ns) : 1;

	if (dt <= 0 || !capacity)
		return false;
	if (!l->life || (double)capacity / 8e9 * (double)dt >= most) {
		l->life++;
		l->tx_bytes = 0;
	} else {
		l->tx_bytes += ((bytes_of(word) - bytes_of(l->word)) & BYTES_MASK) * BYTES_UNIT;
	}
	l->ts_ns += (uint64_t)dt;
	l->word = word;
	l->arrived_ns = arrived_ns;
	memset(r, 0, sizeof(*r));
	r->link = name_of(l);
	r->kind = CCS_RECORD_PORT;
	r->ts_ns = l->ts_ns;
	r->tx_bytes = l->tx_bytes;
	r->qlen_bytes = (word & 0xffff) * QLEN_UNIT;
	r->capacity = capacity;
	return true;
}
