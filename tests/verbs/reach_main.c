/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that is linked to libibverbs. matrix.bats compiles it in several ways. */
#include "reach.h"

#ifdef ASAN_DEFAULTS
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(void)
{
#define LINKED(name, version) .name = name,
	const struct reach_verbs verbs = { REACH_VERBS(LINKED) };
#undef LINKED

	if (reach_traffic(&verbs, NULL))
		return 1;
	puts("done");
	return 0;
}
