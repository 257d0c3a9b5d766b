/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_SIPHASH_H
#define CCS_AGENT_SIPHASH_H
/*
 * SipHash-2-4 of whole words: without the key its values cannot be distinguished from random ones.
 * Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012.
 */
#include <stddef.h>
#include <stdint.h>

static inline uint64_t ccs_siphash_turn(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void ccs_siphash_rounds(uint64_t v[4], unsigned n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = ccs_siphash_turn(v[1], 13) ^ v[0];
		v[3] = ccs_siphash_turn(v[3], 16) ^ v[2];
		v[0] = ccs_siphash_turn(v[0], 32) + v[3];
		v[2] += v[1];
		v[1] = ccs_siphash_turn(v[1], 17) ^ v[2];
		v[3] = ccs_siphash_turn(v[3], 21) ^ v[0];
		v[2] = ccs_siphash_turn(v[2], 32);
	}
}

static inline uint64_t ccs_siphash(const uint64_t key[2], const uint64_t *word, size_t n)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573,
	};

	for (size_t i = 0; i <= n; i++) {
		const uint64_t m = i < n ? word[i] : (uint64_t)n << 59; /* the length in bytes */

		v[3] ^= m;
		ccs_siphash_rounds(v, 2);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	ccs_siphash_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
