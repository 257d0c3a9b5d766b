/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_HASH_H
#define CCS_BASE_HASH_H
/* A mixing function for hash tables, and a hash of texts. */
#include <stdint.h>

/* The finaliser of splitmix64: every bit of x affects every bit of the result. */
static inline uint64_t ccs_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* FNV-1a, mixed, since texts may differ in their last digits only. */
static inline uint64_t ccs_hash_text(const char *text)
{
	uint64_t x = 0xcbf29ce484222325;

	for (; *text; text++)
		x = (x ^ (unsigned char)*text) * 0x100000001b3;
	return ccs_mix(x);
}

#endif
