/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PLUGIN_H
#define CCS_PLUGIN_H
/* Algorithms of users: shared objects that define ccs_cc_plugin, see ccshim_cc(3). */
#include "cc/cc.h"

/*
 * The algorithm in that file, checked, loaded for the life of the process. NULL with a
 * sentence in err that begins with the file's name. Under AT_SECURE nothing is loaded.
 */
const struct ccs_cc_ops *ccs_plugin_load(const char *path, char *err, size_t errlen);

/* Whether ops can be run: its tables, and what it does on a few paths. 0, or -1 with a
 * sentence in err. */
int ccs_plugin_check(const struct ccs_cc_ops *ops, char *err, size_t errlen);

#endif
