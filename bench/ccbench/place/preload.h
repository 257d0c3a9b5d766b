/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PRELOAD_H
#define BENCH_PRELOAD_H
/* The shim, and LD_PRELOAD with it. */
#include <stddef.h>

/*
 * Make the value of LD_PRELOAD from its old value, which may be NULL: remove every libccshim.so, and
 * add lib unless it is NULL, before other libraries as 'ccshim run' does (preload_list.h).
 */
void preload_value(const char *old, const char *lib, char *buf, size_t len);

/* Find the shim, first in this build tree, then in the installation; -1 if it does not exist. */
int preload_find(char *buf, size_t len);

#endif
