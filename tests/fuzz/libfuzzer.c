/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's way in; the script `fuzz` builds it. */
#ifdef FUZZ_PARSERS
#include <stdlib.h>
#include "parsers.h"
#else
#include "agent.h"
#endif

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t len, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t len, size_t most);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#ifdef FUZZ_PARSERS
/* All new inputs are for the parser CCS_FUZZ_PART. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t len, size_t most, unsigned seed)
{
	static int part = -1;
	const char *given = getenv("CCS_FUZZ_PART");

	(void)seed;
	if (part < 0)
		part = given ? atoi(given) : 0;
	len = LLVMFuzzerMutate(bytes, len, most);
	if (len)
		bytes[0] = (uint8_t)part;
	return len;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
#ifdef FUZZ_PARSERS
	fuzz_parsers(bytes, len);
#else
	fuzz_agent(bytes, len);
#endif
	return 0;
}
