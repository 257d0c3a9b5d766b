/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_FUZZ_AGENT_H
#define CCS_TESTS_FUZZ_AGENT_H
#include <stddef.h>
#include <stdint.h>

/*
 * Reads bytes as what a host agent meets: messages of peers, raw or nearly right, what
 * clients send and when they come and go, marks, and time. Now and then the
 * agent's lists must agree with each other; aborts where they do not. The same bytes do the same.
 */
void fuzz_agent(const uint8_t *bytes, size_t len);

#endif
