/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CAPABILITIES_H
#define CCS_TOOLS_CAPABILITIES_H
#include <stdbool.h>

/* Whether that capability (<linux/capability.h>) is in this process's effective set. */
bool has_capability(int capability);

/* Drop all capabilities permanently; a root process stays owner of its files. 0 or an errno. */
int drop_capabilities(void);

#endif
