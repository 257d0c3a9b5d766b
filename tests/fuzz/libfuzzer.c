/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's way in; the script `fuzz` builds it. */
#include "agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	fuzz_agent(bytes, len);
	return 0;
}
