/* SPDX-License-Identifier: BSD-2-Clause */
/* A module that is linked to libibverbs, as transports of MPI libraries are. */
#include "reach.h"

int reach_module(void);

int __attribute__((visibility("default"))) reach_module(void)
{
#define LINKED(name, version) .name = name,
	const struct reach_verbs verbs = { REACH_VERBS(LINKED) };
#undef LINKED

	return reach_traffic(&verbs, NULL);
}
