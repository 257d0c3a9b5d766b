/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PROVIDER_H
#define CCS_TOOLS_PROVIDER_H
/* Which library of the vendor, and which module of the kernel, drives a device. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Get the name of an open device's provider, such as "libmlx5", from the file that contains its
 * functions; "" if each of them is replaced by another library. Returns name. Functions that the
 * shim replaces are not used, so it may be loaded.
 */
const char *provider_name(const struct ibv_context *context, char *name, size_t len);

/* Get the name of the kernel's driver from its link in sysfs, a path from the directory dir; false: the
 * device is software. */
bool driver_name(int dir, const char *link, char *name, size_t len);

#endif
