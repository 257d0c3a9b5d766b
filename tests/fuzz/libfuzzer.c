/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's way in; the script `fuzz` builds it. */
#ifdef FUZZ_PARSERS
#include "parsers.h"
#else
#include "agent.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
#ifdef FUZZ_PARSERS
	fuzz_parsers(bytes, len);
#else
	fuzz_agent(bytes, len);
#endif
	return 0;
}
