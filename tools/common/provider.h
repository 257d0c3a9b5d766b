/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PROVIDER_H
#define CCS_TOOLS_PROVIDER_H
/* Which library of the vendor drives a device. */
#include <infiniband/verbs.h>
#include <stddef.h>

/*
 * Name the provider of an open device, "libmlx5" for example, as found by the
 * file that its functions are in; "" if all that it implements are functions
 * that something else has replaced. Returns name. The shim may be loaded: functions that it
 * replaces are not used.
 */
const char *provider_name(const struct ibv_context *context, char *name, size_t len);

#endif
