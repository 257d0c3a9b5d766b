/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CAPABILITIES_H
#define CCS_TOOLS_CAPABILITIES_H
#include <stdbool.h>

/* Whether this process may now what that capability (<linux/capability.h>) is for. */
bool has_capability(int capability);

/* Gives all of them up, for good; root's files stay root's. 0 or an errno. */
int drop_capabilities(void);

#endif
