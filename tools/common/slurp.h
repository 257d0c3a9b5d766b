/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SLURP_H
#define CCS_TOOLS_SLURP_H

/* All of a small text file, to be freed; NULL if it cannot be read. */
char *slurp(const char *name);

#endif
