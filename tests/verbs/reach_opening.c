/* SPDX-License-Identifier: BSD-2-Clause */
/* A module that opens libibverbs itself, as network plug-ins of collectives are. */
#include "reach.h"

int reach_module(void);
int reach_own(void);

int __attribute__((visibility("default"))) reach_module(void)
{
	struct reach_verbs verbs;
	void *handle;

	return reach_as_nccl(&verbs, &handle) ? -1 : reach_traffic(&verbs, handle);
}

/* Found through this module's RUNPATH only. */
int __attribute__((visibility("default"))) reach_own(void)
{
	return dlopen("libonlyhere.so", RTLD_NOW) ? 0 : -1;
}
