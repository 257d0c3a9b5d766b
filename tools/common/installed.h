/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_INSTALLED_H
#define CCS_TOOLS_INSTALLED_H
/* Finds installed files in a tree that was moved after its installation. */
#include <stddef.h>

/*
 * Where the file is that was installed at that path: at the same place relative to this program,
 * which is in PREFIX/bin, PREFIX/sbin or the like; or path, if there is none or it is not in
 * PREFIX. In buf, or path itself.
 */
const char *installed_path(const char *path, char *buf, size_t len);

#endif
