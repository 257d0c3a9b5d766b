/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_HASH_H
#define CCS_BASE_HASH_H
/* A mixing function for hash tables. */
#include <stdint.h>

/* The finaliser of splitmix64: every bit of x affects every bit of the result. */
static inline uint64_t ccs_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

#endif
