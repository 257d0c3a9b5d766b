/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_INSTALLED_H
#define CCS_TOOLS_INSTALLED_H
/* Finds installed files in a tree that was moved after its installation. */
#include <stddef.h>

/*
 * Locate an installed file in a prefix that was moved: at the same place relative to this program,
 * which is in a directory such as PREFIX/bin or PREFIX/sbin. Returns buf, or path if the file does
 * not exist there or path is not in PREFIX.
 */
const char *installed_path(const char *path, char *buf, size_t len);

#endif
