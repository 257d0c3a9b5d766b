/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FUZZ_INPUT_H
#define CCS_FUZZ_INPUT_H
/* A fuzzer's input, read from its start. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
	const uint8_t *at;
	size_t left;
};

/* Zeros at the end of the input. */
static inline void take(struct input *in, void *to, size_t len)
{
	const size_t n = len < in->left ? len : in->left;

	memset(to, 0, len);
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
}

static inline unsigned take_below(struct input *in, unsigned n)
{
	uint8_t byte;

	take(in, &byte, 1);
	return byte % n;
}

#endif
