/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SETUP_H
#define CCS_SETUP_H
/* Set-up of the process on first use, and its end. */
#include <stdbool.h>

/*
 * Whether this process controls anything. Reads the configuration on first use. False in a
 * child, and in a plug-in's constructor, which runs during set-up.
 */
bool ccs_shim_on(void);

#endif
