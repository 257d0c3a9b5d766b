/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_FUZZ_AGENT_H
#define CCS_TESTS_FUZZ_AGENT_H
#include <stddef.h>
#include <stdint.h>

/*
 * Reads bytes as the input of a host agent: messages of peers, raw or nearly right, clients'
 * messages, connections and disconnections, marks, and time. The agent is opened once. Its lists
 * must agree with each other, and be empty after each input; aborts if they are not.
 */
void fuzz_agent(const uint8_t *bytes, size_t len);

#endif
